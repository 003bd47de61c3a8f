/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/role_decide.h"

#include "agent/look_answer.h"

#define VAIN_MS 1000

/* From mysqld_error.h; the receiver's are those of the source or of the client library. */
#define ER_ACCESS_DENIED 1045
#define ER_LOCK_WAIT_TIMEOUT 1205
#define ER_LOCK_DEADLOCK 1213
#define ER_SPECIFIC_ACCESS_DENIED 1227
#define ER_FATAL_READING_BINLOG 1236
#define ER_SLAVE_FATAL 1593
#define ER_ACCESS_DENIED_NO_PASSWORD 1698
#define ER_GTID_OUT_OF_ORDER 1950 /* MariaDB */
/* MariaDB: a transaction of a parallel applier that comes after one that failed. Last_SQL_Errno may hold this in place
 * of that one's own error, whichever thread ends last. */
#define ER_PRIOR_COMMIT_FAILED 1964
#define CR_SSL_CONNECTION 2026
#define ER_ACCOUNT_LOCKED 3118
#define ER_ACCOUNT_LOCKED_MARIADB 4151
#define ER_SERVER_FATAL_READING_BINLOG 13114 /* MySQL 8 */
#define ER_SERVER_SLAVE_FATAL 13117          /* MySQL 8: equal server ids */

static bool is_refusal(uint32_t number)
{
    static const uint32_t numbers[] = {ER_ACCESS_DENIED, ER_SPECIFIC_ACCESS_DENIED, ER_ACCESS_DENIED_NO_PASSWORD,
        CR_SSL_CONNECTION, ER_ACCOUNT_LOCKED, ER_ACCOUNT_LOCKED_MARIADB};

    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        if (numbers[i] == number)
            return true;
    }
    return false;
}

/* The source's own verdict. Other errors quote names of hosts, in which any word may be: a namespace may be called
 * "purged". */
static bool is_verdict(uint32_t number)
{
    return number == ER_FATAL_READING_BINLOG || number == ER_SERVER_FATAL_READING_BINLOG || number == ER_SLAVE_FATAL ||
        number == ER_SERVER_SLAVE_FATAL;
}

/* One number stands for many troubles: the words tell them apart. */
static enum replication_trouble trouble_of_words(const char *text)
{
    static const struct {
        const char *words;
        enum replication_trouble trouble;
    } rows[] = {
        {"equal MySQL server ids", TROUBLE_SERVER_ID},
        {"equal MariaDB server ids", TROUBLE_SERVER_ID},
        {"same server_uuid/server_id", TROUBLE_SERVER_ID},
        {"has more GTIDs than", TROUBLE_ERRANT},
        {"not in the master's binlog", TROUBLE_ERRANT},
        {"purged", TROUBLE_PURGED},
        {"Could not find GTID state requested", TROUBLE_PURGED},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (strstr(text, rows[i].words))
            return rows[i].trouble;
    }
    return TROUBLE_NONE;
}

enum replication_trouble replication_trouble_of(const struct replication_facts *facts)
{
    if (facts->applier_errno)
        return facts->applier_errno == ER_GTID_OUT_OF_ORDER ? TROUBLE_ERRANT : TROUBLE_STOPPED;
    if (!facts->receiver_errno)
        return TROUBLE_NONE;
    enum replication_trouble trouble =
        is_verdict(facts->receiver_errno) ? trouble_of_words(facts->receiver_error) : TROUBLE_NONE;
    if (trouble != TROUBLE_NONE)
        return trouble;
    if (is_refusal(facts->receiver_errno))
        return TROUBLE_REFUSED;
    /* The server gave up by itself, for a reason that we know no name for. */
    return facts->receiver == AGENT_THREAD_OFF ? TROUBLE_STOPPED : TROUBLE_LOST;
}

void replication_errant_position(const struct replication_facts *facts, char *ret, size_t size)
{
    bool by_applier = facts->applier_errno != 0;
    const char *words = by_applier ? "existing GTID " : "to start from GTID ";
    const char *at = strstr(by_applier ? facts->applier_error : facts->receiver_error, words);

    ret[0] = '\0';
    if (at && replication_trouble_of(facts) == TROUBLE_ERRANT)
        snprintf(ret, size, "%.*s", (int)strspn(at + strlen(words), "0123456789-"), at + strlen(words));
}

