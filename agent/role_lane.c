/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/role_lane.h"

#include <stdatomic.h>

#include "agent/bootstrap/epoch_file.h"
#include "agent/bootstrap/run_mycnf.h"
#include "agent/bootstrap/seed_position.h"
#include "agent/bootstrap/start_mode.h"
#include "agent/bootstrap/volume_reserve.h"
#include "agent/catch_up_note.h"
#include "agent/mysql/events.h"
#include "agent/mysql/observe.h"
#include "agent/mysql/replication_facts.h"
#include "agent/mysql/role_change.h"
#include "agent/mysql/role_close.h"
#include "agent/mysql/role_suspend.h"
#include "agent/mysql/room.h"
#include "agent/mysql/semi_sync.h"
#include "agent/mysql/session.h"
#include "agent/mysql/start_domain.h"
#include "agent/put_back.h"
#include "agent/relay_written.h"
#include "agent/salvage.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/log.h"
#include "common/worker.h"

#define ROLE_CONNECT_TIMEOUT_S 2
#define ROLE_IO_TIMEOUT_S 60
/* Well within the session's patience. */
#define DRAIN_MAX_MS 40000

struct role_lane {
    struct worker *worker;
    struct session_options options;
    const struct agent_paths *paths;
    char *ca_path;
    void (*fn)(void *arg, const struct role_result *result);
    void *arg;
    /* Of the loop's thread. */
    bool busy, shut_out;
    struct session *admitted; /* for the next job, if it has none */
    atomic_bool superseded;
    /* From start to done these belong to the thread. */
    struct session *session;
    bool fresh, full; /* the session is new; there is no connection left for one */
    struct relay_recovery recovery;
    struct role_job job;
    struct role_result result;
    struct position_pool *positions; /* of the result */
};

static int follow(struct role_lane *lane, const struct dialect *dialect, struct error *err)
{
    const struct role_job *job = &lane->job;
    struct role_source source = {
        .host = job->order.source_host,
        .port = job->order.source_port,
        .password = job->password,
        .ca_path = lane->ca_path,
        .semi_sync = job->order.semi_sync,
        .reconfigure = job->reconfigure,
        .restart = job->restart,
        .drain = job->drain,
        .superseded = &lane->superseded,
        .prepare = job->action == ROLE_ACTION_PREPARE,
    };
    struct role_followed followed = {.done = false};

    int rc = role_follow(lane->session, dialect, &source, &followed, err);
    lane->result.done = followed.done;
    lane->result.dropped = followed.dropped;
    return rc;
}

/* Nothing is missing any more. A full volume does not keep a primary closed: that it was open is shown in other ways as
 * well (openedEpoch). But nobody may take it for certain then that each opening is noted: if that cannot be taken back,
 * the server stays closed. */
static int note_opening(struct role_lane *lane, struct error *err)
{
    struct error failure = ERROR_INIT;

    if (opened_file_write(lane->paths, lane->job.order.epoch, &failure) == 0) {
        lane->result.noted_epoch = lane->job.order.epoch;
        return 0;
    }
    log_warn("that the server is opened cannot be noted", LOG_ERR(&failure));
    if (noted_since_end(lane->paths, err) < 0)
        return error_prefix(err, "the opening cannot be noted");
    lane->result.is_uncertain = true;
    return 0;
}

/* Before a primary is opened: where its own transactions end, or those of the dead one behind them (salvage.h). */
static int salvage(void *arg, struct session *session, const struct dialect *dialect, bool *ret_go, struct error *err)
{
    struct role_lane *lane = arg;
    struct role_result *result = &lane->result;
    struct salvage_apply what = {.paths = lane->paths, .dialect = dialect, .gtids = lane->job.fetched};

    if (lane->job.salvage == SALVAGE_FETCHED) {
        if (salvage_apply(&what, session, err) < 0)
            return -1;
        result->salvage_applied = true;
    }
    *ret_go = lane->job.salvage != SALVAGE_ASK;
    if (*ret_go)
        return note_opening(lane, err);
    _cleanup_(gtid_set_freep) struct gtid_set *executed = replication_executed(session, dialect, err);
    if (!executed)
        return -1;
    result->salvage_after = position_print(lane->positions, executed);
    result->salvage_asked = position_is_whole(result->salvage_after);
    return result->salvage_asked
        ? 0
        : error_set(err, ERROR_TOO_LARGE, "the set of executed transactions is too long to be asked with");
}

/* An opening sets semi-sync as ordered: what it was until then no later look finds. */
static int look_before(struct role_lane *lane, const struct dialect *dialect, struct error *err)
{
    if (!lane->job.was_writable)
        return 0;
    if (semi_sync_observe(lane->session, dialect, &lane->result.look.facts, err) < 0)
        return -1;
    lane->result.look.taken = true;
    return 0;
}

