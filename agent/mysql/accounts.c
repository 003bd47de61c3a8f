/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/mysql/accounts.h"

#include <strings.h>

#include "agent/mysql/database_look.h"
#include "agent/mysql/own_account.h"
#include "agent/mysql/semi_sync.h"
#include "agent/mysql/sql_text.h"
#include "common/alloc.h"
#include "common/hashmap.h"
#include "common/strbuf.h"

#define STATEMENT_MAX (16 * KM_KIB)
/* Both families: 64 characters of a schema name; MySQL: 32 of a user name, MariaDB: 128. */
#define DATABASE_NAME_MAX 64
#define USER_NAME_MAX 32
#define PASSWORD_MAX 1024
#define ACCOUNTS_DATABASE "kubemysql"
#define ACCOUNTS_TABLE ACCOUNTS_DATABASE ".accounts"
#define NOTE_OF_TLS "2" /* id of its row; the record's is 1 */
#define ER_BAD_DB 1049
#define ER_NO_SUCH_TABLE 1146

void accounts_want_release(struct accounts_want *want)
{
    secret_free(want->root_password);
    secret_free(want->replication_password);
    secret_free(want->monitor_password);
    secret_free(want->user_password);
    free(want->database);
    free(want->username);
    free(want->agent_user);
    *want = (struct accounts_want){0};
}

struct accounts_want *accounts_want_copy(const struct accounts_want *want)
{
    struct accounts_want *copy = xmemdup(want, sizeof(*want));

    copy->root_password = xstrdup(want->root_password);
    copy->replication_password = xstrdup(want->replication_password);
    copy->monitor_password = xstrdup(want->monitor_password);
    copy->user_password = xstrdup(want->user_password);
    copy->database = xstrdup(want->database);
    copy->username = xstrdup(want->username);
    copy->agent_user = xstrdup(want->agent_user);
    return copy;
}

void accounts_want_free(struct accounts_want *want)
{
    if (!want)
        return;
    accounts_want_release(want);
    free(want);
}

/* ---- the plan ---- */

struct planner {
    struct accounts_plan plan;
    size_t capacity;
    const struct dialect *dialect;
    bool asks; /* what is added now */
    /* Behind ALTER USER of root and of the others at '%'; "": it stays as it is. */
    const char *root_requires, *others_require;
};

static void add_step(struct planner *planner, const char *what, struct strbuf *sql)
{
    struct accounts_plan *plan = &planner->plan;

    if (plan->count == planner->capacity) {
        planner->capacity = planner->capacity ? planner->capacity * 2 : 16;
        plan->steps = xreallocarray(plan->steps, planner->capacity, sizeof(*plan->steps));
    }
    plan->steps[plan->count++] = (struct accounts_step){
        .what = what,
        .sql = strbuf_detach(sql, NULL),
        .asks = planner->asks,
    };
}

static void add_text(struct planner *planner, const char *what, const char *sql)
{
    struct strbuf text;

    strbuf_init(&text, STATEMENT_MAX);
    strbuf_adds(&text, sql);
    add_step(planner, what, &text);
}

static void add_credentials(const struct planner *planner, const char *password, struct strbuf *sql)
{
    if (planner->dialect->password_hash) {
        char hash[SQL_NATIVE_HASH_SIZE];
        sql_native_password_hash(password, hash);
        strbuf_adds(sql, " IDENTIFIED VIA mysql_native_password USING ");
        sql_add_string(sql, hash);
        return;
    }
    strbuf_adds(sql, " IDENTIFIED BY ");
    sql_add_string(sql, password);
}

/* `password_options`: our passwords change when the Secret does and at no other time. */
static void add_account_statement(struct planner *planner, const char *what, const char *verb, const char *user,
    const char *host, const char *password, const char *requires)
{
    struct strbuf sql;

    strbuf_init(&sql, STATEMENT_MAX);
    strbuf_addf(&sql, "%s ", verb);
    sql_add_account(&sql, user, host);
    add_credentials(planner, password, &sql);
    strbuf_adds(&sql, requires);
    strbuf_adds(&sql, " PASSWORD EXPIRE NEVER");
    if (planner->dialect->password_history)
        strbuf_adds(&sql, " PASSWORD HISTORY 0 PASSWORD REUSE INTERVAL 0 DAY");
    strbuf_adds(&sql, " ACCOUNT UNLOCK");
    add_step(planner, what, &sql);
}

