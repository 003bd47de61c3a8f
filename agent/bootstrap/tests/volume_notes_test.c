/* SPDX-License-Identifier: Apache-2.0 */
/* What an order writes while the volume is full: a member must be able to take up an epoch, or no failover would
 * end. */
#include "common/base.h"

#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/bootstrap/epoch_file.h"
#include "agent/bootstrap/self_fence.h"
#include "agent/bootstrap/volume_mark.h"
#include "common/alloc.h"
#include "common/fs.h"

static bool full;

/* Instead of the C library's. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the library's names are reserved */
ssize_t write(int fd, const void *data, size_t len)
{
    ssize_t (*real)(int, const void *, size_t);
    *(void **)&real = dlsym(RTLD_NEXT, "write");
    if (!full)
        return real(fd, data, len);
    errno = ENOSPC;
    return -1;
}

static void put_epoch(const struct agent_paths *paths, const char *text)
{
    _cleanup_(freep) char *path = xasprintf("%s/epoch", paths->state_dir);

    assert_int_equal(fs_write_file_atomic(path, text, strlen(text), 0600, NULL), 0);
}

static void test_an_epoch_is_taken_up(void **unused)
{
    static const struct {
        const char *old; /* NULL: as this agent writes it */
        uint64_t before, epoch;
        int rc;
    } rows[] = {
        {NULL, 7, 8, 0},
        {NULL, 9, 10, 0},
        {NULL, 1, UINT64_MAX, 0},
        {"7\n", 7, 8, 0}, /* an older agent's */
        {"99\n", 99, 100, -1},
        {"98\n", 98, 99, 0},
    };
    char dir[] = "/tmp/volume-notes-XXXXXX";
    struct agent_paths paths = {.state_dir = dir};

    UNUSED(unused);
    assert_non_null(mkdtemp(dir));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = ERROR_INIT;
        uint64_t epoch = 0;
        if (rows[i].old)
            put_epoch(&paths, rows[i].old);
        else
            assert_int_equal(epoch_file_write(&paths, rows[i].before, NULL), 0);
        full = true;
        int rc = epoch_file_write(&paths, rows[i].epoch, &err);
        full = false;
        assert_int_equal(rc, rows[i].rc);
        if (rc < 0)
            assert_int_equal(err.code, ENOSPC);
        assert_int_equal(epoch_file_read(&paths, &epoch, NULL), 0);
        assert_true(epoch == (rc < 0 ? rows[i].before : rows[i].epoch));
    }
    assert_int_equal(fs_remove_all(dir, NULL), 0);
}

static void test_mark_and_promise(void **unused)
{
    char dir[] = "/tmp/volume-notes-XXXXXX";
    struct agent_paths paths = {.state_dir = dir, .run_dir = dir};
    enum agent_mark mark = AGENT_MARK_NONE;

    UNUSED(unused);
    assert_non_null(mkdtemp(dir));
    assert_int_equal(volume_mark_write(&paths, AGENT_MARK_RESEED, NULL), 0);
    assert_int_equal(self_fence_write(&paths, &(struct self_fence){.epoch = 10, .ms = 3000, .members = 2}, NULL), 0);
    full = true;
    int rc_mark = volume_mark_write(&paths, AGENT_MARK_LEFT, NULL);
    int rc_fence = self_fence_write(&paths, &(struct self_fence){.epoch = 11, .ms = 900, .members = 1}, NULL);
    full = false;
    assert_int_equal(rc_mark, 0);
    assert_int_equal(rc_fence, 0);
    assert_int_equal(volume_mark_read(&paths, &mark, NULL), 0);
    assert_int_equal(mark, AGENT_MARK_LEFT);
    struct self_fence fence = self_fence_read(&paths);
    assert_int_equal(fence.epoch, 11);
    assert_int_equal(fence.ms, 900);
    assert_int_equal(fence.members, 1);
    assert_int_equal(fs_remove_all(dir, NULL), 0);
}