static bool is_closed(const struct instance_state *state)
{
    return state->replication.read_only && !state->role.was_open;
}

static bool runs(const struct replication_facts *facts)
{
    return facts->receiver != AGENT_THREAD_OFF || facts->applier != AGENT_THREAD_OFF;
}

/* Whatever decides whether commits wait, and whether they do. */
static bool waits_as_ordered(const struct replication_facts *facts, const struct agent_order *order)
{
    if (!order->semi_sync)
        return !facts->semi_sync_source;
    return facts->semi_sync_source && facts->semi_sync_waits && !facts->semi_sync_altered &&
        (facts->semi_sync_acks == 0 || facts->semi_sync_acks == MAX_OF(order->acks, 1U));
}

/* Opened under this order, if not for writes. */
static bool is_led(const struct instance_state *state)
{
    const struct replication_facts *facts = &state->replication;

    return state->role.opened && !facts->configured && waits_as_ordered(facts, &state->role.order);
}

/* For applications. */
static bool is_shut(const struct instance_state *state)
{
    return state->replication.read_only || state->replication.root_only;
}

/* For applications, too: with MySQL's read_only alone only administrators write. */
static bool is_open(const struct instance_state *state)
{
    return is_led(state) && !is_shut(state) && !state->role.closed_for_room;
}

static bool is_semi_sync_primary(const struct role_state *role)
{
    return role->has_order && role->order.role == AGENT_ROLE_PRIMARY && role->order.semi_sync;
}

void role_note_unacknowledged(struct instance_state *state, const struct replication_facts *facts, bool ours)
{
    bool counts = !ours && (facts->semi_sync_source || is_semi_sync_primary(&state->role));

    if (!facts->unacknowledged_known)
        return;
    if (facts->unacknowledged < state->unacknowledged_seen) /* FLUSH STATUS */
        state->unacknowledged_seen = 0;
    uint64_t ended = facts->unacknowledged - state->unacknowledged_seen;
    state->unacknowledged_seen = facts->unacknowledged;
    if (!counts)
        return;
    state->lapses += ended;
    if (!state->role.semi_sync_new)
        state->unacknowledged += ended;
}

void role_note_lapse(struct instance_state *state, const struct replication_facts *facts)
{
    const struct role_state *role = &state->role;
    uint32_t acks = role->opened ? role->order.acks : role->waits_open ? role->waits_acks : 0;
    bool fewer = facts->semi_sync_acks > 0 && facts->semi_sync_acks < acks;
    bool lapsed = !facts->semi_sync_source || !facts->semi_sync_waits || facts->semi_sync_altered || fewer;

    if ((is_semi_sync_primary(role) || role->waits_open) && facts->seen && (!facts->read_only || role->open_for_root) &&
        lapsed)
        state->lapses++;
}

bool role_closed_for_copy(const struct instance_state *state, int64_t now_ms)
{
    const struct replication_facts *facts = &state->replication;
    const struct role_state *role = &state->role;

    if (!role->has_order || role->order.role != AGENT_ROLE_PRIMARY ||
        (state->serving_copies == 0 && !facts->gives_clone))
        return false;
    if (role->closed_for_copy)
        return !role->copy_shut_ms || now_ms - role->copy_shut_ms < COPY_STAGE_MS;
    bool was_closed = role->copy_closed_ms && now_ms - role->copy_closed_ms < AGENT_COPY_CLOSE_AGAIN_MS;
    bool rests = role->stays_open || was_closed;
    int64_t patience_ms = rests ? COPY_AGAIN_BLOCKED_MS : COPY_PATIENCE_MS;
    return is_open(state) && (facts->copy_waits || state->copy_stalls) && state->commits_blocked_since_ms &&
        now_ms - state->commits_blocked_since_ms >= patience_ms;
}

