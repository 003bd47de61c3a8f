#include "common/base.h"

#include "agent/relay_notes.h"

#include "common/alloc.h"

/* Belongs to the worker. */
struct note_job {
    struct relay_notes *notes;
    const struct agent_paths *paths;
    uint64_t number; /* of the change */
    bool ran;
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

static void run_sync(void *arg)
{
    struct note_job *job = arg;

    catch_up_note_sync(job->paths);
    job->ran = true;
}

static void finish_sync(void *arg)
{
    struct note_job *job = arg;

    job->notes->syncing = false;
    if (job->ran)
        catch_up_note_synced(&job->notes->catch_up, job->number);
    free(job);
}

void relay_notes_keep(struct relay_notes *notes, const struct instance_state *state)
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

void relay_notes_server_gone(struct relay_notes *notes)
{
    catch_up_note_server_gone(&notes->catch_up);
}

void relay_notes_init(struct relay_notes *notes, const struct agent_paths *paths, struct worker *worker)
{
    *notes = (struct relay_notes){.paths = paths, .worker = worker};
    catch_up_note_init(&notes->catch_up, paths);
}

void relay_notes_release(struct relay_notes *notes)
{
    catch_up_note_release(&notes->catch_up);
}
