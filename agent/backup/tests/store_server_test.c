/* SPDX-License-Identifier: Apache-2.0 */
/* The store over HTTP: what a client sees, what is left on the volume, what happens when peers go. */
#include "common/base.h"

#include "agent/backup/store_server.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
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
    char upload[64]; /* "/uploads/ID/NAME" */
    unsigned uploads;
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
    w->base = xasprintf("http://127.0.0.1:%u/v1", w->port);
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
    snprintf(w->upload, sizeof(w->upload), "/uploads/%032x/%s", ++w->uploads, name);
    assert_int_equal(ask(w, "POST", w->upload, NULL, NULL, 0), 204);
}

static char *piece_path(const struct world *w, size_t offset)
{
    return xasprintf("%s?offset=%zu", w->upload, offset);
}

static int send_piece(struct world *w, size_t offset, const char *data, size_t len)
{
    _cleanup_(freep) char *path = piece_path(w, offset);

    return ask(w, "PUT", path, NULL, data, len);
}

static int commit(struct world *w, size_t bytes)
{
    _cleanup_(freep) char *path = xasprintf("%s?bytes=%zu", w->upload, bytes);

    return ask(w, "POST", path, NULL, NULL, 0);
}

static void test_objects(void **state)
{
    struct world *w = *state;
    _cleanup_(freep) char *digest = xcalloc(1, 65);
    _cleanup_(freep) char *header = NULL;

    tls_sha256_hex(w->large, LARGE_BYTES, digest);
    header = xasprintf("X-Content-SHA256: %s", digest);
    assert_int_equal(ask(w, "PUT", "/objects/a/b", header, w->large, LARGE_BYTES), 204);
    assert_int_equal(GET("/objects/a/b"), 200);
    assert_int_equal(w->out.body.len, LARGE_BYTES);
    assert_memory_equal(w->out.body.buf, w->large, LARGE_BYTES);
    assert_int_equal(ask(w, "GET", "/objects/a/b", "Range: bytes=1000000-1000009", NULL, 0), 206);
    assert_int_equal(w->out.body.len, 10);
    assert_memory_equal(w->out.body.buf, w->large + 1000000, 10);
    assert_int_equal(ask(w, "GET", "/objects/a/b", "Range: bytes=5242880-", NULL, 0), 416);
    HAS("\"InvalidRange\"");
    assert_int_equal(ask(w, "GET", "/objects/a/b", "If-Match: \"other\"", NULL, 0), 412);
    HAS("\"PreconditionFailed\"");
    assert_int_equal(ask(w, "HEAD", "/objects/a/b", NULL, NULL, 0), 200);
    assert_int_equal(ask(w, "PUT", "/objects/empty", NULL, "", 0), 204);
    assert_int_equal(GET("/objects/empty"), 200);
    assert_int_equal(w->out.body.len, 0);
    assert_int_equal(GET("/objects"), 200);
    HAS("{\"name\":\"a/b\",\"bytes\":5242880,\"modified\":");
    HAS("\n{\"name\":\"empty\",\"bytes\":0,\"modified\":");
    HAS("\n{\"end\":true}\n");
    assert_int_equal(GET("/objects?folders=1&max=1"), 200);
    assert_string_equal(w->out.body.buf, "{\"name\":\"a/\"}\n{\"after\":\"a/\"}\n");
    assert_int_equal(GET("/objects?folders=1&max=1&after=a/"), 200);
    HAS("{\"name\":\"empty\",");
    assert_int_equal(ask(w, "DELETE", "/objects/a/b", NULL, NULL, 0), 204);
    assert_int_equal(ask(w, "DELETE", "/objects/a/b", NULL, NULL, 0), 204);
    assert_int_equal(GET("/objects?prefix=a/"), 200);
    assert_string_equal(w->out.body.buf, "{\"end\":true}\n");
    assert_int_equal(GET("/objects/a/b"), 404);
    HAS("\"NoSuchObject\"");
    assert_int_equal(ask(w, "HEAD", "/objects/a/b", NULL, NULL, 0), 404);
    assert_int_equal(GET("/objects/%2e%2e/%2e%2e/etc/passwd"), 400);
    HAS("\"InvalidArgument\"");
    assert_true(uploads_are_empty(w));
}

