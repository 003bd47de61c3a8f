/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/mysql/transactions.h"

#include "common/alloc.h"

#define ER_CANNOT_CONVERT_STRING 3854

enum column { COLUMN_CONNECTION, COLUMN_AGE, COLUMN_ROWS, COLUMN_RUNS, COLUMNS };

static const char by_innodb[] =
    "SELECT trx_mysql_thread_id, TIMESTAMPDIFF(SECOND, trx_started, NOW()), trx_rows_modified, trx_query IS NOT NULL "
    "FROM information_schema.innodb_trx WHERE trx_mysql_thread_id > 0 AND "
    "TIMESTAMPDIFF(SECOND, trx_started, NOW()) > %d ORDER BY trx_started";

/* https://dev.mysql.com/doc/refman/8.4/en/performance-schema-events-transactions-current-table.html: picoseconds. */
static const char by_performance_schema[] =
    "SELECT t.PROCESSLIST_ID, e.TIMER_WAIT DIV 1000000000000, "
    "EXISTS (SELECT 1 FROM performance_schema.metadata_locks l WHERE l.OWNER_THREAD_ID = t.THREAD_ID AND "
    "l.OBJECT_TYPE = 'TABLE' AND l.LOCK_TYPE = 'SHARED_WRITE' AND l.LOCK_STATUS = 'GRANTED'), "
    "t.PROCESSLIST_INFO IS NOT NULL "
    "FROM performance_schema.events_transactions_current e JOIN performance_schema.threads t USING (THREAD_ID) "
    "WHERE e.STATE = 'ACTIVE' AND t.TYPE = 'FOREGROUND' AND t.PROCESSLIST_ID IS NOT NULL AND "
    "CAST(e.TIMER_WAIT DIV 1000000000000 AS SIGNED) > %d ORDER BY e.TIMER_WAIT DESC";

static uint64_t number(const char *text)
{
    return strtoull(str_or_empty(text), NULL, 10);
}

static struct transaction *find(const struct transactions *transactions, uint64_t connection)
{
    for (size_t i = 0; i < transactions->n; i++) {
        if (transactions->v[i].connection == connection)
            return &transactions->v[i];
    }
    return NULL;
}

/* A connection may have one more of its own in the server: it counts as one with the oldest. */
static void take_row(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    struct transactions *transactions = arg;

    UNUSED(names);
    if (count < COLUMNS || !values[COLUMN_CONNECTION])
        return;
    const struct transaction row = {
        .connection = number(values[COLUMN_CONNECTION]),
        .age_s = strtoll(str_or_empty(values[COLUMN_AGE]), NULL, 10),
        .rows = number(values[COLUMN_ROWS]),
        .runs = number(values[COLUMN_RUNS]) > 0,
    };
    struct transaction *before = find(transactions, row.connection);
    if (before) {
        before->rows = MAX_OF(before->rows, row.rows);
        before->runs |= row.runs;
    } else if (transactions->n < TRANSACTIONS_MAX) {
        transactions->v[transactions->n++] = row;
    }
}

int transactions_look(struct session *session, const struct dialect *dialect, int older_than_s,
    struct transactions *ret, struct error *err)
{
    _cleanup_(freep) char *sql = xasprintf(by_innodb, older_than_s);
    _cleanup_(freep) char *otherwise = xasprintf(by_performance_schema, older_than_s);
    struct error failure = ERROR_INIT;

    *ret = (struct transactions){.v = xnew_array(struct transaction, TRANSACTIONS_MAX)};
    if (session_query(session, sql, take_row, ret, &failure) == 0)
        return 0;
    ret->n = 0;
    if (dialect->family != AGENT_FLAVOUR_MARIADB && failure.code == ER_CANNOT_CONVERT_STRING)
        return session_query(session, otherwise, take_row, ret, err);
    if (err)
        *err = failure;
    return -1;
}

const struct transaction *transactions_of(const struct transactions *transactions, uint64_t connection)
{
    return find(transactions, connection);
}

void transactions_release(struct transactions *transactions)
{
    free(transactions->v);
    *transactions = (struct transactions){0};
}
