/* SPDX-License-Identifier: Apache-2.0 */
/* When rounds begin, what they are told, what is made of their words. The child is a shell that writes down what it
 * hears and says what the test has laid ready. */
#include "common/base.h"

#include "agent/archive_keeper.h"

#include <setjmp.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/backup/archive_word.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/json.h"

#define LONG_MS 30000
#define LINE_BYTES ((size_t)(128 * KM_KIB))

static const char task_text[] =
    "{\"namespace\":\"n\",\"cluster\":\"c\",\"clusterUID\":\"u\",\"folder\":\"n/c/binlogs/u\",\"intervalSeconds\":3600,"
    "\"store\":{\"bucket\":\"b\",\"accessKey\":\"AK\",\"secretKey\":\"very secret\"}}";

struct world {
    struct loop *loop;
    char *dir;
    struct agent_paths paths;
    struct agent_status status;
    struct archive_keeper *keeper;
    char *script;
    const char *argv[4];
    uint64_t newest_log;
    unsigned changes;
    struct archive_order told; /* the last one */
};

static void on_changed(void *arg)
{
    struct world *w = arg;

    w->changes++;
}

static int set_up(void **state)
{
    struct world *w = xnew(struct world);
    char dir[] = "/tmp/km-keeper-XXXXXX";

    assert_non_null(mkdtemp(dir));
    w->dir = xstrdup(dir);
    w->loop = loop_new();
    agent_paths_init(&w->paths, NULL, NULL, NULL, NULL, NULL, NULL);
    w->script = xasprintf("read -r task <&3; read -r order <&3; echo \"$order\" >>%s/orders; cat %s/word; "
                          "if test -e %s/waits; then read -r end <&3; echo ended >>%s/ends; fi; exit $(cat %s/code)",
        dir, dir, dir, dir, dir);
    w->argv[0] = "bash";
    w->argv[1] = "-c";
    w->argv[2] = w->script;
    w->status = (struct agent_status){.instance = "c-mysql-1",
        .phase = AGENT_PHASE_RUNNING,
        .flavour = AGENT_FLAVOUR_MARIADB,
        .version = "10.11",
        .gtid_executed = "0-1-7",
        .role = AGENT_ROLE_PRIMARY,
        .epoch = 3,
        .order_done = true,
        .writable = true};
    w->keeper = archive_keeper_new(&(struct archive_keeper_options){.loop = w->loop,
        .paths = &w->paths,
        .status = &w->status,
        .newest_log = &w->newest_log,
        .child_argv = w->argv,
        .changed = on_changed,
        .arg = w});
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;

    archive_keeper_free(w->keeper);
    archive_memory_release(&w->told.memory);
    loop_free(w->loop);
    agent_paths_release(&w->paths);
    assert_int_equal(fs_remove_all(w->dir, NULL), 0);
    free(w->dir);
    free(w->script);
    free(w);
    return 0;
}

static void put(const struct world *w, const char *name, const char *text)
{
    _cleanup_(freep) char *path = xasprintf("%s/%s", w->dir, name);

    if (text)
        assert_int_equal(fs_write_file_atomic(path, text, strlen(text), 0600, NULL), 0);
    else
        assert_int_equal(fs_remove_all(path, NULL), 0);
}

/* What the child will say. */
static void lay(const struct world *w, const struct archive_word *word, const char *code)
{
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, ARCHIVE_WORD_MAX);
    if (word)
        archive_word_encode(word, &text);
    put(w, "word", text.buf);
    put(w, "code", code);
}

static void set_task(struct world *w)
{
    struct archive_task task;

    assert_int_equal(archive_task_decode(task_text, sizeof(task_text) - 1, &task, NULL), 0);
    archive_keeper_set(w->keeper, &task);
}

static unsigned lines_in(const struct world *w, const char *name, char *ret_last, size_t size)
{
    _cleanup_(freep) char *path = xasprintf("%s/%s", w->dir, name);
    _cleanup_(strbuf_release) struct strbuf text;
    unsigned count = 0;

    strbuf_init(&text, KM_MIB);
    if (fs_read_file(path, &text, NULL) < 0)
        return 0;
    for (char *at = text.buf, *end; (end = strchr(at, '\n')); at = end + 1, count++)
        snprintf(ret_last, size, "%.*s", (int)(end - at), at);
    return count;
}

static struct archive_order last_order(struct world *w)
{
    char line[LINE_BYTES];

    assert_true(lines_in(w, "orders", line, sizeof(line)) > 0);
    assert_null(strstr(line, "secret"));
    archive_memory_release(&w->told.memory);
    assert_int_equal(archive_order_decode(line, strlen(line), &w->told, NULL), 0);
    return w->told;
}

/* As the agent does: a few times a second. */
static void turn(struct world *w)
{
    archive_keeper_turn(w->keeper, clock_monotonic_ms());
    loop_run_once(w->loop, 10);
}

