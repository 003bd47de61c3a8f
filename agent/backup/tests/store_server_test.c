/* SPDX-License-Identifier: Apache-2.0 */
/* The store over HTTP: what a client sees, what is left on the volume, what happens when peers go. */
#include "common/base.h"

#include "agent/backup/store_server.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/log.h"
#include "common/tests/http_util.h"

#define LARGE_BYTES ((size_t)(5 * KM_MIB))

struct world {
    struct loop *loop;
    struct store_folder folder;
    struct store_server *store;
    struct http_server *http;
    struct http_client *client;
    uint16_t port;
    char root[64];
    char *base;
    char *large;
    struct outcome out;
    char upload_id[STORE_ID_SIZE];
    int fds_before;
};

static void open_store(struct world *w, const char *const *peers)
{
    assert_int_equal(store_folder_open(w->root, &w->folder, NULL), 0);
    w->store = store_server_new(w->loop, &w->folder, peers);
    w->http = http_server_new(w->loop, NULL, store_server_routes, w->store);
    http_server_stream_bodies(w->http, STORE_BODY_MAX);
    assert_int_equal(http_server_listen(w->http, "127.0.0.1", 0, &w->port, NULL), 0);
    free(w->base);
    w->base = xasprintf("http://127.0.0.1:%u/backup", w->port);
}

static void close_store(struct world *w)
{
    http_server_free(w->http);
    store_server_free(w->store);
    store_folder_close(&w->folder);
}

static int set_up(void **state)
{
    struct world *w = xnew(struct world);

    w->fds_before = count_open_fds();
    snprintf(w->root, sizeof(w->root), "/tmp/km-store-XXXXXX");
    assert_non_null(mkdtemp(w->root));
    w->large = xmalloc(LARGE_BYTES);
    for (size_t i = 0; i < LARGE_BYTES; i++)
        w->large[i] = (char)(i * 2654435761U >> 13);
    w->loop = loop_new();
    w->client = http_client_new(w->loop);
    outcome_init(&w->out);
    open_store(w, NULL);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;

    http_client_free(w->client);
    close_store(w);
    loop_free(w->loop);
    assert_int_equal(count_open_fds(), w->fds_before);
    assert_int_equal(fs_remove_all(w->root, NULL), 0);
    outcome_release(&w->out);
    free(w->base);
    free(w->large);
    free(w);
    return 0;
}

static struct http_request *start(struct world *w, const char *method, const char *path, const char *header,
    const void *body, size_t len, struct outcome *out)
{
    _cleanup_(freep) char *url = xasprintf("%s%s", w->base, path);
    const char *const headers[] = {header, NULL};
    const struct http_request_options options = {.method = method,
        .url = url,
        .headers = headers,
        .body = body,
        .body_len = len,
        .max_body = 2 * LARGE_BYTES,
        .done = outcome_done,
        .arg = out};

    out->done = 0;
    return http_client_start(w->client, &options);
}

static int ask(struct world *w, const char *method, const char *path, const char *header, const void *body, size_t len)
{
    start(w, method, path, header, body, len, &w->out);
    assert_true(loop_until(w->loop, &w->out.done, 1));
    return w->out.status;
}

#define GET(path) ask(w, "GET", path, NULL, NULL, 0)
#define HAS(text) assert_non_null(strstr(w->out.body.buf, text))

static bool uploads_are_empty(struct world *w)
{
    _cleanup_(freep) char *path = xasprintf("%s/" STORE_UPLOADS_DIR, w->root);
    bool empty = false;

    assert_int_equal(fs_dir_is_empty(path, NULL, &empty, NULL), 0);
    return empty;
}

static void wait_until_idle(struct world *w)
{
    const int64_t end_ms = clock_monotonic_ms() + 5000;

    while (clock_monotonic_ms() < end_ms && store_server_requests(w->store) > 0)
        loop_run_once(w->loop, 10);
    assert_int_equal(store_server_requests(w->store), 0);
}

