/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the store says when its file system fails: never that something is not there, is deleted or is stored. Calls
 * fail by the linker's --wrap (Makefile).
 */
#include "common/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/backup/store_list.h"
#include "agent/backup/store_upload.h"
#include "common/alloc.h"
#include "common/fs.h"
#include "common/strbuf.h"

/* ---- the file system ---- */

enum call { CALL_NONE, CALL_OPENAT, CALL_READDIR, CALL_FSTATAT, CALL_FSTAT, CALL_FTRUNCATE, CALL_FSYNC, CALL_WRITE };

static struct {
    enum call call;
    unsigned at; /* which one, from 1 */
    int errnum;  /* 0: it does not fail */
    bool failed;
    void (*meanwhile)(void *arg); /* what another thread does just then; may be NULL */
    void *arg;
    bool no_types;  /* of entries, as some file systems */
    bool read_only; /* mounted so */
} disk;

static bool fails(enum call call)
{
    if (disk.call != call || disk.at == 0 || --disk.at > 0)
        return false;
    disk.failed = true;
    if (disk.meanwhile)
        disk.meanwhile(disk.arg);
    errno = disk.errnum;
    return errno != 0;
}

/* What the linker calls these. */
// NOLINTBEGIN(bugprone-reserved-identifier)
int __real_openat(int dir, const char *path, int flags, mode_t mode);
int __wrap_openat(int dir, const char *path, int flags, mode_t mode);
int __wrap_openat(int dir, const char *path, int flags, mode_t mode)
{
    return fails(CALL_OPENAT) ? -1 : __real_openat(dir, path, flags, mode);
}

struct dirent *__real_readdir(DIR *stream);
struct dirent *__wrap_readdir(DIR *stream);
struct dirent *__wrap_readdir(DIR *stream)
{
    struct dirent *entry = fails(CALL_READDIR) ? NULL : __real_readdir(stream);

    if (entry && disk.no_types)
        entry->d_type = DT_UNKNOWN;
    return entry;
}

int __real_fstatat(int dir, const char *path, struct stat *ret, int flags);
int __wrap_fstatat(int dir, const char *path, struct stat *ret, int flags);
int __wrap_fstatat(int dir, const char *path, struct stat *ret, int flags)
{
    return fails(CALL_FSTATAT) ? -1 : __real_fstatat(dir, path, ret, flags);
}

int __real_fstat(int fd, struct stat *ret);
int __wrap_fstat(int fd, struct stat *ret);
int __wrap_fstat(int fd, struct stat *ret)
{
    return fails(CALL_FSTAT) ? -1 : __real_fstat(fd, ret);
}

int __real_ftruncate(int fd, off_t length);
int __wrap_ftruncate(int fd, off_t length);
int __wrap_ftruncate(int fd, off_t length)
{
    return fails(CALL_FTRUNCATE) ? -1 : __real_ftruncate(fd, length);
}

/* As the kernel does it: what has failed once succeeds when it is repeated. */
int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
    return fails(CALL_FSYNC) ? -1 : __real_fsync(fd);
}

int __real_fstatvfs(int fd, struct statvfs *ret);
int __wrap_fstatvfs(int fd, struct statvfs *ret);
int __wrap_fstatvfs(int fd, struct statvfs *ret)
{
    int rc = __real_fstatvfs(fd, ret);

    ret->f_flag |= disk.read_only ? ST_RDONLY : 0;
    return rc;
}

ssize_t __real_write(int fd, const void *data, size_t len);
ssize_t __wrap_write(int fd, const void *data, size_t len);
ssize_t __wrap_write(int fd, const void *data, size_t len)
{
    return fails(CALL_WRITE) ? -1 : __real_write(fd, data, len);
}
// NOLINTEND(bugprone-reserved-identifier)

static void break_disk(enum call call, unsigned at, int errnum)
{
    disk.call = call;
    disk.at = at;
    disk.errnum = errnum;
    disk.failed = false;
    disk.meanwhile = NULL;
}

static bool mend_disk(void)
{
    disk.call = CALL_NONE;
    return disk.failed;
}

/* ---- the store ---- */

struct world {
    char root[64];
    struct store_folder folder;
    struct store_fault fault;
};

static int set_up(void **state)
{
    struct world *w = xnew(struct world);

    disk.no_types = disk.read_only = false;
    snprintf(w->root, sizeof(w->root), "/tmp/km-store-XXXXXX");
    assert_non_null(mkdtemp(w->root));
    assert_int_equal(store_folder_open(w->root, &w->folder, NULL), 0);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;

    store_folder_close(&w->folder);
    assert_int_equal(fs_remove_all(w->root, NULL), 0);
    free(w);
    return 0;
}

