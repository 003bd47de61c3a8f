/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/agent_decide.h"

#include "agent/look_answer.h"
#include "agent/role_decide.h"

/* A probe takes a millisecond; the order says how long one may take before the server hangs. A probe that was given up
 * is followed by another. */
static bool probe_hangs(const struct instance_state *state, int64_t now_ms)
{
    uint32_t limit_ms = state->role.order.hung_ms ? state->role.order.hung_ms : HUNG_DEFAULT_MS;

    return state->unanswered_since_ms && now_ms - state->unanswered_since_ms >= (int64_t)limit_ms;
}

/* Until it is known to hang it is taken for one that gets on. */
static bool is_awaited(const struct instance_state *state)
{
    return state->last_answer_ms && !look_is_answer(state->probe_error.kind);
}

/* This agent came later than the server, which may be serving all the time: that it has not been heard yet proves
 * nothing. */
static bool is_unknown(const struct instance_state *state, int64_t now_ms)
{
    return !state->last_answer_ms && !state->seen_gone && state->probe_error.kind == ERROR_NONE &&
        (!state->unanswered_since_ms || now_ms - state->unanswered_since_ms < STARTING_SILENCE_MS);
}

bool agent_server_restarted(const struct uptime_look *last, const struct uptime_look *look)
{
    /* Whole seconds, the rest is cut off: it was started up to one earlier. */
    int64_t last_started_ms = last->answered_ms - last->uptime_s * 1000;
    int64_t started_ms = look->asked_ms - (look->uptime_s + 1) * 1000;

    if (!last->asked_ms)
        return false;
    return look->uptime_s < last->uptime_s || started_ms > last_started_ms + UPTIME_TOLERANCE_MS;
}

enum agent_phase agent_phase_of(const struct instance_state *state, int64_t now_ms)
{
    if (!state->server_there && !state->socket_accepts)
        return AGENT_PHASE_DOWN;
    if (is_unknown(state, now_ms))
        return AGENT_PHASE_UNKNOWN;
    if (probe_hangs(state, now_ms)) {
        bool listens_silently = state->accepts_since_ms && now_ms - state->accepts_since_ms > STARTING_SILENCE_MS;
        return state->last_answer_ms || listens_silently ? AGENT_PHASE_HUNG : AGENT_PHASE_STARTING;
    }
    if (!state->last_probe_ms || (state->probe_started_ms && !state->last_answer_ms))
        return AGENT_PHASE_STARTING;
    return is_awaited(state) || look_is_answer(state->probe_error.kind) ? AGENT_PHASE_RUNNING : AGENT_PHASE_STARTING;
}

bool agent_volume_is_full(const struct instance_state *state)
{
    return volume_room_is_low(state->room.free_bytes, state->room.bytes, state->room.is_short);
}

static void shift(int64_t *since_ms, int64_t by_ms, int64_t now_ms)
{
    if (*since_ms)
        *since_ms = MIN_OF(*since_ms + by_ms, now_ms);
}

void agent_note_turn(struct instance_state *state, int64_t now_ms)
{
    int64_t late_ms = state->turn_ms ? now_ms - state->turn_ms - TURN_LATE_MS : 0;

    state->turn_ms = now_ms;
    if (late_ms <= 0)
        return;
    shift(&state->unanswered_since_ms, late_ms, now_ms);
    shift(&state->beat.blocked_since_ms, late_ms, now_ms);
    shift(&state->commits_blocked_since_ms, late_ms, now_ms);
}

void agent_note_probe(struct instance_state *state, int64_t now_ms)
{
    state->probe_now = false;
    state->probe_started_ms = state->last_probe_ms = now_ms;
    state->probe_gets_on = !state->unanswered_since_ms;
    if (!state->unanswered_since_ms)
        state->unanswered_since_ms = now_ms;
}

void agent_note_part(struct instance_state *state, int64_t answered_ms)
{
    if (state->probe_started_ms && state->probe_gets_on && answered_ms > state->unanswered_since_ms &&
        answered_ms - state->probe_started_ms < LOOK_MAX_MS)
        state->unanswered_since_ms = answered_ms;
}

void agent_note_answer(struct instance_state *state, const struct error *error)
{
    state->probe_error = *error;
    if (look_is_answer(error->kind))
        state->unanswered_since_ms = 0;
}

static bool wants_status(const struct instance_state *state, int64_t last_scrape_ms, int64_t now_ms)
{
    if (!state->last_status_ms || now_ms - state->last_status_ms >= STATUS_INTERVAL_MS)
        return true;
    return last_scrape_ms && now_ms - last_scrape_ms < STATUS_SCRAPED_WITHIN_MS;
}

/* Something may be changed in the server, and its role is not about to. */
static bool may_act(const struct instance_state *state, enum agent_phase phase, int64_t now_ms)
{
    return phase == AGENT_PHASE_RUNNING && state->probe_error.kind == ERROR_NONE && !state->action_running &&
        state->role.running == ROLE_ACTION_NONE && role_decide(state, phase, now_ms).action == ROLE_ACTION_NONE;
}

bool agent_is_primary(const struct instance_state *state)
{
    return state->role.order.role == AGENT_ROLE_PRIMARY && role_done(state);
}

