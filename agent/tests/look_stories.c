/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tests/look_stories.h"

#include <setjmp.h>
#include <stdlib.h>
#include <cmocka.h>

#include "agent/tests/replication_rig.h"

#define LONG_MS 60000
#define SHAPE                                                                                           \
    "SELECT GROUP_CONCAT(column_name ORDER BY ordinal_position) FROM information_schema.columns WHERE " \
    "table_schema = 'kubemysql' AND table_name = 'heartbeat'"

static bool told(const struct member *member)
{
    return member_has_problem(member, "LookFailed");
}

static bool is_looked_at(const struct member *member)
{
    return member_runs(member) && !told(member);
}

static bool is_well(const struct member *member)
{
    return member_ready(member) && member->status.problem_count == 0;
}

static bool has_no_lag(const struct member *member)
{
    return is_well(member) && member->status.replication.lag_known && member->status.replication.lag_ms < 2000;
}

static bool is_closed(const struct member *member)
{
    return member_done(member) && member->status.read_only && !member->status.writable;
}

static bool is_open_and_told(const struct member *member)
{
    return member_ready(member) && member->status.writable && told(member);
}

static void await_well(struct replication_rig *rig)
{
    member_await(rig, 0, is_well, "well");
    for (unsigned i = 1; i < MEMBERS; i++)
        member_await(rig, i, has_no_lag, "without lag");
}

static void test_the_members(void **state)
{
    struct replication_rig *rig = *state;

    for (unsigned i = 0; i < MEMBERS; i++)
        assert_true(replication_rig_await(rig, i, member_runs, "running", LONG_MS));
    replication_rig_form(rig);
    assert_true(member_sql(rig, 0, "CREATE DATABASE t; CREATE TABLE t.w (id BIGINT PRIMARY KEY)", NULL));
    await_well(rig);
}

static void test_a_heartbeat_of_another_shape_is_made_anew(void **state)
{
    struct replication_rig *rig = *state;
    static const char *const statements[] = {
        "ALTER TABLE kubemysql.heartbeat CHANGE written_at written BIGINT NOT NULL",
        "ALTER TABLE kubemysql.heartbeat DROP COLUMN epoch",
    };

    for (size_t i = 0; i < ARRAY_LEN(statements); i++) {
        assert_true(member_sql(rig, 0, statements[i], NULL));
        assert_true(member_says(rig, 0, SHAPE, "id,epoch,written_at"));
        assert_true(member_says(rig, 2, SHAPE, "id,epoch,written_at"));
        await_well(rig);
    }
}

/* Fenced while nobody can tell its accounts, and a heartbeat is there that the agent does not touch. */
static void test_closed_although_tables_cannot_be_read(void **state)
{
    struct replication_rig *rig = *state;

    assert_true(member_sql(rig, 0, "ALTER TABLE kubemysql.accounts CHANGE hash other CHAR(64) NOT NULL", NULL));
    member_await(rig, 0, is_open_and_told, "open, and something is not known");
    member_await(rig, 1, told, "something is not known of a replica either");
    assert_true(rig->members[1].status.replication.lag_known);
    assert_int_equal(rig->members[1].status.replication.receiver, AGENT_THREAD_RUNNING);
    assert_false(rig->members[1].status.accounts_applied);
    assert_true(member_sql(rig, 0, "INSERT INTO t.w VALUES (1)", NULL));
    rig->epoch++;
    member_give(rig, 0, replication_rig_fence(rig));
    assert_true(replication_rig_await(rig, 0, is_closed, "closed", 10000));
    assert_true(told(&rig->members[0]));
    assert_false(member_sql(rig, 0, "INSERT INTO t.w VALUES (2)", NULL));
    replication_rig_form(rig);
    assert_true(member_sql(rig, 0, "ALTER TABLE kubemysql.accounts CHANGE other hash CHAR(64) NOT NULL", NULL));
    await_well(rig);
}

/* What a client says is nobody's business, and keeps nobody from looking: characters of four bytes, bytes that are no
 * characters, and other character sets than the agent's. */
#define ONE_WAITS(charset, id, text) \
    "SET NAMES " charset "; BEGIN; INSERT INTO t.w VALUES (" id "); SELECT SLEEP(60), " text
static const char *const waiting[] = {
    ONE_WAITS("utf8mb4", "21", "'\xf0\x9f\x98\x80'"),
    ONE_WAITS("utf8mb4", "22", "_binary '\xff\xfe\xf0\x9f'"),
    ONE_WAITS("binary", "23", "'\xff\xfe\xf0\x9f\x80'"),
    ONE_WAITS("latin1", "24", "'\xe9\xff\xfe'"),
};

static bool names_all_that_wait(const struct member *member)
{
    return member->status.long_transactions == ARRAY_LEN(waiting) &&
        strstr(member->status.long_transaction, " s: SELECT");
}

static bool names_nobody(const struct member *member)
{
    return is_well(member) && member->status.long_transactions == 0;
}