/* Whoever speaks S3 to it is told so, and never that nothing is there. */
static void test_another_protocol(void **state)
{
    static const char *const methods[] = {"GET", "HEAD", "PUT", "POST", "DELETE"};
    struct world *w = *state;

    assert_int_equal(ask(w, "PUT", "/objects/backup/a", NULL, "one", 3), 204);
    free(w->base);
    w->base = xasprintf("http://127.0.0.1:%u/backup", w->port);
    for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
        assert_int_equal(ask(w, methods[i], "/backup/a", NULL, "two", 3), 501);
        assert_int_equal(ask(w, methods[i], "?list-type=2&prefix=backup/", NULL, "two", 3), 501);
    }
    HAS("\"OtherProtocol\"");
    free(w->base);
    w->base = xasprintf("http://127.0.0.1:%u/v1", w->port);
    assert_int_equal(GET("/objects/backup/a"), 200);
    assert_string_equal(w->out.body.buf, "one");
    assert_true(uploads_are_empty(w));
}

static void test_a_wrong_digest_changes_nothing(void **state)
{
    struct world *w = *state;
    static const char wrong[] = "X-Content-SHA256: 0000000000000000000000000000000000000000000000000000000000000000";

    assert_int_equal(ask(w, "PUT", "/objects/a", NULL, "old", 3), 204);
    assert_int_equal(ask(w, "PUT", "/objects/a", wrong, "new", 3), 400);
    HAS("\"DigestMismatch\"");
    assert_int_equal(GET("/objects/a"), 200);
    assert_string_equal(w->out.body.buf, "old");
    assert_true(uploads_are_empty(w));
    begin_upload(w, "a");
    _cleanup_(freep) char *path = piece_path(w, 0);
    assert_int_equal(ask(w, "PUT", path, wrong, "new", 3), 400);
    HAS("\"DigestMismatch\"");
    assert_int_equal(send_piece(w, 0, "all", 3), 204);
    assert_int_equal(commit(w, 4), 409);
    HAS("\"IncompleteUpload\"");
    assert_int_equal(GET("/objects/a"), 200);
    assert_string_equal(w->out.body.buf, "old");
    assert_int_equal(commit(w, 3), 204);
    assert_int_equal(GET("/objects/a"), 200);
    assert_string_equal(w->out.body.buf, "all");
}

static void test_uploads(void **state)
{
    struct world *w = *state;

    begin_upload(w, "x/y");
    assert_int_equal(ask(w, "POST", w->upload, NULL, NULL, 0), 204); /* whose answer was lost */
    assert_int_equal(send_piece(w, 2 * LARGE_BYTES, w->large, 7), 204);
    assert_int_equal(send_piece(w, LARGE_BYTES, w->large, LARGE_BYTES), 204);
    assert_int_equal(send_piece(w, 0, w->large, LARGE_BYTES), 204);
    assert_int_equal(send_piece(w, LARGE_BYTES, w->large, LARGE_BYTES), 204);
    assert_int_equal(GET("/objects"), 200);
    assert_string_equal(w->out.body.buf, "{\"end\":true}\n");
    assert_int_equal(commit(w, 2 * LARGE_BYTES + 7), 204);
    assert_int_equal(commit(w, 2 * LARGE_BYTES + 7), 204); /* whose answer was lost */
    assert_int_equal(send_piece(w, 0, "late", 4), 404);
    HAS("\"NoSuchUpload\"");
    assert_int_equal(ask(w, "GET", "/objects/x/y", "Range: bytes=5242875-", NULL, 0), 206);
    assert_int_equal(w->out.body.len, 5 + LARGE_BYTES + 7);
    assert_memory_equal(w->out.body.buf + 5, w->large, LARGE_BYTES);
    assert_memory_equal(w->out.body.buf + 5 + LARGE_BYTES, w->large, 7);
    assert_true(uploads_are_empty(w));
    begin_upload(w, "x/y");
    assert_int_equal(commit(w, 1), 409);
    assert_int_equal(ask(w, "DELETE", w->upload, NULL, NULL, 0), 204);
    assert_int_equal(ask(w, "DELETE", w->upload, NULL, NULL, 0), 204);
    assert_int_equal(commit(w, 0), 404);
    begin_upload(w, "x/y");
    begin_upload(w, "x/z");
    assert_int_equal(ask(w, "DELETE", "/uploads?prefix=x/", NULL, NULL, 0), 200);
    assert_string_equal(w->out.body.buf, "{\"ended\":2}\n");
    assert_true(uploads_are_empty(w));
}

