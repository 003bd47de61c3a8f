/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever system call the store is killed at: an object is the old one or the new one, and nothing else appears. */
#include "common/base.h"

#include <setjmp.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/backup/store_list.h"
#include "agent/backup/store_upload.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/tests/crash_util.h"

#define NAME "a/b/object"
#define OTHER "a/other"

struct world {
    struct store_folder folder;
    struct store_request upload;
};

static int put(const struct world *w, const char *name, const char *content)
{
    struct store_draft draft = STORE_DRAFT_INIT;
    struct store_fault fault = {.code = STORE_OK};
    size_t len = strlen(content);

    if (store_draft_begin(&w->folder, len, false, &draft, &fault) < 0 ||
        store_draft_write(&w->folder, &draft, content, len / 2, &fault) < 0 ||
        store_draft_write(&w->folder, &draft, content + len / 2, len - len / 2, &fault) < 0 ||
        store_draft_check(&draft, "", &fault) < 0)
        return -1;
    return store_draft_publish(&w->folder, &draft, name, &fault);
}

static int put_piece(const struct world *w, uint64_t offset, const char *content)
{
    struct store_draft draft = STORE_DRAFT_INIT;
    struct store_fault fault = {.code = STORE_OK};
    struct store_request request = w->upload;

    request.offset = offset;
    if (store_piece_begin(&w->folder, &request, strlen(content), &draft, &fault) < 0 ||
        store_draft_write(&w->folder, &draft, content, strlen(content), &fault) < 0)
        return -1;
    return store_piece_finish(&draft, &request, &fault);
}

static int commit(struct world *w)
{
    struct store_fault fault = {.code = STORE_OK};

    w->upload.bytes = strlen("aaaabbbbcc");
    return store_upload_commit(&w->folder, &w->upload, &fault);
}

/* ---- what is killed ---- */

static int do_put(struct world *w)
{
    return put(w, NAME, "new");
}

static int do_delete(struct world *w)
{
    struct store_fault fault = {.code = STORE_OK};

    return store_object_delete(&w->folder, NAME, &fault);
}

static int do_commit(struct world *w)
{
    return commit(w);
}

static int do_end(struct world *w)
{
    store_upload_end(&w->folder, &w->upload);
    return 0;
}

static int do_begin(struct world *w)
{
    struct store_fault fault = {.code = STORE_OK};
    struct store_request upload = {.name = NAME, .upload_id = "00000000000000000000000000000000"};

    return store_upload_begin(&w->folder, &upload, &fault);
}

/* One that was written already, and is sent again. */
static int do_piece(struct world *w)
{
    return put_piece(w, 4, "bbbb");
}

static const struct {
    const char *name;
    int (*run)(struct world *w);
    const char *before; /* NULL: not there */
    const char *after;
    bool uploading; /* an upload lies there */
} operations[] = {
    {"a new object", do_put, NULL, "new", false},
    {"a replaced object", do_put, "old", "new", false},
    {"a deleted object", do_delete, "old", NULL, false},
    {"a committed upload", do_commit, NULL, "aaaabbbbcc", true},
    {"a committed upload over an old object", do_commit, "old", "aaaabbbbcc", true},
    {"an ended upload", do_end, "old", "old", true},
    {"a piece that is sent again", do_piece, "old", "old", true},
    {"a begun upload", do_begin, "old", "old", false},
};

/* ---- the world ---- */

static void prepare(size_t i, struct world *w)
{
    struct store_fault fault = {.code = STORE_OK};

    assert_int_equal(put(w, OTHER, "other"), 0);
    if (operations[i].before)
        assert_int_equal(put(w, NAME, operations[i].before), 0);
    if (!operations[i].uploading)
        return;
    snprintf(w->upload.name, sizeof(w->upload.name), "%s", NAME);
    snprintf(w->upload.upload_id, sizeof(w->upload.upload_id), "%s", "0123456789abcdef0123456789abcdef");
    assert_int_equal(store_upload_begin(&w->folder, &w->upload, &fault), 0);
    assert_int_equal(put_piece(w, 0, "aaaa"), 0);
    assert_int_equal(put_piece(w, 8, "cc"), 0);
    assert_int_equal(put_piece(w, 4, "bbbb"), 0);
}