/* GRANT makes an account that is not there, and changes the password of one that is. */
static void add_old_account(
    struct planner *planner, const char *what, const char *user, const char *host, const char *password)
{
    char hash[SQL_NATIVE_HASH_SIZE];
    struct strbuf sql;

    strbuf_init(&sql, STATEMENT_MAX);
    strbuf_adds(&sql, "GRANT USAGE ON *.* TO ");
    sql_add_account(&sql, user, host);
    strbuf_adds(&sql, " IDENTIFIED BY PASSWORD ");
    sql_native_password_hash(password, hash);
    sql_add_string(&sql, hash);
    add_step(planner, what, &sql);
}

/* CREATE with the password, so that no account is there without one for a moment; ALTER for accounts that existed. */
static void add_account(struct planner *planner, const char *what, const char *user, const char *host,
    const char *password, const char *requires)
{
    if (!planner->dialect->account_statements) {
        add_old_account(planner, what, user, host, password);
        return;
    }
    add_account_statement(planner, what, "CREATE USER IF NOT EXISTS", user, host, password, requires);
    add_account_statement(planner, what, "ALTER USER", user, host, password, requires);
}

static void add_grant(struct planner *planner, const char *what, const char *verb, const char *privileges,
    const char *level, const char *user, const char *host, const char *suffix)
{
    struct strbuf sql;

    strbuf_init(&sql, STATEMENT_MAX);
    strbuf_addf(&sql, "%s %s ON %s %s ", verb, privileges, level, str_eq(verb, "GRANT") ? "TO" : "FROM");
    sql_add_account(&sql, user, host);
    strbuf_adds(&sql, suffix);
    add_step(planner, what, &sql);
}

static void plan_root(struct planner *planner, const char *password)
{
    const struct dialect *dialect = planner->dialect;

    if (!password)
        return;
    add_account(planner, "account root@localhost", "root", "localhost", password, "");
    add_grant(
        planner, "account root@localhost", "GRANT", "ALL PRIVILEGES", "*.*", "root", "localhost", " WITH GRANT OPTION");
    add_account(planner, "account root@%", "root", "%", password, planner->root_requires);
    add_grant(planner, "account root@%", "GRANT", dialect->root_grants, "*.*", "root", "%", " WITH GRANT OPTION");
    if (dialect->root_revoke)
        add_grant(planner, "account root@%", "REVOKE", dialect->root_revoke, "*.*", "root", "%", "");
}

static void plan_own_account(struct planner *planner, const struct accounts_want *want)
{
    for (int i = 0; want->own_account && i < OWN_ACCOUNT_STATEMENTS; i++) {
        struct strbuf sql;

        strbuf_init(&sql, STATEMENT_MAX);
        own_account_sql(planner->dialect, want->agent_user, i, &sql);
        add_step(planner, "the agent's account", &sql);
    }
}

static void plan_monitor(struct planner *planner, const char *password)
{
    if (!password)
        return;
    add_account(planner, "account monitor", "monitor", "%", password, planner->others_require);
    add_grant(planner, "account monitor", "GRANT", planner->dialect->monitor_grants, "*.*", "monitor", "%", "");
    add_grant(planner, "account monitor", "GRANT", "SELECT", "performance_schema.*", "monitor", "%", "");
}

static void plan_replication(struct planner *planner, const char *password)
{
    if (!password)
        return;
    add_account(planner, "account replication", "replication", "%", password, planner->others_require);
    add_grant(
        planner, "account replication", "GRANT", planner->dialect->replication_grants, "*.*", "replication", "%", "");
}

