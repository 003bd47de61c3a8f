/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tests/replication_stories.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/tests/replication_rig.h"
#include "agent/tests/replication_writer.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/subprocess.h"

#define LONG_MS 60000
#define SWITCHES 20

static bool waits_for_word(const struct member *member)
{
    return member->status.phase == AGENT_PHASE_RUNNING && strstr(member->status.ready_reason, "accounts");
}

static bool has_accounts(const struct member *member)
{
    return member->status.phase == AGENT_PHASE_RUNNING && member->status.accounts_applied;
}

static bool has_no_accounts(const struct member *member)
{
    return member->status.phase == AGENT_PHASE_RUNNING && !member->status.accounts_applied;
}

static bool has_no_order(const struct member *member)
{
    return member->status.phase == AGENT_PHASE_RUNNING && !*member->status.order_hash;
}

static bool owner_says(struct replication_rig *rig, unsigned member, const char *sql, const char *answer)
{
    _cleanup_(strbuf_release) struct strbuf out;

    strbuf_init(&out, KM_MIB);
    bool ran = member_owner_sql(rig, member, sql, &out);
    strbuf_truncate(&out, strcspn(out.buf, "\n"));
    if (!ran || strcmp(out.buf, answer) != 0)
        printf("member %u says \"%s\" to %s\n", member, out.buf, sql);
    return ran && strcmp(out.buf, answer) == 0;
}

/* I1 */
static void test_nobody_is_open_before_an_order(void **state)
{
    struct replication_rig *rig = *state;

    for (unsigned i = 0; i < MEMBERS; i++) {
        const struct agent_status *status = &rig->members[i].status;
        assert_true(replication_rig_await(rig, i, waits_for_word, "waiting", LONG_MS));
        assert_true(status->read_only);
        assert_false(status->writable);
        assert_false(status->ready);
        assert_string_equal(status->gtid_executed, "");
        assert_true(owner_says(rig, i, "SELECT COUNT(*) FROM mysql.user WHERE user = 'replication'", "0"));
    }
}

static void test_a_primary_and_two_replicas(void **state)
{
    struct replication_rig *rig = *state;

    for (unsigned i = 0; i < MEMBERS; i++)
        assert_true(replication_rig_await(rig, i, member_runs, "running", LONG_MS));
    replication_rig_form(rig);
    assert_true(rig->members[0].status.writable);
    assert_true(member_sql(rig, 0, "CREATE DATABASE t; CREATE TABLE t.w (id BIGINT PRIMARY KEY)", NULL));
    assert_true(member_sql(rig, 0, "INSERT INTO t.w VALUES (-1)", NULL));
    for (unsigned i = 1; i < MEMBERS; i++) {
        assert_true(member_says(rig, i, "SELECT COUNT(*) FROM t.w", "1"));
        assert_false(member_sql(rig, i, "INSERT INTO t.w VALUES (-2)", NULL));
        assert_false(rig->members[i].status.writable);
    }
}

static int compare_times(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;

    return left < right ? -1 : left > right;
}

static void expect_all_rows(struct replication_rig *rig, struct writer *writer, const char *table)
{
    _cleanup_(freep) char *count = xasprintf("%llu", (unsigned long long)writer_acknowledged(writer));
    _cleanup_(strbuf_release) struct strbuf sql;

    strbuf_init(&sql, 64 * KM_MIB);
    writer_check_sql(writer, table, &sql);
    for (unsigned i = 0; i < MEMBERS; i++)
        assert_true(member_says(rig, i, sql.buf, count));
}

static void switch_back_and_forth(struct replication_rig *rig, const char *mode)
{
    int64_t times_us[SWITCHES];
    _cleanup_(freep) char *table = xasprintf("t.%s", mode);
    _cleanup_(freep) char *create = xasprintf("CREATE TABLE %s (id BIGINT PRIMARY KEY)", table);

    assert_true(member_sql(rig, 0, create, NULL));
    struct writer *writer = writer_start(rig, table);

    replication_rig_run(rig, 500);
    for (unsigned i = 0; i < SWITCHES; i++) {
        times_us[i] = replication_rig_switch_us(rig, i % 2, (i + 1) % 2);
        replication_rig_run(rig, 150);
        for (unsigned m = 0; m < MEMBERS; m++)
            assert_true(replication_rig_await(rig, m, member_ready, "ready", LONG_MS));
    }
    writer_stop(writer);
    qsort(times_us, SWITCHES, sizeof(times_us[0]), compare_times);
    printf(
        "%s: %d switchovers, closed to open as the operator sees it: p50 %lld us, max %lld us; %llu rows, longest gap "
        "between two acknowledged writes: p50 %lld ms, max %lld ms\n",
        mode, SWITCHES, (long long)times_us[SWITCHES / 2], (long long)times_us[SWITCHES - 1],
        (unsigned long long)writer_acknowledged(writer), (long long)writer_gap_ms(writer, SWITCHES, 50),
        (long long)writer_gap_ms(writer, SWITCHES, 99));
    assert_true(writer_acknowledged(writer) > SWITCHES);
    expect_all_rows(rig, writer, table);
    writer_free(writer);
    for (unsigned m = 0; m < MEMBERS; m++)
        assert_string_equal(rig->members[m].status.errant, "");
}

