/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/role_status.h"

#include "agent/healing.h"
#include "agent/heartbeat_lane.h"
#include "agent/mysql/sql_text.h"
#include "agent/role_decide.h"
#include "common/json_fields.h"
#include "common/strbuf.h"

/* A heartbeat takes a millisecond or a few; one that takes as long as the next is due waits for something. */
#define BEAT_BLOCKED_MS HEARTBEAT_INTERVAL_MS
/* A warning in time: a set grows with every server that has ever written. */
#define GTID_LONG (POSITION_TEXT_MAX / 4 * 3)
/* Two beats of a source and two looks: one that was even then is. */
#define EVEN_MS 2000
/* Between two heartbeats that wait for a lock there is none that could be looked at; the log is looked at once a
 * second. */
#define BEAT_LOCKED_MS 3000
/* A backup holds such a lock for a moment; somebody who has left a session open holds it on. */
#define LOCKED_TOLD_MS 5000

/* By the heartbeat's row. */
static bool lag_by_row(const struct instance_state *state, int64_t now_ms, int64_t *ret_lag_ms)
{
    const struct replication_facts *facts = &state->replication;
    const struct role_state *role = &state->role;

    if (!facts->has_beat)
        return false;
    /* Of another primary, by another clock: so long has the one that is followed now not been heard of, and there may
     * be as much to apply as before. */
    if (facts->beat_epoch < role->order.epoch) {
        *ret_lag_ms = role->followed_ms ? role->lag_before_ms + now_ms - role->followed_ms : 0;
        return role->followed_ms != 0;
    }
    if (!state->source.known)
        return false;
    int64_t age_us = facts->beat_read_us + state->source.offset_us - facts->beat_us;
    *ret_lag_ms = MAX_OF(age_us / 1000 - HEARTBEAT_INTERVAL_MS, 0);
    return true;
}

/* By the source's own word that it has sent all: nobody need have written a row since, as an agent that is dead does
 * not. */
static bool lag_by_stream(const struct instance_state *state, int64_t now_ms, int64_t *ret_lag_ms)
{
    const struct stream_view *view = &state->stream;

    if (!view->even_ms)
        return false;
    int64_t age_ms = MAX_OF(now_ms - view->even_ms, 0);
    *ret_lag_ms = age_ms <= EVEN_MS ? 0 : age_ms;
    return true;
}

bool role_lag(const struct instance_state *state, int64_t now_ms, int64_t *ret_lag_ms)
{
    int64_t by_stream_ms = 0;

    if (!state->role.has_order || state->role.order.role != AGENT_ROLE_REPLICA)
        return false;
    bool row = lag_by_row(state, now_ms, ret_lag_ms);
    bool stream = lag_by_stream(state, now_ms, &by_stream_ms);
    if (stream && (!row || by_stream_ms < *ret_lag_ms))
        *ret_lag_ms = by_stream_ms;
    return row || stream;
}

void role_note_lag(struct instance_state *state, int64_t now_ms)
{
    int64_t lag_ms = 0;

    if (role_lag(state, now_ms, &lag_ms))
        state->role.lag_known_ms = now_ms;
}

void role_lag_carry(struct instance_state *state, int64_t now_ms)
{
    struct role_state *role = &state->role;
    int64_t lag_ms = 0;

    if (!role->followed_ms)
        return;
    role->lag_before_ms = role_lag(state, now_ms, &lag_ms) ? lag_ms : 0;
    role->followed_ms = now_ms;
}

void role_note_beat(struct instance_state *state, const struct replication_facts *facts, int64_t at_ms)
{
    if (facts->beat_locked)
        state->beat.locked_ms = at_ms;
    if (facts->semi_sync_source && facts->waiting_commits > 0)
        state->beat.waited_ms = at_ms;
}

bool role_beat_is_late(const struct instance_state *state, int64_t now_ms)
{
    const struct beat_state *beat = &state->beat;

    return beat->wanted && beat->blocked_since_ms && now_ms - beat->blocked_since_ms > BEAT_BLOCKED_MS;
}

