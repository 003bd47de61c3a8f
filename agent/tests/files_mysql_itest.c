/* SPDX-License-Identifier: Apache-2.0 */
/* full: it takes more than a minute, and make test leaves it out */
/*
 * A backup of MySQL's files, from a real server through the agent into a folder that `store` serves, and back: under
 * writes, of a replica, in place; and what it leaves when the tool, the agent or the server is killed in the middle: no
 * copy on the volume, nothing stored (I8). What cannot be copied whole, or would fill the volume, is refused with
 * words.
 */
#include "common/base.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/tests/seed_rig.h"
#include "common/alloc.h"
#include "common/backup_task.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/json.h"
#include "common/subprocess.h"

#define ROWS "8000"
#define FOLDER "prod/demo/backups/"
#define COPY "vol/.kube-mysql/copy"
/* A name that has no room in an archive's own fields. */
#define DASHES "----------------------------------------"

#define LEFT_BYTES ((uint64_t)40 * KM_MIB) /* less than half of the reserve */

struct world {
    struct seed_rig *pods; /* donor, member, and `other`: the store */
    struct agent_process store;
};

static char *mysql_root;

/* ---- set up ---- */

static void sql_on(const struct agent_rig *rig, const char *sql)
{
    if (!agent_rig_sql(rig, "root", SEED_RIG_ROOT_PASSWORD, sql, NULL))
        fail_msg("refused: %s", sql);
}

static void load_data(const struct agent_rig *rig)
{
    sql_on(rig,
        "CREATE DATABASE bare; CREATE DATABASE d; SET SESSION cte_max_recursion_depth = " ROWS ";"
        "CREATE TABLE d.big (id INT PRIMARY KEY AUTO_INCREMENT, v VARBINARY(2000));"
        "INSERT INTO d.big (v) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " ROWS ")"
        " SELECT REPEAT(UUID(), 50) FROM n;"
        "CREATE TABLE d.`" DASHES "` (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 2;"
        "INSERT INTO d.`" DASHES "` VALUES (1), (2), (3);"
        "CREATE TABLE d.live (id INT PRIMARY KEY AUTO_INCREMENT, at TIMESTAMP(6));"
        "CREATE TABLE d.go (id INT PRIMARY KEY); INSERT INTO d.go VALUES (1);"
        "CREATE USER visitor@'%' IDENTIFIED BY 'visitor-secret'; GRANT SELECT ON d.* TO visitor@'%';"
        "\nDELIMITER //\nCREATE PROCEDURE d.write_on() BEGIN WHILE EXISTS (SELECT * FROM d.go) DO"
        " INSERT INTO d.live (at) VALUES (NOW(6)); COMMIT; END WHILE; END//\n");
}

static int setup(void **state)
{
    struct world *world = xnew(struct world);

    world->pods = seed_rig_new(mysql_root);
    world->pods->other = seed_rig_pod(world->pods, "store-0");
    world->store = agent_rig_start(world->pods->other, "store");
    assert_true(agent_rig_await(world->pods->other, "/ready", 200, 20000));
    load_data(world->pods->donor);
    *state = world;
    return 0;
}

static int teardown(void **state)
{
    struct world *world = *state;

    agent_rig_kill(&world->store);
    seed_rig_free(world->pods);
    free(world);
    return 0;
}

/* So that a copy can be met in the middle: 2 MiB a second. */
static void slow_down(const struct agent_rig *rig)
{
    sql_on(rig,
        "SET GLOBAL clone_autotune_concurrency = OFF; SET GLOBAL clone_max_concurrency = 1;"
        "SET GLOBAL clone_max_data_bandwidth = 2");
}

static void speed_up(const struct world *world)
{
    sql_on(world->pods->donor, "SET GLOBAL clone_max_data_bandwidth = 0");
}

/* ---- the operator's words ---- */

