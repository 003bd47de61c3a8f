/* SPDX-License-Identifier: Apache-2.0 */
/* full: it takes more than a minute, and make test leaves it out */
/*
 * A backup by order, from a real server through the agent into a folder that `store` serves, and back; and everything
 * that can end it in the middle: the tool, the upload, the agent or the store is killed, the store refuses, somebody
 * cancels. Afterwards nothing is left that looks like a backup (I8).
 */
#include "common/base.h"

#include <setjmp.h>
#include <signal.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/backup/backup_child.h"
#include "agent/tests/seed_rig.h"
#include "common/alloc.h"
#include "common/backup_task.h"
#include "common/fs.h"
#include "common/json.h"
#include "common/subprocess.h"

#define ROWS "20000"
#define FOLDER "prod/demo/backups/"
/* A second. The first part goes at once, the last one many seconds later, however late an interruption comes. */
#define SLOW_BYTES 1000000
/* A few seconds in all. */
#define BRISK_BYTES 8000000

struct backup_world {
    struct seed_rig *pods; /* donor, and `other`: the store */
    struct agent_process store;
};

static void start_store(struct backup_world *world)
{
    world->store = agent_rig_start(world->pods->other, "store");
    assert_true(agent_rig_await(world->pods->other, "/ready", 200, 20000));
}

static int setup(void **state)
{
    struct backup_world *world = xnew(struct backup_world);

    world->pods = seed_rig_new(NULL);
    world->pods->other = seed_rig_pod(world->pods, "store-0");
    start_store(world);
    assert_true(agent_rig_sql(world->pods->donor, "root", SEED_RIG_ROOT_PASSWORD,
        "CREATE DATABASE d; USE d; CREATE TABLE d.big (id INT PRIMARY KEY AUTO_INCREMENT, v VARBINARY(2000));"
        "INSERT INTO d.big (v) SELECT REPEAT(UUID(), 50) FROM seq_1_to_" ROWS,
        NULL));
    *state = world;
    return 0;
}

static int teardown(void **state)
{
    struct backup_world *world = *state;

    agent_rig_kill(&world->store);
    seed_rig_free(world->pods);
    free(world);
    return 0;
}

/* ---- the operator's words ---- */

static void fill_task(const struct backup_world *world, const char *id, struct backup_task *task)
{
    const struct agent_rig *store = world->pods->other;

    *task = (struct backup_task){.compression = BACKUP_COMPRESSION_ZSTD, .ns = "prod", .cluster = "demo"};
    task->store.is_volume = true;
    task->store.path_style = true;
    task->store.bucket = xstrdup("backup");
    task->store.endpoint = xasprintf("https://localhost:%u", store->tls_port);
    task->store.connect_to = xasprintf("127.0.0.1:%u", store->tls_port);
    task->store.server_name = xstrdup("localhost");
    task->folder = xasprintf(FOLDER "%s", id);
    snprintf(task->id, sizeof(task->id), "%s", id);
}

static char *task_text(const struct backup_task *task)
{
    struct strbuf text;

    strbuf_init(&text, BACKUP_TASK_MAX);
    backup_task_encode(task, &text);
    return strbuf_detach(&text, NULL);
}

static int post(struct backup_world *world, const char *text, struct strbuf *body)
{
    return agent_rig_tls(world->pods->donor, "operator", "/v1/backups", text, body);
}

static void order(struct backup_world *world, struct backup_task *task)
{
    _cleanup_(freep) char *text = task_text(task);
    _cleanup_(strbuf_release) struct strbuf body;

    strbuf_init(&body, KM_MIB);
    int code = post(world, text, &body);
    if (code != 202)
        fail_msg("%d: %s", code, body.buf);
}

/* Uncompressed and held back. */
static void order_slow(struct backup_world *world, const char *id, uint64_t rate)
{
    struct backup_task task;

    fill_task(world, id, &task);
    task.compression = BACKUP_COMPRESSION_NONE;
    task.rate_limit = rate;
    order(world, &task);
    backup_task_release(&task);
}

static void cancel(struct backup_world *world, const char *id)
{
    const struct agent_rig *donor = world->pods->donor;
    _cleanup_(freep) char *url = xasprintf("https://localhost:%u/v1/backups/%s", donor->tls_port, id);
    const char *argv[] = {"curl", "--silent", "--fail", "--request", "DELETE", "--cacert",
        agent_rig_path(donor, "tls/ca.crt"), "--cert", agent_rig_path(donor, "operator.crt"), "--key",
        agent_rig_path(donor, "operator.key"), url, NULL};
    struct subprocess_options options = {.argv = argv, .timeout_ms = 20000};

    assert_int_equal(subprocess_run(&options, NULL, NULL, NULL, NULL), 0);
}

