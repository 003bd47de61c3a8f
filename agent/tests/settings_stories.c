/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tests/settings_stories.h"

#include <setjmp.h>
#include <signal.h>
#include <cmocka.h>

#include "agent/tests/replication_rig.h"
#include "common/alloc.h"

#define LONG_MS 60000

static void await_ready(struct replication_rig *rig)
{
    for (unsigned i = 0; i < MEMBERS; i++)
        assert_true(replication_rig_await(rig, i, member_ready, "ready", LONG_MS));
}

static void test_the_members(void **state)
{
    struct replication_rig *rig = *state;

    rig->semi_sync = true;
    for (unsigned i = 0; i < MEMBERS; i++)
        assert_true(replication_rig_await(rig, i, member_runs, "running", LONG_MS));
    replication_rig_form(rig);
    assert_true(member_sql(rig, 0, "CREATE DATABASE t; CREATE TABLE t.w (id BIGINT PRIMARY KEY)", NULL));
}

/* ---- semi-sync ---- */

static bool is_blocked(const struct member *member)
{
    return member->status.writes_blocked_ms > 2000 && member->status.semi_sync_replicas == 0 &&
        member->status.waiting_commits > 0;
}

static bool is_not_blocked(const struct member *member)
{
    return member->status.writable && member->status.writes_blocked_ms == 0;
}

static bool is_mariadb(const struct replication_rig *rig)
{
    return rig->members[0].status.flavour == AGENT_FLAVOUR_MARIADB;
}

/* "rpl_semi_sync_source_timeout", as this family spells it. */
static char *semi_sync_name(const struct replication_rig *rig, const char *suffix)
{
    return xasprintf("rpl_semi_sync_%s_%s", is_mariadb(rig) ? "master" : "source", suffix);
}

static bool has_lapsed(const struct member *member)
{
    return member->status.semi_sync_lapses > 0 && member->status.semi_sync && member_ready(member);
}

static bool has_lapsed_again(const struct member *member)
{
    return member->status.semi_sync_lapses > member->lapses_before && has_lapsed(member);
}

static void expect_set_right(struct replication_rig *rig, const char *suffix, const char *value, const char *right)
{
    _cleanup_(freep) char *name = semi_sync_name(rig, suffix);
    _cleanup_(freep) char *change = xasprintf("SET GLOBAL %s = %s", name, value);
    _cleanup_(freep) char *look = xasprintf("SELECT @@global.%s", name);

    rig->members[0].lapses_before = rig->members[0].status.semi_sync_lapses;
    assert_true(member_sql(rig, 0, change, NULL));
    assert_true(member_says(rig, 0, look, right));
    assert_true(replication_rig_await(rig, 0, has_lapsed_again, "telling that commits need not have waited", LONG_MS));
}

/* I3: until it is set right again, and that is told: acknowledgements may have been missing meanwhile. */
static void test_semi_sync_is_set_right(void **state)
{
    struct replication_rig *rig = *state;

    assert_true(replication_rig_await(rig, 0, member_ready, "ready", LONG_MS));
    expect_set_right(rig, "timeout", "1000", "4294967295");
    expect_set_right(rig, "wait_point", "'AFTER_COMMIT'", "AFTER_SYNC");
    expect_set_right(rig, is_mariadb(rig) ? "wait_no_slave" : "wait_no_replica", "0", "1");
    expect_set_right(rig, "enabled", "0", "1");
    if (!is_mariadb(rig)) {
        assert_true(member_sql(rig, 0, "SET GLOBAL rpl_semi_sync_source_wait_for_replica_count = 2", NULL));
        assert_true(member_says(rig, 0, "SELECT @@global.rpl_semi_sync_source_wait_for_replica_count", "1"));
    }
    assert_true(replication_rig_await(rig, 0, member_ready, "ready", LONG_MS));
}

static void order_heartbeat(struct replication_rig *rig, bool on)
{
    struct agent_order order = rig->members[0].order;

    order.heartbeat = on;
    assert_int_equal(replication_rig_order(rig, 0, &order), 200);
    assert_true(replication_rig_await(rig, 0, member_done, "as ordered", LONG_MS));
}

