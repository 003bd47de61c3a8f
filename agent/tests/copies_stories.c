/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tests/copies_stories.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/mysql/session.h"
#include "agent/role_decide.h"
#include "agent/tests/replication_rig.h"
#include "common/alloc.h"

#define LONG_MS 60000

static void form(struct replication_rig *rig)
{
    for (unsigned i = 0; i < MEMBERS; i++)
        member_await(rig, i, member_runs, "running");
    replication_rig_form(rig);
    assert_true(member_sql(rig, 0, "CREATE DATABASE t; CREATE TABLE t.w (id BIGINT PRIMARY KEY)", NULL));
}

static bool is_blocked(const struct member *member)
{
    return member->status.writes_blocked_ms > 2000 && member->status.semi_sync_replicas == 0 &&
        member->status.waiting_commits > 0;
}

static bool is_closed_for_copy(const struct member *member)
{
    return member_has_problem(member, "ClosedForCopy") && member->status.ready && !member->status.writable &&
        member->status.semi_sync == (member->status.flavour == AGENT_FLAVOUR_MARIADB); /* role_close.h */
}

static bool is_open_again(const struct member *member)
{
    return member_ready(member) && member->status.writable && !member_has_problem(member, "ClosedForCopy") &&
        !member_has_problem(member, "RoleFailed");
}

static bool is_copied(const struct member *member)
{
    return is_open_again(member) && member->status.serving_backups == 0;
}

/* A child that ends with 0 if the commit was said to be done. */
static pid_t start_commit(struct replication_rig *rig, const char *sql)
{
    fflush(NULL);
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0)
        _exit(agent_rig_sql(rig->members[0].rig, "root", "pw-root'\\", sql, NULL) ? 0 : 1);
    return pid;
}

static pid_t start_copy(struct replication_rig *rig, const char *query)
{
    struct agent_rig *from = rig->members[0].rig;
    _cleanup_(freep) char *url = xasprintf("https://localhost:%u/v1/backup%s", from->tls_port, query);

    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        execlp("curl", "curl", "--silent", "--fail", "--max-time", "60", "--output", agent_rig_path(from, "copy"),
            "--cacert", agent_rig_path(from, "tls/ca.crt"), "--cert", agent_rig_path(from, "tls/tls.crt"), "--key",
            agent_rig_path(from, "tls/tls.key"), url, (char *)NULL);
        _exit(127);
    }
    return pid;
}