static void begin_upload(struct world *w, const char *name)
{
    _cleanup_(freep) char *path = xasprintf("/%s?uploads", name);

    assert_int_equal(ask(w, "POST", path, NULL, NULL, 0), 200);
    const char *id = strstr(w->out.body.buf, "<UploadId>");
    assert_non_null(id);
    snprintf(w->upload_id, sizeof(w->upload_id), "%s", id + strlen("<UploadId>"));
}

static char *part_path(const struct world *w, const char *name, int number)
{
    return xasprintf("/%s?partNumber=%d&uploadId=%s", name, number, w->upload_id);
}

static int complete(struct world *w, const char *name, const char *list)
{
    _cleanup_(freep) char *path = xasprintf("/%s?uploadId=%s", name, w->upload_id);

    return ask(w, "POST", path, NULL, list, strlen(list));
}

/* The ETag of a part stands in a header that our client does not show: what the store has written down of it. */
static void etag_of(const struct world *w, int number, char out[static STORE_TAG_SIZE])
{
    _cleanup_(freep) char *path = xasprintf("%s/.uploads/%s/parts", w->root, w->upload_id);
    _cleanup_(strbuf_release) struct strbuf text;
    char wanted[16];
    const char *line = NULL;

    strbuf_init(&text, KM_MIB);
    assert_int_equal(fs_read_file(path, &text, NULL), 0);
    snprintf(wanted, sizeof(wanted), "\n%d ", number);
    for (const char *at = text.buf; (at = strstr(at, wanted)); at++)
        line = at;
    assert_non_null(line);
    assert_int_equal(sscanf(line + strlen(wanted), "%*u %16[0-9a-f]", out), 1);
}

static char *list_of(const struct world *w, int count)
{
    struct strbuf list;

    strbuf_init(&list, KM_MIB);
    strbuf_adds(&list, "<CompleteMultipartUpload>");
    for (int number = 1; number <= count; number++) {
        char tag[STORE_TAG_SIZE];
        etag_of(w, number, tag);
        strbuf_addf(&list, "<Part><PartNumber>%d</PartNumber><ETag>\"%s\"</ETag></Part>", number, tag);
    }
    strbuf_adds(&list, "</CompleteMultipartUpload>");
    return strbuf_detach(&list, NULL);
}

static void test_objects(void **state)
{
    struct world *w = *state;
    _cleanup_(freep) char *digest = xcalloc(1, 65);
    _cleanup_(freep) char *header = NULL;

    tls_sha256_hex(w->large, LARGE_BYTES, digest);
    header = xasprintf("x-amz-content-sha256: %s", digest);
    assert_int_equal(ask(w, "PUT", "/a/b", header, w->large, LARGE_BYTES), 200);
    assert_int_equal(GET("/a/b"), 200);
    assert_int_equal(w->out.body.len, LARGE_BYTES);
    assert_memory_equal(w->out.body.buf, w->large, LARGE_BYTES);
    assert_int_equal(ask(w, "GET", "/a/b", "Range: bytes=1000000-1000009", NULL, 0), 206);
    assert_int_equal(w->out.body.len, 10);
    assert_memory_equal(w->out.body.buf, w->large + 1000000, 10);
    assert_int_equal(ask(w, "GET", "/a/b", "Range: bytes=5242880-", NULL, 0), 416);
    HAS("<Code>InvalidRange</Code>");
    assert_int_equal(ask(w, "GET", "/a/b", "If-Match: \"other\"", NULL, 0), 412);
    HAS("<Code>PreconditionFailed</Code>");
    assert_int_equal(ask(w, "HEAD", "/a/b", NULL, NULL, 0), 200);
    assert_int_equal(ask(w, "PUT", "/empty", NULL, "", 0), 200);
    assert_int_equal(GET("/empty"), 200);
    assert_int_equal(w->out.body.len, 0);
    assert_int_equal(GET("?list-type=2"), 200);
    HAS("<Key>a/b</Key>");
    HAS("<Size>5242880</Size>");
    HAS("<Key>empty</Key>");
    assert_int_equal(ask(w, "DELETE", "/a/b", NULL, NULL, 0), 204);
    assert_int_equal(ask(w, "DELETE", "/a/b", NULL, NULL, 0), 204);
    assert_int_equal(GET("?list-type=2&prefix=a/"), 200);
    HAS("<KeyCount>0</KeyCount>");
    assert_int_equal(GET("/a/b"), 404);
    HAS("<Code>NoSuchKey</Code>");
    assert_int_equal(ask(w, "HEAD", "/a/b", NULL, NULL, 0), 404);
    assert_int_equal(GET("/%2e%2e/%2e%2e/etc/passwd"), 400);
    HAS("<Code>InvalidArgument</Code>");
    assert_true(uploads_are_empty(w));
}

