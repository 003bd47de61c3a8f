/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tests/turn_stories.h"

#include <setjmp.h>
#include <signal.h>
#include <cmocka.h>

#include "agent/tests/replication_rig.h"
#include "common/alloc.h"

#define LONG_MS 60000
/* MySQL's STOP gives the rest of a torn transaction a minute. */
#define LESS_THAN_A_MINUTE_MS 40000

static bool is_ready_to_turn(const struct member *member)
{
    return member_done(member) && member->status.replication.receiver == AGENT_THREAD_OFF && member->status.ready;
}

static bool is_fenced(const struct member *member)
{
    return member_done(member) && !member->status.writable;
}

static bool receives(const struct member *member)
{
    return member_done(member) && member->status.replication.receiver == AGENT_THREAD_RUNNING;
}

static struct agent_order to_await(const struct replication_rig *rig, unsigned source)
{
    struct agent_order order = replication_rig_replica(rig, source);

    order.await_source = true;
    return order;
}

static void await(struct replication_rig *rig, unsigned member, status_test test, const char *what, int64_t timeout_ms)
{
    assert_true(replication_rig_await(rig, member, test, what, timeout_ms));
}

static unsigned count_logs(struct replication_rig *rig, unsigned member)
{
    _cleanup_(strbuf_release) struct strbuf logs;
    unsigned count = 0;

    strbuf_init(&logs, KM_MIB);
    assert_true(member_sql(rig, member, "SHOW BINARY LOGS", &logs));
    for (const char *at = logs.buf; (at = strchr(at, '\n')) != NULL; at++)
        count++;
    return count;
}

static void make_tables(struct replication_rig *rig)
{
    for (unsigned i = 0; i < MEMBERS; i++)
        await(rig, i, member_runs, "running", LONG_MS);
    replication_rig_form(rig);
    assert_true(member_sql(rig, 0,
        "CREATE DATABASE t; CREATE TABLE t.w (id BIGINT PRIMARY KEY);"
        "CREATE TABLE t.big (id BIGINT AUTO_INCREMENT PRIMARY KEY, pad CHAR(250))",
        NULL));
}

/* As the operator moves a primary (cluster_roles.h). */
static void test_a_replica_gets_ready_before_its_source_is_open(void **state)
{
    struct replication_rig *rig = *state;

    rig->semi_sync = true;
    make_tables(rig);
    assert_true(member_sql(rig, 0, "INSERT INTO t.w VALUES (1)", NULL));
    unsigned logs = count_logs(rig, 1);

    rig->epoch++;
    struct agent_order order = replication_rig_replica(rig, 0);
    order.rotate = true;
    member_give(rig, 1, order);
    await(rig, 1, receives, "still a replica of the old one", LONG_MS);
    for (int tries = 0; tries < 100 && count_logs(rig, 1) == logs; tries++)
        replication_rig_run(rig, 50);
    assert_int_equal(count_logs(rig, 1), logs + 1);

    member_give(rig, 2, to_await(rig, 1));
    await(rig, 2, is_ready_to_turn, "ready to turn", LONG_MS);
    assert_true(member_sql(rig, 0, "INSERT INTO t.w VALUES (2)", NULL)); /* the other one acknowledges */
    assert_true(member_says(rig, 1, "SELECT COUNT(*) FROM t.w", "2"));
    replication_rig_run(rig, 500);
    assert_int_equal(rig->members[2].status.replication.receiver, AGENT_THREAD_OFF);
    assert_true(member_says(rig, 2, "SELECT COUNT(*) FROM t.w", "1"));
    assert_string_equal(rig->members[2].status.errant, "");

    member_give(rig, 0, replication_rig_fence(rig));
    await(rig, 0, is_fenced, "fenced", LONG_MS);
    member_give(rig, 0, to_await(rig, 1)); /* as with two members */
    await(rig, 0, is_ready_to_turn, "ready to turn, too", LONG_MS);
    assert_false(rig->members[0].status.writable);
    member_give(rig, 1, replication_rig_primary(rig, rig->members[0].status.gtid_executed));
    await(rig, 1, member_done, "open", LONG_MS);
    await(rig, 2, receives, "following, without another word", LONG_MS);
    await(rig, 0, receives, "following, without another word", LONG_MS);
    assert_true(member_sql(rig, 1, "INSERT INTO t.w VALUES (3)", NULL));
    for (unsigned i = 0; i < MEMBERS; i++)
        assert_true(member_says(rig, i, "SELECT COUNT(*) FROM t.w", "3"));
    member_give(rig, 2, replication_rig_replica(rig, 1)); /* the operator has seen it open */
    member_give(rig, 0, replication_rig_replica(rig, 1));
    await(rig, 2, member_ready, "ready", LONG_MS);
    await(rig, 0, member_ready, "ready", LONG_MS);
    for (unsigned i = 0; i < MEMBERS; i++)
        assert_string_equal(rig->members[i].status.errant, "");
}

