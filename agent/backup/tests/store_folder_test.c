/* SPDX-License-Identifier: Apache-2.0 */
/* Objects, lists and uploads on a real folder. */
#include "common/base.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/backup/store_list.h"
#include "agent/backup/store_upload.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/strvec.h"
#include "common/tls.h"

struct world {
    char root[64];
    struct store_folder folder;
    struct store_fault fault;
    char etag[STORE_ETAG_SIZE];
};

static int set_up(void **state)
{
    struct world *w = xnew(struct world);

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

static char *path_of(const struct world *w, const char *name)
{
    return xasprintf("%s/%s", w->root, name);
}

static bool there(const struct world *w, const char *name)
{
    _cleanup_(freep) char *path = path_of(w, name);
    struct stat st;

    return lstat(path, &st) == 0;
}

static size_t uploads_left(const struct world *w)
{
    _cleanup_(freep) char *path = path_of(w, STORE_UPLOADS_DIR);
    bool empty;

    assert_int_equal(fs_dir_is_empty(path, NULL, &empty, NULL), 0);
    return !empty;
}

static enum store_code put(struct world *w, const char *name, const char *content)
{
    struct store_draft draft = STORE_DRAFT_INIT;
    size_t len = strlen(content);
    char digest[65];

    w->fault.code = STORE_OK;
    tls_sha256_hex(content, len, digest);
    if (store_draft_begin(&w->folder, len, true, &draft, &w->fault) < 0)
        return w->fault.code;
    assert_int_equal(store_draft_write(&w->folder, &draft, content, len / 2, &w->fault), 0);
    assert_int_equal(store_draft_write(&w->folder, &draft, content + len / 2, len - len / 2, &w->fault), 0);
    assert_int_equal(store_draft_check(&draft, digest, &w->fault), 0);
    if (store_draft_publish(&w->folder, &draft, name, &w->fault) < 0)
        store_draft_discard(&draft);
    return w->fault.code;
}

static enum store_code get(struct world *w, const char *name, char *out, size_t size)
{
    struct store_object object;

    w->fault.code = STORE_OK;
    if (store_object_open(&w->folder, name, &object, &w->fault) < 0)
        return w->fault.code;
    ssize_t n = read(object.fd, out, size - 1);
    assert_true(n >= 0 && (uint64_t)n == object.bytes);
    out[n] = '\0';
    snprintf(w->etag, sizeof(w->etag), "%s", object.etag);
    close(object.fd);
    return STORE_OK;
}

static void assert_object(struct world *w, const char *name, const char *content)
{
    char text[256];

    assert_int_equal(get(w, name, text, sizeof(text)), STORE_OK);
    assert_string_equal(text, content);
}

static void test_objects(void **state)
{
    struct world *w = *state;
    char text[16];
    char etag[STORE_ETAG_SIZE];

    assert_int_equal(put(w, "a/b/c", "one"), STORE_OK);
    assert_object(w, "a/b/c", "one");
    snprintf(etag, sizeof(etag), "%s", w->etag);
    assert_object(w, "a/b/c", "one");
    assert_string_equal(w->etag, etag);
    assert_int_equal(put(w, "a/b/c", "two"), STORE_OK);
    assert_object(w, "a/b/c", "two");
    assert_string_not_equal(w->etag, etag);
    assert_int_equal(put(w, "a/empty", ""), STORE_OK);
    assert_object(w, "a/empty", "");
    assert_int_equal(get(w, "a/b", text, sizeof(text)), STORE_NO_SUCH_OBJECT);
    assert_int_equal(get(w, "a/b/c/d", text, sizeof(text)), STORE_NO_SUCH_OBJECT);
    assert_int_equal(get(w, "x", text, sizeof(text)), STORE_NO_SUCH_OBJECT);
    /* A name cannot be a file and a folder. */
    assert_int_equal(put(w, "a/b", "three"), STORE_INVALID_ARGUMENT);
    assert_int_equal(put(w, "a/b/c/d", "four"), STORE_INVALID_ARGUMENT);
    assert_object(w, "a/b/c", "two");
    assert_int_equal(uploads_left(w), 0);
    /* The folders that become empty go, and only those. */
    assert_int_equal(store_object_delete(&w->folder, "a/b", &w->fault), 0);
    assert_int_equal(store_object_delete(&w->folder, "a/b/c", &w->fault), 0);
    assert_int_equal(store_object_delete(&w->folder, "a/b/c", &w->fault), 0);
    assert_false(there(w, "a/b"));
    assert_true(there(w, "a/empty"));
    assert_int_equal(store_object_delete(&w->folder, "a/empty", &w->fault), 0);
    assert_false(there(w, "a"));
}

static void test_digests_are_checked(void **state)
{
    struct world *w = *state;
    struct store_draft draft = STORE_DRAFT_INIT;
    char digest[65];

    tls_sha256_hex("right", 5, digest);
    assert_int_equal(store_draft_begin(&w->folder, 5, true, &draft, &w->fault), 0);
    assert_int_equal(store_draft_write(&w->folder, &draft, "wrong", 5, &w->fault), 0);
    assert_int_equal(store_draft_check(&draft, digest, &w->fault), -1);
    assert_int_equal(w->fault.code, STORE_DIGEST_MISMATCH);
    store_draft_discard(&draft);
    assert_int_equal(store_draft_begin(&w->folder, 5, true, &draft, &w->fault), 0);
    assert_int_equal(store_draft_write(&w->folder, &draft, "righ", 4, &w->fault), 0);
    assert_int_equal(store_draft_check(&draft, "", &w->fault), -1); /* short */
    assert_int_equal(store_draft_write(&w->folder, &draft, "t!", 2, &w->fault), -1);
    store_draft_discard(&draft);
    assert_int_equal(uploads_left(w), 0);
}

static void test_no_link_is_followed(void **state)
{
    struct world *w = *state;
    _cleanup_(freep) char *link_dir = path_of(w, "link");
    _cleanup_(freep) char *link_file = path_of(w, "a/link");
    _cleanup_(freep) char *fifo = path_of(w, "a/fifo");
    char outside[] = "/tmp/km-outside-XXXXXX";
    char text[16];
    bool empty;

    assert_non_null(mkdtemp(outside));
    assert_int_equal(put(w, "a/b", "one"), STORE_OK);
    assert_int_equal(symlink(outside, link_dir), 0);
    assert_int_equal(symlink("/etc/passwd", link_file), 0);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(get(w, "a/link", text, sizeof(text)), STORE_NO_SUCH_OBJECT);
    assert_int_equal(get(w, "a/fifo", text, sizeof(text)), STORE_NO_SUCH_OBJECT);
    assert_int_equal(put(w, "link/x", "two"), STORE_INVALID_ARGUMENT);
    assert_int_equal(store_object_delete(&w->folder, "link/x", &w->fault), 0);
    assert_int_equal(store_object_delete(&w->folder, "a/link", &w->fault), 0);
    assert_true(there(w, "a/link"));
    assert_int_equal(put(w, "a/link", "three"), STORE_OK); /* takes the link's place */
    assert_object(w, "a/link", "three");
    assert_int_equal(fs_dir_is_empty(outside, NULL, &empty, NULL), 0);
    assert_true(empty);
    rmdir(outside);
}

static void test_one_store_for_a_folder(void **state)
{
    struct world *w = *state;
    struct store_folder second;
    struct error err = ERROR_INIT;

    assert_int_equal(store_folder_open(w->root, &second, &err), -1);
    assert_int_equal(err.kind, ERROR_CONFLICT);
    assert_int_equal(store_folder_open("/nowhere/at/all", &second, &err), -1);
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
}

/* ---- lists ---- */

struct told {
    struct strvec names;
    size_t room;
};

static bool tell(void *arg, const struct store_entry *entry)
{
    struct told *told = arg;

    if (told->names.n == told->room)
        return false;
    strvec_push(&told->names, entry->name);
    return true;
}

/* All pages of max names, as a client asks for them; room: what fits into an answer. */
static void list_all(
    struct world *w, const char *prefix, const char *after, bool folders, unsigned max, size_t room, struct strvec *ret)
{
    struct store_list_query query = {.folders = folders, .max = max};
    bool truncated = true;

    strvec_init(ret);
    snprintf(query.prefix, sizeof(query.prefix), "%s", prefix);
    snprintf(query.after, sizeof(query.after), "%s", after);
    while (truncated) {
        struct told told = {.room = room};
        strvec_init(&told.names);
        w->fault.code = STORE_OK;
        assert_int_equal(store_list(&w->folder, &query, tell, &told, &truncated, &w->fault), 0);
        assert_true(told.names.n <= max);
        assert_true(!truncated || told.names.n == MIN_OF((size_t)max, room));
        for (size_t i = 0; i < told.names.n; i++)
            strvec_push(ret, told.names.v[i]);
        if (truncated)
            snprintf(query.after, sizeof(query.after), "%s", told.names.v[told.names.n - 1]);
        strvec_release(&told.names);
    }
}

/* The same from the sorted names alone. */
static void expect_all(
    const struct strvec *names, const char *prefix, const char *after, bool folders, struct strvec *ret)
{
    strvec_init(ret);
    for (size_t i = 0; i < names->n; i++) {
        const char *name = names->v[i];
        if (!str_starts_with(name, prefix) || strcmp(name, after) <= 0)
            continue;
        const char *slash = folders ? strchr(name + strlen(prefix), '/') : NULL;
        _cleanup_(freep) char *group = xstrndup(name, slash ? (size_t)(slash + 1 - name) : strlen(name));
        if (!str_eq(group, after) && (ret->n == 0 || !str_eq(ret->v[ret->n - 1], group)))
            strvec_push(ret, group);
    }
}

static void assert_same_list(struct world *w, const struct strvec *names, const char *prefix, const char *after,
    bool folders, unsigned max, size_t room)
{
    struct strvec got;
    struct strvec want;

    list_all(w, prefix, after, folders, max, room, &got);
    expect_all(names, prefix, after, folders, &want);
    for (size_t i = 0; i < MAX_OF(got.n, want.n); i++) {
        const char *g = i < got.n ? got.v[i] : "nothing";
        const char *e = i < want.n ? want.v[i] : "nothing";
        if (!str_eq(g, e))
            fail_msg("prefix \"%s\" after \"%s\" folders %d pages of %u: entry %zu is %s, not %s", prefix, after,
                folders, max, i, g, e);
    }
    strvec_release(&got);
    strvec_release(&want);
}

static void test_lists(void **state)
{
    static const char *const names[] = {"a", "a-b", "a.b/c", "a_b", "b/a", "b/a-1/x", "b/a.1", "b/a/x", "b/a/y/z",
        "b/b", "b-c", "b.c/d", "bb", "c/d/e/f/g", "d"};
    static const char *const prefixes[] = {
        "", "a", "b", "b/", "b/a", "b/a/", "c/d/e", "c/d/e/f/g", "c/d/e/f/g/", "x", "x/y", "a/"};
    static const char *const afters[] = {
        "", "a", "a.b/", "a.b/c", "b", "b/a/", "b/a/x", "b/a/y", "b/zzz", "c/d/", "d", "zz"};
    static const unsigned pages[] = {1, 2, 3, 1000};
    struct world *w = *state;
    _cleanup_(strvec_release) struct strvec sorted;
    _cleanup_(freep) char *empty = path_of(w, "b/empty/deep");
    _cleanup_(freep) char *link = path_of(w, "b/link");

    strvec_init(&sorted);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_eq(names[i], "b/a")) /* cannot be beside b/a/x */
            continue;
        assert_int_equal(put(w, names[i], names[i]), STORE_OK);
        strvec_push(&sorted, names[i]);
    }
    strvec_sort(&sorted);
    assert_int_equal(fs_mkdir_all(empty, 0700, NULL), 0);
    assert_int_equal(symlink("a", link), 0);
    for (size_t p = 0; p < ARRAY_LEN(prefixes); p++) {
        for (size_t a = 0; a < ARRAY_LEN(afters); a++) {
            for (size_t m = 0; m < ARRAY_LEN(pages); m++) {
                assert_same_list(w, &sorted, prefixes[p], afters[a], false, pages[m], SIZE_MAX);
                assert_same_list(w, &sorted, prefixes[p], afters[a], true, pages[m], SIZE_MAX);
            }
            assert_same_list(w, &sorted, prefixes[p], afters[a], false, 1000, 2);
        }
    }
}