static void await(struct backup_world *world, const char *says)
{
    assert_true(agent_rig_await_status(world->pods->donor, says, 90000));
}

static void report_of(struct backup_world *world, struct backup_report *report)
{
    _cleanup_(strbuf_release) struct strbuf body;

    strbuf_init(&body, KM_MIB);
    assert_int_equal(agent_rig_tls(world->pods->donor, "operator", "/v1/status", NULL, &body), 200);
    _cleanup_(json_decrefp) json_t *status = json_parse(body.buf, strcspn(body.buf, "\n"), NULL);
    assert_non_null(status);
    assert_int_equal(backup_report_decode(json_path(status, "backup"), report, NULL), 0);
}

static void await_failure(struct backup_world *world, const char *reason, const char *says)
{
    struct backup_report report;

    await(world, "\"state\":\"Failed\"");
    report_of(world, &report);
    printf("%s: %s\n", report.error_reason, report.message);
    assert_string_equal(report.error_reason, reason);
    assert_non_null(strstr(report.message, says));
}

/* ---- what is stored ---- */

/* How many files below the store's folder have such a path. */
static unsigned count_files(const struct backup_world *world, const char *pattern)
{
    const char *argv[] = {
        "find", agent_rig_path(world->pods->other, "vol"), "-type", "f", "-path", pattern, "-printf", "x", NULL};
    struct subprocess_options options = {.argv = argv, .timeout_ms = 20000};
    _cleanup_(strbuf_release) struct strbuf out;

    strbuf_init(&out, KM_MIB);
    assert_int_equal(subprocess_run(&options, &out, NULL, NULL, NULL), 0);
    return (unsigned)out.len;
}

static void assert_nothing_stored(const struct backup_world *world)
{
    assert_int_equal(count_files(world, "*/manifest.json"), 0);
    assert_int_equal(count_files(world, "*/" FOLDER "*"), 0);
    assert_int_equal(count_files(world, "*/.uploads/*/*"), 0);
}

/* Until some of it is in the store. */
static void await_parts(struct backup_world *world)
{
    struct backup_report report = {0};

    for (int i = 0; i < 500 && report.stored_bytes == 0; i++) {
        report_of(world, &report);
        usleep(20 * 1000);
    }
    assert_true(report.stored_bytes > 0);
    assert_int_equal(report.state, BACKUP_STATE_RUNNING);
}

/* ---- processes ---- */

/* A child of the agent whose command line holds the text. */
static pid_t child_of_agent(const struct backup_world *world, const char *says)
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
        if (fs_read_file(cmdline, &words, NULL) < 0)
            continue;
        for (size_t i = 0; i < words.len; i++)
            words.buf[i] = (char)(words.buf[i] ? words.buf[i] : ' ');
        if (strstr(words.buf, says))
            return (pid_t)strtol(at, NULL, 10);
    }
    fail_msg("no child of the agent is a %s", says);
    return 0;
}

/* ---- back ---- */

static int download(struct backup_world *world, const char *id, const char *digest, const char *into)
{
    struct agent_rig *member = world->pods->member;
    struct backup_task task;

    fill_task(world, id, &task);
    snprintf(task.digest, sizeof(task.digest), "%s", digest);
    _cleanup_(freep) char *text = task_text(&task);
    _cleanup_(freep) char *line = xasprintf("%s\n", text);
    backup_task_release(&task);
    agent_rig_put(member, "words", line);
    _cleanup_(freep) char *script =
        xasprintf("set -o pipefail; %s download --tls-dir=%s/tls 3<%s/words 2>%s/download.log | %s", member->binary,
            member->dir, member->dir, member->dir, into);
    const char *argv[] = {"bash", "-c", script, NULL};
    struct subprocess_options options = {.argv = argv, .timeout_ms = 120000};
    struct subprocess_result result = {0};

    int rc = subprocess_run(&options, NULL, NULL, &result, NULL);
    if (rc < 0) {
        struct strbuf log;
        strbuf_init(&log, KM_MIB);
        (void)(fs_read_file(agent_rig_path(member, "download.log"), &log, NULL) == 0);
        printf("%d %s\n", result.exit_code, log.buf);
        strbuf_release(&log);
    }
    return rc;
}

static char *donor_position(const struct backup_world *world)
{
    char *position = seed_rig_text(world->pods->donor, "SELECT @@gtid_current_pos");

    position[strcspn(position, "\n")] = '\0';
    return position;
}

