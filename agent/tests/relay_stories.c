/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tests/relay_stories.h"

#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/tests/replication_rig.h"
#include "common/alloc.h"

#define LONG_MS 60000
#define ROWS 40
#define ROWS_TEXT "40"

static bool is_proof(const struct member *member)
{
    return member_ready(member) && member->status.replication.caught_up;
}

static bool is_held_proof(const struct member *member)
{
    return member_done(member) && member->status.replication.receiver == AGENT_THREAD_OFF &&
        member->status.replication.caught_up;
}

static struct agent_order hold_order(const struct replication_rig *rig)
{
    struct agent_order order = {.epoch = rig->epoch, .role = AGENT_ROLE_REPLICA, .max_lag_seconds = 5};

    order.semi_sync = rig->semi_sync;
    return order;
}

static void kill_server(struct replication_rig *rig, unsigned member)
{
    kill(rig->members[member].rig->server.inner, SIGKILL);
    agent_rig_wait(&rig->members[member].rig->server);
}

static void restart_agent(struct replication_rig *rig, unsigned member)
{
    agent_rig_kill(&rig->members[member].rig->agent);
    replication_rig_run(rig, 100);
    replication_rig_start(rig, member, "run");
}

static void form(struct replication_rig *rig)
{
    for (unsigned i = 0; i < MEMBERS; i++)
        member_await(rig, i, member_runs, "running");
    replication_rig_form(rig);
    for (unsigned i = 1; i < MEMBERS; i++)
        member_await(rig, i, is_proof, "proof");
}

/* Acknowledged, and not applied by the members whose tables are locked. */
static void write_rows(struct replication_rig *rig, unsigned primary, const char *table)
{
    _cleanup_(strbuf_release) struct strbuf sql;

    strbuf_init(&sql, KM_MIB);
    for (int i = 0; i < ROWS; i++)
        strbuf_addf(&sql, "INSERT INTO t.%s VALUES (%d); ", table, i);
    assert_true(member_sql(rig, primary, sql.buf, NULL));
}

/* All of them received it, but any one of them was enough for the primary. */
static void await_received(struct replication_rig *rig, unsigned member, unsigned primary)
{
    for (int tries = 0; tries < 200; tries++) {
        if (strcmp(rig->members[member].status.gtid_received, rig->members[primary].status.gtid_executed) == 0)
            return;
        replication_rig_run(rig, 50);
    }
    fail_msg("%s is not %s", rig->members[member].status.gtid_received, rig->members[primary].status.gtid_executed);
}

/* The heartbeat is not written any more: positions stand still. */
static void quiet(struct replication_rig *rig, unsigned primary)
{
    struct agent_order order = rig->members[primary].order;

    order.heartbeat = false;
    member_give(rig, primary, order);
    member_await(rig, primary, member_done, "without a heartbeat");
    replication_rig_run(rig, 1500);
}

/* ---- stories ---- */

/* Everything that was acknowledged lay in relay logs only, when all servers died; the primary's is gone for good. */
static void test_relay_logs_are_proof_after_a_common_crash(void **state)
{
    struct replication_rig *rig = *state;
    pid_t locks[MEMBERS] = {0};

    form(rig);
    assert_true(member_sql(rig, 0, "CREATE DATABASE t; CREATE TABLE t.a (id BIGINT PRIMARY KEY)", NULL));
    for (unsigned i = 1; i < MEMBERS; i++) {
        assert_true(member_says(rig, i, "SELECT COUNT(*) FROM t.a", "0"));
        locks[i] = member_hold_lock(rig, i, "LOCK TABLES t.a READ", 60);
    }
    replication_rig_run(rig, 500);
    write_rows(rig, 0, "a");
    quiet(rig, 0);
    for (unsigned i = 1; i < MEMBERS; i++)
        await_received(rig, i, 0);
    _cleanup_(freep) char *all = xstrdup(rig->members[0].status.gtid_executed);
    for (unsigned i = 0; i < MEMBERS; i++)
        kill_server(rig, i);
    for (unsigned i = 1; i < MEMBERS; i++) {
        member_release_lock(locks[i]);
        member_await(rig, i, member_is_down, "down");
    }
    restart_agent(rig, 2);
    rig->epoch++;
    for (unsigned i = 1; i < MEMBERS; i++) {
        replication_rig_start(rig, i, "server");
        member_await(rig, i, member_runs, "running again");
        member_give(rig, i, hold_order(rig));
    }
    for (unsigned i = 1; i < MEMBERS; i++) {
        member_await(rig, i, is_held_proof, "held, and proof");
        assert_string_equal(rig->members[i].status.gtid_executed, all);
        assert_string_equal(rig->members[i].status.replication.dropped, "");
        assert_true(member_says(rig, i, "SELECT COUNT(*) FROM t.a", ROWS_TEXT));
    }
    member_give(rig, 1, replication_rig_primary(rig, all));
    member_await(rig, 1, member_done, "open");
    member_give(rig, 2, replication_rig_replica(rig, 1));
    member_await(rig, 2, is_proof, "proof");
    assert_true(member_sql(rig, 1, "CREATE TABLE t.b (id BIGINT PRIMARY KEY)", NULL));
    assert_true(member_says(rig, 2, "SELECT COUNT(*) FROM t.b", "0"));
}

