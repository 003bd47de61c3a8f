/* SPDX-License-Identifier: Apache-2.0 */
/* Where archiving goes on in logs that run on: after lost tails, copies and purges. */
#include "common/base.h"

#include "agent/backup/archive_logs.h"

#include <setjmp.h>
#include <cmocka.h>

#include "agent/backup/tests/binlog_double.h"
#include "common/alloc.h"

#define U1 "3e11fa47-71ca-11e1-9e33-c80aa9429562"
#define U2 "4e11fa47-71ca-11e1-9e33-c80aa9429562"

struct world {
    struct binlog_double logs;
    const char *const *older; /* ends of segments, newest first */
    struct archive_start start;
};

static int set_up(struct world *w, enum gtid_flavour flavour)
{
    *w = (struct world){0};
    binlog_double_init(&w->logs, flavour);
    return 0;
}

static void tear_down(struct world *w)
{
    archive_start_release(&w->start);
    binlog_double_release(&w->logs);
}

static int next_older(void *arg, struct gtid_set **ret, struct error *err)
{
    struct world *w = arg;

    *ret = w->older && *w->older ? gtid_set_parse(w->logs.flavour, *w->older++, err) : NULL;
    return 0;
}

static void find(struct world *w, const char *archived, const char *executed)
{
    _cleanup_(gtid_set_freep) struct gtid_set *set = archived ? gtid_set_parse(w->logs.flavour, archived, NULL) : NULL;
    struct archive_wish wish = {.archived = set, .executed = executed, .older = next_older, .arg = w};
    struct archive_logs logs;
    struct error err = ERROR_INIT;

    archive_start_release(&w->start);
    assert_int_equal(archive_logs_open(w->logs.dir, w->logs.flavour, &logs, NULL), 0);
    if (archive_logs_find(&logs, &wish, &w->start, &err) < 0)
        fail_msg("%s", err.message);
    archive_logs_release(&logs);
}

static void assert_start(struct world *w, size_t file, const char *after, bool agrees, bool rewound)
{
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, 4096);
    gtid_set_print(w->start.after, &text);
    assert_string_equal(text.buf, after);
    assert_int_equal(w->start.file, file);
    assert_int_equal(w->start.agrees, agrees);
    assert_int_equal(w->start.rewound, rewound);
}

/* 90 to 95, 96 to 100, 101 on. */
static void write_mariadb(struct world *w)
{
    binlog_double_rotate(&w->logs, "0-1-89");
    binlog_double_add_range(&w->logs, 1, 90, 95);
    binlog_double_rotate(&w->logs, "0-1-95");
    binlog_double_add_range(&w->logs, 1, 96, 98);
    binlog_double_add_range(&w->logs, 2, 99, 100);
    binlog_double_rotate(&w->logs, "0-1-98,0-2-100");
    binlog_double_add_range(&w->logs, 2, 101, 103);
}

static void test_mariadb_goes_on(void **state)
{
    struct world w;

    UNUSED(state);
    set_up(&w, GTID_MARIADB);
    write_mariadb(&w);
    find(&w, NULL, "");
    assert_start(&w, 0, "0-1-89", false, false);
    find(&w, "0-2-103", "");
    assert_start(&w, 2, "0-2-103", true, false);
    find(&w, "0-2-100", ""); /* the end of a file */
    assert_start(&w, 2, "0-2-100", true, false);
    find(&w, "0-2-99", "");
    assert_start(&w, 1, "0-2-99", true, false);
    find(&w, "0-1-89", ""); /* in the oldest list only */
    assert_start(&w, 0, "0-1-89", true, false);
    tear_down(&w);
}

/* The old primary archived 0-1-99 and 0-1-100, which nobody else had. */
static void test_mariadb_lost_tail(void **state)
{
    static const char *const older[] = {"0-1-99", "0-1-97", "0-1-92", NULL};
    static const char *const far[] = {"0-1-99", "0-1-70", NULL};
    struct world w;

    UNUSED(state);
    set_up(&w, GTID_MARIADB);
    write_mariadb(&w);
    w.older = older;
    find(&w, "0-1-100", "");
    assert_start(&w, 1, "0-1-97", true, true);
    w.older = older;
    find(&w, "0-1-101", ""); /* even if it had got further */
    assert_start(&w, 1, "0-1-97", true, true);
    /* The logs do not reach back to where both agree. */
    w.older = far;
    find(&w, "0-1-100", "");
    assert_start(&w, 0, "0-1-89", false, true);
    tear_down(&w);
}

static void test_mariadb_gap(void **state)
{
    struct world w;

    UNUSED(state);
    set_up(&w, GTID_MARIADB);
    write_mariadb(&w);
    binlog_double_purge(&w.logs);
    find(&w, "0-1-94", "");
    assert_start(&w, 0, "0-1-95", false, true);
    find(&w, "0-1-95", "");
    assert_start(&w, 0, "0-1-95", true, false);
    binlog_double_purge(&w.logs);
    /* In the list, of another server of the domain: the newest there is 0-2-100. */
    find(&w, "0-1-98", "");
    assert_start(&w, 0, "0-2-100", false, true);
    tear_down(&w);
}

