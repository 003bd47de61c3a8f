/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/mysql/events.h"

#include <strings.h>

#include "agent/mysql/database_look.h"
#include "agent/mysql/sql_text.h"
#include "common/alloc.h"
#include "common/log.h"
#include "common/strbuf.h"
#include "common/strvec.h"

#define EVENTS_DATABASE "kubemysql"
#define EVENTS_TABLE EVENTS_DATABASE ".disabled_events"
#define ER_BAD_DB 1049
#define ER_NO_SUCH_TABLE 1146
#define SQL_MAX (4 * KM_KIB)

/* The value of `event_scheduler = value`, in any spelling of option files; 0: another option. */
static size_t value_of(const char *line, size_t len, const char **ret)
{
    static const char name[] = "event_scheduler";
    const char *at = line + strspn(line, " \t");

    if (strncasecmp(at, "loose", 5) == 0 && (at[5] == '_' || at[5] == '-'))
        at += 6;
    for (size_t i = 0; name[i]; i++, at++) {
        if (at >= line + len || (*at != name[i] && !(name[i] == '_' && *at == '-')))
            return 0;
    }
    at += strspn(at, " \t");
    if (at >= line + len || *at != '=')
        return 0;
    at++;
    at += strspn(at, " \t\"'");
    *ret = at;
    return strcspn(at, " \t\r\n\"'#");
}

static bool is_off(const char *value, size_t len)
{
    static const char *const offs[] = {"OFF", "DISABLED", "0", "FALSE"};

    for (size_t i = 0; i < ARRAY_LEN(offs); i++) {
        if (strlen(offs[i]) == len && strncasecmp(value, offs[i], len) == 0)
            return true;
    }
    return false;
}

bool events_wished(const char *run_mycnf)
{
    const char *end = strstr(run_mycnf, "\n# this instance;");
    bool wished = true;

    for (const char *line = run_mycnf; *line && (!end || line < end);) {
        size_t len = strcspn(line, "\n");
        const char *value = NULL;
        size_t value_len = value_of(line, len, &value);
        if (value_len > 0)
            wished = !is_off(value, value_len);
        line += len + (line[len] == '\n');
    }
    return wished;
}

static void take_state(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    UNUSED(names);
    snprintf(arg, 16, "%s", count > 0 ? str_or_empty(values[0]) : "");
}

int events_switch(struct session *session, bool on, struct error *err)
{
    char state[16] = "";

    if (session_query(session, "SELECT @@global.event_scheduler", take_state, state, err) < 0)
        return -1;
    if (strcasecmp(state, on ? "OFF" : "ON") != 0)
        return 0;
    return session_exec(session, on ? "SET GLOBAL event_scheduler = ON" : "SET GLOBAL event_scheduler = OFF", err);
}

/* ---- the list ---- */

static void take_text(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    UNUSED(names);
    snprintf(arg, 32, "%s", count > 0 ? str_or_empty(values[0]) : "");
}

/* A sum of hashes: equal for equal sets. No table is an empty list. */
static int sum_of(struct session *session, const char *columns, const char *from, char ret[static 32], struct error *err)
{
    _cleanup_(freep) char *sql =
        xasprintf("SELECT CONCAT(COUNT(*), ' ', COALESCE(SUM(CRC32(CONCAT_WS('.', %s))), 0)) FROM %s", columns, from);
    struct error failure = ERROR_INIT;

    snprintf(ret, 32, "0 0");
    if (session_query(session, sql, take_text, ret, &failure) == 0 || failure.code == ER_NO_SUCH_TABLE ||
        failure.code == ER_BAD_DB)
        return 0;
    if (err)
        *err = failure;
    return -1;
}

int events_look(struct session *session, bool *ret_listed, struct error *err)
{
    char events[32];
    char list[32];

    if (sum_of(session, "EVENT_SCHEMA, EVENT_NAME", "information_schema.EVENTS WHERE STATUS <> 'ENABLED'", events,
            err) < 0 ||
        sum_of(session, "db, name", EVENTS_TABLE, list, err) < 0)
        return -1;
    *ret_listed = strcmp(events, list) == 0;
    return 0;
}