static void bring_replicas_back(struct replication_rig *rig)
{
    for (unsigned i = 1; i < MEMBERS; i++)
        replication_rig_start(rig, i, "server");
    assert_true(replication_rig_await(rig, 0, is_not_blocked, "free again", LONG_MS));
    order_heartbeat(rig, true);
    await_ready(rig);
}

/* The time-out of a hand has passed: the server is enabled and waits no more. */
static void test_semi_sync_that_gave_up_waits_again(void **state)
{
    struct replication_rig *rig = *state;
    _cleanup_(freep) char *name = semi_sync_name(rig, "timeout");
    _cleanup_(freep) char *give_up = xasprintf("SET GLOBAL %s = 1; INSERT INTO t.w VALUES (-30)", name);
    _cleanup_(freep) char *waits =
        xasprintf("SELECT variable_value FROM %s.global_status WHERE variable_name = 'rpl_semi_sync_%s_status'",
            is_mariadb(rig) ? "information_schema" : "performance_schema", is_mariadb(rig) ? "master" : "source");

    order_heartbeat(rig, false); /* one that waits already would go on waiting, and the commit behind it */
    for (unsigned i = 1; i < MEMBERS; i++)
        kill(rig->members[i].rig->server.inner, SIGSTOP);
    for (unsigned i = 1; i < MEMBERS; i++)
        agent_rig_kill(&rig->members[i].rig->server);
    rig->members[0].lapses_before = rig->members[0].status.semi_sync_lapses;
    kill(rig->members[0].rig->agent.inner, SIGSTOP); /* it would be quicker */
    bool ended = member_sql(rig, 0, give_up, NULL);  /* on no other member */
    kill(rig->members[0].rig->agent.inner, SIGCONT);
    assert_true(ended);
    assert_true(member_says(rig, 0, waits, "ON"));
    assert_true(replication_rig_await(rig, 0, has_lapsed_again, "telling of the commit that did not wait", LONG_MS));
    pid_t pid = member_hold_lock(rig, 0, "INSERT INTO t.w VALUES (-31)", 0);
    assert_true(replication_rig_await(rig, 0, is_blocked, "blocked", LONG_MS));
    bring_replicas_back(rig);
    assert_true(member_says(rig, 2, "SELECT COUNT(*) FROM t.w WHERE id IN (-30, -31)", "2"));
    member_release_lock(pid);
}

static bool has_waited_for_long(const struct member *member)
{
    assert_int_equal(member->status.phase, AGENT_PHASE_RUNNING);
    return member->status.writes_blocked_ms > 6000;
}

/* It holds the locks of the accounts for as long as nobody acknowledges. MySQL then lets nobody log in, and no SHOW
 * answers ("Waiting for acl cache lock"): that hangs for everybody. MariaDB goes on. */
static void test_an_account_that_waits_does_not_hang_its_server(void **state)
{
    struct replication_rig *rig = *state;

    if (!is_mariadb(rig))
        skip();
    order_heartbeat(rig, false); /* one that waits already would go on waiting, and the account behind it */
    for (unsigned i = 1; i < MEMBERS; i++)
        agent_rig_kill(&rig->members[i].rig->server);
    pid_t pid = member_hold_lock(rig, 0, "CREATE USER waits@'%'", 0);
    assert_true(replication_rig_await(rig, 0, is_blocked, "blocked", LONG_MS));
    assert_true(replication_rig_await(rig, 0, has_waited_for_long, "waiting, and alive", LONG_MS));
    bring_replicas_back(rig);
    assert_true(member_says(rig, 2, "SELECT COUNT(*) FROM mysql.user WHERE User = 'waits'", "1"));
    member_release_lock(pid);
}

/* ---- a server without an order ---- */

static bool has_no_order(const struct member *member)
{
    return member->status.phase == AGENT_PHASE_RUNNING && !*member->status.order_hash;
}

static bool is_closed_without_order(const struct member *member)
{
    return has_no_order(member) && !member->status.writable && member->status.read_only;
}

/* Who opens a server that has no order does not do so for long: neither root nor SET PERSIST. */
static void expect_closed_again(struct replication_rig *rig, unsigned member)
{
    bool mariadb = is_mariadb(rig);

    assert_true(member_owner_sql(rig, member, "SET GLOBAL read_only = 0", NULL));
    assert_true(
        member_says(rig, member, mariadb ? "SELECT @@global.read_only" : "SELECT @@global.super_read_only", "1"));
    assert_true(replication_rig_await(rig, member, is_closed_without_order, "closed again", LONG_MS));
}

