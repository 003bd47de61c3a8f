/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/mysql/semi_sync.h"

#include <strings.h>

#include "agent/mysql/row_value.h"
#include "common/alloc.h"

/* Milliseconds, as far as every version goes: 49 days. */
#define TIMEOUT_MS "4294967295"
#define WAIT_POINT "AFTER_SYNC"
/* Between two looks at whether acknowledgements come. */
#define LOOK_MS 20
#define LOOK_S "0.02"

/* ---- looking ---- */

/* name is prefix + suffix */
static bool is_named(const char *name, const char *prefix, const char *suffix)
{
    size_t len = strlen(prefix);

    return strncasecmp(name, prefix, len) == 0 && strcasecmp(name + len, suffix) == 0;
}

static void take_setting(
    const struct replication_terms *terms, struct replication_facts *facts, const char *name, const char *value)
{
    if (is_named(name, terms->semi_source, "_enabled"))
        facts->semi_sync_source = row_value_is_on(value);
    else if (is_named(name, terms->semi_replica, "_enabled"))
        facts->semi_sync_replica = row_value_is_on(value);
    else if (is_named(name, terms->semi_source, "_timeout"))
        facts->semi_sync_altered |= strcmp(value, TIMEOUT_MS) != 0;
    else if (is_named(name, terms->semi_source, "_wait_point"))
        facts->semi_sync_altered |= strcasecmp(value, WAIT_POINT) != 0;
    else if (strcasecmp(name, terms->semi_no_replica) == 0)
        facts->semi_sync_altered |= !row_value_is_on(value);
    else if (terms->semi_count && strcasecmp(name, terms->semi_count) == 0)
        facts->semi_sync_acks = (uint32_t)strtoul(value, NULL, 10);
}

static void take_counter(
    const struct replication_terms *terms, struct replication_facts *facts, const char *name, const char *value)
{
    if (is_named(name, terms->semi_status, "_clients"))
        facts->semi_sync_clients = (uint32_t)strtoul(value, NULL, 10);
    else if (is_named(name, terms->semi_status, "_wait_sessions"))
        facts->waiting_commits = (uint32_t)strtoul(value, NULL, 10);
    else if (is_named(name, terms->semi_status, "_yes_tx"))
        facts->acknowledged = strtoull(value, NULL, 10);
    else if (is_named(name, terms->semi_status, "_no_tx")) {
        facts->unacknowledged = strtoull(value, NULL, 10);
        facts->unacknowledged_known = true;
    } else if (is_named(name, terms->semi_status, "_status"))
        facts->semi_sync_waits = row_value_is_on(value);
    else if (is_named(name, terms->semi_replica, "_status"))
        facts->semi_sync_gives = row_value_is_on(value);
}

void semi_sync_take(
    const struct replication_terms *terms, struct replication_facts *facts, const char *name, const char *value)
{
    take_setting(terms, facts, name, value);
    take_counter(terms, facts, name, value);
}

struct look {
    const struct replication_terms *terms;
    struct replication_facts *facts;
};

static void take_row(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    const struct look *look = arg;

    UNUSED(names);
    if (count >= 2 && values[0] && values[1])
        semi_sync_take(look->terms, look->facts, values[0], values[1]);
}

int semi_sync_observe(
    struct session *session, const struct dialect *dialect, struct replication_facts *facts, struct error *err)
{
    struct look look = {.terms = dialect->replication, .facts = facts};

    if (session_query(session, "SHOW GLOBAL VARIABLES LIKE 'rpl_semi_sync%'", take_row, &look, err) < 0)
        return -1;
    if (!facts->semi_sync_source && !facts->semi_sync_replica)
        return 0;
    return session_query(session, "SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync%'", take_row, &look, err);
}

/* ---- whether acknowledgements come ---- */

static bool lacks_replicas(const struct replication_facts *facts)
{
    return facts->semi_sync_clients < MAX_OF(facts->semi_sync_acks, 1U);
}

bool semi_sync_would_wait(const struct replication_facts *first, const struct replication_facts *last)
{
    if (!last->semi_sync_source || !last->semi_sync_waits)
        return false;
    return lacks_replicas(last) || (last->waiting_commits > 0 && last->acknowledged == first->acknowledged);
}

int semi_sync_await_answers(struct session *session, const struct dialect *dialect, struct error *err)
{
    struct replication_facts first = {0}, last;
    int looks = 0;

    if (semi_sync_observe(session, dialect, &first, err) < 0)
        return -1;
    for (last = first; semi_sync_would_wait(&first, &last); looks++) {
        if (lacks_replicas(&last))
            return error_set(err, ERROR_UNAVAILABLE,
                "waits until replicas can acknowledge it: %u are connected, %u have to",
                (unsigned)last.semi_sync_clients, (unsigned)MAX_OF(last.semi_sync_acks, 1U));
        if (looks == SEMI_SYNC_PATIENCE_MS / LOOK_MS)
            return error_set(err, ERROR_UNAVAILABLE,
                "waits until replicas acknowledge: %u commits wait, and none has got through for %d ms",
                (unsigned)last.waiting_commits, SEMI_SYNC_PATIENCE_MS);
        last = (struct replication_facts){0};
        if (session_exec(session, "DO SLEEP(" LOOK_S ")", err) < 0 ||
            semi_sync_observe(session, dialect, &last, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- setting ---- */

static int set_global(
    struct session *session, const char *name, const char *suffix, const char *value, struct error *err)
{
    _cleanup_(freep) char *sql = xasprintf("SET GLOBAL %s%s = %s", name, suffix, value);

    return session_exec(session, sql, err);
}

/* Enabled, but it has given up waiting: it is turned off, so that it waits again once it is turned on. It lets nobody
 * go that way: nobody waits. */
static int end_surrender(struct session *session, const struct dialect *dialect, struct error *err)
{
    _cleanup_(freep) char *sql = xasprintf("SELECT @@global.%s_enabled", dialect->replication->semi_source);
    struct replication_facts facts = {0};
    bool enabled = false;

    if (session_query(session, sql, row_value_take_flag, &enabled, err) < 0)
        return -1;
    if (!enabled) /* on its way to be opened: quickly */
        return 0;
    if (semi_sync_observe(session, dialect, &facts, err) < 0)
        return -1;
    if (!facts.semi_sync_source || facts.semi_sync_waits)
        return 0;
    return set_global(session, dialect->replication->semi_source, "_enabled", "0", err);
}

int semi_sync_set_source(
    struct session *session, const struct dialect *dialect, bool on, uint32_t acks, struct error *err)
{
    const struct replication_terms *terms = dialect->replication;
    char count[16];

    if (!on)
        return set_global(session, terms->semi_source, "_enabled", "0", err);
    snprintf(count, sizeof(count), "%u", MAX_OF(acks, 1U));
    if (set_global(session, terms->semi_source, "_timeout", TIMEOUT_MS, err) < 0 ||
        set_global(session, terms->semi_source, "_wait_point", "'" WAIT_POINT "'", err) < 0 ||
        set_global(session, terms->semi_no_replica, "", "1", err) < 0 ||
        (terms->semi_count && set_global(session, terms->semi_count, "", count, err) < 0) ||
        end_surrender(session, dialect, err) < 0)
        return -1;
    return set_global(session, terms->semi_source, "_enabled", "1", err);
}

int semi_sync_set_replica(struct session *session, const struct dialect *dialect, bool on, struct error *err)
{
    return set_global(session, dialect->replication->semi_replica, "_enabled", on ? "1" : "0", err);
}
