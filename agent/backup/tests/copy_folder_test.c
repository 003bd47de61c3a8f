/* SPDX-License-Identifier: Apache-2.0 */
/* A folder becomes an archive that `tar` reads, too, and a folder again; and nothing of it is left where it came
 * from. */
#include "common/base.h"

#include "agent/backup/copy_folder.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/backup/clone_local.h"
#include "common/alloc.h"
#include "common/fs.h"
#include "common/strbuf.h"
#include "common/subprocess.h"

#define LONG \
    "a_table_with_a_name_that_is_long_and_has_@002d_characters_@002d_that_are_encoded_by_the_server_@002d_in_its_file_name"

static const struct {
    const char *path;
    size_t size;
} files[] = {
    {"#innodb_redo/#ib_redo0", 70000},
    {"ibdata1", 300001},
    {"mysql.ibd", 512},
    {"shop/" LONG "#p#p0.ibd", 511},
    {"shop/empty", 0},
    {"shop/t.ibd", 513},
};

/* Of entries that can be read before the disk gives an error; < 0: all. */
static int readable = -1;

static struct dirent *real_readdir(DIR *stream)
{
    struct dirent *(*real)(DIR *);

    *(void **)&real = dlsym(RTLD_NEXT, "readdir");
    return real(stream);
}

/* Instead of the C library's. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the library's names are reserved */
struct dirent *readdir(DIR *stream)
{
    if (readable < 0)
        return real_readdir(stream);
    if (readable-- > 0)
        return real_readdir(stream);
    readable = -1;
    errno = EIO;
    return NULL;
}

static char *run(const char *script)
{
    const char *argv[] = {"sh", "-c", script, NULL};
    struct subprocess_options options = {.argv = argv, .timeout_ms = 20000};
    struct error err = ERROR_INIT;
    struct strbuf out;

    strbuf_init(&out, KM_MIB);
    if (subprocess_run(&options, &out, NULL, NULL, &err) < 0)
        fail_msg("%s: %s", script, err.message);
    return strbuf_detach(&out, NULL);
}

static void fill(const char *dir)
{
    static const char *const folders[] = {"#innodb_redo", "shop", "empty"};

    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        _cleanup_(freep) char *path = xasprintf("%s/%s", dir, folders[i]);
        assert_int_equal(fs_mkdir_all(path, 0755, NULL), 0);
    }
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        _cleanup_(freep) char *path = xasprintf("%s/%s", dir, files[i].path);
        char *content = xcalloc(1, files[i].size + 1);
        for (size_t at = 0; at < files[i].size; at++)
            content[at] = (char)(at * 7 + i);
        assert_int_equal(fs_write_file_atomic(path, content, files[i].size, 0640, NULL), 0);
        free(content);
    }
}

static char *sums(const char *dir)
{
    _cleanup_(freep) char *script = xasprintf(
        "cd %s && find . -type d | LC_ALL=C sort && find . -type f | LC_ALL=C sort | tr '\\n' '\\0' | xargs -0 sha256sum",
        dir);

    return run(script);
}

