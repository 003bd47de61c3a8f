/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MySQL 5.6, in the root file system that KM_TEST_MYSQL_ROOT names: one member, its accounts, a backup by statements.
 * Its server makes no database itself, has other statements for accounts, and cannot replicate without losing rows.
 */
#include "common/base.h"

#include <setjmp.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/tests/agent_rig.h"
#include "common/alloc.h"
#include "common/backup_task.h"
#include "common/fs.h"
#include "common/strvec.h"
#include "common/subprocess.h"

#define ROOT_PASSWORD "pw-root'\\"

struct world {
    struct agent_rig *rig;
    struct agent_rig *store;
    struct agent_process store_process;
};

static struct agent_rig *new_rig(void)
{
    return agent_rig_new_in(getenv("KM_TEST_MYSQL_ROOT"));
}

static int setup(void **state)
{
    struct world *world = xnew(struct world);

    world->rig = new_rig();
    *state = world;
    return 0;
}

static int teardown(void **state)
{
    struct world *world = *state;

    agent_rig_kill(&world->store_process);
    agent_rig_free(world->store);
    agent_rig_free(world->rig);
    free(world);
    return 0;
}

/* By TCP and password, without TLS: that of 5.6 is too old for clients of today. */
static bool sql_as(
    const struct agent_rig *rig, const char *user, const char *password, const char *sql, struct strbuf *out)
{
    _cleanup_(freep) char *port = xasprintf("--port=%u", rig->mysql_port);
    _cleanup_(freep) char *name = xasprintf("--user=%s", user);
    _cleanup_(freep) char *secret = xasprintf("--password=%s", password);
    const char *argv[] = {"mariadb", "--no-defaults", "--protocol=tcp", "--host=127.0.0.1", port, name, secret,
        "--batch", "--skip-column-names", "--skip-ssl", NULL};
    struct subprocess_options options = {.argv = argv, .stdin_data = sql, .stdin_len = strlen(sql), .timeout_ms = 30000};
    struct subprocess_result result;

    if (out)
        strbuf_reset(out);
    return subprocess_run(&options, out, NULL, &result, NULL) == 0;
}

static void expect_answer(const struct agent_rig *rig, const char *sql, const char *answer)
{
    _cleanup_(strbuf_release) struct strbuf out;

    strbuf_init(&out, KM_MIB);
    assert_true(agent_rig_owner_sql(rig, sql, &out));
    strbuf_truncate(&out, strcspn(out.buf, "\n"));
    assert_string_equal(out.buf, answer);
}

static void serve(struct agent_rig *rig)
{
    _cleanup_(strbuf_release) struct strbuf body;

    strbuf_init(&body, KM_MIB);
    assert_int_equal(agent_rig_init(rig), 0);
    agent_rig_start(rig, "server");
    agent_rig_start(rig, "run");
    assert_true(agent_rig_await_status(rig, "\"phase\":\"Running\"", 60000));
    assert_int_equal(agent_rig_order(rig, "{\"epoch\":2,\"role\":\"primary\"}", &body), 200);
    assert_true(agent_rig_await(rig, "/ready", 200, 60000));
}

