/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tests/reset_stories.h"

#include <setjmp.h>
#include <signal.h>
#include <unistd.h>
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

static bool receives_nothing(const struct member *member)
{
    return has_lost_gtids(member) && member->status.replication.receiver == AGENT_THREAD_OFF;
}

static void make_rows(struct replication_rig *rig)
{
    for (unsigned i = 0; i < MEMBERS; i++)
        await(rig, i, member_runs, "running");
    replication_rig_form(rig);
    assert_true(member_sql(rig, 0, "CREATE DATABASE t; CREATE TABLE t.w (id BIGINT) /* no primary key */", NULL));
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

static char *position_of(struct replication_rig *rig, unsigned member)
{
    struct strbuf text;

    strbuf_init(&text, 4 * KM_KIB);
    assert_true(member_sql(rig, member, "SELECT @@GLOBAL.gtid_slave_pos", &text));
    text.buf[strcspn(text.buf, "\n")] = '\0';
    return strbuf_detach(&text, NULL);
}

/* Within one look: the agent would start it again in between. applied: NULL, or it is started, until that says so many
 * rows. */
static void set_back(struct replication_rig *rig, unsigned member, const char *older, const char *applied)
{
    _cleanup_(freep) char *sql = xasprintf("RESET MASTER; STOP SLAVE; SET GLOBAL gtid_slave_pos = '%s'; RESET MASTER%s",
        older, applied ? "; START SLAVE" : "");
    pid_t agent = rig->members[member].rig->agent.inner;

    if (agent > 0)
        kill(agent, SIGSTOP);
    bool is_set = member_root_sql(rig, member, sql, NULL);
    bool is_applied = !applied || member_says(rig, member, "SELECT COUNT(*) FROM t.w", applied);
    if (agent > 0)
        kill(agent, SIGCONT);
    assert_true(is_set && is_applied);
}

/* Neither a person nor an agent or a server that is started anew makes it receive; it is read from. */
static void stays_without_a_source(struct replication_rig *rig, unsigned member, const char *rows)
{
    static const char *const both[] = {"server", "run"};
    const char *start = is_mysql(rig) ? "START REPLICA" : "START SLAVE";

    assert_true(member_sql(rig, 0, "INSERT INTO t.w VALUES (99)", NULL));
    for (size_t i = 0; i < ARRAY_LEN(both); i++) {
        struct agent_rig *at = rig->members[member].rig;
        replication_rig_run(rig, 3000);
        assert_true(receives_nothing(&rig->members[member]));
        assert_true(member_says(rig, member, "SELECT COUNT(*) FROM t.w", rows));
        agent_rig_kill(i == 0 ? &at->server : &at->agent);
        rig->members[member].status = (struct agent_status){0};
        replication_rig_start(rig, member, both[i]);
        await(rig, member, receives_nothing, "held after a start");
        member_give(rig, member, replication_rig_replica(rig, 0));
    }
    await(rig, member, member_done, "as ordered");
    if (is_mysql(rig)) { /* MariaDB's would apply what it applied already, before anybody can see it */
        assert_true(member_root_sql(rig, member, start, NULL));
        replication_rig_run(rig, 1500);
        await(rig, member, receives_nothing, "held after START REPLICA");
    }
    assert_true(member_sql(rig, 0, "DELETE FROM t.w WHERE id = 99", NULL));
}

/* MySQL: its server says nothing, and would go on until its connection ends. MariaDB: an older position. */
static void test_a_replica_that_was_set_back(void **state)
{
    struct replication_rig *rig = *state;
    _cleanup_(freep) char *older = is_mysql(rig) ? NULL : position_of(rig, 2);

    assert_true(member_sql(rig, 0, "INSERT INTO t.w VALUES (4)", NULL));
    assert_true(member_sql(rig, 0, "DELETE FROM t.w WHERE id > 2", NULL));
    assert_true(member_says(rig, 2, "SELECT COUNT(*) FROM t.w", "2"));
    replication_rig_run(rig, 2000);
    await(rig, 2, is_whole, "whole");
    rig->gtids_are_emptied = true;
    if (is_mysql(rig))
        assert_true(member_sql(rig, 2, "RESET BINARY LOGS AND GTIDS", NULL));
    else
        set_back(rig, 2, older, NULL);
    await(rig, 2, receives_nothing, "said to have lost transactions, and held");
    printf("%s\n", what_it_says(&rig->members[2]));
    assert_string_equal(rig->members[2].status.errant, "");
    assert_false(has_lost_gtids(&rig->members[0]));
    assert_false(has_lost_gtids(&rig->members[1]));
    stays_without_a_source(rig, 2, "2");
}

/* As a copy would: its data is equal to the primary's, and it knows the position of that. */
static void mend(struct replication_rig *rig, unsigned member)
{
    struct agent_rig *at = rig->members[member].rig;
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, 4 * KM_KIB);
    agent_rig_kill(&at->agent);
    rig->members[member].status = (struct agent_status){0};
    assert_int_equal(unlink(agent_rig_path(at, "vol/data/kube-mysql-gtids-lost.json")), 0);
    assert_true(member_sql(rig, 0, "SELECT @@GLOBAL.gtid_binlog_pos", &text));
    text.buf[strcspn(text.buf, "\n")] = '\0';
    set_back(rig, member, text.buf, NULL);
    replication_rig_start(rig, member, "run");
    await(rig, member, member_runs, "running");
    member_give(rig, member, replication_rig_replica(rig, 0));
    await(rig, member, is_whole, "whole");
}

