/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/mysql/tmp_clients.h"

#include <strings.h>

#include "agent/mysql/role_close.h"
#include "agent/mysql/strangers.h"
#include "agent/mysql/transactions.h"
#include "common/alloc.h"

#define ER_NO_SUCH_THREAD 1094
#define MONITOR_ACCOUNT "monitor"

/* As a server says what it is doing: sorts and tables that have left its memory. It may not have left it yet. */
static const char *const spilling[] = {"Copying to tmp table on disk", "converting HEAP to ", "Creating sort index",
    "Sorting ", "Copying to group table", "Creating sort", "Removing duplicates", "Repair by sorting",
    "Copying to tmp table", "executing window function"};

/* What threads said in which a commit waited for its acknowledgement, and in which no statement fills anything. Few
 * say that they wait: behind a commit that does, both families name the step that the thread is in. MySQL's COMMIT and
 * INSERT: "waiting for handler commit"; ANALYZE TABLE: "query end"; XA PREPARE: "starting". MariaDB's COMMIT: "Commit";
 * DDL and XA PREPARE: "Writing to binlog"; XA COMMIT … ONE PHASE: "starting"; CREATE VIEW: "checking permissions". */
static const char *const finishing[] = {
    "waiting for", "Commit", "Writing to binlog", "query end", "starting", "checking permissions", "Killed"};

static uint64_t number(const char *text)
{
    return strtoull(str_or_empty(text), NULL, 10);
}

static bool begins_with(const char *text, const char *prefix)
{
    return strncasecmp(str_or_empty(text), prefix, strlen(prefix)) == 0;
}

static bool runs(const struct tmp_row *row)
{
    return !str_empty(row->command) && strcasecmp(row->command, "Sleep") != 0;
}

static bool may_end(const struct tmp_row *row, const char *agent_user, bool is_stranger)
{
    if (str_eq(row->user, MONITOR_ACCOUNT) || !role_is_client(row->user, NULL, row->command, agent_user, is_stranger))
        return false;
    if (begins_with(row->command, "Binlog Dump") || begins_with(row->command, "Killed"))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(finishing); i++) {
        if (begins_with(row->state, finishing[i]))
            return false;
    }
    return !runs(row) || !str_empty(row->state); /* MariaDB's DROP TABLE and EXECUTE show no state while they wait */
}

struct tmp_client tmp_client_of(const struct tmp_row *row, const char *agent_user, bool is_stranger)
{
    struct tmp_client client = {
        .id = number(row->id),
        .thread = number(row->thread),
        .age_ms = strtoll(str_or_empty(row->age_ms), NULL, 10),
        .bytes = number(row->bytes),
        .makes_files = number(row->files) > 0,
        .runs = runs(row),
        .may_end = row->id && may_end(row, agent_user, is_stranger),
    };

    snprintf(client.user, sizeof(client.user), "%s", str_or_empty(row->user));
    for (size_t i = 0; i < ARRAY_LEN(spilling); i++)
        client.makes_files |= begins_with(row->state, spilling[i]);
    return client;
}

struct list {
    struct tmp_client *v;
    size_t n;
    const char *agent_user;
    struct strangers strangers;
};

enum column {
    COLUMN_ID,
    COLUMN_USER,
    COLUMN_COMMAND,
    COLUMN_STATE,
    COLUMN_AGE,
    COLUMN_THREAD,
    COLUMN_BYTES,
    COLUMN_FILES,
    COLUMNS
};

static void take_row(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    struct list *list = arg;

    UNUSED(names);
    if (count < COLUMNS || list->n == TMP_CLIENTS_MAX)
        return;
    struct tmp_row row = {values[COLUMN_ID], values[COLUMN_USER], values[COLUMN_COMMAND], values[COLUMN_STATE],
        values[COLUMN_AGE], values[COLUMN_THREAD], values[COLUMN_BYTES], values[COLUMN_FILES]};
    list->v[list->n++] = tmp_client_of(&row, list->agent_user, strangers_has(&list->strangers, row.id));
}

#define LIST(thread, bytes)                                                                 \
    "SELECT p.ID, p.USER, p.COMMAND, p.STATE, p.TIME_MS, " thread ", " bytes ", NULL FROM " \
    "information_schema.processlist p"