/* It waits for somebody's lock (FLUSH TABLES WITH READ LOCK, a backup): neither storage nor acknowledgements are at
 * fault. */
static bool is_locked_out(const struct beat_state *beat, int64_t now_ms)
{
    return beat->locked_ms && beat->locked_ms >= beat->blocked_since_ms && now_ms - beat->locked_ms <= BEAT_LOCKED_MS;
}

/* It waits for a large transaction to get into the binary log: that is work, unless commits wait for acknowledgements
 * behind it. */
static bool is_behind_log(const struct instance_state *state, int64_t now_ms)
{
    const struct beat_state *beat = &state->beat;

    if (state->replication.semi_sync_source && state->replication.waiting_commits > 0)
        return false;
    return beat->log_ms && beat->log_ms >= beat->blocked_since_ms && now_ms - beat->log_ms <= BEAT_LOCKED_MS;
}

int64_t role_blocked_ms(const struct instance_state *state, int64_t now_ms)
{
    int64_t since_ms = state->commits_blocked_since_ms;
    const struct beat_state *beat = &state->beat;

    if (!state->replication.semi_sync_source)
        return 0;
    /* Who is refused writes no heartbeat, and knows nothing of what others commit. */
    if (state->probe_error.kind == ERROR_UNAUTHORIZED || state->beat.error.kind == ERROR_UNAUTHORIZED)
        return 0;
    /* One look at waiting commits proves nothing, a heartbeat that is late does. */
    bool late = !role_stalled_ms(state, now_ms) && !is_locked_out(beat, now_ms) && !is_behind_log(state, now_ms) &&
        role_beat_is_late(state, now_ms);
    if (late && (!since_ms || beat->blocked_since_ms < since_ms))
        since_ms = beat->blocked_since_ms;
    else if (!late && since_ms && now_ms - since_ms < 2 * BEAT_BLOCKED_MS)
        since_ms = 0;
    return since_ms ? MAX_OF(now_ms - since_ms, 1) : 0;
}

#define ER_LOCK_WAIT_TIMEOUT 1205

/* It runs for too long, or was given up, or meets the lock of one that was. */
static bool beat_hangs(const struct instance_state *state, int64_t now_ms)
{
    const struct beat_state *beat = &state->beat;
    bool given_up = beat->error.kind == ERROR_TIMEOUT ||
        (beat->error.kind == ERROR_DATABASE && beat->error.code == ER_LOCK_WAIT_TIMEOUT);

    return role_beat_is_late(state, now_ms) && (beat->started_ms || given_up);
}

int64_t role_stalled_ms(const struct instance_state *state, int64_t now_ms)
{
    const struct beat_state *beat = &state->beat;

    /* The last look at a server that hangs is an old one. */
    bool hangs = state->unanswered_since_ms && now_ms - state->unanswered_since_ms > BEAT_BLOCKED_MS;
    if (hangs || is_locked_out(beat, now_ms) || is_behind_log(state, now_ms) || !beat_hangs(state, now_ms))
        return 0;
    if (state->replication.semi_sync_source && state->replication.waiting_commits > 0)
        return 0;
    int64_t excused_ms = MAX_OF(MAX_OF(beat->locked_ms, beat->log_ms), beat->waited_ms);
    return now_ms - MAX_OF(beat->blocked_since_ms, excused_ms);
}

int64_t role_locked_ms(const struct instance_state *state, int64_t now_ms)
{
    const struct beat_state *beat = &state->beat;

    bool is_locked = role_beat_is_late(state, now_ms) && is_locked_out(beat, now_ms);
    return is_locked ? now_ms - beat->blocked_since_ms : 0;
}

/* ---- ready ---- */

static bool is_errant(const struct instance_state *state)
{
    return *state->source.errant || *state->replication.self_written ||
        replication_trouble_of(&state->replication) == TROUBLE_ERRANT;
}

