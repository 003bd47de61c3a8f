/* SPDX-License-Identifier: Apache-2.0 */
/* Whether all that a start may cut off is set aside. */
#include "common/base.h"

#include "agent/set_aside_tail.h"

#include <dirent.h>
#include <setjmp.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/backup/tests/binlog_double.h"
#include "agent/set_aside.h"
#include "common/alloc.h"
#include "common/fs.h"
#include "common/log.h"

#define LARGE ((size_t)(70 * KM_MIB)) /* more than what is set aside where a recovery begins close to the end */

struct world {
    struct binlog_double logs;
    struct agent_paths paths;
    struct agent_set_asides sets;
    struct error error;
};

static int set_up(void **state)
{
    struct world *w = xnew(struct world);

    log_setup(LOG_ERROR, LOG_FORMAT_TEXT, 2);
    binlog_double_init(&w->logs, GTID_MARIADB);
    agent_paths_init(&w->paths, w->logs.dir, w->logs.dir, NULL, NULL, NULL, NULL);
    free(w->paths.data_dir);
    w->paths.data_dir = xstrdup(w->logs.dir);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;

    agent_paths_release(&w->paths);
    binlog_double_release(&w->logs);
    free(w);
    return 0;
}

static bool keeps(struct world *w)
{
    error_clear(&w->error);
    return set_aside_tail(&w->paths, 5, 0, &w->sets, &w->error) == 0;
}

static void expect_kept(struct world *w)
{
    if (!keeps(w))
        fail_msg("%s", w->error.message);
}

static bool holds(const struct world *w, const char *gtid)
{
    _cleanup_(freep) char *path = xasprintf(
        "%s/set-aside/%.*s/transactions.txt", w->paths.state_dir, (int)strcspn(w->sets.sets[0], ":"), w->sets.sets[0]);
    _cleanup_(freep) char *line = xasprintf("\n%s\n", gtid);
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, KM_MIB);
    assert_int_equal(fs_read_file(path, &text, NULL), 0);
    return strstr(text.buf, line) != NULL;
}

static size_t count_sets(const struct world *w)
{
    _cleanup_(freep) char *top = xasprintf("%s/set-aside", w->paths.state_dir);
    DIR *dir = opendir(top);
    size_t count = 0;

    for (struct dirent *entry; dir && (entry = readdir(dir));)
        count += entry->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return count;
}

/* Older ones are kept as far as there is room for them. */
static void test_from_the_checkpoint_on(void **state)
{
    struct world *w = *state;

    binlog_double_rotate(&w->logs, "0-1-100");
    binlog_double_checkpoint(&w->logs, 1);
    binlog_double_add(&w->logs, "0-1-101", 1000000, LARGE);
    binlog_double_rotate(&w->logs, "0-1-101");
    binlog_double_checkpoint(&w->logs, 1);
    binlog_double_add_range(&w->logs, 1, 102, 103);
    expect_kept(w);
    assert_true(holds(w, "0-1-101"));
    assert_true(holds(w, "0-1-103"));
    binlog_double_checkpoint(&w->logs, 2);
    binlog_double_add(&w->logs, "0-1-104", 1000000, 40);
    sleep(1); /* a set is named by the second */
    expect_kept(w);
    assert_false(holds(w, "0-1-101"));
    assert_true(holds(w, "0-1-102"));
    assert_true(holds(w, "0-1-104"));
}

/* Behind its end is room that was never written to. */
static void lengthen(const struct world *w, unsigned log)
{
    _cleanup_(freep) char *path = xasprintf("%s/binlog.%06u", w->logs.dir, log);

    assert_int_equal(truncate(path, (off_t)SET_ASIDE_MAX_BYTES), 0);
}

/* Nothing is kept then, nor goes an older set for it. */
static void test_too_large(void **state)
{
    struct world *w = *state;

    binlog_double_rotate(&w->logs, "0-1-100");
    binlog_double_add_range(&w->logs, 1, 101, 103);
    lengthen(w, 1);
    binlog_double_rotate(&w->logs, "0-1-103");
    binlog_double_checkpoint(&w->logs, 1);
    binlog_double_add_range(&w->logs, 1, 104, 105);
    assert_false(keeps(w)); /* of the newest alone it would do */
    assert_int_equal(w->error.kind, ERROR_TOO_LARGE);
    assert_int_equal(count_sets(w), 0);
    binlog_double_checkpoint(&w->logs, 2);
    expect_kept(w);
    binlog_double_add_range(&w->logs, 1, 106, 107);
    lengthen(w, 2);
    binlog_double_rotate(&w->logs, "0-1-107");
    binlog_double_checkpoint(&w->logs, 2);
    assert_false(keeps(w));
    assert_int_equal(count_sets(w), 1);
}

static void test_the_checkpoint_is_not_known(void **state)
{
    struct world *w = *state;

    assert_false(keeps(w)); /* there is no log */
    binlog_double_rotate(&w->logs, "0-1-100");
    binlog_double_add_range(&w->logs, 1, 101, 102);
    assert_false(keeps(w));
    binlog_double_checkpoint(&w->logs, 7);
    assert_false(keeps(w));
    assert_int_equal(count_sets(w), 0);
    binlog_double_checkpoint(&w->logs, 1);
    expect_kept(w);
}

/* The newest set on the volume is of the same end of the logs, but not whole. */
static void test_a_set_that_is_there(void **state)
{
    struct world *w = *state;
    const struct set_aside_wish wish = {
        .paths = &w->paths, .flavour = AGENT_FLAVOUR_MARIADB, .errant = "", .reason = "a test", .max_bytes = 500};

    binlog_double_rotate(&w->logs, "0-1-100");
    binlog_double_checkpoint(&w->logs, 1);
    binlog_double_add(&w->logs, "0-1-101", 1000000, 1000);
    binlog_double_add_range(&w->logs, 1, 102, 103);
    assert_int_equal(set_aside_make(&wish, &w->sets, &w->error), 0);
    assert_false(holds(w, "0-1-101"));
    assert_false(keeps(w));
    assert_int_equal(w->error.kind, ERROR_NOT_FOUND);
    binlog_double_add_range(&w->logs, 1, 104, 104);
    sleep(1);
    expect_kept(w);
    expect_kept(w); /* that one is as good as another */
    assert_int_equal(count_sets(w), 2);
}

/* They cannot be taken apart, so they are kept as they are. */
static void test_raw_logs(void **state)
{
    struct world *w = *state;

    binlog_double_rotate(&w->logs, "0-1-100");
    binlog_double_checkpoint(&w->logs, 1);
    _cleanup_(freep) char *newest = xasprintf("%s/binlog.%06u", w->logs.dir, w->logs.newest);
    assert_int_equal(fs_write_file_atomic(newest, "what is this?", 13, 0600, NULL), 0);
    assert_false(keeps(w));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_from_the_checkpoint_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_too_large, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_checkpoint_is_not_known, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_set_that_is_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_raw_logs, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