static void plan_database(struct planner *planner, const char *what, const char *database)
{
    struct strbuf sql;

    if (!database)
        return;
    strbuf_init(&sql, STATEMENT_MAX);
    strbuf_adds(&sql, "CREATE DATABASE IF NOT EXISTS ");
    sql_add_identifier(&sql, database);
    add_step(planner, what, &sql);
    planner->plan.steps[planner->plan.count - 1].makes = xstrdup(database);
}

static void plan_user(struct planner *planner, const struct accounts_want *want, bool partial_revokes)
{
    _cleanup_(strbuf_release) struct strbuf level;

    strbuf_init(&level, STATEMENT_MAX);
    if (!want->username || !want->user_password)
        return;
    add_account(planner, "the user", want->username, "%", want->user_password, planner->others_require);
    if (!want->database)
        return;
    sql_add_grant_database(&level, want->database, partial_revokes);
    strbuf_adds(&level, ".*");
    add_grant(planner, "the user", "GRANT", "ALL PRIVILEGES", level.buf, want->username, "%", "");
}

static void note_made(struct planner *planner, const char *kind, const char *name)
{
    struct strbuf sql;

    strbuf_init(&sql, STATEMENT_MAX);
    strbuf_addf(&sql, "REPLACE INTO " ACCOUNTS_MADE_TABLE " VALUES ('%s', ", kind);
    sql_add_string(&sql, name);
    strbuf_adds(&sql, ")");
    add_step(planner, "the note of names", &sql);
}

/* Before they are made: a note of what is not there counts for nothing. */
static void plan_notes(struct planner *planner, const struct accounts_want *want)
{
    if (want->database)
        note_made(planner, ACCOUNTS_MADE_DATABASE, want->database);
    if (want->username && want->user_password)
        note_made(planner, ACCOUNTS_MADE_USER, want->username);
}

/* Connections that are open stay. */
static void plan_locks(struct planner *planner, const struct accounts_want *want, const struct accounts_left *left)
{
    for (int i = 0; i < left->account_count && want->lock_left && left->can_lock; i++) {
        struct strbuf sql;

        if (left->accounts[i].is_locked || str_eq(left->accounts[i].name, want->username))
            continue;
        strbuf_init(&sql, STATEMENT_MAX);
        strbuf_adds(&sql, "ALTER USER IF EXISTS ");
        sql_add_account(&sql, left->accounts[i].name, "%");
        strbuf_adds(&sql, " ACCOUNT LOCK");
        add_step(planner, "an account that is left", &sql);
    }
}

static void plan_system_accounts(struct planner *planner, const struct accounts_want *want)
{
    plan_root(planner, want->root_password);
    plan_monitor(planner, want->monitor_password);
    plan_replication(planner, want->replication_password);
}

/* role_close ends what commits here, as it does heartbeats: it knows them by the database. */
static void plan_session(struct planner *planner)
{
    plan_database(planner, "session", ACCOUNTS_DATABASE);
    add_text(planner, "session", "USE " ACCOUNTS_DATABASE);
    add_text(planner, "the record",
        "CREATE TABLE IF NOT EXISTS " ACCOUNTS_TABLE
        " (id TINYINT UNSIGNED NOT NULL PRIMARY KEY, hash CHAR(64) NOT NULL) ENGINE = InnoDB");
    add_text(planner, "the note of names",
        "CREATE TABLE IF NOT EXISTS " ACCOUNTS_MADE_TABLE
        " (kind CHAR(8) NOT NULL, name CHAR(64) NOT NULL, PRIMARY KEY (kind, name)) "
        "ENGINE = InnoDB CHARACTER SET ascii COLLATE ascii_bin");
}

/* In the logged pass alone, behind the note: what is done without the log may be cut off before the note is written. */
static void plan_tls(struct planner *planner, const struct accounts_want *want, bool noted)
{
    if (!planner->dialect->require_tls)
        return;
    planner->root_requires = " REQUIRE SSL";
    planner->others_require = want->require_tls ? " REQUIRE SSL" : noted ? " REQUIRE NONE" : "";
    if (want->require_tls && !noted)
        add_text(planner, "the note of TLS", "REPLACE INTO " ACCOUNTS_TABLE " VALUES (" NOTE_OF_TLS ", 'REQUIRE SSL')");
}