bool role_closed_for_room(const struct instance_state *state, int64_t now_ms)
{
    const struct role_state *role = &state->role;
    bool lacks = role->order.semi_sync && others_room_lacks(&state->others, role->order.acks, now_ms);

    return role->has_order && role->order.role == AGENT_ROLE_PRIMARY && (state->room.is_short || lacks);
}

bool role_held_for_room(const struct instance_state *state, int64_t now_ms)
{
    const struct role_state *role = &state->role;
    bool follows = role->has_order && role->order.role == AGENT_ROLE_REPLICA && *role->order.source_host;
    bool ends = volume_room_ends(&state->room, state->room.free_bytes, 0, now_ms);
    bool is_told = now_ms - state->room.short_since_ms >= SPARE_AFTER_MS && state->source.error.kind == ERROR_NONE;
    /* One that takes no writes sends nothing but what was committed: replicas receive that, and stay ready. */
    bool is_spare = state->source.known && state->source.others_have_room && !state->source.takes_no_writes;

    return follows && state->room.is_short && is_spare && (role->held_for_room || (ends && is_told));
}

static bool is_at_last_floor(const struct instance_state *state, int64_t now_ms)
{
    const struct agent_order *order = &state->role.order;

    return state->room.is_last || (order->semi_sync && others_room_is_last(&state->others, order->acks, now_ms));
}

bool role_opens_for_root(const struct instance_state *state, int64_t now_ms)
{
    const struct role_state *role = &state->role;
    bool is_closing = role->closed_for_copy || role->isolated || role->stopping;

    return role->closed_for_room && role->root_until_ms && now_ms < role->root_end_ms && !is_closing &&
        !is_at_last_floor(state, now_ms);
}

bool role_serves_reads(const struct instance_state *state)
{
    const struct role_state *role = &state->role;
    bool opens = role->reopens && !role->closed_for_copy && !role->isolated && !role->stopping;

    return is_shut(state) && (opens || (role->closed_for_room && is_led(state)));
}

bool role_is_being_suspended(const struct instance_state *state)
{
    return state->role.closed_for_room && is_led(state) && !is_shut(state);
}

bool role_ends_suspension(const struct instance_state *state)
{
    const struct role_state *role = &state->role;

    return role->running == ROLE_ACTION_SUSPEND &&
        ((role->has_order && !role->closed_for_room) || role->closed_for_copy || role->isolated || role->stopping);
}

bool role_may_be_open(const struct instance_state *state)
{
    const struct replication_facts *facts = &state->replication;

    return facts->seen ? !facts->read_only : look_is_refused(state) && (!state->seen_gone || state->role.was_open);
}

/* What the agent before this one had promised. Whether that one still heard anybody at its end is not known, so not all
 * of the time is given again. */
static bool is_left_open(const struct instance_state *state, int64_t now_ms)
{
    const struct role_state *role = &state->role;
    const struct self_fence *fence = &role->fence;
    int64_t limit_ms = MIN_OF((int64_t)fence->ms, ROLE_LEFT_OPEN_MS);

    if (role->isolated)
        return true;
    return fence->ms && role_may_be_open(state) && now_ms - role->started_ms >= limit_ms &&
        hearing_is_alone(&role->hearing, (int64_t)fence->ms, fence->members, now_ms);
}

bool role_is_isolated(const struct instance_state *state, int64_t now_ms)
{
    const struct role_state *role = &state->role;

    if (!role->has_order)
        return is_left_open(state, now_ms);
    if (role->order.role != AGENT_ROLE_PRIMARY || !role->order.self_fence_ms)
        return false;
    return role->isolated ||
        hearing_is_alone(&role->hearing, (int64_t)role->order.self_fence_ms, role->order.self_fence_members, now_ms);
}

/* What root writes waits for acknowledgements as the order says, and comes after all that had to be executed before. */
static bool opens_root_now(const struct instance_state *state)
{
    return state->role.open_for_root && is_led(state);
}

static bool is_suspended(const struct instance_state *state)
{
    bool by_root_only = opens_root_now(state) && state->replication.has_super_read_only;

    return by_root_only ? state->replication.root_only : state->replication.read_only;
}

