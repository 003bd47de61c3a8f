/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/mysql/replication_facts.h"

#include <strings.h>

#include "agent/mysql/accounts.h"
#include "agent/mysql/events.h"
#include "agent/mysql/row_value.h"
#include "agent/mysql/semi_sync.h"
#include "agent/mysql/sql_text.h"
#include "agent/mysql/start_domain.h"
#include "agent/mysql/strangers.h"
#include "agent/mysql/transactions.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/hashmap.h"
#include "common/strbuf.h"

#define SQL_MAX (4 * KM_KIB)
#define ER_LOCK_WAIT_TIMEOUT 1205
#define ER_NO_SUCH_TABLE 1146
#define ER_BAD_DB 1049

enum gtid_flavour replication_gtid_flavour(const struct dialect *dialect)
{
    return agent_gtid_flavour(dialect->family);
}

/* ---- what a look can do without ---- */

#define THE_HEARTBEAT "the heartbeat (" HEARTBEAT_TABLE ")"
#define ACCOUNTS "accounts"

bool replication_unread_is_ours(const char *unread)
{
    return str_starts_with(unread, THE_HEARTBEAT ": ") || str_starts_with(unread, ACCOUNTS ": ");
}

bool replication_goes_without(
    char unread[static LOOK_UNREAD_SIZE], const char *what, const struct error *failure, struct error *err)
{
    char text[LOOK_UNREAD_SIZE];

    if (failure->kind != ERROR_DATABASE) {
        if (err)
            *err = *failure;
        return false;
    }
    snprintf(text, sizeof(text), "%s: %.180s", what, failure->message);
    if (!*unread)
        row_value_copy(unread, LOOK_UNREAD_SIZE, text);
    return true;
}

/* ---- SHOW REPLICA STATUS ---- */

static enum agent_thread thread_of(const char *value)
{
    if (strcasecmp(value, "Yes") == 0)
        return AGENT_THREAD_RUNNING;
    /* MariaDB also says "Preparing" */
    return strcasecmp(value, "No") == 0 ? AGENT_THREAD_OFF : AGENT_THREAD_CONNECTING;
}

enum column {
    COLUMN_HOST,
    COLUMN_PORT,
    COLUMN_RECEIVER,
    COLUMN_APPLIER,
    COLUMN_IO_ERRNO,
    COLUMN_IO_ERROR,
    COLUMN_SQL_ERRNO,
    COLUMN_SQL_ERROR,
    COLUMN_RECEIVED,
    COLUMN_VERIFY,
    COLUMN_BEAT_PERIOD,
    COLUMN_BEATS,
    COLUMN_POSITION,
    COLUMN_USING_GTID,
};

/* Master and Slave, or Source and Replica. */
static const struct {
    const char *name;
    enum column column;
} columns[] = {
    {"Master_Host", COLUMN_HOST},
    {"Source_Host", COLUMN_HOST},
    {"Master_Port", COLUMN_PORT},
    {"Source_Port", COLUMN_PORT},
    {"Slave_IO_Running", COLUMN_RECEIVER},
    {"Replica_IO_Running", COLUMN_RECEIVER},
    {"Slave_SQL_Running", COLUMN_APPLIER},
    {"Replica_SQL_Running", COLUMN_APPLIER},
    {"Last_IO_Errno", COLUMN_IO_ERRNO},
    {"Last_IO_Error", COLUMN_IO_ERROR},
    {"Last_SQL_Errno", COLUMN_SQL_ERRNO},
    {"Last_SQL_Error", COLUMN_SQL_ERROR},
    {"Gtid_IO_Pos", COLUMN_RECEIVED},
    {"Retrieved_Gtid_Set", COLUMN_RECEIVED},
    {"Master_SSL_Verify_Server_Cert", COLUMN_VERIFY},
    {"Source_SSL_Verify_Server_Cert", COLUMN_VERIFY},
    {"Slave_heartbeat_period", COLUMN_BEAT_PERIOD},
    {"Slave_received_heartbeats", COLUMN_BEATS},
    {"Master_Log_File", COLUMN_POSITION},
    {"Source_Log_File", COLUMN_POSITION},
    {"Read_Master_Log_Pos", COLUMN_POSITION},
    {"Read_Source_Log_Pos", COLUMN_POSITION},
    {"Using_Gtid", COLUMN_USING_GTID},
};