/* More than what is held of one folder, with more empty folders before them than that. */
static void test_large_folders(void **state)
{
    struct world *w = *state;
    _cleanup_(strvec_release) struct strvec sorted;

    strvec_init(&sorted);
    for (int i = 0; i < 3 * STORE_LIST_LEVEL + 7; i++) {
        _cleanup_(freep) char *name = xasprintf("dir/f%05d", i * 7919 % 100000);
        _cleanup_(freep) char *path = path_of(w, name);
        _cleanup_(freep) char *empty = xasprintf("%s/dir/e%05d", w->root, i);
        assert_int_equal(fs_mkdir_all(empty, 0700, NULL), 0);
        FILE *file = fopen(path, "we");
        assert_non_null(file);
        fclose(file);
        strvec_push(&sorted, name);
    }
    strvec_sort(&sorted);
    assert_same_list(w, &sorted, "", "", false, 1000, SIZE_MAX);
    assert_same_list(w, &sorted, "dir/f", "", true, 300, SIZE_MAX);
    assert_same_list(w, &sorted, "", "", true, 1, SIZE_MAX);
}

/* ---- uploads ---- */

static struct store_request begin(struct world *w, const char *name)
{
    static unsigned number;
    struct store_request request = {.operation = STORE_UPLOAD_PIECE};

