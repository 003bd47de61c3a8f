/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tests/maintenance_stories.h"

#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "agent/tests/replication_rig.h"
#include "common/alloc.h"

#define LONG_MS 60000
#define WATCH_MS 4000 /* what an agent has not undone for so long it leaves as it is */

static const char *replica_word(const struct replication_rig *rig)
{
    return rig->members[0].rig->mysql ? "REPLICA" : "SLAVE";
}

static void stop_threads(struct replication_rig *rig, unsigned member, const char *thread)
{
    _cleanup_(freep) char *sql = xasprintf("STOP %s %s", replica_word(rig), thread);

    assert_true(member_owner_sql(rig, member, sql, NULL));
}

static bool receiver_is_off(const struct member *member)
{
    return member->status.replication.receiver == AGENT_THREAD_OFF;
}

static bool applier_is_off(const struct member *member)
{
    return member->status.replication.applier == AGENT_THREAD_OFF;
}

static bool is_left(const struct member *member)
{
    return member_has_problem(member, "ReplicationPaused");
}

static struct agent_order while_paused(const struct replication_rig *rig, unsigned source)
{
    struct agent_order order = replication_rig_replica(rig, source);

    order.leave_threads = true;
    return order;
}

static void test_a_stopped_thread_is_started_again(void **state)
{
    struct replication_rig *rig = *state;

    for (unsigned i = 0; i < MEMBERS; i++)
        member_await(rig, i, member_runs, "running");
    replication_rig_form(rig);
    stop_threads(rig, 2, "");
    member_await(rig, 2, receiver_is_off, "stopped");
    member_await(rig, 2, member_ready, "started again");
}

/* Gtid_IO_Pos shows what MariaDB had received also while both threads are off. MariaDB drops that when one starts, so
 * the position shows that something will be lost (replication_facts.h: drops_received). */
static bool says_more_than_is_executed(struct replication_rig *rig, unsigned member)
{
    _cleanup_(strbuf_release) struct strbuf status, executed;

    strbuf_init(&status, KM_MIB);
    strbuf_init(&executed, KM_MIB);
    assert_true(member_owner_sql(rig, member, "SHOW SLAVE STATUS", &status));
    assert_true(member_owner_sql(rig, member, "SELECT @@global.gtid_slave_pos", &executed));
    const char *number = strrchr(executed.buf, '-');
    assert_non_null(number);
    number++;
    _cleanup_(freep) char *prefix = xasprintf("\t%.*s", (int)(number - executed.buf), executed.buf);
    const char *at = strstr(status.buf, prefix);
    assert_non_null(at);
    return strtoull(at + strlen(prefix), NULL, 10) > strtoull(number, NULL, 10);
}

/* The same order as before, but for what is told beside it. */
static void test_while_paused_a_stopped_thread_is_left(void **state)
{
    struct replication_rig *rig = *state;

    member_give(rig, 2, while_paused(rig, 0));
    replication_rig_run(rig, 1000);
    assert_true(rig->members[2].status.leaves_threads);
    stop_threads(rig, 2, "SQL_THREAD");
    member_await(rig, 2, is_left, "its applier is left stopped");
    replication_rig_run(rig, WATCH_MS);
    assert_true(applier_is_off(&rig->members[2]));
    assert_int_equal(rig->members[2].status.replication.receiver, AGENT_THREAD_RUNNING);
    assert_true(member_sql(rig, 0, "CREATE DATABASE paused_one", NULL));
    replication_rig_run(rig, 1000);
    assert_true(
        member_says(rig, 2, "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'paused_one'", "0"));
    stop_threads(rig, 2, "IO_THREAD");
    member_await(rig, 2, receiver_is_off, "its receiver is left stopped");
    replication_rig_run(rig, WATCH_MS);
    assert_true(receiver_is_off(&rig->members[2]) && is_left(&rig->members[2]));
    bool is_mysql = rig->members[0].rig->mysql;
    assert_true(rig->members[2].status.replication.caught_up == is_mysql);
    assert_true(is_mysql || says_more_than_is_executed(rig, 2));
}

/* Another source is followed all the same: data that stands still must not keep commits waiting for ever. */
static void test_a_change_of_the_primary_starts_them(void **state)
{
    struct replication_rig *rig = *state;

    rig->epoch++;
    member_give(rig, 0, while_paused(rig, 1));
    member_await(rig, 0, member_done, "closed");
    member_give(rig, 1, replication_rig_primary(rig, rig->members[0].status.gtid_executed));
    member_await(rig, 1, member_done, "open");
    member_give(rig, 2, while_paused(rig, 1));
    member_await(rig, 2, member_ready, "follows the new primary");
    assert_true(
        member_says(rig, 2, "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'paused_one'", "1"));
}