static bool has_long_set(const struct member *member)
{
    return strlen(str_or_empty(member->status.gtid_received)) > 18000;
}

/* As in a cluster of some years: what many servers wrote that are no more is in nobody's binary logs. */
static void test_the_primary_moves_with_a_set_of_400_servers(void **state)
{
    struct replication_rig *rig = *state;
    static const unsigned replicas_first[] = {0, 2, 1};
    _cleanup_(strbuf_release) struct strbuf sql;

    if (rig->members[0].status.flavour == AGENT_FLAVOUR_MARIADB)
        skip();
    strbuf_init(&sql, KM_MIB);
    strbuf_adds(&sql, "SET GLOBAL gtid_purged = '+");
    for (int i = 0; i < 400; i++)
        strbuf_addf(&sql, "%s%08x-71ca-11e1-9e33-c80aa9429562:1-%d", i ? "," : "", i, 10000000 + i);
    strbuf_adds(&sql, "'");
    for (size_t i = 0; i < ARRAY_LEN(replicas_first); i++)
        assert_true(member_sql(rig, replicas_first[i], sql.buf, NULL));
    for (unsigned i = 0; i < MEMBERS; i++)
        await(rig, i, has_long_set, "telling all of its set", LONG_MS);
    replication_rig_switch_us(rig, 1, 0);
    assert_true(member_sql(rig, 0, "INSERT INTO t.w VALUES (40)", NULL));
    for (unsigned i = 0; i < MEMBERS; i++)
        assert_true(member_says(rig, i, "SELECT COUNT(*) FROM t.w", "4"));
    replication_rig_switch_us(rig, 0, 1);
    assert_true(member_sql(rig, 1, "DELETE FROM t.w WHERE id = 40", NULL));
    for (unsigned i = 0; i < MEMBERS; i++) {
        assert_true(member_says(rig, i, "SELECT COUNT(*) FROM t.w", "3"));
        await(rig, i, member_ready, "ready", LONG_MS);
        assert_true(position_is_whole(rig->members[i].status.gtid_executed));
        assert_string_equal(rig->members[i].status.errant, "");
        assert_int_equal(rig->members[i].status.position_max, POSITION_TEXT_MAX);
        assert_int_equal(rig->members[i].status.volume_protocol, AGENT_VOLUME_PROTOCOL);
    }
}

/* One transaction that takes its time on the way; the statement returns when it begins to be sent. */
static void send_big(struct replication_rig *rig, unsigned primary)
{
    assert_true(member_sql(rig, primary,
        "BEGIN; INSERT INTO t.big (pad) VALUES (REPEAT('x', 250)), (REPEAT('y', 250));"
        "INSERT INTO t.big (pad) SELECT a.pad FROM t.big a; INSERT INTO t.big (pad) SELECT a.pad FROM t.big a;"
        "INSERT INTO t.big (pad) SELECT a.pad FROM t.big a; INSERT INTO t.big (pad) SELECT a.pad FROM t.big a;"
        "INSERT INTO t.big (pad) SELECT a.pad FROM t.big a; INSERT INTO t.big (pad) SELECT a.pad FROM t.big a;"
        "INSERT INTO t.big (pad) SELECT a.pad FROM t.big a; INSERT INTO t.big (pad) SELECT a.pad FROM t.big a;"
        "INSERT INTO t.big (pad) SELECT a.pad FROM t.big a; INSERT INTO t.big (pad) SELECT a.pad FROM t.big a;"
        "INSERT INTO t.big (pad) SELECT a.pad FROM t.big a; INSERT INTO t.big (pad) SELECT a.pad FROM t.big a;"
        "INSERT INTO t.big (pad) SELECT a.pad FROM t.big a; INSERT INTO t.big (pad) SELECT a.pad FROM t.big a;"
        "INSERT INTO t.big (pad) SELECT a.pad FROM t.big a; INSERT INTO t.big (pad) SELECT a.pad FROM t.big a; COMMIT",
        NULL));
}

/* A receiver that stops within a transaction leaves the applier waiting for the rest. */
static void test_a_torn_transaction_does_not_hold_up_who_turns(void **state)
{
    struct replication_rig *rig = *state;

    rig->semi_sync = false;
    rig->epoch++;
    member_give(rig, 1, replication_rig_primary(rig, ""));
    await(rig, 1, member_done, "open", LONG_MS);
    member_give(rig, 0, replication_rig_replica(rig, 1));
    member_give(rig, 2, replication_rig_replica(rig, 1));
    await(rig, 0, member_ready, "ready", LONG_MS);
    await(rig, 2, member_ready, "ready", LONG_MS);
    send_big(rig, 1);
    member_give(rig, 2, to_await(rig, 0));
    await(rig, 2, is_ready_to_turn, "ready to turn", LESS_THAN_A_MINUTE_MS);
    member_give(rig, 2, replication_rig_replica(rig, 1));
    await(rig, 2, receives, "back", LESS_THAN_A_MINUTE_MS);
    await(rig, 0, member_ready, "ready", LONG_MS);
    for (unsigned i = 0; i < MEMBERS; i++)
        assert_true(member_says(rig, i, "SELECT COUNT(*) FROM t.big", "131072"));
}

