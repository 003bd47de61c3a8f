/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/mysql/role_close.h"

#include <strings.h>

#include "agent/mysql/events.h"
#include "agent/mysql/replication_facts.h"
#include "agent/mysql/room.h"
#include "agent/mysql/row_value.h"
#include "agent/mysql/semi_sync.h"
#include "agent/mysql/strangers.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/strbuf.h"

#define REPLICATION_ACCOUNT "replication"
#define ER_LOCK_WAIT_TIMEOUT 1205
#define ER_NO_SUCH_THREAD 1094
#define ER_QUERY_INTERRUPTED 1317
#define HANG_MAX_MS 60000 /* after that only its answer to the first session is waited for */
#define CLOSE_ATTEMPTS 3
#define CLEARING_S 3 /* how long the server waits for what is being killed, each time */
/* MariaDB's barrier while commits are let go: for so long it does not give up by itself, whatever stops the agent
 * meanwhile; less than the session's patience. */
#define FIRM_S 50
#define GRACE_MS 20 /* commits that are being acknowledged are not in the way for longer */
#define LOOK_MS 5   /* between two looks at the connections; doubled up to */
#define LOOK_MAX_MS 50
#define KILL_ROUNDS 4 /* for those who come meanwhile */
/* Of 50 ms: until our replicas are gone, and then until the thread that listened to them has looked up. */
#define LISTENER_LOOKS 22
#define DISMISS_LOOKS (2 * LISTENER_LOOKS)
#define END_LOOKS 100 /* of a millisecond, until those who waited have seen that they need not */
#define IDS_MAX KM_MIB
#define LOGGING_IN "unauthenticated user"
#define ACL_WAIT "Waiting for acl cache lock"

bool role_is_client(
    const char *user, const char *database, const char *command, const char *agent_user, bool is_stranger)
{
    static const char *const servers[] = {"system user", "event_scheduler", "mysql.session", LOGGING_IN};

    if (str_eq(user, agent_user) && !is_stranger)
        return str_eq(database, HEARTBEAT_DATABASE);
    for (size_t i = 0; i < ARRAY_LEN(servers); i++) {
        if (str_eq(user, servers[i]))
            return false;
    }
    /* Replicas that fetch, members that are seeded; the account cannot write. */
    if (str_eq(user, REPLICATION_ACCOUNT))
        return false;
    return strcasecmp(str_or_empty(command), "Daemon") != 0;
}

/* Of the agent itself: accounts, events. A write that went on after the server was closed would be errant, and its
 * commit may be the one that waits. */
static bool is_own_write(const char *user, const char *agent_user, const char *state, const char *text)
{
    static const char *const verbs[] = {
        "INSERT", "REPLACE", "UPDATE", "DELETE", "CREATE", "ALTER", "DROP", "GRANT", "REVOKE", "COMMIT"};

    if (!str_eq(user, agent_user))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
        if (strncasecmp(str_or_empty(text), verbs[i], strlen(verbs[i])) == 0)
            return true;
    }
    return str_starts_with(str_or_empty(state), "Waiting for semi-sync ACK");
}

/* The text of a statement without what may stand before it. */
static const char *skip_comments(const char *text)
{
    for (;;) {
        const char *end = NULL;

        text += strspn(text, " \t\r\n(");
        if (str_starts_with(text, "/*"))
            end = strstr(text, "*/");
        if (!end)
            return text;
        text = end + 2;
    }
}

static const char *skip_word(const char *text, const char *word)
{
    size_t len = strlen(word);

    if (strncasecmp(text, word, len) != 0 || (text[len] && !strchr(" \t\r\n/", text[len])))
        return NULL;
    return skip_comments(text + len);
}

bool role_is_account_statement(const char *text)
{
    static const char *const alone[] = {"GRANT", "REVOKE"};
    static const char *const verbs[] = {"CREATE", "ALTER", "DROP", "RENAME", "SET"};
    static const char *const objects[] = {"USER", "ROLE", "PASSWORD", "DEFAULT"};
    const char *object = NULL;

    text = skip_comments(str_or_empty(text));
    for (size_t i = 0; i < ARRAY_LEN(alone); i++) {
        if (skip_word(text, alone[i]))
            return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(verbs) && !object; i++)
        object = skip_word(text, verbs[i]);
    for (size_t i = 0; i < ARRAY_LEN(objects) && object; i++) {
        if (skip_word(object, objects[i]))
            return true;
    }
    return false;
}

