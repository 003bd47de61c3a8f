/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tests/reset_stories.h"

#include <setjmp.h>
#include <signal.h>
#include <cmocka.h>

#include "agent/tests/replication_rig.h"
#include "common/alloc.h"

#define LONG_MS 60000
/* Two comparisons with the source, and a row of it in between, which may come every six seconds. */
#define JUDGED_MS 40000

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

static void reset(struct replication_rig *rig, unsigned member)
{
    assert_true(member_sql(rig, member, is_mysql(rig) ? "RESET BINARY LOGS AND GTIDS" : "RESET MASTER", NULL));
}

static bool has_lost_gtids(const struct member *member)
{
    return member_has_problem(member, "GtidsLost") && member->status.gtids_lost_ms > 0;
}

static bool is_unready_for_it(const struct member *member)
{
    return has_lost_gtids(member) && !member->status.ready;
}

static bool is_whole(const struct member *member)
{
    return member_ready(member) && member->status.gtids_lost_ms == 0 && member->status.problem_count == 0;
}

static bool is_marked(const struct member *member)
{
    return member->status.mark == AGENT_MARK_RESEED;
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
}

/* Its server says nothing, and goes on. */
static void test_a_replica_that_was_reset(void **state)
{
    struct replication_rig *rig = *state;

    make_rows(rig);
    if (!is_mysql(rig))
        return;
    await(rig, 2, is_whole, "whole");
    reset(rig, 2);
    await(rig, 2, is_unready_for_it, "known to lack transactions");
    printf("%s\n", rig->members[2].status.problems[0].message);
    assert_string_equal(rig->members[2].status.errant, "");
    assert_true(member_sql(rig, 0, "INSERT INTO t.w VALUES (3)", NULL));
    assert_true(member_says(rig, 2, "SELECT COUNT(*) FROM t.w", "3"));
    replication_rig_run(rig, 12000);
    assert_true(is_unready_for_it(&rig->members[2]));
    assert_false(has_lost_gtids(&rig->members[0]));
    assert_false(has_lost_gtids(&rig->members[1]));
    /* A person gives it back what the message names. */
    const char *lacking = strstr(rig->members[2].status.problems[0].message, "): ");
    assert_non_null(lacking);
    _cleanup_(freep) char *give =
        xasprintf("STOP REPLICA; SET GLOBAL gtid_purged = '+%s'; START REPLICA", lacking + strlen("): "));
    assert_true(member_root_sql(rig, 2, give, NULL));
    assert_true(replication_rig_await(rig, 2, is_whole, "whole", JUDGED_MS));
}

static bool waits_for_word(const struct member *member)
{
    return member_runs(member) && str_empty(member->status.order_hash);
}

/* It has not seen what the set was before. */
static void test_an_agent_that_comes_later_finds_it(void **state)
{
    struct replication_rig *rig = *state;

    if (!is_mysql(rig))
        return;
    agent_rig_kill(&rig->members[2].rig->agent);
    reset(rig, 2);
    replication_rig_start(rig, 2, "run");
    await(rig, 2, waits_for_word, "without an order");
    member_give(rig, 2, replication_rig_replica(rig, 0));
    assert_true(replication_rig_await(rig, 2, is_unready_for_it, "known to lack transactions", JUDGED_MS));
    printf("%s\n", rig->members[2].status.problems[0].message);
    /* What the operator does about it. */
    struct agent_order order = replication_rig_replica(rig, 0);
    order.mark = AGENT_MARK_RESEED;
    order.set_aside = true;
    assert_int_equal(replication_rig_order(rig, 2, &order), 200);
    await(rig, 2, is_marked, "marked");
}

/* MariaDB's replica keeps its position, and its binary log begins anew: it can be followed. */
static void test_a_replica_that_was_reset_becomes_primary(void **state)
{
    struct replication_rig *rig = *state;

    if (is_mysql(rig))
        return;
    reset(rig, 2);
    assert_true(member_sql(rig, 0, "INSERT INTO t.w VALUES (3)", NULL));
    assert_true(member_says(rig, 2, "SELECT COUNT(*) FROM t.w", "3"));
    replication_rig_run(rig, 8000);
    assert_true(is_whole(&rig->members[2]));
    replication_rig_switch_us(rig, 0, 2);
    await_all_ready(rig);
    assert_true(member_sql(rig, 2, "INSERT INTO t.w VALUES (4)", NULL));
    assert_true(member_says(rig, 1, "SELECT COUNT(*) FROM t.w", "4"));
    replication_rig_switch_us(rig, 2, 0);
    await_all_ready(rig);
}

static bool waits_for_acknowledgements(const struct member *member)
{
    return has_lost_gtids(member) && member->status.writes_blocked_ms > 1000;
}

static bool receives_nothing(const struct member *member)
{
    return member_done(member) && member->status.replication.receiver == AGENT_THREAD_OFF;
}

/* Nobody can follow it, so nothing is acknowledged any more; another one takes over with all that was. */
static void test_a_primary_that_was_reset(void **state)
{
    struct replication_rig *rig = *state;
    struct agent_order hold;

    assert_true(member_sql(rig, 0, "INSERT INTO t.w VALUES (10)", NULL));
    reset(rig, 0);
    pid_t writer = member_hold_lock(rig, 0, "INSERT INTO t.w VALUES (11)", 1);
    await(rig, 0, waits_for_acknowledgements, "waiting for acknowledgements");
    printf("%s\n", rig->members[0].status.problems[0].message);
    assert_false(rig->members[0].status.replication.caught_up && is_mysql(rig));
    rig->epoch++;
    hold = (struct agent_order){.epoch = rig->epoch, .role = AGENT_ROLE_REPLICA, .semi_sync = true};
    assert_int_equal(replication_rig_order(rig, 0, &hold), 200);
    assert_int_equal(replication_rig_order(rig, 1, &hold), 200);
    await(rig, 0, receives_nothing, "held");
    await(rig, 1, receives_nothing, "held");
    assert_true(has_lost_gtids(&rig->members[0])); /* its answer says so */
    member_release_lock(writer);
    struct agent_order order = replication_rig_primary(rig, rig->members[1].status.gtid_received);
    order.semi_sync = false;
    assert_int_equal(replication_rig_order(rig, 1, &order), 200);
    await(rig, 1, member_done, "open");
    assert_true(member_says(rig, 1, "SELECT COUNT(*) FROM t.w WHERE id IN (1, 2, 3, 10)", "4"));
    assert_true(member_says(rig, 1, "SELECT COUNT(*) FROM t.w WHERE id = 11", "0"));
    order = replication_rig_replica(rig, 1);
    order.mark = AGENT_MARK_RESEED;
    order.set_aside = true;
    assert_int_equal(replication_rig_order(rig, 0, &order), 200);
    await(rig, 0, is_marked, "marked");
}

int reset_stories_run(bool mysql)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_replica_that_was_reset),
        cmocka_unit_test(test_an_agent_that_comes_later_finds_it),
        cmocka_unit_test(test_a_replica_that_was_reset_becomes_primary),
        cmocka_unit_test(test_a_primary_that_was_reset),
    };

    cmocka_set_test_filter(getenv("TEST_CASE"));
    return mysql
        ? cmocka_run_group_tests_name("reset MySQL", tests, replication_rig_setup_semi_mysql, replication_rig_teardown)
        : cmocka_run_group_tests_name(
              "reset MariaDB", tests, replication_rig_setup_semi_mariadb, replication_rig_teardown);
}