/* Servers break sets into lines. */
static const char *take_text(const struct replication_facts *facts, const char *value)
{
    _cleanup_(strbuf_release) struct strbuf text;
    strbuf_init(&text, GTID_TEXT_MAX);
    for (size_t len; facts->positions && *value; value += len + (value[len] != '\0')) {
        len = strcspn(value, "\r\n");
        strbuf_add(&text, value, len);
    }
    return text.overflowed ? POSITION_TOO_LONG : position_take(facts->positions, text.buf);
}

static void take_column(struct replication_facts *facts, enum column column, const char *value)
{
    switch (column) {
    case COLUMN_HOST:
        row_value_copy(facts->source_host, sizeof(facts->source_host), value);
        facts->configured = *value != '\0';
        break;
    case COLUMN_PORT:
        facts->source_port = (uint32_t)strtoul(value, NULL, 10);
        break;
    case COLUMN_RECEIVER:
        facts->receiver = thread_of(value);
        break;
    case COLUMN_APPLIER:
        facts->applier = thread_of(value);
        break;
    case COLUMN_IO_ERRNO:
        facts->receiver_errno = (uint32_t)strtoul(value, NULL, 10);
        break;
    case COLUMN_IO_ERROR:
        row_value_copy(facts->receiver_error, sizeof(facts->receiver_error), value);
        if (!*facts->error_text)
            row_value_copy(facts->error_text, sizeof(facts->error_text), value);
        break;
    case COLUMN_SQL_ERRNO:
        facts->applier_errno = (uint32_t)strtoul(value, NULL, 10);
        break;
    case COLUMN_SQL_ERROR:
        row_value_copy(facts->applier_error, sizeof(facts->applier_error), value);
        if (*value)
            row_value_copy(facts->error_text, sizeof(facts->error_text), value);
        break;
    case COLUMN_RECEIVED:
        facts->gtid_received = take_text(facts, value);
        facts->stream_signature = hash64(facts->stream_signature, value, strlen(value) + 1);
        break;
    case COLUMN_VERIFY:
        facts->source_tls = strcasecmp(value, "Yes") == 0;
        break;
    case COLUMN_BEAT_PERIOD:
        facts->source_beat_ms = (uint32_t)(strtod(value, NULL) * 1000 + 0.5);
        break;
    case COLUMN_BEATS:
        facts->source_beats = strtoull(value, NULL, 10);
        facts->stream_signature = hash64(facts->stream_signature, value, strlen(value) + 1);
        break;
    case COLUMN_POSITION:
        facts->stream_position = hash64(facts->stream_position, value, strlen(value) + 1);
        facts->stream_signature = hash64(facts->stream_signature, value, strlen(value) + 1);
        break;
    case COLUMN_USING_GTID:
        facts->by_file = strcasecmp(value, "No") == 0;
        break;
    }
}

void replication_facts_take(struct replication_facts *facts, const char *name, const char *value)
{
    for (size_t i = 0; value && i < ARRAY_LEN(columns); i++) {
        if (strcasecmp(columns[i].name, name) == 0)
            take_column(facts, columns[i].column, value);
    }
}

static const char *channel_of(unsigned count, const char *const *names, const char *const *values)
{
    for (unsigned i = 0; i < count; i++) {
        if (strcasecmp(names[i], "Connection_name") == 0 || strcasecmp(names[i], "Channel_Name") == 0)
            return str_or_empty(values[i]);
    }
    return "";
}

bool replication_row_is_own(unsigned count, const char *const *names, const char *const *values)
{
    return !*channel_of(count, names, values);
}

static void note_channel(struct replication_facts *facts, const char *name)
{
    static const char *const made_here[] = {PUT_BACK_CHANNEL, REPLAY_CHANNEL, SALVAGE_CHANNEL};

    for (size_t i = 0; i < ARRAY_LEN(made_here); i++) {
        if (str_eq(name, made_here[i]))
            return;
    }
    if (!*facts->foreign_channel)
        row_value_copy(facts->foreign_channel, sizeof(facts->foreign_channel), name);
}

