/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/role_notes.h"

#include "agent/look_answer.h"
#include "agent/role_status.h"

/* How long closing waits for a heartbeat that is being written; after that the server is told to end it. */
#define BEAT_PATIENCE_MS 300
/* How long a member counts that judges its lag by the row: some questions may be lost. */
#define ROW_READER_MS 10000
/* The server does not tell whether it is read-only still: it is closed again and again, which ends its connections. */
#define CLOSE_AGAIN_MS 5000

/* ---- orders ---- */

/* Clocks of nodes differ: only how long it lasts is believed, and of one wish only what is said first, or less. */
static void note_root_wish(struct role_state *role, const struct agent_order *order, int64_t now_ms)
{
    uint64_t until_ms = order->role == AGENT_ROLE_PRIMARY ? order->root_until_ms : 0;
    int64_t end_ms = now_ms + (int64_t)MIN_OF(order->root_ms, (uint32_t)AGENT_ROOT_MAX_MS);

    role->root_end_ms = until_ms == role->root_until_ms ? MIN_OF(role->root_end_ms, end_ms) : end_ms;
    role->root_until_ms = until_ms;
}

enum agent_mark role_mark_after(const struct role_state *role, const struct agent_order *order)
{
    bool leads =
        order->role == AGENT_ROLE_PRIMARY || (order->role == AGENT_ROLE_REPLICA && !str_empty(order->source_host));

    if (order->mark != AGENT_MARK_NONE)
        return order->mark;
    return role->mark == AGENT_MARK_LEFT && leads && order->epoch >= role->epoch ? AGENT_MARK_NONE : role->mark;
}

bool role_note_epoch(
    struct instance_state *state, const struct agent_order *order, const char hash[static 17], int64_t now_ms)
{
    struct role_state *role = &state->role;
    bool new_epoch = order->epoch > role->epoch;

    role->mark = role_mark_after(role, order);
    if (order->epoch != role->epoch)
        role_lag_carry(state, now_ms);
    role->epoch = order->epoch;
    role->nobody_stays = order->nobody_stays;
    role->leave_threads = order->leave_threads;
    role->lock_left = order->lock_left && order->role == AGENT_ROLE_PRIMARY;
    role->keep_stopped = order->keep_stopped && order->role != AGENT_ROLE_PRIMARY;
    note_root_wish(role, order, now_ms);
    role->stays_open = order->stays_open;
    if (new_epoch)
        role->isolated = false;
    return role->has_order && strcmp(hash, role->order_hash) == 0;
}

void role_note_order(struct instance_state *state, const struct agent_order *order, const char hash[static 17])
{
    struct role_state *role = &state->role;
    bool is_first = !role->has_order;

    if (strcmp(role->order.source_host, order->source_host) != 0 || role->order.source_port != order->source_port)
        state->stream = (struct stream_view){0};
    role->has_order = true;
    role->order = *order;
    role->fence = self_fence_of(order);
    memcpy(role->order_hash, hash, sizeof(role->order_hash));
    role->opened = role->reopens = false;
    role->retry_ms = 0;
    role->draining_ms = 0;
    error_clear(&role->error);
    if (is_first) /* its server is open: what this agent sees was not watched before */
        role_note_lapse(state, &state->replication);
}

/* ---- looks at the server ---- */

bool role_takes_look(const struct role_state *role, int64_t started_ms)
{
    bool waits = role->running == ROLE_ACTION_CLOSE || role->running == ROLE_ACTION_SUSPEND;

    if (role->running != ROLE_ACTION_NONE && !waits)
        return false;
    return !role->finished_ms || started_ms > role->finished_ms;
}

bool role_takes_facts(const struct instance_state *state, const struct replication_facts *facts)
{
    return !state->replication.seen || facts->begun_ms >= state->replication.begun_ms;
}

/* Commits wait, and the count of acknowledged ones stands still. What a change of role has seen last is no look that
 * was noted here: commits that waited then are noted at the next one. */
static void note_blocked(struct instance_state *state, const struct replication_facts *facts, int64_t now_ms)
{
    bool still = state->commits_blocked_since_ms && state->replication.waiting_commits > 0 &&
        facts->acknowledged == state->replication.acknowledged;

    if (facts->waiting_commits == 0)
        state->commits_blocked_since_ms = 0;
    else if (!still)
        state->commits_blocked_since_ms = now_ms;
}

