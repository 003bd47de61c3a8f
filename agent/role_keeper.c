/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/role_keeper.h"

#include "agent/bootstrap/epoch_file.h"
#include "agent/bootstrap/relay_keep.h"
#include "agent/bootstrap/server_exec.h"
#include "agent/bootstrap/volume_mark.h"
#include "agent/first_commit.h"
#include "agent/gtid_loss_note.h"
#include "agent/healing.h"
#include "agent/heartbeat_lane.h"
#include "agent/log_watch.h"
#include "agent/old_data.h"
#include "agent/put_back.h"
#include "agent/relay_notes.h"
#include "agent/role_decide.h"
#include "agent/role_lane.h"
#include "agent/role_notes.h"
#include "agent/role_status.h"
#include "agent/source_watch.h"
#include "agent/write_times.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/hashmap.h"
#include "common/log.h"
#include "common/worker.h"

struct role_keeper {
    struct loop *loop;
    const struct agent_paths *paths;
    struct instance_state *state;
    void (*changed)(void *arg);
    void *arg;
    struct old_data *old;
    struct worker *volume; /* writes epoch, mark and notes: a slow disk must not stop the loop */
    struct role_lane *lane;
    struct heartbeat_lane *beats;
    struct first_commit *first;
    struct log_watch *log;
    struct source_watch *source;
    struct healing *healing;
    char *password;
    struct role_begun job; /* that runs */
    uint64_t orders_begun; /* that were not of an epoch of the past */
    int64_t accepted_ms;
    struct self_fence fence; /* as it will be noted once the worker is done */
    struct relay_notes notes;
    struct gtid_loss_keeper loss;
    bool server_changed; /* while a job ran: its result is of another server */
    /* They hold state->role.order.wait_for and state->gone_executed. */
    struct position_pool *of_order, *of_gone;
};

struct acceptance {
    struct role_keeper *keeper;
    struct agent_order order;
    struct position_pool *positions; /* of the order */
    role_accepted_fn fn;
    void *arg;
    uint64_t begun; /* keeper->orders_begun when it came */
    bool write_epoch;
    bool note_fence;
    bool write_mark;
    enum agent_mark mark;
    struct error error;
};

static void on_change(struct role_keeper *keeper)
{
    if (keeper->changed)
        keeper->changed(keeper->arg);
}

/* ---- orders ---- */

static uint64_t identify_source(const struct role_keeper *keeper)
{
    const struct agent_order *order = &keeper->state->role.order;

    if (!keeper->password)
        return 0;
    uint64_t hash = hash64(HASH64_INIT, order->source_host, strlen(order->source_host) + 1);
    hash = hash64(hash, &order->source_port, sizeof(order->source_port));
    hash = hash64(hash, keeper->password, strlen(keeper->password));
    return hash ? hash : 1;
}

static void accept(struct role_keeper *keeper, const struct acceptance *acceptance)
{
    const struct agent_order *order = &acceptance->order;
    struct role_state *role = &keeper->state->role;
    char hash[17];
    bool ends_isolation = role->isolated && order->epoch > role->epoch;

    agent_order_hash(order, hash);
    bool renewed = role_note_epoch(keeper->state, order, hash, clock_monotonic_ms());
    if (ends_isolation)
        log_info("a new epoch ends the isolation");
    healing_ordered(keeper->healing, order, renewed);
    old_data_ordered(keeper->old, order);
    if (renewed)
        return;
    role_lane_supersede(keeper->lane);
    log_info("an order", LOG_STR("role", agent_role_name(order->role)), LOG_INT("epoch", (int64_t)order->epoch),
        LOG_STR("source", order->source_host));
    role_note_order(keeper->state, order, hash);
    position_pool_unref(keeper->of_order);
    keeper->of_order = position_pool_ref(acceptance->positions);
    role->source_wanted = identify_source(keeper);
    keeper->accepted_ms = clock_monotonic_ms();
    if (order->role != AGENT_ROLE_PRIMARY) {
        heartbeat_lane_stop(keeper->beats);
        first_commit_stop(keeper->first);
    }
}

