/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/mysql/lock_waits.h"

#include <stdio.h>
#include <strings.h>

#include "agent/mysql/row_value.h"
#include "common/agent_api.h"

/* The stages are those of sql/mdl.cc: of the namespaces GLOBAL and COMMIT, and of MariaDB's BACKUP, which took their
 * place in 10.4. MySQL's "backup lock" holds up none of the statements below. */
static bool is_of_all_tables(const char *state)
{
    static const char *const states[] = {
        "Waiting for global read lock", "Waiting for commit lock", "Waiting for backup lock"};
    for (size_t i = 0; i < ARRAY_LEN(states); i++) {
        if (str_eq(state, states[i]))
            return true;
    }
    return false;
}

static const char *skip_comments(const char *sql)
{
    for (;;) {
        sql += strspn(sql, " \t\r\n(");
        const char *end = str_starts_with(sql, "/*") ? strstr(sql, "*/") : NULL;
        if (!end)
            return sql;
        sql = end + 2;
    }
}

static bool writes_rows(const char *sql)
{
    static const char *const words[] = {"INSERT", "UPDATE", "DELETE", "REPLACE", "LOAD", "COMMIT", "CALL", "WITH"};
    sql = skip_comments(str_or_empty(sql));
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (strncasecmp(sql, words[i], strlen(words[i])) == 0)
            return true;
    }
    return false;
}

bool lock_waits_row(const char *state, const char *info)
{
    return is_of_all_tables(state) && writes_rows(info);
}

/* Id, User, Host, db, Command, Time, State, Info: https://dev.mysql.com/doc/refman/8.4/en/show-processlist.html */
static void take_process(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    int64_t *longest_s = arg;

    UNUSED(names);
    if (count >= 8 && values[5] && lock_waits_row(values[6], values[7]))
        *longest_s = MAX_OF(*longest_s, strtoll(values[5], NULL, 10));
}

int lock_waits_look(struct session *session, int64_t *ret_s, struct error *err)
{
    *ret_s = 0;
    return session_query(session, "SHOW FULL PROCESSLIST", take_process, ret_s, err);
}

struct holder {
    char *out;
    size_t size;
};

static void take_holder(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    struct holder *holder = arg;
    char text[AGENT_LOCK_HOLDER_SIZE];

    UNUSED(names);
    if (count < 3 || !values[0])
        return;
    snprintf(
        text, sizeof(text), "thread %.20s of %.32s@%.30s", values[0], str_or_empty(values[1]), str_or_empty(values[2]));
    row_value_copy(holder->out, holder->size, text);
}

/* FLUSH TABLES WITH READ LOCK, MariaDB's BACKUP STAGE, and LOCK TABLES hold theirs beyond a transaction; what those who
 * wait have is not granted, or of their statement.
 * https://dev.mysql.com/doc/refman/8.4/en/performance-schema-metadata-locks-table.html */
int lock_holder_look(struct session *session, char *out, size_t size, struct error *err)
{
    struct error failure = ERROR_INIT;
    struct holder holder = {out, size};

    *out = '\0';
    if (session_query(session,
            "SELECT t.PROCESSLIST_ID, t.PROCESSLIST_USER, t.PROCESSLIST_HOST FROM performance_schema.metadata_locks l "
            "JOIN performance_schema.threads t ON t.THREAD_ID = l.OWNER_THREAD_ID WHERE l.LOCK_STATUS = 'GRANTED' AND "
            "l.LOCK_DURATION = 'EXPLICIT' AND l.OBJECT_TYPE IN ('GLOBAL', 'BACKUP') AND "
            "(l.LOCK_TYPE = 'SHARED' OR l.LOCK_TYPE LIKE 'BACKUP%') LIMIT 1",
            take_holder, &holder, &failure) == 0 ||
        failure.kind == ERROR_DATABASE) /* it has no such table, or takes no such column */
        return 0;
    if (err)
        *err = failure;
    return -1;
}
