/* SPDX-License-Identifier: Apache-2.0 */
/* full: it takes more than a minute, and make test leaves it out */
/* A MySQL primary whose replicas are gone, or which has been a replica meanwhile, and its accounts. */
#include "common/base.h"

#include <grp.h>
#include <setjmp.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/mysql/accounts.h"
#include "agent/readiness.h"
#include "agent/tests/agent_rig.h"
#include "agent/tests/replication_rig.h"
#include "common/alloc.h"
#include "common/clock.h"

#define LONG_MS 60000
#define STATUS_LOOKS_MS 12000 /* longer than STATUS_INTERVAL_MS */
#define WORD_MS 3000
#define CLIENTS \
    "SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Rpl_semi_sync_source_clients'"

static bool has_accounts(const struct member *member)
{
    return member_ready(member) && member->status.accounts_applied;
}

static void await_accounts(struct replication_rig *rig)
{
    for (unsigned i = 0; i < MEMBERS; i++)
        member_await(rig, i, has_accounts, "ready, with its accounts");
}

static void test_the_members(void **state)
{
    struct replication_rig *rig = *state;

    for (unsigned i = 0; i < MEMBERS; i++)
        member_await(rig, i, member_runs, "up");
    replication_rig_form(rig);
    await_accounts(rig);
    assert_true(rig->members[0].status.semi_sync);
}

/* Each primary makes the passwords' hashes with salts of its own. */
static void test_what_another_primary_made_is_not_made_again(void **state)
{
    struct replication_rig *rig = *state;

    for (unsigned i = 0; i < 4; i++) {
        replication_rig_run(rig, STATUS_LOOKS_MS);
        replication_rig_switch_us(rig, i % 2, (i + 1) % 2);
        await_accounts(rig);
    }
    replication_rig_run(rig, STATUS_LOOKS_MS);
    assert_false(agent_rig_file_says(rig->members[0].rig, "run.log", "by another hand"));
    assert_false(agent_rig_file_says(rig->members[1].rig, "run.log", "by another hand"));
}

static bool is_set_right(struct replication_rig *rig)
{
    for (int tries = 0; tries < 300; tries++) {
        if (agent_rig_sql(rig->members[0].rig, "monitor", "pw-monitor'\\", "SELECT 1", NULL))
            return true;
        replication_rig_run(rig, 100);
    }
    return false;
}

/* Also by one that began with what it found. */
static void test_what_another_hand_changed_is_set_right(void **state)
{
    struct replication_rig *rig = *state;

    assert_true(
        member_owner_sql(rig, 0, "SET sql_log_bin = 0; ALTER USER 'monitor'@'%' IDENTIFIED BY 'another-hand'", NULL));
    assert_true(is_set_right(rig));
    replication_rig_run(rig, WORD_MS); /* what is not logged comes first: the pass is in its midst */
    await_accounts(rig);
}

/* As the agent would whose latest look is of the time before the replicas went. 0: it has begun nothing, and says why. */
static int apply_accounts(const struct replication_rig *rig, const struct agent_status *status)
{
    struct agent_rig *pod = rig->members[0].rig;
    const struct session_options options = {
        .socket = agent_rig_path(pod, "run/mysqld.sock"),
        .user = "mysql",
        .connect_timeout_s = 5,
        .io_timeout_s = 5,
    };
    _cleanup_(accounts_want_release) struct accounts_want want = {.monitor_password = xstrdup("pw-monitor'\\"),
        .agent_user = xstrdup("mysql"),
        .scope = ACCOUNTS_LOGGED,
        .hash = "abc"};
    struct server_version version;
    struct accounts_plan plan;
    struct error err = ERROR_INIT;

    if (setgroups(0, NULL) < 0 || setgid(pod->gid) < 0 || setuid(pod->uid) < 0)
        return 2;
    session_library_init();
    struct session *session = session_open(&options, &err);
    if (!session || server_version_parse(status->version, NULL, &version, &err) < 0 ||
        accounts_plan_make(&want, dialect_for(&version), &(struct accounts_facts){0}, &plan, &err) < 0) {
        printf("not tried: %s\n", err.message);
        return 3;
    }
    int rc = accounts_apply(session, dialect_for(&version), &plan, &err);
    printf("accounts_apply: %d, %s\n", rc, err.message);
    return rc < 0 && err.kind == ERROR_UNAVAILABLE && strstr(err.message, "until replicas can acknowledge") ? 0 : 1;
}