static const char mariadb_list[] = LIST("p.TID", "NULL");
static const char counting_list[] = LIST("p.TID", "p.TMP_SPACE_USED");
/* Statements within routines count as their own. */
static const char mysql_list[] =
    "SELECT t.PROCESSLIST_ID, MAX(t.PROCESSLIST_USER), MAX(t.PROCESSLIST_COMMAND), MAX(t.PROCESSLIST_STATE), "
    "COALESCE(MAX(s.TIMER_WAIT) DIV 1000000000, MAX(t.PROCESSLIST_TIME) * 1000, 0), "
    "MAX(t.THREAD_OS_ID), NULL, MAX(s.CREATED_TMP_DISK_TABLES + s.SORT_MERGE_PASSES) "
    "FROM performance_schema.threads t LEFT JOIN performance_schema.events_statements_current s "
    "ON s.THREAD_ID = t.THREAD_ID AND s.END_EVENT_ID IS NULL "
    "WHERE t.TYPE = 'FOREGROUND' AND t.PROCESSLIST_ID IS NOT NULL GROUP BY t.PROCESSLIST_ID";

/* For MySQL without a performance schema, or with one that is too old: there is no number of a thread. Id, User, Host,
 * db, Command, Time, State, Info. */
static void take_process(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    char age_ms[32];

    if (count < 8)
        return;
    snprintf(age_ms, sizeof(age_ms), "%lld", strtoll(str_or_empty(values[5]), NULL, 10) * 1000);
    const char *const row[COLUMNS] = {values[0], values[1], values[4], values[6], age_ms, NULL, NULL, NULL};
    take_row(arg, COLUMNS, names, row);
}

/* A transaction of many statements fills the binary log's cache. The server has its start in whole seconds: short ones
 * are not to look older than they are. */
static int add_transactions(
    struct session *session, const struct server_version *version, struct list *list, struct error *err)
{
    struct transactions transactions;

    int rc = transactions_look(session, dialect_for(version), 1, &transactions, err);
    for (size_t i = 0; rc == 0 && i < list->n; i++) {
        const struct transaction *own = transactions_of(&transactions, list->v[i].id);
        if (own)
            list->v[i].age_ms = MAX_OF(list->v[i].age_ms, own->age_s * 1000 - 1000);
    }
    transactions_release(&transactions);
    return rc;
}

static int list_all(struct session *session, const struct server_version *version, struct list *list, struct error *err)
{
    if (version->flavour == AGENT_FLAVOUR_MARIADB)
        return session_query(
            session, version->number >= VERSION_NUMBER(11, 5, 0) ? counting_list : mariadb_list, take_row, list, err);
    if (version->number >= VERSION_NUMBER(5, 7, 0) && session_query(session, mysql_list, take_row, list, err) < 0)
        return -1;
    return list->n > 0 ? 0 : session_query(session, "SHOW PROCESSLIST", take_process, list, err);
}

int tmp_clients_list(struct session *session, const struct server_version *version, struct tmp_client **ret,
    size_t *ret_count, struct error *err)
{
    struct list list = {.v = xnew_array(struct tmp_client, TMP_CLIENTS_MAX), .agent_user = session_user(session)};

    int rc = strangers_look(session, &list.strangers, err);
    if (rc == 0)
        rc = list_all(session, version, &list, err);
    if (rc == 0)
        rc = add_transactions(session, version, &list, err);
    strangers_release(&list.strangers);
    *ret = list.v;
    *ret_count = list.n;
    return rc;
}

int tmp_clients_end(struct session *session, const struct server_version *version, uint64_t id, struct error *err)
{
    bool softly = version->flavour == AGENT_FLAVOUR_MARIADB;
    _cleanup_(freep) char *sql = xasprintf("KILL %sCONNECTION %llu", softly ? "SOFT " : "", (unsigned long long)id);
    struct error failure = ERROR_INIT;

    if (session_exec(session, sql, &failure) == 0 || failure.code == ER_NO_SUCH_THREAD)
        return 0;
    if (err)
        *err = failure;
    return -1;
}
