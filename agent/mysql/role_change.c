/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/mysql/role_change.h"

#include "agent/mysql/events.h"
#include "agent/mysql/replication_facts.h"
#include "agent/mysql/role_close.h"
#include "agent/mysql/row_value.h"
#include "agent/mysql/semi_sync.h"
#include "agent/mysql/sql_text.h"
#include "common/alloc.h"
#include "common/gtid.h"
#include "common/strbuf.h"

#define SQL_MAX (16 * KM_KIB)
#define REPLICATION_ACCOUNT "replication"
#define ER_NO_SUCH_THREAD 1094
#define RECEIVER_LOOKS 10

static int exec(struct session *session, struct error *err, const char *fmt, ...) KM_PRINTF(3, 4);
static int exec(struct session *session, struct error *err, const char *fmt, ...)
{
    _cleanup_(strbuf_release) struct strbuf sql;
    va_list ap;

    strbuf_init(&sql, SQL_MAX);
    va_start(ap, fmt);
    strbuf_addvf(&sql, fmt, ap);
    va_end(ap);
    return session_exec(session, sql.buf, err);
}

static void take_row(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    replication_facts_take_row(arg, count, names, values);
}

static int look(struct session *session, const struct dialect *dialect, struct replication_facts *ret, struct error *err)
{
    *ret = (struct replication_facts){0};
    return session_query(session, dialect->replica_status, take_row, ret, err);
}

/* "STOP", "IO_THREAD": of the default channel. */
static int on_own(
    struct session *session, const struct dialect *dialect, const char *verb, const char *rest, struct error *err)
{
    const struct replication_terms *terms = dialect->replication;

    return exec(session, err, "%s %s %s%s", verb, terms->replica, rest, terms->own);
}

/* ---- open ---- */

static void wait_sql(const struct dialect *dialect, const char *gtids, struct strbuf *out)
{
    bool mariadb = dialect->family == AGENT_FLAVOUR_MARIADB;

    strbuf_adds(out, mariadb ? "SELECT MASTER_GTID_WAIT(" : "SELECT WAIT_FOR_EXECUTED_GTID_SET(");
    sql_add_string(out, gtids);
    strbuf_addf(out, ", %d.%03d)", ROLE_WAIT_MS / 1000, ROLE_WAIT_MS % 1000);
}

static void take_wait(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    UNUSED(names);
    *(bool *)arg = count > 0 && values[0] && strcmp(values[0], "0") == 0;
}

static void take_state(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    UNUSED(names);
    if (count > 0 && values[0])
        strbuf_adds(arg, values[0]);
}

/* MariaDB's positions are numbers. One that was reached says nothing of a transaction whose number was given to another
 * one: somebody has written here before that was applied. */
static int is_executed(
    struct session *session, const struct dialect *dialect, const struct gtid_set *wanted, bool *ret, struct error *err)
{
    _cleanup_(gtid_set_freep) struct gtid_set *executed = replication_executed(session, dialect, err);
    _cleanup_(strbuf_release) struct strbuf state;

    strbuf_init(&state, GTID_TEXT_MAX);
    if (!executed)
        return -1;
    enum gtid_relation relation = gtid_set_compare(wanted, executed);
    *ret = relation == GTID_EQUAL || relation == GTID_SUBSET;
    if (!*ret || dialect->family != AGENT_FLAVOUR_MARIADB)
        return 0;
    if (session_query(session, "SELECT @@global.gtid_binlog_state", take_state, &state, err) < 0)
        return -1;
    *ret = !gtid_state_lacks(state.buf, wanted);
    return 0;
}

