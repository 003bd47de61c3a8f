#include "common/base.h"

#include "agent/agent_decide.h"

#include "agent/role_decide.h"

/* The server said something, if only "too many connections" or "access denied". */
static bool is_answer(enum error_kind kind)
{
    return kind == ERROR_NONE || kind == ERROR_DATABASE || kind == ERROR_UNAUTHORIZED || kind == ERROR_PROTOCOL;
}

static bool probe_hangs(const struct instance_state *state, int64_t now_ms)
{
    if (state->probe_started_ms && now_ms - state->probe_started_ms > PROBE_HUNG_MS)
        return true;
    return state->probe_error.kind == ERROR_TIMEOUT;
}

enum agent_phase agent_phase_of(const struct instance_state *state, int64_t now_ms)
{
    if (!state->server_there && !state->socket_accepts)
        return AGENT_PHASE_DOWN;
    if (probe_hangs(state, now_ms)) {
        bool listens_silently = state->accepts_since_ms && now_ms - state->accepts_since_ms > STARTING_SILENCE_MS;
        return state->last_answer_ms || listens_silently ? AGENT_PHASE_HUNG : AGENT_PHASE_STARTING;
    }
    if (!state->last_probe_ms || (state->probe_started_ms && !state->last_answer_ms))
        return AGENT_PHASE_STARTING;
    return is_answer(state->probe_error.kind) ? AGENT_PHASE_RUNNING : AGENT_PHASE_STARTING;
}

bool agent_volume_is_full(const struct instance_state *state)
{
    if (!state->volume_bytes)
        return false;
    return state->volume_free_bytes < VOLUME_FREE_MIN_BYTES ||
        state->volume_free_bytes < state->volume_bytes / 100 * VOLUME_FREE_MIN_PERCENT;
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

static bool wants_accounts(const struct instance_state *state, int64_t now_ms)
{
    /* A commit that waits for acknowledgements would hold the action up, and with it the next change of role. */
    bool primary = agent_is_primary(state) && !state->beat.blocked_since_ms;
    bool all = state->accounts_wanted == state->accounts_applied && (state->accounts_as_primary || !primary);

    return state->accounts_wanted && !all && now_ms >= state->accounts_retry_ms;
}

struct agent_decision agent_decide(const struct instance_state *state, int64_t last_scrape_ms, int64_t now_ms)
{
    struct agent_decision decision = {.phase = agent_phase_of(state, now_ms)};
    int64_t interval_ms = decision.phase == AGENT_PHASE_STARTING ? PROBE_STARTING_INTERVAL_MS : PROBE_INTERVAL_MS;

    if (!state->probe_started_ms && (!state->last_probe_ms || now_ms - state->last_probe_ms >= interval_ms)) {
        decision.probe = true;
        decision.probe_with_status = wants_status(state, last_scrape_ms, now_ms);
    }
    if (may_act(state, decision.phase, now_ms)) {
        decision.apply_accounts = wants_accounts(state, now_ms);
        decision.reload_tls = !decision.apply_accounts && state->tls_wanted != state->tls_reloaded;
    }
    return decision;
}