static int write_volume(const struct acceptance *acceptance, struct error *err)
{
    const struct agent_paths *paths = acceptance->keeper->paths;
    const struct agent_order *order = &acceptance->order;

    const struct self_fence fence = self_fence_of(order);

    if (acceptance->write_epoch && epoch_file_write(paths, order->epoch, err) < 0)
        return -1;
    if (acceptance->note_fence && self_fence_write(paths, &fence, err) < 0)
        return -1;
    return acceptance->write_mark ? volume_mark_write(paths, acceptance->mark, err) : 0;
}

static void run_acceptance(void *arg)
{
    struct acceptance *acceptance = arg;

    error_clear(&acceptance->error);
    (void)(write_volume(acceptance, &acceptance->error) == 0);
}

static void finish_acceptance(void *arg)
{
    struct acceptance *acceptance = arg;
    struct role_keeper *keeper = acceptance->keeper;
    uint64_t epoch = keeper->state->role.epoch;

    if (acceptance->error.kind == ERROR_NONE && !keeper->changed) /* role_keeper_free */
        error_set(&acceptance->error, ERROR_CANCELLED, "the agent ends");
    if (acceptance->error.kind == ERROR_NONE && acceptance->order.epoch < epoch)
        error_set(&acceptance->error, ERROR_CONFLICT, "epoch %llu has been seen", (unsigned long long)epoch);
    if (acceptance->error.kind == ERROR_NONE)
        accept(keeper, acceptance);
    else if (acceptance->note_fence)
        keeper->fence = (struct self_fence){.epoch = UINT64_MAX}; /* whatever is there: noted again */
    acceptance->fn(acceptance->arg, keeper->state->role.epoch, &acceptance->error);
    bool accepted = acceptance->error.kind == ERROR_NONE;
    position_pool_unref(acceptance->positions);
    free(acceptance);
    if (accepted)
        on_change(keeper);
}

/* Nothing is lost any more by what the order wants. */
static void begin_acceptance(struct acceptance *acceptance)
{
    struct role_keeper *keeper = acceptance->keeper;
    const struct agent_order *order = &acceptance->order;
    const struct role_state *role = &keeper->state->role;
    struct worker_job job = {.run = run_acceptance, .done = finish_acceptance, .arg = acceptance};

    const struct self_fence fence = self_fence_of(order);

    keeper->orders_begun += order->epoch >= role->epoch;
    acceptance->write_epoch = order->epoch > role->epoch;
    /* The note of the last primary's order stands until the next order to be primary: the close may not succeed. */
    acceptance->note_fence =
        order->role == AGENT_ROLE_PRIMARY && order->epoch >= role->epoch && !self_fence_same(&fence, &keeper->fence);
    if (acceptance->note_fence)
        keeper->fence = fence;
    acceptance->mark = role_mark_after(role, order);
    acceptance->write_mark = order->mark != AGENT_MARK_NONE || acceptance->mark != role->mark;
    error_set(&acceptance->error, ERROR_CANCELLED, "the agent ends");
    if (order->epoch < role->epoch) { /* nothing to write */
        error_clear(&acceptance->error);
        job.run = NULL;
    }
    if (!job.run || (!acceptance->write_epoch && !acceptance->note_fence && !acceptance->write_mark)) {
        error_clear(&acceptance->error);
        finish_acceptance(acceptance);
        return;
    }
    if (worker_submit(keeper->volume, &job) < 0) {
        error_set(&acceptance->error, ERROR_UNAVAILABLE, "other orders wait");
        finish_acceptance(acceptance);
    }
}

/* That took seconds. An order that has come meanwhile is the newer one, also under the same epoch: that this data is to
 * be replaced may have been taken back. */
