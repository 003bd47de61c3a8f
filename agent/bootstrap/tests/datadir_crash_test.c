/* SPDX-License-Identifier: Apache-2.0 */
/* I8: whatever system call a replacement is killed at, the next start finds a whole database or none, and goes on from
 * there. */
#include "common/base.h"

#include <setjmp.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/bootstrap/datadir.h"
#include "agent/bootstrap/datadir_beside.h"
#include "common/alloc.h"
#include "common/fs.h"
#include "common/log.h"
#include "common/tests/crash_util.h"

static const char *const files[] = {"ibdata1", "mysql.ibd", "mysql/user.frm", "d/a.ibd", "d/b.ibd", "d/c.ibd"};

static void put(const struct agent_paths *paths, const char *dir, const char *name, const char *content)
{
    _cleanup_(freep) char *path = xasprintf("%s/%s/%s", paths->volume_dir, dir, name);
    char *slash = strrchr(path, '/');

    *slash = '\0';
    assert_int_equal(fs_mkdir_all(path, 0700, NULL), 0);
    *slash = '/';
    FILE *file = fopen(path, "we"); /* unsynced: hundreds of them */
    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void put_database(const struct agent_paths *paths, const char *dir)
{
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        put(paths, dir, files[i], dir);
}

static bool has(const struct agent_paths *paths, const char *name)
{
    _cleanup_(freep) char *path = xasprintf("%s/%s", paths->volume_dir, name);

    return fs_exists(path);
}

/* All of it, and of one origin. */
static bool is_whole(const struct agent_paths *paths, char *ret_origin, size_t size)
{
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        _cleanup_(freep) char *path = xasprintf("%s/%s", paths->data_dir, files[i]);
        _cleanup_(strbuf_release) struct strbuf text;
        strbuf_init(&text, 64);
        if (fs_read_file(path, &text, NULL) < 0 || (i > 0 && !str_eq(text.buf, ret_origin)))
            return false;
        snprintf(ret_origin, size, "%s", text.buf);
    }
    return true;
}

static int discard(const struct agent_paths *paths, struct error *err)
{
    return datadir_discard(paths, err);
}

static int begin(const struct agent_paths *paths, struct error *err)
{
    return datadir_begin(paths, err);
}

static int replace(const struct agent_paths *paths, struct error *err)
{
    return datadir_publish(paths, true, err);
}

static int keep_beside(const struct agent_paths *paths, struct error *err)
{
    return datadir_keep_beside(paths, 7, err);
}

static int take(const struct agent_paths *paths, struct error *err)
{
    return datadir_take(paths, 7, err);
}

static const struct {
    const char *name;
    int (*run)(const struct agent_paths *paths, struct error *err);
    const char *before[4];
    bool may_be_empty;
    const char *after; /* whose database it is in the end; NULL: none */
} operations[] = {
    {"discard", discard, {"data"}, true, NULL},
    {"discard after a crash", discard, {"data", "data.gone"}, true, NULL},
    {"begin", begin, {"data", "data.new", "data.old", "data.gone"}, false, "data"},
    {"begin where the old data lost its name", begin, {"data.old", "data.new"}, false, "data.old"},
    {"replace", replace, {"data", "data.new"}, false, "data.new"},
    {"the first one", replace, {"data.new"}, true, "data.new"},
    {"keep beside", keep_beside, {"data", "data.new", "data.restored"}, false, "data"},
    {"tidy what waited", begin, {"data", "data.restored"}, false, "data"},
};

static void check_world(size_t i, const struct agent_paths *paths, unsigned nth)
{
    struct datadir_facts facts;
    char origin[64] = "";

    assert_int_equal(datadir_recover(paths, NULL), 0);
    assert_int_equal(datadir_inspect(paths, &facts, NULL), 0);
    bool good = facts.kind == DATADIR_EMPTY ? operations[i].may_be_empty
                                            : facts.kind == DATADIR_DATABASE && is_whole(paths, origin, sizeof(origin));
    if (!good)
        fail_msg("%s, killed at call %u: kind %d, \"%s\"", operations[i].name, nth, facts.kind, origin);
    /* The next attempt finds nothing in its way, and nothing is left of the one before. */
    assert_int_equal(datadir_begin(paths, NULL), 0);
    assert_false(has(paths, "data.gone"));
    assert_false(has(paths, "data.old"));
    assert_false(has(paths, "data.new/ibdata1"));
    assert_int_equal(has(paths, "data/ibdata1"), facts.kind == DATADIR_DATABASE);
}

struct attempt {
    size_t operation;
    const struct agent_paths *paths;
};

static int run_one(void *arg)
{
    const struct attempt *attempt = arg;

    return operations[attempt->operation].run(attempt->paths, NULL);
}