/* ---- stories ---- */

static void test_physical(void **state)
{
    struct backup_world *world = *state;
    _cleanup_(freep) char *position = donor_position(world);
    _cleanup_(freep) char *target = xasprintf("%s/unpacked", world->pods->member->dir);
    _cleanup_(freep) char *into = xasprintf("(mkdir %s && mbstream -x -C %s)", target, target);
    struct backup_report report;
    struct backup_task task;

    fill_task(world, "p-1", &task);
    order(world, &task);
    order(world, &task); /* once more is the same */
    await(world, "\"state\":\"Completed\"");
    report_of(world, &report);
    assert_string_equal(report.gtid, position);
    assert_true(report.raw_bytes > (uint64_t)30 * KM_MIB && report.stored_bytes < report.raw_bytes);
    assert_true(report.estimate_bytes > (uint64_t)30 * KM_MIB);
    assert_int_equal(strlen(report.digest), 64);
    assert_int_equal(count_files(world, "*/" FOLDER "p-1/manifest.json"), 1);
    assert_int_equal(count_files(world, "*/" FOLDER "p-1/*"), 2);
    assert_int_equal(download(world, "p-1", report.digest, into), 0);
    assert_true(agent_rig_has(world->pods->member, "unpacked/d/big.ibd"));
    assert_true(agent_rig_has(world->pods->member, "unpacked/ibdata1"));
    report.digest[0] = (char)(report.digest[0] == 'a' ? 'b' : 'a');
    assert_int_equal(download(world, "p-1", report.digest, "cat >/dev/null"), -1);
    backup_task_release(&task);
}

static void test_logical(void **state)
{
    struct backup_world *world = *state;
    _cleanup_(freep) char *position = donor_position(world);
    struct backup_report report;
    struct backup_task task;

    fill_task(world, "l-1", &task);
    task.method = BACKUP_METHOD_LOGICAL;
    order(world, &task);
    await(world, "\"state\":\"Completed\"");
    report_of(world, &report);
    assert_string_equal(report.gtid, position);
    _cleanup_(freep) char *into = xasprintf("grep -c 'CREATE TABLE `big`' >%s/count", world->pods->member->dir);
    assert_int_equal(download(world, "l-1", report.digest, into), 0);
    assert_true(agent_rig_file_says(world->pods->member, "count", "1"));
    backup_task_release(&task);
}

/* The child by itself, with a dump of our own: whether it was stored. */
static bool upload_dump(struct backup_world *world, const char *id, const char *dump)
{
    static const struct backup_commit commit = {
        .flavour = "mariadb", .server_version = "10.11.19", .donor = "demo-mysql-0", .stream = STREAM_METHOD_SQL};
    struct agent_rig *member = world->pods->member;
    struct strbuf words;
    struct backup_task task;

    fill_task(world, id, &task);
    task.method = BACKUP_METHOD_LOGICAL;
    strbuf_init(&words, (size_t)2 * BACKUP_CHILD_LINE_MAX);
    backup_task_encode(&task, &words);
    strbuf_addc(&words, '\n');
    backup_commit_encode(&commit, &words);
    agent_rig_put(member, "words", words.buf);
    agent_rig_put(member, "dump", dump);
    strbuf_release(&words);
    backup_task_release(&task);
    _cleanup_(freep) char *script = xasprintf("cd %s && cat dump | %s upload --tls-dir=%s/tls 3< <(cat words) >said",
        member->dir, member->binary, member->dir);
    const char *argv[] = {"bash", "-c", script, NULL};
    struct subprocess_options options = {.argv = argv, .timeout_ms = 120000};

    return subprocess_run(&options, NULL, NULL, NULL, NULL) == 0;
}

/* A backup that stands for nobody knows what would be taken for one that holds nothing. */
static void test_dump_without_position(void **state)
{
    static const char *const none[] = {"-- a dump\n\nCREATE TABLE `t` (a int);\nINSERT INTO t VALUES (1);\n",
        "-- a dump\n\n-- SET GLOBAL gtid_slave_pos='0-1-5"};
    struct backup_world *world = *state;
    _cleanup_(freep) char *gtids = xmalloc(POSITION_TEXT_MAX + 1);

    for (size_t i = 0; i < ARRAY_LEN(none); i++) {
        assert_false(upload_dump(world, "n-1", none[i]));
        assert_nothing_stored(world);
        assert_true(agent_rig_file_says(world->pods->member, "said", "does not tell which transactions"));
    }
    memset(gtids, '1', POSITION_TEXT_MAX);
    gtids[POSITION_TEXT_MAX] = '\0';
    _cleanup_(freep) char *too_long = xasprintf("-- a dump\n-- SET GLOBAL gtid_slave_pos='0-1-%s';\n", gtids);
    assert_false(upload_dump(world, "n-2", too_long));
    assert_nothing_stored(world);
    assert_true(upload_dump(world, "n-3", "-- a dump\n-- SET GLOBAL gtid_slave_pos='';\n")); /* of a new server */
    assert_int_equal(count_files(world, "*/" FOLDER "n-3/manifest.json"), 1);
    _cleanup_(freep) char *folder = xasprintf("%s/" FOLDER "n-3", agent_rig_path(world->pods->other, "vol"));
    (void)(fs_remove_all(folder, NULL) == 0);
}