static void on_set_aside(void *arg, const struct error *error)
{
    struct acceptance *acceptance = arg;

    if (error->kind == ERROR_NONE && acceptance->begun == acceptance->keeper->orders_begun) {
        begin_acceptance(acceptance);
        return;
    }
    if (error->kind == ERROR_NONE)
        error_set(&acceptance->error, ERROR_UNAVAILABLE, "another order has come while transactions were set aside");
    else
        acceptance->error = *error;
    finish_acceptance(acceptance);
}

void role_keeper_order(struct role_keeper *keeper, const struct agent_order *order, role_accepted_fn fn, void *arg)
{
    struct acceptance *acceptance = xnew(struct acceptance);

    *acceptance =
        (struct acceptance){.keeper = keeper, .order = *order, .fn = fn, .arg = arg, .begun = keeper->orders_begun};
    acceptance->positions = position_pool_new(POSITION_TEXT_MAX);
    acceptance->order.wait_for = position_take(acceptance->positions, order->wait_for);
    /* Without truncate it is for init. */
    acceptance->order.beyond = order->truncate ? position_take(acceptance->positions, order->beyond) : "";
    if (healing_must_set_aside(keeper->healing, order))
        healing_set_aside(keeper->healing, order, on_set_aside, acceptance);
    else
        begin_acceptance(acceptance);
}

/* ---- what comes in ---- */

void role_keeper_set_password(struct role_keeper *keeper, const char *replication_password)
{
    secret_free(keeper->password);
    keeper->password = xstrdup(replication_password);
    keeper->state->role.source_wanted = identify_source(keeper);
}

void role_keeper_set_tls(struct role_keeper *keeper, const struct tls_keypair *pair, const char *ca_pem)
{
    source_watch_set_tls(keeper->source, pair, ca_pem);
    healing_set_tls(keeper->healing, pair, ca_pem);
}

void role_keeper_server_gone(struct role_keeper *keeper)
{
    struct instance_state *state = keeper->state;

    heartbeat_lane_stop(keeper->beats);
    first_commit_stop(keeper->first);
    healing_server_gone(keeper->healing);
    keeper->server_changed = state->role.running != ROLE_ACTION_NONE;
    if (!str_empty(state->replication.gtid_executed)) { /* this may be called again before it is back */
        state->gone_executed = state->replication.gtid_executed;
        position_pool_unref(keeper->of_gone);
        keeper->of_gone = position_pool_ref(state->replication.positions);
    }
    role_note_server_gone(state, clock_monotonic_ms());
    relay_notes_server_gone(&keeper->notes);
}

static void take_facts(struct role_keeper *keeper, const struct replication_facts *facts, int64_t started_ms)
{
    struct instance_state *state = keeper->state;
    enum agent_flavour flavour = state->observed.version.flavour;
    int64_t now_ms = clock_monotonic_ms();

    if (!role_takes_facts(state, facts))
        return;
    catch_up_look(&state->catch_up, flavour, state->replication.gtid_received, facts->gtid_received,
        facts->drops_received, now_ms);
    catch_up_note_look(&keeper->notes.catch_up, &state->catch_up, flavour, facts->gtid_received, now_ms);
    catch_up_executed(&state->catch_up, flavour, facts->gtid_executed);
    if (!state->replication.seen) {
        role_note_relay_logs(&state->role, facts, relay_keep_is_dropping(keeper->paths));
        state->role.put_back_due = put_back_is_due(keeper->paths);
        if (state->role.relay != RELAY_PENDING)
            catch_up_note_spend(&keeper->notes.catch_up);
    }
    write_times_look(state, facts, started_ms, now_ms);
    replication_facts_keep(&state->replication, facts);
    state->replication_ms = started_ms;
    state->role.unseen = false;
    role_note_beat(state, facts, started_ms);
    role_note_stream(state, facts, started_ms);
    role_note_lag(state, now_ms);
}