static void put(struct world *w, const char *name)
{
    struct store_draft draft = STORE_DRAFT_INIT;

    assert_int_equal(store_draft_begin(&w->folder, 3, false, &draft, &w->fault), 0);
    assert_int_equal(store_draft_write(&w->folder, &draft, "one", 3, &w->fault), 0);
    assert_int_equal(store_draft_publish(&w->folder, &draft, name, &w->fault), 0);
}

static enum store_code get(struct world *w, const char *name)
{
    struct store_object object;

    w->fault.code = STORE_OK;
    if (store_object_open(&w->folder, name, &object, &w->fault) == 0)
        close(object.fd);
    return w->fault.code;
}

static bool tell(void *arg, const struct store_entry *entry)
{
    strbuf_addf(arg, "%s ", entry->name);
    return true;
}

static int list(struct world *w, bool folders, struct strbuf *names)
{
    const struct store_list_query query = {.folders = folders, .max = 1000};
    bool truncated;

    w->fault.code = STORE_OK;
    strbuf_init(names, 1000);
    return store_list(&w->folder, &query, tell, names, &truncated, &w->fault);
}

/* ---- lists ---- */

static const char all_names[] = "a/1 a/b/2 a/b/3 c ";
static const char all_folders[] = "a/ c ";

/* How many calls there were. */
static unsigned break_lists(struct world *w, bool folders, enum call call, int errnum)
{
    unsigned at = 1;

    for (bool failed = true; failed; at++) {
        _cleanup_(strbuf_release) struct strbuf names;
        break_disk(call, at, errnum);
        int rc = list(w, folders, &names);
        failed = mend_disk();
        if (failed && (rc == 0 || w->fault.code != STORE_INTERNAL || !strstr(w->fault.message, strerrordesc_np(errnum))))
            fail_msg("call %d of kind %d failed, and the list is \"%s\" (%s)", at, (int)call, names.buf,
                store_code_name(w->fault.code));
        if (!failed && (rc < 0 || !str_eq(names.buf, folders ? all_folders : all_names)))
            fail_msg("nothing failed, and the list is \"%s\"", names.buf);
    }
    return at - 2;
}

static void test_a_list_is_whole_or_refused(void **state)
{
    static const enum call calls[] = {CALL_OPENAT, CALL_READDIR, CALL_FSTATAT};
    static const int errnums[] = {EIO, ESTALE, ENOMEM, EACCES};
    struct world *w = *state;

    put(w, "a/b/2");
    put(w, "a/b/3");
    put(w, "a/1");
    put(w, "c");
    for (int turn = 0; turn < 4; turn++) {
        disk.no_types = turn & 1;
        for (size_t c = 0; c < ARRAY_LEN(calls); c++) {
            for (size_t e = 0; e < ARRAY_LEN(errnums); e++)
                assert_true(break_lists(w, turn & 2, calls[c], errnums[e]) > 0);
        }
    }
}

static void test_what_has_just_gone_is_left_out(void **state)
{
    struct world *w = *state;
    unsigned without_one = 0;

    put(w, "a/1");
    put(w, "a/2");
    for (int turn = 0; turn < 2; turn++) {
        disk.no_types = turn;
        for (unsigned at = 1; at < 10; at++) {
            _cleanup_(strbuf_release) struct strbuf names;
            break_disk(CALL_FSTATAT, at, ENOENT);
            assert_int_equal(list(w, false, &names), 0);
            without_one += mend_disk() && !str_eq(names.buf, "a/1 a/2 ");
        }
    }
    assert_true(without_one >= 4);
}

/* ---- uploads ---- */

static struct store_request upload_of(const char *name, unsigned number)
{
    struct store_request upload = {.operation = STORE_UPLOAD_PIECE, .bytes = 3};

    snprintf(upload.name, sizeof(upload.name), "%s", name);
    snprintf(upload.upload_id, sizeof(upload.upload_id), "%032x", number);
    return upload;
}

static enum store_code begin(struct world *w, const struct store_request *upload)
{
    w->fault.code = STORE_OK;
    store_upload_begin(&w->folder, upload, &w->fault);
    return w->fault.code;
}

static enum store_code put_piece(struct world *w, const struct store_request *upload)
{
    struct store_draft draft = STORE_DRAFT_INIT;

    w->fault.code = STORE_OK;
    if (store_piece_begin(&w->folder, upload, 3, &draft, &w->fault) < 0)
        return w->fault.code;
    assert_int_equal(store_draft_write(&w->folder, &draft, "one", 3, &w->fault), 0);
    assert_int_equal(store_piece_finish(&draft, upload, &w->fault), 0);
    return STORE_OK;
}

static enum store_code commit(struct world *w, const struct store_request *upload)
{
    w->fault.code = STORE_OK;
    store_upload_commit(&w->folder, upload, &w->fault);
    return w->fault.code;
}

