/* SPDX-License-Identifier: Apache-2.0 */
/* `init` against the real server of this machine: what is left on the volume after everything that can happen to it. */
#include "common/base.h"

#include <sched.h>
#include <setjmp.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/tests/agent_rig.h"
#include "common/agent_api.h"
#include "common/alloc.h"
#include "common/fs.h"
#include "common/subprocess.h"

static int setup(void **state)
{
    *state = agent_rig_new();
    return 0;
}

static int teardown(void **state)
{
    agent_rig_free(*state);
    return 0;
}

static ino_t inode(const struct agent_rig *rig, const char *name)
{
    struct stat st;

    assert_int_equal(stat(agent_rig_path(rig, name), &st), 0);
    return st.st_ino;
}

static void expect_serves(struct agent_rig *rig)
{
    _cleanup_(strbuf_release) struct strbuf body;

    strbuf_init(&body, KM_MIB);
    agent_rig_start(rig, "server");
    agent_rig_start(rig, "run");
    assert_true(agent_rig_await(rig, "/startup", 200, 60000));
    assert_int_equal(agent_rig_order(rig, "{\"epoch\":1,\"role\":\"primary\"}", &body), 200);
    assert_true(agent_rig_await(rig, "/ready", 200, 60000));
}

static void test_empty_volume(void **state)
{
    struct agent_rig *rig = *state;
    _cleanup_(strbuf_release) struct strbuf out;

    strbuf_init(&out, KM_MIB);
    assert_int_equal(mkdir(agent_rig_path(rig, "vol/lost+found"), 0700), 0);
    assert_int_equal(agent_rig_init(rig), 0);
    assert_true(agent_rig_has(rig, "vol/data/ibdata1"));
    assert_false(agent_rig_has(rig, "vol/data.new"));
    assert_true(agent_rig_file_says(rig, "run/my.cnf", "server_id = 1002"));
    /* I9: no password in what was written */
    assert_false(agent_rig_file_says(rig, "run/my.cnf", "pw-"));
    assert_false(agent_rig_file_says(rig, "run/bootstrap.sql", "pw-"));

    ino_t before = inode(rig, "vol/data/ibdata1");
    assert_int_equal(agent_rig_init(rig), 0);
    assert_int_equal(inode(rig, "vol/data/ibdata1"), before);

    expect_serves(rig);
    assert_true(agent_rig_sql(rig, "root", "pw-root'\\",
        "SELECT COUNT(*) FROM mysql.user WHERE user = ''; SHOW DATABASES LIKE 'test'; SHOW BINLOG EVENTS", &out));
    assert_true(str_starts_with(out.buf, "0\n"));
    assert_null(strstr(out.buf, "\ntest\n"));
    /* What the primary makes of accounts replicates: never as a password that could be read (I9). */
    assert_null(strstr(out.buf, "pw-"));
}

#define KEEP "{\"epoch\":1,\"seed\":\"keep\"}"
#define INITIALISE "{\"epoch\":1,\"seed\":\"initialise\"}"

/* Until the door is open. */
static void order(const struct agent_rig *rig, const char *text, int code)
{
    _cleanup_(strbuf_release) struct strbuf body;
    int got = 0;

    strbuf_init(&body, KM_MIB);
    for (int i = 0; i < 500 && (got = agent_rig_order(rig, text, &body)) == 0; i++)
        usleep(20 * 1000);
    if (got != code)
        printf("%s: %s\n", text, body.buf);
    assert_int_equal(got, code);
}

/* S7: db-1's "keep" would take the mark off db-2's volume. */
static void test_an_order_for_another_pod_is_refused(void **state)
{
    struct agent_rig *rig = *state;
    struct agent_process init = agent_rig_start(rig, "init");
    _cleanup_(strbuf_release) struct strbuf body;
    int got = 0;

    strbuf_init(&body, KM_MIB);
    for (int i = 0; i < 500 && (got = agent_rig_order_to(rig, "to=demo-mysql-1", INITIALISE, &body)) == 0; i++)
        usleep(20 * 1000);
    assert_int_equal(got, 421);
    assert_int_equal(agent_rig_order_to(rig, "to=demo-mysql-2&uid=another", INITIALISE, &body), 421);
    assert_true(agent_rig_await_status(rig, "\"seed\":\"Waiting\"", 10000));
    assert_int_equal(agent_rig_order_to(rig, "asOf=17&to=demo-mysql-2&uid=" AGENT_RIG_POD_UID, INITIALISE, &body), 200);
    assert_int_equal(agent_rig_wait(&init), 0);
    assert_true(agent_rig_has(rig, "vol/data/ibdata1"));
}