/* The store ends between the pieces; one more is sent, another one again. */
static void test_an_upload_outlives_the_store(void **state)
{
    struct world *w = *state;

    begin_upload(w, "x");
    assert_int_equal(send_piece(w, 0, w->large + 50, 100000), 204);
    assert_int_equal(send_piece(w, 100000, w->large + 2, 100000), 204);
    close_store(w);
    open_store(w, NULL);
    assert_int_equal(send_piece(w, 200000, w->large + 3, 9), 204);
    assert_int_equal(send_piece(w, 0, w->large + 50, 100000), 204);
    assert_int_equal(commit(w, 200009), 204);
    assert_int_equal(GET("/objects/x"), 200);
    assert_int_equal(w->out.body.len, 200009);
    assert_memory_equal(w->out.body.buf, w->large + 50, 100000);
    assert_memory_equal(w->out.body.buf + 100000, w->large + 2, 100000);
    assert_memory_equal(w->out.body.buf + 200000, w->large + 3, 9);
    assert_true(uploads_are_empty(w));
}

static void test_peers_that_go(void **state)
{
    struct world *w = *state;

    assert_int_equal(ask(w, "PUT", "/objects/big", NULL, w->large, LARGE_BYTES), 204);
    begin_upload(w, "x");
    _cleanup_(freep) char *piece = piece_path(w, 0);
    for (int turns = 1; turns < 40; turns += 3) {
        struct outcome ignored;
        outcome_init(&ignored);
        struct http_request *put = start(w, "PUT", "/objects/a", NULL, w->large, LARGE_BYTES, &ignored);
        struct http_request *put_piece = start(w, "PUT", piece, NULL, w->large, LARGE_BYTES, &w->out);
        for (int i = 0; i < turns; i++)
            loop_run_once(w->loop, 1);
        if (!ignored.done)
            http_request_cancel(put);
        if (!w->out.done)
            http_request_cancel(put_piece);
        struct http_request *get = start(w, "GET", "/objects/big", NULL, NULL, 0, &w->out);
        for (int i = 0; i < turns; i++)
            loop_run_once(w->loop, 1);
        if (!w->out.done)
            http_request_cancel(get);
        wait_until_idle(w);
        outcome_release(&ignored);
    }
    assert_int_equal(ask(w, "DELETE", w->upload, NULL, NULL, 0), 204);
    assert_true(uploads_are_empty(w));
}

/* A try that hangs must not write into what has become the object. */
static void test_a_piece_that_hangs_is_ended_by_committing(void **state)
{
    struct world *w = *state;
    _cleanup_(strbuf_release) struct strbuf answer;

    strbuf_init(&answer, KM_MIB);
    begin_upload(w, "x");
    assert_int_equal(send_piece(w, 0, w->large, 300000), 204);
    _cleanup_(freep) char *head =
        xasprintf("PUT /v1%s?offset=300000 HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\nhalf", w->upload);
    int fd = raw_connect(w->port);
    assert_int_equal(send(fd, head, strlen(head), 0), (int)strlen(head));
    loop_for(w->loop, 100);
    assert_int_equal(store_server_requests(w->store), 1);
    assert_int_equal(send_piece(w, 300000, w->large + 1, 300000), 204);
    assert_int_equal(commit(w, 600000), 503);
    HAS("\"Busy\"");
    assert_true(w->out.retry_after_ms > 0);
    raw_exchange(w->loop, fd, "more", 4, &answer);
    assert_non_null(strstr(answer.buf, "\"NoSuchUpload\""));
    close(fd);
    wait_until_idle(w);
    assert_int_equal(commit(w, 600000), 204);
    assert_int_equal(GET("/objects/x"), 200);
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

    assert_int_equal(ask(w, "PUT", "/objects/a", NULL, "old", 3), 204);
    begin_upload(w, "x");
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    small.rlim_max = before.rlim_max;
    setrlimit(RLIMIT_FSIZE, &small);
    assert_int_equal(ask(w, "PUT", "/objects/a", NULL, w->large, LARGE_BYTES), 507);
    HAS("\"InsufficientStorage\"");
    HAS(" bytes left");
    assert_int_equal(send_piece(w, 0, w->large, LARGE_BYTES), 507);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(GET("/objects/a"), 200);
    assert_string_equal(w->out.body.buf, "old");
    assert_int_equal(ask(w, "DELETE", w->upload, NULL, NULL, 0), 204);
    assert_true(uploads_are_empty(w));
}

