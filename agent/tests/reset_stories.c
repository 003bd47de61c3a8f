/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tests/reset_stories.h"

#include <setjmp.h>
#include <cmocka.h>

#include "agent/tests/replication_rig.h"
#include "common/alloc.h"
#include "common/strbuf.h"

#define LONG_MS 60000
/* Several times what it takes to be sure. */
#define WATCHED_MS 12000

static bool is_mysql(const struct replication_rig *rig)
{
    return rig->members[0].rig->mysql;
}

static void await(struct replication_rig *rig, unsigned member, status_test test, const char *what)
{
    assert_true(replication_rig_await(rig, member, test, what, LONG_MS));
}

static void await_all_ready(struct replication_rig *rig)
{
    for (unsigned i = 0; i < MEMBERS; i++)
        await(rig, i, member_ready, "ready");
}

static bool has_lost_gtids(const struct member *member)
{
    return member_has_problem(member, "GtidsLost");
}

static bool is_whole(const struct member *member)
{
    return member_ready(member) && member->status.problem_count == 0;
}

static const char *what_it_says(const struct member *member)
{
    for (int i = 0; i < member->status.problem_count; i++) {
        if (member->status.problems[i].kind == AGENT_PROBLEM_GTIDS_LOST)
            return member->status.problems[i].message;
    }
    return "";
}

static void make_rows(struct replication_rig *rig)
{
    for (unsigned i = 0; i < MEMBERS; i++)
        await(rig, i, member_runs, "running");
    replication_rig_form(rig);
    assert_true(member_sql(rig, 0, "CREATE DATABASE t; CREATE TABLE t.w (id BIGINT PRIMARY KEY)", NULL));
    assert_true(member_sql(rig, 0, "INSERT INTO t.w VALUES (1)", NULL));
    replication_rig_switch_us(rig, 0, 1); /* there are transactions of two members */
    await_all_ready(rig);
    replication_rig_switch_us(rig, 1, 0);
    await_all_ready(rig);
    assert_true(member_sql(rig, 0, "INSERT INTO t.w VALUES (2)", NULL));
    assert_true(member_says(rig, 2, "SELECT COUNT(*) FROM t.w", "2"));
}

/* Changes of role, and a server that is killed and comes back, are no loss to anybody. */
static void test_nobody_has_lost_anything(void **state)
{
    struct replication_rig *rig = *state;

    make_rows(rig);
    agent_rig_kill(&rig->members[2].rig->server);
    replication_rig_start(rig, 2, "server");
    for (unsigned i = 0; i < MEMBERS; i++)
        await(rig, i, is_whole, "whole");
    replication_rig_run(rig, WATCHED_MS);
    for (unsigned i = 0; i < MEMBERS; i++)
        assert_string_equal(what_it_says(&rig->members[i]), "");
}

/* MySQL: its server says nothing, and goes on. */
static void test_a_replica_that_was_reset(void **state)
{
    struct replication_rig *rig = *state;

    if (!is_mysql(rig))
        return;
    await(rig, 2, is_whole, "whole");
    rig->gtids_are_emptied = true;
    assert_true(member_sql(rig, 2, "RESET BINARY LOGS AND GTIDS", NULL));
    await(rig, 2, has_lost_gtids, "said to have lost transactions");
    printf("%s\n", what_it_says(&rig->members[2]));
    assert_true(rig->members[2].status.ready); /* its data is as it was */
    assert_string_equal(rig->members[2].status.errant, "");
    assert_true(member_sql(rig, 0, "INSERT INTO t.w VALUES (3)", NULL));
    assert_true(member_says(rig, 2, "SELECT COUNT(*) FROM t.w", "3"));
    replication_rig_run(rig, WATCHED_MS);
    assert_true(has_lost_gtids(&rig->members[2]));
    assert_false(has_lost_gtids(&rig->members[0]));
    assert_false(has_lost_gtids(&rig->members[1]));
    /* A person gives back all that is lost, which takes more than the message names: what was executed after the last
     * look before is lost as well. */
    _cleanup_(strbuf_release) struct strbuf all;
    strbuf_init(&all, 4 * KM_KIB);
    assert_true(member_sql(rig, 0, "SELECT REPLACE(@@GLOBAL.gtid_executed, '\n', '')", &all));
    all.buf[strcspn(all.buf, "\n")] = '\0';
    replication_rig_run(rig, 3000); /* it is received, and applied */
    _cleanup_(freep) char *give = xasprintf("STOP REPLICA; SET GLOBAL gtid_purged = CONCAT('+', "
                                            "GTID_SUBTRACT('%s', @@GLOBAL.gtid_executed)); START REPLICA",
        all.buf);
    assert_true(member_root_sql(rig, 2, give, NULL));
    await(rig, 2, is_whole, "whole");
    replication_rig_switch_us(rig, 0, 2);
    await_all_ready(rig);
    replication_rig_switch_us(rig, 2, 0);
    await_all_ready(rig);
}