    snprintf(request.name, sizeof(request.name), "%s", name);
    snprintf(request.upload_id, sizeof(request.upload_id), "%032x", ++number);
    assert_int_equal(store_upload_begin(&w->folder, &request, &w->fault), 0);
    return request;
}

static enum store_code piece(struct world *w, const struct store_request *upload, uint64_t offset, const char *content)
{
    struct store_draft draft = STORE_DRAFT_INIT;
    struct store_request request = *upload;
    size_t len = strlen(content);

    w->fault.code = STORE_OK;
    request.offset = offset;
    if (store_piece_begin(&w->folder, &request, len, &draft, &w->fault) < 0)
        return w->fault.code;
    assert_int_equal(store_draft_write(&w->folder, &draft, content, len, &w->fault), 0);
    if (store_piece_finish(&draft, &request, &w->fault) < 0)
        store_draft_discard(&draft);
    return w->fault.code;
}

static enum store_code commit(struct world *w, const struct store_request *upload, uint64_t bytes)
{
    struct store_request request = *upload;

    w->fault.code = STORE_OK;
    request.bytes = bytes;
    store_upload_commit(&w->folder, &request, &w->fault);
    return w->fault.code;
}

static void test_uploads(void **state)
{
    struct world *w = *state;

    for (int i = 0; i < 2; i++) { /* the second one replaces the first */
        struct store_request upload = begin(w, "x/y");
        assert_int_equal(piece(w, &upload, 12, "dd"), STORE_OK);
        assert_int_equal(piece(w, &upload, 0, "aaaa"), STORE_OK);
        assert_int_equal(store_upload_begin(&w->folder, &upload, &w->fault), 0); /* whose answer was lost */
        assert_int_equal(piece(w, &upload, 8, "cccc"), STORE_OK);
        assert_int_equal(piece(w, &upload, 8, "cccc"), STORE_OK); /* likewise */
        assert_int_equal(piece(w, &upload, 4, i ? "BBBB" : "bbbb"), STORE_OK);
        assert_int_equal(there(w, "x/y"), i > 0);
        assert_int_equal(commit(w, &upload, 14), STORE_OK);
        assert_object(w, "x/y", i ? "aaaaBBBBccccdd" : "aaaabbbbccccdd");
        assert_int_equal(uploads_left(w), 0);
        assert_int_equal(commit(w, &upload, 14), STORE_NO_SUCH_UPLOAD);
        assert_int_equal(piece(w, &upload, 0, "aaaa"), STORE_NO_SUCH_UPLOAD);
        assert_int_equal(uploads_left(w), 0);
    }
}