static char *task_text(const struct world *world, const char *id, uint64_t rate, const char *digest)
{
    const struct agent_rig *store = world->pods->other;
    struct backup_task task = {.method = BACKUP_METHOD_PHYSICAL,
        .compression = rate ? BACKUP_COMPRESSION_NONE : BACKUP_COMPRESSION_ZSTD,
        .ns = "prod",
        .cluster = "demo",
        .rate_limit = rate};
    struct strbuf text;

    task.store.is_volume = true;
    task.store.path_style = true;
    task.store.bucket = xstrdup("backup");
    task.store.endpoint = xasprintf("https://localhost:%u", store->tls_port);
    task.store.connect_to = xasprintf("127.0.0.1:%u", store->tls_port);
    task.store.server_name = xstrdup("localhost");
    task.folder = xasprintf(FOLDER "%s", id);
    snprintf(task.id, sizeof(task.id), "%s", id);
    snprintf(task.digest, sizeof(task.digest), "%s", digest);
    strbuf_init(&text, (size_t)BACKUP_TASK_MAX);
    backup_task_encode(&task, &text);
    backup_task_release(&task);
    return strbuf_detach(&text, NULL);
}

/* Repeats while the member is busy with what was before. */
static void order(const struct world *world, const struct agent_rig *rig, const char *id, uint64_t rate)
{
    _cleanup_(freep) char *text = task_text(world, id, rate, "");
    _cleanup_(strbuf_release) struct strbuf body;
    int code = 503;

    strbuf_init(&body, KM_MIB);
    for (int i = 0; i < 100 && code == 503; i++) {
        code = agent_rig_tls(rig, "operator", "/v1/backups", text, &body);
        usleep(100 * 1000);
    }
    if (code != 202)
        fail_msg("%d: %s", code, body.buf);
}

static void report_of(const struct agent_rig *rig, struct backup_report *report)
{
    _cleanup_(strbuf_release) struct strbuf body;

    strbuf_init(&body, KM_MIB);
    assert_int_equal(agent_rig_tls(rig, "operator", "/v1/status", NULL, &body), 200);
    _cleanup_(json_decrefp) json_t *status = json_parse(body.buf, strcspn(body.buf, "\n"), NULL);
    assert_non_null(status);
    assert_int_equal(backup_report_decode(json_path(status, "backup"), report, NULL), 0);
}

static void await_end(const struct agent_rig *rig, const char *id, struct backup_report *report)
{
    for (int i = 0; i < 1800; i++) {
        report_of(rig, report);
        if (str_eq(report->id, id) && report->state >= BACKUP_STATE_COMPLETED)
            return;
        usleep(50 * 1000);
    }
    fail_msg("backup %s does not end", id);
}

static void back_up(const struct world *world, const struct agent_rig *rig, const char *id, struct backup_report *report)
{
    order(world, rig, id, 0);
    await_end(rig, id, report);
    if (report->state != BACKUP_STATE_COMPLETED)
        fail_msg("%s: %s", report->error_reason, report->message);
    assert_false(agent_rig_has(rig, COPY));
    assert_true(report->raw_bytes > (uint64_t)30 * KM_MIB && report->stored_bytes < report->raw_bytes);
}

static void await_failure(const struct world *world, const char *id, const char *reason, const char *says)
{
    struct backup_report report;

    await_end(world->pods->donor, id, &report);
    printf("%s: %s\n", report.error_reason, report.message);
    assert_int_equal(report.state, BACKUP_STATE_FAILED);
    assert_string_equal(report.error_reason, reason);
    assert_non_null(strstr(report.message, says));
}

/* Until some of it is in the store: the server has copied. */
static void await_parts(const struct agent_rig *rig)
{
    struct backup_report report = {0};

    for (int i = 0; i < 1000 && report.stored_bytes == 0; i++) {
        report_of(rig, &report);
        usleep(20 * 1000);
    }
    assert_true(report.stored_bytes > 0);
}

static void cancel(const struct world *world, const char *id)
{
    const struct agent_rig *donor = world->pods->donor;
    _cleanup_(freep) char *url = xasprintf("https://localhost:%u/v1/backups/%s", donor->tls_port, id);
    const char *argv[] = {"curl", "--silent", "--fail", "--request", "DELETE", "--cacert",
        agent_rig_path(donor, "tls/ca.crt"), "--cert", agent_rig_path(donor, "operator.crt"), "--key",
        agent_rig_path(donor, "operator.key"), url, NULL};
    struct subprocess_options options = {.argv = argv, .timeout_ms = 20000};

    assert_int_equal(subprocess_run(&options, NULL, NULL, NULL, NULL), 0);
}

/* ---- what is left ---- */