void replication_facts_take_row(
    struct replication_facts *facts, unsigned count, const char *const *names, const char *const *values)
{
    if (!replication_row_is_own(count, names, values)) {
        note_channel(facts, channel_of(count, names, values));
        return;
    }
    for (unsigned i = 0; i < count; i++)
        replication_facts_take(facts, names[i], values[i]);
}

static void take_status_row(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    replication_facts_take_row(arg, count, names, values);
}

bool replication_beat_is_right(const struct replication_facts *facts)
{
    return !facts->source_beat_ms || facts->source_beat_ms == SOURCE_BEAT_MS;
}

static void take_worker(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    struct replication_facts *facts = arg;

    UNUSED(names);
    if (count > 0 && !str_empty(values[0]))
        row_value_copy(facts->error_text, sizeof(facts->error_text), values[0]);
}

/* MySQL's coordinator tells which transaction failed, and the worker why; 3030: another one failed before it. Without
 * the performance schema nobody says more. */
static int observe_worker(struct session *session, struct replication_facts *facts, struct error *err)
{
    struct error failure = ERROR_INIT;

    if (session_query(session,
            "SELECT LAST_ERROR_MESSAGE FROM performance_schema.replication_applier_status_by_worker WHERE "
            "LAST_ERROR_NUMBER <> 0 AND CHANNEL_NAME = '' ORDER BY LAST_ERROR_NUMBER = 3030, WORKER_ID LIMIT 1",
            take_worker, facts, &failure) == 0 ||
        failure.kind == ERROR_DATABASE)
        return 0;
    if (err)
        *err = failure;
    return -1;
}

/* MariaDB names no transaction, but the last ones that it has executed. */
static void name_position(struct replication_facts *facts)
{
    char text[sizeof(facts->error_text)];

    row_value_copy(text, sizeof(text), facts->error_text);
    snprintf(facts->error_text, sizeof(facts->error_text), "after GTID %.128s%s: %s",
        str_or_empty(facts->gtid_executed), strlen(str_or_empty(facts->gtid_executed)) > 128 ? "..." : "", text);
}

static int explain_applier_error(
    struct session *session, const struct dialect *dialect, struct replication_facts *facts, struct error *err)
{
    if (!facts->applier_errno)
        return 0;
    if (dialect->family != AGENT_FLAVOUR_MARIADB)
        return observe_worker(session, facts, err);
    name_position(facts);
    return 0;
}

static int observe_replica(
    struct session *session, const struct dialect *dialect, struct replication_facts *facts, struct error *err)
{
    facts->relay_logs_last = dialect->family != AGENT_FLAVOUR_MARIADB;
    if (session_query(session, dialect->replica_status, take_status_row, facts, err) < 0 ||
        explain_applier_error(session, dialect, facts, err) < 0)
        return -1;
    if (!facts->configured || !dialect->stream_status)
        return 0;
    return session_query(session, dialect->stream_status, take_status_row, facts, err);
}

/* ---- variables and counters ---- */

static void take_position(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    struct replication_facts *facts = arg;

    UNUSED(names);
    if (count < 7 || !values[6])
        return;
    facts->read_only = row_value_is_on(values[4]);
    facts->gtid_executed = take_text(facts, values[6]);
    facts->relay_logs_kept = count > 7 && values[7] && !row_value_is_on(values[7]);
    facts->relay_logs_synced = count > 8 && str_eq(values[8], "1");
}

/* MariaDB tells two positions: one of each domain is left. */
static void join_positions(struct replication_facts *facts)
{
    _cleanup_(gtid_set_freep) struct gtid_set *set = position_parse(GTID_MARIADB, facts->gtid_executed);

    if (set) /* else it is too long */
        facts->gtid_executed = position_print(facts->positions, set);
}

static void take_state(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    struct replication_facts *facts = arg;

    UNUSED(names);
    if (count == 1)
        facts->gtid_state = take_text(facts, str_or_empty(values[0]));
}

