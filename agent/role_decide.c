#include "common/base.h"

#include "agent/role_decide.h"

/* From mysqld_error.h; the receiver's are those of the source or of the client library. */
#define ER_ACCESS_DENIED 1045
#define ER_LOCK_WAIT_TIMEOUT 1205
#define ER_LOCK_DEADLOCK 1213
#define ER_SPECIFIC_ACCESS_DENIED 1227
#define ER_FATAL_READING_BINLOG 1236
#define ER_SLAVE_FATAL 1593
#define ER_ACCESS_DENIED_NO_PASSWORD 1698
#define ER_GTID_OUT_OF_ORDER 1950 /* MariaDB */
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

/* The source's own verdict. Other errors quote names of hosts, in which any word may be: a namespace may be called "purged". */
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
        {"equal MySQL server", TROUBLE_SERVER_ID},
        {"equal MySQL server ids", TROUBLE_SERVER_ID},
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

static bool is_open(const struct instance_state *state)
{
    const struct replication_facts *facts = &state->replication;

    return state->role.opened && !facts->read_only && !facts->configured &&
        facts->semi_sync_source == state->role.order.semi_sync;
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
        return is_closed(state);
    default:
        return is_closed(state) && !runs(&state->replication);
    }
}

static bool source_is_right(const struct instance_state *state)
{
    const struct replication_facts *facts = &state->replication;
    const struct agent_order *order = &state->role.order;

    return facts->configured && facts->source_tls && facts->source_port == order->source_port &&
        strcmp(facts->source_host, order->source_host) == 0 && facts->semi_sync_replica == order->semi_sync;
}

/* A thread that is off: at once if it was stopped, now and then if what stopped it may pass. */
static bool wants_start(const struct instance_state *state, int64_t now_ms, bool *ret_restart)
{
    const struct replication_facts *facts = &state->replication;
    bool later = now_ms - state->role.restarted_ms >= THREAD_RETRY_MS;
    bool receiver_off = facts->receiver == AGENT_THREAD_OFF;
    bool applier_off = facts->applier == AGENT_THREAD_OFF;
    bool passes = facts->applier_errno == ER_LOCK_WAIT_TIMEOUT || facts->applier_errno == ER_LOCK_DEADLOCK;

    *ret_restart = later && ((receiver_off && facts->receiver_errno) || (applier_off && passes));
    return *ret_restart || (receiver_off && !facts->receiver_errno) || (applier_off && !facts->applier_errno);
}

/* Its agent has applied the same account files as ours. */
static bool source_takes_password(const struct instance_state *state)
{
    return state->accounts_applied == state->accounts_wanted && *state->source.accounts_hash &&
        strcmp(state->source.accounts_hash, state->accounts_applied_hash) == 0;
}

/* A new password reaches members at different times. A connection that works is not given up for one that the source may not know yet: without
 * acknowledgements commits would wait. */
static bool must_reconfigure(const struct instance_state *state)
{
    const struct role_state *role = &state->role;
    bool works = source_is_right(state) && state->replication.receiver == AGENT_THREAD_RUNNING;

    if (role->source_followed == 0)
        return is_refusal(state->replication.receiver_errno);
    return role->source_followed != role->source_wanted && (!works || source_takes_password(state));
}

static struct role_decision decide_replica(const struct instance_state *state, int64_t now_ms)
{
    const struct role_state *role = &state->role;
    struct role_decision decision = {.action = ROLE_ACTION_NONE};

    if (!is_closed(state)) {
        decision.action = ROLE_ACTION_CLOSE;
        return decision;
    }
    if (!role->source_wanted)
        return decision;
    bool wants = wants_start(state, now_ms, &decision.restart);
    decision.reconfigure = must_reconfigure(state);
    if (wants || decision.reconfigure || role->source_followed == 0 || !source_is_right(state))
        decision.action = ROLE_ACTION_FOLLOW;
    return decision;
}

static struct role_decision decide_none(const struct instance_state *state)
{
    struct role_decision decision = {.action = ROLE_ACTION_NONE};

    if (!is_closed(state))
        decision.action = ROLE_ACTION_CLOSE;
    else if (runs(&state->replication))
        decision.action = ROLE_ACTION_STOP;
    return decision;
}

struct role_decision role_decide(const struct instance_state *state, enum agent_phase phase, int64_t now_ms)
{
    const struct role_state *role = &state->role;
    struct role_decision decision = {.action = ROLE_ACTION_NONE};

    if (!role->has_order || phase != AGENT_PHASE_RUNNING || state->probe_error.kind != ERROR_NONE)
        return decision;
    /* Accounts are statements too: they must not meet a change of roles half-way. */
    if (role->running != ROLE_ACTION_NONE || state->action_running || now_ms < role->retry_ms)
        return decision;
    switch (role->order.role) {
    case AGENT_ROLE_PRIMARY:
        decision.action = is_open(state) ? ROLE_ACTION_NONE : ROLE_ACTION_OPEN;
        break;
    case AGENT_ROLE_REPLICA:
        decision = decide_replica(state, now_ms);
        break;
    default:
        decision = decide_none(state);
        break;
    }
    return decision;
}