static void test_one_member_with_its_accounts(void **state)
{
    struct agent_rig *rig = ((struct world *)*state)->rig;

    serve(rig);
    expect_answer(rig, "SELECT @@global.read_only", "0");
    expect_answer(rig, "SELECT CONVERT_TZ('2026-01-01 12:00:00', 'UTC', 'Europe/Berlin')", "2026-01-01 13:00:00");
    expect_answer(rig, "SELECT COUNT(*) FROM mysql.help_topic WHERE name = 'SELECT'", "1");
    expect_answer(rig, "SELECT COUNT(*) FROM mysql.user WHERE User = '' OR (plugin = '' AND Password = '')", "0");
    expect_answer(rig, "SELECT GROUP_CONCAT(User, '@', Host ORDER BY User, Host) FROM mysql.user",
        "app@%,monitor@%,mysql@localhost,replication@%,root@%,root@localhost");
    assert_true(sql_as(rig, "root", ROOT_PASSWORD, "CREATE DATABASE by_root", NULL));
    assert_true(
        sql_as(rig, "app", "pw-user'\\", "CREATE TABLE app_db.t (id INT); INSERT INTO app_db.t VALUES (1)", NULL));
    assert_false(sql_as(rig, "app", "pw-user'\\", "CREATE DATABASE by_app", NULL));
    assert_true(sql_as(rig, "monitor", "pw-monitor'\\", "SELECT COUNT(*) FROM performance_schema.threads", NULL));
    assert_false(sql_as(rig, "root", "", "SELECT 1", NULL));

    /* A Secret that changes, and an account that another hand has changed. */
    agent_rig_put(rig, "accounts/user", "new");
    for (int i = 0; i < 500 && !sql_as(rig, "app", "new", "SELECT 1", NULL); i++)
        usleep(20 * 1000);
    assert_true(sql_as(rig, "app", "new", "SELECT 1", NULL));
    assert_false(sql_as(rig, "app", "pw-user'\\", "SELECT 1", NULL));
    assert_true(agent_rig_owner_sql(rig, "SET PASSWORD FOR 'root'@'%' = PASSWORD('other')", NULL));
    for (int i = 0; i < 1500 && !sql_as(rig, "root", ROOT_PASSWORD, "SELECT 1", NULL); i++)
        usleep(20 * 1000);
    assert_true(sql_as(rig, "root", ROOT_PASSWORD, "SELECT 1", NULL));
}

static void test_a_member_that_was_killed_comes_back(void **state)
{
    struct agent_rig *rig = ((struct world *)*state)->rig;
    _cleanup_(strbuf_release) struct strbuf body;

    strbuf_init(&body, KM_MIB);
    serve(rig);
    assert_true(
        sql_as(rig, "app", "pw-user'\\", "CREATE TABLE app_db.t (id INT); INSERT INTO app_db.t VALUES (7)", NULL));
    /* The agent enters whatever becomes of its account. */
    assert_true(agent_rig_owner_sql(
        rig, "UPDATE mysql.user SET plugin = '', Password = PASSWORD('x') WHERE User = 'mysql'", NULL));
    agent_rig_kill(&rig->server);
    assert_true(agent_rig_await_status(rig, "\"phase\":\"Down\"", 20000));
    agent_rig_start(rig, "server");
    assert_true(agent_rig_await_status(rig, "\"phase\":\"Running\"", 60000));
    assert_int_equal(agent_rig_order(rig, "{\"epoch\":3,\"role\":\"primary\"}", &body), 200);
    assert_true(agent_rig_await(rig, "/ready", 200, 60000));
    expect_answer(rig, "SELECT id FROM app_db.t", "7");
    expect_answer(rig, "SELECT @@global.read_only", "0");
}

static void put_replicas(const struct agent_rig *rig, unsigned replicas)
{
    _cleanup_(freep) char *text =
        xasprintf("{\"namespace\":\"ns\",\"cluster\":\"demo\",\"clusterUID\":\"u-1\","
                  "\"serviceDomain\":\"demo-mysql.ns.svc\",\"serverIdBase\":1000,\"replicas\":%u}",
            replicas);

    agent_rig_put(rig, "config/instance.json", text);
}

/* Before there is a data folder, and with the reason. The check pod is asked the same. */
static void test_two_members_are_refused(void **state)
{
    static const char reason[] =
        "replicas: 2 is not possible with this server: mysql 5.6.21 has no super_read_only and no "
        "lossless semi-sync";
    struct agent_rig *rig = ((struct world *)*state)->rig;

    put_replicas(rig, 2);
    struct agent_process check = agent_rig_start(rig, "check");
    assert_int_not_equal(agent_rig_wait(&check), 0);
    assert_true(agent_rig_file_says(rig, "check.log", reason));
    assert_int_not_equal(agent_rig_init(rig), 0);
    assert_true(agent_rig_file_says(rig, "init.log", reason));
    assert_true(agent_rig_file_says(rig, "termination", reason));
    assert_false(agent_rig_has(rig, "vol/data"));
    assert_false(agent_rig_has(rig, "vol/data.new"));
    put_replicas(rig, 1);
    check = agent_rig_start(rig, "check");
    assert_int_equal(agent_rig_wait(&check), 0);
}

