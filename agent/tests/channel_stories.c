/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tests/channel_stories.h"

#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "agent/tests/replication_rig.h"
#include "common/alloc.h"

#define WATCH_MS 4000
/* Nobody listens there. */
#define NOWHERE_HOST "127.0.0.1"
#define NOWHERE_PORT 1

static bool is_mysql(const struct replication_rig *rig)
{
    return rig->members[0].rig->mysql;
}

static void on_channel(struct replication_rig *rig, unsigned member, const char *verb, const char *rest)
{
    _cleanup_(freep) char *sql = is_mysql(rig) ? xasprintf("%s REPLICA %s FOR CHANNEL 'chan2'", verb, rest)
                                               : xasprintf("%s SLAVE 'chan2' %s", verb, rest);

    assert_true(member_owner_sql(rig, member, sql, NULL));
}

/* As a person would, who means to bring data in from another server. */
static void make_channel(struct replication_rig *rig, unsigned member)
{
    _cleanup_(freep) char *sql = is_mysql(rig)
        ? xasprintf("CHANGE REPLICATION SOURCE TO SOURCE_HOST = '" NOWHERE_HOST
                    "', SOURCE_PORT = %d, SOURCE_USER = 'x', "
                    "SOURCE_PASSWORD = 'y', SOURCE_AUTO_POSITION = 1 FOR CHANNEL 'chan2'",
              NOWHERE_PORT)
        : xasprintf("CHANGE MASTER 'chan2' TO MASTER_HOST = '" NOWHERE_HOST "', MASTER_PORT = %d, MASTER_USER = 'x', "
                    "MASTER_PASSWORD = 'y'",
              NOWHERE_PORT);

    assert_true(member_owner_sql(rig, member, sql, NULL));
}

static bool names_the_channel(const struct member *member)
{
    const struct agent_status *status = &member->status;

    for (int i = 0; i < status->problem_count; i++) {
        if (str_eq(status->problems[i].reason, "ForeignChannel"))
            return strstr(status->problems[i].message, "'chan2'") != NULL;
    }
    return false;
}

static bool has_no_problem(const struct member *member)
{
    return member_ready(member) && member->status.problem_count == 0;
}

static bool follows_and_says_so(const struct member *member)
{
    const struct agent_status *status = &member->status;

    return member_ready(member) && names_the_channel(member) && status->problem_count == 1 &&
        status->replication.receiver == AGENT_THREAD_RUNNING && status->replication.applier == AGENT_THREAD_RUNNING;
}

static void insert(struct replication_rig *rig, unsigned primary, int row)
{
    _cleanup_(freep) char *sql = xasprintf("INSERT INTO channels.t VALUES (%d)", row);

    assert_true(member_sql(rig, primary, sql, NULL));
}

static void expect_rows(struct replication_rig *rig, unsigned member, const char *count)
{
    assert_true(member_says(rig, member, "SELECT COUNT(*) FROM channels.t", count));
}

/* Not for a moment. */
static void expect_to_go_on(struct replication_rig *rig, unsigned member)
{
    for (int i = 0; i < WATCH_MS / 100; i++) {
        replication_rig_run(rig, 100);
        assert_true(follows_and_says_so(&rig->members[member]));
    }
}

static void test_a_replica_goes_on_beside_a_channel_made_by_hand(void **state)
{
    struct replication_rig *rig = *state;

    for (unsigned i = 0; i < MEMBERS; i++)
        member_await(rig, i, member_runs, "running");
    replication_rig_form(rig);
    assert_true(member_sql(rig, 0, "CREATE DATABASE channels; CREATE TABLE channels.t (id INT PRIMARY KEY)", NULL));
    make_channel(rig, 2);
    member_await(rig, 2, follows_and_says_so, "follows, and names the channel");
    expect_to_go_on(rig, 2);
    insert(rig, 0, 1);
    expect_rows(rig, 2, "1");
    on_channel(rig, 2, "START", "");
    expect_to_go_on(rig, 2);
    insert(rig, 0, 2);
    expect_rows(rig, 2, "2");
}

/* The other channel stays as it was made, also where its member becomes the primary. */
static void test_it_is_neither_stopped_nor_removed(void **state)
{
    struct replication_rig *rig = *state;

    replication_rig_switch_us(rig, 0, 2);
    member_await(rig, 2, member_ready, "open");
    member_await(rig, 0, member_ready, "follows");
    member_await(rig, 1, member_ready, "follows");
    assert_true(names_the_channel(&rig->members[2]));
    insert(rig, 2, 3);
    expect_rows(rig, 0, "3");
    assert_true(member_says(rig, 2,
        is_mysql(rig) ? "SELECT SERVICE_STATE IN ('ON', 'CONNECTING') FROM "
                        "performance_schema.replication_connection_status WHERE CHANNEL_NAME = 'chan2'"
                      : "SELECT VARIABLE_VALUE FROM information_schema.global_status WHERE VARIABLE_NAME = "
                        "'Slaves_running'",
        "1"));
}

static bool says_who_is_in_the_way(const struct member *member)
{
    const struct agent_status *status = &member->status;

    for (int i = 0; i < status->problem_count; i++) {
        if (str_eq(status->problems[i].reason, "RoleFailed"))
            return strstr(status->problems[i].message, "chan2") != NULL && names_the_channel(member);
    }
    return false;
}

/* MariaDB sets gtid_slave_pos, which a server that was primary has to, only while no channel runs. */
static void test_a_former_primary_follows_once_it_is_gone(void **state)
{
    struct replication_rig *rig = *state;

    replication_rig_switch_us(rig, 2, 0);
    member_await(rig, 0, member_ready, "open");
    insert(rig, 0, 4);
    if (is_mysql(rig))
        member_await(rig, 2, follows_and_says_so, "follows, and names the channel");
    else
        member_await(rig, 2, says_who_is_in_the_way, "names the channel that is in the way");
    on_channel(rig, 2, "STOP", "");
    member_await(rig, 2, follows_and_says_so, "follows, and names the channel");
    on_channel(rig, 2, "RESET", "ALL");
    member_await(rig, 2, has_no_problem, "nothing is left of it");
    expect_rows(rig, 2, "4");
}

int channel_stories_run(bool mysql)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_replica_goes_on_beside_a_channel_made_by_hand),
        cmocka_unit_test(test_it_is_neither_stopped_nor_removed),
        cmocka_unit_test(test_a_former_primary_follows_once_it_is_gone),
    };

    return cmocka_run_group_tests(
        tests, mysql ? replication_rig_setup_semi_mysql : replication_rig_setup_semi_mariadb, replication_rig_teardown);
}