static void test_looked_at_whatever_clients_say(void **state)
{
    struct replication_rig *rig = *state;
    pid_t pids[ARRAY_LEN(waiting)];

    for (size_t i = 0; i < ARRAY_LEN(waiting); i++)
        pids[i] = member_hold_lock(rig, 0, waiting[i], 0);
    member_await(rig, 0, names_all_that_wait, "naming those whose transactions are open");
    for (int i = 0; i < 20; i++) {
        replication_rig_run(rig, 100);
        assert_false(told(&rig->members[0]));
    }
    assert_true(is_well(&rig->members[0]));
    for (size_t i = 0; i < ARRAY_LEN(waiting); i++)
        member_release_lock(pids[i]);
    assert_true(member_says(rig, 0, "SELECT COUNT(*) FROM t.w WHERE id BETWEEN 21 AND 24", "0"));
    member_await(rig, 0, names_nobody, "without open transactions");
}

/* A view in place of the table: it is named, and closing needs none of it. */
static void test_closed_although_the_heartbeat_cannot_be_read(void **state)
{
    struct replication_rig *rig = *state;

    assert_true(member_sql(rig, 0,
        "DROP TABLE IF EXISTS kubemysql.heartbeat; CREATE VIEW kubemysql.heartbeat AS SELECT id FROM t.w", NULL));
    member_await(rig, 0, is_open_and_told, "open, and something is not known");
    rig->epoch++;
    member_give(rig, 0, replication_rig_fence(rig));
    assert_true(replication_rig_await(rig, 0, is_closed, "closed", 10000));
    assert_non_null(strstr(rig->members[0].status.problems[0].message, "kubemysql.heartbeat"));
    assert_false(member_sql(rig, 0, "INSERT INTO t.w VALUES (3)", NULL));
    replication_rig_form(rig);
    assert_true(member_sql(rig, 0, "DROP VIEW kubemysql.heartbeat", NULL));
    await_well(rig);
}

/* Without it there is no SHOW REPLICA STATUS; whoever is connected keeps it. */
#define RIGHT "REPLICATION CLIENT, SUPER ON *.*"

static void start_agent_anew(struct replication_rig *rig)
{
    agent_rig_kill(&rig->members[0].rig->agent);
    replication_rig_start(rig, 0, "run");
}

/* I6: the essential is not told, to an agent that has never heard it: it closes the server, and does not say that this
 * is done. */
static void test_closed_although_no_look_gets_to_its_end(void **state)
{
    struct replication_rig *rig = *state;
    static const char revoke[] = "SET SESSION sql_log_bin = 0; REVOKE " RIGHT " FROM mysql@localhost";
    static const char grant[] = "SET SESSION sql_log_bin = 0; SET GLOBAL read_only = 0; GRANT " RIGHT
                                " TO mysql@localhost; SET GLOBAL super_read_only = 1";

    assert_true(member_sql(rig, 0, "INSERT INTO t.w VALUES (4)", NULL));
    assert_true(member_root_sql(rig, 0, revoke, NULL));
    start_agent_anew(rig);
    member_await(rig, 0, told, "nothing is known");
    assert_true(rig->members[0].status.writable);
    rig->epoch++;
    member_give(rig, 0, replication_rig_fence(rig));
    assert_true(member_says(rig, 0, "SELECT @@global.read_only", "1"));
    assert_false(member_sql(rig, 0, "INSERT INTO t.w VALUES (5)", NULL));
    replication_rig_run(rig, 1000);
    assert_false(rig->members[0].status.order_done);
    assert_true(told(&rig->members[0]));
    assert_true(member_root_sql(rig, 0, grant, NULL));
    start_agent_anew(rig);
    member_await(rig, 0, is_looked_at, "looked at");
    member_give(rig, 0, replication_rig_fence(rig));
    member_await(rig, 0, is_closed, "closed");
    replication_rig_form(rig);
    await_well(rig);
}

int look_stories_run(bool mysql)
{
    /* Without SUPER MariaDB lets nobody close it. */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_members),
        cmocka_unit_test(test_a_heartbeat_of_another_shape_is_made_anew),
        cmocka_unit_test(test_looked_at_whatever_clients_say),
        cmocka_unit_test(test_closed_although_tables_cannot_be_read),
        cmocka_unit_test(test_closed_although_the_heartbeat_cannot_be_read),
    };
    const struct CMUnitTest mysql_tests[] = {
        cmocka_unit_test(test_the_members),
        cmocka_unit_test(test_a_heartbeat_of_another_shape_is_made_anew),
        cmocka_unit_test(test_looked_at_whatever_clients_say),
        cmocka_unit_test(test_closed_although_tables_cannot_be_read),
        cmocka_unit_test(test_closed_although_the_heartbeat_cannot_be_read),
        cmocka_unit_test(test_closed_although_no_look_gets_to_its_end),
    };

    cmocka_set_test_filter(getenv("TEST_CASE"));
    return mysql ? cmocka_run_group_tests_name(
                       "look MySQL", mysql_tests, replication_rig_setup_semi_mysql, replication_rig_teardown)
                 : cmocka_run_group_tests_name(
                       "look MariaDB", tests, replication_rig_setup_semi_mariadb, replication_rig_teardown);
}