void role_keeper_observed(struct role_keeper *keeper, const struct replication_facts *facts, int64_t started_ms)
{
    if (!role_takes_look(&keeper->state->role, started_ms))
        return;
    bool was_lost = keeper->state->loss.lost.is_lost;
    role_note_look(keeper->state, facts, started_ms);
    if (keeper->state->loss.lost.is_lost && !was_lost)
        log_warn("somebody has set back the GTID position: this data receives nothing any more",
            LOG_STR("lost", keeper->state->loss.lost.lacking));
    take_facts(keeper, facts, started_ms);
    relay_notes_keep(&keeper->notes, keeper->state);
    if (!keeper->state->replication.read_only)
        keeper->state->role.was_open = true;
}

/* ---- changes of role ---- */

static const char *const action_texts[ROLE_ACTION_COUNT] = {
    [ROLE_ACTION_NONE] = "nothing",
    [ROLE_ACTION_OPEN] = "open for writes",
    [ROLE_ACTION_CLOSE] = "closed",
    [ROLE_ACTION_SUSPEND] = "closed for writes",
    [ROLE_ACTION_STOP] = "replication stopped",
    [ROLE_ACTION_FOLLOW] = "follows its source",
    [ROLE_ACTION_PREPARE] = "ready to follow its source",
    [ROLE_ACTION_ROTATE] = "its binary log begins a new file",
    [ROLE_ACTION_HOLD] = "receives no more",
    [ROLE_ACTION_END_WRITERS] = "those who wrote were ended",
    [ROLE_ACTION_ADMIT] = "clients are let in again, as somebody had set offline_mode",
    [ROLE_ACTION_RECOVER] = "what was received before the start is looked after",
};

static void note_success(struct role_keeper *keeper, const struct role_result *result, int64_t now_ms)
{
    enum role_action action = keeper->state->role.running;

    role_note_success(keeper->state, result, &keeper->job, now_ms);
    if (result->done)
        log_info("the role is changed", LOG_STR("what", action_texts[action]), LOG_INT("us", result->took_us));
}

static void note_recovery(struct role_keeper *keeper, const struct role_result *result, int64_t now_ms)
{
    struct instance_state *state = keeper->state;

    if (role_note_recovery(state, result, now_ms)) {
        catch_up_note_relay_logs_kept(&keeper->notes.catch_up, &state->catch_up, state->observed.version.flavour,
            state->replication.gtid_received);
        catch_up_executed(&state->catch_up, state->observed.version.flavour, state->replication.gtid_executed);
    } else if (state->role.relay == RELAY_DROP)
        log_warn("what was received before the start is dropped", LOG_STR("why", state->role.relay_dropped));
}

static void on_first_commit(void *arg, uint64_t epoch, const struct first_commit_moment *moment)
{
    struct role_keeper *keeper = arg;

    keeper->state->writes.first = moment->done;
    keeper->state->writes.first_idle_ms = moment->idle_ms;
    keeper->state->writes.first_epoch = epoch;
    on_change(keeper);
}

static void note_opened(struct role_keeper *keeper, const struct role_result *result, int64_t now_ms)
{
    struct instance_state *state = keeper->state;

    if (state->role.running != ROLE_ACTION_OPEN || !result->has_facts || result->facts.read_only ||
        !state->replication.read_only)
        return;
    write_times_opened(state, keeper->job.epoch, now_ms - result->took_us / 1000, result->looked_ms);
    first_commit_look_for(
        keeper->first, &state->observed.version, keeper->job.epoch, result->facts.gtid_executed, result->looked_ms);
}

