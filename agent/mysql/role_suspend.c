/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/mysql/role_suspend.h"

#include <strings.h>

#include "agent/mysql/events.h"
#include "agent/mysql/replication_facts.h"
#include "agent/mysql/role_close.h"
#include "agent/mysql/room.h"
#include "agent/mysql/strangers.h"
#include "agent/mysql/transactions.h"
#include "common/alloc.h"
#include "common/log.h"
#include "common/strbuf.h"

#define ER_LOCK_WAIT_TIMEOUT 1205
#define ER_NO_SUCH_THREAD 1094
#define ER_QUERY_INTERRUPTED 1317
#define LOOK_MS 50
/* A closing that takes longer is begun anew, so that a session that was lost is noticed. */
#define BARRIER_S 40
#define KILLS_MAX 1000

bool role_suspend_writes(const char *user, const char *database, const char *command, const char *state,
    const char *statement, uint64_t rows, const char *agent_user, bool is_stranger)
{
    static const char *const verbs[] = {
        "INSERT", "REPLACE", "UPDATE", "DELETE", "LOAD", "ALTER", "CREATE", "OPTIMIZE", "CALL"};
    const char *verb = replication_verb(statement, command);

    if (!role_is_client(user, database, command, agent_user, is_stranger))
        return false;
    if (str_eq(command, "Sleep") || str_eq(command, "Killed") || str_starts_with(str_or_empty(command), "Binlog Dump"))
        return false;
    if (strncasecmp(str_or_empty(state), "waiting for", strlen("waiting for")) == 0)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
        if (strcasecmp(verb, verbs[i]) == 0)
            return true;
    }
    return rows > 0;
}

struct suspension {
    struct session *barrier; /* sets read-only */
    struct session *other;   /* ends writers; NULL: none could be opened */
    const struct dialect *dialect;
    const struct role_suspend_wish *wish;
    const char *agent_user; /* whose connections stay, but for strangers' */
    struct strangers strangers;
    struct transactions transactions;
    unsigned long long writers[KILLS_MAX];
    size_t writer_count;
};

/* Of SHOW PROCESSLIST. */
enum column {
    COLUMN_ID,
    COLUMN_USER,
    COLUMN_HOST,
    COLUMN_DATABASE,
    COLUMN_COMMAND,
    COLUMN_TIME,
    COLUMN_STATE,
    COLUMN_TEXT,
    COLUMNS
};

static void take_connection(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    struct suspension *suspension = arg;

    UNUSED(names);
    if (count < COLUMNS || !values[COLUMN_ID] || suspension->writer_count == KILLS_MAX)
        return;
    uint64_t id = strtoull(values[COLUMN_ID], NULL, 10);
    const struct transaction *own = transactions_of(&suspension->transactions, id);
    if (role_suspend_writes(values[COLUMN_USER], values[COLUMN_DATABASE], values[COLUMN_COMMAND], values[COLUMN_STATE],
            values[COLUMN_TEXT], own ? own->rows : 0, suspension->agent_user,
            strangers_has(&suspension->strangers, values[COLUMN_ID])) &&
        suspension->wish->ends(suspension->wish->arg, own ? own->age_s * 1000 : 0))
        suspension->writers[suspension->writer_count++] = id;
}

static void forget(struct suspension *suspension)
{
    strangers_release(&suspension->strangers);
    transactions_release(&suspension->transactions);
}

static int end_writers(struct suspension *suspension, struct error *err)
{
    bool softly = suspension->dialect->family == AGENT_FLAVOUR_MARIADB;
    struct error failure = ERROR_INIT;

    suspension->writer_count = 0;
    forget(suspension);
    if (strangers_look(suspension->other, &suspension->strangers, err) < 0 ||
        transactions_look(suspension->other, suspension->dialect, -1, &suspension->transactions, err) < 0 ||
        session_query(suspension->other, "SHOW PROCESSLIST", take_connection, suspension, err) < 0)
        return -1;
    for (size_t i = 0; i < suspension->writer_count; i++) {
        _cleanup_(freep) char *sql = xasprintf("KILL %s%llu", softly ? "SOFT " : "", suspension->writers[i]);
        if (session_exec(suspension->other, sql, &failure) < 0 && failure.code != ER_NO_SUCH_THREAD) {
            if (err)
                *err = failure;
            return -1;
        }
    }
    return 0;
}