static int open_for_writes(struct role_lane *lane, const struct dialect *dialect, struct error *err)
{
    const struct agent_order *order = &lane->job.order;
    struct role_open_wish wish = {.superseded = &lane->superseded,
        .before = salvage,
        .arg = lane,
        .wait_for = str_or_empty(order->wait_for),
        .semi_sync = order->semi_sync,
        .acks = order->acks,
        .stays_closed = lane->job.stays_closed};
    _cleanup_(strbuf_release) struct strbuf mycnf;

    strbuf_init(&mycnf, MYCNF_MAX + 16 * KM_KIB);
    if (fs_read_file(lane->paths->run_mycnf, &mycnf, err) < 0)
        return -1;
    wish.events = events_wished(mycnf.buf);

    if (look_before(lane, dialect, err) < 0)
        return -1;
    return role_open(lane->session, dialect, &wish, &lane->result.done, err);
}

static bool room_ends(void *arg, int64_t age_ms)
{
    const struct role_lane *lane = arg;
    uint64_t free_bytes = 0, bytes = 0;

    return volume_reserve_space(lane->paths, &free_bytes, &bytes, NULL) == 0 &&
        volume_room_ends(&lane->job.room, free_bytes, age_ms, clock_monotonic_ms());
}

static int suspend(struct role_lane *lane, const struct dialect *dialect, struct error *err)
{
    const struct role_suspend_wish wish = {
        .root = lane->job.root, .ends = room_ends, .arg = lane, .superseded = &lane->superseded};

    return role_suspend(lane->session, dialect, &wish, &lane->result.done, err);
}

static bool everybody_ends(void *arg, int64_t age_ms)
{
    UNUSED(arg);
    UNUSED(age_ms);
    return true;
}

/* Done: it is worth a word. */
static int end_writers(struct role_lane *lane, const struct dialect *dialect, struct error *err)
{
    const struct role_suspend_wish wish = {.ends = everybody_ends};

    return role_end_writers(lane->session, dialect, &wish, &lane->result.done, err);
}

static int recover(struct role_lane *lane, const struct dialect *dialect, struct error *err)
{
    struct role_result *result = &lane->result;
    bool drop = lane->job.relay == RELAY_DROP;

    int rc = drop ? relay_recover_drop(&lane->recovery, lane->paths, dialect, lane->session, err)
                  : relay_recover_step(&lane->recovery, lane->paths, dialect, lane->session, &result->relay,
                        result->relay_why, sizeof(result->relay_why), err);
    result->dropped = drop && rc == 0;
    result->done = rc == 0 && result->relay != RELAY_NOT_YET;
    return rc;
}

static int change(struct role_lane *lane, const struct dialect *dialect, struct error *err)
{
    lane->result.done = true;
    switch (lane->job.action) {
    case ROLE_ACTION_OPEN:
        return open_for_writes(lane, dialect, err);
    case ROLE_ACTION_CLOSE:
        return role_close(
            lane->session, dialect, MIN_OF(lane->job.order.drain_ms, (uint32_t)DRAIN_MAX_MS), &lane->result.look, err);
    case ROLE_ACTION_SUSPEND:
        return suspend(lane, dialect, err);
    case ROLE_ACTION_END_WRITERS:
        return end_writers(lane, dialect, err);
    case ROLE_ACTION_STOP:
        return role_stop(lane->session, dialect, err);
    case ROLE_ACTION_HOLD:
        return role_hold(lane->session, dialect, err);
    case ROLE_ACTION_ROTATE:
        return session_exec(lane->session, "FLUSH BINARY LOGS", err);
    case ROLE_ACTION_ADMIT:
        return role_admit_clients(lane->session, dialect, err);
    case ROLE_ACTION_RECOVER:
        return recover(lane, dialect, err);
    case ROLE_ACTION_FOLLOW:
    case ROLE_ACTION_PREPARE:
        return follow(lane, dialect, err);
    default:
        return 0;
    }
}

static void drop_broken(struct role_lane *lane)
{
    if (!lane->session || !session_is_broken(lane->session))
        return;
    session_close(lane->session);
    lane->session = NULL;
}

/* A server that can be connected to has completed its DDL recovery. */
static int leave_start_domain(struct role_lane *lane, const struct dialect *dialect, struct error *err)
{
    if (start_domain_leave(lane->session, dialect, err) < 0)
        return -1;
    start_mode_forget_cut(lane->paths);
    return 0;
}

/* A copy's server knows which transactions it holds before it replicates or is written to. */
static int prepare(struct role_lane *lane, const struct dialect *dialect, struct error *err)
{
    struct error failure = ERROR_INIT;

    if (seed_position_apply(lane->paths, lane->session, &failure) == 0 &&
        leave_start_domain(lane, dialect, &failure) == 0 &&
        put_back_run(lane->paths, dialect, lane->session, &failure) == 0)
        return 0;
    if (lane->job.action == ROLE_ACTION_CLOSE) { /* a server can be closed without; the next job tries again first */
        log_warn("closed without what comes first", LOG_ERR(&failure));
        return 0;
    }
    *err = failure;
    return -1;
}