/* MariaDB's replica keeps its position over RESET MASTER, and its binary log begins anew: it can be followed. */
static void test_a_replica_whose_log_was_reset_becomes_primary(void **state)
{
    struct replication_rig *rig = *state;

    if (is_mysql(rig))
        return;
    assert_true(member_sql(rig, 2, "RESET MASTER", NULL));
    assert_true(member_sql(rig, 0, "INSERT INTO t.w VALUES (3)", NULL));
    assert_true(member_says(rig, 2, "SELECT COUNT(*) FROM t.w", "3"));
    replication_rig_run(rig, WATCHED_MS);
    assert_true(is_whole(&rig->members[2]));
    replication_rig_switch_us(rig, 0, 2);
    await_all_ready(rig);
    replication_rig_switch_us(rig, 2, 0);
    await_all_ready(rig);
}

/* MariaDB: its source sends it all again, from the beginning. */
static void test_a_replica_whose_position_was_emptied(void **state)
{
    struct replication_rig *rig = *state;

    if (is_mysql(rig))
        return;
    await(rig, 2, is_whole, "whole");
    bool is_emptied = false;
    rig->gtids_are_emptied = true;
    for (int i = 0; i < 20 && !is_emptied; i++) /* the agent may start it again in between */
        is_emptied =
            member_root_sql(rig, 2, "RESET MASTER; STOP SLAVE; SET GLOBAL gtid_slave_pos = ''; RESET MASTER", NULL);
    assert_true(is_emptied);
    await(rig, 2, has_lost_gtids, "said to have lost transactions");
    printf("%s\n", what_it_says(&rig->members[2]));
    assert_false(has_lost_gtids(&rig->members[0]));
    assert_false(has_lost_gtids(&rig->members[1]));
}

/* Nothing is concluded about a primary, whatever was done to it. */
static void test_a_primary_that_was_reset(void **state)
{
    struct replication_rig *rig = *state;

    assert_true(member_sql(rig, 0, is_mysql(rig) ? "RESET BINARY LOGS AND GTIDS" : "RESET MASTER", NULL));
    replication_rig_run(rig, WATCHED_MS);
    assert_false(has_lost_gtids(&rig->members[0]));
    assert_false(has_lost_gtids(&rig->members[1]));
}

int reset_stories_run(bool mysql)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody_has_lost_anything),
        cmocka_unit_test(test_a_replica_that_was_reset),
        cmocka_unit_test(test_a_replica_whose_log_was_reset_becomes_primary),
        cmocka_unit_test(test_a_replica_whose_position_was_emptied),
        cmocka_unit_test(test_a_primary_that_was_reset),
    };

    cmocka_set_test_filter(getenv("TEST_CASE"));
    return mysql
        ? cmocka_run_group_tests_name("reset MySQL", tests, replication_rig_setup_semi_mysql, replication_rig_teardown)
        : cmocka_run_group_tests_name(
              "reset MariaDB", tests, replication_rig_setup_semi_mariadb, replication_rig_teardown);
}