bool role_may_cut_replicas(const struct dialect *dialect, bool blocked, bool shuts_out)
{
    return dialect->family == AGENT_FLAVOUR_MARIADB || (blocked && !shuts_out);
}

/* ---- who is connected ---- */

/* Those that are not killed yet, as "1 2 3 ". */
struct crowd {
    const char *agent_user;
    bool softly;                             /* whoever is killed still waits for acknowledgements (MariaDB) */
    unsigned long long barrier;              /* the session that sets read-only, 0: none does */
    struct strbuf waiting, others, replicas; /* clients: waiting for acknowledgements, and all others */
    bool blocked;                            /* the barrier stands: it waits for others itself */
    bool hangs;                              /* somebody waits for acknowledgements, killed or not */
    bool serves;                             /* one of our replicas, killed or not */
    bool logins;                             /* whoever is logging in counts among the others */
    bool shuts_out;                          /* MySQL: somebody may keep everybody else from logging in */
    struct strangers strangers;
};

static void crowd_init(
    struct crowd *crowd, const struct session *session, const struct dialect *dialect, unsigned long long barrier)
{
    *crowd = (struct crowd){
        .agent_user = session_user(session), .softly = dialect->family == AGENT_FLAVOUR_MARIADB, .barrier = barrier};
    strbuf_init(&crowd->waiting, IDS_MAX);
    strbuf_init(&crowd->others, IDS_MAX);
    strbuf_init(&crowd->replicas, IDS_MAX);
}

static void crowd_release(struct crowd *crowd)
{
    strbuf_release(&crowd->waiting);
    strbuf_release(&crowd->others);
    strbuf_release(&crowd->replicas);
    strangers_release(&crowd->strangers);
}

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
    struct crowd *crowd = arg;

    UNUSED(names);
    if (count < COLUMNS || !values[COLUMN_ID] || str_eq(values[COLUMN_USER], "system user"))
        return;
    const char *command = str_or_empty(values[COLUMN_COMMAND]);
    const char *state = str_or_empty(values[COLUMN_STATE]);
    bool killed = str_eq(command, "Killed");
    bool waits = str_starts_with(state, "Waiting for semi-sync ACK");
    crowd->hangs = crowd->hangs || waits;
    crowd->serves = crowd->serves || str_eq(values[COLUMN_USER], REPLICATION_ACCOUNT);
    crowd->shuts_out = crowd->shuts_out ||
        (!crowd->softly && (role_is_account_statement(values[COLUMN_TEXT]) || str_eq(state, ACL_WAIT)));
    if (strtoull(values[COLUMN_ID], NULL, 10) == crowd->barrier)
        crowd->blocked = str_starts_with(state, "Waiting for") && !str_eq(state, ACL_WAIT);
    if (killed)
        return;
    if (str_starts_with(command, "Binlog Dump"))
        strbuf_addf(&crowd->replicas, "%s ", values[COLUMN_ID]);
    else if (waits) /* also an event's */
        strbuf_addf(&crowd->waiting, "%s ", values[COLUMN_ID]);
    else if (role_is_client(values[COLUMN_USER], values[COLUMN_DATABASE], command, crowd->agent_user,
                 strangers_has(&crowd->strangers, values[COLUMN_ID])) ||
        (crowd->logins && str_eq(values[COLUMN_USER], LOGGING_IN)) ||
        is_own_write(values[COLUMN_USER], crowd->agent_user, state, values[COLUMN_TEXT]))
        strbuf_addf(&crowd->others, "%s ", values[COLUMN_ID]);
}