static bool wants_end_of_writers(const struct instance_state *state, int64_t now_ms)
{
    const struct role_state *role = &state->role;

    return role->closed_for_room && !state->replication.has_super_read_only && is_at_last_floor(state, now_ms) &&
        now_ms - role->writers_ms >= WRITERS_END_MS;
}

static struct role_decision decide_primary(const struct instance_state *state, int64_t now_ms)
{
    struct role_decision decision = {.action = ROLE_ACTION_NONE, .urgent = true};

    if (state->role.closed_for_copy || state->role.isolated || state->role.stopping)
        decision.action = is_closed(state) ? ROLE_ACTION_NONE : ROLE_ACTION_CLOSE;
    else if (state->role.closed_for_room && !is_suspended(state))
        decision.action = ROLE_ACTION_SUSPEND;
    else if (state->role.closed_for_room ? !is_led(state) : !is_open(state))
        decision.action = state->role.relay == RELAY_DONE ? ROLE_ACTION_OPEN : ROLE_ACTION_RECOVER;
    else if (wants_end_of_writers(state, now_ms))
        decision.action = ROLE_ACTION_END_WRITERS;
    decision.stays_closed = state->role.closed_for_room;
    decision.root = opens_root_now(state);
    return decision;
}

/* The last look is from before what is being done, or nobody has looked since. */
static bool is_looked_at(const struct role_state *role)
{
    return role->running == ROLE_ACTION_NONE && !role->unseen;
}

/* What lies there of an earlier life of the server has been dealt with, or is left alone: behind a position that was
 * set back it would be applied again. */
static bool has_no_relay_logs(const struct instance_state *state)
{
    return state->role.relay == RELAY_DONE || state->loss.lost.is_lost;
}

bool role_done(const struct instance_state *state)
{
    const struct role_state *role = &state->role;

    if (!role->has_order)
        return false;
    switch (role->order.role) {
    case AGENT_ROLE_PRIMARY:
        return is_open(state);
    case AGENT_ROLE_REPLICA:
        return is_closed(state) &&
            (*role->order.source_host ||
                (state->replication.receiver == AGENT_THREAD_OFF && is_looked_at(role) && has_no_relay_logs(state)));
    default:
        return is_closed(state) && !runs(&state->replication) && is_looked_at(role);
    }
}

static bool source_is_right(const struct instance_state *state)
{
    const struct replication_facts *facts = &state->replication;
    const struct agent_order *order = &state->role.order;

    return facts->configured && facts->source_tls && replication_beat_is_right(facts) &&
        facts->source_port == order->source_port && strcmp(facts->source_host, order->source_host) == 0 &&
        facts->semi_sync_replica == order->semi_sync;
}

/* A thread that is off: at once if it was stopped, now and then if what stopped it may pass, or if its
 * error names no cause. */
static bool wants_start(const struct instance_state *state, int64_t now_ms, bool *ret_restart)
{
    const struct replication_facts *facts = &state->replication;
    bool later = now_ms - state->role.restarted_ms >= THREAD_RETRY_MS;
    bool receiver_off = facts->receiver == AGENT_THREAD_OFF;
    bool applier_off = facts->applier == AGENT_THREAD_OFF;
    bool passes = facts->applier_errno == ER_LOCK_WAIT_TIMEOUT || facts->applier_errno == ER_LOCK_DEADLOCK ||
        facts->applier_errno == ER_PRIOR_COMMIT_FAILED;

    *ret_restart = later && ((receiver_off && facts->receiver_errno) || (applier_off && passes));
    return *ret_restart || (receiver_off && !facts->receiver_errno) || (applier_off && !facts->applier_errno);
}

bool role_is_left_stopped(const struct instance_state *state)
{
    const struct replication_facts *facts = &state->replication;
    const struct role_state *role = &state->role;
    bool by_hand = (facts->receiver == AGENT_THREAD_OFF && !facts->receiver_errno) ||
        (facts->applier == AGENT_THREAD_OFF && !facts->applier_errno);

    return role->leave_threads && role->started && role->has_order && role->order.role == AGENT_ROLE_REPLICA &&
        *role->order.source_host && by_hand && source_is_right(state);
}

