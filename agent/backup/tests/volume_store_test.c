/* SPDX-License-Identifier: Apache-2.0 */
/* The client of object_store.h and the service in front of a volume, with each other, and with servers of another
 * version. */
#include "common/base.h"

#include "common/volume_store.h"

#include <fcntl.h>
#include <setjmp.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/backup/store_server.h"
#include "common/alloc.h"
#include "common/fs.h"
#include "common/log.h"
#include "common/tests/http_util.h"
#include "common/tests/object_util.h"

#define PART ((size_t)100000)
#define LAST ((size_t)777)

struct world {
    char root[64];
    struct loop *loop;
    struct store_folder folder;
    struct store_server *server;
    struct http_server *http;
    struct object_store *store;
    struct object_result out;
    char *data; /* 2 * PART + LAST */
};

static struct object_store *connect_to(struct world *w, const char *endpoint, const char *prefix)
{
    const struct object_target target = {
        .is_volume = true, .endpoint = endpoint, .prefix = prefix, .retry_base_ms = 5, .idle_timeout_ms = 2000};
    struct object_store *store = object_store_new(w->loop, &target, NULL);

    assert_non_null(store);
    return store;
}

static int set_up(void **state)
{
    struct world *w = xnew(struct world);
    uint16_t port = 0;

    snprintf(w->root, sizeof(w->root), "/tmp/km-volume-XXXXXX");
    assert_non_null(mkdtemp(w->root));
    w->loop = loop_new();
    assert_int_equal(store_folder_open(w->root, &w->folder, NULL), 0);
    w->server = store_server_new(w->loop, &w->folder, NULL);
    w->http = http_server_new(w->loop, NULL, store_server_routes, w->server);
    http_server_stream_bodies(w->http, STORE_BODY_MAX);
    assert_int_equal(http_server_listen(w->http, "127.0.0.1", 0, &port, NULL), 0);
    _cleanup_(freep) char *endpoint = xasprintf("http://127.0.0.1:%u", port);
    w->store = connect_to(w, endpoint, "pre/fix");
    w->data = object_noise(2 * PART + LAST, 3);
    object_result_init(&w->out, w->loop);
    object_result_clear(&w->out);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;

    object_store_free(w->store);
    http_server_free(w->http);
    store_server_free(w->server);
    store_folder_close(&w->folder);
    object_result_release(&w->out);
    loop_free(w->loop);
    assert_int_equal(fs_remove_all(w->root, NULL), 0);
    free(w->data);
    free(w);
    return 0;
}

static void assert_nothing_under_way(const struct world *w)
{
    _cleanup_(freep) char *path = xasprintf("%s/" STORE_UPLOADS_DIR, w->root);
    bool empty = false;

    assert_int_equal(fs_dir_is_empty(path, NULL, &empty, NULL), 0);
    assert_true(empty);
}