static void plan_tls_end(struct planner *planner, const struct accounts_want *want, bool noted)
{
    if (noted && !want->require_tls)
        add_text(planner, "the note of TLS", "DELETE FROM " ACCOUNTS_TABLE " WHERE id = " NOTE_OF_TLS);
}

static void plan_record(struct planner *planner, const char *hash)
{
    struct strbuf sql;

    strbuf_init(&sql, STATEMENT_MAX);
    strbuf_adds(&sql, "REPLACE INTO " ACCOUNTS_TABLE " VALUES (1, ");
    sql_add_string(&sql, hash);
    strbuf_adds(&sql, ")");
    add_step(planner, "the record", &sql);
}

/* ---- what can be said without a server ---- */

static size_t characters(const char *text)
{
    size_t count = 0;

    for (; *text; text++)
        count += ((unsigned char)*text & 0xc0) != 0x80;
    return count;
}

static int check_username(const struct accounts_want *want, struct error *err)
{
    static const char *const reserved[] = {
        "root", "replication", "monitor", "mysql", "mysql.sys", "mysql.session", "mysql.infoschema", "mariadb.sys"};

    if (!want->username)
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(reserved); i++) {
        if (str_eq(want->username, reserved[i]))
            return error_set(err, ERROR_INVALID, "username \"%s\" is reserved", want->username);
    }
    if (str_eq(want->username, want->agent_user))
        return error_set(err, ERROR_INVALID, "username \"%s\" is reserved", want->username);
    if (!*want->username || characters(want->username) > USER_NAME_MAX)
        return error_set(err, ERROR_INVALID, "username must have 1 to %d characters", USER_NAME_MAX);
    return 0;
}

static int check_database(const char *database, struct error *err)
{
    static const char *const reserved[] = {"mysql", "information_schema", "performance_schema", "sys"};

    if (!database)
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(reserved); i++) {
        if (strcasecmp(database, reserved[i]) == 0)
            return error_set(err, ERROR_INVALID, "database \"%s\" belongs to the server", database);
    }
    if (!*database || characters(database) > DATABASE_NAME_MAX)
        return error_set(err, ERROR_INVALID, "database must have 1 to %d characters", DATABASE_NAME_MAX);
    return 0;
}

static int check_passwords(const struct accounts_want *want, struct error *err)
{
    const struct {
        const char *file;
        const char *password;
    } all[] = {{"root", want->root_password}, {"replication", want->replication_password},
        {"monitor", want->monitor_password}, {"user", want->user_password}};

    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (!all[i].password)
            continue;
        if (!*all[i].password)
            return error_set(err, ERROR_INVALID, "the password in \"%s\" is empty", all[i].file);
        if (strlen(all[i].password) > PASSWORD_MAX)
            return error_set(
                err, ERROR_INVALID, "the password in \"%s\" is longer than %d bytes", all[i].file, PASSWORD_MAX);
    }
    return 0;
}

int accounts_plan_make(const struct accounts_want *want, const struct dialect *dialect,
    const struct accounts_facts *facts, struct accounts_plan *ret, struct error *err)
{
    struct planner planner = {.dialect = dialect, .root_requires = "", .others_require = ""};

    if (check_username(want, err) < 0 || check_database(want->database, err) < 0 || check_passwords(want, err) < 0)
        return -1;
    if (want->scope >= ACCOUNTS_LOCAL) {
        add_text(&planner, "session", "SET SESSION sql_log_bin = 0");
        plan_system_accounts(&planner, want);
    }
    if (want->scope >= ACCOUNTS_LOGGED) {
        add_text(&planner, "session", "SET SESSION sql_log_bin = 1");
        planner.asks = dialect->family != AGENT_FLAVOUR_MARIADB;
        plan_session(&planner);
        plan_own_account(&planner, want);
        plan_tls(&planner, want, facts->tls_noted);
        plan_system_accounts(&planner, want);
        plan_notes(&planner, want);
        plan_database(&planner, "database", want->database);
        plan_user(&planner, want, facts->partial_revokes);
        plan_locks(&planner, want, &facts->left);
        plan_tls_end(&planner, want, facts->tls_noted);
        plan_record(&planner, want->hash);
    }
    *ret = planner.plan;
    return 0;
}

