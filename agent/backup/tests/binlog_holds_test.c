/* SPDX-License-Identifier: Apache-2.0 */
/* A larger position proves nothing: the very transaction is looked for. */
#include "common/base.h"

#include "agent/backup/binlog_holds.h"

#include <setjmp.h>
#include <cmocka.h>

#include "agent/backup/tests/binlog_double.h"

static int set_up(void **state)
{
    static struct binlog_double logs;
    binlog_double_init(&logs, GTID_MARIADB);
    *state = &logs;
    return 0;
}

static int tear_down(void **state)
{
    binlog_double_release(*state);
    return 0;
}

/* Server 1 was primary up to 10, then 2 up to 15, then 1 again: nobody has 0-1-12. */
static void fill(struct binlog_double *logs)
{
    binlog_double_rotate(logs, "");
    binlog_double_add_range(logs, 1, 5, 10);
    binlog_double_rotate(logs, "0-1-10");
    binlog_double_add_range(logs, 2, 11, 15);
    binlog_double_rotate(logs, "0-1-10,0-2-15");
    binlog_double_add_range(logs, 1, 16, 20);
}

static void test_table(void **state)
{
    static const struct {
        const char *wanted;
        int is_held; /* -1: refused */
        const char *why;
    } cases[] = {
        {"0-1-18", 1, "in the newest log"},
        {"0-1-7\n0-2-12\n0-1-20", 1, "each in a log of its own"},
        {"0-1-5\n", 1, "the oldest there is"},
        {"0-1-12", 0, "the position is beyond it, and nobody has it"},
        {"0-2-18", 0, "another server's transaction has that number"},
        {"0-1-7\n0-1-12", 0, "one of two"},
        {"0-1-4", 0, "before the oldest log: purged, or never there"},
        {"0-1-21", 0, "not yet"},
        {"0-3-16", 0, "a server that never wrote here"},
        {"7-1-7", 0, "another domain"},
        {"", -1, "nothing is asked"},
        {"0-1", -1, "no GTID"},
        {"0-1-7,0-1-8", -1, "a position, not a list"},
        {"0-99999999999-7", -1, "no server id"},
        {"-1-1-7", -1, "a sign"},
    };
    fill(*state);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = ERROR_INIT;
        bool is_held = false;
        int rc = binlog_holds(((struct binlog_double *)*state)->dir, cases[i].wanted, &is_held, &err);
        if (rc < 0 ? cases[i].is_held >= 0 || err.kind != ERROR_INVALID : is_held != (cases[i].is_held == 1))
            fail_msg("%s: %d, %d %s", cases[i].why, rc, is_held, err.message);
    }
}

static void test_what_was_purged_is_not_found(void **state)
{
    struct error err = ERROR_INIT;
    bool is_held = true;
    fill(*state);
    binlog_double_purge(*state);
    assert_int_equal(binlog_holds(((struct binlog_double *)*state)->dir, "0-1-7", &is_held, &err), 0);
    assert_false(is_held);
    assert_int_equal(binlog_holds(((struct binlog_double *)*state)->dir, "0-2-12", &is_held, &err), 0);
    assert_true(is_held);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_table, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_was_purged_is_not_found, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
