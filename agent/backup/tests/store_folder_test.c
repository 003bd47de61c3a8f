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
    if (store_draft_publish(&w->folder, &draft, name, w->etag, &w->fault) < 0)
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
    snprintf(etag, sizeof(etag), "%s", w->etag);
    assert_object(w, "a/b/c", "one");
    assert_string_equal(w->etag, etag);
    assert_int_equal(put(w, "a/b/c", "two"), STORE_OK);
    assert_string_not_equal(w->etag, etag);
    assert_object(w, "a/b/c", "two");
    assert_int_equal(put(w, "a/empty", ""), STORE_OK);
    assert_object(w, "a/empty", "");
    assert_int_equal(get(w, "a/b", text, sizeof(text)), STORE_NO_SUCH_KEY);
    assert_int_equal(get(w, "a/b/c/d", text, sizeof(text)), STORE_NO_SUCH_KEY);
    assert_int_equal(get(w, "x", text, sizeof(text)), STORE_NO_SUCH_KEY);
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
    assert_int_equal(get(w, "a/link", text, sizeof(text)), STORE_NO_SUCH_KEY);
    assert_int_equal(get(w, "a/fifo", text, sizeof(text)), STORE_NO_SUCH_KEY);
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

/* All pages of max_keys, as a client asks for them; room: what fits into an answer. */
static void list_all(struct world *w, const char *prefix, const char *after, bool delimited, unsigned max_keys,
    size_t room, struct strvec *ret)
{
    struct store_list_query query = {.delimited = delimited, .max_keys = max_keys};
    bool truncated = true;

    strvec_init(ret);
    snprintf(query.prefix, sizeof(query.prefix), "%s", prefix);
    snprintf(query.after, sizeof(query.after), "%s", after);
    while (truncated) {
        struct told told = {.room = room};
        strvec_init(&told.names);
        w->fault.code = STORE_OK;
        assert_int_equal(store_list(&w->folder, &query, tell, &told, &truncated, &w->fault), 0);
        assert_true(told.names.n <= max_keys);
        assert_true(!truncated || told.names.n == MIN_OF((size_t)max_keys, room));
        for (size_t i = 0; i < told.names.n; i++)
            strvec_push(ret, told.names.v[i]);
        if (truncated)
            snprintf(query.after, sizeof(query.after), "%s", told.names.v[told.names.n - 1]);
        query.is_continued = true;
        strvec_release(&told.names);
    }
}

/* The same from the sorted names alone. */
static void expect_all(
    const struct strvec *names, const char *prefix, const char *after, bool delimited, struct strvec *ret)
{
    strvec_init(ret);
    for (size_t i = 0; i < names->n; i++) {
        const char *name = names->v[i];
        if (!str_starts_with(name, prefix) || strcmp(name, after) <= 0)
            continue;
        const char *slash = delimited ? strchr(name + strlen(prefix), '/') : NULL;
        _cleanup_(freep) char *group = xstrndup(name, slash ? (size_t)(slash + 1 - name) : strlen(name));
        if (ret->n == 0 || !str_eq(ret->v[ret->n - 1], group))
            strvec_push(ret, group);
    }
}