static void on_result(void *arg, const struct role_result *result)
{
    struct role_keeper *keeper = arg;
    struct role_state *role = &keeper->state->role;
    int64_t now_ms = clock_monotonic_ms();

    catch_up_note_synced(&keeper->notes.catch_up, result->note_change);
    role_note_opening(role, result);
    if (keeper->server_changed) {
        keeper->server_changed = false;
    } else {
        role->unseen = !result->has_facts;
        role->put_back_due = role->put_back_due && put_back_is_due(keeper->paths);
        if (result->dropped)
            catch_up_gap(&keeper->state->catch_up, now_ms);
        role_note_result(keeper->state, result);
        note_opened(keeper, result, now_ms);
        if (result->has_facts)
            take_facts(keeper, &result->facts, now_ms - result->took_us / 1000);
        if (role->running == ROLE_ACTION_OPEN)
            healing_opened(keeper->healing, result);
        if (result->error.kind == ERROR_NONE) {
            if (role->running == ROLE_ACTION_RECOVER)
                note_recovery(keeper, result, now_ms);
            note_success(keeper, result, now_ms);
        } else {
            log_warn("the role could not be changed", LOG_ERR(&result->error));
            role->error = result->error;
            role->retry_ms = now_ms + ROLE_RETRY_MS;
        }
    }
    role->running = ROLE_ACTION_NONE;
    role->finished_ms = now_ms;
    relay_notes_keep(&keeper->notes, keeper->state);
    on_change(keeper);
}

static void begin(struct role_keeper *keeper, const struct role_decision *decision, int64_t now_ms)
{
    struct role_state *role = &keeper->state->role;
    struct role_job job = {
        .action = decision->action,
        .version = keeper->state->observed.version,
        .order = role->order,
        .reconfigure = decision->reconfigure,
        .restart = decision->restart,
        .relay = role->relay,
        .drain = role_drains(role, now_ms),
        .salvage = keeper->state->healing.salvage,
        .stays_closed = decision->stays_closed,
        .was_writable = keeper->state->replication.seen && !keeper->state->replication.read_only,
        .root = decision->root,
        .room = keeper->state->room,
        .positions = position_pool_new(2 * POSITION_TEXT_MAX),
    };

    job.order.wait_for = position_take(job.positions, role->order.wait_for);
    job.fetched = position_take(job.positions, keeper->state->healing.fetched);
    if (decision->urgent) /* what stands in the way does not end by itself */
        job.order.drain_ms = 0;
    if (decision->action == ROLE_ACTION_FOLLOW || decision->action == ROLE_ACTION_PREPARE)
        job.password = xstrdup(keeper->password);
    if (role_may_drop(keeper->state, decision->action))
        catch_up_note_spend(&keeper->notes.catch_up);
    keeper->job = role_begun_of(role, decision->reconfigure);
    role_note_begin(role, decision, now_ms);
    relay_notes_keep(&keeper->notes, keeper->state);
    /* These drop nothing, and wait for no disk. */
    bool drops_nothing = decision->action == ROLE_ACTION_CLOSE || decision->action == ROLE_ACTION_SUSPEND ||
        decision->action == ROLE_ACTION_END_WRITERS || decision->action == ROLE_ACTION_ADMIT;
    if (!drops_nothing)
        job.note_change = catch_up_note_unsynced(&keeper->notes.catch_up);
    role_lane_start(keeper->lane, &job);
}

static void note_copy(struct instance_state *state, int64_t now_ms)
{
    if (role_note_copy(state, now_ms))
        log_info(state->role.closed_for_copy
                ? "commits and a copy wait for each other: closed for writes while the copy gets past them"
                : "no longer closed for a copy");
}

static void note_room(struct instance_state *state, int64_t now_ms)
{
    bool is_primary = state->role.order.role == AGENT_ROLE_PRIMARY;

    if (role_note_room(state, now_ms))
        log_warn(state->role.closed_for_room ? "a volume has too little room: closed for writes"
                : state->role.held_for_room  ? "the volume has too little room: it receives nothing"
                : is_primary                 ? "no longer closed for lack of room"
                                             : "no longer held for lack of room");
}