/* ---- a backup ---- */

static void copy_file(const struct agent_rig *from, const struct agent_rig *to, const char *name)
{
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, KM_MIB);
    assert_int_equal(fs_read_file(agent_rig_path(from, name), &text, NULL), 0);
    agent_rig_put(to, name, text.buf);
}

static void start_store(struct world *world)
{
    static const char *const files[] = {"tls/ca.crt", "tls/tls.crt", "tls/tls.key", "operator.crt", "operator.key"};

    world->store = new_rig();
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        copy_file(world->rig, world->store, files[i]);
    world->store_process = agent_rig_start(world->store, "store");
    assert_true(agent_rig_await(world->store, "/ready", 200, 20000));
}

static void order_backup(struct world *world)
{
    struct backup_task task = {.method = BACKUP_METHOD_LOGICAL,
        .compression = BACKUP_COMPRESSION_NONE,
        .ns = "prod",
        .cluster = "demo",
        .id = "b1"};
    _cleanup_(strbuf_release) struct strbuf text;
    _cleanup_(strbuf_release) struct strbuf body;

    task.store.is_volume = true;
    task.store.path_style = true;
    task.store.bucket = xstrdup("backup");
    task.store.endpoint = xasprintf("https://localhost:%u", world->store->tls_port);
    task.store.connect_to = xasprintf("127.0.0.1:%u", world->store->tls_port);
    task.store.server_name = xstrdup("localhost");
    task.folder = xstrdup("prod/demo/backups/b1");
    strbuf_init(&text, BACKUP_TASK_MAX);
    strbuf_init(&body, KM_MIB);
    backup_task_encode(&task, &text);
    backup_task_release(&task);
    int code = agent_rig_tls(world->rig, "operator", "/v1/backups", text.buf, &body);
    if (code != 202)
        fail_msg("%d: %s", code, body.buf);
}

/* By statements: the server has no tool that copies files. */
static void test_a_backup_by_statements(void **state)
{
    struct world *world = *state;
    struct strbuf found;

    serve(world->rig);
    assert_true(sql_as(
        world->rig, "app", "pw-user'\\", "CREATE TABLE app_db.t (id INT); INSERT INTO app_db.t VALUES (424242)", NULL));
    start_store(world);
    order_backup(world);
    assert_true(agent_rig_await_status(world->rig, "\"state\":\"Completed\"", 60000));
    _cleanup_(freep) char *folder = xstrdup(agent_rig_path(world->store, "vol"));
    const char *argv[] = {"grep", "-rla", "INSERT INTO `t` VALUES (424242)", folder, NULL};
    struct subprocess_options options = {.argv = argv, .timeout_ms = 20000};
    strbuf_init(&found, KM_MIB);
    assert_int_equal(subprocess_run(&options, &found, NULL, NULL, NULL), 0);
    strbuf_release(&found);
    const char *manifest[] = {"grep", "-rl", "\"gtid\":\"[0-9a-f-]\\{36\\}:1-", folder, NULL};
    options.argv = manifest;
    strbuf_init(&found, KM_MIB);
    assert_int_equal(subprocess_run(&options, &found, NULL, NULL, NULL), 0);
    strbuf_release(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_member_with_its_accounts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_member_that_was_killed_comes_back, setup, teardown),
        cmocka_unit_test_setup_teardown(test_two_members_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_backup_by_statements, setup, teardown),
    };

    cmocka_set_test_filter(getenv("TEST_CASE"));
    if (!getenv("KM_TEST_MYSQL_ROOT")) {
        printf("skipped: KM_TEST_MYSQL_ROOT names no server: build-aux/run-servers.sh does\n");
        return 77;
    }
    return agent_rig_possible() ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}