bool role_applies_before_end(const struct instance_state *state)
{
    const struct replication_facts *facts = &state->replication;
    const struct role_state *role = &state->role;
    bool applies = facts->seen && facts->configured && facts->applier == AGENT_THREAD_RUNNING && !facts->applier_errno;

    return role->leaving && role->has_order && role->order.role == AGENT_ROLE_REPLICA && applies &&
        !role_is_left_stopped(state) && (facts->receiver != AGENT_THREAD_OFF || !facts->all_applied);
}

/* Its agent has applied the same account files as ours knows. */
static bool source_takes_password(const struct instance_state *state)
{
    return *state->source.accounts_hash && strcmp(state->source.accounts_hash, state->accounts_wanted_hash) == 0;
}

/* A new password reaches members at different times. A connection that works is not given up for one that the source
 * may not know yet: without acknowledgements commits would wait. */
static bool must_reconfigure(const struct instance_state *state)
{
    const struct role_state *role = &state->role;
    bool works = source_is_right(state) && state->replication.receiver == AGENT_THREAD_RUNNING;

    if (role->source_followed == 0)
        return is_refusal(state->replication.receiver_errno);
    if (role->password_unknown && !role->prepared && is_refusal(state->replication.receiver_errno))
        return true;
    return role->source_followed != role->source_wanted && (!works || source_takes_password(state));
}

void role_note_followed(struct role_state *role, uint64_t source, bool reconfigured, int64_t now_ms)
{
    if (reconfigured)
        role->password_unknown = false;
    else if (role->source_followed != source)
        role->password_unknown = true;
    if (role->source_followed == source)
        return;
    role->source_followed = source;
    role->followed_ms = now_ms;
}

/* The source has been told to be primary anew, and we have not been told to follow it: whoever counts on
 * acknowledgements does not know of ours. One that has been told to close is served to the end: what it still has to
 * commit waits for us. */
static bool is_overtaken(const struct instance_state *state)
{
    return state->source.is_primary && state->source.epoch > state->role.order.epoch;
}

bool role_awaits_source(const struct instance_state *state)
{
    const struct agent_order *order = &state->role.order;
    const struct source_view *source = &state->source;

    if (!state->role.has_order || order->role != AGENT_ROLE_REPLICA || !order->await_source)
        return false;
    return !(source->known && source->is_open && source->epoch >= order->epoch);
}

/* ---- whether the source is heard ---- */

static bool is_of_order(const struct replication_facts *facts, const struct agent_order *order)
{
    return order->role == AGENT_ROLE_REPLICA && *order->source_host && facts->configured &&
        facts->source_port == order->source_port && strcmp(facts->source_host, order->source_host) == 0;
}

/* The source has said why it gives us nothing. */
static bool is_served_no_log(const struct replication_facts *facts)
{
    switch (replication_trouble_of(facts)) {
    case TROUBLE_PURGED:
    case TROUBLE_ERRANT:
    case TROUBLE_SERVER_ID:
    case TROUBLE_REFUSED:
        return facts->receiver_errno != 0;
    default:
        return false;
    }
}

/* A source beats when it has sent all that it has: at some time between the two looks. A receiver that is far behind
 * may apply all that it gets as it comes, and a transaction that is still coming is not among what was received. What a
 * source that is not open has says nothing: it may be behind itself. */
static void note_even(
    struct stream_view *view, const struct replication_facts *facts, bool connected, const struct source_view *source)
{
    bool leads = !source->known || source->is_open;
    bool same = connected && view->connected && facts->source_beats >= view->beats;
    bool beat = same && facts->source_beats > view->beats;

    view->was_idle = same && (view->was_idle || (beat && facts->stream_position == view->position));
    if (beat && view->was_idle && facts->all_applied && leads)
        view->even_ms = view->observed_ms;
    view->beats = facts->source_beats;
    view->position = facts->stream_position;
}