/* *ret_there: all of `wanted` is executed, if need be after a while. */
static int await_executed(struct session *session, const struct dialect *dialect, const struct gtid_set *wanted,
    bool may_come, bool *ret_there, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf text;
    _cleanup_(strbuf_release) struct strbuf sql;
    bool reached = false;

    strbuf_init(&text, GTID_TEXT_MAX);
    strbuf_init(&sql, GTID_TEXT_MAX + KM_KIB);
    if (is_executed(session, dialect, wanted, ret_there, err) < 0)
        return -1;
    if (*ret_there || !may_come)
        return 0;
    gtid_set_print(wanted, &text);
    wait_sql(dialect, text.buf, &sql);
    if (session_query(session, sql.buf, take_wait, &reached, err) < 0)
        return -1;
    if (!reached)
        return 0;
    if (is_executed(session, dialect, wanted, ret_there, err) < 0)
        return -1;
    if (*ret_there)
        return 0;
    return error_set(err, ERROR_CONFLICT,
        "the numbers of %.200s were reached, and not all of its transactions were executed here: a number was given to "
        "another one, or somebody has skipped one",
        text.buf);
}

struct receiver_look {
    unsigned long long wanted; /* 0: whichever receives */
    unsigned long long found;  /* 0: none */
    bool several;
};

/* SHOW, not a SELECT from information_schema: MariaDB 10.11.19 was seen to crash in that one's temporary table. */
static void take_receiver(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    struct receiver_look *look = arg;

    UNUSED(names);
    if (count < 5 || !values[0])
        return;
    unsigned long long id = strtoull(values[0], NULL, 10);
    if (look->wanted ? id != look->wanted : !str_eq(str_or_empty(values[4]), "Slave_IO"))
        return;
    look->several = look->found != 0;
    look->found = id;
}

/* Until that thread is gone, or RECEIVER_LOOKS looks. */
static int await_end(struct session *session, unsigned long long id, struct error *err)
{
    struct receiver_look look = {.wanted = id, .found = id};

    for (int i = 0; look.found && i < RECEIVER_LOOKS; i++) {
        look.found = 0;
        if (session_exec(session, "DO SLEEP(0.002)", err) < 0 ||
            session_query(session, "SHOW PROCESSLIST", take_receiver, &look, err) < 0)
            return -1;
    }
    return 0;
}

/* A semi-sync receiver of MariaDB ends by connecting to its source once more, to kill its own connection there: with a
 * source that hangs it waits for that until a second signal comes, which STOP alone sends after two seconds. KILL is
 * the first one, STOP the second: of use only when the thread has got as far as that, so it is given some
 * milliseconds. With several receivers, of channels that were made by hand, nothing says which one is ours, and none is
 * killed. */
static int stop_receiver(struct session *session, const struct dialect *dialect, struct error *err)
{
    struct receiver_look look = {0};
    struct error failure = ERROR_INIT;

    if (dialect->family == AGENT_FLAVOUR_MARIADB) {
        if (session_query(session, "SHOW PROCESSLIST", take_receiver, &look, err) < 0)
            return -1;
        unsigned long long id = look.several ? 0 : look.found;
        if (id && exec(session, &failure, "KILL %llu", id) < 0 && failure.code != ER_NO_SUCH_THREAD) {
            if (err)
                *err = failure;
            return -1;
        }
        if (id && await_end(session, id, err) < 0)
            return -1;
    }
    return on_own(session, dialect, "STOP", "IO_THREAD", err);
}

/* The receiver ends first, so that "everything received" stands still. */
static int drain_relay_log(struct session *session, const struct dialect *dialect,
    const struct replication_facts *facts, bool *ret_done, struct error *err)
{
    if (facts->receiver != AGENT_THREAD_OFF && stop_receiver(session, dialect, err) < 0)
        return -1;
    if (facts->applier == AGENT_THREAD_OFF) {
        if (facts->applier_errno)
            return error_set_code(err, ERROR_DATABASE, (int)facts->applier_errno,
                "what was received cannot be applied: %s", facts->applier_error);
        if (on_own(session, dialect, "START", "SQL_THREAD", err) < 0)
            return -1;
    }
    _cleanup_(gtid_set_freep) struct gtid_set *received = replication_received(session, dialect, err);
    if (!received)
        return -1;
    return await_executed(session, dialect, received, true, ret_done, err);
}

static void take_thread(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    UNUSED(names);
    if (count > 0 && values[0])
        *(unsigned long long *)arg = strtoull(values[0], NULL, 10);
}

