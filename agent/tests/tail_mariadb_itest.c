/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a dead primary's binary log, and what the next primary had of it when it was chosen (server_start.h). */
#include "common/base.h"

#include <setjmp.h>
#include <signal.h>
#include <cmocka.h>

#include "agent/tests/replication_rig.h"
#include "common/alloc.h"

#define MARK "vol/.kube-mysql/semi-sync-primary"
#define SET_ASIDE "vol/.kube-mysql/set-aside"

static bool has_waiting_commit(const struct member *member)
{
    return member->status.waiting_commits > 0;
}

/* Statements for accounts are not transactions: nothing cuts them off. */
static bool has_made_accounts(const struct member *member)
{
    return member_ready(member) && member->status.accounts_applied;
}

static void hold(struct replication_rig *rig, unsigned member)
{
    struct agent_order order = replication_rig_replica(rig, 0);

    order.source_host[0] = '\0';
    member_give(rig, member, order);
    member_await(rig, member, member_is_held, "held");
}

/* Its engine may have on the disk less than its binary log. */
static void kill_primary(struct replication_rig *rig, unsigned member)
{
    agent_rig_kill(&rig->members[member].rig->server);
    member_await(rig, member, member_is_down, "down");
}

/* Returns what it had when it was chosen. The caller frees. */
static char *take_over(struct replication_rig *rig, unsigned to)
{
    rig->epoch++;
    hold(rig, to);
    char *floor = xstrdup(rig->members[to].status.gtid_received);
    member_give(rig, to, replication_rig_primary(rig, floor));
    member_await(rig, to, member_done, "open");
    return floor;
}

static void come_back(struct replication_rig *rig, unsigned member, unsigned primary, const char *floor)
{
    struct agent_order order = replication_rig_replica(rig, primary);

    order.truncate = true;
    order.beyond = floor;
    member_give(rig, member, order);
    replication_rig_start(rig, member, "server");
    member_await(rig, member, member_ready, "a replica again");
    assert_string_equal(rig->members[member].status.errant, "");
}

static void await_mark(struct replication_rig *rig, unsigned member)
{
    for (int i = 0; i < 300 && !agent_rig_has(rig->members[member].rig, MARK); i++)
        replication_rig_run(rig, 100);
    assert_true(agent_rig_has(rig->members[member].rig, MARK));
}

static void test_the_members(void **state)
{
    struct replication_rig *rig = *state;

    for (unsigned i = 0; i < MEMBERS; i++)
        member_await(rig, i, member_runs, "running");
    replication_rig_form(rig);
    assert_true(member_sql(rig, 0, "CREATE DATABASE t; CREATE TABLE t.w (id BIGINT PRIMARY KEY)", NULL));
    await_mark(rig, 0);
}

static void test_what_the_next_primary_had_is_not_cut_off(void **state)
{
    struct replication_rig *rig = *state;
    _cleanup_(strbuf_release) struct strbuf sql;

    strbuf_init(&sql, KM_MIB);
    for (int i = 1; i <= 20; i++)
        strbuf_addf(&sql, "INSERT INTO t.w VALUES (%d); ", i);
    assert_true(member_sql(rig, 0, sql.buf, NULL));
    kill_primary(rig, 0);
    _cleanup_(freep) char *floor = take_over(rig, 1);
    come_back(rig, 0, 1, floor);
    assert_true(member_says(rig, 0, "SELECT COUNT(*) FROM t.w", "20"));
    assert_true(agent_rig_file_says(rig->members[0].rig, "server.log", "nothing is cut off"));
    assert_false(agent_rig_file_says(rig->members[0].rig, "server.log", "cuts off what nobody has acknowledged"));
    assert_false(agent_rig_has(rig->members[0].rig, SET_ASIDE));
    assert_false(agent_rig_has(rig->members[0].rig, MARK));
    assert_true(member_says(rig, 0, "SELECT @@global.gtid_domain_id", "0"));
}

/* The floor is known, and the tail goes beyond it. */
static void test_what_it_lacked_is_cut_off(void **state)
{
    struct replication_rig *rig = *state;

    member_give(rig, 2, replication_rig_replica(rig, 1));
    member_await(rig, 2, member_ready, "ready");
    member_await(rig, 1, has_made_accounts, "ready, with its accounts");
    assert_true(member_sql(rig, 1, "INSERT INTO t.w VALUES (21)", NULL));
    await_mark(rig, 1);
    hold(rig, 0);
    hold(rig, 2);
    pid_t writer = member_hold_lock(rig, 1, "INSERT INTO t.w VALUES (22)", 1);
    member_await(rig, 1, has_waiting_commit, "waiting");
    replication_rig_run(rig, 500);
    kill_primary(rig, 1);
    member_release_lock(writer);
    _cleanup_(freep) char *floor = take_over(rig, 2);
    come_back(rig, 1, 2, floor);
    assert_true(member_says(rig, 1, "SELECT COUNT(*) FROM t.w", "21"));
    assert_true(agent_rig_file_says(rig->members[1].rig, "server.log", "cuts off what nobody has acknowledged"));
    assert_true(agent_rig_has(rig->members[1].rig, SET_ASIDE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_members),
        cmocka_unit_test(test_what_the_next_primary_had_is_not_cut_off),
        cmocka_unit_test(test_what_it_lacked_is_cut_off),
    };

    if (!agent_rig_possible())
        return 77;
    return cmocka_run_group_tests(tests, replication_rig_setup_semi_mariadb, replication_rig_teardown);
}