static unsigned count_files(const struct world *world, const char *pattern)
{
    const char *argv[] = {
        "find", agent_rig_path(world->pods->other, "vol"), "-type", "f", "-path", pattern, "-printf", "x", NULL};
    struct subprocess_options options = {.argv = argv, .timeout_ms = 20000};
    _cleanup_(strbuf_release) struct strbuf out;

    strbuf_init(&out, KM_MIB);
    assert_int_equal(subprocess_run(&options, &out, NULL, NULL, NULL), 0);
    return (unsigned)out.len;
}

static bool await_file(const struct agent_rig *rig, const char *name, bool there)
{
    for (int i = 0; i < 1000; i++) {
        if (agent_rig_has(rig, name) == there)
            return true;
        usleep(20 * 1000);
    }
    return false;
}

/* No copy on the volume, no statement that makes one, nothing in the store. */
static void expect_nothing_left(const struct world *world)
{
    const struct agent_rig *donor = world->pods->donor;

    assert_true(await_file(donor, COPY, false));
    assert_true(seed_rig_becomes(
        donor, "SELECT COUNT(*) FROM performance_schema.threads WHERE processlist_info LIKE 'CLONE LOCAL%'", "0"));
    usleep(300 * 1000);
    assert_false(agent_rig_has(donor, COPY));
    assert_int_equal(count_files(world, "*/" FOLDER "*"), 0);
}

static pid_t tool_of(const struct world *world)
{
    pid_t agent = world->pods->donor->agent.inner;
    _cleanup_(freep) char *path = xasprintf("/proc/%d/task/%d/children", (int)agent, (int)agent);
    _cleanup_(strbuf_release) struct strbuf children;
    _cleanup_(strbuf_release) struct strbuf words;

    strbuf_init(&children, 4096);
    strbuf_init(&words, 65536);
    assert_int_equal(fs_read_file(path, &children, NULL), 0);
    for (char *at = children.buf, *end; (end = strchr(at, ' ')); at = end + 1) {
        _cleanup_(freep) char *cmdline = xasprintf("/proc/%d/cmdline", (int)strtol(at, NULL, 10));
        if (fs_read_file(cmdline, &words, NULL) == 0 && words.len && memmem(words.buf, words.len, "\0copy-out", 10))
            return (pid_t)strtol(at, NULL, 10);
    }
    fail_msg("the agent has no copy-out");
    return 0;
}

/* ---- the member ---- */

static void tell(const struct world *world, const struct agent_rig *rig, const char *id, const char *digest)
{
    _cleanup_(freep) char *task = task_text(world, id, 0, digest);
    _cleanup_(strbuf_release) struct strbuf body;

    strbuf_init(&body, KM_MIB);
    int code = agent_rig_restore(rig, task, &body);
    if (code != 202)
        fail_msg("PUT /v1/restore: %d %s", code, body.buf);
}

/* seed: "restore", "restoreBeside". */
static struct agent_process begin(const struct world *world, struct agent_rig *rig, const char *id, const char *seed)
{
    struct agent_process init = agent_rig_start(rig, "init");
    _cleanup_(freep) char *text =
        xasprintf("{\"epoch\":2,\"seed\":\"%s\",\"restoreId\":\"%s\",\"restoreNumber\":1}", seed, id);

    seed_rig_order(rig, text);
    tell(world, rig, id, "");
    return init;
}

static void serve(struct agent_rig *rig, const char *text)
{
    agent_rig_start(rig, "server");
    agent_rig_start(rig, "run");
    assert_true(agent_rig_await(rig, "/startup", 200, 60000));
    seed_rig_order(rig, text);
    assert_true(agent_rig_await_status(rig, "\"writable\":true", 20000));
    assert_true(agent_rig_await_status(rig, "\"accountsApplied\":true", 20000));
}

static void restore(const struct world *world, struct agent_rig *rig, const char *id)
{
    struct agent_process init = begin(world, rig, id, "restore");

    assert_int_equal(agent_rig_wait(&init), 0);
    assert_false(agent_rig_has(rig, "vol/data.new"));
    serve(rig, "{\"epoch\":2,\"role\":\"primary\"}");
}

static char *line_of(const struct agent_rig *rig, const char *sql)
{
    char *text = seed_rig_text(rig, sql);

    text[strcspn(text, "\n")] = '\0';
    return text;
}

static char *position_of(const struct agent_rig *rig)
{
    return line_of(rig, "SELECT REPLACE(@@GLOBAL.gtid_executed, '\n', '')");
}

/* "UUID:1-N": N. */
static long last_of(const char *position)
{
    const char *dash = strrchr(position, '-');

    assert_non_null(dash);
    assert_null(strchr(position, ','));
    return strtol(dash + 1, NULL, 10);
}