static void test_killed_in_the_middle(void **state)
{
    static const unsigned moments_ms[] = {30, 150, 300, 600, 900, 1200, 1500, 1800};
    struct agent_rig *rig = *state;
    unsigned halves = 0;

    for (size_t i = 0; i < ARRAY_LEN(moments_ms); i++) {
        struct agent_process init = agent_rig_start(rig, "init");
        order(rig, agent_rig_has(rig, "vol/data") ? KEEP : INITIALISE, 200);
        usleep(moments_ms[i] * 1000);
        agent_rig_kill(&init);
        halves += agent_rig_has(rig, "vol/data.new");
        /* Either nothing or a whole: a folder "data" is one that a server can be started on. */
        if (agent_rig_has(rig, "vol/data"))
            assert_true(agent_rig_has(rig, "vol/data/mysql_upgrade_info"));
    }
    assert_true(halves > 0); /* otherwise the test proved nothing */
    assert_int_equal(agent_rig_init(rig), 0);
    assert_false(agent_rig_has(rig, "vol/data.new"));
    expect_serves(rig);
}

static void test_waits_for_an_order(void **state)
{
    struct agent_rig *rig = *state;
    struct agent_process init = agent_rig_start(rig, "init");
    int code = 0;

    assert_true(agent_rig_await_status(rig, "\"seed\":\"Waiting\"", 20000));
    assert_true(agent_rig_await_status(rig, "\"data\":\"Empty\"", 1000));
    assert_true(agent_rig_await_status(rig, "\"phase\":\"Seeding\"", 1000));
    order(rig, "{\"epoch\":7}", 200);
    order(rig, "{\"epoch\":6,\"seed\":\"initialise\"}", 409);
    order(rig, "{\"epoch\":7,\"seed\":\"nonsense\"}", 200); /* of a newer operator: wait */
    order(rig, "{\"epoch\":7,\"seed\":", 400);
    order(rig, "{\"epoch\":7,\"seed\":\"keep\"}", 200);
    assert_true(agent_rig_await_status(rig, "the volume is empty", 2000));
    usleep(1200 * 1000);
    assert_false(agent_rig_ended(&init, &code));
    assert_false(agent_rig_has(rig, "vol/data"));

    /* The epoch outlives the process. */
    agent_rig_kill(&init);
    init = agent_rig_start(rig, "init");
    assert_true(agent_rig_await_status(rig, "\"epoch\":7", 20000));
    order(rig, "{\"epoch\":6,\"seed\":\"initialise\"}", 409);
    order(rig, "{\"epoch\":8,\"seed\":\"initialise\"}", 200);
    assert_int_equal(agent_rig_wait(&init), 0);
    assert_true(agent_rig_has(rig, "vol/data/ibdata1"));
}

/* I7 */
static void test_a_database_is_not_initialised_over(void **state)
{
    struct agent_rig *rig = *state;
    int code = 0;

    assert_int_equal(agent_rig_init(rig), 0);
    ino_t before = inode(rig, "vol/data/ibdata1");
    assert_int_equal(
        mkdir(agent_rig_path(rig, "vol/.kube-mysql"), 0700) == 0 || agent_rig_has(rig, "vol/.kube-mysql"), 1);
    agent_rig_put(rig, "vol/.kube-mysql/mark", "left\n");
    struct agent_process init = agent_rig_start(rig, "init");
    assert_true(agent_rig_await_status(rig, "\"data\":\"Database\"", 20000));
    assert_true(agent_rig_await_status(rig, "\"mark\":\"left\"", 1000));
    order(rig, INITIALISE, 200);
    assert_true(agent_rig_await_status(rig, "the volume holds one; it is left alone", 2000));
    order(rig, "{\"epoch\":1,\"seed\":\"clone\",\"donorHost\":\"localhost\",\"donorAgentPort\":1}", 200);
    assert_true(agent_rig_await_status(rig, "does not say", 2000));
    assert_false(agent_rig_ended(&init, &code));
    order(rig, KEEP, 200);
    assert_int_equal(agent_rig_wait(&init), 0);
    assert_int_equal(inode(rig, "vol/data/ibdata1"), before);
    assert_false(agent_rig_has(rig, "vol/.kube-mysql/mark"));
}

