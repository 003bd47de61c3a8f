/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/mysql/table_check.h"

#include <strings.h>

#include "agent/mysql/sql_text.h"
#include "common/strvec.h"

#define SQL_MAX (4 * KM_KIB)

bool table_check_is_damage(const char *type, const char *text)
{
    if (strcasecmp(type, "status") == 0)
        return strcasecmp(text, "OK") != 0 && strcasecmp(text, "Table is already up to date") != 0;
    return strcasecmp(type, "error") == 0;
}

/* ---- one table ---- */

struct verdict {
    bool damaged;
    char text[200]; /* the first bad word */
};

static void take_row(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    struct verdict *verdict = arg;

    UNUSED(names);
    if (count < 4 || verdict->damaged || !table_check_is_damage(str_or_empty(values[2]), str_or_empty(values[3])))
        return;
    verdict->damaged = true;
    snprintf(verdict->text, sizeof(verdict->text), "%s", str_or_empty(values[3]));
}

static int check_table(struct session *session, struct table_check *check, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf sql;
    struct verdict verdict = {.damaged = false};

    if (check->progress)
        check->progress(check->arg, check);
    strbuf_init(&sql, SQL_MAX);
    strbuf_adds(&sql, "CHECK TABLE ");
    sql_add_identifier(&sql, check->schema);
    strbuf_addc(&sql, '.');
    sql_add_identifier(&sql, check->table);
    if (session_query(session, sql.buf, take_row, &verdict, err) < 0)
        return error_prefix(err, "table %s.%s", check->schema, check->table);
    if (verdict.damaged)
        return error_set(err, ERROR_INVALID, "table %s.%s: %s", check->schema, check->table, verdict.text);
    check->tables++;
    return 0;
}

/* ---- names ---- */

static void take_name(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    UNUSED(names);
    if (count == 1 && values[0])
        strvec_push(arg, values[0]);
}

/* Names are ordered and compared by their bytes: a collation would take two that differ in case for one. */
static int read_names(struct session *session, const char *column, const char *from, const char *after,
    struct strvec *ret, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf sql;

    strbuf_init(&sql, SQL_MAX);
    strbuf_addf(&sql, "SELECT %s FROM %s AND CAST(%s AS BINARY) > CAST(", column, from, column);
    sql_add_string(&sql, after);
    strbuf_addf(&sql, " AS BINARY) ORDER BY CAST(%s AS BINARY) LIMIT %d", column, TABLE_CHECK_PAGE);
    strvec_release(ret);
    strvec_init(ret);
    return session_query(session, sql.buf, take_name, ret, err);
}

static int check_schema(struct session *session, struct table_check *check, struct error *err)
{
    _cleanup_(strvec_release) struct strvec names;
    _cleanup_(strbuf_release) struct strbuf from;
    int rc;

    strvec_init(&names);
    strbuf_init(&from, SQL_MAX);
    strbuf_adds(&from, "information_schema.TABLES WHERE TABLE_TYPE NOT LIKE '%VIEW' AND TABLE_SCHEMA = ");
    sql_add_string(&from, check->schema);
    *check->table = '\0';
    do {
        rc = read_names(session, "TABLE_NAME", from.buf, check->table, &names, err);
        for (size_t i = 0; rc == 0 && i < names.n; i++) {
            snprintf(check->table, sizeof(check->table), "%s", names.v[i]);
            rc = check_table(session, check, err);
        }
    } while (rc == 0 && names.n == TABLE_CHECK_PAGE);
    return rc;
}

int table_check_run(struct session *session, struct table_check *check, struct error *err)
{
    static const char from[] = "information_schema.SCHEMATA WHERE "
                               "SCHEMA_NAME NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')";
    _cleanup_(strvec_release) struct strvec names;
    int rc;

    strvec_init(&names);
    *check->schema = '\0';
    do {
        rc = read_names(session, "SCHEMA_NAME", from, check->schema, &names, err);
        for (size_t i = 0; rc == 0 && i < names.n; i++) {
            snprintf(check->schema, sizeof(check->schema), "%s", names.v[i]);
            rc = check_schema(session, check, err);
        }
    } while (rc == 0 && names.n == TABLE_CHECK_PAGE);
    if (rc == 0)
        *check->schema = *check->table = '\0';
    return rc;
}
