/* SPDX-License-Identifier: Apache-2.0 */
/* From when on a member has binary logs, whatever the look at them meets. There is no server. */
#include "common/base.h"

#include "agent/binlog_keeper.h"

#include <setjmp.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/backup/tests/binlog_double.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/fs.h"

#define LONG_MS 30000
#define BEGUN_S 1770000000
#define BEGUN_MS ((BEGUN_S + 1) * INT64_C(1000))
#define LATER_MS (BEGUN_MS + 60000)

struct world {
    struct loop *loop;
    struct binlog_double logs;
    struct agent_paths paths;
    struct instance_state state;
    struct binlog_keeper *keeper;
    struct agent_status status;
    int64_t now_ms;
    unsigned changes;
};

static void on_changed(void *arg)
{
    struct world *w = arg;

    w->changes++;
}

static int set_up(void **state)
{
    struct world *w = xnew(struct world);

    w->loop = loop_new();
    binlog_double_init(&w->logs, GTID_MARIADB);
    w->logs.created = BEGUN_S;
    binlog_double_rotate(&w->logs, "");
    w->logs.created = BEGUN_S + 60;
    binlog_double_rotate(&w->logs, "0-1-5");
    agent_paths_init(&w->paths, NULL, NULL, NULL, NULL, NULL, NULL);
    free(w->paths.data_dir);
    w->paths.data_dir = xstrdup(w->logs.dir);
    free(w->paths.socket);
    w->paths.socket = xasprintf("%s/none.sock", w->logs.dir);
    snprintf(w->state.observed.version.text, sizeof(w->state.observed.version.text), "10.11.6-MariaDB");
    w->state.observed.version.flavour = AGENT_FLAVOUR_MARIADB;
    w->keeper = binlog_keeper_new(w->loop, &w->paths, "nobody", &w->state, on_changed, w);
    w->now_ms = 1000;
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;

    binlog_keeper_free(w->keeper);
    loop_free(w->loop);
    binlog_double_release(&w->logs);
    agent_paths_release(&w->paths);
    free(w);
    return 0;
}

static void put(struct world *w, unsigned number, const char *text)
{
    _cleanup_(freep) char *path = xasprintf("%s/binlog.%06u", w->logs.dir, number);

    assert_int_equal(fs_write_file_atomic(path, text, strlen(text), 0600, NULL), 0);
}

static void lose(struct world *w, const char *name)
{
    _cleanup_(freep) char *path = xasprintf("%s/%s", w->logs.dir, name);

    assert_int_equal(fs_remove_all(path, NULL), 0);
}

/* So much later a look begins, if one is due, and ends. */
static void look_after(struct world *w, int64_t ms)
{
    int64_t end_ms = clock_monotonic_ms() + LONG_MS;

    w->now_ms += ms;
    binlog_keeper_turn(w->keeper, AGENT_PHASE_RUNNING, w->now_ms);
    while (binlog_keeper_is_busy(w->keeper)) {
        assert_true(clock_monotonic_ms() < end_ms);
        loop_run_once(w->loop, 10);
    }
    binlog_keeper_fill(w->keeper, &w->status);
}

static void test_the_oldest_log_tells(void **state)
{
    struct world *w = *state;

    look_after(w, 0);
    assert_int_equal(w->status.binlogs_from_ms, BEGUN_MS);
    assert_int_equal(w->changes, 1);
    binlog_double_purge(&w->logs);
    look_after(w, 1000); /* not yet: they change seldom */
    assert_int_equal(w->status.binlogs_from_ms, BEGUN_MS);
    look_after(w, 30000);
    assert_int_equal(w->status.binlogs_from_ms, LATER_MS);
    assert_int_equal(w->changes, 2);
}

/* It stays as it was, and is looked for soon. */
static void test_a_look_that_fails_changes_nothing(void **state)
{
    struct world *w = *state;

    look_after(w, 0);
    lose(w, "binlog.000001"); /* the index still names it */
    look_after(w, 30000);
    assert_int_equal(w->status.binlogs_from_ms, BEGUN_MS);
    put(w, 1, "short"); /* as it is begun */
    look_after(w, 1000);
    assert_int_equal(w->status.binlogs_from_ms, BEGUN_MS);
    binlog_double_purge(&w->logs);
    look_after(w, 1000);
    assert_int_equal(w->status.binlogs_from_ms, LATER_MS);
    lose(w, "binlog.index");
    look_after(w, 30000);
    assert_int_equal(w->status.binlogs_from_ms, LATER_MS);
}

/* Nobody can tell when it was begun: what the one before it said is not true any more. */
static void test_an_encrypted_log_does_not_tell(void **state)
{
    struct world *w = *state;

    look_after(w, 0);
    put(w, 1, "\xfd bin, and what nobody but the server can read");
    look_after(w, 30000);
    assert_int_equal(w->status.binlogs_from_ms, 0);
    assert_int_equal(w->changes, 2);
}

/* The server does not answer; its files are there. */
static void test_a_purge_that_fails(void **state)
{
    struct world *w = *state;

    w->state.role.has_order = true;
    w->state.binlog_max_bytes = 1;
    look_after(w, 0);
    assert_int_equal(w->status.binlogs_from_ms, BEGUN_MS);
    assert_string_equal(w->status.purge_until, "binlog.000002");
    assert_true(binlog_keeper_grant(w->keeper, w->status.purge_wish));
    assert_false(binlog_keeper_grant(w->keeper, "another"));
    binlog_double_purge(&w->logs); /* by the server itself */
    look_after(w, 1000);
    assert_string_equal(w->status.purge_until, "");
    assert_int_equal(w->status.binlogs_from_ms, LATER_MS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_oldest_log_tells),
        TEST(test_a_look_that_fails_changes_nothing),
        TEST(test_an_encrypted_log_does_not_tell),
        TEST(test_a_purge_that_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