/* mysqld-auto.cnf is read after all option files. */
static void expect_nothing_persisted(struct replication_rig *rig)
{
    assert_true(member_owner_sql(rig, 0,
        "SET PERSIST_ONLY super_read_only = 0; SET PERSIST_ONLY read_only = 0; SET PERSIST_ONLY sync_binlog = 0; "
        "SET PERSIST_ONLY innodb_flush_log_at_trx_commit = 2",
        NULL));
    agent_rig_kill(&rig->members[0].rig->server);
    member_await(rig, 0, member_is_down, "down"); /* what its agent says next is of the new server */
    replication_rig_start(rig, 0, "server");
    assert_true(replication_rig_await(rig, 0, has_no_order, "without an order", LONG_MS));
    assert_true(member_says(rig, 0,
        "SELECT CONCAT(@@global.super_read_only, @@global.read_only, @@global.sync_binlog, "
        "@@global.innodb_flush_log_at_trx_commit)",
        "1111"));
    assert_true(member_owner_sql(rig, 0, "RESET PERSIST", NULL));
}

/* I1: nobody but the operator opens a server. */
static void test_a_server_without_an_order_stays_closed(void **state)
{
    struct replication_rig *rig = *state;
    struct agent_order order = rig->members[0].order;

    agent_rig_kill(&rig->members[0].rig->server);
    replication_rig_start(rig, 0, "server");
    assert_true(replication_rig_await(rig, 0, has_no_order, "without an order", LONG_MS));
    expect_closed_again(rig, 0);
    if (!is_mariadb(rig))
        expect_nothing_persisted(rig);
    assert_int_equal(replication_rig_order(rig, 0, &order), 200);
    await_ready(rig);
}

static bool is_locked(const struct member *member)
{
    return member_has_problem(member, "WritesLocked");
}

static bool is_not_locked(const struct member *member)
{
    return member_ready(member) && !is_locked(member);
}

/* As with one member: no heartbeat waits for the lock, so those who write tell. */
static void test_a_lock_is_seen_without_a_heartbeat(void **state)
{
    struct replication_rig *rig = *state;

    order_heartbeat(rig, false);
    pid_t holder = member_hold_lock(rig, 0, "FLUSH TABLES WITH READ LOCK", 60);
    assert_true(member_says(
        rig, 0, "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP%'", "1"));
    pid_t writer = member_hold_lock(rig, 0, "INSERT INTO t.w VALUES (-40)", 1);
    assert_true(replication_rig_await(rig, 0, is_locked, "telling of the lock", LONG_MS));
    member_release_lock(holder);
    assert_true(replication_rig_await(rig, 0, is_not_locked, "no longer locked", LONG_MS));
    assert_true(member_says(rig, 0, "SELECT COUNT(*) FROM t.w WHERE id = -40", "1"));
    member_release_lock(writer);
    order_heartbeat(rig, true);
    await_ready(rig);
}

static bool is_not_all_known(const struct member *member)
{
    return member_has_problem(member, "LookFailed");
}

/* Two statements of a look wait for a second each, longer together than a server may be silent. Nobody can take over
 * from a single member: its readiness went off and on for as long as that lasted. */
static void test_a_server_that_answers_slowly_does_not_hang(void **state)
{
    struct replication_rig *rig = *state;
    struct agent_order order = rig->members[0].order;

    order.heartbeat = false;
    order.hung_ms = 1500;
    member_give(rig, 0, order);
    await_ready(rig);
    pid_t pid =
        member_hold_lock_as_owner(rig, 0, "LOCK TABLES kubemysql.heartbeat WRITE, kubemysql.accounts WRITE", 600);
    member_await(rig, 0, is_not_all_known, "not knowing the heartbeat");
    for (int i = 0; i < 160; i++) {
        replication_rig_run(rig, 50);
        assert_int_equal(rig->members[0].status.phase, AGENT_PHASE_RUNNING);
        assert_true(rig->members[0].status.ready);
    }
    assert_true(is_not_all_known(&rig->members[0]));
    member_release_lock(pid);
    order.hung_ms = 0;
    order.heartbeat = true;
    member_give(rig, 0, order);
    await_ready(rig);
}

/* ---- settings that shut clients out ---- */