static void test_uploads_that_are_refused(void **state)
{
    struct world *w = *state;
    struct store_request upload = begin(w, "x");
    struct store_request other = upload;
    _cleanup_(freep) char *data = xasprintf("%s/.uploads/%s/data", w->root, upload.upload_id);

    assert_int_equal(piece(w, &upload, 0, "aaaa"), STORE_OK);
    assert_int_equal(piece(w, &upload, 4, "bb"), STORE_OK);
    assert_int_equal(commit(w, &upload, 7), STORE_INCOMPLETE_UPLOAD);
    snprintf(other.name, sizeof(other.name), "y");
    assert_int_equal(commit(w, &other, 6), STORE_NO_SUCH_UPLOAD);
    assert_int_equal(piece(w, &other, 0, "aaaa"), STORE_NO_SUCH_UPLOAD);
    w->fault.code = STORE_OK;
    assert_int_equal(store_upload_begin(&w->folder, &other, &w->fault), -1);
    assert_int_equal(w->fault.code, STORE_INVALID_ARGUMENT);
    store_upload_end(&w->folder, &other);
    assert_int_equal(uploads_left(w), 1);
    /* What lies behind is cut off. */
    assert_int_equal(piece(w, &upload, 100, "left of a piece that became shorter"), STORE_OK);
    assert_int_equal(commit(w, &upload, 6), STORE_OK);
    assert_object(w, "x", "aaaabb");
    assert_int_equal(uploads_left(w), 0);
    /* Its data is gone: nothing makes it anew. */
    upload = begin(w, "x");
    snprintf(data + strlen(data) - strlen(upload.upload_id) - strlen("/data"),
        sizeof(upload.upload_id) + strlen("/data"), "%s/data", upload.upload_id);
    assert_int_equal(unlink(data), 0);
    assert_int_equal(commit(w, &upload, 0), STORE_NO_SUCH_UPLOAD);
    assert_int_not_equal(piece(w, &upload, 0, "aaaa"), STORE_OK);
    assert_object(w, "x", "aaaabb");
}