static bool uploads_are_empty(const struct world *w)
{
    _cleanup_(freep) char *path = xasprintf("%s/" STORE_UPLOADS_DIR, w->root);
    bool empty = false;

    assert_int_equal(fs_dir_is_empty(path, NULL, &empty, NULL), 0);
    return empty;
}

static void test_uploads_are_all_ended_or_it_is_refused(void **state)
{
    struct world *w = *state;
    struct store_request upload = upload_of("x", 0);
    size_t ended = 0;

    assert_int_equal(begin(w, &upload), STORE_OK);
    break_disk(CALL_READDIR, 1, EIO);
    assert_int_equal(store_uploads_end(&w->folder, "", &ended, &w->fault), -1);
    assert_true(mend_disk());
    assert_int_equal(w->fault.code, STORE_INTERNAL);
    w->fault.code = STORE_OK;
    assert_int_equal(store_uploads_end(&w->folder, "", &ended, &w->fault), 0);
    assert_int_equal(ended, 1);
}

struct again {
    struct world *w;
    const struct store_request *upload;
    const struct store_request *ended; /* first; NULL: none */
    enum store_code code;
};

static void begin_again(void *arg)
{
    struct again *again = arg;
    struct store_fault fault = {.code = STORE_OK};

    if (again->ended)
        store_upload_end(&again->w->folder, again->ended);
    store_upload_begin(&again->w->folder, again->upload, &fault);
    again->code = fault.code;
}

static void break_disk_and_begin_again(enum call call, unsigned at, int errnum, struct again *again)
{
    break_disk(call, at, errnum);
    disk.meanwhile = begin_again;
    disk.arg = again;
}

/* A try that is refused, while the second one, whose client has given up the first, finds room. */
static void test_a_refused_try_leaves_what_another_has_begun(void **state)
{
    struct world *w = *state;
    struct store_request others[STORE_UPLOADS_MAX];
    struct store_request upload = upload_of("x", 1000);
    struct again again = {.w = w, .upload = &upload, .ended = &others[0]};

    for (unsigned i = 0; i < ARRAY_LEN(others); i++) {
        others[i] = upload_of("y", i);
        assert_int_equal(begin(w, &others[i]), STORE_OK);
    }
    break_disk_and_begin_again(CALL_READDIR, 100, 0, &again); /* while the first one counts */
    assert_int_equal(begin(w, &upload), STORE_BUSY);
    assert_true(mend_disk());
    assert_int_equal(again.code, STORE_OK);
    assert_int_equal(put_piece(w, &upload), STORE_OK);
    assert_int_equal(commit(w, &upload), STORE_OK);
    /* What a crash left of a try is no reason to begin one too many. */
    assert_int_equal(begin(w, &others[0]), STORE_OK);
    assert_int_equal(mkdirat(w->folder.uploads, upload.upload_id, 0700), 0);
    assert_int_equal(begin(w, &upload), STORE_BUSY);
}

static void test_a_failed_try_leaves_what_another_has_begun(void **state)
{
    struct world *w = *state;
    struct store_request upload = upload_of("x", 0);
    struct again again = {.w = w, .upload = &upload};

    break_disk_and_begin_again(CALL_WRITE, 1, ENOSPC, &again);
    assert_int_equal(begin(w, &upload), STORE_INSUFFICIENT_STORAGE);
    assert_true(mend_disk());
    assert_int_equal(again.code, STORE_OK);
    assert_int_equal(put_piece(w, &upload), STORE_OK);
    assert_int_equal(commit(w, &upload), STORE_OK);
    assert_int_equal(get(w, "x"), STORE_OK);
    assert_true(uploads_are_empty(w));
}

static void test_a_failed_try_leaves_nothing(void **state)
{
    struct world *w = *state;
    struct store_request upload = upload_of("x", 0);

    break_disk(CALL_WRITE, 1, ENOSPC);
    assert_int_equal(begin(w, &upload), STORE_INSUFFICIENT_STORAGE);
    assert_true(mend_disk());
    assert_true(uploads_are_empty(w));
    assert_int_equal(put_piece(w, &upload), STORE_NO_SUCH_UPLOAD);
}

/* Bytes that were answered are lost. The second try would be told that all is well. */
static void test_an_upload_that_cannot_be_synced_is_gone(void **state)
{
    static const struct {
        enum call call;
        int errnum;
        enum store_code code;
    } cases[] = {
        {CALL_FSYNC, EIO, STORE_UPLOAD_BROKEN},
        {CALL_FSYNC, ENOSPC, STORE_INSUFFICIENT_STORAGE},
        {CALL_FTRUNCATE, EIO, STORE_UPLOAD_BROKEN},
    };
    struct world *w = *state;

    for (unsigned i = 0; i < ARRAY_LEN(cases); i++) {
        struct store_request upload = upload_of("a/b", i);
        assert_int_equal(begin(w, &upload), STORE_OK);
        assert_int_equal(put_piece(w, &upload), STORE_OK);
        break_disk(cases[i].call, 1, cases[i].errnum);
        assert_int_equal(commit(w, &upload), cases[i].code);
        assert_true(mend_disk());
        assert_non_null(strstr(w->fault.message, strerrordesc_np(cases[i].errnum)));
        assert_int_equal(commit(w, &upload), STORE_NO_SUCH_UPLOAD);
        assert_int_equal(put_piece(w, &upload), STORE_NO_SUCH_UPLOAD);
        assert_int_equal(get(w, "a/b"), STORE_NO_SUCH_OBJECT);
        assert_true(uploads_are_empty(w));
    }
}