static void test_a_wrong_digest_changes_nothing(void **state)
{
    struct world *w = *state;
    static const char wrong[] = "x-amz-content-sha256: 0000000000000000000000000000000000000000000000000000000000000000";

    assert_int_equal(ask(w, "PUT", "/a", NULL, "old", 3), 200);
    assert_int_equal(ask(w, "PUT", "/a", wrong, "new", 3), 400);
    HAS("<Code>XAmzContentSHA256Mismatch</Code>");
    assert_int_equal(GET("/a"), 200);
    assert_string_equal(w->out.body.buf, "old");
    assert_true(uploads_are_empty(w));
    begin_upload(w, "b");
    _cleanup_(freep) char *path = part_path(w, "b", 1);
    assert_int_equal(ask(w, "PUT", path, wrong, "new", 3), 400);
    assert_int_equal(
        complete(w, "b",
            "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>x</ETag></Part></CompleteMultipartUpload>"),
        400);
    HAS("<Code>InvalidPart</Code>");
}

static void test_uploads(void **state)
{
    struct world *w = *state;

    begin_upload(w, "x/y");
    for (int number = 1; number <= 3; number++) {
        _cleanup_(freep) char *path = part_path(w, "x/y", number);
        assert_int_equal(ask(w, "PUT", path, NULL, w->large, number < 3 ? LARGE_BYTES : 7), 200);
    }
    _cleanup_(freep) char *again = part_path(w, "x/y", 2);
    assert_int_equal(ask(w, "PUT", again, NULL, w->large, LARGE_BYTES), 200);
    assert_int_equal(GET("?uploads&prefix=x/"), 200);
    HAS(w->upload_id);
    HAS("<Key>x/y</Key>");
    assert_int_equal(GET("?list-type=2"), 200);
    HAS("<KeyCount>0</KeyCount>");
    _cleanup_(freep) char *list = list_of(w, 3);
    assert_int_equal(complete(w, "x/y", list), 200);
    HAS("<CompleteMultipartUploadResult");
    assert_int_equal(complete(w, "x/y", list), 200); /* whose answer was lost */
    assert_int_equal(complete(w, "x/z", list), 404);
    HAS("<Code>NoSuchUpload</Code>");
    assert_int_equal(ask(w, "GET", "/x/y", "Range: bytes=5242875-", NULL, 0), 206);
    assert_int_equal(w->out.body.len, 5 + LARGE_BYTES + 7);
    assert_memory_equal(w->out.body.buf + 5, w->large, LARGE_BYTES);
    assert_memory_equal(w->out.body.buf + 5 + LARGE_BYTES, w->large, 7);
    assert_true(uploads_are_empty(w));
    begin_upload(w, "x/y");
    _cleanup_(freep) char *path = xasprintf("/x/y?uploadId=%s", w->upload_id);
    assert_int_equal(ask(w, "DELETE", path, NULL, NULL, 0), 204);
    assert_int_equal(ask(w, "DELETE", path, NULL, NULL, 0), 404);
    assert_true(uploads_are_empty(w));
}

/* The store ends between the parts; one more is sent, another one again. */
static void test_an_upload_outlives_the_store(void **state)
{
    struct world *w = *state;

    begin_upload(w, "x");
    for (int number = 1; number <= 3; number++) {
        _cleanup_(freep) char *path = part_path(w, "x", number);
        if (number == 3) {
            close_store(w);
            open_store(w, NULL);
        }
        assert_int_equal(ask(w, "PUT", path, NULL, w->large + number, number < 3 ? 100000 : 9), 200);
    }
    _cleanup_(freep) char *again = part_path(w, "x", 1);
    assert_int_equal(ask(w, "PUT", again, NULL, w->large + 50, 100000), 200);
    _cleanup_(freep) char *list = list_of(w, 3);
    assert_int_equal(complete(w, "x", list), 200);
    assert_int_equal(GET("/x"), 200);
    assert_int_equal(w->out.body.len, 200009);
    assert_memory_equal(w->out.body.buf, w->large + 50, 100000);
    assert_memory_equal(w->out.body.buf + 100000, w->large + 2, 100000);
    assert_memory_equal(w->out.body.buf + 200000, w->large + 3, 9);
    assert_true(uploads_are_empty(w));
}