static void put(struct world *w, const char *name, const char *text)
{
    object_put(w->store, name, text, strlen(text), object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
}

/* Where earlier versions have put it. */
static void test_where_it_lies(void **state)
{
    struct world *w = *state;
    _cleanup_(freep) char *path = xasprintf("%s/pre/fix/ns/cluster/backups/1/manifest.json", w->root);
    _cleanup_(strbuf_release) struct strbuf text;

    put(w, "ns/cluster/backups/1/manifest.json", "{}");
    strbuf_init(&text, 100);
    assert_int_equal(fs_read_file(path, &text, NULL), 0);
    assert_string_equal(text.buf, "{}");
    object_get(w->store, "ns/cluster/backups/1/nothing", 100, object_result_got, &w->out);
    object_result_expect(&w->out, ERROR_NOT_FOUND);
    object_delete(w->store, "ns/cluster/backups/1/nothing", object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
    object_put(w->store, "ns", "x", 1, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_INVALID); /* it is a folder */
}

static void test_lists_of_many_pages(void **state)
{
    struct world *w = *state;
    char first[32];

    for (int i = 0; i < 2345; i++) {
        _cleanup_(freep) char *path = xasprintf("%s/pre/fix/d/%04d/x", w->root, i);
        char *slash = strrchr(path, '/');
        *slash = '\0';
        assert_int_equal(fs_mkdir_all(path, 0700, NULL), 0);
        *slash = '/';
        FILE *file = fopen(path, "we");
        assert_non_null(file);
        fclose(file);
    }
    put(w, "e", "x");
    for (int folders = 0; folders < 2; folders++) {
        object_result_clear(&w->out);
        object_list(w->store, "d/", folders ? '/' : 0, object_result_each, object_result_done, &w->out);
        object_result_expect(&w->out, ERROR_NONE);
        assert_int_equal(w->out.names.n, 2345);
        for (size_t i = 0; i < w->out.names.n; i++) {
            snprintf(first, sizeof(first), "d/%04zu/%s", i, folders ? "" : "x");
            assert_string_equal(w->out.names.v[i], first);
        }
    }
    object_delete_tree(w->store, "d", NULL, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
    object_result_clear(&w->out);
    object_list(w->store, "", 0, object_result_each, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
    assert_int_equal(w->out.names.n, 1);
}

/* Such times come with copied volumes and clocks that were not set; the list goes on behind it. */
static void test_files_of_1970(void **state)
{
    static const time_t times[] = {0, -3600};
    struct world *w = *state;
    _cleanup_(freep) char *path = xasprintf("%s/pre/fix/d/old", w->root);

    put(w, "d/old", "x");
    put(w, "d/young", "x");
    for (size_t i = 0; i < ARRAY_LEN(times); i++) {
        const struct timespec both[2] = {{.tv_sec = times[i]}, {.tv_sec = times[i]}};
        assert_int_equal(utimensat(AT_FDCWD, path, both, 0), 0);
        object_result_clear(&w->out);
        object_list(w->store, "d/", 0, object_result_each, object_result_done, &w->out);
        object_result_expect(&w->out, ERROR_NONE);
        assert_int_equal(w->out.names.n, 2);
    }
}

static struct object_upload *begin(struct world *w, const char *name)
{
    struct object_upload *upload = object_upload_begin(w->store, name, object_result_done, &w->out);

    object_result_expect(&w->out, ERROR_NONE);
    return upload;
}

static void part(struct world *w, struct object_upload *upload, int number, enum error_kind kind)
{
    object_part_expect(upload, number, w->data + (size_t)(number - 1) * PART, number < 3 ? PART : LAST, &w->out, kind);
}

static void assert_stored(struct world *w, const char *name, size_t len)
{
    object_result_clear(&w->out);
    object_read(w->store, name, 0, object_result_data, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
    assert_int_equal(w->out.body.len, len);
    assert_memory_equal(w->out.body.buf, w->data, len);
}

static void test_uploads(void **state)
{
    struct world *w = *state;
    struct object_upload *upload = begin(w, "a/big");

    part(w, upload, 1, ERROR_NONE);
    part(w, upload, 3, ERROR_INVALID); /* where it begins is not known yet */
    part(w, upload, 2, ERROR_NONE);
    object_part_expect(upload, 1, w->data, PART - 1, &w->out, ERROR_INVALID); /* the second would have to move */
    part(w, upload, 1, ERROR_NONE);                                           /* once more */
    object_part_expect(upload, 3, w->data + 2 * PART, LAST, &w->out, ERROR_NONE);
    object_upload_complete(upload, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
    object_upload_complete(upload, object_result_done, &w->out); /* whose answer was lost */
    object_result_expect(&w->out, ERROR_NONE);
    object_upload_free(upload);
    assert_stored(w, "a/big", 2 * PART + LAST);
    assert_nothing_under_way(w);
}

static void read_from(struct world *w, uint64_t offset, enum error_kind kind)
{
    object_result_clear(&w->out);
    object_read(w->store, "a", offset, object_result_data, object_result_done, &w->out);
    object_result_expect(&w->out, kind);
}

static void test_reading_from_a_place(void **state)
{
    struct world *w = *state;

    put(w, "a", "0123456789");
    read_from(w, 3, ERROR_NONE);
    assert_string_equal(w->out.body.buf, "3456789");
    read_from(w, 10, ERROR_NONE); /* its end */
    assert_int_equal(w->out.body.len, 0);
    read_from(w, 11, ERROR_INVALID);
    object_delete(w->store, "a", object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
    read_from(w, 3, ERROR_NOT_FOUND);
}

static void test_uploads_that_are_not_whole(void **state)
{
    struct world *w = *state;
    struct object_upload *upload = begin(w, "a/big");
    unsigned char sha256[32] = {0};

    object_upload_complete(upload, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_INVALID);
    part(w, upload, 1, ERROR_NONE);
    /* spoilt on its way, each time */
    object_upload_part(upload, 2, w->data, PART, sha256, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_PROTOCOL);
    object_upload_complete(upload, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_INVALID);
    object_upload_abort(upload, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
    object_upload_free(upload);
    assert_nothing_under_way(w);
    object_get(w->store, "a/big", 100, object_result_got, &w->out);
    object_result_expect(&w->out, ERROR_NOT_FOUND);
    upload = object_upload_begin(w->store, "../big", object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_INVALID);
    object_upload_free(upload);
}

static void test_uploads_that_somebody_left(void **state)
{
    struct world *w = *state;

    for (int i = 0; i < 3; i++) {
        struct object_upload *upload = begin(w, i ? "a/big" : "ab");
        part(w, upload, 1, ERROR_NONE);
        object_upload_free(upload);
    }
    object_abort_uploads(w->store, "a/", object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
    struct object_upload *upload = begin(w, "a/other");
    part(w, upload, 1, ERROR_NONE);
    object_delete_tree(w->store, "a", NULL, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
    object_upload_complete(upload, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NOT_FOUND);
    object_upload_free(upload);
    object_delete_tree(w->store, "ab", NULL, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
    object_abort_uploads(w->store, "", object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
    assert_nothing_under_way(w);
}

static void answer_as_before(struct http_exchange *http, void *arg)
{
    static const char text[] =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>NoSuchBucket</Code><Message>the "
        "only bucket here is backup</Message><Resource>/v1/objects/a</Resource></Error>\n";

    UNUSED(arg);
    http_reply(http, 404, "application/xml", text, strlen(text));
}

/* A pod of an earlier version speaks S3: nothing that it answers means that something is not there, or deleted. */
static void test_a_server_of_another_version(void **state)
{
    static const struct http_route routes[] = {{"GET", "/*", answer_as_before}, {"PUT", "/*", answer_as_before},
        {"POST", "/*", answer_as_before}, {"DELETE", "/*", answer_as_before}, {NULL, NULL, NULL}};
    struct world *w = *state;
    struct http_server *before = http_server_new(w->loop, NULL, routes, NULL);
    uint16_t port = 0;

    assert_int_equal(http_server_listen(before, "127.0.0.1", 0, &port, NULL), 0);
    _cleanup_(freep) char *endpoint = xasprintf("http://127.0.0.1:%u", port);
    object_store_free(w->store);
    w->store = connect_to(w, endpoint, "pre/fix");
    object_get(w->store, "a", 100, object_result_got, &w->out);
    object_result_expect(&w->out, ERROR_UNAVAILABLE);
    assert_non_null(strstr(w->out.err.message, "of another version"));
    object_list(w->store, "", 0, object_result_each, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_UNAVAILABLE);
    object_delete(w->store, "a", object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_UNAVAILABLE);
    object_delete_tree(w->store, "b", "b/manifest.json", object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_UNAVAILABLE);
    object_put(w->store, "a", "two", 3, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_UNAVAILABLE);
    struct object_upload *upload = object_upload_begin(w->store, "a", object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_UNAVAILABLE);
    object_upload_free(upload);
    object_store_free(steal_ptr(w->store));
    http_server_free(before);
}

/* And a client of an earlier version: the same. */
static void test_a_client_of_another_version(void **state)
{
    struct world *w = *state;
    const struct object_target old = {
        .endpoint = w->store->base_url, .bucket = "backup", .prefix = "pre/fix", .path_style = true, .retry_base_ms = 5};

    put(w, "a", "one");
    struct object_store *client = object_store_new(w->loop, &old, NULL);
    assert_non_null(client);
    object_list(client, "", 0, object_result_each, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_UNAVAILABLE);
    object_get(client, "a", 100, object_result_got, &w->out);
    object_result_expect(&w->out, ERROR_UNAVAILABLE);
    object_delete(client, "a", object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_UNAVAILABLE);
    object_put(client, "b", "two", 3, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_UNAVAILABLE);
    object_store_free(client);
    object_get(w->store, "a", 100, object_result_got, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
    assert_string_equal(w->out.body.buf, "one");
}

/* ---- answers ---- */

struct told {
    int count;
    int stop_at;
    char last[64];
};

static int tell(void *arg, const struct object_found *found)
{
    struct told *told = arg;

    snprintf(told->last, sizeof(told->last), "%s %d %llu %lld", found->key, found->is_prefix,
        (unsigned long long)found->bytes, (long long)found->modified_ms);
    return ++told->count == told->stop_at ? -1 : 0;
}

#define OBJECT "{\"name\":\"a/b\",\"bytes\":7,\"modified\":1700000000123}\n"
#define FOLDER "{\"name\":\"a/c/\"}\n"

static void test_pages(void **state)
{
    static const char *const bad[] = {"", "\n", OBJECT, OBJECT "{\"end\":true}", OBJECT "{\"end\":false}\n",
        "{\"end\":true}\n" OBJECT, "{\"end\":true}\n{\"end\":true}\n", "{\"after\":\"\"}\n", "{}\n", "[]\n", "x\n",
        "{\"name\":\"\"}\n{\"end\":true}\n", "{\"name\":\"a\"}\n{\"end\":true}\n",
        "{\"name\":\"a\",\"bytes\":-1,\"modified\":1}\n{\"end\":true}\n",
        "{\"name\":\"a\",\"bytes\":1}\n{\"end\":true}\n",
        "{\"name\":\"a\",\"bytes\":1,\"modified\":\"1\"}\n{\"end\":true}\n", OBJECT "{\"name\":\"b\n"};
    static const char good[] = OBJECT FOLDER "{\"after\":\"a/c/\"}\n";
    struct told told = {.count = 0};
    char *after = NULL;

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct error err = ERROR_INIT;
        if (volume_list_read(bad[i], strlen(bad[i]), tell, &told, &after, &err) == 0 || err.kind != ERROR_PROTOCOL)
            fail_msg("taken: %s", bad[i]);
        assert_int_equal(told.count, 0); /* nothing of it is handed out */
        assert_null(after);
    }
    assert_int_equal(volume_list_read(good, strlen(good), tell, &told, &after, NULL), 0);
    assert_int_equal(told.count, 2);
    assert_string_equal(told.last, "a/c/ 1 0 0");
    assert_string_equal(after, "a/c/");
    free(steal_ptr(after));
    told = (struct told){.stop_at = 1};
    assert_int_equal(volume_list_read(good, strlen(good), tell, &told, &after, NULL), 0);
    assert_int_equal(told.count, 1);
    assert_string_equal(told.last, "a/b 0 7 1700000000123");
    free(after);
}

static void test_refusals(void **state)
{
    static const char text[] = "{\"code\":\"NoSuchObject\",\"message\":\"no\\nway\"}\n";
    struct object_refusal refusal;
    size_t ended = 0;

    UNUSED(state);
    assert_int_equal(volume_refusal_read(404, text, strlen(text), &refusal), 0);
    assert_string_equal(refusal.code, "NoSuchObject");
    assert_string_equal(refusal.message, "no way");
    assert_int_equal(volume_refusal_read(404, "<Error/>", 8, &refusal), 0);
    assert_string_equal(refusal.code, "OtherProtocol");
    assert_int_equal(volume_refusal_read(503, "busy", 4, &refusal), -1);
    assert_int_equal(volume_ended_read("{\"ended\":3}", 11, &ended, NULL), 0);
    assert_int_equal(ended, 3);
    assert_int_equal(volume_ended_read("{}", 2, &ended, NULL), -1);
    assert_int_equal(volume_ended_read("", 0, &ended, NULL), -1);
}

#define WORLD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD(test_where_it_lies),
        WORLD(test_lists_of_many_pages),
        WORLD(test_files_of_1970),
        WORLD(test_uploads),
        WORLD(test_reading_from_a_place),
        WORLD(test_uploads_that_are_not_whole),
        WORLD(test_uploads_that_somebody_left),
        WORLD(test_a_server_of_another_version),
        WORLD(test_a_client_of_another_version),
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_refusals),
    };
    log_setup(LOG_ERROR, LOG_FORMAT_TEXT, STDERR_FILENO); /* failures are what is tested here */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