/* All that was received is executed; but a source that dies, or is left, leaves the beginning of a transaction, and the
 * end of that is what MySQL's STOP waits for: a minute. A thread that has been killed before does not. */
static int end_torn_applier(struct session *session, const struct dialect *dialect, struct error *err)
{
    static const char torn[] =
        "SELECT t.PROCESSLIST_ID FROM performance_schema.replication_applier_status_by_coordinator c "
        "JOIN performance_schema.threads t USING (THREAD_ID) "
        "WHERE c.CHANNEL_NAME = '' AND c.PROCESSING_TRANSACTION <> ''";
    unsigned long long id = 0;

    if (dialect->family == AGENT_FLAVOUR_MARIADB || session_query(session, torn, take_thread, &id, NULL) < 0 || id == 0)
        return 0;
    (void)(exec(session, NULL, "KILL %llu", id) == 0);
    return await_end(session, id, err);
}

static int forget_source(struct session *session, const struct dialect *dialect, struct error *err)
{
    if (end_torn_applier(session, dialect, err) < 0)
        return -1;
    if (on_own(session, dialect, "STOP", "", err) < 0)
        return -1;
    return on_own(session, dialect, "RESET", "ALL", err);
}

static int await_wish(struct session *session, const struct dialect *dialect, const char *wait_for, bool may_come,
    bool *ret_there, struct error *err)
{
    _cleanup_(gtid_set_freep) struct gtid_set *wanted = gtid_set_parse(replication_gtid_flavour(dialect), wait_for, err);

    if (!wanted)
        return error_prefix(err, "waitFor");
    return await_executed(session, dialect, wanted, may_come, ret_there, err);
}

static int repair(struct session *session, const struct dialect *dialect, const struct role_source *source,
    const struct replication_facts *facts, struct error *err)
{
    bool receiver_off = facts->receiver == AGENT_THREAD_OFF && (!facts->receiver_errno || source->restart);
    bool applier_off = facts->applier == AGENT_THREAD_OFF && (!facts->applier_errno || source->restart);

    if (receiver_off && on_own(session, dialect, "START", "IO_THREAD", err) < 0)
        return -1;
    return applier_off ? on_own(session, dialect, "START", "SQL_THREAD", err) : 0;
}

/* What is missing still comes from the source that was followed last. A server that restarted meanwhile receives
 * nothing, and is no semi-sync replica any more. MariaDB: only a semi-sync replica receives its own transactions again
 * that a start of its server has cut off; any other skips them without an error (MDEV-21117, MDEV-27760). */
static int await_source(struct session *session, const struct dialect *dialect, const struct replication_facts *facts,
    const char *wait_for, struct error *err)
{
    const struct role_source source = {.restart = false};

    if (!facts->configured)
        return error_set(err, ERROR_CONFLICT, "not all of %.200s is here, and nothing is being received", wait_for);
    if (facts->applier == AGENT_THREAD_OFF && facts->applier_errno)
        return error_set_code(err, ERROR_DATABASE, (int)facts->applier_errno, "what was received cannot be applied: %s",
            facts->applier_error);
    bool begins_to_receive = dialect->family == AGENT_FLAVOUR_MARIADB && facts->receiver == AGENT_THREAD_OFF;
    if (begins_to_receive && semi_sync_set_replica(session, dialect, true, err) < 0)
        return -1;
    return repair(session, dialect, &source, facts, err);
}

/* Nothing more is needed of the source, which may be dead, or worse, may come back: what is missing of wait_for lies in
 * the relay logs. */