static void assert_same_list(struct world *w, const struct strvec *names, const char *prefix, const char *after,
    bool delimited, unsigned max_keys, size_t room)
{
    struct strvec got;
    struct strvec want;

    list_all(w, prefix, after, delimited, max_keys, room, &got);
    expect_all(names, prefix, after, delimited, &want);
    for (size_t i = 0; i < MAX_OF(got.n, want.n); i++) {
        const char *g = i < got.n ? got.v[i] : "nothing";
        const char *e = i < want.n ? want.v[i] : "nothing";
        if (!str_eq(g, e))
            fail_msg("prefix \"%s\" after \"%s\" delimited %d pages of %u: entry %zu is %s, not %s", prefix, after,
                delimited, max_keys, i, g, e);
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
    struct store_request request = {.operation = STORE_UPLOAD_PART};

    snprintf(request.name, sizeof(request.name), "%s", name);
    assert_int_equal(store_upload_begin(&w->folder, name, request.upload_id, &w->fault), 0);
    return request;
}

static enum store_code part(struct world *w, const struct store_request *upload, int number, const char *content,
    int64_t offset, struct store_part *ret)
{
    struct store_draft draft = STORE_DRAFT_INIT;
    struct store_request request = *upload;
    size_t len = strlen(content);

    w->fault.code = STORE_OK;
    request.part = number;
    if (store_part_begin(&w->folder, &request, len, offset, &draft, &w->fault) < 0)
        return w->fault.code;
    assert_int_equal(store_draft_write(&w->folder, &draft, content, len, &w->fault), 0);
    if (store_part_finish(&w->folder, &draft, &request, w->etag, &w->fault) < 0)
        store_draft_discard(&draft);
    *ret = (struct store_part){.number = number};
    snprintf(ret->etag, sizeof(ret->etag), "%.16s", w->etag);
    return w->fault.code;
}

static enum store_code complete(
    struct world *w, const struct store_request *upload, const struct store_part *parts, size_t count)
{
    w->fault.code = STORE_OK;
    store_upload_complete(&w->folder, upload, parts, count, w->etag, &w->fault);
    return w->fault.code;
}

static void test_uploads(void **state)
{
    /* Where part 2 to 4 lie: in place, or in files of their own. */
    static const int64_t offsets[][3] = {{4, 8, 12}, {-1, -1, -1}, {4, -1, 12}, {-1, 8, -1}};
    struct world *w = *state;
    char etag[STORE_ETAG_SIZE];

    for (size_t i = 0; i < ARRAY_LEN(offsets); i++) {
        struct store_request upload = begin(w, "x/y");
        struct store_part parts[4];
        struct store_part wrong;
        assert_int_equal(part(w, &upload, 4, "dd", offsets[i][2], &parts[3]), STORE_OK);
        assert_int_equal(part(w, &upload, 1, "aaaa", i == 1 ? -1 : 0, &parts[0]), STORE_OK);
        assert_int_equal(part(w, &upload, 3, "wwww", -1, &wrong), STORE_OK);
        assert_int_equal(part(w, &upload, 3, "cccc", offsets[i][1], &parts[2]), STORE_OK);
        assert_int_equal(part(w, &upload, 2, "bbbb", offsets[i][0], &parts[1]), STORE_OK);
        assert_int_equal(there(w, "x/y"), i > 0);
        assert_int_equal(complete(w, &upload, parts, 4), STORE_OK);
        snprintf(etag, sizeof(etag), "%s", w->etag);
        assert_object(w, "x/y", "aaaabbbbccccdd");
        assert_string_equal(etag, w->etag);
        assert_int_equal(uploads_left(w), 0);
        assert_int_equal(complete(w, &upload, parts, 4), STORE_NO_SUCH_UPLOAD);
        assert_int_equal(part(w, &upload, 1, "aaaa", -1, &wrong), STORE_NO_SUCH_UPLOAD);
    }
}

/* A try that nobody waits for any more ends behind the one that was answered: the list says which one it is. */
static void test_a_try_that_ends_late(void **state)
{
    static const int64_t offsets[][2] = {{-1, 4}, {4, -1}, {-1, -1}}; /* of the one that is told, and of the other */
    struct world *w = *state;

    for (size_t i = 0; i < ARRAY_LEN(offsets); i++) {
        struct store_request upload = begin(w, "x/y");
        struct store_part parts[2];
        struct store_part late;
        assert_int_equal(part(w, &upload, 1, "aaaa", 0, &parts[0]), STORE_OK);
        assert_int_equal(part(w, &upload, 2, "bb", offsets[i][0], &parts[1]), STORE_OK);
        assert_int_equal(part(w, &upload, 2, "ww", offsets[i][1], &late), STORE_OK);
        assert_int_equal(complete(w, &upload, parts, 2), STORE_OK);
        assert_object(w, "x/y", "aaaabb");
        assert_int_equal(uploads_left(w), 0);
    }
}

static void test_uploads_that_are_refused(void **state)
{
    struct world *w = *state;
    struct store_request upload = begin(w, "x");
    struct store_request other = upload;
    struct store_part parts[4];

    assert_int_equal(part(w, &upload, 1, "aaaa", 0, &parts[0]), STORE_OK);
    assert_int_equal(part(w, &upload, 2, "bb", 4, &parts[1]), STORE_OK);
    assert_int_equal(part(w, &upload, 3, "cccc", 8, &parts[2]), STORE_OK);
    parts[3] = (struct store_part){.number = 4};
    assert_int_equal(complete(w, &upload, parts, 3), STORE_INVALID_PART);     /* a short one in the middle */
    assert_int_equal(complete(w, &upload, parts, 4), STORE_INVALID_PART);     /* not there */
    assert_int_equal(complete(w, &upload, parts + 1, 2), STORE_INVALID_PART); /* no first */
    parts[3] = parts[0];
    parts[3].etag[0] = parts[3].etag[0] == '0' ? '1' : '0';
    assert_int_equal(complete(w, &upload, parts + 3, 1), STORE_INVALID_PART); /* another try's */
    snprintf(other.name, sizeof(other.name), "y");
    assert_int_equal(complete(w, &other, parts, 2), STORE_NO_SUCH_UPLOAD);
    /* Parts that are not in the list are cut off. */
    assert_int_equal(complete(w, &upload, parts, 2), STORE_OK);
    assert_object(w, "x", "aaaabb");
    assert_int_equal(uploads_left(w), 0);
}

/* The size of part 1 says where the others lie; another try of it has another one. */
static void test_a_first_part_that_changes_its_size(void **state)
{
    struct world *w = *state;
    struct store_request upload = begin(w, "x");
    struct store_part parts[2];

    assert_int_equal(part(w, &upload, 1, "aaaa", 0, &parts[0]), STORE_OK);
    assert_int_equal(part(w, &upload, 2, "bb", 4, &parts[1]), STORE_OK);
    assert_int_equal(part(w, &upload, 1, "ccc", -1, &parts[0]), STORE_OK);
    assert_int_equal(complete(w, &upload, parts, 2), STORE_INVALID_PART);
    assert_int_equal(part(w, &upload, 2, "dd", -1, &parts[1]), STORE_OK);
    assert_int_equal(complete(w, &upload, parts, 2), STORE_OK);
    assert_object(w, "x", "cccdd");
}

static void test_a_part_that_fails_gives_its_space_back(void **state)
{
    struct world *w = *state;
    struct store_request upload = begin(w, "x");
    struct store_draft draft = STORE_DRAFT_INIT;
    struct store_part parts[2];
    struct stat st;

    assert_int_equal(part(w, &upload, 1, "aaaa", 0, &parts[0]), STORE_OK);
    upload.part = 2;
    assert_int_equal(store_part_begin(&w->folder, &upload, 8 * KM_MIB, 4, &draft, &w->fault), 0);
    assert_int_equal(fstat(draft.fd, &st), 0);
    int64_t reserved = st.st_blocks;
    _cleanup_(freep) char *data = xasprintf("%s/.uploads/%s/data", w->root, upload.upload_id);
    store_draft_discard(&draft);
    assert_int_equal(stat(data, &st), 0);
    assert_true(st.st_blocks < 100 && (reserved == 0 || reserved > 100));
    assert_int_equal(part(w, &upload, 2, "bb", -1, &parts[1]), STORE_OK);
    assert_int_equal(complete(w, &upload, parts, 2), STORE_OK);
    assert_object(w, "x", "aaaabb");
}

static void test_uploads_of_another_boot_are_gone(void **state)
{
    struct world *w = *state;
    struct store_request upload = begin(w, "x");
    struct store_part parts[1];
    struct store_upload_entry *entries = NULL;
    size_t count = 0;

    assert_int_equal(part(w, &upload, 1, "aaaa", 0, &parts[0]), STORE_OK);
    snprintf(w->folder.boot_id, sizeof(w->folder.boot_id), "another");
    assert_int_equal(complete(w, &upload, parts, 1), STORE_NO_SUCH_UPLOAD);
    assert_int_equal(part(w, &upload, 1, "aaaa", 0, &parts[0]), STORE_NO_SUCH_UPLOAD);
    /* They are listed, so that somebody can remove them. */
    assert_int_equal(store_upload_list(&w->folder, "", &entries, &count, &w->fault), 0);
    assert_int_equal(count, 1);
    free(entries);
    assert_int_equal(store_upload_abort(&w->folder, &upload, &w->fault), 0);
    assert_int_equal(uploads_left(w), 0);
    assert_int_equal(store_upload_abort(&w->folder, &upload, &w->fault), -1);
    assert_int_equal(w->fault.code, STORE_NO_SUCH_UPLOAD);
}

static void test_listing_uploads(void **state)
{
    struct world *w = *state;
    struct store_upload_entry *entries = NULL;
    size_t count = 0;

    begin(w, "b/2");
    begin(w, "b/1");
    begin(w, "a");
    assert_int_equal(store_upload_list(&w->folder, "b/", &entries, &count, &w->fault), 0);
    assert_int_equal(count, 2);
    assert_string_equal(entries[0].name, "b/1");
    assert_string_equal(entries[1].name, "b/2");
    assert_in_range(entries[0].begun_ms, clock_realtime_ms() - 60000, clock_realtime_ms() + 1000);
    free(entries);
    for (int i = 3; i < STORE_UPLOADS_MAX; i++)
        begin(w, "more");
    struct store_request upload = {.part = 0};
    assert_int_equal(store_upload_begin(&w->folder, "x", upload.upload_id, &w->fault), -1);
    assert_int_equal(w->fault.code, STORE_SLOW_DOWN);
}

static void test_sweep(void **state)
{
    struct world *w = *state;
    struct store_draft draft = STORE_DRAFT_INIT;
    struct store_part part_of_it;
    struct store_request upload = begin(w, "x");

    assert_int_equal(part(w, &upload, 1, "aaaa", 0, &part_of_it), STORE_OK);
    assert_int_equal(store_draft_begin(&w->folder, 5, false, &draft, &w->fault), 0);
    store_draft_close(&draft);
    assert_int_equal(put(w, "kept", "one"), STORE_OK);
    assert_int_equal(store_uploads_sweep(&w->folder, clock_realtime_ms() + STORE_ABANDONED_MS - 60000), 0);
    assert_int_equal(uploads_left(w), 1);
    assert_int_equal(store_uploads_sweep(&w->folder, clock_realtime_ms() + STORE_ABANDONED_MS + 60000), 2);
    assert_int_equal(uploads_left(w), 0);
    assert_object(w, "kept", "one");
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
        WORLD(test_a_try_that_ends_late),
        WORLD(test_uploads_that_are_refused),
        WORLD(test_a_first_part_that_changes_its_size),
        WORLD(test_a_part_that_fails_gives_its_space_back),
        WORLD(test_uploads_of_another_boot_are_gone),
        WORLD(test_listing_uploads),
        WORLD(test_sweep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