static void test_twenty_switchovers_lose_nothing(void **state)
{
    switch_back_and_forth(*state, "async");
}

/* I2 */
static void test_an_older_epoch_is_refused(void **state)
{
    struct replication_rig *rig = *state;
    struct agent_order order = replication_rig_primary(rig, "");

    order.epoch = rig->epoch - 1;
    assert_int_equal(replication_rig_order(rig, 1, &order), 409);
    agent_rig_kill(&rig->members[1].rig->agent);
    replication_rig_start(rig, 1, "run");
    replication_rig_run(rig, 1000);
    assert_int_equal(replication_rig_order(rig, 1, &order), 409);
    assert_int_equal(rig->members[1].status.epoch, rig->epoch);
    assert_string_equal(rig->members[1].status.order_hash, "");
    order = replication_rig_replica(rig, 0);
    assert_int_equal(replication_rig_order(rig, 1, &order), 200);
    assert_true(replication_rig_await(rig, 1, member_ready, "ready", LONG_MS));
}

static void test_database_and_user_come_from_the_primary(void **state)
{
    struct replication_rig *rig = *state;

    for (unsigned i = 0; i < MEMBERS; i++) {
        assert_true(member_says(rig, i, "SELECT COUNT(*) FROM mysql.user WHERE user = 'app'", "1"));
        assert_true(replication_rig_await(rig, i, has_accounts, "done with accounts", LONG_MS));
        assert_true(agent_rig_sql(rig->members[i].rig, "app", "pw-user'\\", "SELECT 1", NULL));
    }
}

static bool lets_in(struct replication_rig *rig, unsigned member, const char *password)
{
    return agent_rig_sql(rig->members[member].rig, "monitor", password, "SELECT 1", NULL);
}

static void expect_accounts(struct replication_rig *rig, const char *password)
{
    for (unsigned i = 0; i < MEMBERS; i++) {
        for (int tries = 0; tries < 100 && !lets_in(rig, i, password); tries++)
            replication_rig_run(rig, 100);
        assert_true(lets_in(rig, i, password));
        assert_true(replication_rig_await(rig, i, has_accounts, "done with accounts", LONG_MS));
        assert_string_equal(rig->members[i].status.errant, "");
    }
}

/* A replica that made accounts by itself would have to be opened for it. What another hand did to it stays, too, until
 * the primary speaks. */
static void test_accounts_are_made_by_the_primary_alone(void **state)
{
    struct replication_rig *rig = *state;

    agent_rig_put(rig->members[1].rig, "accounts/monitor", "changed");
    assert_true(replication_rig_await(rig, 1, has_no_accounts, "without the accounts it should have", LONG_MS));
    assert_true(member_ready(&rig->members[1]));
    /* The primary may still be about to log them, after the changes of roles before this. */
    for (int tries = 0; tries < 5 && lets_in(rig, 2, "pw-monitor'\\"); tries++) {
        assert_true(member_write_aside(rig, 2, false, "DROP USER IF EXISTS 'monitor'@'%'"));
        replication_rig_run(rig, 3000);
    }
    assert_true(has_no_accounts(&rig->members[1]));
    assert_false(lets_in(rig, 1, "changed"));
    assert_false(lets_in(rig, 2, "pw-monitor'\\"));
    agent_rig_put(rig->members[0].rig, "accounts/monitor", "changed");
    agent_rig_put(rig->members[2].rig, "accounts/monitor", "changed");
    expect_accounts(rig, "changed");
    for (unsigned i = 0; i < MEMBERS; i++)
        agent_rig_put(rig->members[i].rig, "accounts/monitor", "pw-monitor'\\");
    expect_accounts(rig, "pw-monitor'\\");
}

static bool lag_is_known_and_small(const struct member *member)
{
    return member->status.replication.lag_known && member->status.replication.lag_ms < 500;
}

static bool lags_by_two_seconds(const struct member *member)
{
    return member->status.replication.lag_known && member->status.replication.lag_ms > 2000;
}