static int crowd_look(struct crowd *crowd, struct session *session, struct error *err)
{
    strbuf_reset(&crowd->waiting);
    strbuf_reset(&crowd->others);
    strbuf_reset(&crowd->replicas);
    crowd->blocked = false;
    crowd->hangs = false;
    crowd->serves = false;
    crowd->shuts_out = false;
    strangers_release(&crowd->strangers);
    if (strangers_look(session, &crowd->strangers, err) < 0)
        return -1;
    return session_query(session, "SHOW PROCESSLIST", take_connection, crowd, err);
}

/* One statement of MariaDB for all. Softly: the connection is shut, so nobody is told anything any more, but a commit
 * goes on waiting for its acknowledgement. Killed otherwise it stops waiting, for all whose commits it leads as well
 * (MYSQL_BIN_LOG::trx_group_commit_leader, Repl_semi_sync_master::commit_trx), and their clients were told that they
 * are done before their turn to be killed had come. */
static int kill_softly(struct session *session, const struct strbuf *ids, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf sql;
    char *end = ids->buf;

    strbuf_init(&sql, 8 * IDS_MAX);
    if (ids->len == 0)
        return 0;
    strbuf_adds(&sql, "BEGIN NOT ATOMIC DECLARE CONTINUE HANDLER FOR 1094 BEGIN END; ");
    while (*end) {
        strbuf_addf(&sql, "KILL SOFT %llu; ", strtoull(end, &end, 10));
        end += *end == ' ';
    }
    strbuf_adds(&sql, "END");
    return session_exec(session, sql.buf, err);
}

static int kill_one_by_one(struct session *session, const struct strbuf *ids, struct error *err)
{
    struct error failure = ERROR_INIT;
    char *end = ids->buf;

    while (*end) {
        unsigned long long id = strtoull(end, &end, 10);
        end += *end == ' ';
        _cleanup_(freep) char *sql = xasprintf("KILL %llu", id);
        if (session_exec(session, sql, &failure) < 0 && failure.code != ER_NO_SUCH_THREAD) {
            if (err)
                *err = failure;
            return -1;
        }
    }
    return 0;
}

static int kill_each(struct session *session, const struct crowd *crowd, const struct strbuf *ids, struct error *err)
{
    return crowd->softly ? kill_softly(session, ids, err) : kill_one_by_one(session, ids, err);
}

/* ---- out of the way ---- */

struct closing {
    struct session *barrier; /* sets read-only */
    struct session *other;   /* NULL: could not be opened (yet) */
    const struct dialect *dialect;
    bool shut_out, cut;
    int64_t firm_ms; /* since when the barrier stands until it is taken back, 0: it gives up by itself */
    bool due;        /* the barrier has not been answered */
    bool closed;     /* read-only */
    struct semi_sync_look *look;
};

static bool is_mariadb(const struct dialect *dialect)
{
    return dialect->family == AGENT_FLAVOUR_MARIADB;
}

static int semi_sync_switch(struct session *session, const struct dialect *dialect, bool on, struct error *err)
{
    _cleanup_(freep) char *sql = xasprintf("SET GLOBAL %s_enabled = %d", dialect->replication->semi_source, on);

    return session_exec(session, sql, err);
}

int role_admit_clients(struct session *session, const struct dialect *dialect, struct error *err)
{
    if (!dialect->offline_mode)
        return 0;
    return session_exec(session, "SET GLOBAL offline_mode = 0, GLOBAL transaction_read_only = 0", err);
}

/* MySQL only, where semi-sync is turned off while commits wait. That takes up to a second, and for so long the barrier
 * has come no further than read_only: administrators, who can still connect, may only read. */
static int shut_newcomers_out(struct closing *closing, struct session *session, struct error *err)
{
    if (!closing->dialect->offline_mode)
        return 0;
    if (session_exec(session, "SET GLOBAL transaction_read_only = 1, GLOBAL offline_mode = 1", err) < 0)
        return -1;
    closing->shut_out = true;
    return 0;
}

/* MariaDB, where all who wait are shut: semi-sync is off for as long as it takes them to see that. One statement, so
 * that it is never off without the barrier, and not for longer either, if the agent is stopped or dies in the midst of
 * this. */