static void test_peers_that_go(void **state)
{
    struct world *w = *state;

    assert_int_equal(ask(w, "PUT", "/big", NULL, w->large, LARGE_BYTES), 200);
    begin_upload(w, "x");
    _cleanup_(freep) char *part = part_path(w, "x", 1);
    for (int turns = 1; turns < 40; turns += 3) {
        struct outcome ignored;
        outcome_init(&ignored);
        struct http_request *put = start(w, "PUT", "/a", NULL, w->large, LARGE_BYTES, &ignored);
        struct http_request *put_part = start(w, "PUT", part, NULL, w->large, LARGE_BYTES, &w->out);
        for (int i = 0; i < turns; i++)
            loop_run_once(w->loop, 1);
        if (!ignored.done)
            http_request_cancel(put);
        if (!w->out.done)
            http_request_cancel(put_part);
        struct http_request *get = start(w, "GET", "/big", NULL, NULL, 0, &w->out);
        for (int i = 0; i < turns; i++)
            loop_run_once(w->loop, 1);
        if (!w->out.done)
            http_request_cancel(get);
        wait_until_idle(w);
        outcome_release(&ignored);
    }
    _cleanup_(freep) char *abort_path = xasprintf("/x?uploadId=%s", w->upload_id);
    assert_int_equal(ask(w, "DELETE", abort_path, NULL, NULL, 0), 204);
    assert_true(uploads_are_empty(w));
}

/* A try that hangs must not write into what has become the object, nor cut a hole into it. */
static void test_a_part_that_hangs_is_ended_by_completing(void **state)
{
    struct world *w = *state;
    _cleanup_(strbuf_release) struct strbuf answer;

    strbuf_init(&answer, KM_MIB);
    begin_upload(w, "x");
    _cleanup_(freep) char *first = part_path(w, "x", 1);
    _cleanup_(freep) char *second = part_path(w, "x", 2);
    assert_int_equal(ask(w, "PUT", first, NULL, w->large, 300000), 200);
    _cleanup_(freep) char *head =
        xasprintf("PUT /backup%s HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\nhalf", second);
    int fd = raw_connect(w->port);
    assert_int_equal(send(fd, head, strlen(head), 0), (int)strlen(head));
    loop_for(w->loop, 100);
    assert_int_equal(store_server_requests(w->store), 1);
    assert_int_equal(ask(w, "PUT", second, NULL, w->large + 1, 300000), 200);
    _cleanup_(freep) char *list = list_of(w, 2);
    assert_int_equal(complete(w, "x", list), 200);
    raw_exchange(w->loop, fd, "more", 4, &answer);
    assert_non_null(strstr(answer.buf, "<Code>NoSuchUpload</Code>"));
    close(fd);
    wait_until_idle(w);
    assert_int_equal(GET("/x"), 200);
    assert_int_equal(w->out.body.len, 600000);
    assert_memory_equal(w->out.body.buf, w->large, 300000);
    assert_memory_equal(w->out.body.buf + 300000, w->large + 1, 300000);
}