static int observe_state(
    struct session *session, const struct dialect *dialect, struct replication_facts *facts, struct error *err)
{
    if (dialect->family != AGENT_FLAVOUR_MARIADB)
        return 0;
    return session_query(session, "SELECT @@global.gtid_binlog_state", take_state, facts, err);
}

bool replication_is_clone(const char *command, const char *info)
{
    return strcasecmp(str_or_empty(command), "clone") == 0 ||
        strncasecmp(str_or_empty(info), "CLONE LOCAL ", strlen("CLONE LOCAL ")) == 0;
}

static void take_clone(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    struct replication_facts *facts = arg;

    UNUSED(names);
    if (count >= 8 && replication_is_clone(values[4], values[7]))
        facts->gives_clone = true;
}

static void take_wait(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    struct replication_facts *facts = arg;

    UNUSED(names);
    UNUSED(values);
    facts->copy_waits = facts->copy_waits || count > 0;
}

/* CLONE waits for every commit that is in the binary log to end before it copies the redo log, and says so each five
 * seconds, in the server's log only. */
static int observe_clone(struct session *session, struct replication_facts *facts, struct error *err)
{
    struct error failure = ERROR_INIT;

    if (facts->waiting_commits == 0 && !(facts->read_only && !facts->configured))
        return 0;
    if (session_query(session, "SHOW PROCESSLIST", take_clone, facts, err) < 0)
        return -1;
    if (!facts->gives_clone || facts->waiting_commits == 0)
        return 0;
    if (session_query(session,
            "SELECT 1 FROM performance_schema.error_log WHERE logged > NOW(6) - INTERVAL 8 SECOND AND "
            "data LIKE 'Waiting for prepared transaction to exit%' LIMIT 1",
            take_wait, facts, &failure) == 0 ||
        failure.kind == ERROR_DATABASE) /* before 8.0.22 there is no such table */
        return 0;
    if (err)
        *err = failure;
    return -1;
}

static void take_copy(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    struct replication_facts *facts = arg;

    UNUSED(names);
    if (count >= 8 && str_eq(str_or_empty(values[6]), "Waiting for backup lock") &&
        str_starts_with(str_or_empty(values[7]), "BACKUP STAGE "))
        facts->copy_waits = true;
}

/* mariadb-backup ends with BACKUP STAGE BLOCK_COMMIT, which waits for every commit that has begun: one that waits for a
 * replica holds it up. */
static int look_at_copy(
    struct session *session, const struct dialect *dialect, struct replication_facts *facts, struct error *err)
{
    if (dialect->family != AGENT_FLAVOUR_MARIADB)
        return observe_clone(session, facts, err);
    if (!facts->semi_sync_source || facts->waiting_commits == 0)
        return 0;
    return session_query(session, "SHOW PROCESSLIST", take_copy, facts, err);
}

static int observe_copy(
    struct session *session, const struct dialect *dialect, struct replication_facts *facts, struct error *err)
{
    struct error failure = ERROR_INIT;

    if (look_at_copy(session, dialect, facts, &failure) == 0)
        return 0;
    return replication_goes_without(facts->unread, "whether it is being copied", &failure, err) ? 0 : -1;
}

/* ---- heartbeat ---- */

static void take_beat(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    struct replication_facts *facts = arg;

    UNUSED(names);
    if (count < 2 || !values[0] || !values[1])
        return;
    facts->has_beat = true;
    facts->beat_epoch = strtoull(values[0], NULL, 10);
    facts->beat_us = strtoll(values[1], NULL, 10);
    facts->beat_read_us = clock_realtime_us();
}

static int observe_beat(struct session *session, struct replication_facts *facts, struct error *err)
{
    struct error failure = ERROR_INIT;

    if (session_query(session, "SELECT epoch, written_at FROM " HEARTBEAT_TABLE " WHERE id = 1", take_beat, facts,
            &failure) == 0 ||
        failure.code == ER_NO_SUCH_TABLE || failure.code == ER_BAD_DB)
        return 0;
    facts->beat_unread = true;
    return replication_goes_without(facts->unread, THE_HEARTBEAT, &failure, err) ? 0 : -1;
}

