/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/mysql/database_look.h"

#include "agent/mysql/sql_text.h"
#include "common/strbuf.h"

#define SQL_MAX (4 * KM_KIB)

static void take_there(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    UNUSED(count);
    UNUSED(names);
    UNUSED(values);
    *(bool *)arg = true;
}

/* The columns of information_schema have a collation of their own, which need not be the one of names. */
int database_look(struct session *session, const char *name, bool *ret_there, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf sql;

    strbuf_init(&sql, SQL_MAX);
    strbuf_adds(&sql, "SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = ");
    sql_add_string(&sql, name);
    strbuf_adds(&sql, " AND (@@lower_case_table_names <> 0 OR HEX(SCHEMA_NAME) = HEX(");
    sql_add_string(&sql, name);
    strbuf_adds(&sql, "))");
    *ret_there = false;
    return session_query(session, sql.buf, take_there, ret_there, err);
}