static void test_a_torn_transaction_does_not_hold_up_who_is_opened(void **state)
{
    struct replication_rig *rig = *state;

    assert_true(member_sql(rig, 1, "TRUNCATE TABLE t.big", NULL));
    for (unsigned i = 0; i < MEMBERS; i++)
        assert_true(member_says(rig, i, "SELECT COUNT(*) FROM t.big", "0"));
    send_big(rig, 1);
    kill(rig->members[1].rig->server.inner, SIGKILL);
    rig->epoch++;
    member_give(rig, 0, replication_rig_primary(rig, ""));
    await(rig, 0, member_done, "open", LESS_THAN_A_MINUTE_MS);
    member_give(rig, 2, replication_rig_replica(rig, 0));
    assert_true(member_sql(rig, 0, "INSERT INTO t.w VALUES (4)", NULL));
    assert_true(member_says(rig, 0, "SELECT COUNT(*) IN (0, 131072) FROM t.big", "1"));
}

static bool is_numbered_twice(const struct member *member)
{
    uint32_t error = member->status.replication.applier_errno;

    return error == 1950 || error == 1964;
}

/* With numbers of this server's own, beyond all that it has received. */
static void write_errant(struct replication_rig *rig, unsigned member)
{
    _cleanup_(strbuf_release) struct strbuf sql;

    strbuf_init(&sql, KM_MIB);
    for (int i = 0; i < 100; i++)
        strbuf_addf(&sql, "CREATE DATABASE errant%d; ", i);
    assert_true(member_write_aside(rig, member, true, sql.buf));
}

static void stays_closed(struct replication_rig *rig, unsigned member)
{
    for (int i = 0; i < 15; i++) {
        replication_rig_run(rig, 100);
        assert_false(rig->members[member].status.writable);
    }
}

/* MariaDB gives the number of what was received and is not applied to what is written before that. Its positions then
 * show no gap. */
static void test_who_has_the_number_and_not_the_transaction_is_not_opened(void **state)
{
    struct replication_rig *rig = *state;
    struct agent_order hold = {.role = AGENT_ROLE_REPLICA, .max_lag_seconds = 5, .semi_sync = true};

    rig->semi_sync = true;
    make_tables(rig);
    pid_t lock = member_hold_lock(rig, 1, "LOCK TABLES t.w READ", 60);
    replication_rig_run(rig, 500);
    assert_true(member_sql(rig, 0, "INSERT INTO t.w VALUES (1)", NULL));
    replication_rig_run(rig, 1000);
    hold.epoch = ++rig->epoch;
    member_give(rig, 1, hold);
    await(rig, 1, member_is_held, "held", LONG_MS);
    struct agent_order order = replication_rig_primary(rig, rig->members[1].status.gtid_received);
    assert_string_not_equal(order.wait_for, rig->members[1].status.gtid_executed);
    write_errant(rig, 1);
    member_give(rig, 1, order);
    stays_closed(rig, 1);
    assert_true(member_owner_sql(rig, 1,
        "SET @id = (SELECT id FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP%'); "
        "EXECUTE IMMEDIATE CONCAT('KILL ', @id)",
        NULL));
    member_release_lock(lock);
    await(rig, 1, is_numbered_twice, "stopped by a number that was given twice", LONG_MS);
    stays_closed(rig, 1);
    /* Nor once that position is one of a replica: MASTER_GTID_WAIT goes by the number alone. */
    assert_true(member_owner_sql(rig, 1,
        "STOP SLAVE; RESET SLAVE ALL; SELECT @@global.gtid_binlog_pos INTO @at; "
        "SET GLOBAL gtid_slave_pos = @at",
        NULL));
    stays_closed(rig, 1);
    assert_true(member_says(rig, 1, "SELECT COUNT(*) FROM t.w", "0"));
}

int turn_stories_run(bool mysql)
{
    /* It leaves a member behind that would have to be copied anew. */
    const struct CMUnitTest numbers[] = {
        cmocka_unit_test(test_who_has_the_number_and_not_the_transaction_is_not_opened),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_replica_gets_ready_before_its_source_is_open),
        cmocka_unit_test(test_the_primary_moves_with_a_set_of_400_servers),
        cmocka_unit_test(test_a_torn_transaction_does_not_hold_up_who_turns),
        cmocka_unit_test(test_a_torn_transaction_does_not_hold_up_who_is_opened),
    };

    if (mysql)
        return cmocka_run_group_tests(tests, replication_rig_setup_mysql, replication_rig_teardown);
    int failed = cmocka_run_group_tests(numbers, replication_rig_setup_mariadb, replication_rig_teardown);
    return failed + cmocka_run_group_tests(tests, replication_rig_setup_mariadb, replication_rig_teardown);
}
