/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/relay_notes.h"

#include "agent/bootstrap/relay_keep.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/log.h"

#define RETRY_MS 10000

/* Belongs to the worker. */
struct note_job {
    struct relay_notes *notes;
    const struct agent_paths *paths;
    uint64_t number; /* of the change, or the server */
    bool ran;
    struct error error;
};

static bool submit(struct relay_notes *notes, uint64_t number, void (*run)(void *arg), void (*done)(void *arg))
{
    struct note_job *job = xnew(struct note_job);
    struct worker_job work = {.run = run, .done = done, .arg = job};

    *job = (struct note_job){.notes = notes, .paths = notes->paths, .number = number};
    if (worker_submit(notes->worker, &work) == 0)
        return true;
    free(job);
    return false;
}

/* ---- the proof ---- */

static void run_sync(void *arg)
{
    struct note_job *job = arg;

    job->ran = catch_up_note_sync(job->paths) == 0;
}

static void finish_sync(void *arg)
{
    struct note_job *job = arg;

    job->notes->syncing = false;
    if (job->ran)
        catch_up_note_synced(&job->notes->catch_up, job->number);
    free(job);
}

static void keep_proof(struct relay_notes *notes, const struct instance_state *state)
{
    const struct role_state *role = &state->role;
    bool calm = role->running == ROLE_ACTION_NONE && !role->unseen;

    if (state->replication.seen)
        notes->catch_up.synced = state->replication.relay_logs_synced;
    catch_up_note_keep(&notes->catch_up, state->catch_up.up && calm, state->replication.gtid_received);
    uint64_t change = catch_up_note_unsynced(&notes->catch_up);
    if (change && role->running == ROLE_ACTION_NONE && !notes->syncing)
        notes->syncing = submit(notes, change, run_sync, finish_sync);
}

/* ---- the note for the next start ---- */

static void run_lowering(void *arg)
{
    struct note_job *job = arg;

    (void)(relay_keep_unsynced(job->paths, &job->error) == 0);
    job->ran = true;
}

static void finish_lowering(void *arg)
{
    struct note_job *job = arg;
    struct relay_notes *notes = job->notes;

    notes->lowering = false;
    if (job->ran && job->error.kind == ERROR_NONE)
        notes->lowered = job->number == notes->server;
    else if (job->ran) {
        log_warn("it cannot be noted that relay logs are not synced", LOG_ERR(&job->error));
        notes->retry_ms = clock_monotonic_ms() + RETRY_MS;
    }
    free(job);
    if (notes->changed)
        notes->changed(notes->arg);
}

static void lower(struct relay_notes *notes, const struct instance_state *state)
{
    notes->unsynced |= state->replication.seen && !state->replication.relay_logs_synced;
    if (!notes->unsynced || notes->lowered || notes->lowering || state->role.running == ROLE_ACTION_RECOVER ||
        clock_monotonic_ms() < notes->retry_ms)
        return;
    notes->lowering = submit(notes, notes->server, run_lowering, finish_lowering);
}

/* ---- both ---- */

void relay_notes_keep(struct relay_notes *notes, const struct instance_state *state)
{
    keep_proof(notes, state);
    lower(notes, state);
}

void relay_notes_server_gone(struct relay_notes *notes)
{
    catch_up_note_server_gone(&notes->catch_up);
    notes->server++;
    notes->lowered = notes->unsynced = false;
}

bool relay_notes_is_lowering(const struct relay_notes *notes)
{
    return notes->lowering;
}

void relay_notes_init(struct relay_notes *notes, const struct agent_paths *paths, struct worker *worker,
    void (*changed)(void *arg), void *arg)
{
    *notes = (struct relay_notes){.paths = paths, .worker = worker, .changed = changed, .arg = arg};
    catch_up_note_init(&notes->catch_up, paths);
}

void relay_notes_release(struct relay_notes *notes)
{
    catch_up_note_release(&notes->catch_up);
}