/* What the rig holds of the donor's transactions: N. */
static long donors_part(const struct agent_rig *donor, const struct agent_rig *rig)
{
    _cleanup_(freep) char *uuid = line_of(donor, "SELECT @@server_uuid");
    _cleanup_(freep) char *sql = xasprintf(
        "SELECT GTID_SUBTRACT(@@GLOBAL.gtid_executed, GTID_SUBTRACT(@@GLOBAL.gtid_executed, '%s:1-99999999'))", uuid);
    _cleanup_(freep) char *part = line_of(rig, sql);

    return last_of(part);
}

static void assert_same_tables(const struct world *world, const struct agent_rig *rig)
{
    static const char sums[] =
        "CHECKSUM TABLE d.big, d.`" DASHES "`; SELECT COUNT(*) FROM d.big; SHOW DATABASES LIKE 'bare'";
    _cleanup_(freep) char *theirs = seed_rig_text(world->pods->donor, sums);
    _cleanup_(freep) char *ours = seed_rig_text(rig, sums);

    assert_string_equal(theirs, ours);
}

/* ---- stories ---- */

/* Each row of the writer is a transaction: so many as the server says that it holds, and those. */
static void test_under_writes(void **state)
{
    struct world *world = *state;
    struct agent_rig *donor = world->pods->donor;
    struct agent_rig *member = world->pods->member;
    _cleanup_(freep) char *before = position_of(donor);
    struct backup_report report;

    seed_rig_start_writer(world->pods);
    back_up(world, donor, "w-1", &report);
    usleep(300 * 1000);
    seed_rig_stop_writer(world->pods);
    agent_rig_put(member, "accounts/monitor", "of-the-new-cluster");
    restore(world, member, "w-1");
    long told = last_of(report.gtid) - last_of(before);
    long held = donors_part(donor, member) - last_of(before);
    printf("told %ld, held %ld of the writer's rows\n", told, held);
    assert_true(told > 0 && told <= held);
    _cleanup_(freep) char *count = xasprintf("%ld\t%ld", held, held);
    assert_true(seed_rig_is(member, "SELECT COUNT(*), MAX(id) FROM d.live", count));
    _cleanup_(freep) char *sums = xasprintf("SELECT SUM(CRC32(CONCAT(id, at))) FROM d.live WHERE id <= %ld", held);
    _cleanup_(freep) char *theirs = seed_rig_text(donor, sums);
    _cleanup_(freep) char *ours = seed_rig_text(member, sums);
    assert_string_equal(theirs, ours);
    assert_same_tables(world, member);
    assert_true(agent_rig_sql(member, "monitor", "of-the-new-cluster", "SELECT 1", NULL));
    assert_false(agent_rig_sql(member, "monitor", "pw-monitor'\\", "SELECT 1", NULL));
    assert_true(agent_rig_sql(member, "visitor", "visitor-secret", "SELECT COUNT(*) FROM d.big", NULL));
    sql_on(member, "INSERT INTO d.live (at) VALUES (NOW()); CREATE TABLE bare.t (id INT PRIMARY KEY)");
}

/* Nobody writes: the position is exact, and a backup writes nothing itself. The second one is as good as the first. */
static void test_nothing_is_written(void **state)
{
    struct world *world = *state;
    struct agent_rig *donor = world->pods->donor;
    _cleanup_(freep) char *before = position_of(donor);
    struct backup_report report;

    for (int i = 0; i < 2; i++) {
        _cleanup_(freep) char *id = xasprintf("n-%d", i);
        back_up(world, donor, id, &report);
        assert_string_equal(report.gtid, before);
        _cleanup_(freep) char *after = position_of(donor);
        assert_string_equal(after, before);
    }
    restore(world, world->pods->member, "n-1");
    assert_int_equal(donors_part(donor, world->pods->member), last_of(before));
    assert_same_tables(world, world->pods->member);
}