/* Waits for metadata, global, backup and commit locks; rows and storage are waited for in other states. */
bool replication_is_locked_beat(const char *user, const char *state, const char *info, const char *agent_user)
{
    size_t len = strlen(str_or_empty(state));

    return str_eq(user, agent_user) && len > 5 && str_starts_with(state, "Waiting for ") &&
        strcmp(state + len - 5, " lock") == 0 && strstr(str_or_empty(info), HEARTBEAT_TABLE);
}

struct beat_search {
    const char *agent_user;
    bool found;
};

static void take_beat_process(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    struct beat_search *search = arg;

    UNUSED(names);
    if (count >= 8 && replication_is_locked_beat(values[1], values[6], values[7], search->agent_user))
        search->found = true;
}

int replication_beat_locked(struct session *session, const char *agent_user, bool *ret, struct error *err)
{
    struct beat_search search = {.agent_user = agent_user};

    if (session_query(session, "SHOW FULL PROCESSLIST", take_beat_process, &search, err) < 0)
        return -1;
    *ret = search.found;
    return 0;
}

/* ---- long transactions ---- */

struct candidates {
    struct replication_facts *facts;
    const char *agent_user;
    struct strangers strangers;
    struct transactions transactions;
    size_t first; /* the oldest one named so far */
};

static const char *skip_to(const char *text, const char *end)
{
    const char *at = strstr(text, end);

    return at ? at + strlen(end) : "";
}

/* Comments, blanks and brackets. */
static const char *skip_blank(const char *text)
{
    for (;;) {
        text += strspn(text, " \t\r\n(;");
        if (str_starts_with(text, "/*"))
            text = skip_to(text + 2, "*/");
        else if (str_starts_with(text, "-- ") || *text == '#')
            text = skip_to(text, "\n");
        else
            return text;
    }
}

const char *replication_verb(const char *statement, const char *command)
{
    static const char *const verbs[] = {"ALTER", "ANALYZE", "BEGIN", "CALL", "CHECK", "COMMIT", "CREATE", "DELETE",
        "DO", "DROP", "EXECUTE", "FLUSH", "GRANT", "INSERT", "LOAD", "LOCK", "OPTIMIZE", "RENAME", "REPAIR", "REPLACE",
        "REVOKE", "ROLLBACK", "SELECT", "SET", "SHOW", "START", "TRUNCATE", "UPDATE", "WITH", "XA"};
    static const char *const commands[] = {"Execute", "Fetch", "Query", "Sleep"};
    const char *at = skip_blank(str_or_empty(statement));
    size_t len = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");

    for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
        if (strlen(verbs[i]) == len && strncasecmp(at, verbs[i], len) == 0)
            return verbs[i];
    }
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        if (str_eq(command, commands[i]))
            return commands[i];
    }
    return "Query";
}

static void name_transaction(const struct candidates *candidates, size_t index, const char *const *values)
{
    struct replication_facts *facts = candidates->facts;
    const char *host = str_or_empty(values[2]);
    char text[256];

    snprintf(text, sizeof(text), "thread %s of %.40s@%.*s, %lld s: %s", values[0], str_or_empty(values[1]),
        (int)MIN_OF(strcspn(host, ":"), 60), host, (long long)candidates->transactions.v[index].age_s,
        replication_verb(values[7], values[4]));
    row_value_copy(facts->long_transaction, sizeof(facts->long_transaction), text);
}

/* Id, User, Host, db, Command, Time, State, Info */
static void take_process(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    struct candidates *candidates = arg;

    UNUSED(names);
    if (count < 8)
        return;
    if (str_eq(values[1], candidates->agent_user) && !strangers_has(&candidates->strangers, values[0]))
        return;
    const struct transaction *found =
        transactions_of(&candidates->transactions, strtoull(str_or_empty(values[0]), NULL, 10));
    if (!found || (found->rows == 0 && !found->runs))
        return;
    size_t index = (size_t)(found - candidates->transactions.v);
    candidates->facts->long_transactions++;
    if (index < candidates->first) {
        candidates->first = index;
        name_transaction(candidates, index, values);
    }
}

static int name_transactions(struct session *session, struct candidates *candidates, struct error *err)
{
    if (candidates->transactions.n == 0)
        return 0;
    int rc = strangers_look(session, &candidates->strangers, err);
    if (rc == 0)
        rc = session_query(session, "SHOW FULL PROCESSLIST", take_process, candidates, err);
    strangers_release(&candidates->strangers);
    return rc;
}