/* A server that ends by itself is no wish of anybody's. */
static void test_while_paused_a_server_that_restarts_follows(void **state)
{
    struct replication_rig *rig = *state;

    agent_rig_kill(&rig->members[2].rig->server);
    member_await(rig, 2, member_is_down, "down");
    replication_rig_start(rig, 2, "server");
    member_await(rig, 2, member_ready, "follows again");
}

static bool is_left_offline(const struct member *member)
{
    return member_has_problem(member, "OfflineMode");
}

static bool is_online(const struct member *member)
{
    return member_runs(member) && !is_left_offline(member);
}

/* It is said what lets clients in, and true: a hand does, and the end of the pause. */
static void test_while_paused_clients_may_be_shut_out(void **state)
{
    struct replication_rig *rig = *state;
    struct agent_order order = rig->members[0].order;

    if (!rig->members[0].rig->mysql)
        skip();
    order.leave_threads = true;
    member_give(rig, 0, order);
    replication_rig_run(rig, 1000);
    assert_true(member_owner_sql(rig, 0, "SET GLOBAL offline_mode = 1", NULL));
    member_await(rig, 0, is_left_offline, "said to be offline");
    replication_rig_run(rig, WATCH_MS);
    assert_true(is_left_offline(&rig->members[0]));
    assert_true(member_owner_sql(rig, 0, "SET GLOBAL offline_mode = 0", NULL));
    member_await(rig, 0, is_online, "no longer offline");
    assert_true(member_owner_sql(rig, 0, "SET GLOBAL offline_mode = 1", NULL));
    member_await(rig, 0, is_left_offline, "said to be offline again");
    order.leave_threads = false;
    member_give(rig, 0, order);
    member_await(rig, 0, is_online, "online without the pause");
    assert_true(member_says(rig, 0, "SELECT @@global.offline_mode", "0"));
}

static void test_without_the_pause_it_is_started(void **state)
{
    struct replication_rig *rig = *state;

    stop_threads(rig, 2, "IO_THREAD");
    member_await(rig, 2, is_left, "left stopped");
    member_give(rig, 2, replication_rig_replica(rig, 1));
    member_await(rig, 2, member_ready, "started");
    assert_false(is_left(&rig->members[2]));
}

/* ---- a server that is kept stopped ---- */

static struct agent_order nothing(const struct replication_rig *rig, bool keep_stopped)
{
    struct agent_order order = replication_rig_fence(rig);

    order.keep_stopped = keep_stopped;
    return order;
}

static bool is_kept_stopped(const struct member *member)
{
    return member_is_down(member) && member->status.keeps_stopped && member_has_problem(member, "ServerStopped");
}

/* As kubelet does when the container has ended. */
static void restart_container(struct replication_rig *rig, unsigned member)
{
    agent_rig_wait(&rig->members[member].rig->server);
    replication_rig_start(rig, member, "server");
}

static void test_a_server_is_kept_stopped(void **state)
{
    struct replication_rig *rig = *state;

    member_give(rig, 2, nothing(rig, false));
    member_await(rig, 2, member_done, "nothing");
    member_give(rig, 2, nothing(rig, true));
    member_await(rig, 2, is_kept_stopped, "kept stopped");
    restart_container(rig, 2);
    replication_rig_run(rig, WATCH_MS);
    assert_true(is_kept_stopped(&rig->members[2]));
    assert_true(agent_rig_await(rig->members[2].rig, "/live", 200, 1000)); /* kubelet has no reason to restart it */
    assert_true(agent_rig_has(rig->members[2].rig, "vol/.kube-mysql/server-stopped"));
}

static void test_an_agent_that_is_started_anew_knows_it(void **state)
{
    struct replication_rig *rig = *state;

    agent_rig_kill(&rig->members[2].rig->agent);
    replication_rig_start(rig, 2, "run");
    replication_rig_run(rig, WATCH_MS);
    member_await(rig, 2, is_kept_stopped, "kept stopped");
}

static void test_it_is_started_when_the_wish_is_taken_back(void **state)
{
    struct replication_rig *rig = *state;

    assert_true(member_sql(rig, 1, "CREATE DATABASE meanwhile", NULL));
    member_give(rig, 2, nothing(rig, false));
    member_await(rig, 2, member_runs, "runs");
    assert_false(rig->members[2].status.keeps_stopped);
    assert_false(agent_rig_has(rig->members[2].rig, "vol/.kube-mysql/server-stopped"));
    member_give(rig, 2, replication_rig_replica(rig, 1));
    member_await(rig, 2, member_ready, "follows");
    assert_true(
        member_says(rig, 2, "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'meanwhile'", "1"));
}