static int make_list(struct session *session, struct error *err)
{
    static const char *const statements[] = {
        "USE " EVENTS_DATABASE, /* role_close ends what hangs here */
        "CREATE TABLE IF NOT EXISTS " EVENTS_TABLE
        " (db VARCHAR(64) NOT NULL, name VARCHAR(64) NOT NULL, PRIMARY KEY (db, name)) "
        "ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    };

    bool there = false;

    if (database_look(session, EVENTS_DATABASE, &there, err) < 0 ||
        (!there && session_exec(session, "CREATE DATABASE IF NOT EXISTS " EVENTS_DATABASE, err) < 0))
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(statements); i++) {
        if (session_exec(session, statements[i], err) < 0)
            return -1;
    }
    return 0;
}

static int fill_list(struct session *session, struct error *err)
{
    bool listed = false;

    if (events_look(session, &listed, err) < 0)
        return -1;
    if (listed)
        return 0;
    if (session_exec(session, "START TRANSACTION", err) < 0 ||
        session_exec(session, "DELETE FROM " EVENTS_TABLE, err) < 0 ||
        session_exec(session,
            "INSERT INTO " EVENTS_TABLE
            " SELECT EVENT_SCHEMA, EVENT_NAME FROM information_schema.EVENTS WHERE STATUS <> 'ENABLED'",
            err) < 0)
        return -1;
    return session_exec(session, "COMMIT", err);
}

/* ---- taking over ---- */

static void add_alter(struct strvec *out, const char *db, const char *name, const char *definer)
{
    const char *at = strrchr(definer, '@');
    _cleanup_(freep) char *user = xstrndup(definer, at ? (size_t)(at - definer) : strlen(definer));
    _cleanup_(strbuf_release) struct strbuf sql;

    strbuf_init(&sql, SQL_MAX);
    strbuf_adds(&sql, "ALTER DEFINER = ");
    sql_add_account(&sql, user, at ? at + 1 : "%");
    strbuf_adds(&sql, " EVENT ");
    sql_add_identifier(&sql, db);
    strbuf_adds(&sql, ".");
    sql_add_identifier(&sql, name);
    strbuf_adds(&sql, " ENABLE");
    strvec_push(out, sql.buf);
}

static void take_event(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    UNUSED(names);
    if (count == 3 && values[0] && values[1] && values[2])
        add_alter(arg, values[0], values[1], values[2]);
}

/* MySQL 8.4 says REPLICA_SIDE_DISABLED. Those of our own server_id were disabled for replicas by a user, here. */
static int take_over_events(struct session *session, struct error *err)
{
    _cleanup_(strvec_release) struct strvec statements;
    struct error failure = ERROR_INIT;

    strvec_init(&statements);
    if (session_query(session,
            "SELECT EVENT_SCHEMA, EVENT_NAME, DEFINER FROM information_schema.EVENTS WHERE STATUS LIKE '%SIDE_DISABLED' AND "
            "ORIGINATOR <> @@server_id AND (EVENT_SCHEMA, EVENT_NAME) NOT IN (SELECT db, name FROM " EVENTS_TABLE ")",
            take_event, &statements, err) < 0)
        return -1;
    for (size_t i = 0; i < statements.n; i++) {
        error_clear(&failure);
        if (session_exec(session, statements.v[i], &failure) == 0)
            continue;
        if (failure.kind != ERROR_DATABASE) {
            if (err)
                *err = failure;
            return -1;
        }
        log_warn("an event of the former primary stays disabled", LOG_ERR(&failure));
    }
    return 0;
}

int events_tend(struct session *session, bool take_over, struct error *err)
{
    if (make_list(session, err) < 0 || (take_over && take_over_events(session, err) < 0))
        return -1;
    return fill_list(session, err);
}