/* Whom it replicated from came along, and is forgotten. */
static void test_of_a_replica(void **state)
{
    struct world *world = *state;
    struct agent_rig *donor = world->pods->donor;
    struct agent_rig *third = seed_rig_pod(world->pods, "demo-mysql-4");
    struct backup_report report;

    struct agent_process init = seed_rig_clone(world->pods, donor, false);
    assert_int_equal(agent_rig_wait(&init), 0);
    seed_rig_start_replica(world->pods, world->pods->member);
    sql_on(donor, "INSERT INTO d.live (at) VALUES (NOW(6))");
    assert_true(seed_rig_becomes(world->pods->member, "SELECT COUNT(*) FROM d.live", "1"));
    _cleanup_(freep) char *position = position_of(world->pods->member);
    back_up(world, world->pods->member, "r-1", &report);
    assert_string_equal(report.gtid, position);
    restore(world, third, "r-1");
    assert_same_tables(world, third);
    assert_true(seed_rig_is(third, "SELECT COUNT(*) FROM d.live", "1"));
    assert_true(seed_rig_is(third, "SELECT COUNT(*) FROM performance_schema.replication_connection_configuration", "0"));
    agent_rig_free(third);
}

static void test_in_place(void **state)
{
    struct world *world = *state;
    struct agent_rig *member = world->pods->member;
    struct backup_report report;

    back_up(world, world->pods->donor, "i-1", &report);
    seed_rig_start_primary(member);
    sql_on(member, "CREATE DATABASE old; CREATE TABLE old.t (id INT PRIMARY KEY); INSERT INTO old.t VALUES (42)");
    agent_rig_kill(&member->agent);
    agent_rig_kill(&member->server);
    struct agent_process init = begin(world, member, "i-1", "restoreBeside");
    assert_true(agent_rig_await_status(member, "\"besideNumber\":1", 60000));
    assert_true(agent_rig_has(member, "vol/data/old"));
    seed_rig_order(member, "{\"epoch\":3,\"seed\":\"takeRestored\",\"restoreNumber\":1}");
    assert_int_equal(agent_rig_wait(&init), 0);
    serve(member, "{\"epoch\":3,\"role\":\"primary\"}");
    assert_same_tables(world, member);
    assert_true(agent_rig_has(member, "vol/data.before/old"));
}

/* While the server copies, and while the copy is sent. */
static void test_tool_killed(void **state)
{
    struct world *world = *state;

    slow_down(world->pods->donor);
    order(world, world->pods->donor, "t-1", 0);
    assert_true(await_file(world->pods->donor, COPY "/ibdata1", true));
    kill(tool_of(world), SIGKILL);
    await_failure(world, "t-1", "ToolFailed", "copy-out ended with signal 9");
    expect_nothing_left(world);

    speed_up(world);
    order(world, world->pods->donor, "t-2", 1000000);
    await_parts(world->pods->donor);
    assert_true(agent_rig_has(world->pods->donor, COPY "/mysql.ibd"));
    assert_false(agent_rig_has(world->pods->donor, COPY "/#innodb_redo")); /* it was sent first */
    kill(tool_of(world), SIGKILL);
    await_failure(world, "t-2", "ToolFailed", "copy-out ended with signal 9");
    expect_nothing_left(world);
}

static void test_cancelled(void **state)
{
    struct world *world = *state;
    struct backup_report report;

    slow_down(world->pods->donor);
    order(world, world->pods->donor, "c-1", 0);
    assert_true(await_file(world->pods->donor, COPY "/ibdata1", true));
    cancel(world, "c-1");
    await_failure(world, "c-1", "Cancelled", "ended by order");
    expect_nothing_left(world);
    speed_up(world);
    back_up(world, world->pods->donor, "c-2", &report);
}

/* With all of its container: whatever is left goes at its next start, before it takes another order. */
static void test_agent_killed(void **state)
{
    struct world *world = *state;
    struct agent_rig *donor = world->pods->donor;
    struct backup_report report;

    slow_down(world->pods->donor);
    order(world, donor, "a-1", 0);
    assert_true(await_file(donor, COPY "/ibdata1", true));
    agent_rig_kill(&donor->agent);
    assert_true(agent_rig_has(donor, COPY "/ibdata1"));
    agent_rig_start(donor, "run");
    assert_true(agent_rig_await(donor, "/startup", 200, 60000));
    assert_true(await_file(donor, COPY, false));
    assert_true(seed_rig_becomes(
        donor, "SELECT COUNT(*) FROM performance_schema.threads WHERE processlist_info LIKE 'CLONE LOCAL%'", "0"));
    assert_int_equal(count_files(world, "*/manifest.json"), 0);

    seed_rig_order(donor, "{\"epoch\":1,\"role\":\"primary\"}");
    order(world, donor, "a-2", 0);
    assert_true(await_file(donor, COPY "/ibdata1", true));
    kill(donor->agent.inner, SIGTERM);
    assert_int_equal(agent_rig_wait(&donor->agent), 0);
    assert_false(agent_rig_has(donor, COPY));
    speed_up(world);
    agent_rig_start(donor, "run");
    assert_true(agent_rig_await(donor, "/startup", 200, 60000));
    back_up(world, donor, "a-3", &report);
}