static const char *replica_reason(const struct instance_state *state)
{
    const struct replication_facts *facts = &state->replication;

    if (!facts->read_only)
        return "a replica is to be read-only and is not yet";
    if (role_awaits_source(state))
        return NULL;
    if (!facts->configured)
        return "replication is not set up yet";
    if (state->role.held_for_room)
        return "it receives nothing, as its volume has too little room";
    if (facts->applier != AGENT_THREAD_RUNNING)
        return "the applier does not run";
    if (facts->receiver != AGENT_THREAD_RUNNING && !state->loss.lost.is_lost) /* that one is judged by its lag */
        return "the receiver is not connected to the source";
    return is_errant(state) ? "it has transactions that its source has not" : NULL;
}

static const char *primary_reason(const struct instance_state *state)
{
    if (state->role.closed_for_copy || state->role.copy_reopens) /* it is read from */
        return NULL;
    bool serves = role_done(state) || role_serves_reads(state) || role_is_being_suspended(state);
    return serves ? NULL : "the primary is not open for writes yet";
}

/* Why a replica that is otherwise right may be too old to be read from; false: it is not. */
static bool lags_too_much(const struct instance_state *state, int64_t now_ms, char *reason, size_t size)
{
    const struct role_state *role = &state->role;
    int64_t limit_ms = (int64_t)role->order.max_lag_seconds * 1000, lag_ms = 0;

    if (role->order.role != AGENT_ROLE_REPLICA || limit_ms == 0)
        return false;
    bool known = role_lag(state, now_ms, &lag_ms);
    if (!known)
        lag_ms = now_ms - MAX_OF(MAX_OF(role->lag_known_ms, role->followed_ms), role->started_ms);
    if (lag_ms <= limit_ms)
        return false;
    snprintf(reason, size,
        known ? "it lags by %lld s, %u s are allowed" : "its lag has not been known for %lld s, %u s are allowed",
        (long long)(lag_ms / 1000), role->order.max_lag_seconds);
    return true;
}

bool role_ready(const struct instance_state *state, int64_t now_ms, char *reason, size_t size)
{
    const struct agent_order *order = &state->role.order;
    const char *why = NULL;

    reason[0] = '\0';
    if (!state->role.has_order)
        why = "it waits for the operator's word";
    else if (order->role == AGENT_ROLE_PRIMARY)
        why = primary_reason(state);
    else if (order->role == AGENT_ROLE_REPLICA)
        why = replica_reason(state);
    else
        why = "it is fenced";
    if (why) {
        snprintf(reason, size, "%s", why);
        return false;
    }
    return !lags_too_much(state, now_ms, reason, size);
}

/* ---- status ---- */

static void add_trouble(const struct replication_facts *facts, struct agent_status *status)
{
    const char *told = facts->applier_errno ? facts->applier_error : facts->receiver_error;
    const char *text = *facts->error_text ? facts->error_text : told;

    switch (replication_trouble_of(facts)) {
    case TROUBLE_PURGED:
        agent_status_add_problem(status, AGENT_PROBLEM_BINLOGS_PURGED, "%s", text);
        break;
    case TROUBLE_ERRANT:
        agent_status_add_problem(status, AGENT_PROBLEM_ERRANT_TRANSACTIONS, "%s", text);
        break;
    case TROUBLE_SERVER_ID:
        agent_status_add_problem(status, AGENT_PROBLEM_DUPLICATE_SERVER_ID, "%s", text);
        break;
    case TROUBLE_REFUSED:
        agent_status_add_problem(status, AGENT_PROBLEM_REPLICATION_REFUSED, "%s", text);
        break;
    case TROUBLE_STOPPED:
        agent_status_add_problem(status, AGENT_PROBLEM_REPLICATION_STOPPED, "%s", text);
        break;
    default:
        break;
    }
}

static void fill_errant(const struct instance_state *state, struct agent_status *ret)
{
    if (!*ret->errant)
        json_copy_text(ret->errant, sizeof(ret->errant), state->source.errant);
    if (!*ret->errant)
        replication_errant_position(&state->replication, ret->errant, sizeof(ret->errant));
    if (*state->source.errant && replication_trouble_of(&state->replication) != TROUBLE_ERRANT)
        agent_status_add_problem(
            ret, AGENT_PROBLEM_ERRANT_TRANSACTIONS, "executed here and not at the source: %s", state->source.errant);
}

