/* SPDX-License-Identifier: Apache-2.0 */
/* The client of object storage against a real S3 server (e2e/s3): signatures are checked, pages are pages, parts are
 * parts. KM_TEST_S3 names the file that e2e/s3/up.sh writes. */
#include "common/base.h"

#include <openssl/sha.h>
#include <setjmp.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/tests/http_util.h"
#include "common/tests/object_util.h"

struct world {
    struct strvec settings; /* "NAME=value" */
    struct loop *loop;
    struct object_store *store;
    struct object_result out;
    char *prefix; /* own for each test */
    struct object_target target;
    int fds_before;
};

static const char *setting(const struct world *w, const char *name)
{
    const size_t len = strlen(name);
    for (size_t i = 0; i < w->settings.n; i++)
        if (strncmp(w->settings.v[i], name, len) == 0 && w->settings.v[i][len] == '=')
            return w->settings.v[i] + len + 1;
    fail_msg("the server's settings have no %s", name);
    return NULL;
}

static struct object_store *open_store(struct world *w)
{
    struct error err = ERROR_INIT;
    struct object_store *store = object_store_new(w->loop, &w->target, &err);
    if (!store)
        fail_msg("%s", err.message);
    return store;
}

static void reopen(struct world *w)
{
    object_store_free(w->store);
    w->store = open_store(w);
}

static int set_up(void **state)
{
    static unsigned count;
    const char *path = getenv("KM_TEST_S3");
    struct strbuf text;
    struct world *w = xnew(struct world);
    *state = w;
    strvec_init(&w->settings);
    if (!path)
        return 0;
    w->fds_before = count_open_fds();
    strbuf_init(&text, FS_READ_MAX);
    if (fs_read_file(path, &text, NULL) < 0)
        return -1;
    strvec_split(&w->settings, text.buf, "\n");
    strbuf_release(&text);
    w->loop = loop_new();
    object_result_init(&w->out, w->loop);
    object_result_clear(&w->out);
    w->prefix = xasprintf("itest-%lld-%d/%u", (long long)clock_realtime_ms(), (int)getpid(), count++);
    w->target = (struct object_target){.endpoint = setting(w, "S3_ENDPOINT"),
        .region = setting(w, "S3_REGION"),
        .bucket = setting(w, "S3_BUCKET"),
        .prefix = w->prefix,
        .path_style = true,
        .access_key = setting(w, "S3_ACCESS_KEY"),
        .secret_key = setting(w, "S3_SECRET_KEY"),
        .retry_base_ms = 50};
    w->store = open_store(w);
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    if (w->loop) {
        object_store_free(w->store);
        object_result_release(&w->out);
        loop_free(w->loop);
        assert_int_equal(count_open_fds(), w->fds_before);
    }
    strvec_release(&w->settings);
    free(w->prefix);
    free(w);
    return 0;
}

static struct world *world_or_skip(void **state)
{
    struct world *w = *state;
    if (!w->loop) {
        print_message("skipped: no S3 server (KM_TEST_S3 is not set)\n");
        skip();
    }
    return w;
}