static void test_mariadb_domains(void **state)
{
    struct world w;

    UNUSED(state);
    set_up(&w, GTID_MARIADB);
    binlog_double_rotate(&w.logs, "");
    binlog_double_add(&w.logs, "0-1-1", 1, 40);
    binlog_double_add(&w.logs, "5-1-1", 1, 40);
    binlog_double_rotate(&w.logs, "0-1-1,5-1-1");
    binlog_double_add(&w.logs, "0-1-2", 1, 40);
    find(&w, NULL, "");
    assert_start(&w, 0, "", false, false);
    /* A domain that the archive does not know yet begins in the first file. */
    find(&w, "0-1-1", "");
    assert_start(&w, 0, "0-1-1", true, false);
    find(&w, "0-1-2,5-1-1", "");
    assert_start(&w, 1, "0-1-2,5-1-1", true, false);
    tear_down(&w);
}

static void add_mysql(struct world *w, const char *uuid, unsigned first, unsigned last)
{
    for (unsigned i = first; i <= last; i++) {
        char gtid[64];
        snprintf(gtid, sizeof(gtid), "%s:%u", uuid, i);
        binlog_double_add(&w->logs, gtid, 1, 40);
    }
}

static void write_mysql(struct world *w)
{
    binlog_double_rotate(&w->logs, U1 ":1-89");
    add_mysql(w, U1, 90, 95);
    binlog_double_rotate(&w->logs, U1 ":1-95");
    add_mysql(w, U1, 96, 98);
    add_mysql(w, U2, 1, 3);
}

static void test_mysql(void **state)
{
    const char *all = U1 ":1-98," U2 ":1-3";
    struct world w;

    UNUSED(state);
    set_up(&w, GTID_MYSQL);
    write_mysql(&w);
    find(&w, NULL, all);
    assert_start(&w, 0, U1 ":1-89", false, false);
    find(&w, U1 ":1-97", all);
    assert_start(&w, 1, U1 ":1-97", true, false);
    find(&w, U1 ":1-97", U1 ":1-97"); /* the server was asked a while ago */
    assert_start(&w, 1, U1 ":1-97", true, false);
    find(&w, all, U1 ":1-97");
    assert_start(&w, 1, U1 ":1-98," U2 ":1-3", true, false);
    /* The old primary archived 99 and 100, which nobody else had. */
    find(&w, U1 ":1-100", all);
    assert_start(&w, 1, U1 ":1-98", true, true);
    find(&w, U1 ":1-92:99", all);
    assert_start(&w, 0, U1 ":1-92", true, true);
    tear_down(&w);
}

static void test_mysql_gap(void **state)
{
    struct world w;

    UNUSED(state);
    set_up(&w, GTID_MYSQL);
    write_mysql(&w);
    find(&w, U1 ":1-80", U1 ":1-98," U2 ":1-3");
    assert_start(&w, 0, U1 ":1-89", false, false);
    binlog_double_purge(&w.logs);
    find(&w, U1 ":1-92", U1 ":1-98," U2 ":1-3");
    assert_start(&w, 0, U1 ":1-95", false, false);
    tear_down(&w);
}

/* A member made by a copy: its logs do not say what it had. */
static void test_mysql_copied(void **state)
{
    struct world w;

    UNUSED(state);
    set_up(&w, GTID_MYSQL);
    binlog_double_rotate(&w.logs, "");
    add_mysql(&w, U1, 51, 55);
    find(&w, NULL, U1 ":1-55");
    assert_start(&w, 0, U1 ":1-50", false, false);
    find(&w, U1 ":1-53", U1 ":1-55");
    assert_start(&w, 0, U1 ":1-53", true, false);
    find(&w, U1 ":1-48", U1 ":1-55");
    assert_start(&w, 0, U1 ":1-50", false, false);
    tear_down(&w);
}

/* The server is writing. */
static void test_half_an_event(void **state)
{
    struct world w;

    UNUSED(state);
    for (size_t bytes = 1; bytes < 140; bytes += 3) {
        set_up(&w, GTID_MARIADB);
        binlog_double_rotate(&w.logs, "");
        binlog_double_add_range(&w.logs, 1, 1, 3);
        binlog_double_add_part(&w.logs, "0-1-4", bytes);
        find(&w, "0-1-3", "");
        assert_start(&w, 0, "0-1-3", true, false);
        find(&w, "0-1-4", "");
        assert_false(w.start.agrees);
        tear_down(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mariadb_goes_on),
        cmocka_unit_test(test_mariadb_lost_tail),
        cmocka_unit_test(test_mariadb_gap),
        cmocka_unit_test(test_mariadb_domains),
        cmocka_unit_test(test_mysql),
        cmocka_unit_test(test_mysql_gap),
        cmocka_unit_test(test_mysql_copied),
        cmocka_unit_test(test_half_an_event),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