static void test_server_killed(void **state)
{
    struct world *world = *state;
    struct agent_rig *donor = world->pods->donor;
    struct backup_report report;

    slow_down(world->pods->donor);
    order(world, donor, "s-1", 0);
    assert_true(await_file(donor, COPY "/ibdata1", true));
    agent_rig_kill(&donor->server);
    await_end(donor, "s-1", &report);
    printf("%s: %s\n", report.error_reason, report.message);
    assert_int_equal(report.state, BACKUP_STATE_FAILED);
    assert_true(await_file(donor, COPY, false));
    assert_int_equal(count_files(world, "*/" FOLDER "*"), 0);
}

/* Said before the server copies anything. */
static void test_refused(void **state)
{
    struct world *world = *state;
    const struct agent_rig *donor = world->pods->donor;

    sql_on(donor, "CREATE TABLE d.old (id INT PRIMARY KEY) ENGINE = MyISAM");
    order(world, donor, "f-1", 0);
    await_failure(world, "f-1", "ToolFailed", "d.old (MyISAM) would be empty");
    expect_nothing_left(world);
    sql_on(donor, "DROP TABLE d.old");

    agent_rig_put(donor, "vol/data/large.ibd", "");
    assert_int_equal(truncate(agent_rig_path(donor, "vol/data/large.ibd"), (off_t)8 << 40), 0);
    order(world, donor, "f-2", 0);
    await_failure(world, "f-2", "ToolFailed", "the volume is too small for a copy beside the data");
    await_failure(world, "f-2", "ToolFailed", "a full volume would stop the database");
    expect_nothing_left(world);
    agent_rig_put(donor, "vol/data/large.ibd", NULL);
}

static void expect_given_up(const struct agent_rig *rig, const char *id)
{
    struct backup_report report;

    await_end(rig, id, &report);
    printf("%s: %s\n", report.error_reason, report.message);
    assert_string_equal(report.error_reason, "ToolFailed");
    assert_non_null(strstr(report.message, "the copy was given up when"));
    assert_true(await_file(rig, COPY, false));
    agent_rig_put(rig, "vol/filling", NULL);
}

/* The session that the tool asks by while the server copies ends. */
static void break_asker(const struct agent_rig *rig)
{
    static const char find[] =
        "SELECT CONCAT('KILL ', processlist_id) FROM performance_schema.threads JOIN"
        " performance_schema.events_statements_current USING (thread_id)"
        " WHERE sql_text LIKE 'SELECT stage FROM performance_schema.clone%' AND processlist_id <> CONNECTION_ID()";

    for (int i = 0; i < 100; i++) {
        _cleanup_(freep) char *kill_it = line_of(rig, find);
        if (*kill_it && agent_rig_sql(rig, "root", SEED_RIG_ROOT_PASSWORD, kill_it, NULL))
            return;
        usleep(50 * 1000);
    }
    fail_msg("nobody asks");
}

/* CLONE waits for the end of a DDL: it would do so for minutes. */
static void begin_ddl(const struct world *world, const struct agent_rig *rig)
{
    sql_on(rig, "CREATE DATABASE d; SET GLOBAL clone_block_ddl = ON");
    fflush(NULL);
    world->pods->helper = fork();
    if (world->pods->helper == 0)
        _exit(agent_rig_sql(rig, "root", SEED_RIG_ROOT_PASSWORD, "CREATE TABLE d.slow AS SELECT SLEEP(100)", NULL));
    assert_true(seed_rig_becomes(rig,
        "SELECT COUNT(*) FROM performance_schema.threads WHERE processlist_info LIKE 'CREATE TABLE d.slow%'", "1"));
}