/* What member 2 has to apply when its server dies lies in the newest files that are not empty. */
static void die_behind(struct replication_rig *rig, const char *table)
{
    _cleanup_(freep) char *lock = xasprintf("LOCK TABLES t.%s READ", table);
    pid_t pid = member_hold_lock(rig, 2, lock, 60);

    replication_rig_run(rig, 500);
    write_rows(rig, 1, table);
    quiet(rig, 1);
    await_received(rig, 2, 1);
    kill_server(rig, 2);
    member_release_lock(pid);
    member_await(rig, 2, member_is_down, "down");
}

static void come_back(struct replication_rig *rig)
{
    replication_rig_start(rig, 2, "server");
    member_await(rig, 2, member_runs, "running again");
    member_give(rig, 2, hold_order(rig));
    member_await(rig, 2, member_is_held, "held");
    replication_rig_run(rig, 1500);
}

static void follow_again(struct replication_rig *rig)
{
    member_give(rig, 1, replication_rig_primary(rig, ""));
    member_await(rig, 1, member_done, "with a heartbeat");
    member_give(rig, 2, replication_rig_replica(rig, 1));
    member_await(rig, 2, is_proof, "proof by what its source has");
}

static void remove_relay_logs(struct replication_rig *rig)
{
    const char *folder = agent_rig_path(rig->members[2].rig, "vol/data");
    DIR *dir = opendir(folder);

    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (strncmp(entry->d_name, "relaylog.0", strlen("relaylog.0")) == 0)
            assert_int_equal(unlinkat(dirfd(dir), entry->d_name, 0), 0);
    }
    closedir(dir);
}

static void test_a_file_that_is_gone_is_no_proof(void **state)
{
    struct replication_rig *rig = *state;
    const struct agent_status *status = &rig->members[2].status;

    die_behind(rig, "b");
    remove_relay_logs(rig);
    rig->epoch++;
    come_back(rig);
    assert_false(status->replication.caught_up);
    assert_non_null(strstr(status->replication.dropped, "is gone"));
    assert_string_equal(status->gtid_received, status->gtid_executed);
    assert_true(member_says(rig, 2, "SELECT COUNT(*) FROM t.b", "0"));
    follow_again(rig);
    assert_true(member_says(rig, 2, "SELECT COUNT(*) FROM t.b", ROWS_TEXT));
    assert_string_equal(status->replication.dropped, "");
}

/* Everything is applied, and relay-log.info names a file that the server had not made yet when it was killed. */
static void test_an_applier_whose_file_was_never_made_goes_on(void **state)
{
    struct replication_rig *rig = *state;

    quiet(rig, 1);
    kill_server(rig, 2);
    member_await(rig, 2, member_is_down, "down");
    agent_rig_put(
        rig->members[2].rig, "vol/data/relay-log.info", "5\n./relaylog.000099\n4\nbinlog.000001\n4\n0\n7\n1\n0\n");
    rig->epoch++;
    come_back(rig);
    follow_again(rig);
    assert_true(member_sql(rig, 1, "CREATE TABLE t.f (id BIGINT PRIMARY KEY)", NULL));
    assert_true(member_says(rig, 2, "SELECT COUNT(*) FROM t.f", "0"));
}

/* As after the end of a node: what was not synced may have holes. */
static void test_another_boot_drops_them(void **state)
{
    struct replication_rig *rig = *state;
    const struct agent_status *status = &rig->members[2].status;

    assert_true(member_sql(rig, 1, "CREATE TABLE t.c (id BIGINT PRIMARY KEY)", NULL));
    assert_true(member_says(rig, 2, "SELECT COUNT(*) FROM t.c", "0"));
    die_behind(rig, "c");
    agent_rig_put(rig->members[2].rig, "vol/data/kube-mysql-relay.json",
        "{\"boot\":\"00000000-0000-0000-0000-000000000000\",\"pod\":\"another\",\"synced\":false}");
    rig->epoch++;
    come_back(rig);
    assert_false(status->replication.caught_up);
    assert_non_null(strstr(status->replication.dropped, "its relay logs were not kept"));
    assert_true(member_says(rig, 2, "SELECT COUNT(*) FROM t.c", "0"));
    if (status->flavour != AGENT_FLAVOUR_MARIADB)
        assert_true(member_owner_sql(rig, 2, "START REPLICA SQL_THREAD; STOP REPLICA SQL_THREAD", NULL));
    follow_again(rig);
    assert_true(member_says(rig, 2, "SELECT COUNT(*) FROM t.c", ROWS_TEXT));
}

