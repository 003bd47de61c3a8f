/* SPDX-License-Identifier: Apache-2.0 */
/* When a check begins, and what is made of its words. The child is a shell that says what the test has laid ready. */
#include "common/base.h"

#include "agent/check_keeper.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/fs.h"

#define LONG_MS 30000

struct world {
    struct loop *loop;
    char *dir;
    struct agent_paths paths;
    struct agent_status status;
    struct check_keeper *keeper;
    char *script;
    const char *argv[4];
    unsigned changes;
};

static void on_changed(void *arg)
{
    struct world *w = arg;

    w->changes++;
}

/* It writes down what it hears, says `word`, and waits as long as `waits` is there. */
static int set_up(void **state)
{
    struct world *w = xnew(struct world);
    char dir[] = "/tmp/km-check-XXXXXX";

    assert_non_null(mkdtemp(dir));
    w->dir = xstrdup(dir);
    w->loop = loop_new();
    agent_paths_init(&w->paths, NULL, NULL, NULL, NULL, NULL, NULL);
    w->script =
        xasprintf("cat >>%s/heard; echo >>%s/heard; cat %s/word; while test -e %s/waits; do sleep 0.05; done; exit 1",
            dir, dir, dir, dir);
    w->argv[0] = "bash";
    w->argv[1] = "-c";
    w->argv[2] = w->script;
    w->status = (struct agent_status){.phase = AGENT_PHASE_RUNNING};
    w->keeper = check_keeper_new(&(struct check_keeper_options){.loop = w->loop,
        .paths = &w->paths,
        .status = &w->status,
        .child_argv = w->argv,
        .changed = on_changed,
        .arg = w});
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;

    check_keeper_free(w->keeper);
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

    assert_int_equal(fs_write_file_atomic(path, text, strlen(text), 0600, NULL), 0);
}

static unsigned lines_heard(const struct world *w)
{
    _cleanup_(freep) char *path = xasprintf("%s/heard", w->dir);
    _cleanup_(strbuf_release) struct strbuf text;
    unsigned count = 0;

    strbuf_init(&text, KM_MIB);
    if (fs_read_file(path, &text, NULL) == 0)
        for (const char *at = text.buf; (at = strchr(at, '\n')); at++)
            count++;
    return count;
}

static void ask(struct world *w, const char *id)
{
    struct check_task task = {.gtid = "0-1-7"};

    snprintf(task.id, sizeof(task.id), "%s", id);
    check_keeper_set(w->keeper, &task);
}

static const struct check_report *await(struct world *w, enum check_phase phase, uint64_t tables)
{
    const struct check_report *report = check_keeper_report(w->keeper);
    int64_t end_ms = clock_monotonic_ms() + LONG_MS;

    while (report->phase != phase || report->tables != tables) {
        assert_true(clock_monotonic_ms() < end_ms);
        check_keeper_turn(w->keeper);
        loop_run_once(w->loop, 10);
    }
    return report;
}

static void words_are_taken(void **state)
{
    struct world *w = *state;

    put(w, "waits", "");
    put(w, "word", "{\"task\":\"a\",\"phase\":\"Running\",\"tables\":7}\n");
    ask(w, "a");
    assert_string_equal(check_keeper_report(w->keeper)->task, "a");
    await(w, CHECK_PHASE_RUNNING, 7);
    assert_true(w->changes > 0);
    /* Asked again: it is under way. */
    ask(w, "a");
    assert_int_equal(check_keeper_report(w->keeper)->tables, 7);
    /* Another one ends it. */
    put(w, "word", "{\"task\":\"b\",\"phase\":\"Passed\",\"tables\":9}\n");
    ask(w, "b");
    assert_int_equal(check_keeper_report(w->keeper)->phase, CHECK_PHASE_NONE);
    await(w, CHECK_PHASE_PASSED, 9);
    assert_int_equal(lines_heard(w), 2);
    check_keeper_set(w->keeper, NULL);
    assert_string_equal(check_keeper_report(w->keeper)->task, "");
    assert_int_equal(check_keeper_report(w->keeper)->phase, CHECK_PHASE_NONE);
}

static void a_result_stays(void **state)
{
    struct world *w = *state;

    put(w, "word",
        "{\"task\":\"a\",\"phase\":\"Failed\",\"tables\":3,\"reason\":\"TablesDamaged\",\"message\":\"d.t\"}\n");
    ask(w, "a");
    const struct check_report *report = await(w, CHECK_PHASE_FAILED, 3);
    for (int i = 0; i < 20; i++) {
        check_keeper_turn(w->keeper);
        loop_run_once(w->loop, 10);
    }
    assert_string_equal(report->reason, CHECK_TABLES_DAMAGED);
    assert_string_equal(report->message, "d.t");
    assert_int_equal(lines_heard(w), 1);
}

/* Neither what is no word nor what is of another task counts; without a word it has failed. */
static void an_end_without_a_word(void **state)
{
    struct world *w = *state;

    put(w, "word", "garbage\n{\"task\":\"other\",\"phase\":\"Passed\"}\n{\"task\":\"a\",\"phase\":\"Passed\"");
    ask(w, "a");
    const struct check_report *report = await(w, CHECK_PHASE_FAILED, 0);
    assert_string_equal(report->reason, CHECK_FAILED);
    assert_non_null(strstr(report->message, "without a word"));
}

static void it_waits_for_a_server(void **state)
{
    struct world *w = *state;

    w->status.phase = AGENT_PHASE_STARTING;
    put(w, "word", "{\"task\":\"a\",\"phase\":\"Passed\",\"tables\":1}\n");
    ask(w, "a");
    for (int i = 0; i < 20; i++) {
        check_keeper_turn(w->keeper);
        loop_run_once(w->loop, 10);
    }
    assert_int_equal(check_keeper_report(w->keeper)->phase, CHECK_PHASE_NONE);
    assert_int_equal(lines_heard(w), 0);
    w->status.phase = AGENT_PHASE_RUNNING;
    await(w, CHECK_PHASE_PASSED, 1);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(words_are_taken),
        CASE(a_result_stays),
        CASE(an_end_without_a_word),
        CASE(it_waits_for_a_server),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