static void note_stopped(struct instance_state *state, const struct replication_facts *facts, int64_t now_ms)
{
    bool stopped = facts->configured && facts->applier == AGENT_THREAD_OFF && facts->applier_errno;

    if (!stopped)
        state->applier_stopped_since_ms = 0;
    else if (!state->applier_stopped_since_ms)
        state->applier_stopped_since_ms = now_ms;
}

/* It receives nothing from now on (role_decide), so nothing of what was decided before holds. */
static void note_gtids(struct instance_state *state, const struct replication_facts *facts)
{
    if (gtid_loss_look(&state->loss, state->observed.version.flavour, facts))
        state->role.retry_ms = 0;
}

void role_note_look(struct instance_state *state, const struct replication_facts *facts, int64_t started_ms)
{
    note_gtids(state, facts);
    note_blocked(state, facts, started_ms);
    note_stopped(state, facts, started_ms);
    /* A suspension lets no commit go, and may take as long as a commit waits for its acknowledgement. */
    if (state->role.running != ROLE_ACTION_NONE && state->role.running != ROLE_ACTION_SUSPEND)
        return;
    role_note_unacknowledged(state, facts, false);
    state->role.semi_sync_new = false;
    if (!state->role.let_go) /* semi-sync is off by our own hand, and nobody new can write */
        role_note_lapse(state, facts);
}

void role_note_relay_logs(struct role_state *role, const struct replication_facts *facts, bool is_dropping)
{
    bool off = facts->receiver == AGENT_THREAD_OFF && facts->applier == AGENT_THREAD_OFF;

    role->relay_dropped[0] = '\0';
    role->relay_ms = 0;
    role->relay = RELAY_DONE;
    if (facts->configured && facts->by_file)
        role->relay = facts->relay_logs_kept ? RELAY_PENDING : RELAY_DROP;
    else if (facts->configured && facts->relay_logs_kept && off && !facts->applier_errno)
        role->relay = RELAY_PENDING;
    else if (off && is_dropping)
        role->relay = RELAY_DROP;
    if (facts->configured && off && !facts->relay_logs_kept && !facts->by_file)
        snprintf(role->relay_dropped, sizeof(role->relay_dropped),
            "its relay logs were not kept over the end of its pod or node");
}

void role_note_server_gone(struct instance_state *state, int64_t now_ms)
{
    struct role_state *role = &state->role;

    replication_facts_release(&state->replication);
    state->replication_ms = 0;
    catch_up_gap(&state->catch_up, now_ms);
    gtid_loss_server_gone(&state->loss);
    role->relay = RELAY_DONE;
    role->relay_ms = 0;
    role->draining_ms = 0;
    role->unseen = false;
    state->stream = (struct stream_view){0};
    state->commits_blocked_since_ms = 0;
    state->unacknowledged = state->unacknowledged_seen = 0;
    role->was_open = role->opened = role->waits_open = role->let_go = role->semi_sync_new = role->started = false;
    if (role->order.role == AGENT_ROLE_PRIMARY) {
        role->has_order = false;
        role->order = (struct agent_order){0};
        role->order_hash[0] = '\0';
        role->root_until_ms = 0;
    }
}

/* ---- turns ---- */

bool role_note_isolation(struct instance_state *state, int64_t now_ms)
{
    if (state->role.isolated || !role_is_isolated(state, now_ms))
        return false;
    state->role.isolated = true;
    return true;
}

static bool is_shut(const struct instance_state *state)
{
    return state->role.running == ROLE_ACTION_NONE && state->replication.read_only && !state->role.was_open;
}

/* Closing may not have got to its end, but what it did first is done (events): the server is opened again in any
 * case. */
bool role_note_copy(struct instance_state *state, int64_t now_ms)
{
    bool closed = role_closed_for_copy(state, now_ms);
    struct role_state *role = &state->role;
    bool changed = closed != role->closed_for_copy;

    if (!role->has_order || role->order.role != AGENT_ROLE_PRIMARY || role_done(state))
        role->copy_reopens = false;
    if (role->closed_for_copy && !closed) {
        role->opened = false;
        role->copy_reopens = role->order.role == AGENT_ROLE_PRIMARY;
        role->retry_ms = 0;
        error_clear(&role->error);
    } else if (changed) {
        role->copy_closed_ms = now_ms;
        role->copy_shut_ms = 0;
    } else if (closed && !role->copy_shut_ms && is_shut(state))
        role->copy_shut_ms = now_ms;
    role->closed_for_copy = closed;
    return changed;
}