static void await_rounds(struct world *w, const char *name, unsigned count)
{
    int64_t end_ms = clock_monotonic_ms() + LONG_MS;
    char line[LINE_BYTES];

    while (lines_in(w, name, line, sizeof(line)) < count) {
        assert_true(clock_monotonic_ms() < end_ms);
        turn(w);
    }
}

static void await_report(struct world *w, bool (*test)(const struct archive_report *report))
{
    int64_t end_ms = clock_monotonic_ms() + LONG_MS;

    while (!test(archive_keeper_report(w->keeper))) {
        assert_true(clock_monotonic_ms() < end_ms);
        turn(w);
    }
}

static bool has_until(const struct archive_report *report)
{
    return report->until_ms > 0;
}

static bool has_error(const struct archive_report *report)
{
    return *report->error_reason != '\0';
}

static bool has_three(const struct archive_report *report)
{
    return report->segments == 3;
}

static struct archive_word good_word(void)
{
    struct archive_word word = {.began_ms = 5000, .segments = 1, .stored_bytes = 100, .ended = true};

    word.memory = (struct archive_memory){.known = true,
        .newest = {.epoch = 3, .sequence = 9, .archived_ms = 4000},
        .from_gtid = "0-1-1",
        .from_ms = 1000,
        .until = "0-1-7",
        .newest_ms = 3000,
        .file = "binlog.000001",
        .offset = 77};
    return word;
}

static void test_a_round(void **state)
{
    struct world *w = *state;
    struct archive_word word = good_word();
    const struct archive_report *report = archive_keeper_report(w->keeper);

    lay(w, &word, "0");
    turn(w);
    assert_string_equal(report->task, "");
    set_task(w);
    assert_int_equal(strlen(report->task), 16);
    await_report(w, has_until);
    struct archive_order order = last_order(w);
    assert_true(order.epoch == 3 && !order.memory.known && order.named_after_ms > 0);
    assert_string_equal(order.writer, "c-mysql-1");
    assert_string_equal(order.flavour, "mariadb");
    assert_string_equal(order.executed, "0-1-7");
    assert_true(report->known && report->epoch == 3 && report->sequence == 9 && report->until_ms == 5000);
    assert_true(report->newest_ms == 3000);
    assert_string_equal(report->from_gtid, "0-1-1");
    assert_string_equal(report->until_gtid, "0-1-7");
    assert_true(report->segments == 1 && report->stored_bytes == 100);
    assert_true(w->changes > 0);
    /* The same task again is nothing new; the next round is an interval away. */
    set_task(w);
    for (int i = 0; i < 10; i++)
        turn(w);
    char line[LINE_BYTES];
    assert_int_equal(lines_in(w, "orders", line, sizeof(line)), 1);
}

/* Another interval begins a round at once; what is known of the archive is kept. */
static void test_another_interval(void **state)
{
    struct world *w = *state;
    struct archive_word word = good_word();
    const struct archive_report *report = archive_keeper_report(w->keeper);
    struct archive_task task;

    lay(w, &word, "0");
    set_task(w);
    await_report(w, has_until);
    char before[17];
    memcpy(before, report->task, sizeof(before));
    assert_int_equal(archive_task_decode(task_text, sizeof(task_text) - 1, &task, NULL), 0);
    task.interval_s = 1;
    archive_keeper_set(w->keeper, &task);
    assert_true(report->known && report->until_ms == 5000);
    assert_string_not_equal(report->task, before);
    await_rounds(w, "orders", 2);
    assert_true(last_order(w).memory.known);
    set_task(w);
    assert_string_equal(report->task, before);
    assert_true(report->known);
}

/* Whole from the server to the round, and from one round to the next; the report tells where it is to be read. */
static void test_long_positions(void **state)
{
    struct world *w = *state;
    struct archive_word word = good_word();
    const struct archive_report *report = archive_keeper_report(w->keeper);
    _cleanup_(strbuf_release) struct strbuf executed, until;

    strbuf_init(&executed, POSITION_TEXT_MAX);
    strbuf_init(&until, POSITION_TEXT_MAX);
    for (int i = 0; i < 400; i++) {
        strbuf_addf(&executed, "%s%08x-71ca-11e1-9e33-c80aa9429562:1-9", i ? "," : "", i);
        strbuf_addf(&until, "%s%08x-71ca-11e1-9e33-c80aa9429562:1-8", i ? "," : "", i);
    }
    w->status.gtid_executed = executed.buf;
    word.memory.until = until.buf;
    word.memory.chain = (struct binlog_segment_name){3, 2, 1000};
    snprintf(word.memory.from_gtid, sizeof(word.memory.from_gtid), POSITION_TOO_LONG);
    word.full = true;
    lay(w, &word, "0");
    set_task(w);
    await_rounds(w, "orders", 2);
    struct archive_order order = last_order(w);
    assert_string_equal(order.executed, executed.buf);
    assert_string_equal(order.memory.until, until.buf);
    assert_string_equal(report->until_gtid, POSITION_TOO_LONG);
    assert_string_equal(report->from_gtid, POSITION_TOO_LONG);
    assert_true(report->from_epoch == 3 && report->from_sequence == 2 && report->from_ms == 1000);
}