static bool is_received(struct session *session, const struct dialect *dialect, const char *wait_for,
    const struct replication_facts *facts, bool *ret, struct error *err)
{
    bool drops = dialect->family == AGENT_FLAVOUR_MARIADB && facts->applier == AGENT_THREAD_OFF;

    if (!facts->configured || drops)
        return true;
    _cleanup_(gtid_set_freep) struct gtid_set *wanted = gtid_set_parse(replication_gtid_flavour(dialect), wait_for, err);
    if (!wanted)
        return error_prefix(err, "waitFor") == 0;
    _cleanup_(gtid_set_freep) struct gtid_set *received = replication_received(session, dialect, err);
    _cleanup_(gtid_set_freep) struct gtid_set *executed = received ? replication_executed(session, dialect, err) : NULL;
    if (!executed)
        return false;
    _cleanup_(gtid_set_freep) struct gtid_set *missing = gtid_set_subtract(wanted, executed);
    if (gtid_set_is_empty(missing)) /* by the numbers alone: is_executed knows more */
        return true;
    enum gtid_relation relation = gtid_set_compare(missing, received);
    *ret = relation == GTID_EQUAL || relation == GTID_SUBSET;
    return true;
}

int role_open(struct session *session, const struct dialect *dialect, const struct role_open_wish *wish, bool *ret_done,
    struct error *err)
{
    struct replication_facts facts;
    bool there = false;

    *ret_done = false;
    if (look(session, dialect, &facts, err) < 0)
        return -1;
    if (!is_received(session, dialect, wish->wait_for, &facts, &there, err))
        return -1;
    if (!there && await_wish(session, dialect, wish->wait_for, facts.configured, &there, err) < 0)
        return -1;
    if (!there)
        return await_source(session, dialect, &facts, wish->wait_for, err);
    if (facts.configured) {
        if (semi_sync_set_replica(session, dialect, false, err) < 0 ||
            drain_relay_log(session, dialect, &facts, &there, err) < 0)
            return -1;
        if (!there)
            return 0;
        if (forget_source(session, dialect, err) < 0)
            return -1;
    }
    there = true;
    if (wish->before && wish->before(wish->arg, session, dialect, &there, err) < 0)
        return -1;
    if (!there)
        return 0;
    if (wish->superseded && atomic_load(wish->superseded))
        return 0;
    if (semi_sync_set_replica(session, dialect, false, err) < 0 ||
        semi_sync_set_source(session, dialect, wish->semi_sync, wish->acks, err) < 0 ||
        role_admit_clients(session, dialect, err) < 0)
        return -1;
    if (!wish->stays_closed &&
        (session_exec(session, "SET GLOBAL read_only = 0", err) < 0 || events_switch(session, wish->events, err) < 0))
        return -1;
    *ret_done = true;
    return 0;
}

/* ---- follow ---- */

static void add_option(struct strbuf *out, const char *prefix, const char *name, const char *value)
{
    strbuf_addf(out, ", %s_%s = ", prefix, name);
    sql_add_string(out, value);
}

void role_follow_sql(const struct dialect *dialect, const struct role_source *source, struct strbuf *out)
{
    const char *prefix = dialect->replication->source;

    strbuf_addf(out, "%s %s_PORT = %u", dialect->replication->change, prefix, source->port);
    add_option(out, prefix, "HOST", source->host);
    add_option(out, prefix, "USER", REPLICATION_ACCOUNT);
    add_option(out, prefix, "PASSWORD", source->password);
    strbuf_addf(out, ", %s_CONNECT_RETRY = 1, %s_SSL = 1, %s_SSL_VERIFY_SERVER_CERT = 1", prefix, prefix, prefix);
    add_option(out, prefix, "SSL_CA", source->ca_path);
    strbuf_addf(out, ", %s_HEARTBEAT_PERIOD = %d.%03d", prefix, SOURCE_BEAT_MS / 1000, SOURCE_BEAT_MS % 1000);
    if (dialect->family == AGENT_FLAVOUR_MARIADB)
        strbuf_adds(out, ", MASTER_USE_GTID = slave_pos");
    else
        strbuf_addf(out, ", %s_RETRY_COUNT = 86400", prefix);
    if (dialect->family != AGENT_FLAVOUR_MARIADB && !source->applier_stays)
        strbuf_addf(out, ", %s_AUTO_POSITION = 1", prefix);
    strbuf_adds(out, dialect->replication->own);
}

/* MariaDB asks for what comes after gtid_slave_pos, which knows nothing of what the server itself wrote while it was a
 * primary. */
