/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/mysql/own_account.h"

#include "agent/mysql/row_value.h"
#include "agent/mysql/sql_text.h"
#include "common/alloc.h"
#include "common/log.h"

#define SQL_MAX (2 * KM_KIB)

void own_account_sql(const struct dialect *dialect, const char *user, int index, struct strbuf *out)
{
    static const char *const verbs[OWN_ACCOUNT_STATEMENTS] = {
        "CREATE USER IF NOT EXISTS ", "ALTER USER ", "GRANT ALL PRIVILEGES ON *.* TO "};

    strbuf_adds(out, verbs[index]);
    sql_add_account(out, user, "localhost");
    if (index == 0)
        strbuf_addf(out, " %s", dialect->auth_socket);
    else if (index == 1)
        strbuf_addf(out, " %s ACCOUNT UNLOCK", dialect->auth_socket);
    else
        strbuf_adds(out, " WITH GRANT OPTION");
}

/* MariaDB's mysql.user is a view: accounts.c says why it is not read. */
static void look_sql(const struct dialect *dialect, const char *user, struct strbuf *out)
{
    bool is_mariadb = dialect->family == AGENT_FLAVOUR_MARIADB;

    strbuf_addf(out,
        "SELECT COUNT(*) FROM %s WHERE Host = 'localhost' AND User = ", is_mariadb ? "mysql.global_priv" : "mysql.user");
    sql_add_string(out, user);
    strbuf_adds(out,
        is_mariadb
            ? " AND Priv LIKE '%unix_socket%' AND IFNULL(JSON_VALUE(Priv, '$.account_locked'), 0) <> 1"
            : " AND plugin = 'auth_socket' AND account_locked = 'N' AND Create_user_priv = 'Y' AND Grant_priv = 'Y'");
}

static int make(struct session *session, const struct dialect *dialect)
{
    int rc = session_exec(session, "SET SESSION sql_log_bin = 0", NULL);

    for (int i = 0; rc == 0 && i < OWN_ACCOUNT_STATEMENTS; i++) {
        _cleanup_(strbuf_release) struct strbuf sql;
        strbuf_init(&sql, SQL_MAX);
        own_account_sql(dialect, session_user(session), i, &sql);
        rc = session_exec(session, sql.buf, NULL);
    }
    if (session_exec(session, "SET SESSION sql_log_bin = 1", NULL) < 0)
        log_warn("a session of the agent's goes on without a binary log");
    return rc;
}

enum own_account own_account_tend(struct session *session, const struct dialect *dialect)
{
    _cleanup_(strbuf_release) struct strbuf sql;
    bool is_there = false;

    strbuf_init(&sql, SQL_MAX);
    if (!dialect->account_statements)
        return OWN_ACCOUNT_UNKNOWN;
    look_sql(dialect, session_user(session), &sql);
    if (session_query(session, sql.buf, row_value_take_flag, &is_there, NULL) < 0)
        return OWN_ACCOUNT_UNKNOWN;
    if (is_there)
        return OWN_ACCOUNT_THERE;
    if (make(session, dialect) < 0)
        return OWN_ACCOUNT_LOST;
    log_warn("the agent's account was dropped or changed by another hand: it is made anew");
    return OWN_ACCOUNT_MENDED;
}