/* A primary is left as it is: its replicas cannot follow it any more, and another one is to lead. */
static void fill_loss(const struct instance_state *state, struct agent_status *ret)
{
    bool is_mariadb = state->observed.version.flavour == AGENT_FLAVOUR_MARIADB;
    const char *lacking = *state->loss.lost.lacking ? state->loss.lost.lacking : "not known";
    const char *pod = str_or_empty(state->instance);

    if (!state->loss.lost.is_lost)
        return;
    if (state->role.order.role == AGENT_ROLE_PRIMARY)
        agent_status_add_problem(ret, AGENT_PROBLEM_GTIDS_LOST,
            "somebody has set back the GTID position of this primary (%s): it can be replica of nobody before it is "
            "copied anew, and what it commits cannot be told by its number from what the others have; lost: %s",
            is_mariadb ? "RESET MASTER" : "RESET BINARY LOGS AND GTIDS", lacking);
    else
        agent_status_add_problem(ret, AGENT_PROBLEM_GTIDS_LOST,
            "somebody has set back its GTID position (%s): it receives nothing, and does not become primary by a "
            "switchover, before it is copied anew (kubectl delete pvc data-%s --wait=false; kubectl delete pod %s); "
            "lost: %s",
            is_mariadb ? "RESET MASTER, gtid_slave_pos" : "RESET BINARY LOGS AND GTIDS", pod, pod, lacking);
}

static void fill_replication(const struct instance_state *state, int64_t now_ms, struct agent_status *ret)
{
    const struct replication_facts *facts = &state->replication;

    ret->replication.caught_up = state->catch_up.up;
    if (!state->catch_up.up)
        json_copy_text(ret->replication.dropped, sizeof(ret->replication.dropped), state->role.relay_dropped);
    if (*facts->self_written) {
        json_copy_text(ret->errant, sizeof(ret->errant), facts->self_written);
        agent_status_add_problem(ret, AGENT_PROBLEM_ERRANT_TRANSACTIONS,
            "the server completed an interrupted DDL statement by itself when it was started: %s", facts->self_written);
    }
    ret->replication.applied_epoch = facts->beat_epoch;
    if (!facts->configured)
        return;
    json_copy_text(ret->replication.source_host, sizeof(ret->replication.source_host), facts->source_host);
    ret->replication.receiver = facts->receiver;
    ret->replication.applier = facts->applier;
    ret->replication.receiver_errno = facts->receiver_errno;
    ret->replication.applier_errno = facts->applier_errno;
    if (state->applier_stopped_since_ms)
        ret->replication.stopped_ms = MAX_OF(now_ms - state->applier_stopped_since_ms, 1);
    memcpy(ret->replication.receiver_error, facts->receiver_error, sizeof(facts->receiver_error));
    memcpy(ret->replication.applier_error, facts->applier_error, sizeof(facts->applier_error));
    ret->replication.source_seen = state->stream.seen;
    ret->replication.source_lost = role_source_lost(state);
    ret->replication.lag_known = role_lag(state, now_ms, &ret->replication.lag_ms);
    add_trouble(facts, ret);
    fill_errant(state, ret);
}

/* Also on a primary: it is written to by whomever that channel follows. */
static void fill_foreign_channel(const struct instance_state *state, struct agent_status *ret)
{
    const char *channel = state->replication.foreign_channel;
    _cleanup_(strbuf_release) struct strbuf quoted = {0};

    if (!*channel)
        return;
    strbuf_init(&quoted, 4 * CHANNEL_NAME_SIZE);
    sql_add_string(&quoted, channel);
    if (state->observed.version.flavour == AGENT_FLAVOUR_MARIADB)
        agent_status_add_problem(ret, AGENT_PROBLEM_FOREIGN_CHANNEL,
            "a replication channel %s was made by hand, and is left alone; STOP SLAVE %s; RESET SLAVE %s ALL removes "
            "it",
            quoted.buf, quoted.buf, quoted.buf);
    else
        agent_status_add_problem(ret, AGENT_PROBLEM_FOREIGN_CHANNEL,
            "a replication channel %s was made by hand, and is left alone; STOP REPLICA FOR CHANNEL %s; RESET REPLICA "
            "ALL FOR CHANNEL %s removes it",
            quoted.buf, quoted.buf, quoted.buf);
}