static int take_over_position(struct session *session, const struct dialect *dialect, struct error *err)
{
    _cleanup_(gtid_set_freep) struct gtid_set *executed = replication_executed(session, dialect, err);
    _cleanup_(strbuf_release) struct strbuf text = {0};
    _cleanup_(strbuf_release) struct strbuf sql = {0};
    bool equal = false;

    if (!executed)
        return -1;
    strbuf_init(&text, GTID_TEXT_MAX);
    strbuf_init(&sql, GTID_TEXT_MAX + KM_KIB);
    gtid_set_print(executed, &text);
    strbuf_adds(&sql, "SELECT @@global.gtid_slave_pos = ");
    sql_add_string(&sql, text.buf);
    if (session_query(session, sql.buf, row_value_take_flag, &equal, err) < 0)
        return -1;
    if (equal)
        return 0;
    strbuf_reset(&sql);
    strbuf_adds(&sql, "SET GLOBAL gtid_slave_pos = ");
    sql_add_string(&sql, text.buf);
    return session_exec(session, sql.buf, err);
}

static int change_source(struct session *session, const struct dialect *dialect, const struct role_source *source,
    bool configured, struct error *err)
{
    _cleanup_(strbuf_release_secret) struct strbuf sql;

    strbuf_init(&sql, SQL_MAX);
    if (configured && stop_receiver(session, dialect, err) < 0)
        return -1;
    if (on_own(session, dialect, "STOP", "", err) < 0)
        return -1;
    if (dialect->family == AGENT_FLAVOUR_MARIADB && take_over_position(session, dialect, err) < 0)
        return -1;
    role_follow_sql(dialect, source, &sql);
    return session_exec_secret(session, sql.buf, err);
}

static int start(struct session *session, const struct dialect *dialect, struct error *err)
{
    return on_own(session, dialect, "START", "", err);
}

/* The setting counts from the next connection to the source on. */
static int acknowledge(struct session *session, const struct dialect *dialect, bool on, bool running, struct error *err)
{
    const struct replication_terms *terms = dialect->replication;
    _cleanup_(freep) char *sql = xasprintf("SELECT @@global.%s_enabled", terms->semi_replica);
    bool is_on = false;

    if (session_query(session, sql, row_value_take_flag, &is_on, err) < 0)
        return -1;
    if (is_on == on)
        return 0;
    if (semi_sync_set_replica(session, dialect, on, err) < 0)
        return -1;
    if (!running)
        return 0;
    if (on_own(session, dialect, "STOP", "IO_THREAD", err) < 0)
        return -1;
    return on_own(session, dialect, "START", "IO_THREAD", err);
}

/* All that was received is executed. */
static int is_applied(struct session *session, const struct dialect *dialect, bool wait, bool *ret, struct error *err)
{
    _cleanup_(gtid_set_freep) struct gtid_set *received = replication_received(session, dialect, err);

    return received ? await_executed(session, dialect, received, wait, ret, err) : -1;
}

/* MariaDB drops what was received when a thread starts after both were off. */
static bool is_lost_by_start(const struct dialect *dialect, const struct replication_facts *facts)
{
    return dialect->family == AGENT_FLAVOUR_MARIADB && facts->configured && facts->receiver == AGENT_THREAD_OFF &&
        facts->applier == AGENT_THREAD_OFF;
}

/* MySQL changes the receiver under a running applier: nothing is dropped. That would have to be stopped else, which
 * takes a minute when what was received ends within a transaction. */
static bool keeps_applier(const struct dialect *dialect, const struct replication_facts *facts)
{
    return dialect->family != AGENT_FLAVOUR_MARIADB && facts->configured && facts->source_tls &&
        facts->applier != AGENT_THREAD_OFF;
}

static int change_receiver(
    struct session *session, const struct dialect *dialect, const struct role_source *source, struct error *err)
{
    _cleanup_(strbuf_release_secret) struct strbuf sql;
    struct role_source named = *source;

    named.applier_stays = true;
    strbuf_init(&sql, SQL_MAX);
    role_follow_sql(dialect, &named, &sql);
    if (stop_receiver(session, dialect, err) < 0 || session_exec_secret(session, sql.buf, err) < 0)
        return -1;
    return source->prepare ? 0 : on_own(session, dialect, "START", "IO_THREAD", err);
}