static void note_root(struct instance_state *state, int64_t now_ms)
{
    if (!role_note_root(state, now_ms))
        return;
    if (state->role.open_for_root)
        log_warn("open for root, to make room", LOG_INT("seconds", (state->role.root_end_ms - now_ms + 999) / 1000));
    else
        log_info("no longer open for root");
}

static void note_isolation(struct instance_state *state, int64_t now_ms)
{
    if (role_note_isolation(state, now_ms))
        log_warn("neither the operator nor enough other members are heard: closed until the next epoch",
            LOG_INT("limitMs", state->role.fence.ms));
}

/* One that was alone for too long stays closed, whoever speaks now: another may have been opened meanwhile. */
void role_keeper_heard(struct role_keeper *keeper, const char *member, int64_t as_of_ms)
{
    int64_t now_ms = clock_monotonic_ms();

    note_isolation(keeper->state, now_ms);
    if (member)
        hearing_member(&keeper->state->role.hearing, member, as_of_ms, now_ms);
    else
        hearing_operator(&keeper->state->role.hearing, as_of_ms, now_ms);
}

void role_keeper_heard_room(struct role_keeper *keeper, const char *member, const struct others_word *word)
{
    others_room_note(&keeper->state->others, member, word, clock_monotonic_ms());
}

void role_keeper_heard_row_reader(struct role_keeper *keeper)
{
    keeper->state->beat.row_reader_ms = clock_monotonic_ms();
}

void role_keeper_look_at_hooks(struct role_keeper *keeper)
{
    struct role_state *role = &keeper->state->role;
    bool stopping = server_is_stopping(keeper->paths);

    if (stopping && !role->stopping)
        log_info("the server is about to be stopped");
    role->stopping = stopping;
    role->leaving = server_is_leaving(keeper->paths);
}

static void beat(struct role_keeper *keeper, int64_t now_ms)
{
    const struct instance_state *state = keeper->state;
    const struct beat_wish wish = {
        .epoch = state->role.order.epoch,
        .family = dialect_for(&state->observed.version)->family,
        .may_rest = role_may_rest(state, now_ms),
    };

    heartbeat_lane_beat(keeper->beats, &wish);
}

void role_keeper_turn(struct role_keeper *keeper, enum agent_phase phase, int64_t now_ms)
{
    struct instance_state *state = keeper->state;
    const struct agent_order *order = &state->role.order;
    note_copy(state, now_ms);
    note_room(state, now_ms);
    note_isolation(state, now_ms);
    role_keeper_look_at_hooks(keeper);
    note_root(state, now_ms);
    gtid_loss_keeper_turn(&keeper->loss, &state->loss.lost, now_ms);
    if (role_ends_suspension(state))
        role_lane_supersede(keeper->lane);
    healing_turn(keeper->healing);
    bool follows = state->role.has_order && order->role == AGENT_ROLE_REPLICA && order->source_agent_port;

    source_watch_set(keeper->source, follows ? order->source_host : "", follows ? order->source_agent_port : 0);
    struct role_decision decision = role_decide(state, phase, now_ms);
    if (role_beats(state))
        beat(keeper, now_ms);
    else if (state->beat.wanted)
        heartbeat_lane_stop(keeper->beats);
    log_watch_turn(keeper->log, now_ms);
    if (decision.action == ROLE_ACTION_NONE)
        return;
    if (decision.action == ROLE_ACTION_OPEN && healing_holds(keeper->healing))
        return;
    if (role_waits_for_beat(state, &decision, keeper->accepted_ms, now_ms))
        return;
    if (decision.action == ROLE_ACTION_RECOVER && relay_notes_is_lowering(&keeper->notes))
        return;
    begin(keeper, &decision, now_ms);
}

bool role_keeper_is_shut_out(const struct role_keeper *keeper, struct session_options *ret)
{
    *ret = role_lane_session_options(keeper->lane);
    return role_lane_is_shut_out(keeper->lane);
}