static void fill_lock(const struct instance_state *state, int64_t now_ms, struct agent_status *ret)
{
    const char *holder = state->replication.lock_holder;

    ret->locked_ms = state->beat.wanted ? role_locked_ms(state, now_ms) : state->lock_waited_s * 1000;
    if (ret->locked_ms == 0)
        return;
    memcpy(ret->lock_holder, holder, sizeof(ret->lock_holder));
    if (ret->locked_ms >= LOCKED_TOLD_MS)
        agent_status_add_problem(ret, AGENT_PROBLEM_WRITES_LOCKED,
            "nobody can write: %s holds a lock on all tables (FLUSH TABLES WITH READ LOCK, a backup); %sUNLOCK TABLES "
            "there, or KILL, ends it",
            *holder ? holder : "a session", *holder ? "" : "find it by SHOW PROCESSLIST; ");
}

static void fill_primary(const struct instance_state *state, int64_t now_ms, struct agent_status *ret)
{
    const struct replication_facts *facts = &state->replication;

    ret->semi_sync =
        (facts->semi_sync_source && facts->semi_sync_waits && !facts->semi_sync_altered) || facts->semi_sync_gives;
    ret->semi_sync_replicas = facts->semi_sync_clients;
    ret->semi_sync_acks = facts->semi_sync_source ? facts->semi_sync_acks : 0;
    ret->semi_sync_lapses = state->lapses;
    ret->waiting_commits = facts->waiting_commits;
    ret->writes_blocked_ms = role_blocked_ms(state, now_ms);
    ret->stalled_ms = role_stalled_ms(state, now_ms);
    ret->long_transactions = facts->long_transactions;
    fill_lock(state, now_ms, ret);
    size_t gtid_len = strlen(str_or_empty(facts->gtid_executed));
    if (!position_is_whole(facts->gtid_executed))
        agent_status_add_problem(ret, AGENT_PROBLEM_GTID_SET_TOO_LONG,
            "the GTID set takes more than %zu bytes: members cannot be compared, and neither a failover nor a "
            "switchover is possible",
            POSITION_TEXT_MAX);
    else if (gtid_len >= GTID_LONG)
        agent_status_add_problem(ret, AGENT_PROBLEM_GTID_SET_LONG,
            "the GTID set takes %zu bytes; beyond %zu members can no longer be compared, and neither a failover nor a "
            "switchover is possible",
            gtid_len, POSITION_TEXT_MAX);
    if (state->role.closed_for_copy || state->role.copy_reopens)
        agent_status_add_problem(ret, AGENT_PROBLEM_CLOSED_FOR_COPY,
            "commits waited for a replica, and the copy that a member makes waited for those commits: closed for writes for the "
            "seconds in which it gets past them");
    if (state->unacknowledged)
        agent_status_add_problem(ret, AGENT_PROBLEM_UNACKNOWLEDGED_COMMITS,
            "%llu commits of this server were ended while they waited (KILL); no replica need have them, although clients may "
            "have been told that they are done",
            (unsigned long long)state->unacknowledged);
    memcpy(ret->long_transaction, facts->long_transaction, sizeof(facts->long_transaction));
    if (state->role.running == ROLE_ACTION_CLOSE && now_ms - state->role.running_ms > DRAIN_NOTED_MS)
        agent_status_add_problem(ret, AGENT_PROBLEM_DRAIN_BLOCKED, "closing waits for %s",
            *facts->long_transaction ? facts->long_transaction : "statements that are being executed");
}

