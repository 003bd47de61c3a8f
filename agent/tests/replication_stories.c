#include "common/base.h"

#include "agent/tests/replication_stories.h"

#include <setjmp.h>
#include <signal.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/tests/replication_rig.h"
#include "agent/tests/replication_writer.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/subprocess.h"

#define LONG_MS 60000
#define SWITCHES 20

static int setup_mariadb(void **state)
{
    *state = replication_rig_new(NULL);
    return 0;
}

static int setup_mysql(void **state)
{
    _cleanup_(freep) char *root = agent_rig_mysql_root();

    if (!root)
        return -1;
    *state = replication_rig_new(root);
    return 0;
}

static int teardown(void **state)
{
    replication_rig_free(*state);
    return 0;
}

static bool waits_for_word(const struct member *member)
{
    return member->status.phase == AGENT_PHASE_RUNNING && member->status.accounts_applied;
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
        assert_non_null(strstr(status->ready_reason, "operator"));
        assert_string_equal(status->gtid_executed, "");
        assert_false(member_sql(rig, i, "CREATE DATABASE forbidden", NULL));
    }
}

static void test_a_primary_and_two_replicas(void **state)
{
    struct replication_rig *rig = *state;

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
        assert_true(replication_rig_await(rig, i, waits_for_word, "done with accounts", LONG_MS));
        assert_true(agent_rig_sql(rig->members[i].rig, "app", "pw-user'\\", "SELECT 1", NULL));
    }
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

/* Nobody writes meanwhile but the heartbeat. */
static void test_lag_is_true_also_when_nobody_writes(void **state)
{
    struct replication_rig *rig = *state;

    assert_true(replication_rig_await(rig, 1, lag_is_known_and_small, "without lag", LONG_MS));
    assert_true(replication_rig_await(rig, 2, lag_is_known_and_small, "without lag", LONG_MS));
    /* A lock that the applier waits for. */
    pid_t pid = member_hold_lock(rig, 1, "LOCK TABLES kubemysql.heartbeat READ", 9);
    assert_true(replication_rig_await(rig, 1, lags_by_two_seconds, "lagging", LONG_MS));
    assert_true(replication_rig_await(rig, 1, lags_too_much, "unready for its lag", LONG_MS));
    assert_true(replication_rig_await(rig, 2, lag_is_known_and_small, "without lag", LONG_MS));
    member_release_lock(pid);
    assert_true(replication_rig_await(rig, 1, lag_is_known_and_small, "without lag", LONG_MS));
    assert_true(replication_rig_await(rig, 1, member_ready, "ready", LONG_MS));
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
    /* Another hand changes it on the source and cuts the connections: refused, until the source's agent has set it right. */
    assert_true(member_owner_sql(rig, 0,
        "SET sql_log_bin = 0; ALTER USER 'replication'@'%' IDENTIFIED BY 'another-hand'; FLUSH PRIVILEGES;", NULL));
    assert_true(member_owner_sql(rig, 2, stop_and_start(rig), NULL));
    assert_true(replication_rig_await(rig, 2, is_refused, "refused", LONG_MS));
    assert_true(member_done(&rig->members[2]));
    assert_true(replication_rig_await(rig, 2, member_ready, "ready", LONG_MS));
    assert_false(member_has_problem(&rig->members[2], "ReplicationRefused"));
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

/* I3 */
static void test_without_replicas_commits_wait_and_say_so(void **state)
{
    struct replication_rig *rig = *state;

    kill(rig->members[1].rig->server.inner, SIGSTOP);
    agent_rig_kill(&rig->members[2].rig->server);
    agent_rig_kill(&rig->members[1].rig->server);
    pid_t pid = member_hold_lock(rig, 0, "INSERT INTO t.w VALUES (-7)", 0);
    assert_true(replication_rig_await(rig, 0, is_blocked, "blocked", LONG_MS));
    assert_true(rig->members[0].status.phase == AGENT_PHASE_RUNNING);
    replication_rig_start(rig, 1, "server");
    replication_rig_start(rig, 2, "server");
    assert_true(replication_rig_await(rig, 0, is_not_blocked, "free again", LONG_MS));
    /* And a server that restarts goes on as it was told. */
    for (unsigned i = 0; i < MEMBERS; i++)
        assert_true(replication_rig_await(rig, i, member_ready, "ready", LONG_MS));
    assert_true(member_says(rig, 2, "SELECT COUNT(*) FROM t.w WHERE id = -7", "1"));
    member_release_lock(pid);
}

static bool has_no_order(const struct member *member)
{
    return member->status.phase == AGENT_PHASE_RUNNING && !*member->status.order_hash;
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

/* A cluster that is made again gives other server ids to the volumes that it finds: what was written under the old one still counts. */
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
        cmocka_unit_test(test_lag_is_true_also_when_nobody_writes),
        cmocka_unit_test(test_a_wrong_replication_password),
        cmocka_unit_test(test_long_transactions_are_named),
        cmocka_unit_test(test_twenty_switchovers_with_acknowledgements),
        cmocka_unit_test(test_without_replicas_commits_wait_and_say_so),
        cmocka_unit_test(test_a_primary_that_restarts_waits_for_a_new_word),
        cmocka_unit_test(test_another_server_id_forgets_nothing),
        cmocka_unit_test(test_a_target_that_restarts_fetches_the_rest),
        cmocka_unit_test(test_a_duplicate_key_is_named_and_not_skipped),
        cmocka_unit_test(test_purged_binlogs_are_named),
        cmocka_unit_test(test_errant_transactions_are_named),
    };

    return mysql ? cmocka_run_group_tests_name("replication MySQL", tests, setup_mysql, teardown)
                 : cmocka_run_group_tests_name("replication MariaDB", tests, setup_mariadb, teardown);
}