static bool is_given_up(const struct suspension *suspension)
{
    return suspension->wish->superseded && atomic_load(suspension->wish->superseded);
}

/* Whoever waits behind the barrier may write again. */
static int take_back(const struct suspension *suspension, struct error *err)
{
    _cleanup_(freep) char *sql = xasprintf("KILL QUERY %lu", session_id(suspension->barrier));

    return session_exec(suspension->other, sql, err);
}

/* The barrier is pending, and new writes wait behind it. */
static int clear_until_answered(struct suspension *suspension, struct error *err)
{
    while (!session_is_answered(suspension->barrier, LOOK_MS)) {
        if (!suspension->other) /* the barrier gives up by itself */
            continue;
        if (is_given_up(suspension))
            return take_back(suspension, err);
        if (end_writers(suspension, err) < 0)
            return -1;
    }
    return 0;
}

/* Before the barrier is raised: while it stands no room can be made for another session. */
static void open_other(struct suspension *suspension)
{
    const struct session_options options = session_options_of(suspension->barrier);
    struct error failure = ERROR_INIT;

    suspension->other = session_open(&options, &failure);
    if (!suspension->other && room_is_lacking(&failure))
        suspension->other = room_open(suspension->barrier, &options, &failure);
    if (!suspension->other)
        log_warn("no connection is left to end writers with", LOG_ERR(&failure));
}

/* A KILL QUERY that came just after the answer meets the next statement: so that is one which may fail. */
static void settle(const struct suspension *suspension)
{
    if (is_given_up(suspension) && session_exec(suspension->barrier, "DO 0", NULL) < 0)
        log_debug("the session that was to close the server was interrupted too late");
}

static int raise_barrier(struct suspension *suspension, bool *ret_done, struct error *err)
{
    _cleanup_(freep) char *sql = xasprintf("SET SESSION lock_wait_timeout = %d, GLOBAL %s = 1", BARRIER_S,
        suspension->dialect->super_read_only ? "super_read_only" : "read_only");
    struct error failure = ERROR_INIT;

    if (session_send(suspension->barrier, sql, err) < 0)
        return -1;
    int rc = clear_until_answered(suspension, err);
    *ret_done = session_receive(suspension->barrier, &failure) == 0;
    settle(suspension);
    if (*ret_done)
        return rc;
    bool gave_up = failure.code == ER_LOCK_WAIT_TIMEOUT || failure.code == ER_QUERY_INTERRUPTED;
    if (rc < 0 || gave_up)
        return rc;
    if (err)
        *err = failure;
    return -1;
}

int role_suspend(struct session *session, const struct dialect *dialect, const struct role_suspend_wish *wish,
    bool *ret_done, struct error *err)
{
    struct suspension suspension = {
        .barrier = session, .dialect = dialect, .wish = wish, .agent_user = session_user(session)};

    *ret_done = false;
    if (events_switch(session, false, err) < 0)
        return -1;
    open_other(&suspension);
    int rc = raise_barrier(&suspension, ret_done, err);
    session_close(suspension.other);
    forget(&suspension);
    if (rc < 0 || !*ret_done)
        return rc;
    if (wish->root && dialect->super_read_only && !is_given_up(&suspension))
        return session_exec(session, "SET GLOBAL super_read_only = 0", err);
    return 0;
}

int role_end_writers(struct session *session, const struct dialect *dialect, const struct role_suspend_wish *wish,
    bool *ret_any, struct error *err)
{
    struct suspension suspension = {
        .barrier = session, .other = session, .dialect = dialect, .wish = wish, .agent_user = ""};

    *ret_any = false;
    int rc = end_writers(&suspension, err);
    forget(&suspension);
    if (rc < 0)
        return -1;
    *ret_any = suspension.writer_count > 0;
    return 0;
}