static int apply_in_a_process(struct replication_rig *rig)
{
    int status = -1;
    pid_t pid = replication_rig_fork();

    if (pid == 0)
        _exit(apply_accounts(rig, &rig->members[0].status));
    if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

/* A statement that waited for an acknowledgement would keep the replicas out that are to give it. */
static void test_without_replicas_no_account_is_changed(void **state)
{
    struct replication_rig *rig = *state;

    agent_rig_kill(&rig->members[1].rig->agent);
    agent_rig_kill(&rig->members[2].rig->agent);
    agent_rig_kill(&rig->members[1].rig->server);
    agent_rig_kill(&rig->members[2].rig->server);
    assert_true(member_says(rig, 0, CLIENTS, "0"));
    assert_int_equal(apply_in_a_process(rig), 0);
    for (unsigned i = 0; i < MEMBERS; i++)
        agent_rig_put(rig->members[i].rig, "accounts/monitor", "changed");
    replication_rig_run(rig, 5000);
    assert_true(agent_rig_sql(rig->members[0].rig, "root", "pw-root'\\", "SELECT 1", NULL));
    for (unsigned i = 1; i < MEMBERS; i++) {
        replication_rig_start(rig, i, "server");
        replication_rig_start(rig, i, "run");
        member_await(rig, i, member_runs, "up again");
    }
    replication_rig_form(rig);
    await_accounts(rig);
    for (unsigned i = 0; i < MEMBERS; i++)
        assert_true(agent_rig_sql(rig->members[i].rig, "monitor", "changed", "SELECT 1", NULL));
}

static bool hangs(const struct member *member)
{
    return member->status.phase == AGENT_PHASE_HUNG;
}

static void end_by_the_hook(struct replication_rig *rig, struct agent_rig *pod)
{
    int code = 0;

    agent_rig_put_instance(pod, 3); /* others could take over */
    struct agent_process hook = agent_rig_start(pod, "pre-stop");
    for (int tries = 0; tries < 1200 && !agent_rig_ended(&pod->server, &code); tries++)
        replication_rig_run(rig, 50);
    assert_int_equal(pod->server.inner, 0);
    for (int tries = 0; tries < 200 && !agent_rig_ended(&hook, &code); tries++)
        replication_rig_run(rig, 50);
}

/* Nobody asks a client. The server is not live then, and as the kubelet ends it, it lets nobody go who waits. */
static void test_a_client_that_shuts_everybody_out(void **state)
{
    struct replication_rig *rig = *state;
    struct agent_rig *pod = rig->members[0].rig;

    for (unsigned i = 1; i < MEMBERS; i++)
        agent_rig_kill(&rig->members[i].rig->server);
    assert_true(member_says(rig, 0, CLIENTS, "0"));
    pid_t client = member_hold_lock(rig, 0, "CREATE USER shuts_out@localhost", 1);
    for (unsigned i = 1; i < MEMBERS; i++)
        replication_rig_start(rig, i, "server");
    member_await(rig, 0, hangs, "not answering");
    assert_true(agent_rig_await(pod, "/live", 503, 2 * LIVE_HUNG_MS));
    end_by_the_hook(rig, pod);
    member_release_lock(client);
    replication_rig_start(rig, 0, "server");
    for (unsigned i = 0; i < MEMBERS; i++)
        member_await(rig, i, member_runs, "up again");
    replication_rig_form(rig);
    await_accounts(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_members),
        cmocka_unit_test(test_what_another_primary_made_is_not_made_again),
        cmocka_unit_test(test_what_another_hand_changed_is_set_right),
        cmocka_unit_test(test_without_replicas_no_account_is_changed),
        cmocka_unit_test(test_a_client_that_shuts_everybody_out),
    };
    _cleanup_(freep) char *root = agent_rig_possible() ? agent_rig_mysql_root() : NULL;

    if (!root)
        return 77;
    cmocka_set_test_filter(getenv("TEST_CASE"));
    return cmocka_run_group_tests_name(
        "accounts MySQL", tests, replication_rig_setup_semi_mysql, replication_rig_teardown);
}