void role_note_stream(struct instance_state *state, const struct replication_facts *facts, int64_t at_ms)
{
    struct stream_view *view = &state->stream;

    if (!state->role.has_order || !is_of_order(facts, &state->role.order)) {
        *view = (struct stream_view){0};
        return;
    }
    bool connected = facts->receiver == AGENT_THREAD_RUNNING;
    bool moved = connected && (!view->connected || facts->stream_signature != view->signature);
    view->refused = is_served_no_log(facts);
    note_even(view, facts, connected, &state->source);
    if (moved || view->refused || !view->observed_ms)
        view->heard_ms = at_ms;
    view->seen = view->seen || connected;
    view->connected = connected;
    view->signature = facts->stream_signature;
    view->observed_ms = at_ms;
}

bool role_source_lost(const struct instance_state *state)
{
    const struct stream_view *view = &state->stream;
    uint32_t limit_ms = state->role.order.silence_ms ? state->role.order.silence_ms : SILENCE_DEFAULT_MS;

    bool is_held = state->role.held_for_room || state->loss.lost.is_lost;

    if (!view->observed_ms || view->refused || is_held || is_overtaken(state) || role_awaits_source(state))
        return false;
    bool silent = view->observed_ms - view->heard_ms >= (int64_t)limit_ms;
    /* Without a beat of its own a source that has nothing to say is silent, too. */
    if (view->connected)
        return silent && replication_beat_is_right(&state->replication) && state->replication.source_beat_ms;
    return view->seen || silent;
}

/* ---- decisions ---- */

/* MariaDB throws away what was received when a thread starts after both were off: an applier is kept running, or left
 * alone. */
static bool wants_hold(const struct replication_facts *facts)
{
    bool applier_stopped = facts->applier == AGENT_THREAD_OFF && !facts->applier_errno;

    return facts->receiver != AGENT_THREAD_OFF || (facts->configured && applier_stopped && facts->relay_logs_last);
}

static struct role_decision decide_replica(const struct instance_state *state, int64_t now_ms)
{
    const struct role_state *role = &state->role;
    struct role_decision decision = {.action = ROLE_ACTION_NONE};

    if (!is_closed(state)) {
        decision.action = ROLE_ACTION_CLOSE;
        return decision;
    }
    if (state->loss.lost.is_lost) {
        decision.action = state->replication.receiver != AGENT_THREAD_OFF ? ROLE_ACTION_HOLD : ROLE_ACTION_NONE;
        return decision;
    }
    if (role->relay != RELAY_DONE) {
        decision.action = role->leaving ? ROLE_ACTION_NONE : ROLE_ACTION_RECOVER;
        return decision;
    }
    if (!*role->order.source_host || is_overtaken(state) || role->held_for_room) {
        bool wants = wants_hold(&state->replication) || role->put_back_due;
        decision.action = wants ? ROLE_ACTION_HOLD : ROLE_ACTION_NONE;
        return decision;
    }
    if (role->leaving) {
        decision.action =
            role_applies_before_end(state) && wants_hold(&state->replication) ? ROLE_ACTION_HOLD : ROLE_ACTION_NONE;
        return decision;
    }
    if (!role->source_wanted)
        return decision;
    if (role_awaits_source(state)) {
        bool ready = role->source_followed && source_is_right(state) && !must_reconfigure(state);
        decision.action = ready ? ROLE_ACTION_NONE : ROLE_ACTION_PREPARE;
        return decision;
    }
    if (role_is_left_stopped(state))
        return decision;
    bool wants = wants_start(state, now_ms, &decision.restart);
    decision.restart = decision.restart || role->prepared;
    wants = wants || role->prepared;
    decision.reconfigure = must_reconfigure(state) || role->draining_ms;
    if (wants || decision.reconfigure || role->source_followed == 0 || !source_is_right(state))
        decision.action = ROLE_ACTION_FOLLOW;
    else if (role->order.rotate && role->rotated_epoch != role->order.epoch)
        decision.action = ROLE_ACTION_ROTATE;
    return decision;
}

static struct role_decision decide_none(const struct instance_state *state)
{
    struct role_decision decision = {.action = ROLE_ACTION_NONE};