static bool lags_too_much(const struct member *member)
{
    return !member->status.ready && strstr(member->status.ready_reason, "lags by");
}

/* Only the heartbeat writes meanwhile: once the cluster is at rest a row in six seconds (BEAT_REST_ROW_MS), and a lag
 * of five more is allowed. So the lock is held until the lag is reported. */
static void test_lag_is_true_also_when_nobody_writes(void **state)
{
    struct replication_rig *rig = *state;

    assert_true(replication_rig_await(rig, 1, lag_is_known_and_small, "without lag", LONG_MS));
    assert_true(replication_rig_await(rig, 2, lag_is_known_and_small, "without lag", LONG_MS));
    /* A lock that the applier waits for. */
    pid_t pid = member_hold_lock(rig, 1, "LOCK TABLES kubemysql.heartbeat READ", 60);
    assert_true(replication_rig_await(rig, 1, lags_by_two_seconds, "lagging", LONG_MS));
    assert_true(replication_rig_await(rig, 1, lags_too_much, "unready for its lag", LONG_MS));
    assert_true(replication_rig_await(rig, 2, lag_is_known_and_small, "without lag", LONG_MS));
    member_release_lock(pid);
    assert_true(replication_rig_await(rig, 1, lag_is_known_and_small, "without lag", LONG_MS));
    assert_true(replication_rig_await(rig, 1, member_ready, "ready", LONG_MS));
}

/* Its server goes on: that no heartbeat is written says nothing of those who follow. */
static void test_a_dead_agent_of_the_primary_is_no_lag(void **state)
{
    struct replication_rig *rig = *state;
    uint32_t limit_s = rig->members[1].order.max_lag_seconds;

    assert_true(limit_s > 0);
    kill(rig->members[0].rig->agent.inner, SIGSTOP);
    replication_rig_run(rig, (int64_t)limit_s * 1000 + 4000);
    bool ready = member_ready(&rig->members[1]) && member_ready(&rig->members[2]);
    kill(rig->members[0].rig->agent.inner, SIGCONT);
    assert_true(ready);
    assert_true(replication_rig_await(rig, 0, member_ready, "ready", LONG_MS));
}

static bool is_refused(const struct member *member)
{
    return member_has_problem(member, "ReplicationRefused") && !member->status.ready;
}

static const char *stop_and_start(const struct replication_rig *rig)
{
    return rig->members[0].status.flavour == AGENT_FLAVOUR_MARIADB ? "STOP SLAVE IO_THREAD; START SLAVE IO_THREAD;"
                                                                   : "STOP REPLICA IO_THREAD; START REPLICA IO_THREAD;";
}

static void test_a_wrong_replication_password(void **state)
{
    struct replication_rig *rig = *state;

    /* One that the source does not take yet: the connection that works is kept. */
    agent_rig_put(rig->members[2].rig, "accounts/replication", "not-known-there");
    replication_rig_run(rig, 4000);
    assert_true(member_ready(&rig->members[2]));
    agent_rig_put(rig->members[2].rig, "accounts/replication", "pw-replication'\\");
    /* Another hand changes it on the source and cuts the connections: refused, until the source's agent has set it
     * right. */
    assert_true(member_owner_sql(rig, 0,
        "SET sql_log_bin = 0; ALTER USER 'replication'@'%' IDENTIFIED BY 'another-hand'; FLUSH PRIVILEGES;", NULL));
    assert_true(member_owner_sql(rig, 2, stop_and_start(rig), NULL));
    assert_true(replication_rig_await(rig, 2, is_refused, "refused", LONG_MS));
    assert_true(member_done(&rig->members[2]));
    assert_true(replication_rig_await(rig, 2, member_ready, "ready", LONG_MS));
    assert_false(member_has_problem(&rig->members[2], "ReplicationRefused"));
}

/* A cluster that was deleted and is made anew on its kept volumes: servers and agents start, with another password than
 * the replicas have stored. That is refused at the next connection at the latest. */
static void test_a_password_of_a_cluster_that_is_gone(void **state)
{
    struct replication_rig *rig = *state;

    for (unsigned i = 0; i < MEMBERS; i++) {
        agent_rig_kill(&rig->members[i].rig->agent);
        agent_rig_kill(&rig->members[i].rig->server);
        agent_rig_put(rig->members[i].rig, "accounts/replication", "made-anew");
    }
    for (unsigned i = 0; i < MEMBERS; i++) {
        replication_rig_start(rig, i, "server");
        replication_rig_start(rig, i, "run");
    }
    for (unsigned i = 0; i < MEMBERS; i++)
        assert_true(replication_rig_await(rig, i, has_no_order, "without an order", LONG_MS));
    replication_rig_form(rig);
    for (unsigned i = 1; i < MEMBERS; i++)
        assert_true(member_owner_sql(rig, i, stop_and_start(rig), NULL));
    assert_true(member_sql(rig, 0, "INSERT INTO t.w VALUES (-20)", NULL));
    for (unsigned i = 1; i < MEMBERS; i++) {
        assert_true(member_says(rig, i, "SELECT COUNT(*) FROM t.w WHERE id = -20", "1"));
        assert_true(replication_rig_await(rig, i, member_ready, "ready", LONG_MS));
    }
}