static void test_foreign_data_is_left_alone(void **state)
{
    struct agent_rig *rig = *state;

    assert_int_equal(mkdir(agent_rig_path(rig, "vol/data"), 0755), 0);
    agent_rig_put(rig, "vol/data/thesis.odt", "years of work");
    assert_int_equal(agent_rig_init(rig), agent_init_exit_code(AGENT_INIT_FAULT_OTHER));
    assert_true(agent_rig_file_says(rig, "vol/data/thesis.odt", "years of work"));
    assert_true(agent_rig_file_says(rig, "termination", "thesis.odt"));
    assert_false(agent_rig_has(rig, "vol/data/ibdata1"));
}

static void test_newer_data_is_left_alone(void **state)
{
    struct agent_rig *rig = *state;

    assert_int_equal(mkdir(agent_rig_path(rig, "vol/data"), 0755), 0);
    assert_int_equal(mkdir(agent_rig_path(rig, "vol/data/mysql"), 0755), 0);
    agent_rig_put(rig, "vol/data/ibdata1", "");
    agent_rig_put(rig, "vol/data/aria_log_control", "");
    agent_rig_put(rig, "vol/data/mariadb_upgrade_info", "99.1.2-MariaDB");
    assert_int_equal(agent_rig_init(rig), agent_init_exit_code(AGENT_INIT_FAULT_IMAGE));
    assert_true(agent_rig_file_says(rig, "termination", "99.1.2-MariaDB"));
}

static void test_a_refused_configuration_costs_nothing(void **state)
{
    struct agent_rig *rig = *state;

    agent_rig_put(rig, "config/my.cnf", "[mysqld]\nno_such_key = 5\n");
    assert_int_equal(agent_rig_init(rig), agent_init_exit_code(AGENT_INIT_FAULT_MYCNF));
    assert_true(agent_rig_file_says(rig, "termination", "no_such_key"));
    assert_false(agent_rig_has(rig, "vol/data"));
    assert_false(agent_rig_has(rig, "run/my.cnf"));
    agent_rig_put(rig, "config/my.cnf", "[mysqld]\n");
    assert_int_equal(agent_rig_init(rig), 0);
    assert_true(agent_rig_has(rig, "vol/data/ibdata1"));
}

static void test_nothing_can_move_the_data_folder(void **state)
{
    struct agent_rig *rig = *state;
    _cleanup_(strbuf_release) struct strbuf out;

    strbuf_init(&out, KM_MIB);
    agent_rig_put(rig, "config/my.cnf",
        "[mysqld]\ndatadir = /tmp/elsewhere\nsocket = /tmp/other.sock\nskip_grant_tables = 0\ninit_file = /nonexistent\n"
        "bind_address = 127.0.0.1");
    assert_int_equal(agent_rig_init(rig), 0);
    expect_serves(rig);
    assert_true(agent_rig_sql(rig, "root", "pw-root'\\", "SELECT @@datadir", &out));
    assert_non_null(strstr(out.buf, "/vol/data/"));
}

static void test_missing_files(void **state)
{
    struct agent_rig *rig = *state;

    agent_rig_put(rig, "config/instance.json", "{");
    assert_int_equal(agent_rig_init(rig), agent_init_exit_code(AGENT_INIT_FAULT_OTHER));
    assert_true(agent_rig_file_says(rig, "termination", "instance.json"));
    agent_rig_put(rig, "config/instance.json", NULL);
    assert_int_equal(agent_rig_init(rig), agent_init_exit_code(AGENT_INIT_FAULT_OTHER));
    assert_false(agent_rig_has(rig, "vol/data"));
}

