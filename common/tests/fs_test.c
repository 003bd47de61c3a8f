/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/fs.h"

#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/alloc.h"

static int full_with; /* an errno: there is no room for anything new */

/* Instead of the C library's. What overwrites uses pwrite. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the library's names are reserved */
ssize_t write(int fd, const void *data, size_t len)
{
    ssize_t (*real)(int, const void *, size_t);
    *(void **)&real = dlsym(RTLD_NEXT, "write");
    if (!full_with)
        return real(fd, data, len);
    errno = full_with;
    return -1;
}

static int enter_tmp(void **state)
{
    char dir[] = "/tmp/km-fs-test-XXXXXX";
    if (!mkdtemp(dir) || chdir(dir) != 0)
        return -1;
    *state = xstrdup(dir);
    return 0;
}

static int leave_tmp(void **state)
{
    struct error err = ERROR_INIT;
    int rc = chdir("/") == 0 ? fs_remove_all(*state, &err) : -1;
    rc = rc == 0 && !fs_exists(*state) ? 0 : -1;
    free(*state);
    return rc;
}

static void write_text(const char *path, const char *text)
{
    assert_int_equal(fs_write_file_atomic(path, text, strlen(text), 0640, NULL), 0);
}

static void assert_holds(const char *path, const char *text)
{
    struct strbuf got;
    strbuf_init(&got, FS_READ_MAX);
    assert_int_equal(fs_read_file(path, &got, NULL), 0);
    assert_string_equal(got.buf, text);
    strbuf_release(&got);
}

static mode_t mode_of(const char *path)
{
    struct stat st;
    assert_int_equal(lstat(path, &st), 0);
    return st.st_mode & 07777;
}

static void test_write_and_read(void **state)
{
    UNUSED(state);
    mode_t before = umask(077);
    assert_int_equal(fs_write_file_atomic("a", "one", 3, 0644, NULL), 0);
    umask(before);
    assert_int_equal(mode_of("a"), 0644);
    assert_holds("a", "one");
    assert_int_equal(fs_write_file_atomic("a", "", 0, 0600, NULL), 0);
    assert_int_equal(mode_of("a"), 0600);
    assert_holds("a", "");
    struct error err = ERROR_INIT;
    assert_int_equal(fs_write_file_atomic("no/such/dir", "x", 1, 0600, &err), -1);
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    assert_non_null(strstr(err.message, "no/such/dir"));
    /* A failing rename leaves the target and no temporary file. */
    assert_int_equal(fs_mkdir_all("d/inner", 0755, NULL), 0);
    assert_int_equal(fs_write_file_atomic("d", "x", 1, 0600, &err), -1);
    assert_true(fs_exists("d/inner"));
    bool empty = false;
    assert_int_equal(fs_dir_is_empty(".", (const char *const[]){"a", "d", NULL}, &empty, NULL), 0);
    assert_true(empty);
}

static void test_read_limits(void **state)
{
    UNUSED(state);
    struct strbuf out;
    strbuf_init(&out, 4);
    struct error err = ERROR_INIT;
    write_text("four", "1234");
    write_text("five", "12345");
    assert_int_equal(fs_read_file("four", &out, &err), 0);
    assert_string_equal(out.buf, "1234");
    assert_int_equal(fs_read_file("five", &out, &err), -1);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
    assert_int_equal(fs_read_file("none", &out, &err), -1);
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    assert_int_equal(err.code, ENOENT);
    assert_int_equal(fs_read_file(".", &out, &err), -1);
    assert_int_equal(err.kind, ERROR_IO);
    strbuf_release(&out);
}