    if (!is_closed(state))
        decision.action = ROLE_ACTION_CLOSE;
    else if (runs(&state->replication) || state->role.put_back_due)
        decision.action = ROLE_ACTION_STOP;
    return decision;
}

/* A new agent leaves a server that it finds as it is, unless that must not stay open. One that came after it was opened
 * by somebody else (I1). */
static struct role_decision decide_without_order(const struct instance_state *state)
{
    bool stays = !state->role.isolated && !state->seen_gone;
    bool is_known = state->replication.seen || (state->role.isolated && role_may_be_open(state));
    bool close = !stays && is_known && !is_closed(state);
    /* Until when the agent before this one had opened it for root is not known. */
    enum role_action otherwise = state->replication.root_only ? ROLE_ACTION_SUSPEND : ROLE_ACTION_NONE;

    return (struct role_decision){.action = close ? ROLE_ACTION_CLOSE : otherwise, .urgent = true};
}

bool role_is_left_offline(const struct instance_state *state)
{
    return state->replication.offline && state->role.has_order && state->role.leave_threads;
}

/* Somebody has set offline_mode, or a close was cut off that had: in whatever role, clients are let in again once the
 * server is as ordered. */
static bool wants_admission(const struct instance_state *state)
{
    return state->replication.offline && state->role.has_order && !role_is_left_offline(state);
}

static struct role_decision decide_by_role(const struct instance_state *state, int64_t now_ms)
{
    struct role_decision decision;

    if (!state->role.has_order)
        return decide_without_order(state);
    switch (state->role.order.role) {
    case AGENT_ROLE_PRIMARY:
        decision = decide_primary(state, now_ms);
        break;
    case AGENT_ROLE_REPLICA:
        decision = decide_replica(state, now_ms);
        break;
    default:
        decision = decide_none(state);
        break;
    }
    if (decision.action == ROLE_ACTION_NONE && wants_admission(state))
        decision.action = ROLE_ACTION_ADMIT;
    return decision;
}

/* Commits that wait for acknowledgements, for longer than a look or two: what they wait for does not come while we
 * drain. */
static bool waits_in_vain(const struct instance_state *state, int64_t now_ms)
{
    return state->commits_blocked_since_ms && now_ms - state->commits_blocked_since_ms >= VAIN_MS;
}

/* What is known of it is old, or nothing: closing needs no more than that. */
static bool is_blind(const struct instance_state *state, enum agent_phase phase)
{
    bool runs = phase == AGENT_PHASE_RUNNING;
    bool refuses = look_is_refused(state) && (state->replication.seen || role_may_be_open(state));

    return phase == AGENT_PHASE_HUNG || (runs && (state->probe_error.kind == ERROR_TIMEOUT || refuses));
}

struct role_decision role_decide(const struct instance_state *state, enum agent_phase phase, int64_t now_ms)
{
    const struct role_state *role = &state->role;
    struct role_decision decision = {.action = ROLE_ACTION_NONE};
    bool blind = is_blind(state, phase);
    bool answers = phase == AGENT_PHASE_RUNNING && state->probe_error.kind == ERROR_NONE;

    if (!answers && !blind)
        return decision;
    if (role->running != ROLE_ACTION_NONE || now_ms < role->retry_ms)
        return decision;
    decision = decide_by_role(state, now_ms);
    bool in_vain = waits_in_vain(state, now_ms);
    /* Accounts are statements too: they must not meet a change of roles half-way. One whose commit waits in vain never
     * ends by itself: closing ends it. Nor does a volume that fills up wait for them. */
    bool ends = (in_vain && decision.action == ROLE_ACTION_CLOSE) || decision.action == ROLE_ACTION_SUSPEND ||
        decision.action == ROLE_ACTION_END_WRITERS;
    if (state->action_running && !blind && !ends)
        return (struct role_decision){.action = ROLE_ACTION_NONE};
    /* The statement that closes a server which hangs lies ready in its socket: the first thing that is done when it
     * goes on. */
    if (blind && decision.action != ROLE_ACTION_CLOSE)
        return (struct role_decision){.action = ROLE_ACTION_NONE};
    decision.urgent = decision.urgent || blind || in_vain;
    return decision;
}