/* Nothing of it is lost when it is only not found to be whole. */
static void test_an_upload_that_cannot_be_looked_at_stays(void **state)
{
    struct world *w = *state;
    struct store_request upload = upload_of("a/b", 0);

    assert_int_equal(begin(w, &upload), STORE_OK);
    assert_int_equal(put_piece(w, &upload), STORE_OK);
    break_disk(CALL_FSTAT, 1, EIO);
    assert_int_equal(commit(w, &upload), STORE_INTERNAL);
    assert_true(mend_disk());
    assert_int_equal(commit(w, &upload), STORE_OK);
    assert_int_equal(get(w, "a/b"), STORE_OK);
}

/* ---- objects ---- */

static void test_an_object_that_cannot_be_read_is_there(void **state)
{
    static const enum call calls[] = {CALL_OPENAT, CALL_FSTAT};
    struct world *w = *state;

    put(w, "a/b");
    for (size_t c = 0; c < ARRAY_LEN(calls); c++) {
        unsigned at = 1;
        for (bool failed = true; failed; at++) {
            break_disk(calls[c], at, EIO);
            enum store_code code = get(w, "a/b");
            failed = mend_disk();
            assert_int_equal(code, failed ? STORE_INTERNAL : STORE_OK);
        }
        assert_true(at > 2);
    }
}

static void test_an_object_is_deleted_or_it_is_refused(void **state)
{
    static const enum call calls[] = {CALL_OPENAT, CALL_FSTATAT};
    struct world *w = *state;

    for (size_t c = 0; c < ARRAY_LEN(calls); c++) {
        unsigned refused = 0;
        bool failed = true;
        for (unsigned at = 1; failed; at++) {
            put(w, "a/b");
            w->fault.code = STORE_OK;
            break_disk(calls[c], at, EIO);
            int rc = store_object_delete(&w->folder, "a/b", &w->fault);
            failed = mend_disk();
            assert_int_equal(w->fault.code, rc < 0 ? STORE_INTERNAL : STORE_OK);
            assert_int_equal(get(w, "a/b"), rc < 0 ? STORE_OK : STORE_NO_SUCH_OBJECT);
            refused += rc < 0;
        }
        assert_true(refused > 0);
    }
}

/* It does not wait for the store that writes, and leaves no trace: the folder of a claim that is new has nothing. */
static void test_a_folder_that_is_mounted_read_only(void **state)
{
    struct world *w = *state;
    struct store_folder reader, second;
    struct error err = ERROR_INIT;
    char fresh[] = "/tmp/km-store-XXXXXX";
    bool empty = false;

    put(w, "a/b");
    assert_non_null(mkdtemp(fresh));
    assert_int_equal(store_folder_open(w->root, &second, &err), -1);
    disk.read_only = true;
    assert_int_equal(store_folder_open(w->root, &reader, NULL), 0);
    assert_int_equal(store_folder_open(fresh, &second, NULL), 0);
    disk.read_only = false;
    assert_true(reader.read_only && second.read_only);
    store_folder_close(&second);
    struct store_object object;
    assert_int_equal(store_object_open(&reader, "a/b", &object, &w->fault), 0);
    close(object.fd);
    store_folder_close(&reader);
    assert_int_equal(fs_dir_is_empty(fresh, NULL, &empty, NULL), 0);
    assert_true(empty);
    rmdir(fresh);
}

#define WORLD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD(test_a_list_is_whole_or_refused),
        WORLD(test_what_has_just_gone_is_left_out),
        WORLD(test_uploads_are_all_ended_or_it_is_refused),
        WORLD(test_a_refused_try_leaves_what_another_has_begun),
        WORLD(test_a_failed_try_leaves_what_another_has_begun),
        WORLD(test_a_failed_try_leaves_nothing),
        WORLD(test_an_upload_that_cannot_be_synced_is_gone),
        WORLD(test_an_upload_that_cannot_be_looked_at_stays),
        WORLD(test_an_object_that_cannot_be_read_is_there),
        WORLD(test_an_object_is_deleted_or_it_is_refused),
        WORLD(test_a_folder_that_is_mounted_read_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