static void test_notes_on_a_full_volume(void **state)
{
    UNUSED(state);
    static const struct {
        const char *old, *text, *then;
        int full_with, rc;
    } rows[] = {
        {"old\n", "new\n", "new\n", 0, 0},
        {"old\n", "longer\n", "longer\n", 0, 0},
        {"old\n", "new\n", "new\n", ENOSPC, 0},
        {"old\n", "new\n", "new\n", EDQUOT, 0},
        {"older\n", "new\n", "new\n\n\n", ENOSPC, 0},
        {"old\n", "longer\n", "old\n", ENOSPC, -1},
        {"old\n", "new\n", "old\n", EIO, -1},
        {NULL, "new\n", NULL, ENOSPC, -1},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = ERROR_INIT;
        if (rows[i].old)
            write_text("note", rows[i].old);
        full_with = rows[i].full_with;
        int rc = fs_write_note("note", rows[i].text, 0640, &err);
        full_with = 0;
        assert_int_equal(rc, rows[i].rc);
        assert_int_equal(err.code, rc < 0 ? rows[i].full_with : 0);
        if (rows[i].then)
            assert_holds("note", rows[i].then);
        else
            assert_false(fs_exists("note"));
        assert_int_equal(fs_remove_all("note", NULL), 0);
    }
}

/* What could be torn, or is no file of ours, is not overwritten. */
static void test_only_notes_are_overwritten(void **state)
{
    UNUSED(state);
    char text[FS_NOTE_MAX + 2];
    memset(text, 'x', sizeof(text));
    text[FS_NOTE_MAX] = '\0';
    write_text("note", text);
    text[FS_NOTE_MAX] = 'x';
    text[FS_NOTE_MAX + 1] = '\0';
    write_text("long", text);
    assert_int_equal(symlink("note", "link"), 0);
    full_with = ENOSPC;
    int rc = fs_write_note("note", "x", 0600, NULL), rc_long = fs_write_note("long", "x", 0600, NULL);
    int rc_link = fs_write_note("link", "x", 0600, NULL);
    full_with = 0;
    assert_int_equal(rc, 0);
    assert_int_equal(rc_long, -1);
    assert_int_equal(rc_link, -1);
    assert_holds("long", text);
}