static bool try_one(void *arg, unsigned nth)
{
    const size_t i = *(const size_t *)arg;
    struct agent_paths paths;
    struct attempt attempt = {i, &paths};
    char root[] = "/tmp/km-crash-XXXXXX";
    char origin[64] = "";

    assert_non_null(mkdtemp(root));
    agent_paths_init(&paths, root, NULL, NULL, NULL, NULL, NULL);
    for (size_t j = 0; j < ARRAY_LEN(operations[i].before) && operations[i].before[j]; j++)
        put_database(&paths, operations[i].before[j]);
    bool killed = crash_at(nth, run_one, &attempt);
    if (!killed) {
        assert_int_equal(is_whole(&paths, origin, sizeof(origin)), operations[i].after != NULL);
        assert_string_equal(origin, str_or_empty(operations[i].after));
    }
    check_world(i, &paths, nth);
    assert_int_equal(fs_remove_all(root, NULL), 0);
    agent_paths_release(&paths);
    return killed;
}

/* ---- what was restored takes the place of the data ---- */

/* Whose it is under that name. */
static bool is_of(const struct agent_paths *paths, const char *dir, const char *origin)
{
    _cleanup_(freep) char *path = xasprintf("%s/%s/d/c.ibd", paths->volume_dir, dir);
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, 64);
    return fs_read_file(path, &text, NULL) == 0 && str_eq(text.buf, origin);
}

static int run_take(void *arg)
{
    return take(arg, NULL);
}

/* Whenever it is killed both are there, and the next start has one of them; taking it once more ends as it would
 * have. */
static bool try_take(void *arg, unsigned nth)
{
    struct agent_paths paths;
    char root[] = "/tmp/km-crash-XXXXXX";

    UNUSED(arg);
    assert_non_null(mkdtemp(root));
    agent_paths_init(&paths, root, NULL, NULL, NULL, NULL, NULL);
    put_database(&paths, "data");
    put_database(&paths, "data.new");
    assert_int_equal(keep_beside(&paths, NULL), 0);
    bool killed = crash_at(nth, run_take, &paths);
    assert_int_equal(datadir_recover(&paths, NULL), 0);
    assert_false(has(&paths, "data.aside"));
    bool taken = datadir_beside_look(&paths).data == 7;
    if (!is_of(&paths, "data", taken ? "data.new" : "data") ||
        !is_of(&paths, taken ? "data.before" : "data.restored", taken ? "data" : "data.new"))
        fail_msg("killed at call %u: one of the two is not where it should be", nth);
    assert_true(killed || taken);
    assert_int_equal(take(&paths, NULL), 0);
    assert_true(is_of(&paths, "data", "data.new") && is_of(&paths, "data.before", "data"));
    assert_int_equal(fs_remove_all(root, NULL), 0);
    agent_paths_release(&paths);
    return killed;
}

static void test_take_is_killed_at_every_call(void **state)
{
    UNUSED(state);
    unsigned calls = crash_at_every_call(try_take, NULL);
    printf("take: killed at %u calls\n", calls);
    assert_true(calls >= 10);
}

/* I7: what is not ours to throw away stays. */
static void test_what_is_not_taken(void **state)
{
    struct agent_paths paths;
    struct error err = ERROR_INIT;
    char root[] = "/tmp/km-beside-XXXXXX";

    UNUSED(state);
    assert_non_null(mkdtemp(root));
    agent_paths_init(&paths, root, NULL, NULL, NULL, NULL, NULL);
    put_database(&paths, "data");
    assert_int_equal(take(&paths, &err), -1);
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    put_database(&paths, "data.new");
    assert_int_equal(datadir_keep_beside(&paths, 6, NULL), 0);
    assert_int_equal(take(&paths, &err), -1); /* another one's */
    assert_int_equal(datadir_take(&paths, 6, NULL), 0);
    assert_int_equal(datadir_tidy(&paths, NULL), 0);
    assert_int_equal(datadir_begin(&paths, NULL), 0);
    assert_true(is_of(&paths, "data.before", "data"));
    put_database(&paths, "data.new");
    assert_int_equal(keep_beside(&paths, NULL), 0);
    assert_int_equal(take(&paths, &err), -1); /* the one before is still of use */
    assert_int_equal(err.kind, ERROR_EXISTS);
    assert_true(is_of(&paths, "data.before", "data"));
    assert_int_equal(datadir_drop_before(&paths, NULL), 0);
    assert_false(datadir_beside_look(&paths).has_before);
    assert_int_equal(take(&paths, NULL), 0);
    /* A volume that has lost its data does not get the old one back by itself. */
    assert_int_equal(datadir_discard(&paths, NULL), 0);
    assert_int_equal(datadir_recover(&paths, NULL), 0);
    assert_false(has(&paths, "data"));
    assert_true(has(&paths, "data.before/ibdata1"));
    assert_int_equal(fs_remove_all(root, NULL), 0);
    agent_paths_release(&paths);
}

static void test_killed_at_every_call(void **state)
{
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(operations); i++) {
        unsigned calls = crash_at_every_call(try_one, &i);
        printf("%s: killed at %u calls\n", operations[i].name, calls);
        assert_true(calls >= 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_killed_at_every_call),
        cmocka_unit_test(test_take_is_killed_at_every_call), cmocka_unit_test(test_what_is_not_taken)};

    log_setup(LOG_WARN, LOG_FORMAT_TEXT, STDERR_FILENO);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
