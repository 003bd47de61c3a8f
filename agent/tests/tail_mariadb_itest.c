/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a dead primary's binary log, and what the next primary had of it when it was chosen (server_start.h). */
#include "common/base.h"

#include <setjmp.h>
#include <signal.h>
#include <cmocka.h>

#include "agent/tests/replication_rig.h"
#include "common/alloc.h"
#include "common/fs.h"
#include "common/gtid.h"

#define MARK "vol/.kube-mysql/semi-sync-primary"
#define START_CUT "vol/.kube-mysql/start-cut"
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

static void hold_from(struct replication_rig *rig, unsigned member, unsigned primary)
{
    struct agent_order order = replication_rig_replica(rig, primary);

    order.source_host[0] = '\0';
    member_give(rig, member, order);
    member_await(rig, member, member_is_held, "held");
}

static void hold(struct replication_rig *rig, unsigned member)
{
    hold_from(rig, member, 0);
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
    await_mark(rig, 1);
    hold(rig, 0);
    assert_true(member_sql(rig, 1, "INSERT INTO t.w VALUES (21)", NULL)); /* so the other one has all until then */
    hold(rig, 2);
    pid_t writer = member_hold_lock(rig, 1, "INSERT INTO t.w VALUES (22)", 1);
    member_await(rig, 1, has_waiting_commit, "waiting");
    replication_rig_run(rig, 500);
    _cleanup_(freep) char *has_another_id =
        xasprintf("SELECT @@global.server_id <> %u", rig->members[1].status.server_id);
    assert_true(member_says(rig, 1, has_another_id, "0"));
    kill_primary(rig, 1);
    member_release_lock(writer);
    _cleanup_(freep) char *floor = take_over(rig, 2);
    come_back(rig, 1, 2, floor);
    assert_true(member_says(rig, 1, "SELECT COUNT(*) FROM t.w", "21"));
    assert_true(member_says(rig, 1, has_another_id, "1")); /* it never gives the number of (22) to something else */
    assert_true(agent_rig_file_says(rig->members[1].rig, "server.log", "cuts off what nobody has acknowledged"));
    assert_true(agent_rig_has(rig->members[1].rig, SET_ASIDE));
}

static bool has_executed(const struct member *member, const char *position)
{
    _cleanup_(gtid_set_freep) struct gtid_set *executed =
        gtid_set_parse(GTID_MARIADB, member->status.gtid_executed, NULL);
    _cleanup_(gtid_set_freep) struct gtid_set *wanted = gtid_set_parse(GTID_MARIADB, position, NULL);
    enum gtid_relation relation = executed && wanted ? gtid_set_compare(wanted, executed) : GTID_DIVERGED;

    return relation == GTID_SUBSET || relation == GTID_EQUAL;
}

static void await_executed(struct replication_rig *rig, unsigned member, const char *position)
{
    for (int i = 0; i < 300 && !has_executed(&rig->members[member], position); i++)
        replication_rig_run(rig, 100);
    assert_true(has_executed(&rig->members[member], position));
}

static void read_position(struct replication_rig *rig, unsigned member, struct strbuf *ret)
{
    strbuf_reset(ret);
    assert_true(member_sql(rig, member, "SELECT @@global.gtid_binlog_pos", ret));
    ret->buf[strcspn(ret->buf, "\n")] = '\0';
}

/* It is in the binary log, and waits for its acknowledgement. */
static pid_t log_without_an_end(
    struct replication_rig *rig, unsigned member, const char *statement, struct strbuf *ret_position)
{
    bool is_logged = false;

    read_position(rig, member, ret_position);
    _cleanup_(freep) char *moved = xasprintf("SELECT @@global.gtid_binlog_pos <> '%s'", ret_position->buf);
    pid_t pid = member_hold_lock(rig, member, statement, 1);

    for (int i = 0; i < 30 && !is_logged; i++) /* a large one takes its time */
        is_logged = member_says(rig, member, moved, "1");
    assert_true(is_logged);
    read_position(rig, member, ret_position);
    return pid;
}

/* As it would without its agent: only so far. */
static void receive_up_to(struct replication_rig *rig, unsigned member, const char *position)
{
    _cleanup_(freep) char *follow = xasprintf("STOP SLAVE; START SLAVE UNTIL master_gtid_pos = '%s'", position);
    _cleanup_(freep) char *there = xasprintf("SELECT MASTER_GTID_WAIT('%s', 40)", position);

    assert_true(member_sql(rig, member, follow, NULL));
    assert_true(member_says(rig, member, there, "0"));
}