/* The session that asks has broken when the copy is to be given up: it is ended all the same. */
static void test_broken_session(void **state)
{
    struct world *world = *state;
    struct agent_rig *member = world->pods->member;

    seed_rig_limit_volume(world->pods, "900M");
    seed_rig_start_primary(member);
    begin_ddl(world, member);
    order(world, member, "v-broken", 0);
    break_asker(member);
    seed_rig_fill_volume(member, LEFT_BYTES);
    int64_t filled_ms = clock_monotonic_ms();
    expect_given_up(member, "v-broken");
    assert_true(clock_monotonic_ms() - filled_ms < 20000);
    sql_on(member, "SELECT 1"); /* the statement itself is ended for want of room (volume_room.h) */
}

/* While the server copies, and while the copy is sent: the database gets back what the copy took, and goes on. It takes
 * no writes until there is enough room again: room_mysql_itest. */
static void test_volume_fills(void **state)
{
    struct world *world = *state;
    struct agent_rig *member = world->pods->member;

    seed_rig_limit_volume(world->pods, "900M");
    seed_rig_start_primary(member);
    sql_on(member,
        "SET SESSION sql_log_bin = 0; SET SESSION cte_max_recursion_depth = 100000; CREATE DATABASE d;"
        "CREATE TABLE d.big (id INT PRIMARY KEY AUTO_INCREMENT, v VARBINARY(2000)); INSERT INTO d.big (v)"
        " WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 80000) SELECT REPEAT(UUID(), 50) FROM n");
    slow_down(member);
    order(world, member, "v-1", 0);
    assert_true(await_file(member, COPY "/ibdata1", true));
    seed_rig_fill_volume(member, LEFT_BYTES);
    expect_given_up(member, "v-1");
    sql_on(member, "SELECT COUNT(*) FROM d.big");

    sql_on(member, "SET GLOBAL clone_max_data_bandwidth = 0");

    order(world, member, "v-2", 1000000);
    await_parts(member);
    seed_rig_fill_volume(member, LEFT_BYTES);
    expect_given_up(member, "v-2");
    sql_on(member, "SELECT COUNT(*) FROM d.big");
}

static void edit_manifest(const struct world *world, const char *id, const char *from, const char *to)
{
    _cleanup_(freep) char *script =
        xasprintf("cd %s/" FOLDER "%s && grep -q '%s' manifest.json && sed -i 's/%s/%s/' manifest.json",
            agent_rig_path(world->pods->other, "vol"), id, from, from, to);
    const char *argv[] = {"sh", "-c", script, NULL};
    struct subprocess_options options = {.argv = argv};

    assert_int_equal(subprocess_run(&options, NULL, NULL, NULL, NULL), 0);
}

/* The manifest says that a later release wrote the files, or another family. Nothing is touched. */
static void test_other_servers(void **state)
{
    static const struct {
        const char *from, *to, *says;
    } rows[] = {
        {"\"serverVersion\":\"9.7.4-2\"", "\"serverVersion\":\"9.7.9-2\"", "MySQL's files cannot go back"},
        {"\"serverVersion\":\"9.7.9-2\"", "\"serverVersion\":\"9.6.1\"", "holds the newer 9.7.4"},
        {"\"flavour\":\"mysql\"", "\"flavour\":\"mariadb\"", "cannot be restored here"},
    };
    struct world *world = *state;
    struct agent_rig *member = world->pods->member;
    struct backup_report report;

    back_up(world, world->pods->donor, "o-1", &report);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        edit_manifest(world, "o-1", rows[i].from, rows[i].to);
        struct agent_process init = begin(world, member, "o-1", "restore");
        assert_true(agent_rig_await_status(member, "\"seedReason\":\"ServerMismatch\"", 30000));
        assert_true(agent_rig_await_status(member, rows[i].says, 1000));
        assert_false(agent_rig_has(member, "vol/data/ibdata1"));
        assert_false(agent_rig_has(member, "vol/data.new/ibdata1"));
        agent_rig_kill(&init);
    }
}

/* There seemed to be room, and then there is none: that is said, and tried again without haste. */
static void test_no_room_for_copy(void **state)
{
    struct world *world = *state;
    struct agent_rig *member = world->pods->member;
    struct backup_report report;

    seed_rig_limit_volume(world->pods, "140M");
    sql_on(
        world->pods->donor, "INSERT INTO d.big (v) SELECT a.v FROM d.big a, (VALUES ROW(1), ROW(2), ROW(3), ROW(4)) b");
    back_up(world, world->pods->donor, "z-1", &report);
    assert_true(report.raw_bytes > (uint64_t)150 * KM_MIB); /* otherwise the test proves nothing */
    edit_manifest(world, "z-1", "\"dataBytes\":[0-9]*", "\"dataBytes\":1000");
    struct agent_process init = begin(world, member, "z-1", "restore");
    assert_true(agent_rig_await_status(member, "\"seedReason\":\"VolumeTooSmall\"", 60000));
    assert_true(agent_rig_await_status(member, "No space left on device", 1000));
    agent_rig_kill(&init);
}