static void test_copy(void **state)
{
    struct agent_rig *rig = *state;
    const char *to = agent_rig_path(rig, "bin");
    _cleanup_(freep) char *command = xasprintf("%s copy %s", rig->binary, to);
    struct stat st;

    FILE *pipe = (popen)(command, "re"); /* the banned macro is for our own programs */
    assert_int_equal(pclose(pipe), 0);
    assert_int_equal(stat(agent_rig_path(rig, "bin/kube-mysql-agent"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0755);
    struct stat source;
    assert_int_equal(stat(rig->binary, &source), 0);
    assert_int_equal(st.st_size, source.st_size);
}

/* An image whose database user is not the one that the pod runs as: nothing starts, and the right one is named. */
static void test_a_user_without_a_name_is_told_the_right_one(void **state)
{
    struct agent_rig *rig = *state;
    _cleanup_(freep) char *words = xasprintf(
        "user 4711 has no name in this image's /etc/passwd: its database user is mysql, %u; set podSecurity.runAsUser to %u",
        rig->uid, rig->uid);
    const char *argv[] = {"chown", "-R", "4711:4711", rig->dir, NULL};
    struct subprocess_options options = {.argv = argv, .timeout_ms = 20000};

    assert_int_equal(subprocess_run(&options, NULL, NULL, NULL, NULL), 0);
    rig->uid = rig->gid = 4711;
    struct agent_process init = agent_rig_start(rig, "init");
    assert_int_not_equal(agent_rig_wait(&init), 0);
    assert_true(agent_rig_file_says(rig, "init.log", words));
    assert_true(agent_rig_file_says(rig, "termination", words));
    assert_false(agent_rig_has(rig, "vol/data"));
}

/* What follows in this process sees a control group with a limit, and a tool of the server's that takes more. */
static void take_memory_away(const struct agent_rig *rig)
{
    static const char tool[] =
        "#!/bin/sh\necho 'oom 1\noom_kill 1' > /sys/fs/cgroup/memory.events\necho Killed >&2\nexit 137\n";
    _cleanup_(freep) char *path = xasprintf("%s/tool", rig->dir);

    assert_int_equal(unshare(CLONE_NEWNS), 0);
    assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
    assert_int_equal(mount("tmpfs", "/sys/fs/cgroup", "tmpfs", 0, "mode=755"), 0);
    assert_int_equal(fs_write_file_atomic("/sys/fs/cgroup/memory.max", "52428800\n", 9, 0644, NULL), 0);
    assert_int_equal(fs_write_file_atomic("/sys/fs/cgroup/memory.events", "oom_kill 0\n", 11, 0644, NULL), 0);
    assert_int_equal(chmod("/sys/fs/cgroup/memory.events", 0666), 0);
    assert_int_equal(fs_write_file_atomic(path, tool, strlen(tool), 0755, NULL), 0);
    assert_int_equal(mount(path, "/usr/bin/mariadb-install-db", NULL, MS_BIND, NULL), 0);
}

/* Last: the process does not leave it again. */
static void test_a_tool_without_memory(void **state)
{
    struct agent_rig *rig = *state;

    take_memory_away(rig);
    assert_int_equal(agent_rig_init(rig), agent_init_exit_code(AGENT_INIT_FAULT_MEMORY));
    assert_true(agent_rig_file_says(rig, "termination", "out of memory, the limit is 50Mi: making a new database"));
    assert_false(agent_rig_has(rig, "vol/data"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_copy, setup, teardown),
        cmocka_unit_test_setup_teardown(test_empty_volume, setup, teardown),
        cmocka_unit_test_setup_teardown(test_waits_for_an_order, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_database_is_not_initialised_over, setup, teardown),
        cmocka_unit_test_setup_teardown(test_an_order_for_another_pod_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_killed_in_the_middle, setup, teardown),
        cmocka_unit_test_setup_teardown(test_foreign_data_is_left_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(test_newer_data_is_left_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_refused_configuration_costs_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nothing_can_move_the_data_folder, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_user_without_a_name_is_told_the_right_one, setup, teardown),
        cmocka_unit_test_setup_teardown(test_missing_files, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_tool_without_memory, setup, teardown),
    };

    cmocka_set_test_filter(getenv("TEST_CASE"));
    return agent_rig_possible() ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}