struct loss {
    unsigned primary, next;
    const char *first, *second;
    char *of_first; /* the position */
    char *floor;
};

/* Two commits wait: the next primary receives the first of them, and not the second; what the engine has of the first
 * is not on the disk yet. Then nobody is there who could send it again. */
static void lose(struct replication_rig *rig, struct loss *loss)
{
    static const char waiting[] = "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS "
                                  "WHERE VARIABLE_NAME = 'Rpl_semi_sync_master_wait_sessions'";
    _cleanup_(strbuf_release) struct strbuf position;
    struct agent_rig *old = rig->members[loss->primary].rig, *next = rig->members[loss->next].rig;

    strbuf_init(&position, 256);
    await_mark(rig, loss->primary);
    assert_true(member_sql(rig, loss->primary, "SET GLOBAL innodb_flush_log_at_timeout = 2700", NULL));
    kill(old->agent.inner, SIGSTOP); /* no heartbeat is before the two, or between them */
    assert_true(member_says(rig, loss->primary, waiting, "0"));
    hold_from(rig, loss->next, loss->primary);
    pid_t first = log_without_an_end(rig, loss->primary, loss->first, &position);
    loss->of_first = xstrdup(position.buf);
    pid_t second = log_without_an_end(rig, loss->primary, loss->second, &position);
    kill(next->agent.inner, SIGSTOP);
    receive_up_to(rig, loss->next, loss->of_first);
    agent_rig_kill(&old->server);
    kill(next->agent.inner, SIGCONT);
    kill(old->agent.inner, SIGCONT);
    member_await(rig, loss->primary, member_is_down, "down");
    member_release_lock(first);
    member_release_lock(second);
    await_executed(rig, loss->next, loss->of_first);
    loss->floor = take_over(rig, loss->next);
    agent_rig_kill(&next->server);
}

static void release(struct loss *loss)
{
    free(loss->of_first);
    free(loss->floor);
}

static void order_old(struct replication_rig *rig, const struct loss *loss)
{
    struct agent_order order = replication_rig_replica(rig, loss->next);

    order.truncate = true;
    order.beyond = loss->floor;
    member_give(rig, loss->primary, order);
}

static void start_old(struct replication_rig *rig, const struct loss *loss)
{
    order_old(rig, loss);
    replication_rig_start(rig, loss->primary, "server");
    member_await(rig, loss->primary, member_runs, "running");
}

static void open_again(struct replication_rig *rig, unsigned member)
{
    replication_rig_start(rig, member, "server");
    member_await(rig, member, member_runs, "running");
    rig->epoch++;
    member_give(rig, member, replication_rig_primary(rig, ""));
    member_await(rig, member, member_done, "open");
}

static void start_next(struct replication_rig *rig, const struct loss *loss)
{
    open_again(rig, loss->next);
    member_give(rig, loss->primary, replication_rig_replica(rig, loss->next));
    member_await(rig, loss->primary, member_ready, "a replica again");
    assert_string_equal(rig->members[loss->primary].status.errant, "");
}

static void expect_taken_back(struct replication_rig *rig, const struct loss *loss)
{
    struct member *old = &rig->members[loss->primary];

    assert_true(agent_rig_file_says(old->rig, "server.log", "cuts off what nobody has acknowledged"));
    await_executed(rig, loss->primary, loss->of_first);
    assert_true(agent_rig_file_says(old->rig, "run.log", "is taken back"));
    assert_int_equal(old->status.mark, AGENT_MARK_NONE);
    assert_false(agent_rig_has(old->rig, "vol/.kube-mysql/put-back.json"));
}

static void test_what_the_next_primary_had_is_taken_back(void **state)
{
    struct replication_rig *rig = *state;
    struct loss loss = {
        .primary = 2, .next = 1, .first = "INSERT INTO t.w VALUES (31)", .second = "INSERT INTO t.w VALUES (32)"};

    member_give(rig, 1, replication_rig_replica(rig, 2));
    member_await(rig, 1, member_ready, "ready");
    lose(rig, &loss);
    start_old(rig, &loss);
    expect_taken_back(rig, &loss);
    assert_true(member_says(rig, 2, "SELECT GROUP_CONCAT(id) FROM t.w WHERE id > 30", "31"));
    start_next(rig, &loss);
    assert_true(member_says(rig, 2, "SELECT GROUP_CONCAT(id) FROM t.w WHERE id > 30", "31"));
    release(&loss);
}