static int look_for_transactions(struct session *session, const struct dialect *dialect, const char *agent_user,
    struct replication_facts *facts, struct error *err)
{
    struct candidates candidates = {.facts = facts, .agent_user = agent_user, .first = TRANSACTIONS_MAX};

    int rc = transactions_look(session, dialect, LONG_TRANSACTION_S, &candidates.transactions, err);
    if (rc == 0)
        rc = name_transactions(session, &candidates, err);
    transactions_release(&candidates.transactions);
    return rc;
}

/* One that is not known is not waited for: closing ends it. */
static int observe_transactions(struct session *session, const struct dialect *dialect, const char *agent_user,
    struct replication_facts *facts, struct error *err)
{
    struct error failure = ERROR_INIT;

    if (look_for_transactions(session, dialect, agent_user, facts, &failure) == 0)
        return 0;
    return replication_goes_without(facts->unread, "long transactions", &failure, err) ? 0 : -1;
}

/* ---- all ---- */

/* As asked, joined and canonical: of executed and received each. */
#define POSITIONS_MAX (7 * POSITION_TEXT_MAX)

/* super_read_only, and offline_mode where there is one. */
static void take_strictness(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    struct replication_facts *facts = arg;

    UNUSED(names);
    if (count < 2)
        return;
    facts->has_super_read_only = true;
    facts->root_only = facts->read_only && !row_value_is_on(values[0]);
    facts->read_only = facts->read_only && row_value_is_on(values[0]);
    facts->offline = row_value_is_on(values[1]);
}

static int observe_read_only(
    struct session *session, const struct dialect *dialect, struct replication_facts *facts, struct error *err)
{
    if (session_query(session, dialect->observe, take_position, facts, err) < 0)
        return -1;
    if (dialect->family == AGENT_FLAVOUR_MARIADB) {
        join_positions(facts);
        return start_domain_look(session, dialect, facts->self_written, sizeof(facts->self_written), err);
    }
    if (!dialect->super_read_only)
        return 0;
    return session_query(session,
        dialect->offline_mode ? "SELECT @@global.super_read_only, @@global.offline_mode"
                              : "SELECT @@global.super_read_only, 0",
        take_strictness, facts, err);
}

/* With both threads off, MariaDB will drop its relay logs when one starts: what they hold is as good as not received.
 * What was executed was read while the applier may still have run. */
static int forget_what_is_dropped(
    struct session *session, const struct dialect *dialect, struct replication_facts *facts, struct error *err)
{
    bool off = facts->receiver == AGENT_THREAD_OFF && facts->applier == AGENT_THREAD_OFF;

    /* An applier that met an error is not started by anybody: what is there stays there, and a person may want it. */
    if (facts->relay_logs_last || !facts->configured || !off || facts->applier_errno)
        return 0;
    const char *had = facts->gtid_received;
    facts->gtid_received = "";
    if (observe_read_only(session, dialect, facts, err) < 0)
        return -1;
    facts->drops_received = !str_empty(had) && !position_holds(GTID_MARIADB, facts->gtid_executed, had);
    return 0;
}

/* What was received includes what was executed: a candidate is judged by it. If either cannot be read, neither can
 * both. */
static void add_executed(const struct dialect *dialect, struct replication_facts *facts)
{
    enum gtid_flavour flavour = replication_gtid_flavour(dialect);
    _cleanup_(gtid_set_freep) struct gtid_set *executed = position_parse(flavour, facts->gtid_executed);
    _cleanup_(gtid_set_freep) struct gtid_set *received = position_parse(flavour, facts->gtid_received);

    if (executed && received)
        gtid_set_unite(received, executed);
    facts->all_applied = executed && received && gtid_set_compare(received, executed) == GTID_EQUAL;
    facts->gtid_received = executed && received ? position_print(facts->positions, received) : POSITION_TOO_LONG;
}

void replication_facts_release(struct replication_facts *facts)
{
    position_pool_unref(facts->positions);
    *facts = (struct replication_facts){0};
}