/* Applications cannot write then. MySQL's read_only leaves administrators free to. */
static void test_a_primary_is_opened_again(void **state)
{
    struct replication_rig *rig = *state;

    await_ready(rig);
    assert_true(member_owner_sql(rig, 0, "SET GLOBAL read_only = 1", NULL));
    assert_true(member_says(rig, 0, "SELECT @@global.read_only", "0"));
    await_ready(rig);
}

#define OFFLINE "SELECT CONCAT(@@global.offline_mode, @@global.transaction_read_only)"
#define SET_OFFLINE "SET GLOBAL transaction_read_only = 1, GLOBAL offline_mode = 1"

/* Whoever is neither root nor the agent. */
static bool app_may_come(const struct replication_rig *rig, unsigned member)
{
    return agent_rig_sql(rig->members[member].rig, "plain", "pw-plain", "SELECT 1", NULL);
}

static void await_app(struct replication_rig *rig, unsigned member)
{
    for (int i = 0; i < 100 && !app_may_come(rig, member); i++)
        replication_rig_run(rig, 100);
    assert_true(app_may_come(rig, member));
    assert_true(member_says(rig, member, OFFLINE, "00"));
}

static void expect_said(struct replication_rig *rig, unsigned member, const char *text)
{
    for (int i = 0; i < 100 && !agent_rig_file_says(rig->members[member].rig, "run.log", text); i++)
        replication_rig_run(rig, 100);
    assert_true(agent_rig_file_says(rig->members[member].rig, "run.log", text));
}

/* Of a primary and of a replica. */
static void test_clients_are_let_in_again(void **state)
{
    struct replication_rig *rig = *state;

    if (is_mariadb(rig))
        skip();
    await_ready(rig);
    assert_true(member_owner_sql(rig, 0, "CREATE USER plain@'%' IDENTIFIED BY 'pw-plain'", NULL));
    for (unsigned i = 0; i < 2; i++) {
        await_app(rig, i);
        assert_true(member_owner_sql(rig, i, "SET GLOBAL offline_mode = 1", NULL));
        await_app(rig, i);
        expect_said(rig, i, "clients are let in again");
    }
    await_ready(rig);
    assert_true(member_sql(rig, 0, "INSERT INTO t.w VALUES (-50)", NULL));
    assert_true(member_says(rig, 1, "SELECT COUNT(*) FROM t.w WHERE id = -50", "1"));
}

/* As the agent sets it while it closes a server: one that dies then leaves it so. Nobody is told to follow or to open
 * that server afterwards. */
static void test_clients_are_let_in_though_a_close_was_cut_off(void **state)
{
    struct replication_rig *rig = *state;

    if (is_mariadb(rig))
        skip();
    agent_rig_kill(&rig->members[1].rig->agent);
    assert_true(member_owner_sql(rig, 1, SET_OFFLINE, NULL));
    assert_false(app_may_come(rig, 1));
    replication_rig_start(rig, 1, "run");
    member_await(rig, 1, has_no_order, "without an order");
    member_give(rig, 1, replication_rig_fence(rig));
    await_app(rig, 1);
    member_give(rig, 1, replication_rig_replica(rig, 0));
    await_ready(rig);
}

int settings_stories_run(bool mysql)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_members),
        cmocka_unit_test(test_semi_sync_is_set_right),
        cmocka_unit_test(test_semi_sync_that_gave_up_waits_again),
        cmocka_unit_test(test_an_account_that_waits_does_not_hang_its_server),
        cmocka_unit_test(test_a_lock_is_seen_without_a_heartbeat),
        cmocka_unit_test(test_a_server_that_answers_slowly_does_not_hang),
        cmocka_unit_test(test_a_server_without_an_order_stays_closed),
        cmocka_unit_test(test_a_primary_is_opened_again),
        cmocka_unit_test(test_clients_are_let_in_again),
        cmocka_unit_test(test_clients_are_let_in_though_a_close_was_cut_off),
    };

    cmocka_set_test_filter(getenv("TEST_CASE"));
    return mysql
        ? cmocka_run_group_tests_name("settings MySQL", tests, replication_rig_setup_mysql, replication_rig_teardown)
        : cmocka_run_group_tests_name(
              "settings MariaDB", tests, replication_rig_setup_mariadb, replication_rig_teardown);
}