void accounts_plan_release(struct accounts_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        secret_free(plan->steps[i].sql);
        free(plan->steps[i].makes);
    }
    free(plan->steps);
    *plan = (struct accounts_plan){0};
}

static int apply_step(
    struct session *session, const struct dialect *dialect, const struct accounts_step *step, struct error *err)
{
    bool there = false;

    if (step->makes && database_look(session, step->makes, &there, err) < 0)
        return -1;
    if (there)
        return 0;
    if (step->asks && semi_sync_await_answers(session, dialect, err) < 0)
        return -1;
    return session_exec_secret(session, step->sql, err);
}

int accounts_apply(
    struct session *session, const struct dialect *dialect, const struct accounts_plan *plan, struct error *err)
{
    for (size_t i = 0; i < plan->count; i++) {
        if (apply_step(session, dialect, &plan->steps[i], err) < 0)
            return error_prefix(err, "%s", plan->steps[i].what);
    }
    return 0;
}

static void take_count(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    UNUSED(names);
    *(bool *)arg = count == 1 && str_eq(values[0], "2");
}

static void take_hash(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    UNUSED(names);
    if (count == 1)
        snprintf(arg, 65, "%s", str_or_empty(values[0]));
}

/* MariaDB's mysql.user is a view with a definer: reading it waits for LOCK_grant, which CREATE USER holds while its
 * commit waits for an acknowledgement, and no time-out ends that. A lock on the table itself heeds
 * lock_wait_timeout. */
static const char *table_of(const struct dialect *dialect)
{
    return dialect->family == AGENT_FLAVOUR_MARIADB ? "mysql.global_priv" : "mysql.user";
}

static int read_row(struct session *session, const char *id, char ret[static 65], struct error *err)
{
    _cleanup_(freep) char *sql = xasprintf("SELECT hash FROM " ACCOUNTS_TABLE " WHERE id = %s", id);
    struct error failure = ERROR_INIT;

    if (session_query(session, sql, take_hash, ret, &failure) == 0 || failure.code == ER_NO_SUCH_TABLE ||
        failure.code == ER_BAD_DB)
        return 0;
    if (err)
        *err = failure;
    return -1;
}

int accounts_look_tls(struct session *session, bool *ret_noted, struct error *err)
{
    char note[65] = "";

    if (read_row(session, NOTE_OF_TLS, note, err) < 0)
        return -1;
    *ret_noted = *note;
    return 0;
}

int accounts_look(struct session *session, const struct dialect *dialect, bool *ret_present, char ret_hash[static 65],
    struct error *err)
{
    _cleanup_(freep) char *sql =
        xasprintf("SELECT COUNT(*) FROM %s WHERE User IN ('root', 'replication') AND Host = '%%'", table_of(dialect));
    char hash[65] = "";

    if (session_query(session, sql, take_count, ret_present, err) < 0)
        return -1;
    if (read_row(session, "1", hash, err) < 0)
        return -1;
    memcpy(ret_hash, hash, sizeof(hash));
    return 0;
}

static void take_account(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    uint64_t *digest = arg;

    UNUSED(names);
    for (unsigned i = 0; i < count; i++) {
        const char *value = str_or_empty(values[i]);
        *digest = hash64(*digest, value, strlen(value) + 1);
    }
}

uint64_t accounts_digest(struct session *session, const struct dialect *dialect)
{
    _cleanup_(freep) char *sql = xasprintf(
        "SELECT * FROM %s WHERE User IN ('root', 'replication', 'monitor') ORDER BY User, Host", table_of(dialect));
    uint64_t digest = HASH64_INIT;

    if (session_query(session, sql, take_account, &digest, NULL) < 0)
        return 0;
    return digest ? digest : 1;
}