/* Who is to be primary is not kept from it. */
static void test_a_primary_is_not_stopped(void **state)
{
    struct replication_rig *rig = *state;
    struct agent_order order = replication_rig_primary(rig, "");

    order.keep_stopped = true;
    member_give(rig, 1, order);
    replication_rig_run(rig, WATCH_MS);
    assert_true(member_runs(&rig->members[1]) && rig->members[1].status.writable);
}

/* The first process of a container hears no signal by default. */
static void test_the_container_ends_when_its_pod_does(void **state)
{
    struct replication_rig *rig = *state;
    struct agent_rig *at = rig->members[2].rig;

    member_give(rig, 2, nothing(rig, true));
    member_await(rig, 2, is_kept_stopped, "kept stopped");
    restart_container(rig, 2);
    replication_rig_run(rig, 1000);
    assert_int_equal(kill(at->server.inner, SIGTERM), 0);
    assert_int_equal(agent_rig_wait(&at->server), 0);
}

/* ---- the slow query log ---- */

#define SLOW_STATEMENTS 90

static void test_slow_statements_are_on_the_output(void **state)
{
    struct replication_rig *rig = *state;
    struct agent_rig *at = rig->members[1].rig;
    _cleanup_(freep) char *sql = xasprintf("SET GLOBAL slow_query_log_file = '%s', GLOBAL long_query_time = 0.2, "
                                           "GLOBAL slow_query_log = ON",
        agent_rig_path(at, "run/slow.log"));

    assert_true(member_owner_sql(rig, 1, sql, NULL));
    assert_true(member_owner_sql(rig, 1, "SELECT SLEEP(0.4), 'slow-one'", NULL));
    replication_rig_run(rig, 3000);
    assert_true(agent_rig_file_says(at, "run.log", "slow: SELECT SLEEP(0.4), 'slow-one'"));
}

/* More than the file may hold. */
static void test_its_file_is_rotated_and_nothing_is_lost(void **state)
{
    struct replication_rig *rig = *state;
    struct agent_rig *at = rig->members[1].rig;
    struct stat st;

    assert_true(member_owner_sql(rig, 1, "SET GLOBAL long_query_time = 0", NULL));
    for (int i = 0; i < SLOW_STATEMENTS; i++) {
        _cleanup_(freep) char *filler = xmalloc(60001);
        memset(filler, 'x', 60000);
        filler[60000] = '\0';
        _cleanup_(freep) char *sql = xasprintf("SELECT 'mark-%d-', LENGTH('%s')", i, filler);
        assert_true(member_owner_sql(rig, 1, sql, NULL));
    }
    assert_true(member_owner_sql(rig, 1, "SET GLOBAL slow_query_log = OFF", NULL));
    replication_rig_run(rig, 4000);
    for (int i = 0; i < SLOW_STATEMENTS; i++) {
        _cleanup_(freep) char *mark = xasprintf("slow: SELECT 'mark-%d-'", i);
        assert_true(agent_rig_file_says(at, "run.log", mark));
    }
    assert_false(agent_rig_has(at, "run/slow.log.old"));
    assert_int_equal(stat(agent_rig_path(at, "run/slow.log"), &st), 0);
    assert_true(st.st_size < 3 * KM_MIB);
}

int maintenance_stories_run(bool mysql)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_stopped_thread_is_started_again),
        cmocka_unit_test(test_while_paused_a_stopped_thread_is_left),
        cmocka_unit_test(test_a_change_of_the_primary_starts_them),
        cmocka_unit_test(test_while_paused_a_server_that_restarts_follows),
        cmocka_unit_test(test_without_the_pause_it_is_started),
        cmocka_unit_test(test_while_paused_clients_may_be_shut_out),
        cmocka_unit_test(test_a_server_is_kept_stopped),
        cmocka_unit_test(test_an_agent_that_is_started_anew_knows_it),
        cmocka_unit_test(test_it_is_started_when_the_wish_is_taken_back),
        cmocka_unit_test(test_a_primary_is_not_stopped),
        cmocka_unit_test(test_the_container_ends_when_its_pod_does),
        cmocka_unit_test(test_slow_statements_are_on_the_output),
        cmocka_unit_test(test_its_file_is_rotated_and_nothing_is_lost),
    };

    return cmocka_run_group_tests(
        tests, mysql ? replication_rig_setup_mysql : replication_rig_setup_mariadb, replication_rig_teardown);
}