void role_keeper_admit(struct role_keeper *keeper, struct session *session)
{
    if (!session)
        return;
    log_warn("the server had no connection left for changes of role: one was made");
    role_lane_admit(keeper->lane, session);
    keeper->state->role.retry_ms = 0;
}

void role_keeper_changes(struct role_keeper *keeper)
{
    atomic_fetch_add(&heartbeat_lane_commits(keeper->beats)->changes, 1);
}

/* ---- life ---- */

static void on_beat(void *arg)
{
    on_change(arg);
}

static void on_source(void *arg)
{
    on_change(arg);
}

static void on_healing(void *arg)
{
    on_change(arg);
}

static void read_openings(const struct agent_paths *paths, struct role_state *role)
{
    char boot[RELAY_KEEP_NAME_SIZE], pod[RELAY_KEEP_NAME_SIZE];

    relay_keep_boot(boot);
    relay_keep_pod(paths, pod);
    openings_begin(paths, boot, pod, role->epoch, &role->opened_epoch, &role->noted_since);
}

static void on_notes(void *arg)
{
    on_change(arg);
}

struct role_keeper *role_keeper_new(struct loop *loop, const struct agent_paths *paths, const char *user,
    struct instance_state *state, void (*changed)(void *arg), void *arg, struct error *err)
{
    uint64_t epoch = 0;
    enum agent_mark mark = AGENT_MARK_NONE;

    if (epoch_file_read(paths, &epoch, err) < 0 || volume_mark_read(paths, &mark, err) < 0)
        return NULL;
    struct role_keeper *keeper = xnew(struct role_keeper);
    keeper->loop = loop;
    keeper->paths = paths;
    keeper->state = state;
    keeper->changed = changed;
    keeper->arg = arg;
    keeper->volume = worker_new(loop, "volume");
    keeper->old = old_data_new(loop, paths, state, on_healing, keeper);
    keeper->healing = healing_new(loop, paths, state, on_healing, keeper);
    keeper->lane = role_lane_new(loop, paths, user, on_result, keeper);
    keeper->beats = heartbeat_lane_new(loop, paths, user, &state->beat, on_beat, keeper);
    keeper->first =
        first_commit_new(loop, paths->socket, user, heartbeat_lane_commits(keeper->beats), on_first_commit, keeper);
    keeper->log = log_watch_new(loop, paths->data_dir, &state->beat);
    keeper->source = source_watch_new(loop, state, on_source, keeper);
    state->role.epoch = epoch;
    read_openings(paths, &state->role);
    state->role.mark = mark;
    state->role.started_ms = clock_monotonic_ms();
    state->role.fence = keeper->fence = self_fence_read(paths);
    catch_up_gap(&state->catch_up, clock_monotonic_ms());
    gtid_loss_keeper_init(&keeper->loss, paths, keeper->volume);
    state->loss.lost = keeper->loss.noted;
    relay_notes_init(&keeper->notes, paths, keeper->volume, on_notes, keeper);
    return keeper;
}

void role_keeper_free(struct role_keeper *keeper)
{
    if (!keeper)
        return;
    keeper->changed = NULL;
    old_data_free(keeper->old);
    healing_free(keeper->healing); /* first: what waits for it goes to the worker below */
    worker_free(keeper->volume);
    first_commit_free(keeper->first); /* reads what the lane below counts */
    heartbeat_lane_free(keeper->beats);
    log_watch_free(keeper->log);
    role_lane_free(keeper->lane);
    source_watch_free(keeper->source);
    secret_free(keeper->password);
    relay_notes_release(&keeper->notes);
    catch_up_gap(&keeper->state->catch_up, 0);
    gtid_loss_server_gone(&keeper->state->loss);
    replication_facts_release(&keeper->state->replication);
    position_pool_unref(keeper->of_order);
    position_pool_unref(keeper->of_gone);
    free(keeper);
}