/* One that no look has come to the end of is closed all the same. */
static int learn_version(struct role_lane *lane, struct error *err)
{
    struct server_version *version = &lane->job.version;

    return *version->text ? 0 : observe_version(lane->session, version, err);
}

static void work(struct role_lane *lane)
{
    struct role_result *result = &lane->result;
    struct error failure = ERROR_INIT;
    int64_t written_ms = 0;

    drop_broken(lane);
    if (!lane->session) {
        lane->session = session_open(&lane->options, &failure);
        lane->fresh = true;
    }
    lane->full = !lane->session && room_is_lacking(&failure);
    if (!lane->session || learn_version(lane, &failure) < 0) {
        result->error = failure;
        drop_broken(lane);
        return;
    }
    const struct dialect *dialect = dialect_for(&lane->job.version);
    if (lane->fresh) { /* it may be another server */
        relay_recovery_release(&lane->recovery);
        salvage_forget(lane->paths, dialect, lane->session);
    }
    lane->fresh = false;
    if (lane->job.action == ROLE_ACTION_HOLD) /* what ends the receiver must not count */
        written_ms = relay_written_ms(lane->paths->data_dir);
    if (prepare(lane, dialect, &failure) < 0 || change(lane, dialect, &failure) < 0) {
        result->error = failure;
        result->done = false;
    }
    result->looked_ms = clock_monotonic_ms();
    result->has_facts = !session_is_broken(lane->session) &&
        replication_facts_observe(lane->session, dialect, lane->options.user, &result->facts, NULL) == 0;
    result->facts.relay_written_ms = written_ms;
    drop_broken(lane);
}

static void run(void *arg)
{
    struct role_lane *lane = arg;

    /* A disk that cannot sync does not keep roles from changing; it is tried again. */
    bool is_synced = lane->job.note_change && catch_up_note_sync(lane->paths) == 0;
    int64_t started_us = clock_monotonic_us();
    lane->result = (struct role_result){.note_change = is_synced ? lane->job.note_change : 0};
    position_pool_unref(lane->positions);
    lane->positions = position_pool_new(POSITION_TEXT_MAX);
    work(lane);
    lane->result.took_us = clock_monotonic_us() - started_us;
}

static void done(void *arg)
{
    struct role_lane *lane = arg;

    secret_free(lane->job.password);
    lane->job.password = NULL;
    position_pool_unref(steal_ptr(lane->job.positions));
    lane->busy = false;
    lane->shut_out = lane->full;
    struct replication_facts facts = lane->result.facts; /* the next job may begin in fn */
    if (lane->fn)
        lane->fn(lane->arg, &lane->result);
    replication_facts_release(&facts);
}

struct role_lane *role_lane_new(struct loop *loop, const struct agent_paths *paths, const char *user,
    void (*fn)(void *arg, const struct role_result *result), void *arg)
{
    struct role_lane *lane = xnew(struct role_lane);

    lane->worker = worker_new(loop, "role");
    lane->options = (struct session_options){
        .socket = paths->socket,
        .user = user,
        .connect_timeout_s = ROLE_CONNECT_TIMEOUT_S,
        .io_timeout_s = ROLE_IO_TIMEOUT_S,
    };
    lane->paths = paths;
    lane->ca_path = xasprintf("%s/ca.crt", paths->tls_dir);
    lane->fn = fn;
    lane->arg = arg;
    return lane;
}

bool role_lane_is_shut_out(const struct role_lane *lane)
{
    return lane->shut_out;
}

struct session_options role_lane_session_options(const struct role_lane *lane)
{
    return lane->options;
}

void role_lane_admit(struct role_lane *lane, struct session *session)
{
    session_close(lane->admitted);
    lane->admitted = session;
    lane->shut_out = false;
}

static void use_admitted(struct role_lane *lane)
{
    struct session *session = steal_ptr(lane->admitted);

    drop_broken(lane);
    if (!session || lane->session) {
        session_close(session);
        return;
    }
    lane->session = session;
    lane->fresh = true;
}

void role_lane_start(struct role_lane *lane, const struct role_job *job)
{
    struct worker_job work_job = {.run = run, .done = done, .arg = lane};

    if (lane->busy)
        abort();
    lane->busy = true;
    atomic_store(&lane->superseded, false);
    lane->job = *job;
    use_admitted(lane);
    if (worker_submit(lane->worker, &work_job) < 0)
        abort();
}

void role_lane_supersede(struct role_lane *lane)
{
    atomic_store(&lane->superseded, true);
}

void role_lane_free(struct role_lane *lane)
{
    if (!lane)
        return;
    lane->fn = NULL;
    worker_free(lane->worker);
    session_close(lane->session);
    session_close(lane->admitted);
    relay_recovery_release(&lane->recovery);
    position_pool_unref(lane->positions);
    free(lane->ca_path);
    free(lane);
}