static int end_waiting(
    struct session *session, const struct dialect *dialect, unsigned long long barrier, struct error *err)
{
    const char *name = dialect->replication->semi_source;
    _cleanup_(freep) char *sql = xasprintf(
        "BEGIN NOT ATOMIC DECLARE looks INT DEFAULT 0; "
        "DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN SET GLOBAL %s_enabled = 1; RESIGNAL; END; "
        "IF EXISTS (SELECT 1 FROM information_schema.processlist WHERE id = %llu AND state LIKE 'Waiting for%%') THEN "
        "SET GLOBAL %s_enabled = 0; "
        "WHILE looks < %d AND EXISTS (SELECT 1 FROM information_schema.processlist WHERE state LIKE 'Waiting for semi-sync ACK%%') DO "
        "DO SLEEP(0.001); SET looks = looks + 1; END WHILE; "
        "SET GLOBAL %s_enabled = 1; END IF; END",
        name, barrier, name, END_LOOKS, name);

    return session_exec(session, sql, err);
}

/* Whether the barrier stands for as long as that takes. MySQL has other means (shut_newcomers_out). */
static bool lets_go(const struct closing *closing)
{
    return closing->firm_ms != 0 || !is_mariadb(closing->dialect);
}

static int look_once(struct closing *closing, struct session *session, struct error *err)
{
    struct semi_sync_look *look = closing->look;

    if (!look || look->taken)
        return 0;
    look->facts = (struct replication_facts){0};
    if (semi_sync_observe(session, closing->dialect, &look->facts, err) < 0)
        return -1;
    look->taken = true;
    return 0;
}

/* All others' connections are gone. */
static int let_go(struct closing *closing, struct session *session, struct crowd *crowd, struct error *err)
{
    if (kill_each(session, crowd, &crowd->waiting, err) < 0)
        return -1;
    if (!crowd->hangs)
        return 0;
    if (look_once(closing, session, err) < 0)
        return -1;
    if (is_mariadb(closing->dialect))
        return end_waiting(session, closing->dialect, crowd->barrier, err);
    return semi_sync_switch(session, closing->dialect, false, err);
}

/* Who is not among those that are seen while the barrier stands has not written yet, and cannot begin to. */
static int clear_the_way(struct closing *closing, struct crowd *crowd, struct error *err)
{
    struct session *session = closing->other;

    crowd->logins = closing->shut_out; /* those from before may do what newcomers may not */
    if (crowd_look(crowd, session, err) < 0)
        return -1;
    if (crowd->hangs && crowd->replicas.len > 0 && !closing->cut &&
        role_may_cut_replicas(closing->dialect, crowd->blocked, crowd->shuts_out)) {
        closing->cut = true;
        return kill_each(session, crowd, &crowd->replicas, err);
    }
    if (kill_each(session, crowd, &crowd->others, err) < 0)
        return -1;
    if (!crowd->blocked || (crowd->hangs && (!lets_go(closing) || crowd->shuts_out)))
        return 0;
    /* Who came before they were shut out is seen by the next look. */
    if (crowd->hangs && !is_mariadb(closing->dialect) && !closing->shut_out)
        return shut_newcomers_out(closing, session, err);
    return let_go(closing, session, crowd, err);
}

/* Without a barrier: until nobody is left but who waits. */
static int kill_others(struct session *session, struct crowd *crowd, struct error *err)
{
    for (int round = 0; round < KILL_ROUNDS; round++) {
        if (crowd_look(crowd, session, err) < 0)
            return -1;
        if (crowd->others.len == 0)
            break;
        if (kill_each(session, crowd, &crowd->others, err) < 0)
            return -1;
    }
    return 0;
}

/* No connection is left for a second session, and the barrier does not stand while the first one makes room for it. So
 * nobody is let go here: semi-sync off without a barrier, and a newcomer is told of a commit that nobody has. */
static int make_room(struct closing *closing, struct error *err)
{
    const struct session_options options = session_options_of(closing->barrier);

    if (!is_mariadb(closing->dialect) && shut_newcomers_out(closing, closing->barrier, err) < 0)
        return -1;
    closing->other = room_open(closing->barrier, &options, err);
    return closing->other ? 0 : -1;
}