/* "" when it is not there. */
static void read_object(const struct world *w, const char *name, char *out, size_t size)
{
    struct store_fault fault = {.code = STORE_OK};
    struct store_object object;

    *out = '\0';
    if (store_object_open(&w->folder, name, &object, &fault) < 0)
        return;
    ssize_t n = read(object.fd, out, size - 1);
    assert_true(n >= 0);
    out[n] = '\0';
    close(object.fd);
}

static bool count_entry(void *arg, const struct store_entry *entry)
{
    size_t *count = arg;

    (*count)++;
    return str_eq(entry->name, NAME) || str_eq(entry->name, OTHER);
}

static void check_world(size_t i, struct world *w, unsigned nth)
{
    const struct store_list_query query = {.max = 1000};
    struct store_fault fault = {.code = STORE_OK};
    char text[64];
    size_t count = 0;
    bool truncated = true;

    read_object(w, OTHER, text, sizeof(text));
    assert_string_equal(text, "other");
    read_object(w, NAME, text, sizeof(text));
    if (!str_eq(text, str_or_empty(operations[i].before)) && !str_eq(text, str_or_empty(operations[i].after)))
        fail_msg("%s, killed at call %u: \"%s\"", operations[i].name, nth, text);
    assert_int_equal(store_list(&w->folder, &query, count_entry, &count, &truncated, &fault), 0);
    assert_false(truncated);
    assert_int_equal(count, *text ? 2 : 1);
    /* The client asks again, with success. */
    if (operations[i].run == do_commit && !str_eq(text, operations[i].after)) {
        if (commit(w) < 0)
            fail_msg("%s, killed at call %u: it cannot be committed any more", operations[i].name, nth);
    } else if (operations[i].run != do_commit) {
        assert_int_equal(operations[i].run(w), 0);
    }
    read_object(w, NAME, text, sizeof(text));
    assert_string_equal(text, str_or_empty(operations[i].after));
    if (operations[i].run == do_piece) {
        assert_int_equal(commit(w), 0);
        read_object(w, NAME, text, sizeof(text));
        assert_string_equal(text, "aaaabbbbcc");
    }
    /* What is left goes by itself. */
    store_uploads_sweep(&w->folder, clock_realtime_ms() + 2 * STORE_ABANDONED_MS);
}

/* ---- killing ---- */

struct attempt {
    size_t operation;
    struct world *world;
};

static int run_one(void *arg)
{
    const struct attempt *attempt = arg;

    return operations[attempt->operation].run(attempt->world);
}

static bool try_one(void *arg, unsigned nth)
{
    const size_t i = *(const size_t *)arg;
    struct world w = {.upload.offset = 0};
    struct attempt attempt = {i, &w};
    char root[] = "/tmp/km-store-crash-XXXXXX";
    char uploads[64];
    char text[64];
    bool empty = false;

    assert_non_null(mkdtemp(root));
    assert_int_equal(store_folder_open(root, &w.folder, NULL), 0);
    prepare(i, &w);
    bool killed = crash_at(nth, run_one, &attempt);
    if (!killed) {
        read_object(&w, NAME, text, sizeof(text));
        assert_string_equal(text, str_or_empty(operations[i].after));
    }
    check_world(i, &w, nth);
    snprintf(uploads, sizeof(uploads), "%s/" STORE_UPLOADS_DIR, root);
    assert_int_equal(fs_dir_is_empty(uploads, NULL, &empty, NULL), 0);
    assert_true(empty);
    store_folder_close(&w.folder);
    assert_int_equal(fs_remove_all(root, NULL), 0);
    return killed;
}

static void test_killed_at_every_call(void **state)
{
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(operations); i++) {
        unsigned calls = crash_at_every_call(try_one, &i);
        printf("%s: killed at %u calls\n", operations[i].name, calls);
        assert_true(calls >= 5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_killed_at_every_call)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
