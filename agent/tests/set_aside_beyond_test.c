/* SPDX-License-Identifier: Apache-2.0 */
/* What a volume has that others have not is told from its binary logs and another one's position. */
#include "common/base.h"

#include "agent/set_aside_beyond.h"

#include <dirent.h>
#include <setjmp.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/backup/tests/binlog_double.h"
#include "agent/set_aside.h"
#include "common/alloc.h"
#include "common/fs.h"
#include "common/log.h"

#define A "3e11fa47-71ca-11e1-9e33-c80aa9429561"
#define B "3e11fa47-71ca-11e1-9e33-c80aa9429562"

static void expect(const struct binlog_double *logs, const char *theirs, bool known, const char *gtids)
{
    struct set_aside_beyond beyond;

    set_aside_beyond_find(logs->dir, logs->flavour, theirs, &beyond);
    if (!str_eq(beyond.gtids.buf, gtids))
        printf("beyond %s: %s\n", theirs, beyond.gtids.buf);
    assert_int_equal(beyond.known, known);
    assert_string_equal(beyond.gtids.buf, gtids);
    assert_int_equal(beyond.end, set_aside_beyond_end(logs->dir, logs->flavour));
    set_aside_beyond_release(&beyond);
}

static void test_mysql(void **state)
{
    struct binlog_double logs;

    UNUSED(state);
    binlog_double_init(&logs, GTID_MYSQL);
    expect(&logs, A ":1-9", true, ""); /* no binary log was ever begun */
    binlog_double_rotate(&logs, A ":1-5");
    binlog_double_add(&logs, A ":6", 1000000, 100);
    binlog_double_add(&logs, B ":1", 1000000, 100);
    expect(&logs, A ":1-6," B ":1-7", true, "");
    expect(&logs, A ":1-6", true, B ":1");
    expect(&logs, A ":1-3," B ":1", true, A ":4-6"); /* of older files, too */
    expect(&logs, "", false, "");
    expect(&logs, A ":1-3,...", false, "");
    expect(&logs, "0-1-7", false, "");
    binlog_double_release(&logs);
}

/* Servers 1 and 2 were primary in turn; 1 ended with transactions that nobody has. */
static void test_mariadb(void **state)
{
    struct binlog_double logs;

    UNUSED(state);
    binlog_double_init(&logs, GTID_MARIADB);
    binlog_double_rotate(&logs, "0-2-90");
    binlog_double_add_range(&logs, 1, 91, 105);
    expect(&logs, "0-1-105,0-2-90", true, "");
    expect(&logs, "0-1-105,0-2-110", true, "");
    expect(&logs, "0-1-100,0-2-110", true, "0-1-105"); /* S10: its number is smaller than theirs */
    expect(&logs, "0-2-110", true, "0-1-105");         /* by a position alone */
    expect(&logs, "0-1-105", true, "");                /* a member that was made by a copy */
    expect(&logs, "0-3-110", true, "0-1-105,0-2-90");  /* nothing tells */
    expect(&logs, "0-1-105,5-1-1", true, "");
    expect(&logs, "", false, "");
    expect(&logs, "x", false, "");
    binlog_double_add(&logs, "7-1-3", 1000000, 100);
    expect(&logs, "0-1-105", true, "7-1-3");
    binlog_double_release(&logs);
}

/* ---- before data is replaced ---- */

struct world {
    struct binlog_double logs;
    struct agent_paths paths;
    struct agent_set_asides sets;
};

static void world_init(struct world *w, enum gtid_flavour flavour)
{
    log_setup(LOG_ERROR, LOG_FORMAT_TEXT, 2);
    binlog_double_init(&w->logs, flavour);
    agent_paths_init(&w->paths, w->logs.dir, w->logs.dir, NULL, NULL, NULL, NULL);
    free(w->paths.data_dir);
    w->paths.data_dir = xstrdup(w->logs.dir);
}

static void world_release(struct world *w)
{
    agent_paths_release(&w->paths);
    binlog_double_release(&w->logs);
}

static void replace(struct world *w, enum agent_flavour flavour, const char *theirs)
{
    struct error err = ERROR_INIT;

    if (set_aside_before_replacing(&w->paths, flavour, 5, theirs, &w->sets, &err) < 0)
        fail_msg("%s", err.message);
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

static char *list_of(const struct world *w)
{
    _cleanup_(freep) char *path = xasprintf(
        "%s/set-aside/%.*s/transactions.txt", w->paths.state_dir, (int)strcspn(w->sets.sets[0], ":"), w->sets.sets[0]);
    struct strbuf text;

    strbuf_init(&text, KM_MIB);
    assert_int_equal(fs_read_file(path, &text, NULL), 0);
    return strbuf_detach(&text, NULL);
}

/* Only what is beyond, and once for the same data however often a copy is begun. */
static void test_only_what_is_beyond(void **state)
{
    struct world w;

    UNUSED(state);
    world_init(&w, GTID_MARIADB);
    binlog_double_rotate(&w.logs, "0-2-90");
    binlog_double_add_range(&w.logs, 1, 91, 105);
    replace(&w, AGENT_FLAVOUR_MARIADB, "0-1-105,0-2-110");
    assert_int_equal(count_sets(&w), 0);
    assert_string_equal(w.sets.sets[0], "");
    replace(&w, AGENT_FLAVOUR_MARIADB, "0-1-103,0-2-110");
    assert_int_equal(count_sets(&w), 1);
    assert_non_null(strstr(w.sets.sets[0], "-epoch5: 0-1-105"));
    _cleanup_(freep) char *list = list_of(&w);
    assert_non_null(strstr(list, "\n0-1-104\n0-1-105\n"));
    assert_null(strstr(list, "\n0-1-103\n"));
    struct agent_set_asides first = w.sets;
    sleep(1); /* a set is named by the second */
    replace(&w, AGENT_FLAVOUR_MARIADB, "0-1-103,0-2-120");
    assert_int_equal(count_sets(&w), 1);
    assert_string_equal(w.sets.sets[0], first.sets[0]);
    binlog_double_add(&w.logs, "0-1-106", 1000000, 100); /* it has run meanwhile */
    replace(&w, AGENT_FLAVOUR_MARIADB, "0-1-103,0-2-120");
    assert_int_equal(count_sets(&w), 2);
    assert_string_equal(w.sets.sets[1], first.sets[0]);
    replace(&w, AGENT_FLAVOUR_MARIADB, "0-1-106,0-2-120"); /* nothing is beyond: what lies there lies there */
    assert_string_equal(w.sets.sets[1], first.sets[0]);
    world_release(&w);
}

static void test_where_nothing_is_known_all_is_kept(void **state)
{
    struct world w;

    UNUSED(state);
    world_init(&w, GTID_MYSQL);
    binlog_double_rotate(&w.logs, A ":1-5");
    binlog_double_add(&w.logs, A ":6", 1000000, 100);
    replace(&w, AGENT_FLAVOUR_MYSQL, ""); /* the order of an earlier version */
    assert_int_equal(count_sets(&w), 1);
    assert_non_null(strstr(w.sets.sets[0], A ":6"));
    world_release(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mysql),
        cmocka_unit_test(test_mariadb),
        cmocka_unit_test(test_only_what_is_beyond),
        cmocka_unit_test(test_where_nothing_is_known_all_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