static void test_one_at_a_time(void **state)
{
    struct backup_world *world = *state;
    _cleanup_(strbuf_release) struct strbuf body;
    struct backup_task task;

    strbuf_init(&body, KM_MIB);
    order_slow(world, "o-1", SLOW_BYTES);
    fill_task(world, "o-2", &task);
    _cleanup_(freep) char *text = task_text(&task);
    assert_int_equal(post(world, text, &body), 409);
    assert_int_equal(agent_rig_tls(world->pods->donor, "tls/tls", "/v1/backups", text, &body), 403);
    assert_int_equal(agent_rig_tls(world->pods->donor, "tls/tls", "/v1/backup", NULL, &body), 503);
    assert_int_equal(post(world, "{}", &body), 400);
    assert_non_null(strstr(body.buf, "id"));
    cancel(world, "o-2"); /* another one: nothing happens */
    await_parts(world);
    cancel(world, "o-1");
    await_failure(world, "Cancelled", "ended by order");
    assert_nothing_stored(world);
    backup_task_release(&task);
}

static void test_tool_killed(void **state)
{
    struct backup_world *world = *state;

    order_slow(world, "t-1", SLOW_BYTES);
    await_parts(world);
    kill(child_of_agent(world, "mariadb-backup"), SIGKILL);
    await_failure(world, "ToolFailed", "mariadb-backup ended with signal 9");
    assert_nothing_stored(world);
}

static void test_upload_killed(void **state)
{
    struct backup_world *world = *state;

    order_slow(world, "u-1", SLOW_BYTES);
    await_parts(world);
    kill(child_of_agent(world, " upload "), SIGKILL);
    await_failure(world, "UploadFailed", "the upload ended with signal 9");
    assert_nothing_stored(world);
}

static void test_agent_ends(void **state)
{
    struct backup_world *world = *state;
    struct agent_rig *donor = world->pods->donor;

    order_slow(world, "a-1", SLOW_BYTES);
    await_parts(world);
    kill(donor->agent.inner, SIGTERM);
    assert_int_equal(agent_rig_wait(&donor->agent), 0);
    assert_nothing_stored(world);

    agent_rig_start(donor, "run");
    assert_true(agent_rig_await(donor, "/startup", 200, 60000));
    order_slow(world, "a-2", SLOW_BYTES);
    await_parts(world);
    agent_rig_kill(&donor->agent); /* and with its namespace all that could clean up */
    assert_int_equal(count_files(world, "*/manifest.json"), 0);
}

static void test_store_killed(void **state)
{
    struct backup_world *world = *state;

    order_slow(world, "s-1", SLOW_BYTES);
    await_parts(world);
    agent_rig_kill(&world->store);
    await_failure(world, "StoreUnavailable", "");
    assert_int_equal(count_files(world, "*/manifest.json"), 0);
}

/* It comes back: requests are repeated, and it is as if nothing had been. */
static void test_store_restarted(void **state)
{
    struct backup_world *world = *state;
    struct backup_report report;

    order_slow(world, "r-1", BRISK_BYTES);
    await_parts(world);
    agent_rig_kill(&world->store);
    usleep(300 * 1000);
    start_store(world);
    await(world, "\"state\":\"Completed\"");
    report_of(world, &report);
    assert_int_equal(download(world, "r-1", report.digest, "cat >/dev/null"), 0);
}

#define STORY(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(test_physical),
        STORY(test_logical),
        STORY(test_dump_without_position),
        STORY(test_one_at_a_time),
        STORY(test_tool_killed),
        STORY(test_upload_killed),
        STORY(test_agent_ends),
        STORY(test_store_killed),
        STORY(test_store_restarted),
    };

    if (!agent_rig_possible())
        return 0;
    cmocka_set_test_filter(getenv("STORY")); /* one of them, by hand */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