static bool has_long_transaction(const struct member *member)
{
    return member->status.long_transactions == 1 && strstr(member->status.long_transaction, "root@127.0.0.1");
}

static bool has_no_long_transaction(const struct member *member)
{
    return member->status.long_transactions == 0;
}

static void test_long_transactions_are_named(void **state)
{
    struct replication_rig *rig = *state;
    pid_t pid = member_hold_lock(rig, 0, "BEGIN; INSERT INTO t.w VALUES (-5)", 60);

    assert_true(replication_rig_await(rig, 0, has_long_transaction, "naming a transaction", LONG_MS));
    /* The statement's literals are nobody's business. */
    assert_non_null(strstr(rig->members[0].status.long_transaction, " s: SELECT"));
    assert_null(strchr(rig->members[0].status.long_transaction, '('));
    /* Closing cuts it, and loses nothing else. */
    replication_rig_switch_us(rig, 0, 1);
    member_release_lock(pid);
    for (unsigned i = 0; i < MEMBERS; i++)
        assert_true(replication_rig_await(rig, i, member_ready, "ready", LONG_MS));
    assert_true(replication_rig_await(rig, 0, has_no_long_transaction, "free of transactions", LONG_MS));
    assert_true(member_says(rig, 1, "SELECT COUNT(*) FROM t.w WHERE id = -5", "0"));
    replication_rig_switch_us(rig, 1, 0);
    for (unsigned i = 0; i < MEMBERS; i++)
        assert_true(replication_rig_await(rig, i, member_ready, "ready", LONG_MS));
}

static void expect_scheduler(struct replication_rig *rig, unsigned member, const char *state)
{
    assert_true(member_says(rig, member, "SELECT @@event_scheduler", state));
}

static void expect_schedulers(struct replication_rig *rig, unsigned primary)
{
    for (unsigned i = 0; i < MEMBERS; i++)
        expect_scheduler(rig, i, i == primary ? "ON" : "OFF");
}

static void expect_ticks(struct replication_rig *rig, unsigned primary)
{
    _cleanup_(freep) char *sql =
        xasprintf("SELECT COUNT(*) > 2 FROM t.ticks WHERE name = 'tick' AND server = %u", 1000 + primary);

    expect_schedulers(rig, primary);
    assert_true(member_owner_sql(rig, primary, "DELETE FROM t.ticks WHERE name = 'tick'", NULL));
    assert_true(member_says(rig, 2, sql, "1"));
    assert_true(member_says(rig, 2, "SELECT COUNT(DISTINCT server) FROM t.ticks", "1"));
    assert_true(member_says(rig, primary, "SELECT COUNT(*) FROM t.ticks WHERE name = 'off'", "0"));
    for (unsigned i = 0; i < MEMBERS; i++)
        assert_string_equal(rig->members[i].status.errant, "");
}

static void move_primary(struct replication_rig *rig, unsigned from, unsigned to)
{
    replication_rig_switch_us(rig, from, to);
    for (unsigned i = 0; i < MEMBERS; i++)
        assert_true(replication_rig_await(rig, i, member_ready, "ready", LONG_MS));
}

/* An event of root runs with rights to write on a read-only server; replicas disable events and forget which were
 * enabled. */
static void test_events_run_on_the_primary_alone(void **state)
{
    static const char schedule[] = "ON SCHEDULE EVERY 1 SECOND";
    struct replication_rig *rig = *state;
    _cleanup_(freep) char *sql = xasprintf(
        "CREATE TABLE t.ticks (id BIGINT PRIMARY KEY AUTO_INCREMENT, server INT, name VARCHAR(9)); "
        "CREATE DEFINER = root@localhost EVENT t.tick %s DO INSERT INTO t.ticks (server, name) VALUES (@@server_id, 'tick'); "
        "CREATE EVENT t.off %s DISABLE DO INSERT INTO t.ticks (server, name) VALUES (@@server_id, 'off')",
        schedule, schedule);

    assert_true(member_owner_sql(rig, 0, sql, NULL));
    expect_ticks(rig, 0);
    assert_true(member_says(rig, 1, "SELECT COUNT(*) FROM kubemysql.disabled_events", "1"));
    move_primary(rig, 0, 1);
    expect_ticks(rig, 1);
    assert_true(member_says(
        rig, 1, "SELECT definer FROM information_schema.events WHERE event_name = 'tick'", "root@localhost"));
    move_primary(rig, 1, 0);
    expect_ticks(rig, 0);
    assert_true(member_owner_sql(rig, 0, "DROP EVENT t.tick; DROP EVENT t.off", NULL));
}