/* Another source is named, which drops what was received: it is applied before that, if it can be, and within the
 * caller's patience. */
static int turn_to(struct session *session, const struct dialect *dialect, const struct role_source *source,
    const struct replication_facts *facts, struct role_followed *ret, struct error *err)
{
    bool stands = (facts->applier == AGENT_THREAD_OFF && facts->applier_errno) || is_lost_by_start(dialect, facts);
    bool wait = source->drain && !stands;
    bool there = true;

    if (keeps_applier(dialect, facts)) {
        ret->done = true;
        return change_receiver(session, dialect, source, err);
    }
    if (facts->configured) {
        int rc = stands ? stop_receiver(session, dialect, err) : role_hold(session, dialect, err);
        if (rc < 0 || is_applied(session, dialect, wait, &there, err) < 0)
            return -1;
    }
    if (!there && stands && source->prepare)
        return error_set(err, ERROR_CONFLICT, "what was received is not applied, and would be dropped");
    if (!there && (wait || source->prepare))
        return 0;
    ret->dropped = !there;
    if (change_source(session, dialect, source, facts->configured, err) < 0)
        return -1;
    ret->done = true;
    return source->prepare ? 0 : start(session, dialect, err);
}

static int go_on(struct session *session, const struct dialect *dialect, const struct role_source *source,
    const struct replication_facts *facts, struct role_followed *ret, struct error *err)
{
    bool kept = true;

    if (is_lost_by_start(dialect, facts) && is_applied(session, dialect, false, &kept, err) < 0)
        return -1;
    ret->dropped = !kept;
    ret->done = true;
    return repair(session, dialect, source, facts, err);
}

/* What made commits wait here goes last: MySQL takes a second to end its thread, and the new primary waits for our
 * acknowledgements. */
int role_follow(struct session *session, const struct dialect *dialect, const struct role_source *source,
    struct role_followed *ret, struct error *err)
{
    struct replication_facts facts;

    *ret = (struct role_followed){0};
    if (look(session, dialect, &facts, err) < 0)
        return -1;
    bool right = facts.configured && facts.source_tls && replication_beat_is_right(&facts) &&
        facts.source_port == source->port && str_eq(facts.source_host, source->host) && !source->reconfigure;
    bool running = right && facts.receiver != AGENT_THREAD_OFF;
    if (role_admit_clients(session, dialect, err) < 0 ||
        acknowledge(session, dialect, source->semi_sync, running, err) < 0)
        return -1;
    if (right && source->prepare) {
        ret->done = true;
        return 0;
    }
    int rc =
        right ? go_on(session, dialect, source, &facts, ret, err) : turn_to(session, dialect, source, &facts, ret, err);
    return rc < 0 || !ret->done || source->prepare ? rc : role_release(session, dialect, source->superseded, err);
}

int role_stop(struct session *session, const struct dialect *dialect, struct error *err)
{
    struct replication_facts facts;

    if (look(session, dialect, &facts, err) < 0)
        return -1;
    if (facts.receiver == AGENT_THREAD_OFF && facts.applier == AGENT_THREAD_OFF)
        return 0;
    return on_own(session, dialect, "STOP", "", err);
}

int role_hold(struct session *session, const struct dialect *dialect, struct error *err)
{
    struct replication_facts facts;

    if (look(session, dialect, &facts, err) < 0)
        return -1;
    bool receives = facts.receiver != AGENT_THREAD_OFF;
    bool keeps_logs = receives || dialect->family != AGENT_FLAVOUR_MARIADB;
    bool stopped = facts.configured && facts.applier == AGENT_THREAD_OFF && !facts.applier_errno;
    /* Before the receiver ends: after that MariaDB would drop what was received. */
    if (stopped && keeps_logs && on_own(session, dialect, "START", "SQL_THREAD", err) < 0)
        return -1;
    return receives ? stop_receiver(session, dialect, err) : 0;
}
