/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tests/own_account_stories.h"

#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "agent/tests/replication_rig.h"
#include "common/alloc.h"

#define DROP "DROP USER IF EXISTS mysql@localhost"
#define TRIES 10
/* Agents look at accounts each ten seconds; the primary's mends, a replica's sees that it did. */
#define MENDED_MS 40000
#define WATCH_MS 5000
#define LOOK_MS 8000 /* less than an agent takes from one look to the next */

static bool enters(struct replication_rig *rig, unsigned member)
{
    return member_owner_sql(rig, member, "DO 1", NULL);
}

static bool enters_again(struct replication_rig *rig, unsigned member)
{
    for (int waited_ms = 0; waited_ms < MENDED_MS; waited_ms += 200) {
        if (enters(rig, member))
            return true;
        replication_rig_run(rig, 200);
    }
    return false;
}

static bool is_well(const struct member *member)
{
    return member_ready(member) && member->status.problem_count == 0;
}

static void await_all(struct replication_rig *rig)
{
    for (unsigned i = 0; i < MEMBERS; i++)
        member_await(rig, i, is_well, "ready, and well");
}

static void test_dropped_on_the_primary_it_comes_back_everywhere(void **state)
{
    struct replication_rig *rig = *state;

    for (unsigned i = 0; i < MEMBERS; i++)
        member_await(rig, i, member_runs, "running");
    replication_rig_form(rig);
    await_all(rig);
    assert_true(enters(rig, 0));
    assert_true(member_root_sql(rig, 0, DROP, NULL));
    assert_false(enters(rig, 0));
    for (unsigned i = 0; i < MEMBERS; i++)
        assert_true(enters_again(rig, i));
    await_all(rig);
    assert_true(agent_rig_file_says(rig->members[0].rig, "run.log", "it is made anew"));
    replication_rig_switch_us(rig, 0, 1); /* by connections that were not open before */
    await_all(rig);
    assert_true(member_sql(rig, 1, "CREATE DATABASE mended", NULL));
}

static bool names_its_account(const struct member *member)
{
    const struct agent_status *status = &member->status;

    for (int i = 0; i < status->problem_count; i++) {
        if (str_eq(status->problems[i].reason, "AgentLockedOut"))
            return strstr(status->problems[i].message, "mysql@localhost") != NULL;
    }
    return false;
}

/* A replica of MySQL is read-only for its agent, too: the member has the problem while the agent is still connected. */
static void test_dropped_on_a_replica_alone(void **state)
{
    struct replication_rig *rig = *state;

    assert_true(member_write_aside(rig, 2, false, DROP));
    if (!rig->members[2].rig->mysql) {
        assert_true(enters_again(rig, 2));
        await_all(rig);
        return;
    }
    member_await(rig, 2, names_its_account, "says that its account is not there");
    assert_true(member_ready(&rig->members[2]));
    agent_rig_kill(&rig->members[2].rig->server);
    member_await(rig, 2, member_is_down, "down");
    replication_rig_start(rig, 2, "server");
    await_all(rig);
}

static void test_its_plugin_is_set_right(void **state)
{
    struct replication_rig *rig = *state;

    assert_true(member_root_sql(rig, 1,
        rig->members[1].rig->mysql
            ? "ALTER USER mysql@localhost IDENTIFIED WITH caching_sha2_password BY 'as-the-test-wants-1'"
            : "ALTER USER mysql@localhost IDENTIFIED VIA mysql_native_password USING PASSWORD('as-the-test-wants-1')",
        NULL));
    assert_false(enters(rig, 1));
    for (unsigned i = 0; i < MEMBERS; i++)
        assert_true(enters_again(rig, i));
    await_all(rig);
}

static void end_its_connections(struct replication_rig *rig, unsigned member)
{
    _cleanup_(strbuf_release) struct strbuf kills;

    strbuf_init(&kills, KM_MIB);
    assert_true(member_root_sql(rig, member,
        "SELECT CONCAT('KILL ', id, ';') FROM information_schema.processlist WHERE user = 'mysql'", &kills));
    (void)member_root_sql(rig, member, kills.buf, NULL); /* some have ended by themselves */
}

static bool is_locked_out(const struct member *member)
{
    return names_its_account(member) && !member->status.ready && member_runs(member);
}

/* A look of the agent's that falls between the two makes the account anew. */
static void lock_out(struct replication_rig *rig, unsigned member)
{
    for (int i = 0; i < TRIES; i++) {
        assert_true(member_root_sql(rig, member, DROP, NULL));
        end_its_connections(rig, member);
        if (replication_rig_await(rig, member, is_locked_out, "locked out", LOOK_MS))
            return;
    }
    member_await(rig, member, is_locked_out, "locked out");
}

/* It says what it knows: nothing of commits. Where the server is started anew the account is there. */
static void test_locked_out_it_says_so_and_no_more(void **state)
{
    struct replication_rig *rig = *state;

    lock_out(rig, 1);
    printf("%s\n", rig->members[1].status.problems[0].message);
    for (int i = 0; i < WATCH_MS / 100; i++) {
        replication_rig_run(rig, 100);
        assert_true(is_locked_out(&rig->members[1]));
        assert_int_equal(rig->members[1].status.writes_blocked_ms, 0);
        assert_int_equal(rig->members[1].status.stalled_ms, 0);
    }
    assert_true(member_sql(rig, 1, "CREATE DATABASE written_meanwhile", NULL));
    agent_rig_kill(&rig->members[1].rig->server);
    member_await(rig, 1, member_is_down, "down");
    replication_rig_start(rig, 1, "server");
    member_await(rig, 1, member_runs, "running again");
    member_give(rig, 1, rig->members[1].order);
    member_await(rig, 1, is_well, "primary again");
}

int own_account_stories_run(bool mysql)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dropped_on_the_primary_it_comes_back_everywhere),
        cmocka_unit_test(test_dropped_on_a_replica_alone),
        cmocka_unit_test(test_its_plugin_is_set_right),
        cmocka_unit_test(test_locked_out_it_says_so_and_no_more),
    };

    return cmocka_run_group_tests(
        tests, mysql ? replication_rig_setup_semi_mysql : replication_rig_setup_semi_mariadb, replication_rig_teardown);
}