static void put(struct world *w, const char *name, const char *text)
{
    object_put(w->store, name, text, strlen(text), object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
}

static void expect_got(struct world *w, const char *name, const char *text)
{
    object_get(w->store, name, 1000, object_result_got, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
    assert_string_equal(w->out.body.buf, text);
}

static void list(struct world *w, const char *under, char delimiter)
{
    object_result_clear(&w->out);
    object_list(w->store, under, delimiter, object_result_each, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
}

static void test_put_get_delete(void **state)
{
    struct world *w = world_or_skip(state);
    put(w, "a/manifest.json", "{\"a\":1}");
    expect_got(w, "a/manifest.json", "{\"a\":1}");
    put(w, "a/manifest.json", "other");
    expect_got(w, "a/manifest.json", "other");
    put(w, "a/empty", "");
    expect_got(w, "a/empty", "");
    object_get(w->store, "a/manifest.json", 4, object_result_got, &w->out);
    object_result_expect(&w->out, ERROR_TOO_LARGE);
    object_get(w->store, "a/nothing", 4, object_result_got, &w->out);
    object_result_expect(&w->out, ERROR_NOT_FOUND);
    assert_non_null(strstr(w->out.err.message, "NoSuchKey"));
    for (int i = 0; i < 2; i++) {
        object_delete(w->store, "a/manifest.json", object_result_done, &w->out);
        object_result_expect(&w->out, ERROR_NONE);
    }
    object_get(w->store, "a/manifest.json", 4, object_result_got, &w->out);
    object_result_expect(&w->out, ERROR_NOT_FOUND);
}

/* What must be encoded in paths and queries: the prefix is the user's. */
static void test_strange_prefix(void **state)
{
    struct world *w = world_or_skip(state);
    static const char tail[] = "/a b+c=d%20&'\"<>~*()@:,;!$[]{}|^`#?\xc3\xa4";
    char *prefix = xasprintf("%s%s", w->prefix, tail);
    w->target.prefix = prefix;
    reopen(w);
    put(w, "x/1", "one");
    expect_got(w, "x/1", "one");
    list(w, "", 0);
    assert_int_equal(w->out.names.n, 1);
    assert_string_equal(w->out.names.v[0], "x/1");
    object_delete_tree(w->store, "x", NULL, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
    list(w, "", 0);
    assert_int_equal(w->out.names.n, 0);
    free(prefix);
}

static void test_list_pages(void **state)
{
    struct world *w = world_or_skip(state);
    enum { COUNT = 1030 }; /* a page has 1,000 */
    const int64_t before_ms = clock_realtime_ms();
    struct object_result outs[COUNT];
    for (int i = 0; i < COUNT; i++) {
        char name[64];
        snprintf(name, sizeof(name), "many/%02d/%05d", i / 100, i);
        object_result_init(&outs[i], w->loop);
        object_put(w->store, name, "x", 1, object_result_done, &outs[i]);
        if (i % 8 == 7)
            for (int j = i - 7; j <= i; j++)
                object_result_expect(&outs[j], ERROR_NONE);
    }
    for (int i = COUNT - COUNT % 8; i < COUNT; i++)
        object_result_expect(&outs[i], ERROR_NONE);
    for (int i = 0; i < COUNT; i++)
        object_result_release(&outs[i]);
    list(w, "many/", 0);
    assert_int_equal(w->out.names.n, COUNT);
    assert_int_equal(w->out.bytes, COUNT);
    assert_in_range(w->out.modified_min, before_ms - 2000, clock_realtime_ms());
    for (int i = 0; i < COUNT; i++) {
        char name[64];
        snprintf(name, sizeof(name), "many/%02d/%05d", i / 100, i);
        assert_string_equal(w->out.names.v[i], name);
    }
    list(w, "many/", '/');
    assert_int_equal(w->out.names.n, 11);
    assert_string_equal(w->out.names.v[0], "many/00/");
    assert_string_equal(w->out.names.v[10], "many/10/");
    list(w, "many/03/0031", 0);
    assert_int_equal(w->out.names.n, 10);
    object_result_clear(&w->out);
    w->out.stop_after = 3;
    object_list(w->store, "many/", 0, object_result_each, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_CANCELLED);
    assert_int_equal(w->out.names.n, 3);
    object_delete_tree(w->store, "many", "many/05/00500", object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
    list(w, "", 0);
    assert_int_equal(w->out.names.n, 0);
}

static struct object_upload *begin(struct world *w, const char *name)
{
    struct object_upload *upload = object_upload_begin(w->store, name, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
    return upload;
}

static void read_from(struct world *w, const char *name, uint64_t offset, enum error_kind kind)
{
    object_result_clear(&w->out);
    object_read(w->store, name, offset, object_result_data, object_result_done, &w->out);
    object_result_expect(&w->out, kind);
}

static void test_multipart(void **state)
{
    struct world *w = world_or_skip(state);
    const size_t sizes[] = {OBJECT_PART_MIN, OBJECT_PART_MIN + 7, 12345};
    const size_t total = sizes[0] + sizes[1] + sizes[2];
    char *data = object_noise(total, 1);
    struct object_upload *upload = begin(w, "b/data");
    /* Parts in any order; one of them twice. */
    object_part_expect(upload, 3, data + sizes[0] + sizes[1], sizes[2], &w->out, ERROR_NONE);
    object_part_expect(upload, 1, data + 1, sizes[0], &w->out, ERROR_NONE);
    object_part_expect(upload, 2, data + sizes[0], sizes[1], &w->out, ERROR_NONE);
    object_part_expect(upload, 1, data, sizes[0], &w->out, ERROR_NONE);
    object_get(w->store, "b/data", 10, object_result_got, &w->out);
    object_result_expect(&w->out, ERROR_NOT_FOUND);
    object_upload_complete(upload, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
    object_upload_free(upload);
    read_from(w, "b/data", 0, ERROR_NONE);
    assert_int_equal(w->out.body.len, total);
    assert_memory_equal(w->out.body.buf, data, total);
    read_from(w, "b/data", sizes[0] - 100, ERROR_NONE);
    assert_int_equal(w->out.body.len, total - sizes[0] + 100);
    assert_memory_equal(w->out.body.buf, data + sizes[0] - 100, w->out.body.len);
    read_from(w, "b/data", total, ERROR_NONE);
    assert_int_equal(w->out.body.len, 0);
    read_from(w, "b/data", total + 1, ERROR_INVALID);
    object_result_clear(&w->out);
    w->out.stop_after = 1000;
    object_read(w->store, "b/data", 0, object_result_data, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_CANCELLED);
    list(w, "b/", 0);
    assert_int_equal(w->out.names.n, 1);
    assert_int_equal(w->out.bytes, total);
    free(data);
}

/* The server checks the hash that was signed. */
static void test_damaged_part(void **state)
{
    struct world *w = world_or_skip(state);
    char *data = object_noise(1000, 2);
    const unsigned char wrong[32] = {1};
    struct object_upload *upload = begin(w, "c/data");
    object_upload_part(upload, 1, data, 1000, wrong, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_PROTOCOL);
    object_upload_abort(upload, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
    object_upload_free(upload);
    free(data);
}

static void test_abort(void **state)
{
    struct world *w = world_or_skip(state);
    char *data = object_noise(OBJECT_PART_MIN, 3);
    unsigned char sha256[32];
    struct object_upload *upload = begin(w, "d/data");
    object_part_expect(upload, 1, data, 1000, &w->out, ERROR_NONE);
    /* One is on its way. */
    SHA256((const unsigned char *)data, OBJECT_PART_MIN, sha256);
    object_upload_part(upload, 2, data, OBJECT_PART_MIN, sha256, object_result_done, &w->out);
    loop_for(w->loop, 5);
    object_upload_abort(upload, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
    object_part_expect(upload, 3, data, 1000, &w->out, ERROR_NOT_FOUND);
    object_upload_abort(upload, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
    object_upload_free(upload);
    list(w, "d/", 0);
    assert_int_equal(w->out.names.n, 0);
    free(data);
}

/* A process died: its upload is nobody's. */
static void test_leftovers(void **state)
{
    struct world *w = world_or_skip(state);
    struct object_upload *mine = begin(w, "e/data");
    object_part_expect(mine, 1, "abc", 3, &w->out, ERROR_NONE);
    object_upload_free(begin(w, "e/deep/data"));
    struct object_upload *other = begin(w, "e2/data");
    object_part_expect(other, 1, "abc", 3, &w->out, ERROR_NONE);
    put(w, "e/manifest.json", "{}");
    put(w, "e/1", "{}");
    put(w, "e2/1", "{}");
    object_delete_tree(w->store, "e", "e/manifest.json", object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
    object_part_expect(mine, 2, "abc", 3, &w->out, ERROR_NOT_FOUND);
    object_upload_free(mine);
    list(w, "", 0);
    assert_int_equal(w->out.names.n, 1);
    assert_string_equal(w->out.names.v[0], "e2/1");
    object_upload_complete(other, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
    object_upload_free(other);
    expect_got(w, "e2/data", "abc");
}

static void expect_refused(struct world *w, enum error_kind kind, const char *words)
{
    reopen(w);
    object_put(w->store, "x", "x", 1, object_result_done, &w->out);
    object_result_expect(&w->out, kind);
    if (!strstr(w->out.err.message, words))
        fail_msg("'%s' is not in '%s'", words, w->out.err.message);
    assert_null(strstr(w->out.err.message, setting(w, "S3_SECRET_KEY")));
    assert_null(strstr(w->out.err.message, setting(w, "S3_ACCESS_KEY")));
}

static void test_wrong_keys(void **state)
{
    struct world *w = world_or_skip(state);
    const struct object_target good = w->target;
    w->target.access_key = "km:nobody";
    expect_refused(w, ERROR_UNAUTHORIZED, "SignatureDoesNotMatch"); /* AWS says InvalidAccessKeyId */
    w->target = good;
    w->target.secret_key = "wrong";
    expect_refused(w, ERROR_UNAUTHORIZED, "SignatureDoesNotMatch");
    /* Rotated keys count from the next request on. */
    object_store_set_keys(w->store, good.access_key, good.secret_key, NULL);
    put(w, "x", "x");
    w->target = good;
    w->target.access_key = setting(w, "S3_GUEST_ACCESS_KEY");
    w->target.secret_key = setting(w, "S3_GUEST_SECRET_KEY");
    expect_refused(w, ERROR_FORBIDDEN, "AccessDenied");
}

static void test_wrong_place(void **state)
{
    struct world *w = world_or_skip(state);
    const struct object_target good = w->target;
    w->target.bucket = "no-such-bucket";
    expect_refused(w, ERROR_NOT_FOUND, "NoSuchBucket");
    object_delete(w->store, "x", object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NOT_FOUND);
    object_list(w->store, "", 0, object_result_each, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NOT_FOUND);
    object_delete_tree(w->store, "x", NULL, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NOT_FOUND);
    w->target = good;
    w->target.region = "eu-west-9";
    expect_refused(w, ERROR_INVALID, "spec.destination.s3.region");
}

static void test_virtual_host(void **state)
{
    struct world *w = world_or_skip(state);
    put(w, "v/1", "hello");
    char *dial = xstrdup(strstr(w->target.endpoint, "//") + 2);
    w->target.path_style = false;
    w->target.endpoint = "http://s3.local";
    w->target.connect_to = dial;
    reopen(w);
    expect_got(w, "v/1", "hello");
    put(w, "v/2", "two");
    list(w, "v/", 0);
    assert_int_equal(w->out.names.n, 2);
    free(dial);
}

static void test_tls(void **state)
{
    struct world *w = world_or_skip(state);
    struct strbuf ca;
    char *data = object_noise(OBJECT_PART_MIN, 4);
    strbuf_init(&ca, FS_READ_MAX);
    assert_int_equal(fs_read_file(setting(w, "S3_CA"), &ca, NULL), 0);
    w->target.tls = http_tls_new(&(struct http_tls_options){.ca_pem = ca.buf});
    w->target.endpoint = setting(w, "S3_TLS_ENDPOINT");
    reopen(w);
    put(w, "t/1", "over TLS");
    expect_got(w, "t/1", "over TLS");
    struct object_upload *upload = begin(w, "t/2");
    object_part_expect(upload, 1, data, OBJECT_PART_MIN, &w->out, ERROR_NONE);
    object_upload_complete(upload, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
    object_upload_free(upload);
    read_from(w, "t/2", 0, ERROR_NONE);
    assert_memory_equal(w->out.body.buf, data, OBJECT_PART_MIN);
    http_tls_unref(w->target.tls);
    w->target.tls = NULL; /* the system does not know this CA */
    expect_refused(w, ERROR_INVALID, "destination.s3.caSecret");
    strbuf_release(&ca);
    free(data);
}

#define WORLD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD(test_put_get_delete),
        WORLD(test_strange_prefix),
        WORLD(test_list_pages),
        WORLD(test_multipart),
        WORLD(test_damaged_part),
        WORLD(test_abort),
        WORLD(test_leftovers),
        WORLD(test_wrong_keys),
        WORLD(test_wrong_place),
        WORLD(test_virtual_host),
        WORLD(test_tls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