static void test_a_piece_whose_digest_is_wrong(void **state)
{
    struct world *w = *state;
    struct store_request upload = begin(w, "x");
    struct store_request wrong = upload;

    tls_sha256_hex("bb", 2, wrong.sha256);
    assert_int_equal(piece(w, &upload, 0, "aaaa"), STORE_OK);
    assert_int_equal(piece(w, &wrong, 4, "BB"), STORE_DIGEST_MISMATCH);
    assert_int_equal(piece(w, &wrong, 4, "bb"), STORE_OK);
    assert_int_equal(commit(w, &upload, 6), STORE_OK);
    assert_object(w, "x", "aaaabb");
}

/* What is reserved is not counted as written. */
static void test_a_piece_that_never_came(void **state)
{
    struct world *w = *state;
    struct store_request upload = begin(w, "x");
    struct store_request last = upload;
    struct store_draft draft = STORE_DRAFT_INIT;
    _cleanup_(freep) char *path = path_of(w, "x");
    struct stat st;

    assert_int_equal(piece(w, &upload, 0, "aaaa"), STORE_OK);
    last.offset = 4;
    assert_int_equal(store_piece_begin(&w->folder, &last, 8 * KM_MIB, &draft, &w->fault), 0);
    store_draft_discard(&draft);
    assert_int_equal(commit(w, &upload, 4 + 8 * KM_MIB), STORE_INCOMPLETE_UPLOAD);
    assert_int_equal(piece(w, &upload, 4, "bb"), STORE_OK);
    assert_int_equal(commit(w, &upload, 6), STORE_OK);
    assert_object(w, "x", "aaaabb");
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_blocks < 100); /* and it takes no space */
}