bool agent_asks_for_lock_waits(const struct instance_state *state, bool with_status)
{
    return agent_is_primary(state) && !state->beat.wanted && (with_status || state->lock_waited_s > 0);
}

/* Nobody who acknowledges is connected, as just after a failover. */
static bool is_unheard(const struct instance_state *state)
{
    const struct agent_order *order = &state->role.order;
    return order->semi_sync && state->replication.semi_sync_clients < MAX_OF(order->acks, 1U);
}

enum accounts_scope agent_accounts_scope(const struct instance_state *state)
{
    if (!agent_is_primary(state))
        return ACCOUNTS_NONE;
    /* A commit that waits for acknowledgements would hold the action up, and with it the next change of role. While an
     * ALTER USER waits, MySQL answers nobody who needs his rights looked up, us included. */
    return state->beat.blocked_since_ms || is_unheard(state) ? ACCOUNTS_LOCAL : ACCOUNTS_LOGGED;
}

/* All that is wanted now was made, by whichever member was primary then. */
static bool has_own_record(const struct instance_state *state)
{
    return state->accounts_applied == state->accounts_wanted && state->accounts_scope == ACCOUNTS_LOGGED &&
        str_eq(state->replication.accounts_hash, state->accounts_wanted_hash);
}

bool agent_note_digest(struct instance_state *state)
{
    const struct role_state *role = &state->role;
    const uint64_t seen = state->observed.has_status ? state->observed.accounts_digest : 0;
    bool is_new = seen && !state->action_running && state->probe_started_ms > role->finished_ms;

    if (role->has_order && role->order.role != AGENT_ROLE_PRIMARY) {
        state->accounts_digest = 0;
        if (state->accounts_error_scope > ACCOUNTS_NONE)
            error_clear(&state->accounts_error);
    }
    if (!is_new || !agent_is_primary(state))
        return false;
    bool is_changed = state->accounts_digest && state->accounts_digest != seen;
    if (!state->accounts_digest && has_own_record(state))
        state->accounts_digest = seen;
    if (is_changed)
        state->accounts_digest = 0;
    return is_changed;
}

bool agent_note_own_account(struct instance_state *state)
{
    enum own_account seen = state->observed.has_status ? state->observed.own_account : OWN_ACCOUNT_UNKNOWN;

    if (seen != OWN_ACCOUNT_UNKNOWN)
        state->own_account = seen;
    if (seen != OWN_ACCOUNT_MENDED || !agent_is_primary(state))
        return false;
    state->own_account_due = true;
    return true;
}

/* A member that is no primary has its system tables upgraded. */
static bool wants_accounts(const struct instance_state *state, int64_t now_ms)
{
    enum accounts_scope scope = agent_accounts_scope(state);
    bool locks = scope == ACCOUNTS_LOGGED && state->role.lock_left && accounts_left_are_open(&state->left);
    bool all = state->accounts_wanted == state->accounts_applied && state->accounts_scope >= scope && !locks;
    bool told_soon = agent_is_primary(state) && is_unheard(state) && !state->beat.blocked_since_ms;

    if (told_soon) /* by the next beat, whether replicas are on their way or cannot get in */
        return false;
    return state->accounts_wanted && !all && now_ms >= state->accounts_retry_ms;
}

static bool wants_events(const struct instance_state *state, int64_t now_ms)
{
    bool done = state->events_epoch == state->role.epoch && state->replication.events_listed;

    return agent_accounts_scope(state) == ACCOUNTS_LOGGED && !done && now_ms >= state->events_retry_ms;
}

/* What runs on it has come to its end (role_done), and nobody copies its data. */
static bool wants_stop(const struct instance_state *state, int64_t now_ms)
{
    const struct role_state *role = &state->role;

    return role->keep_stopped && role->has_order && role->order.role == AGENT_ROLE_NONE && role_done(state) &&
        state->serving_copies == 0 && now_ms >= state->stop_retry_ms;
}

struct agent_decision agent_decide(const struct instance_state *state, int64_t last_scrape_ms, int64_t now_ms)
{
    struct agent_decision decision = {.phase = agent_phase_of(state, now_ms)};
    bool starts = decision.phase == AGENT_PHASE_STARTING || decision.phase == AGENT_PHASE_UNKNOWN;
    int64_t interval_ms = starts ? PROBE_STARTING_INTERVAL_MS : PROBE_INTERVAL_MS;

    if (!state->probe_started_ms &&
        (state->probe_now || !state->last_probe_ms || now_ms - state->last_probe_ms >= interval_ms)) {
        decision.probe = true;
        decision.probe_with_status = wants_status(state, last_scrape_ms, now_ms);
    }
    bool is_told = state->role.has_order && !state->role.keep_stopped;
    if (state->role.marked_stopped && is_told && !state->action_running && now_ms >= state->stop_retry_ms) {
        decision.let_start = true;
        return decision;
    }
    if (may_act(state, decision.phase, now_ms) && wants_stop(state, now_ms)) {
        decision.stop_server = true;
        return decision;
    }
    if (may_act(state, decision.phase, now_ms)) {
        decision.apply_accounts = wants_accounts(state, now_ms);
        decision.reload_tls = !decision.apply_accounts && state->tls_wanted != state->tls_reloaded;
        decision.tend_events = !decision.apply_accounts && !decision.reload_tls && wants_events(state, now_ms);
    }
    return decision;
}