/* ---- the barrier ---- */

/* One statement: what comes after it is only sent when it was answered. Assignments are made from left to right. */
static int set_read_only(struct closing *closing, uint32_t timeout_s, struct error *err)
{
    _cleanup_(freep) char *sql = xasprintf("SET SESSION lock_wait_timeout = %u, GLOBAL %s = 1", timeout_s,
        closing->dialect->super_read_only ? "super_read_only" : "read_only");

    closing->due = session_send(closing->barrier, sql, err) == 0;
    return closing->due ? 0 : -1;
}

static int set_firmly(struct closing *closing, struct error *err)
{
    closing->firm_ms = clock_monotonic_ms();
    return set_read_only(closing, FIRM_S, err);
}

/* The session is of no use before. */
static int receive(struct closing *closing, struct error *err)
{
    closing->due = false;
    closing->closed = session_receive(closing->barrier, err) == 0;
    return closing->closed ? 0 : -1;
}

static bool gave_up(const struct error *failure)
{
    return failure->code == ER_LOCK_WAIT_TIMEOUT || failure->code == ER_QUERY_INTERRUPTED;
}

static int take_back(const struct closing *closing, struct error *err)
{
    _cleanup_(freep) char *sql = xasprintf("KILL QUERY %lu", session_id(closing->barrier));

    return session_exec(closing->other, sql, err);
}

/* Nobody may be let go behind a barrier that gives up by itself: its time may be over before theirs. So another one
 * takes its place. */
static int make_firm(struct closing *closing, struct error *err)
{
    struct error failure = ERROR_INIT;

    if (take_back(closing, err) < 0)
        return -1;
    if (receive(closing, &failure) == 0)
        return 0;
    if (gave_up(&failure))
        return set_firmly(closing, err);
    if (err)
        *err = failure;
    return -1;
}

static int clear_until_answered(struct closing *closing, struct error *err)
{
    const struct session_options options = session_options_of(closing->barrier);
    struct crowd crowd;
    int rc = 0;
    int look_ms = LOOK_MS;
    int64_t end_ms = clock_monotonic_ms() + HANG_MAX_MS;

    crowd_init(&crowd, closing->barrier, closing->dialect, session_id(closing->barrier));
    do {
        struct error failure = ERROR_INIT;
        /* A server that hangs lets nobody in, but has our first statement: what is in its way must go as soon as the
         * server goes on. */
        if (!closing->other)
            closing->other = session_open(&options, &failure);
        if (closing->other)
            rc = clear_the_way(closing, &crowd, err);
        else if (room_is_lacking(&failure) || clock_monotonic_ms() >= end_ms)
            break;
        if (rc == 0 && !lets_go(closing) && crowd.blocked && crowd.hangs) {
            rc = make_firm(closing, err);
            look_ms = 1;
        }
        if (rc < 0 || closing->closed || session_is_answered(closing->barrier, look_ms))
            break;
        look_ms = MIN_OF(2 * look_ms, LOOK_MAX_MS);
    } while (closing->firm_ms == 0 || clock_monotonic_ms() < closing->firm_ms + CLEARING_S * 1000);
    crowd_release(&crowd);
    return rc;
}

static int await_barrier(struct closing *closing, struct error *err)
{
    if (!closing->due)
        return 0;
    if (closing->firm_ms && !session_is_answered(closing->barrier, 0) && take_back(closing, NULL) < 0)
        log_debug("the barrier is waited for");
    return receive(closing, err);
}

static int attempt(struct closing *closing, uint32_t drain_ms, struct error *err)
{
    struct error failure = ERROR_INIT;
    bool firmly = closing->other && is_mariadb(closing->dialect);
    int rc = 0;

    closing->firm_ms = 0;
    if ((firmly ? set_firmly(closing, err) : set_read_only(closing, (drain_ms + 999) / 1000 + CLEARING_S, err)) < 0)
        return -1;
    if (!session_is_answered(closing->barrier, (int)MAX_OF(drain_ms, (uint32_t)GRACE_MS)))
        rc = clear_until_answered(closing, &failure);
    if (await_barrier(closing, err) < 0)
        return -1;
    if (rc < 0 && err)
        *err = failure;
    return rc;
}