/* MariaDB: its position is at its end again before anybody looks, and its rows are doubled. */
static void test_a_replica_that_was_set_back_and_started(void **state)
{
    struct replication_rig *rig = *state;

    if (is_mysql(rig))
        return;
    mend(rig, 2);
    _cleanup_(freep) char *older = position_of(rig, 2);
    assert_true(member_sql(rig, 0, "INSERT INTO t.w VALUES (5)", NULL));
    assert_true(member_says(rig, 2, "SELECT COUNT(*) FROM t.w", "3"));
    replication_rig_run(rig, 2000);
    set_back(rig, 2, older, "4");
    await(rig, 2, receives_nothing, "said to have lost transactions, and held");
    printf("%s\n", what_it_says(&rig->members[2]));
    assert_false(has_lost_gtids(&rig->members[0]));
    assert_true(member_sql(rig, 0, "DELETE FROM t.w WHERE id = 5", NULL));
}

/* It is said at once, not after the failover. Then the old primary would apply again, as replica, what it wrote. */
static void test_a_primary_that_was_reset(void **state)
{
    struct replication_rig *rig = *state;

    for (int i = 0; i < 20; i++)
        assert_true(member_sql(rig, 0, "INSERT INTO t.w VALUES (7)", NULL));
    assert_true(member_says(rig, 1, "SELECT COUNT(*) FROM t.w", "22"));
    replication_rig_run(rig, 2000);
    assert_true(member_sql(rig, 0, is_mysql(rig) ? "RESET BINARY LOGS AND GTIDS" : "RESET MASTER", NULL));
    await(rig, 0, has_lost_gtids, "said to have lost transactions");
    printf("%s\n", what_it_says(&rig->members[0]));
    assert_true(strstr(what_it_says(&rig->members[0]), "this primary") != NULL);
    assert_false(has_lost_gtids(&rig->members[1]));
    /* The failover. */
    rig->epoch++;
    member_give(rig, 0, replication_rig_fence(rig));
    await(rig, 0, member_done, "closed");
    member_give(rig, 1, replication_rig_primary(rig, ""));
    await(rig, 1, member_done, "open");
    member_give(rig, 0, replication_rig_replica(rig, 1));
    await(rig, 0, member_done, "as ordered");
    replication_rig_run(rig, WATCHED_MS);
    assert_true(receives_nothing(&rig->members[0]));
    assert_true(member_says(rig, 0, "SELECT COUNT(*) FROM t.w", "22"));
    assert_true(member_says(rig, 1, "SELECT COUNT(*) FROM t.w", "22"));
    assert_false(has_lost_gtids(&rig->members[1]));
}

int reset_stories_run(bool mysql)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody_has_lost_anything),
        cmocka_unit_test(test_a_replica_whose_log_was_reset_becomes_primary),
        cmocka_unit_test(test_a_replica_that_was_set_back),
        cmocka_unit_test(test_a_replica_that_was_set_back_and_started),
        cmocka_unit_test(test_a_primary_that_was_reset),
    };

    cmocka_set_test_filter(getenv("TEST_CASE"));
    return mysql
        ? cmocka_run_group_tests_name("reset MySQL", tests, replication_rig_setup_semi_mysql, replication_rig_teardown)
        : cmocka_run_group_tests_name(
              "reset MariaDB", tests, replication_rig_setup_semi_mariadb, replication_rig_teardown);
}