static void test_an_opening_is_noted(void **unused)
{
    char dir[] = "/tmp/volume-notes-XXXXXX";
    struct agent_paths paths = {.state_dir = dir};

    UNUSED(unused);
    assert_non_null(mkdtemp(dir));
    assert_true(opened_file_read(&paths) == 0);
    assert_int_equal(opened_file_make(&paths, NULL), 0);
    assert_true(opened_file_read(&paths) == 0);
    assert_int_equal(opened_file_write(&paths, 7, NULL), 0);
    assert_true(opened_file_read(&paths) == 7);
    assert_int_equal(opened_file_make(&paths, NULL), 0);
    assert_true(opened_file_read(&paths) == 7);
    opened_file_forget(&paths);
    assert_true(opened_file_read(&paths) == 0);
    assert_int_equal(fs_remove_all(dir, NULL), 0);
}

static void test_since_when_openings_are_noted(void **unused)
{
    char dir[] = "/tmp/volume-notes-XXXXXX";
    struct agent_paths paths = {.state_dir = dir};

    UNUSED(unused);
    assert_non_null(mkdtemp(dir));
    _cleanup_(freep) char *path = xasprintf("%s/noted-since", dir);
    assert_true(noted_since_begin(&paths, "boot", "pod", 4) == 5); /* whoever came before wrote no notes, perhaps */
    assert_true(noted_since_begin(&paths, "boot", "pod", 9) == 5); /* another agent in the same pod */
    assert_true(noted_since_begin(&paths, "boot", "pod 2", 9) == 0);
    assert_true(noted_since_begin(&paths, "", "pod", 9) == 0);
    assert_true(noted_since_begin(&paths, "boot", "", 9) == 0);
    assert_true(noted_since_begin(&paths, "boot", "other", 9) == 10);
    assert_true(noted_since_begin(&paths, "boot", "pod", 11) == 12); /* the other one's may have been of any version */
    assert_true(noted_since_begin(&paths, "later", "pod", 11) == 12);
    assert_true(noted_since_begin(&paths, "boot", "pod", 13) == 14);
    assert_int_equal(noted_since_end(&paths, NULL), 0);
    assert_int_equal(noted_since_end(&paths, NULL), 0);
    assert_true(noted_since_begin(&paths, "boot", "pod", 14) == 15);
    opened_file_forget(&paths); /* other data */
    assert_false(fs_exists(path));
    assert_int_equal(fs_write_file_atomic(path, "2 3 boot pod\n", 13, 0600, NULL), 0); /* of a later version */
    assert_true(noted_since_begin(&paths, "boot", "pod", 20) == 21);
    assert_int_equal(fs_write_file_atomic(path, "1 3 boot pod", 12, 0600, NULL), 0);
    assert_true(noted_since_begin(&paths, "boot", "pod", 20) == 21);
    assert_int_equal(fs_remove_all(dir, NULL), 0);
    assert_true(noted_since_begin(&paths, "boot", "pod", 20) == 21); /* it makes the folder */
    assert_int_equal(fs_remove_all(dir, NULL), 0);
}

/* An agent starts again beside its server: 9 was accepted before, 8 opened. */
static void test_an_opening_that_cannot_be_read_is_no_proof(void **unused)
{
    char dir[] = "/tmp/volume-notes-XXXXXX";
    struct agent_paths paths = {.state_dir = dir};
    uint64_t opened = 1, since = 1;

    UNUSED(unused);
    assert_non_null(mkdtemp(dir));
    _cleanup_(freep) char *path = xasprintf("%s/opened", dir);
    openings_begin(&paths, "boot", "pod", 3, &opened, &since);
    assert_int_equal(opened, 0);
    assert_int_equal(since, 4);
    assert_int_equal(opened_file_write(&paths, 8, NULL), 0);
    openings_begin(&paths, "boot", "pod", 9, &opened, &since);
    assert_int_equal(opened, 8);
    assert_int_equal(since, 4);
    assert_int_equal(truncate(path, 3), 0);
    openings_begin(&paths, "boot", "pod", 9, &opened, &since);
    assert_int_equal(opened, 0);
    assert_int_equal(since, 10);
    assert_int_equal(fs_remove_all(dir, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_opening_that_cannot_be_read_is_no_proof),
        cmocka_unit_test(test_an_epoch_is_taken_up),
        cmocka_unit_test(test_mark_and_promise),
        cmocka_unit_test(test_an_opening_is_noted),
        cmocka_unit_test(test_since_when_openings_are_noted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