void replication_facts_keep(struct replication_facts *to, const struct replication_facts *from)
{
    struct position_pool *old = to->positions;
    struct replication_facts before = *to;

    *to = *from;
    if (from->beat_unread)
        to->beat_epoch = before.beat_epoch;
    if (!from->system_tables_seen) {
        to->accounts_present = before.accounts_present;
        memcpy(to->accounts_hash, before.accounts_hash, sizeof(to->accounts_hash));
        to->events_listed = before.events_listed;
    }
    position_pool_ref(to->positions);
    position_pool_unref(old);
}

/* A commit that begins to wait just now is found by the session's lock_wait_timeout, where it has a short one. */
static int observe_system_tables(
    struct session *session, const struct dialect *dialect, struct replication_facts *facts, struct error *err)
{
    struct error failure = ERROR_INIT;

    if (facts->semi_sync_source && facts->waiting_commits > 0)
        return 0;
    if (accounts_look(session, dialect, &facts->accounts_present, facts->accounts_hash, &failure) < 0) {
        if (failure.code == ER_LOCK_WAIT_TIMEOUT)
            return 0;
        if (!replication_goes_without(facts->unread, ACCOUNTS, &failure, err))
            return -1;
    }
    if (!facts->read_only && events_look(session, &facts->events_listed, &failure) < 0) {
        if (failure.code == ER_LOCK_WAIT_TIMEOUT)
            return 0;
        if (!replication_goes_without(facts->unread, "events", &failure, err))
            return -1;
    }
    facts->system_tables_seen = true;
    return 0;
}

static int observe_all(struct session *session, const struct dialect *dialect, const char *agent_user,
    struct replication_facts *facts, struct error *err)
{
    /* Semi-sync before the position: what has ended without an acknowledgement is in it. */
    if (semi_sync_observe(session, dialect, facts, err) < 0 || observe_read_only(session, dialect, facts, err) < 0 ||
        observe_replica(session, dialect, facts, err) < 0 || forget_what_is_dropped(session, dialect, facts, err) < 0 ||
        observe_state(session, dialect, facts, err) < 0 || observe_copy(session, dialect, facts, err) < 0 ||
        observe_beat(session, facts, err) < 0 || observe_system_tables(session, dialect, facts, err) < 0)
        return -1;
    add_executed(dialect, facts);
    return facts->read_only ? 0 : observe_transactions(session, dialect, agent_user, facts, err);
}

int replication_facts_observe(struct session *session, const struct dialect *dialect, const char *agent_user,
    struct replication_facts *ret, struct error *err)
{
    struct replication_facts facts = {.seen = true,
        .begun_ms = clock_monotonic_ms(),
        .connection = session_serial(session),
        .positions = position_pool_new(POSITIONS_MAX)};

    if (observe_all(session, dialect, agent_user, &facts, err) < 0) {
        replication_facts_release(&facts);
        return -1;
    }
    *ret = facts;
    return 0;
}

/* ---- whole sets ---- */

static void take_whole(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    UNUSED(names);
    if (count >= 7 && values[6])
        strbuf_adds(arg, values[6]);
}

static void take_whole_received(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    bool is_own = replication_row_is_own(count, names, values);

    for (unsigned i = 0; is_own && i < count; i++) {
        if (values[i] && (strcasecmp(names[i], "Gtid_IO_Pos") == 0 || strcasecmp(names[i], "Retrieved_Gtid_Set") == 0))
            strbuf_adds(arg, values[i]);
    }
}

static struct gtid_set *query_set(
    struct session *session, const struct dialect *dialect, const char *sql, session_row_fn take, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, GTID_TEXT_MAX);
    if (session_query(session, sql, take, &text, err) < 0)
        return NULL;
    return gtid_set_parse(replication_gtid_flavour(dialect), text.buf, err);
}

struct gtid_set *replication_executed(struct session *session, const struct dialect *dialect, struct error *err)
{
    return query_set(session, dialect, dialect->observe, take_whole, err);
}

struct gtid_set *replication_received(struct session *session, const struct dialect *dialect, struct error *err)
{
    return query_set(session, dialect, dialect->replica_status, take_whole_received, err);
}