bool role_note_room(struct instance_state *state, int64_t now_ms)
{
    bool closed = role_closed_for_room(state, now_ms), held = role_held_for_room(state, now_ms);
    struct role_state *role = &state->role;
    bool changed = closed != role->closed_for_room || held != role->held_for_room;

    if (closed || (!state->replication.read_only && !state->replication.root_only))
        role->reopens = false;
    else if (role->closed_for_room)
        role->reopens = role_serves_reads(state);
    if (role->closed_for_room && !closed)
        role->opened = false; /* events run again, too */
    if (changed) {
        role->retry_ms = 0;
        error_clear(&role->error);
    }
    role->closed_for_room = closed;
    role->held_for_room = held;
    return changed;
}

bool role_note_root(struct instance_state *state, int64_t now_ms)
{
    bool opens = role_opens_for_root(state, now_ms);
    bool changed = opens != state->role.open_for_root;

    if (changed)
        state->role.retry_ms = 0;
    state->role.open_for_root = opens;
    return changed;
}

bool role_beats(const struct instance_state *state)
{
    const struct role_state *role = &state->role;

    return role->has_order && role->order.role == AGENT_ROLE_PRIMARY && role->order.heartbeat && role_done(state) &&
        !role->closed_for_copy && !role->isolated && !role->stopping;
}

bool role_may_rest(const struct instance_state *state, int64_t now_ms)
{
    bool is_read = state->beat.row_reader_ms && now_ms - state->beat.row_reader_ms < ROW_READER_MS;

    return !is_read && !others_room_misses(&state->others, now_ms);
}

bool role_waits_for_beat(
    const struct instance_state *state, const struct role_decision *decision, int64_t accepted_ms, int64_t now_ms)
{
    return decision->action == ROLE_ACTION_CLOSE && !decision->urgent && state->role.order.drain_ms > 0 &&
        state->beat.started_ms && now_ms - accepted_ms < BEAT_PATIENCE_MS;
}

/* ---- changes of role ---- */

bool role_may_drop(const struct instance_state *state, enum role_action action)
{
    if (action == ROLE_ACTION_HOLD)
        return !state->replication.relay_logs_last;
    if (action == ROLE_ACTION_ADMIT)
        return false;
    return action != ROLE_ACTION_RECOVER || state->role.relay == RELAY_DROP;
}

bool role_drains(const struct role_state *role, int64_t now_ms)
{
    return !role->draining_ms || now_ms - role->draining_ms < ROLE_FOLLOW_DRAIN_MS;
}

void role_note_begin(struct role_state *role, const struct role_decision *decision, int64_t now_ms)
{
    if (decision->action == ROLE_ACTION_OPEN) {
        role->was_open = true;
        role->let_go = false;
    }
    if (decision->restart)
        role->restarted_ms = now_ms;
    if (decision->action == ROLE_ACTION_END_WRITERS)
        role->writers_ms = now_ms;
    if (decision->action != ROLE_ACTION_ROTATE && decision->action != ROLE_ACTION_ADMIT)
        role->started = false;
    role->running = decision->action;
    role->running_ms = now_ms;
}

struct role_begun role_begun_of(const struct role_state *role, bool reconfigures)
{
    struct role_begun begun = {.source = role->source_wanted,
        .epoch = role->order.epoch,
        .reconfigures = reconfigures,
        .is_primary = role->order.role == AGENT_ROLE_PRIMARY,
        .semi_sync = role->order.semi_sync,
        .acks = role->order.acks};

    memcpy(begun.hash, role->order_hash, sizeof(begun.hash));
    return begun;
}

static void note_close(struct instance_state *state, const struct role_result *result)
{
    struct replication_facts before = result->look.facts;

    if (result->look.taken) {
        before.seen = true;
        before.read_only = false; /* it was open until then */
        role_note_unacknowledged(state, &before, false);
        if (!state->role.let_go)
            role_note_lapse(state, &before);
        state->role.let_go = true;
    }
}