static void test_too_many_requests(void **state)
{
    struct world *w = *state;
    static const char head[] = "PUT /v1/objects/a HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf";
    int fds[STORE_REQUESTS_MAX];

    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        fds[i] = raw_connect(w->port);
        assert_int_equal(send(fds[i], head, strlen(head), 0), (int)strlen(head));
        loop_for(w->loop, 5);
    }
    loop_for(w->loop, 50);
    assert_int_equal(store_server_requests(w->store), STORE_REQUESTS_MAX);
    assert_int_equal(GET("/objects/b"), 503);
    HAS("\"Busy\"");
    assert_true(w->out.retry_after_ms > 0);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        close(fds[i]);
    wait_until_idle(w);
    assert_int_equal(GET("/objects/b"), 404);
    assert_true(uploads_are_empty(w));
}

/* That its folder is mounted so: a restore reads, and nothing else can be done through its store. */
static void test_a_store_that_only_reads(void **state)
{
    struct world *w = *state;
    static const struct {
        const char *method, *path;
    } writes[] = {
        {"PUT", "/objects/a"},
        {"PUT", "/objects/b"},
        {"DELETE", "/objects/a"},
        {"POST", "/uploads/00000000000000000000000000000001/b"},
        {"DELETE", "/uploads/00000000000000000000000000000001/b"},
        {"DELETE", "/uploads?prefix=a"},
    };

    assert_int_equal(ask(w, "PUT", "/objects/a", NULL, "old", 3), 204);
    w->folder.read_only = true;
    for (size_t i = 0; i < ARRAY_LEN(writes); i++) {
        if (ask(w, writes[i].method, writes[i].path, NULL, "new", 3) != 403)
            fail_msg("%s %s: %d %s", writes[i].method, writes[i].path, w->out.status, w->out.body.buf);
        HAS("\"AccessDenied\"");
    }
    assert_int_equal(GET("/objects/a"), 200);
    assert_string_equal(w->out.body.buf, "old");
    assert_int_equal(GET("/objects?prefix=&max=10"), 200);
    HAS("\"a\"");
    assert_int_equal(GET("/objects/b"), 404);
    assert_true(uploads_are_empty(w));
}

/* What is under way goes on; nothing new begins. */
static void test_the_store_closes(void **state)
{
    struct world *w = *state;
    static const char head[] = "PUT /v1/objects/a HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n01234";
    _cleanup_(strbuf_release) struct strbuf answer;
    int fd = raw_connect(w->port);

    strbuf_init(&answer, KM_MIB);
    assert_int_equal(send(fd, head, strlen(head), 0), (int)strlen(head));
    loop_for(w->loop, 50);
    store_server_close(w->store);
    assert_int_equal(GET("/objects/b"), 503);
    HAS("\"Busy\"");
    assert_int_equal(store_server_requests(w->store), 1);
    raw_exchange(w->loop, fd, "56789", 5, &answer);
    assert_non_null(strstr(answer.buf, " 204 "));
    close(fd);
    wait_until_idle(w);
    close_store(w);
    open_store(w, NULL);
    assert_int_equal(GET("/objects/a"), 200);
    assert_string_equal(w->out.body.buf, "0123456789");
}

/* Asks, turns the loop until the store is idle, ends it, and counts what comes. slowly: reads meanwhile, too, less than
 * waits. */
static size_t ask_a_store_that_ends(struct world *w, const char *request, bool slowly, bool *ret_was_done)
{
    const int64_t end_ms = clock_monotonic_ms() + 20000;
    const struct timeval patience = {.tv_sec = 10};
    size_t got = 0;
    ssize_t n;
    int fd = raw_connect(w->port);

    *ret_was_done = false;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    assert_int_equal(send(fd, request, strlen(request), 0), (int)strlen(request));
    while (store_server_requests(w->store) == 0)
        loop_run_once(w->loop, 1);
    while (!store_server_is_idle(w->store, w->http) && clock_monotonic_ms() < end_ms) {
        loop_run_once(w->loop, 1);
        n = slowly ? recv(fd, w->large, 65536, MSG_DONTWAIT) : 0;
        got += n > 0 ? (size_t)n : 0;
        *ret_was_done |= store_server_requests(w->store) == 0 && !store_server_is_idle(w->store, w->http);
    }
    close_store(w);
    loop_run_once(w->loop, 1); /* which closes the socket */
    while ((n = recv(fd, w->large, LARGE_BYTES, 0)) > 0)
        got += (size_t)n;
    close(fd);
    open_store(w, NULL);
    return got;
}