/* The first start is killed before anything has dropped them. The second one, in the same pod, did not write them
 * either. */
static void test_a_start_that_is_killed_does_not_make_them_ours(void **state)
{
    struct replication_rig *rig = *state;
    const struct agent_status *status = &rig->members[2].status;

    assert_true(member_sql(rig, 1, "CREATE TABLE t.e (id BIGINT PRIMARY KEY)", NULL));
    assert_true(member_says(rig, 2, "SELECT COUNT(*) FROM t.e", "0"));
    die_behind(rig, "e");
    agent_rig_put(rig->members[2].rig, "vol/data/kube-mysql-relay.json",
        "{\"boot\":\"00000000-0000-0000-0000-000000000000\",\"pod\":\"another\",\"synced\":false}");
    rig->epoch++;
    replication_rig_start(rig, 2, "server");
    member_await(rig, 2, member_runs, "running again");
    kill_server(rig, 2);
    member_await(rig, 2, member_is_down, "down");
    come_back(rig);
    assert_false(status->replication.caught_up);
    assert_non_null(strstr(status->replication.dropped, "its relay logs were not kept"));
    assert_true(member_says(rig, 2, "SELECT COUNT(*) FROM t.e", "0"));
    follow_again(rig);
    assert_true(member_says(rig, 2, "SELECT COUNT(*) FROM t.e", ROWS_TEXT));
}

static void tear_newest(struct replication_rig *rig)
{
    char newest[64] = "";
    struct stat st;
    const char *folder = agent_rig_path(rig->members[2].rig, "vol/data");
    DIR *dir = opendir(folder);

    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (strncmp(entry->d_name, "relaylog.0", strlen("relaylog.0")) == 0 && strcmp(entry->d_name, newest) > 0)
            snprintf(newest, sizeof(newest), "%.60s", entry->d_name);
    }
    assert_int_equal(fstatat(dirfd(dir), newest, &st, 0), 0);
    closedir(dir);
    _cleanup_(freep) char *path = xasprintf("%s/%s", agent_rig_path(rig->members[2].rig, "vol/data"), newest);
    assert_int_equal(truncate(path, st.st_size - 3), 0);
}

/* As a kill in the midst of a write leaves it: the last transaction, an insert or a heartbeat, was never
 * acknowledged. */
static void test_half_an_event_at_the_end(void **state)
{
    struct replication_rig *rig = *state;
    const struct agent_status *status = &rig->members[2].status;

    assert_true(member_sql(rig, 1, "CREATE TABLE t.d (id BIGINT PRIMARY KEY)", NULL));
    assert_true(member_says(rig, 2, "SELECT COUNT(*) FROM t.d", "0"));
    die_behind(rig, "d");
    tear_newest(rig);
    rig->epoch++;
    come_back(rig);
    member_await(rig, 2, is_held_proof, "held, and proof");
    assert_string_equal(status->replication.dropped, "");
    assert_string_not_equal(status->gtid_executed, rig->members[1].status.gtid_executed);
    assert_true(member_says(rig, 2, "SELECT COUNT(*) >= " ROWS_TEXT " - 1 FROM t.d", "1"));
    follow_again(rig);
    assert_true(member_says(rig, 2, "SELECT COUNT(*) FROM t.d", ROWS_TEXT));
    if (status->flavour == AGENT_FLAVOUR_MARIADB)
        assert_true(member_says(rig, 2, "SELECT @@global.slave_parallel_threads",
            agent_rig_server_has_option("log-ddl-recovery") ? "4" : "0")); /* bootstrap/server_features.h */
}

int relay_stories_run(bool mysql)
{
    const struct CMUnitTest mysql_tests[] = {
        cmocka_unit_test(test_relay_logs_are_proof_after_a_common_crash),
        cmocka_unit_test(test_a_file_that_is_gone_is_no_proof),
        cmocka_unit_test(test_another_boot_drops_them),
        cmocka_unit_test(test_a_start_that_is_killed_does_not_make_them_ours),
        cmocka_unit_test(test_half_an_event_at_the_end),
    };
    const struct CMUnitTest mariadb_tests[] = {
        cmocka_unit_test(test_relay_logs_are_proof_after_a_common_crash),
        cmocka_unit_test(test_a_file_that_is_gone_is_no_proof),
        cmocka_unit_test(test_an_applier_whose_file_was_never_made_goes_on),
        cmocka_unit_test(test_another_boot_drops_them),
        cmocka_unit_test(test_a_start_that_is_killed_does_not_make_them_ours),
        cmocka_unit_test(test_half_an_event_at_the_end),
    };

    return mysql ? cmocka_run_group_tests_name(
                       "relay logs, MySQL", mysql_tests, replication_rig_setup_semi_mysql, replication_rig_teardown)
                 : cmocka_run_group_tests_name("relay logs, MariaDB", mariadb_tests, replication_rig_setup_semi_mariadb,
                       replication_rig_teardown);
}