static int exit_code_of(pid_t pid)
{
    int status = 0;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* What the donor of CLONE INSTANCE does, CLONE LOCAL does as well; of the agent, which marks its sessions. */
static pid_t start_clone(struct replication_rig *rig, const char *folder)
{
    _cleanup_(freep) char *sql = xasprintf("DO GET_LOCK(CONCAT('" SESSION_MARK "', CONNECTION_ID()), 0); "
                                           "CLONE LOCAL DATA DIRECTORY = '%s'",
        agent_rig_path(rig->members[0].rig, folder));

    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(member_owner_sql(rig, 0, sql, NULL) ? 0 : 1);
    return pid;
}

/* A copy and commits wait for each other, and the primary was closed for that not long ago: whatever becomes of the
 * second copy, it stays open. */
static void expect_not_closed_again(struct replication_rig *rig)
{
    pid_t commit = start_commit(rig, "INSERT INTO t.w VALUES (-22)");
    bool mariadb = rig->members[0].status.flavour == AGENT_FLAVOUR_MARIADB;
    pid_t copy = mariadb ? start_copy(rig, "") : start_clone(rig, "vol/clone-again");

    for (int i = 0; i < 80; i++) {
        replication_rig_run(rig, 100);
        assert_false(member_has_problem(&rig->members[0], "ClosedForCopy"));
        assert_true(rig->members[0].status.writable && rig->members[0].status.ready);
    }
    assert_int_equal(waitpid(copy, NULL, WNOHANG), 0); /* it waits */
    kill(copy, SIGKILL);
    kill(commit, SIGKILL);
    waitpid(copy, NULL, 0);
    waitpid(commit, NULL, 0);
}

/* The only replicas are gone and the copy for one of them waits for commits that wait for it. The primary takes writes
 * again before the copy is complete, and is read from meanwhile. */
static void test_a_copy_and_commits_do_not_wait_for_each_other(void **state)
{
    struct replication_rig *rig = *state;

    form(rig);
    agent_rig_kill(&rig->members[2].rig->server);
    agent_rig_kill(&rig->members[1].rig->server);
    pid_t commits[] = {
        start_commit(rig, "INSERT INTO t.w VALUES (-20)"), start_commit(rig, "INSERT INTO t.w VALUES (-21)")};
    assert_true(replication_rig_await(rig, 0, is_blocked, "blocked", LONG_MS));
    bool mariadb = rig->members[0].status.flavour == AGENT_FLAVOUR_MARIADB;
    pid_t copy = mariadb ? start_copy(rig, "") : start_clone(rig, "vol/clone");
    assert_true(replication_rig_await(rig, 0, is_closed_for_copy, "closed for the copy", LONG_MS));
    assert_true(member_sql(rig, 0, "SELECT COUNT(*) FROM t.w", NULL));
    assert_true(replication_rig_await(rig, 0, is_open_again, "open again", 3 * COPY_STAGE_MS));
    assert_true(replication_rig_await(rig, 0, is_copied, "copied", LONG_MS));
    assert_int_equal(exit_code_of(copy), 0);
    for (size_t i = 0; i < ARRAY_LEN(commits); i++)
        assert_int_not_equal(exit_code_of(commits[i]), 0);
    assert_true(rig->members[0].status.semi_sync);
    assert_true(member_says(rig, 0, "SELECT @@event_scheduler", "ON"));
    expect_not_closed_again(rig);
    replication_rig_start(rig, 1, "server");
    replication_rig_start(rig, 2, "server");
    for (unsigned i = 0; i < MEMBERS; i++) {
        assert_true(replication_rig_await(rig, i, member_ready, "ready", LONG_MS));
        assert_true(member_says(rig, i, "SELECT COUNT(*) FROM t.w WHERE id IN (-20, -21)", "2"));
    }
}

/* Accounts that are being made lock tables of the server that statements are read of, too. */
static void test_a_dump_and_accounts_do_not_wait_for_each_other(void **state)
{
    struct replication_rig *rig = *state;

    form(rig);
    agent_rig_kill(&rig->members[2].rig->server);
    agent_rig_kill(&rig->members[1].rig->server);
    pid_t commit = start_commit(rig, "CREATE USER waits");
    assert_true(replication_rig_await(rig, 0, is_blocked, "blocked", LONG_MS));
    pid_t copy = start_copy(rig, "?method=sql");
    assert_true(replication_rig_await(rig, 0, is_closed_for_copy, "closed for the copy", LONG_MS));
    assert_true(replication_rig_await(rig, 0, is_copied, "copied", LONG_MS));
    assert_int_equal(exit_code_of(copy), 0);
    assert_int_not_equal(exit_code_of(commit), 0);
}

static int run_of_mariadb(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_dump_and_accounts_do_not_wait_for_each_other)};

    return cmocka_run_group_tests_name(
        "copies by statements", tests, replication_rig_setup_semi_mariadb, replication_rig_teardown);
}

int copies_stories_run(bool mysql)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_copy_and_commits_do_not_wait_for_each_other),
    };

    cmocka_set_test_filter(getenv("TEST_CASE"));
    if (mysql)
        return cmocka_run_group_tests_name(
            "copies MySQL", tests, replication_rig_setup_semi_mysql, replication_rig_teardown);
    int failed = cmocka_run_group_tests_name(
        "copies MariaDB", tests, replication_rig_setup_semi_mariadb, replication_rig_teardown);
    return failed + run_of_mariadb();
}
