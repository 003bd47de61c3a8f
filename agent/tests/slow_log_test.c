/* SPDX-License-Identifier: Apache-2.0 */
/* What is read of a slow query log: lines, files that go or are emptied, one that grows too fast. */
#include "common/base.h"

#include "agent/slow_log.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/fs.h"
#include "common/strbuf.h"

struct world {
    char *dir, *path, *old, *out_path;
    int out;
    struct slow_reader reader;
};

static int set_up(void **state)
{
    struct world *world = xnew(struct world);
    const char *tmp = getenv("TMPDIR");
    world->dir = xasprintf("%s/km-slow-XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(world->dir));
    world->path = xasprintf("%s/slow.log", world->dir);
    world->old = xasprintf("%s/slow.log.old", world->dir);
    world->out_path = xasprintf("%s/out", world->dir);
    world->out = open(world->out_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    slow_reader_init(&world->reader, world->path, world->out);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    slow_reader_release(&world->reader);
    close(world->out);
    unlink(world->path);
    unlink(world->old);
    unlink(world->out_path);
    rmdir(world->dir);
    free(world->dir);
    free(world->path);
    free(world->old);
    free(world->out_path);
    free(world);
    return 0;
}

static void append(const struct world *world, const char *text)
{
    int fd = open(world->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void expect(struct world *world, const char *text)
{
    _cleanup_(strbuf_release) struct strbuf out;
    strbuf_init(&out, KM_MIB);
    assert_int_equal(fs_read_file(world->out_path, &out, NULL), 0);
    assert_string_equal(out.buf ? out.buf : "", text);
    assert_int_equal(ftruncate(world->out, 0), 0);
    assert_int_equal(lseek(world->out, 0, SEEK_SET), 0);
}

static void lines_are_told_once_they_are_whole(void **state)
{
    struct world *world = *state;
    assert_false(slow_reader_turn(&world->reader)); /* there is none */
    append(world, "# Time: 1\nSELECT");
    assert_false(slow_reader_turn(&world->reader));
    expect(world, "slow: # Time: 1\n");
    append(world, " 1;\n{\"level\":\"error\"}\n");
    assert_false(slow_reader_turn(&world->reader));
    expect(world, "slow: SELECT 1;\nslow: {\"level\":\"error\"}\n");
}

static void a_file_that_was_removed_or_emptied_is_read_anew(void **state)
{
    struct world *world = *state;
    append(world, "first, which is longer\n");
    (void)slow_reader_turn(&world->reader);
    assert_int_equal(truncate(world->path, 0), 0);
    append(world, "second\n");
    (void)slow_reader_turn(&world->reader);
    expect(world, "slow: first, which is longer\nslow: second\n");
    unlink(world->path);
    append(world, "third\n");
    (void)slow_reader_turn(&world->reader);
    expect(world, "slow: third\n");
}

static void a_long_line_is_cut(void **state)
{
    struct world *world = *state;
    char *text = xmalloc(SLOW_LOG_LINE_MAX + 4);
    memset(text, 'x', SLOW_LOG_LINE_MAX + 2);
    memcpy(text + SLOW_LOG_LINE_MAX + 2, "\n", 2);
    append(world, text);
    (void)slow_reader_turn(&world->reader);
    struct stat st;
    assert_int_equal(fstat(world->out, &st), 0);
    assert_int_equal(st.st_size, SLOW_LOG_LINE_MAX + 3 + 2 * (sizeof(SLOW_LOG_PREFIX) - 1) + 1);
    free(text);
}

/* What the server writes before it begins another file is read, too. */
static void a_large_file_is_rotated(void **state)
{
    struct world *world = *state;
    append(world, "head\n");
    assert_int_equal(truncate(world->path, SLOW_LOG_ROTATE_BYTES), 0);
    bool renamed = false;
    for (int i = 0; i < 10 && !renamed; i++)
        renamed = slow_reader_turn(&world->reader);
    assert_true(renamed);
    assert_true(access(world->old, F_OK) == 0 && access(world->path, F_OK) != 0);
    int fd = open(world->old, O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_int_equal(write(fd, "\nrest\n", 6), 6);
    close(fd);
    append(world, "new\n");
    assert_true(slow_reader_turn(&world->reader)); /* the server did not answer */
    assert_int_equal(ftruncate(world->out, 0), 0);
    assert_int_equal(lseek(world->out, 0, SEEK_SET), 0);
    slow_reader_rotated(&world->reader);
    assert_true(access(world->old, F_OK) != 0);
    assert_false(slow_reader_turn(&world->reader));
    expect(world, "slow: new\n");
}

static void what_comes_too_fast_is_left_out(void **state)
{
    struct world *world = *state;
    append(world, "head\n");
    (void)slow_reader_turn(&world->reader);
    assert_int_equal(truncate(world->path, 5 + SLOW_LOG_BEHIND_MAX), 0);
    append(world, "tail\n");
    assert_true(slow_reader_turn(&world->reader)); /* and so it is rotated */
    slow_reader_rotated(&world->reader);
    expect(world, "slow: head\nslow: # kube-mysql: 33554437 bytes are left out\n");
    append(world, "more\n");
    (void)slow_reader_turn(&world->reader);
    expect(world, "slow: more\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lines_are_told_once_they_are_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_was_removed_or_emptied_is_read_anew, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_long_line_is_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_large_file_is_rotated, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_comes_too_fast_is_left_out, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