/* Clients could write before it was opened under this order. */
static void note_before_opening(struct instance_state *state, const struct role_result *result)
{
    struct replication_facts before = result->look.facts;

    before.seen = result->look.taken;
    before.read_only = false;
    role_note_lapse(state, &before);
    if (result->look.taken && !result->look.facts.semi_sync_source)
        state->role.semi_sync_new = true;
}

/* It leaves semi-sync as it is: what that is now it was while clients could still write. */
static void note_suspension(struct instance_state *state, const struct role_result *result)
{
    struct replication_facts before = result->facts;

    before.seen = true;
    before.read_only = false;
    role_note_lapse(state, &before);
}

void role_note_result(struct instance_state *state, const struct role_result *result)
{
    bool closes = state->role.running == ROLE_ACTION_CLOSE;

    if (closes)
        note_close(state, result);
    else if (state->role.running == ROLE_ACTION_SUSPEND && result->has_facts)
        note_suspension(state, result);
    else if (state->role.running == ROLE_ACTION_OPEN)
        note_before_opening(state, result);
    if (result->has_facts)
        role_note_unacknowledged(state, &result->facts, closes);
}

void role_note_opening(struct role_state *role, const struct role_result *result)
{
    if (result->noted_epoch > 0)
        role->opened_epoch = result->noted_epoch;
    if (result->is_uncertain)
        role->noted_since = 0;
}

void role_note_success(
    struct instance_state *state, const struct role_result *result, const struct role_begun *begun, int64_t now_ms)
{
    struct role_state *role = &state->role;
    enum role_action action = role->running;
    bool turned = result->done && (action == ROLE_ACTION_FOLLOW || action == ROLE_ACTION_PREPARE);

    error_clear(&role->error);
    if (turned) {
        role->prepared = action == ROLE_ACTION_PREPARE;
        state->lapses = 0; /* what it had as a primary is judged by others now */
    }
    if (action == ROLE_ACTION_CLOSE)
        role->was_open = role->waits_open = role->let_go = false;
    if (action == ROLE_ACTION_CLOSE && !result->has_facts && look_is_refused(state))
        role->retry_ms = now_ms + CLOSE_AGAIN_MS;
    if (action == ROLE_ACTION_ROTATE)
        role->rotated_epoch = begun->epoch;
    if (action == ROLE_ACTION_OPEN && result->done) {
        role->opened = begun->is_primary && strcmp(begun->hash, role->order_hash) == 0;
        role->opened_epoch = begun->epoch;
        role->waits_open = begun->semi_sync;
        role->waits_acks = begun->acks;
        role->source_followed = 0;
        catch_up_opened(&state->catch_up);
    }
    if (action == ROLE_ACTION_FOLLOW)
        role->draining_ms = result->done ? 0 : role->draining_ms ? role->draining_ms : now_ms;
    role->started = role->started || (result->done && action == ROLE_ACTION_FOLLOW);
    if (turned)
        role_note_followed(role, begun->source, begun->reconfigures, now_ms);
}

/* Its source is open and has what is being applied: it is not kept waiting for longer than one that turns to another
 * source. */
static bool is_out_of_patience(struct instance_state *state, int64_t now_ms)
{
    struct role_state *role = &state->role;
    const struct source_view *source = &state->source;
    bool follows = *role->order.source_host && role->order.role == AGENT_ROLE_REPLICA;

    if (!follows || !source->is_open || source->error.kind != ERROR_NONE)
        role->relay_ms = 0;
    else if (!role->relay_ms)
        role->relay_ms = now_ms;
    return role->relay_ms && now_ms - role->relay_ms >= ROLE_FOLLOW_DRAIN_MS;
}

bool role_note_recovery(struct instance_state *state, const struct role_result *result, int64_t now_ms)
{
    struct role_state *role = &state->role;
    bool whole = !result->dropped && result->relay == RELAY_WHOLE;

    if (result->dropped || whole) {
        role->relay = RELAY_DONE;
    } else if (result->relay == RELAY_BROKEN || is_out_of_patience(state, now_ms)) {
        const char *why =
            result->relay == RELAY_BROKEN ? result->relay_why : "applying it took too long, and its source has it";
        snprintf(role->relay_dropped, sizeof(role->relay_dropped), "%s", why);
        role->relay = RELAY_DROP;
    }
    return whole;
}