static int send_to(const char *dir, const char *archive, struct error *err)
{
    int fd = open(archive, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    int rc = copy_folder_send(dir, fd, NULL, err);

    close(fd);
    return rc;
}

/* ---- whether it may go on ---- */

struct asked {
    unsigned times, limit; /* of yes */
};

static int may_go_on(void *arg, struct error *err)
{
    struct asked *asked = arg;

    return ++asked->times <= asked->limit ? 0 : error_set(err, ERROR_TOO_LARGE, "no more");
}

static int receive_from(const char *archive, const char *dir, uint64_t max_bytes, struct error *err)
{
    int fd = open(archive, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    int rc = copy_folder_receive(dir, fd, max_bytes, err);

    close(fd);
    return rc;
}

static int setup(void **state)
{
    char dir[] = "/tmp/copy-folder-XXXXXX";

    assert_non_null(mkdtemp(dir));
    *state = xstrdup(dir);
    return 0;
}

static int teardown(void **state)
{
    int rc = fs_remove_all(*state, NULL);

    free(*state);
    return rc;
}

static void test_out_and_in(void **state)
{
    _cleanup_(freep) char *from = xasprintf("%s/from", (char *)*state);
    _cleanup_(freep) char *to = xasprintf("%s/to", (char *)*state);
    _cleanup_(freep) char *tar = xasprintf("%s/tar", (char *)*state);
    _cleanup_(freep) char *archive = xasprintf("%s/archive", (char *)*state);
    struct error err = ERROR_INIT;
    bool empty = false;

    fill(from);
    _cleanup_(freep) char *before = sums(from);
    if (send_to(from, archive, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(fs_dir_is_empty(from, NULL, &empty, NULL), 0);
    assert_true(empty);
    assert_int_equal(mkdir(to, 0700), 0);
    assert_int_equal(mkdir(tar, 0700), 0);
    if (receive_from(archive, to, 0, &err) < 0)
        fail_msg("%s", err.message);
    _cleanup_(freep) char *after = sums(to);
    assert_string_equal(before, after);
    _cleanup_(freep) char *modes = xasprintf("find %s -type f ! -perm 600 -o -type d ! -perm 700", to);
    _cleanup_(freep) char *others = run(modes);
    assert_string_equal(others, "");
    _cleanup_(freep) char *script = xasprintf("tar -C %s -xf %s", tar, archive);
    free(run(script));
    _cleanup_(freep) char *by_tar = sums(tar);
    assert_string_equal(before, by_tar);
}

static void test_refused(void **state)
{
    _cleanup_(freep) char *from = xasprintf("%s/from", (char *)*state);
    _cleanup_(freep) char *to = xasprintf("%s/to", (char *)*state);
    _cleanup_(freep) char *archive = xasprintf("%s/archive", (char *)*state);
    _cleanup_(freep) char *link = xasprintf("%s/shop/link", from);
    struct error err = ERROR_INIT;

    fill(from);
    assert_int_equal(symlink("/etc/passwd", link), 0);
    assert_int_equal(send_to(from, archive, &err), -1);
    assert_non_null(strstr(err.message, "shop/link is neither"));
    assert_int_equal(unlink(link), 0);
    fill(from);
    assert_int_equal(send_to(from, archive, NULL), 0);
    assert_int_equal(mkdir(to, 0700), 0);
    assert_int_equal(receive_from(archive, to, 300000, &err), -1);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
    assert_int_equal(fs_empty_dir(to, NULL, NULL), 0);
    assert_int_equal(truncate(archive, 200000), 0);
    assert_int_equal(receive_from(archive, to, 0, &err), -1);
    assert_non_null(strstr(err.message, "ends early"));
    assert_int_equal(receive_from(archive, to, 0, &err), -1); /* nothing is written over */
    assert_int_equal(err.kind, ERROR_EXISTS);
}

/* What cannot be listed is not taken for all there is: not in the folder itself (seven entries and the end), nor in the
 * first one below. */
static void test_unreadable_folder(void **state)
{
    _cleanup_(freep) char *from = xasprintf("%s/from", (char *)*state);
    _cleanup_(freep) char *archive = xasprintf("%s/archive", (char *)*state);

    for (int i = 0; i < 12; i++) {
        struct error err = ERROR_INIT;
        fill(from);
        readable = i;
        if (send_to(from, archive, &err) == 0)
            fail_msg("after %d entries", i);
        assert_int_equal(readable, -1);
        assert_non_null(strstr(err.message, strerror(EIO)));
    }
}

static int make_another(void *arg, struct error *err)
{
    _cleanup_(freep) char *path = xasprintf("%s/another", (const char *)arg);

    return fs_write_file_atomic(path, "x", 1, 0600, err);
}

static void test_more_than_was_listed(void **state)
{
    _cleanup_(freep) char *from = xasprintf("%s/from", (char *)*state);
    _cleanup_(freep) char *archive = xasprintf("%s/archive", (char *)*state);
    const struct copy_folder_watch watch = {.may_go_on = make_another, .arg = from};
    struct error err = ERROR_INIT;

    fill(from);
    int fd = open(archive, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_int_equal(copy_folder_send(from, fd, &watch, &err), -1);
    assert_non_null(strstr(err.message, "what was not sent"));
    close(fd);
}

/* Before each file. */
static void test_not_any_more(void **state)
{
    _cleanup_(freep) char *from = xasprintf("%s/from", (char *)*state);
    _cleanup_(freep) char *archive = xasprintf("%s/archive", (char *)*state);
    struct error err = ERROR_INIT;

    for (unsigned limit = 0; limit <= ARRAY_LEN(files); limit++) {
        struct asked asked = {.limit = limit};
        const struct copy_folder_watch watch = {.may_go_on = may_go_on, .arg = &asked};
        int fd = open(archive, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        fill(from);
        assert_int_equal(copy_folder_send(from, fd, &watch, &err), -1);
        assert_int_equal(err.kind, ERROR_TOO_LARGE);
        close(fd);
    }
    fill(from);
    struct asked asked = {.limit = 1000};
    const struct copy_folder_watch watch = {.may_go_on = may_go_on, .arg = &asked};
    int fd = open(archive, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_int_equal(copy_folder_send(from, fd, &watch, &err), 0);
    assert_true(asked.times >= ARRAY_LEN(files));
    close(fd);
}

/* The store does not answer for an hour: it is asked meanwhile. */
static void test_nobody_reads(void **state)
{
    _cleanup_(freep) char *from = xasprintf("%s/from", (char *)*state);
    struct asked asked = {.limit = 5};
    const struct copy_folder_watch watch = {.may_go_on = may_go_on, .arg = &asked};
    struct error err = ERROR_INIT;
    int ends[2];

    fill(from);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_true(fcntl(ends[1], F_SETPIPE_SZ, 4096) > 0);
    alarm(60);
    assert_int_equal(copy_folder_send(from, ends[1], &watch, &err), -1);
    alarm(0);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
    assert_int_equal(asked.times, 6);
    close(ends[0]);
    close(ends[1]);
}

/* While it lies there. */
static void test_left(void **state)
{
    static const struct {
        uint64_t free, reserve;
        bool may;
    } rows[] = {{64, 128, true}, {63, 128, false}, {500, 1000, true}, {499, 1000, false}};

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = ERROR_INIT;
        int rc = clone_local_check_left(rows[i].free * KM_MIB, rows[i].reserve * KM_MIB, &err);
        if ((rc == 0) != rows[i].may)
            fail_msg("row %zu: %d", i, rc);
        assert_int_equal(err.kind, rc < 0 ? ERROR_TOO_LARGE : ERROR_NONE);
    }
}

/* Without a server: whether there is room is said first. */
static void test_room(void **state)
{
    static const uint64_t mib = KM_MIB;
    static const struct {
        uint64_t data, free, reserve;
        bool fits;
    } rows[] = {
        {0, 128, 128, true},
        {0, 127, 128, false},
        {1000, 1128, 128, true},
        {1000, 1127, 128, false},
        {10000, 11000, 1000, true},
        {10000, 10999, 1000, false},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = ERROR_INIT;
        uint64_t reserve = 0;
        int rc = clone_local_check_room(rows[i].data * mib, rows[i].free * mib, &reserve, &err);
        if ((rc == 0) != rows[i].fits || reserve != rows[i].reserve * mib)
            fail_msg("row %zu: %d %llu", i, rc, (unsigned long long)reserve);
        assert_int_equal(err.kind, rc < 0 ? ERROR_TOO_LARGE : ERROR_NONE);
        if (rc < 0)
            assert_non_null(strstr(err.message, "would stop the database"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_out_and_in, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unreadable_folder, setup, teardown),
        cmocka_unit_test_setup_teardown(test_more_than_was_listed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_not_any_more, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nobody_reads, setup, teardown),
        cmocka_unit_test(test_left),
        cmocka_unit_test(test_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