/* ---- semi-sync ---- */

static void test_twenty_switchovers_with_acknowledgements(void **state)
{
    struct replication_rig *rig = *state;

    rig->semi_sync = true;
    replication_rig_form(rig);
    assert_true(rig->members[0].status.semi_sync);
    switch_back_and_forth(rig, "semisync");
    assert_true(rig->members[0].status.semi_sync);
}

static bool is_blocked(const struct member *member)
{
    return member->status.writes_blocked_ms > 2000 && member->status.semi_sync_replicas == 0 &&
        member->status.waiting_commits > 0;
}

static bool is_not_blocked(const struct member *member)
{
    return member->status.writable && member->status.writes_blocked_ms == 0;
}

static bool has_unacknowledged(const struct member *member)
{
    return member_has_problem(member, "UnacknowledgedCommits");
}

/* MariaDB answers OK to a client whose waiting commit gets KILL QUERY. */
static void expect_killed_commit_is_told(struct replication_rig *rig)
{
    assert_false(has_unacknowledged(&rig->members[0]));
    _cleanup_(strbuf_release) struct strbuf out;
    strbuf_init(&out, KM_MIB);
    /* One waits for the acknowledgement, the others for that one. */
    for (int tries = 0; tries < 100 && out.len < 2; tries++) {
        replication_rig_run(rig, 100);
        assert_true(member_owner_sql(rig, 0,
            "SELECT CONCAT('KILL QUERY ', id) FROM information_schema.processlist WHERE state LIKE '%semi-sync ACK%'",
            &out));
    }
    assert_true(member_owner_sql(rig, 0, out.buf, NULL));
    assert_true(replication_rig_await(rig, 0, has_unacknowledged, "telling of commits without a replica", LONG_MS));
    assert_true(rig->members[0].status.semi_sync);
}

/* I3 */
static void test_without_replicas_commits_wait_and_say_so(void **state)
{
    struct replication_rig *rig = *state;

    /* MySQL: an account statement that waits for replicas would keep them out for good. */
    assert_true(replication_rig_await(rig, 0, has_accounts, "done with accounts", LONG_MS));
    kill(rig->members[1].rig->server.inner, SIGSTOP);
    agent_rig_kill(&rig->members[2].rig->server);
    agent_rig_kill(&rig->members[1].rig->server);
    pid_t pid = member_hold_lock(rig, 0, "INSERT INTO t.w VALUES (-7)", 0);
    assert_true(replication_rig_await(rig, 0, is_blocked, "blocked", LONG_MS));
    assert_true(rig->members[0].status.phase == AGENT_PHASE_RUNNING);
    assert_true(rig->members[0].status.semi_sync);
    if (rig->members[0].status.flavour == AGENT_FLAVOUR_MARIADB)
        expect_killed_commit_is_told(rig);
    replication_rig_start(rig, 1, "server");
    replication_rig_start(rig, 2, "server");
    assert_true(replication_rig_await(rig, 0, is_not_blocked, "free again", LONG_MS));
    /* And a server that restarts goes on as it was told. */
    for (unsigned i = 0; i < MEMBERS; i++)
        assert_true(replication_rig_await(rig, i, member_ready, "ready", LONG_MS));
    assert_true(member_says(rig, 2, "SELECT COUNT(*) FROM t.w WHERE id = -7", "1"));
    member_release_lock(pid);
}

/* ---- no connection is left ---- */

#define LIMIT "12"
#define INSERTS 50

/* A client that has no connection yet tries again and again; one whose commit waits holds its own. */
static pid_t begin_insert(struct replication_rig *rig, unsigned number)
{
    _cleanup_(freep) char *sql = xasprintf("INSERT INTO app_db.full_house VALUES (%u)", number);
    bool is_in = false;
    pid_t pid = replication_rig_fork();

    if (pid > 0)
        return pid;
    for (int tries = 0; !is_in && tries < 1000; tries++) {
        is_in = agent_rig_sql(rig->members[0].rig, "app", "pw-user'\\", sql, NULL);
        usleep(2000000);
    }
    _exit(0);
}

