/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/probe_lane.h"

#include <stdatomic.h>

#include "agent/bootstrap/volume_mark.h"
#include "agent/first_logged.h"
#include "agent/mysql/accounts.h"
#include "agent/mysql/lock_waits.h"
#include "agent/mysql/room.h"
#include "agent/relay_written.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/worker.h"

#define PROBE_CONNECT_TIMEOUT_S 2
#define PROBE_IO_TIMEOUT_S 2

struct probe_lane {
    struct worker *worker;
    const struct agent_paths *paths;
    struct session_options options;
    void (*fn)(void *arg, struct probe_result *result);
    void *arg;
    bool busy; /* loop thread */
    _Atomic int64_t answered_ms;
    /* From submit to done these belong to the thread. */
    struct session *session;
    struct session *old_sentinel;
    bool with_status;
    bool want_sentinel;
    bool beat_late, lock_waits, is_spare, admit;
    struct session_options admitted;
    struct probe_result result;
};

/* Locks on tables of the server's own: see replication_facts.h, system_tables_seen. */
#define LOCKED_TABLES_ARE_LEFT "SET SESSION lock_wait_timeout = 1"

/* The sentinel is given up for it if no other connection is left. */
static struct session *open_session(struct probe_lane *lane, struct error *err)
{
    struct error failure = ERROR_INIT;
    struct session *session = session_open(&lane->options, &failure);

    if (!session && lane->is_spare && room_is_lacking(&failure))
        session = steal_ptr(lane->old_sentinel);
    if (session)
        session_note_answers(session, &lane->answered_ms);
    if (session && session_exec(session, LOCKED_TABLES_ARE_LEFT, &failure) < 0) {
        session_close(session);
        session = NULL;
    }
    if (!session && err)
        *err = failure;
    return session;
}

/* What cannot be read now is read the next time. While commits wait the passwords alone are looked at: that somebody
 * changed that of the replicas may be why they do. */
static void look_at_accounts(
    struct session *session, const struct dialect *dialect, bool all, struct observation *observed)
{
    observed->accounts_digest = accounts_digest(session, dialect);
    if (!all)
        return;
    if (accounts_left_look(session, dialect, &observed->left, NULL) < 0)
        observed->left = (struct accounts_left){.is_known = false};
    observed->own_account = own_account_tend(session, dialect);
}

static int look_at_locks(struct probe_lane *lane, struct error *err)
{
    struct probe_result *result = &lane->result;
    struct replication_facts *facts = &result->replication;
    struct error failure = ERROR_INIT;

    if ((!lane->beat_late ||
            replication_beat_locked(lane->session, lane->options.user, &facts->beat_locked, &failure) == 0) &&
        (!lane->lock_waits || lock_waits_look(lane->session, &result->lock_waited_s, &failure) == 0) &&
        ((!lane->beat_late && result->lock_waited_s <= 0) ||
            lock_holder_look(lane->session, facts->lock_holder, sizeof(facts->lock_holder), &failure) == 0))
        return 0;
    return replication_goes_without(facts->unread, "who waits for locks", &failure, err) ? 0 : -1;
}

static int look(struct probe_lane *lane, struct error *err)
{
    struct probe_result *result = &lane->result;

    if (lane->session && session_is_broken(lane->session)) {
        session_close(lane->session);
        lane->session = NULL;
    }
    if (!lane->session)
        lane->session = open_session(lane, err);
    if (!lane->session || observe_server(lane->session, lane->with_status, &result->observed, err) < 0)
        return -1;
    const struct dialect *dialect = dialect_for(&result->observed.version);
    if (replication_facts_observe(lane->session, dialect, lane->options.user, &result->replication, err) < 0)
        return -1;
    first_logged_look(lane->paths->data_dir, replication_gtid_flavour(dialect), &result->replication);
    if (result->replication.configured)
        result->replication.relay_written_ms = relay_written_ms(lane->paths->data_dir);
    if (lane->with_status)
        look_at_accounts(lane->session, dialect, result->replication.system_tables_seen, &result->observed);
    if (look_at_locks(lane, err) < 0)
        return -1;
    if (lane->admit)
        result->admitted = room_open(lane->session, &lane->admitted, NULL);
    if (lane->want_sentinel)
        result->sentinel = session_open(&lane->options, NULL);
    return 0;
}

static void run(void *arg)
{
    struct probe_lane *lane = arg;
    struct probe_result *result = &lane->result;
    int64_t started_us = clock_monotonic_us();

    *result = (struct probe_result){.asked_ms = clock_monotonic_ms(), .lock_waited_s = -1};
    if (!lane->is_spare)
        session_close(steal_ptr(lane->old_sentinel));
    if (look(lane, &result->error) < 0 && lane->session && session_is_broken(lane->session)) {
        session_close(lane->session);
        lane->session = NULL;
    }
    session_close(steal_ptr(lane->old_sentinel));
    result->probe_us = clock_monotonic_us() - started_us;
    result->answered_ms = clock_monotonic_ms();
    if (volume_mark_read(lane->paths, &result->mark, NULL) < 0)
        result->mark = AGENT_MARK_NONE;
}

/* fn may begin the next probe, whose thread writes into lane->result. So fn gets a copy of this one's result, and what
 * is released after it is of that copy. */
static void done(void *arg)
{
    struct probe_lane *lane = arg;
    struct probe_result result = lane->result;

    lane->result = (struct probe_result){0};
    lane->busy = false;
    if (lane->fn)
        lane->fn(lane->arg, &result);
    session_close(result.sentinel);
    session_close(result.admitted);
    replication_facts_release(&result.replication);
}

struct probe_lane *probe_lane_new(struct loop *loop, const struct agent_paths *paths, const char *user,
    void (*fn)(void *arg, struct probe_result *result), void *arg)
{
    struct probe_lane *lane = xnew(struct probe_lane);

    lane->worker = worker_new(loop, "probe");
    lane->paths = paths;
    lane->options = (struct session_options){
        .socket = paths->socket,
        .user = user,
        .connect_timeout_s = PROBE_CONNECT_TIMEOUT_S,
        .io_timeout_s = PROBE_IO_TIMEOUT_S,
    };
    lane->fn = fn;
    lane->arg = arg;
    return lane;
}

int probe_lane_start(struct probe_lane *lane, const struct probe_wish *wish)
{
    struct worker_job job = {.run = run, .done = done, .arg = lane};

    if (lane->busy)
        return -1;
    lane->busy = true;
    lane->with_status = wish->with_status;
    lane->want_sentinel = wish->sentinel;
    lane->beat_late = wish->beat_late;
    lane->lock_waits = wish->lock_waits;
    lane->old_sentinel = wish->old_sentinel;
    lane->is_spare = wish->is_spare;
    lane->admit = wish->admit;
    lane->admitted = wish->admitted;
    if (worker_submit(lane->worker, &job) < 0)
        abort(); /* one job at a time cannot fill the queue */
    return 0;
}

int64_t probe_lane_answered_ms(const struct probe_lane *lane)
{
    return atomic_load(&lane->answered_ms);
}

void probe_lane_free(struct probe_lane *lane)
{
    if (!lane)
        return;
    lane->fn = NULL;
    worker_free(lane->worker);
    session_close(lane->session);
    session_close(lane->old_sentinel);
    free(lane);
}