static void test_mkdir_all(void **state)
{
    UNUSED(state);
    assert_int_equal(fs_mkdir_all("x//y/z/", 0700, NULL), 0);
    assert_int_equal(mode_of("x/y/z"), 0700);
    assert_int_equal(fs_mkdir_all("x/y", 0755, NULL), 0);
    assert_int_equal(mode_of("x/y"), 0700);
    struct error err = ERROR_INIT;
    write_text("file", "");
    assert_int_equal(fs_mkdir_all("file/below", 0700, &err), -1);
    assert_int_equal(fs_mkdir_all("file", 0700, &err), -1);
    assert_int_equal(err.kind, ERROR_EXISTS);
    assert_int_equal(fs_mkdir_all("", 0700, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
}

static void test_removal_never_follows_links(void **state)
{
    UNUSED(state);
    assert_int_equal(fs_mkdir_all("outside", 0700, NULL), 0);
    write_text("outside/precious", "x");
    assert_int_equal(fs_mkdir_all("tree/a/b/c", 0700, NULL), 0);
    write_text("tree/a/b/file", "x");
    assert_int_equal(symlink("../../outside", "tree/a/link"), 0);
    assert_int_equal(symlink("tree", "treelink"), 0);
    struct error err = ERROR_INIT;
    assert_int_equal(fs_empty_dir("treelink", NULL, &err), -1);
    assert_true(fs_exists("tree/a/b/file"));
    assert_int_equal(fs_remove_all("treelink", NULL), 0);
    assert_false(fs_exists("treelink"));
    assert_true(fs_exists("tree/a/b/file"));
    assert_int_equal(fs_remove_all("tree", NULL), 0);
    assert_false(fs_exists("tree"));
    assert_holds("outside/precious", "x");
    assert_int_equal(fs_remove_all("tree", NULL), 0);
    assert_int_equal(fs_remove_all("outside/precious", NULL), 0);
    assert_false(fs_exists("outside/precious"));
}

static void test_empty_dir_keeps_what_is_named(void **state)
{
    UNUSED(state);
    static const char *const keep[] = {"lost+found", "keep", NULL};
    bool empty = true;
    assert_int_equal(fs_mkdir_all("d/lost+found", 0700, NULL), 0);
    assert_int_equal(fs_mkdir_all("d/sub/keep", 0700, NULL), 0);
    write_text("d/keep", "x");
    for (int i = 0; i < 300; i++) {
        char name[32];
        snprintf(name, sizeof(name), "d/f%d", i);
        write_text(name, "");
    }
    assert_int_equal(fs_dir_is_empty("d", keep, &empty, NULL), 0);
    assert_false(empty);
    assert_int_equal(fs_empty_dir("d", keep, NULL), 0);
    assert_true(fs_exists("d/lost+found") && fs_exists("d/keep"));
    assert_false(fs_exists("d/sub"));
    assert_int_equal(fs_dir_is_empty("d", keep, &empty, NULL), 0);
    assert_true(empty);
    assert_int_equal(fs_dir_is_empty("d", NULL, &empty, NULL), 0);
    assert_false(empty);
    struct error err = ERROR_INIT;
    assert_int_equal(fs_dir_is_empty("nope", NULL, &empty, &err), -1);
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    assert_int_equal(fs_empty_dir("nope", NULL, &err), -1);
}

static void test_nesting_has_a_limit(void **state)
{
    UNUSED(state);
    struct strbuf path;
    strbuf_init(&path, 4000);
    strbuf_adds(&path, "deep");
    for (int i = 0; i < 150; i++)
        strbuf_adds(&path, "/d");
    assert_int_equal(fs_mkdir_all(path.buf, 0700, NULL), 0);
    for (int i = 0; i < 100; i++)
        strbuf_adds(&path, "/d");
    assert_int_equal(fs_mkdir_all(path.buf, 0700, NULL), 0);
    struct error err = ERROR_INIT;
    assert_int_equal(fs_remove_all("deep", &err), -1);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
    assert_int_equal(
        rename("deep/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d"
               "/d/d/d/d/d/d/d/d/d/d/d/d",
            "lower"),
        0);
    assert_int_equal(fs_remove_all("lower", &err), 0);
    assert_int_equal(fs_remove_all("deep", &err), 0);
    strbuf_release(&path);
}

static void test_copy_and_space(void **state)
{
    UNUSED(state);
    struct strbuf big;
    strbuf_init(&big, FS_READ_MAX);
    for (int i = 0; i < 50000; i++)
        strbuf_addf(&big, "%d\n", i);
    write_text("big", big.buf);
    assert_int_equal(fs_copy_file("big", "copy", 0755, NULL), 0);
    assert_holds("copy", big.buf);
    assert_int_equal(mode_of("copy"), 0755);
    struct error err = ERROR_INIT;
    assert_int_equal(fs_copy_file("none", "copy", 0755, &err), -1);
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    assert_holds("copy", big.buf);
    strbuf_release(&big);
    uint64_t free_bytes = 1, total_bytes = 0;
    assert_int_equal(fs_space(".", &free_bytes, &total_bytes, NULL), 0);
    assert_true(total_bytes > 0 && free_bytes <= total_bytes);
    assert_int_equal(fs_space("none", &free_bytes, &total_bytes, &err), -1);
    assert_int_equal(fs_fsync_dir(".", NULL), 0);
    assert_int_equal(fs_fsync_dir("copy", &err), -1);
}

#define in_tmp(test) cmocka_unit_test_setup_teardown(test, enter_tmp, leave_tmp)

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_tmp(test_write_and_read),
        in_tmp(test_read_limits),
        in_tmp(test_notes_on_a_full_volume),
        in_tmp(test_only_notes_are_overwritten),
        in_tmp(test_mkdir_all),
        in_tmp(test_removal_never_follows_links),
        in_tmp(test_empty_dir_keeps_what_is_named),
        in_tmp(test_nesting_has_a_limit),
        in_tmp(test_copy_and_space),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