/* Commits wait for a replica, which needs a connection to the server that they fill. */
static void test_replicas_get_into_a_full_primary(void **state)
{
    struct replication_rig *rig = *state;
    pid_t pids[INSERTS];

    for (unsigned i = 0; i < MEMBERS; i++)
        assert_true(replication_rig_await(rig, i, member_runs, "running", LONG_MS));
    rig->semi_sync = true;
    replication_rig_form(rig);
    assert_true(member_owner_sql(
        rig, 0, "CREATE TABLE app_db.full_house (id INT PRIMARY KEY); SET GLOBAL max_connections = " LIMIT, NULL));
    assert_true(replication_rig_await(rig, 0, has_accounts, "done with accounts", LONG_MS));
    agent_rig_kill(&rig->members[2].rig->server);
    agent_rig_kill(&rig->members[1].rig->server);
    for (unsigned i = 0; i < INSERTS; i++)
        pids[i] = begin_insert(rig, i);
    assert_true(replication_rig_await(rig, 0, is_blocked, "blocked", LONG_MS));
    replication_rig_start(rig, 1, "server");
    replication_rig_start(rig, 2, "server");
    assert_true(replication_rig_await(rig, 0, is_not_blocked, "free again", LONG_MS));
    for (unsigned i = 1; i < MEMBERS; i++)
        assert_true(replication_rig_await(rig, i, member_ready, "ready", LONG_MS));
    for (unsigned i = 0; i < INSERTS; i++)
        member_release_lock(pids[i]);
    assert_true(member_says(rig, 0, "SELECT @@max_connections", LIMIT));
    assert_true(member_says(rig, 1, "SELECT COUNT(*) >= " LIMIT " - 5 FROM app_db.full_house", "1"));
}

/* I1: what opened it does not count for the server that came after. */
static void test_a_primary_that_restarts_waits_for_a_new_word(void **state)
{
    struct replication_rig *rig = *state;
    struct agent_order order = rig->members[0].order;

    agent_rig_kill(&rig->members[0].rig->server);
    replication_rig_start(rig, 0, "server");
    assert_true(replication_rig_await(rig, 0, has_no_order, "without an order", LONG_MS));
    replication_rig_run(rig, 1500);
    assert_true(has_no_order(&rig->members[0]));
    assert_true(rig->members[0].status.read_only);
    assert_int_equal(replication_rig_order(rig, 0, &order), 200);
    for (unsigned i = 0; i < MEMBERS; i++)
        assert_true(replication_rig_await(rig, i, member_ready, "ready", LONG_MS));
}