/* A KILL that came just after the answer meets the next statement: so that is one which may fail. */
static void settle(const struct closing *closing)
{
    _cleanup_(freep) char *sql = xasprintf("SET SESSION lock_wait_timeout = %d", CLEARING_S);

    if (closing->firm_ms && session_exec(closing->barrier, sql, NULL) < 0)
        log_debug("the session that closed the server was interrupted too late");
}

static int close_gates(struct closing *closing, uint32_t drain_ms, struct error *err)
{
    struct error failure = ERROR_INIT;
    int rc = -1;

    for (int i = 0; rc < 0 && i < CLOSE_ATTEMPTS; i++) {
        error_clear(&failure);
        rc = attempt(closing, drain_ms, &failure);
        settle(closing);
        if (rc == 0 || !gave_up(&failure))
            break;
        if (!closing->other && make_room(closing, &failure) < 0)
            break;
        drain_ms = 0;
    }
    if (rc < 0 && err)
        *err = failure;
    return rc;
}

/* Nobody's commit is let go by this. */
static int kill_remaining(struct session *session, const struct dialect *dialect, struct error *err)
{
    struct crowd crowd;

    crowd_init(&crowd, session, dialect, 0);
    int rc = crowd_look(&crowd, session, err);
    if (rc == 0)
        rc = kill_each(session, &crowd, &crowd.others, err);
    crowd_release(&crowd);
    return rc;
}

int role_close(struct session *session, const struct dialect *dialect, uint32_t drain_ms, struct semi_sync_look *look,
    struct error *err)
{
    struct closing closing = {.barrier = session, .dialect = dialect, .look = look};

    if (drain_ms > 0 && events_switch(session, false, err) < 0)
        return -1;
    int rc = close_gates(&closing, drain_ms, err);
    session_close(closing.other);
    if (rc < 0 || look_once(&closing, session, err) < 0 || events_switch(session, false, err) < 0 ||
        role_admit_clients(session, dialect, err) < 0)
        return -1;
    /* Last, so that nobody stays who came while newcomers could not write. */
    return kill_remaining(session, dialect, err);
}

/* MySQL's thread that takes acknowledgements looks up once in a second as long as it has a replica to listen to. The
 * statement that turns semi-sync off waits for that with a lock in its hand without which nobody can connect: so that
 * is waited for before. */
static int dismiss_replicas(
    struct session *session, struct crowd *crowd, const atomic_bool *superseded, struct error *err)
{
    int alone = 0;

    for (int i = 0; i < DISMISS_LOOKS && alone < LISTENER_LOOKS && !(superseded && atomic_load(superseded)); i++) {
        if (crowd_look(crowd, session, err) < 0 || kill_each(session, crowd, &crowd->replicas, err) < 0 ||
            session_exec(session, "DO SLEEP(0.05)", err) < 0)
            return -1;
        alone = crowd->serves ? 0 : alone + 1;
    }
    return 0;
}

int role_release(
    struct session *session, const struct dialect *dialect, const atomic_bool *superseded, struct error *err)
{
    _cleanup_(freep) char *sql = xasprintf("SELECT @@global.%s_enabled", dialect->replication->semi_source);
    struct crowd crowd;
    bool enabled = false;

    if (session_query(session, sql, row_value_take_flag, &enabled, err) < 0)
        return -1;
    if (!enabled)
        return 0;
    crowd_init(&crowd, session, dialect, 0);
    int rc = crowd_look(&crowd, session, err);
    if (rc == 0 && crowd.waiting.len > 0)
        rc = kill_others(session, &crowd, err);
    if (rc == 0)
        rc = kill_each(session, &crowd, &crowd.waiting, err);
    if (rc == 0 && !is_mariadb(dialect))
        rc = dismiss_replicas(session, &crowd, superseded, err);
    crowd_release(&crowd);
    return rc < 0 ? -1 : semi_sync_switch(session, dialect, false, err);
}