/* What somebody has done by hand, and means. */
static void fill_left_alone(const struct instance_state *state, struct agent_status *ret)
{
    if (role_is_left_stopped(state))
        agent_status_add_problem(ret, AGENT_PROBLEM_REPLICATION_PAUSED,
            "somebody has stopped its replication, and it is left so while spec.paused is true");
    if (role_is_left_offline(state))
        agent_status_add_problem(ret, AGENT_PROBLEM_OFFLINE_MODE,
            "somebody has set offline_mode: clients without CONNECTION_ADMIN are thrown out and refused, and it is "
            "left so while spec.paused is true; SET GLOBAL offline_mode = OFF, or the end of the pause, lets them in");
}

void role_fill_status(const struct instance_state *state, int64_t now_ms, struct agent_status *ret)
{
    const struct role_state *role = &state->role;
    const struct replication_facts *facts = &state->replication;

    healing_fill_status(state, ret);
    ret->epoch = role->epoch;
    ret->opened_epoch = role->opened_epoch;
    /* Whoever concludes from it that this server was not opened looks at the heartbeat that it has, too. */
    ret->noted_since = role->running == ROLE_ACTION_OPEN || facts->beat_unread ? 0 : role->noted_since;
    ret->mark = role->mark;
    ret->restored_number = state->beside.data;
    ret->has_before = state->beside.has_before;
    ret->role = role->has_order ? role->order.role : AGENT_ROLE_NONE;
    memcpy(ret->order_hash, role->order_hash, sizeof(ret->order_hash));
    ret->order_done = role_done(state);
    ret->looked_ms = state->replication_ms;
    ret->closed_for_room = ret->phase == AGENT_PHASE_RUNNING && role_serves_reads(state);
    ret->roomy_replicas = role->order.role == AGENT_ROLE_PRIMARY ? others_room_count(&state->others, now_ms) : 0;
    ret->open_for_root =
        ret->closed_for_room && role->open_for_root && (facts->root_only || !facts->has_super_read_only);
    ret->writable = ret->phase == AGENT_PHASE_RUNNING && role_may_be_open(state) && !ret->closed_for_room;
    ret->gtid_executed = facts->gtid_executed;
    ret->gtid_received = facts->gtid_received;
    ret->gtid_state = facts->gtid_state;
    ret->position_max = (uint32_t)POSITION_TEXT_MAX;
    ret->volume_protocol = AGENT_VOLUME_PROTOCOL;
    ret->data = AGENT_DATA_DATABASE;
    memcpy(ret->made_with, state->made_with, sizeof(ret->made_with));
    fill_loss(state, ret);
    fill_replication(state, now_ms, ret);
    fill_primary(state, now_ms, ret);
    ret->leaves_threads = role->leave_threads;
    ret->keeps_stopped = role->keep_stopped;
    ret->root_until_ms = role->root_until_ms;
    ret->locks_left = role->lock_left;
    ret->stays_open = role->stays_open;
    if (role->marked_stopped && ret->phase == AGENT_PHASE_DOWN)
        agent_status_add_problem(ret, AGENT_PROBLEM_SERVER_STOPPED,
            "its server is kept stopped, as the cluster's annotation says; taking that away starts it");
    fill_left_alone(state, ret);
    ret->isolated = role->isolated;
    if (role->isolated)
        agent_status_add_problem(ret, AGENT_PROBLEM_ISOLATED,
            "neither the operator nor another member was heard for %u ms: closed until the operator speaks",
            role->fence.ms);
    if (*state->older_tables)
        agent_status_add_problem(ret, AGENT_PROBLEM_SYSTEM_TABLES_OLD,
            "the system tables are those of %s: this image has no mariadb-upgrade; one of this series that has it, or a "
            "later one, upgrades them",
            state->older_tables);
    if (role->error.kind != ERROR_NONE)
        agent_status_add_problem(ret, AGENT_PROBLEM_ROLE_FAILED, "%s", role->error.message);
    fill_foreign_channel(state, ret);
}