static void add_to_mycnf(const struct agent_rig *rig, const char *text)
{
    FILE *file = fopen(agent_rig_path(rig, "run/my.cnf"), "a");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* A cluster that is made again gives other server ids to the volumes that it finds: what was written under the old one
 * still counts. */
static void test_another_server_id_forgets_nothing(void **state)
{
    struct replication_rig *rig = *state;
    struct agent_order order;

    assert_true(member_sql(rig, 0, "INSERT INTO t.w VALUES (-8)", NULL));
    agent_rig_kill(&rig->members[0].rig->server);
    add_to_mycnf(rig->members[0].rig, "[mysqld]\nserver_id = 7001\n");
    replication_rig_start(rig, 0, "server");
    assert_true(replication_rig_await(rig, 0, has_no_order, "without an order", LONG_MS));
    rig->epoch++;
    order = replication_rig_primary(rig, rig->members[0].status.gtid_executed);
    assert_string_not_equal(order.wait_for, "");
    assert_int_equal(replication_rig_order(rig, 1, &order), 200);
    order = replication_rig_replica(rig, 1);
    assert_int_equal(replication_rig_order(rig, 0, &order), 200);
    assert_int_equal(replication_rig_order(rig, 2, &order), 200);
    for (unsigned i = 0; i < MEMBERS; i++)
        assert_true(replication_rig_await(rig, i, member_ready, "ready", LONG_MS));
    assert_string_equal(rig->members[0].status.errant, "");
    assert_true(member_says(rig, 1, "SELECT COUNT(*) FROM t.w WHERE id = -8", "1"));
    replication_rig_switch_us(rig, 1, 0);
    for (unsigned i = 0; i < MEMBERS; i++)
        assert_true(replication_rig_await(rig, i, member_ready, "ready", LONG_MS));
}

static bool is_a_duplicate(const struct member *member)
{
    return member_has_problem(member, "DuplicateServerId") && !member->status.ready;
}

static bool is_a_duplicate_or_ready(const struct member *member)
{
    return is_a_duplicate(member) || member_ready(member);
}

static uint32_t wanted_server_id;

static bool has_wanted_server_id(const struct member *member)
{
    return member->status.server_id == wanted_server_id;
}

/* Member 2, which follows member 0, comes back under this number; its order is still in force. */
static void follow_as(struct replication_rig *rig, uint32_t server_id)
{
    char text[64];
    snprintf(text, sizeof(text), "[mysqld]\nserver_id = %u\n", server_id);
    agent_rig_kill(&rig->members[2].rig->server);
    add_to_mycnf(rig->members[2].rig, text);
    replication_rig_start(rig, 2, "server");
    wanted_server_id = server_id;
    assert_true(replication_rig_await(rig, 2, has_wanted_server_id, "back under another number", LONG_MS));
}

/* Members of two clusters whose numbers come from the same range meet: it is named, and nobody loses anything by it. */
static void test_a_member_with_the_number_of_another(void **state)
{
    struct replication_rig *rig = *state;
    uint32_t own = rig->members[2].status.server_id;

    follow_as(rig, rig->members[0].status.server_id);
    assert_true(replication_rig_await(rig, 2, is_a_duplicate, "a duplicate of its source", LONG_MS));
    assert_true(member_sql(rig, 0, "INSERT INTO t.w VALUES (-19)", NULL));
    assert_true(member_says(rig, 1, "SELECT COUNT(*) FROM t.w WHERE id = -19", "1"));
    /* MariaDB's sources end the older one of two replicas of one number; MySQL's tell them apart by their UUIDs. */
    follow_as(rig, rig->members[1].status.server_id);
    assert_true(replication_rig_await(rig, 2, is_a_duplicate_or_ready, "a duplicate, or ready", LONG_MS));
    follow_as(rig, own);
    for (unsigned i = 0; i < MEMBERS; i++)
        assert_true(replication_rig_await(rig, i, member_ready, "ready", LONG_MS));
    for (unsigned i = 0; i < MEMBERS; i++)
        assert_true(member_says(rig, i, "SELECT COUNT(*) FROM t.w WHERE id = -19", "1"));
    assert_string_equal(rig->members[2].status.errant, "");
}

/* The target of a switchover ends after the old primary was closed, before it had everything. */
static void test_a_target_that_restarts_fetches_the_rest(void **state)
{
    struct replication_rig *rig = *state;
    struct agent_order order;

    agent_rig_kill(&rig->members[1].rig->agent);
    agent_rig_kill(&rig->members[1].rig->server);
    assert_true(member_sql(rig, 0, "INSERT INTO t.w VALUES (-14)", NULL));
    rig->epoch++;
    order = replication_rig_fence(rig);
    assert_int_equal(replication_rig_order(rig, 0, &order), 200);
    assert_true(replication_rig_await(rig, 0, member_done, "closed", LONG_MS));
    replication_rig_start(rig, 1, "server");
    replication_rig_start(rig, 1, "run");
    assert_true(replication_rig_await(rig, 1, has_no_order, "without an order", LONG_MS));
    order = replication_rig_primary(rig, rig->members[0].status.gtid_executed);
    assert_int_equal(replication_rig_order(rig, 1, &order), 200);
    assert_true(replication_rig_await(rig, 1, member_done, "open", LONG_MS));
    assert_true(member_says(rig, 1, "SELECT COUNT(*) FROM t.w WHERE id = -14", "1"));
    order = replication_rig_replica(rig, 1);
    assert_int_equal(replication_rig_order(rig, 0, &order), 200);
    assert_int_equal(replication_rig_order(rig, 2, &order), 200);
    for (unsigned i = 0; i < MEMBERS; i++)
        assert_true(replication_rig_await(rig, i, member_ready, "ready", LONG_MS));
    replication_rig_switch_us(rig, 1, 0);
    for (unsigned i = 0; i < MEMBERS; i++)
        assert_true(replication_rig_await(rig, i, member_ready, "ready", LONG_MS));
}

/* ---- what only a person or a new copy mends; last, as it spoils a member ---- */

static bool is_stopped(const struct member *member)
{
    return member_has_problem(member, "ReplicationStopped") && !member->status.ready &&
        member->status.replication.applier == AGENT_THREAD_OFF;
}

static bool tells_which_transaction(const struct member *member)
{
    const char *which = member->status.flavour == AGENT_FLAVOUR_MARIADB ? "after GTID 0-" : "executing transaction '";
    return strstr(member->status.problems[0].message, which) && strstr(member->status.problems[0].message, "log_pos");
}

static void test_a_duplicate_key_is_named_and_not_skipped(void **state)
{
    struct replication_rig *rig = *state;

    rig->semi_sync = false;
    replication_rig_form(rig);
    assert_true(member_write_aside(rig, 2, false, "INSERT INTO t.w VALUES (-9)"));
    assert_true(member_sql(rig, 0, "INSERT INTO t.w VALUES (-9); INSERT INTO t.w VALUES (-10)", NULL));
    assert_true(replication_rig_await(rig, 2, is_stopped, "stopped", LONG_MS));
    /* MySQL's coordinator may report the worker behind the one that met the duplicate (3030) first. */
    const uint32_t number = rig->members[2].status.replication.applier_errno;
    assert_true(number == 1062 || (number == 3030 && rig->members[2].status.flavour != AGENT_FLAVOUR_MARIADB));
    replication_rig_run(rig, 3000);
    assert_true(is_stopped(&rig->members[2]));
    assert_true(tells_which_transaction(&rig->members[2]));
    assert_true(member_says(rig, 2, "SELECT COUNT(*) FROM t.w WHERE id = -10", "0"));
    /* A person mends it. */
    assert_true(member_write_aside(rig, 2, false, "DELETE FROM t.w WHERE id = -9"));
    assert_true(member_start_applier(rig, 2));
    assert_true(replication_rig_await(rig, 2, member_ready, "ready", LONG_MS));
    assert_true(member_says(rig, 2, "SELECT COUNT(*) FROM t.w WHERE id IN (-9, -10)", "2"));
}

static bool misses_binlogs(const struct member *member)
{
    return member_has_problem(member, "BinlogsPurged") && !member->status.ready;
}

static void test_purged_binlogs_are_named(void **state)
{
    struct replication_rig *rig = *state;

    agent_rig_kill(&rig->members[1].rig->server);
    assert_true(member_sql(rig, 0, "INSERT INTO t.w VALUES (-11); FLUSH BINARY LOGS", NULL));
    assert_true(member_sql(rig, 0, "INSERT INTO t.w VALUES (-12); FLUSH BINARY LOGS", NULL));
    replication_rig_run(rig, 1000); /* the other replica has read them */
    assert_true(member_purge_binlogs(rig, 0));
    replication_rig_start(rig, 1, "server");
    assert_true(replication_rig_await(rig, 1, misses_binlogs, "missing binlogs", LONG_MS));
}

static bool is_errant(const struct member *member)
{
    return member_has_problem(member, "ErrantTransactions") && *member->status.errant && !member->status.ready;
}

static void test_errant_transactions_are_named(void **state)
{
    struct replication_rig *rig = *state;

    assert_string_equal(rig->members[2].status.errant, "");
    assert_true(member_write_aside(rig, 2, true, "CREATE DATABASE errant"));
    assert_true(replication_rig_await(rig, 2, is_errant, "errant", LONG_MS));
    printf("errant: %s\n", rig->members[2].status.errant);
}

int replication_stories_run(bool mysql)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody_is_open_before_an_order),
        cmocka_unit_test(test_a_primary_and_two_replicas),
        cmocka_unit_test(test_twenty_switchovers_lose_nothing),
        cmocka_unit_test(test_an_older_epoch_is_refused),
        cmocka_unit_test(test_database_and_user_come_from_the_primary),
        cmocka_unit_test(test_accounts_are_made_by_the_primary_alone),
        cmocka_unit_test(test_lag_is_true_also_when_nobody_writes),
        cmocka_unit_test(test_a_dead_agent_of_the_primary_is_no_lag),
        cmocka_unit_test(test_a_wrong_replication_password),
        cmocka_unit_test(test_a_password_of_a_cluster_that_is_gone),
        cmocka_unit_test(test_long_transactions_are_named),
        cmocka_unit_test(test_events_run_on_the_primary_alone),
        cmocka_unit_test(test_twenty_switchovers_with_acknowledgements),
        cmocka_unit_test(test_without_replicas_commits_wait_and_say_so),
        cmocka_unit_test(test_replicas_get_into_a_full_primary),
        cmocka_unit_test(test_a_primary_that_restarts_waits_for_a_new_word),
        cmocka_unit_test(test_another_server_id_forgets_nothing),
        cmocka_unit_test(test_a_member_with_the_number_of_another),
        cmocka_unit_test(test_a_target_that_restarts_fetches_the_rest),
        cmocka_unit_test(test_a_duplicate_key_is_named_and_not_skipped),
        cmocka_unit_test(test_purged_binlogs_are_named),
        cmocka_unit_test(test_errant_transactions_are_named),
    };

    cmocka_set_test_filter(getenv("TEST_CASE"));
    return mysql
        ? cmocka_run_group_tests_name("replication MySQL", tests, replication_rig_setup_mysql, replication_rig_teardown)
        : cmocka_run_group_tests_name(
              "replication MariaDB", tests, replication_rig_setup_mariadb, replication_rig_teardown);
}