static void test_only_an_open_primary(void **state)
{
    struct world *w = *state;
    struct archive_word word = good_word();
    const struct agent_status good = w->status;

    lay(w, &word, "0");
    set_task(w);
    for (unsigned i = 0; i < 6; i++) {
        w->status = good;
        w->status.role = i == 0 ? AGENT_ROLE_REPLICA : good.role;
        w->status.writable = i != 1;
        w->status.order_done = i != 2;
        w->status.isolated = i == 3;
        w->status.phase = i == 4 ? AGENT_PHASE_DOWN : good.phase;
        w->status.epoch = i == 5 ? 0 : good.epoch;
        for (int k = 0; k < 5; k++)
            turn(w);
        assert_false(archive_keeper_report(w->keeper)->known);
        assert_int_equal(strlen(archive_keeper_report(w->keeper)->task), 16);
    }
    char line[LINE_BYTES];
    assert_int_equal(lines_in(w, "orders", line, sizeof(line)), 0);
    w->status = good;
    await_report(w, has_until);
    /* No primary any more: what it knew is nobody's. */
    w->status.writable = false;
    turn(w);
    assert_false(archive_keeper_report(w->keeper)->known);
}

static void test_full_rounds_follow_each_other(void **state)
{
    struct world *w = *state;
    struct archive_word word = good_word();

    word.full = true;
    lay(w, &word, "0");
    set_task(w);
    await_report(w, has_three);
    assert_int_equal(archive_keeper_report(w->keeper)->until_ms, 0);
    /* What was known goes with it. */
    struct archive_order order = last_order(w);
    assert_true(order.memory.known && order.memory.newest.sequence == 9 && order.memory.offset == 77);
    word.full = false;
    lay(w, &word, "0");
    await_report(w, has_until);
}

static void test_failures(void **state)
{
    struct world *w = *state;
    struct archive_word word = good_word();
    const struct archive_report *report = archive_keeper_report(w->keeper);

    snprintf(word.error_reason, sizeof(word.error_reason), "StoreRefused");
    snprintf(word.message, sizeof(word.message), "no such bucket");
    lay(w, &word, "1");
    set_task(w);
    await_report(w, has_error);
    assert_string_equal(report->error_reason, "StoreRefused");
    assert_string_equal(report->message, "no such bucket");
    assert_true(report->known && report->until_ms == 0 && report->segments == 1);
    /* Another task begins anew; this child says nothing at all. */
    archive_keeper_set(w->keeper, NULL);
    lay(w, NULL, "3");
    set_task(w);
    await_report(w, has_error);
    assert_string_equal(report->error_reason, "ArchiveFailed");
    assert_false(last_order(w).memory.known);
}

static void test_ended_by_order(void **state)
{
    struct world *w = *state;
    struct archive_word word = good_word();

    word.ended = false;
    lay(w, &word, "0");
    put(w, "waits", "");
    set_task(w);
    await_rounds(w, "orders", 1);
    archive_keeper_set(w->keeper, NULL);
    await_rounds(w, "ends", 1);
    assert_string_equal(archive_keeper_report(w->keeper)->task, "");
    assert_false(archive_keeper_report(w->keeper)->known);
}

/* What runs belongs to the epoch that is over. */
static void test_another_epoch(void **state)
{
    struct world *w = *state;
    struct archive_word word = good_word();

    lay(w, &word, "0");
    set_task(w);
    await_report(w, has_until);
    put(w, "waits", "");
    w->status.epoch = 4;
    await_rounds(w, "orders", 2);
    assert_true(last_order(w).epoch == 4 && !last_order(w).memory.known);
    w->status.epoch = 5;
    await_rounds(w, "ends", 1);
    put(w, "waits", NULL);
    await_rounds(w, "orders", 3);
    assert_true(last_order(w).epoch == 5);
    await_report(w, has_until);
}

static void test_a_new_log(void **state)
{
    struct world *w = *state;
    struct archive_word word = good_word();
    char line[LINE_BYTES];

    lay(w, &word, "0");
    set_task(w);
    await_report(w, has_until);
    w->newest_log = 7; /* it is known now; not before */
    for (int i = 0; i < 10; i++)
        turn(w);
    assert_int_equal(lines_in(w, "orders", line, sizeof(line)), 1);
    w->newest_log = 8;
    await_rounds(w, "orders", 2);
    for (int i = 0; i < 10; i++)
        turn(w);
    assert_int_equal(lines_in(w, "orders", line, sizeof(line)), 2);
    w->newest_log = 9;
    await_rounds(w, "orders", 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_round),
        TEST(test_another_interval),
        TEST(test_long_positions),
        TEST(test_only_an_open_primary),
        TEST(test_full_rounds_follow_each_other),
        TEST(test_failures),
        TEST(test_ended_by_order),
        TEST(test_another_epoch),
        TEST(test_a_new_log),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