/* A request that is done is not yet an answer that is sent. */
static void test_an_idle_store_has_sent_its_answers(void **state)
{
    static const char get[] = "GET /v1/objects/huge HTTP/1.1\r\nHost: x\r\n\r\n";
    struct world *w = *state;
    _cleanup_(freep) char *path = xasprintf("%s/huge", w->root);
    const size_t bytes = 8 * LARGE_BYTES; /* more than sockets take */
    bool was_done;

    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(ftruncate(fileno(file), (off_t)bytes), 0);
    fclose(file);
    assert_in_range(ask_a_store_that_ends(w, get, true, &was_done), bytes + 50, bytes + 1000);
    assert_true(was_done);
    begin_upload(w, "x");
    assert_int_equal(send_piece(w, 0, "all", 3), 204);
    _cleanup_(freep) char *post = xasprintf("POST /v1%s?bytes=3 HTTP/1.1\r\nHost: x\r\n\r\n", w->upload);
    assert_in_range(ask_a_store_that_ends(w, post, false, &was_done), 20, 1000);
    assert_int_equal(GET("/objects/x"), 200);
}

/* Requests of every kind are under way when it ends. */
static void test_the_store_ends(void **state)
{
    struct world *w = *state;
    struct outcome others[6];

    assert_int_equal(ask(w, "PUT", "/objects/big", NULL, w->large, LARGE_BYTES), 204);
    for (int turns = 0; turns < 24; turns += 2) {
        begin_upload(w, "x");
        _cleanup_(freep) char *piece = piece_path(w, 0);
        _cleanup_(freep) char *post = xasprintf("%s?bytes=10", w->upload);
        for (size_t i = 0; i < ARRAY_LEN(others); i++)
            outcome_init(&others[i]);
        start(w, "PUT", "/objects/a", NULL, w->large, LARGE_BYTES, &others[0]);
        start(w, "PUT", piece, NULL, w->large, LARGE_BYTES, &others[1]);
        start(w, "GET", "/objects/big", NULL, NULL, 0, &others[2]);
        start(w, "GET", "/objects", NULL, NULL, 0, &others[3]);
        start(w, "POST", post, NULL, NULL, 0, &others[4]);
        start(w, "DELETE", "/objects/none", NULL, NULL, 0, &others[5]);
        for (int i = 0; i < turns; i++)
            loop_run_once(w->loop, 1);
        close_store(w);
        for (size_t i = 0; i < ARRAY_LEN(others); i++) {
            assert_true(loop_until(w->loop, &others[i].done, 1));
            outcome_release(&others[i]);
        }
        open_store(w, NULL);
        assert_int_equal(ask(w, "DELETE", w->upload, NULL, NULL, 0), 204);
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
    assert_int_equal(GET("/objects/a"), 403);
    HAS("\"AccessDenied\"");
    assert_int_equal(ask(w, "PUT", "/objects/a", NULL, w->large, LARGE_BYTES), 403);
    assert_true(uploads_are_empty(w));
}

#define WORLD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD(test_objects),
        WORLD(test_another_protocol),
        WORLD(test_a_wrong_digest_changes_nothing),
        WORLD(test_uploads),
        WORLD(test_an_upload_outlives_the_store),
        WORLD(test_peers_that_go),
        WORLD(test_a_piece_that_hangs_is_ended_by_committing),
        WORLD(test_a_full_volume),
        WORLD(test_too_many_requests),
        WORLD(test_a_store_that_only_reads),
        WORLD(test_the_store_closes),
        WORLD(test_an_idle_store_has_sent_its_answers),
        WORLD(test_the_store_ends),
        WORLD(test_strangers),
    };
    log_setup(LOG_ERROR, LOG_FORMAT_TEXT, STDERR_FILENO); /* failures are what is tested here */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