/* More than what is set aside else: the copy reaches back to where the recovery begins. */
static void test_what_is_large_is_taken_back(void **state)
{
    struct replication_rig *rig = *state;
    struct loss loss = {.primary = 1,
        .next = 2,
        .first = "INSERT INTO t.big SELECT seq, REPEAT('x', 1048576) FROM t.seq_1_to_70",
        .second = "INSERT INTO t.w VALUES (42)"};

    member_await(rig, 1, has_made_accounts, "open, with its accounts");
    assert_true(member_sql(rig, 1, "CREATE TABLE t.big (id BIGINT PRIMARY KEY, b LONGBLOB)", NULL));
    lose(rig, &loss);
    start_old(rig, &loss);
    expect_taken_back(rig, &loss);
    assert_true(member_says(rig, 1, "SELECT COUNT(*) FROM t.big", "70"));
    assert_true(member_says(rig, 1, "SELECT COUNT(*) FROM t.w WHERE id = 42", "0"));
    start_next(rig, &loss);
    release(&loss);
}

static bool has_failed_to_put_back(const struct member *member)
{
    return member->status.mark == AGENT_MARK_RESEED && member_has_problem(member, "PutBackFailed");
}

/* The copy goes after the cut, and before the agent has looked at it. */
static void test_what_cannot_be_taken_back_is_told(void **state)
{
    struct replication_rig *rig = *state;
    struct loss loss = {
        .primary = 2, .next = 1, .first = "INSERT INTO t.w VALUES (61)", .second = "INSERT INTO t.w VALUES (62)"};
    struct agent_rig *old = rig->members[2].rig;

    lose(rig, &loss);
    order_old(rig, &loss);
    replication_rig_run(rig, 1000);
    kill(old->agent.inner, SIGSTOP);
    replication_rig_start(rig, 2, "server");
    for (int i = 0; i < 300 && !agent_rig_has(old, START_CUT); i++)
        replication_rig_run(rig, 100);
    assert_true(agent_rig_has(old, START_CUT));
    assert_true(agent_rig_has(old, "vol/.kube-mysql/put-back.json"));
    assert_int_equal(fs_remove_all(agent_rig_path(old, SET_ASIDE), NULL), 0);
    kill(old->agent.inner, SIGCONT);
    member_await(rig, 2, has_failed_to_put_back, "marked, with the reason");
    assert_false(agent_rig_has(old, "vol/.kube-mysql/put-back.json"));
    release(&loss);
}

static bool is_errant(const struct member *member)
{
    return !str_empty(member->status.errant);
}

/* It could not be taken back: so it stays, also when the word is said again, and the member has to be copied anew. */
static void test_what_cannot_be_kept_is_not_cut_off(void **state)
{
    struct replication_rig *rig = *state;
    struct loss loss = {.primary = 1,
        .next = 0,
        .first = "INSERT INTO t.big SELECT 1000 + seq, REPEAT('y', 1048576) FROM t.seq_1_to_260",
        .second = "INSERT INTO t.w VALUES (52)"};
    struct member *old = &rig->members[1];

    open_again(rig, 1);
    hold_from(rig, 2, 1);
    member_give(rig, 0, replication_rig_replica(rig, 1));
    member_await(rig, 0, member_ready, "ready");
    member_await(rig, 1, has_made_accounts, "open, with its accounts");
    lose(rig, &loss);
    for (int i = 0; i < 2; i++) {
        start_old(rig, &loss);
        assert_true(agent_rig_file_says(old->rig, "server.log", "it is left as it is"));
        assert_true(member_says(rig, 1, "SELECT COUNT(*) FROM t.big WHERE id > 1000", "260"));
        assert_true(member_says(rig, 1, "SELECT COUNT(*) FROM t.w WHERE id = 52", "1"));
        assert_false(agent_rig_has(old->rig, "vol/.kube-mysql/put-back.json"));
        if (i == 0)
            kill_primary(rig, 1);
    }
    open_again(rig, 0);
    member_give(rig, 1, replication_rig_replica(rig, 0));
    member_await(rig, 1, is_errant, "known to have what the primary has not");
    release(&loss);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_members),
        cmocka_unit_test(test_what_the_next_primary_had_is_not_cut_off),
        cmocka_unit_test(test_what_it_lacked_is_cut_off),
        cmocka_unit_test(test_what_the_next_primary_had_is_taken_back),
        cmocka_unit_test(test_what_is_large_is_taken_back),
        cmocka_unit_test(test_what_cannot_be_taken_back_is_told),
        cmocka_unit_test(test_what_cannot_be_kept_is_not_cut_off),
    };

    if (!agent_rig_possible())
        return 77;
    return cmocka_run_group_tests(tests, replication_rig_setup_semi_mariadb, replication_rig_teardown);
}