static void test_uploads_of_another_boot_are_gone(void **state)
{
    struct world *w = *state;
    struct store_request upload = begin(w, "x");
    size_t ended = 0;

    assert_int_equal(piece(w, &upload, 0, "aaaa"), STORE_OK);
    snprintf(w->folder.boot_id, sizeof(w->folder.boot_id), "another");
    assert_int_equal(commit(w, &upload, 4), STORE_NO_SUCH_UPLOAD);
    assert_int_equal(piece(w, &upload, 0, "aaaa"), STORE_NO_SUCH_UPLOAD);
    w->fault.code = STORE_OK;
    assert_int_equal(store_upload_begin(&w->folder, &upload, &w->fault), -1);
    /* They can be removed. */
    assert_int_equal(store_uploads_end(&w->folder, "", &ended, &w->fault), 0);
    assert_int_equal(ended, 1);
    assert_int_equal(uploads_left(w), 0);
    store_upload_end(&w->folder, &upload);
}

static void test_ending_uploads(void **state)
{
    struct world *w = *state;
    size_t ended = 0;

    begin(w, "b/2");
    begin(w, "b/1");
    struct store_request a = begin(w, "a");
    assert_int_equal(piece(w, &a, 0, "aaaa"), STORE_OK);
    assert_int_equal(store_uploads_end(&w->folder, "b/", &ended, &w->fault), 0);
    assert_int_equal(ended, 2);
    assert_int_equal(uploads_left(w), 1);
    assert_int_equal(store_uploads_end(&w->folder, "b/", &ended, &w->fault), 0);
    assert_int_equal(ended, 0);
    assert_int_equal(commit(w, &a, 4), STORE_OK);
    for (int i = 0; i < STORE_UPLOADS_MAX; i++)
        begin(w, "more");
    struct store_request upload = {.name = "x", .upload_id = "ffffffffffffffffffffffffffffffff"};
    assert_int_equal(store_upload_begin(&w->folder, &upload, &w->fault), -1);
    assert_int_equal(w->fault.code, STORE_BUSY);
}

/* What a version left that took parts by number. */
static void put_old_upload(struct world *w)
{
    static const char *const files[][2] = {{"upload", "x/old\n0b1e\n"}, {"data", "aaaa"},
        {"parts", "\n1 4 0123456789abcdef 0;\n3 2 fedcba9876543210 -1;"}, {"3-fedcba9876543210.part", "cc"}};
    _cleanup_(freep) char *dir = path_of(w, ".uploads/00000000000000000000000000000000");

    assert_int_equal(fs_mkdir_all(dir, 0700, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        _cleanup_(freep) char *file = xasprintf("%s/%s", dir, files[i][0]);
        assert_int_equal(fs_write_file_atomic(file, files[i][1], strlen(files[i][1]), 0600, NULL), 0);
    }
}

static void test_sweep(void **state)
{
    struct world *w = *state;
    struct store_draft draft = STORE_DRAFT_INIT;
    struct store_request upload = begin(w, "x");
    size_t ended = 0;

    assert_int_equal(piece(w, &upload, 0, "aaaa"), STORE_OK);
    assert_int_equal(store_draft_begin(&w->folder, 5, false, &draft, &w->fault), 0);
    store_draft_close(&draft);
    put_old_upload(w);
    assert_int_equal(put(w, "kept", "one"), STORE_OK);
    assert_int_equal(store_uploads_sweep(&w->folder, clock_realtime_ms() + STORE_ABANDONED_MS - 60000), 0);
    assert_int_equal(uploads_left(w), 1);
    assert_int_equal(store_uploads_sweep(&w->folder, clock_realtime_ms() + STORE_ABANDONED_MS + 60000), 3);
    assert_int_equal(uploads_left(w), 0);
    assert_object(w, "kept", "one");
    put_old_upload(w);
    assert_int_equal(store_uploads_end(&w->folder, "x/", &ended, &w->fault), 0);
    assert_int_equal(ended, 1);
    assert_int_equal(uploads_left(w), 0);
}

#define WORLD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD(test_objects),
        WORLD(test_digests_are_checked),
        WORLD(test_no_link_is_followed),
        WORLD(test_one_store_for_a_folder),
        WORLD(test_lists),
        WORLD(test_large_folders),
        WORLD(test_uploads),
        WORLD(test_uploads_that_are_refused),
        WORLD(test_a_piece_whose_digest_is_wrong),
        WORLD(test_a_piece_that_never_came),
        WORLD(test_uploads_of_another_boot_are_gone),
        WORLD(test_ending_uploads),
        WORLD(test_sweep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