/* It is given up, for what the server said: no attempt that downloads all of it again. */
static void test_server_refuses_copy(void **state)
{
    struct world *world = *state;
    struct agent_rig *member = world->pods->member;
    struct backup_report report;

    back_up(world, world->pods->donor, "x-1", &report);
    agent_rig_put(member, "config/my.cnf",
        "[mysqld]\nbind_address = 127.0.0.1\nskip_name_resolve = 1\ninnodb_buffer_pool_size = 32M\n"
        "lower_case_table_names = 1\n");
    struct agent_process init = begin(world, member, "x-1", "restore");
    assert_true(agent_rig_await_status(member, "\"seedReason\":\"CopyUnusable\"", 60000));
    assert_true(agent_rig_await_status(member, "Different lower_case_table_names settings", 1000));
    assert_true(agent_rig_await_status(member, "\"seedGaveUp\":true", 1000));
    assert_false(agent_rig_has(member, "vol/data.new"));
    assert_false(agent_rig_has(member, "vol/data"));
    agent_rig_kill(&init);
}

/* A server is on the copy already when another task comes, then when init is killed: it begins anew, to the same
 * end. */
static void test_another_task_in_the_midst(void **state)
{
    struct world *world = *state;
    struct agent_rig *member = world->pods->member;
    struct backup_report report;

    back_up(world, world->pods->donor, "m-1", &report);
    struct agent_process init = begin(world, member, "m-1", "restore");
    assert_true(await_file(member, "run/load.sock", true));
    tell(world, member, "m-1", "00");
    assert_true(agent_rig_await_status(member, "not the one that was chosen", 30000));
    assert_false(agent_rig_has(member, "vol/data"));
    unlink(agent_rig_path(member, "run/load.sock"));
    tell(world, member, "m-1", "");
    assert_true(await_file(member, "run/load.sock", true));
    agent_rig_kill(&init);
    assert_false(agent_rig_has(member, "vol/data"));
    restore(world, member, "m-1");
    assert_same_tables(world, member);
}

/* Another member is seeded by CLONE: the backup waits for the server, and is made. */
static void test_beside_a_seed(void **state)
{
    struct world *world = *state;
    struct backup_report report;

    agent_rig_put(world->pods->member, "config/my.cnf",
        "[mysqld]\nbind_address = 127.0.0.1\nskip_name_resolve = 1\ninnodb_buffer_pool_size = 32M\n"
        "loose_clone_max_data_bandwidth = 8\nloose_clone_max_concurrency = 1\nloose_clone_autotune_concurrency = OFF\n");
    struct agent_process init = seed_rig_clone(world->pods, world->pods->donor, false);
    assert_true(agent_rig_await_status(world->pods->member, "\"seedBytes\":", 60000));
    back_up(world, world->pods->donor, "b-1", &report);
    assert_true(report.completed_ms - report.started_ms > 4000); /* otherwise the test proved nothing */
    assert_int_equal(agent_rig_wait(&init), 0);
    assert_true(agent_rig_has(world->pods->member, "vol/data/d/big.ibd"));
}

#define STORY(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    cmocka_set_test_filter(getenv("TEST_CASE"));
    const struct CMUnitTest tests[] = {
        STORY(test_under_writes),
        STORY(test_nothing_is_written),
        STORY(test_of_a_replica),
        STORY(test_in_place),
        STORY(test_tool_killed),
        STORY(test_cancelled),
        STORY(test_agent_killed),
        STORY(test_server_killed),
        STORY(test_refused),
        STORY(test_volume_fills),
        STORY(test_broken_session),
        STORY(test_other_servers),
        STORY(test_no_room_for_copy),
        STORY(test_server_refuses_copy),
        STORY(test_another_task_in_the_midst),
        STORY(test_beside_a_seed),
    };

    mysql_root = agent_rig_possible() ? agent_rig_mysql_root() : NULL;
    int rc = mysql_root ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
    free(mysql_root);
    return rc;
}