/* RLIMIT_FSIZE is a volume that is full, for this process. */
static void test_a_full_volume(void **state)
{
    struct world *w = *state;
    struct rlimit before;
    struct rlimit small = {.rlim_cur = 1000000};

    assert_int_equal(ask(w, "PUT", "/a", NULL, "old", 3), 200);
    begin_upload(w, "x");
    _cleanup_(freep) char *path = part_path(w, "x", 1);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    small.rlim_max = before.rlim_max;
    setrlimit(RLIMIT_FSIZE, &small);
    assert_int_equal(ask(w, "PUT", "/a", NULL, w->large, LARGE_BYTES), 507);
    HAS("<Code>InsufficientStorage</Code>");
    HAS(" bytes left");
    assert_int_equal(ask(w, "PUT", path, NULL, w->large, LARGE_BYTES), 507);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(GET("/a"), 200);
    assert_string_equal(w->out.body.buf, "old");
    _cleanup_(freep) char *abort_path = xasprintf("/x?uploadId=%s", w->upload_id);
    assert_int_equal(ask(w, "DELETE", abort_path, NULL, NULL, 0), 204);
    assert_true(uploads_are_empty(w));
}

static void test_too_many_requests(void **state)
{
    struct world *w = *state;
    static const char head[] = "PUT /backup/a HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf";
    int fds[STORE_REQUESTS_MAX];

    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        fds[i] = raw_connect(w->port);
        assert_int_equal(send(fds[i], head, strlen(head), 0), (int)strlen(head));
        loop_for(w->loop, 5);
    }
    loop_for(w->loop, 50);
    assert_int_equal(store_server_requests(w->store), STORE_REQUESTS_MAX);
    assert_int_equal(GET("/b"), 503);
    HAS("<Code>SlowDown</Code>");
    assert_true(w->out.retry_after_ms > 0);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        close(fds[i]);
    wait_until_idle(w);
    assert_int_equal(GET("/b"), 404);
    assert_true(uploads_are_empty(w));
}

/* Requests of every kind are under way when it ends. */
static void test_the_store_ends(void **state)
{
    struct world *w = *state;
    struct outcome others[6];

    assert_int_equal(ask(w, "PUT", "/big", NULL, w->large, LARGE_BYTES), 200);
    for (int turns = 0; turns < 24; turns += 2) {
        begin_upload(w, "x");
        _cleanup_(freep) char *part = part_path(w, "x", 1);
        _cleanup_(freep) char *post = xasprintf("/x?uploadId=%s", w->upload_id);
        for (size_t i = 0; i < ARRAY_LEN(others); i++)
            outcome_init(&others[i]);
        start(w, "PUT", "/a", NULL, w->large, LARGE_BYTES, &others[0]);
        start(w, "PUT", part, NULL, w->large, LARGE_BYTES, &others[1]);
        start(w, "GET", "/big", NULL, NULL, 0, &others[2]);
        start(w, "GET", "?list-type=2", NULL, NULL, 0, &others[3]);
        start(w, "POST", post, NULL, "<x/>", 4, &others[4]);
        start(w, "DELETE", "/none", NULL, NULL, 0, &others[5]);
        for (int i = 0; i < turns; i++)
            loop_run_once(w->loop, 1);
        close_store(w);
        for (size_t i = 0; i < ARRAY_LEN(others); i++) {
            assert_true(loop_until(w->loop, &others[i].done, 1));
            outcome_release(&others[i]);
        }
        open_store(w, NULL);
        assert_int_equal(ask(w, "DELETE", post, NULL, NULL, 0), 204);
        if (!uploads_are_empty(w))
            fail_msg("something is left after %d turns", turns);
    }
}

static void test_strangers(void **state)
{
    struct world *w = *state;
    static const char *const peers[] = {"somebody", NULL};

    close_store(w);
    open_store(w, peers);
    assert_int_equal(GET("/a"), 403);
    HAS("<Code>AccessDenied</Code>");
    assert_int_equal(ask(w, "PUT", "/a", NULL, w->large, LARGE_BYTES), 403);
    assert_true(uploads_are_empty(w));
}

#define WORLD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD(test_objects),
        WORLD(test_a_wrong_digest_changes_nothing),
        WORLD(test_uploads),
        WORLD(test_an_upload_outlives_the_store),
        WORLD(test_peers_that_go),
        WORLD(test_a_part_that_hangs_is_ended_by_completing),
        WORLD(test_a_full_volume),
        WORLD(test_too_many_requests),
        WORLD(test_the_store_ends),
        WORLD(test_strangers),
    };
    log_setup(LOG_ERROR, LOG_FORMAT_TEXT, STDERR_FILENO); /* failures are what is tested here */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
