/* SPDX-License-Identifier: Apache-2.0 */
/* The client against the server: plain HTTP, limits, streams, cancelling at every point. */
#include "common/base.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/tests/http_util.h"

struct world {
    struct loop *loop;
    struct http_server *server;
    struct http_client *client;
    uint16_t port;
    char *base;
    struct http_exchange *kept; /* by a handler that answers later */
    int kept_count;
    int closed;
    int drained;
    int produced_bytes;
    bool refused; /* http_stream_write said false */
    struct outcome out;
    struct http_request *request; /* for callbacks that cancel it */
    int fds_before;
};

static void h_hello(struct http_exchange *e, void *arg)
{
    UNUSED(arg);
    http_reply(e, 200, "text/plain", "hello", 5);
}

static void h_echo(struct http_exchange *e, void *arg)
{
    UNUSED(arg);
    size_t len = 0;
    const char *body = http_exchange_body(e, &len);
    http_exchange_add_header(e, "X-Method", http_exchange_method(e));
    http_reply(e, 200, http_exchange_header(e, "content-TYPE"), body, len);
}

static void h_query(struct http_exchange *e, void *arg)
{
    UNUSED(arg);
    const char *a = http_exchange_query(e, "a");
    const char *b = http_exchange_query(e, "b b");
    http_replyf(e, 200, "%s|%s|%s|%s", http_exchange_path(e), a ? a : "-", b ? b : "-",
        http_exchange_query(e, "none") ? "?" : "-");
}

static void h_busy(struct http_exchange *e, void *arg)
{
    UNUSED(arg);
    if (http_exchange_query(e, "date")) {
        char text[64];
        const time_t when = time(NULL) + 30;
        struct tm tm;
        gmtime_r(&when, &tm);
        strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &tm);
        http_exchange_add_header(e, "Retry-After", text);
    } else {
        http_exchange_add_header(e, "Retry-After", "7");
    }
    http_replyf(e, 429, "slow down");
}

static void h_redirect(struct http_exchange *e, void *arg)
{
    UNUSED(arg);
    http_exchange_add_header(e, "Location", "/hello");
    http_replyf(e, 302, "over there");
}

static void h_big(struct http_exchange *e, void *arg)
{
    UNUSED(arg);
    const int status = http_exchange_query(e, "fail") ? 500 : 200;
    char *body = xmalloc(200000);
    memset(body, 'x', 200000);
    http_reply(e, status, "text/plain", body, 200000);
    free(body);
}

static void h_later(struct http_exchange *e, void *arg)
{
    struct world *w = arg;
    w->kept = e;
    w->kept_count++;
}

static void on_stream_closed(void *arg)
{
    struct world *w = arg;
    w->closed++;
    w->kept = NULL;
}

static void h_stream(struct http_exchange *e, void *arg)
{
    struct world *w = arg;
    w->kept = e;
    w->kept_count++;
    http_stream_start(e, 200, "application/json", on_stream_closed, w);
}

static void fill(struct world *w)
{
    char piece[8192];
    memset(piece, 'p', sizeof(piece));
    while (w->produced_bytes < 4 * KM_MIB) {
        if (!http_stream_write(w->kept, piece, sizeof(piece))) {
            w->refused = true;
            return;
        }
        w->produced_bytes += (int)sizeof(piece);
    }
    http_stream_end(w->kept);
    w->kept = NULL;
}

static void on_drain(void *arg)
{
    struct world *w = arg;
    w->drained++;
    fill(w);
    if (w->kept)
        http_stream_on_drain(w->kept, on_drain, w);
}

static void h_flood(struct http_exchange *e, void *arg)
{
    struct world *w = arg;
    w->kept = e;
    http_stream_start(e, 200, NULL, on_stream_closed, w);
    http_stream_on_drain(e, on_drain, w);
}

static void h_abort(struct http_exchange *e, void *arg)
{
    struct world *w = arg;
    http_stream_start(e, 200, NULL, on_stream_closed, w);
    http_stream_write(e, "half", 4);
    http_stream_abort(e);
}

static const struct http_route routes[] = {
    {"GET", "/hello", h_hello},
    {"PUT", "/echo", h_echo},
    {"POST", "/echo", h_echo},
    {"GET", "/q/*", h_query},
    {"GET", "/busy", h_busy},
    {"GET", "/redirect", h_redirect},
    {"GET", "/big", h_big},
    {"GET", "/later", h_later},
    {"GET", "/stream", h_stream},
    {"GET", "/flood", h_flood},
    {"GET", "/abort", h_abort},
    {NULL, NULL, NULL},
};

static int set_up(void **state)
{
    struct world *w = xnew(struct world);
    w->fds_before = count_open_fds();
    w->loop = loop_new();
    w->server = http_server_new(w->loop, NULL, routes, w);
    w->client = http_client_new(w->loop);
    assert_int_equal(http_server_listen(w->server, "127.0.0.1", 0, &w->port, NULL), 0);
    w->base = xasprintf("http://127.0.0.1:%u", w->port);
    outcome_init(&w->out);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    http_client_free(w->client);
    http_server_free(w->server);
    loop_free(w->loop);
    assert_int_equal(count_open_fds(), w->fds_before);
    outcome_release(&w->out);
    free(w->base);
    free(w);
    return 0;
}

static struct http_request *start(struct world *w, struct http_request_options options, const char *path)
{
    char *url = xasprintf("%s%s", w->base, path);
    options.url = url;
    if (!options.method)
        options.method = "GET";
    if (!options.done)
        options.done = outcome_done;
    if (!options.arg)
        options.arg = &w->out;
    w->request = http_client_start(w->client, &options);
    free(url);
    return w->request;
}

static void get(struct world *w, struct http_request_options options, const char *path)
{
    start(w, options, path);
    assert_int_equal(w->out.done, 0); /* never inside start */
    assert_true(loop_until(w->loop, &w->out.done, 1));
    loop_for(w->loop, 5);
    assert_int_equal(w->out.done, 1);
    w->out.done = 0;
}

#define OPTIONS(...) ((struct http_request_options){__VA_ARGS__})
#define PLAIN OPTIONS(.method = "GET")

static void test_get_and_reuse(void **state)
{
    struct world *w = *state;
    get(w, PLAIN, "/hello");
    assert_int_equal(w->out.status, 200);
    assert_string_equal(w->out.body.buf, "hello");
    assert_false(w->out.reused);
    assert_true(w->out.sent);
    assert_int_equal(w->out.http_version, 11);
    get(w, PLAIN, "/hello");
    assert_true(w->out.reused);
    size_t connections = 0;
    size_t in_flight = 9;
    http_client_stats(w->client, &connections, &in_flight);
    assert_int_equal(connections, 1);
    assert_int_equal(in_flight, 0);
    http_client_drop_idle(w->client);
    loop_for(w->loop, 20);
    http_client_stats(w->client, &connections, NULL);
    assert_int_equal(connections, 0);
    get(w, PLAIN, "/hello");
    assert_false(w->out.reused);
}

static void test_methods_and_bodies(void **state)
{
    struct world *w = *state;
    static const char *const headers[] = {"Content-Type: application/x-test", NULL};
    get(w, OPTIONS(.method = "PUT", .body = "some\0body", .body_len = 9, .headers = headers), "/echo");
    assert_int_equal(w->out.status, 200);
    assert_int_equal(w->out.body.len, 9);
    assert_memory_equal(w->out.body.buf, "some\0body", 9);
    get(w, OPTIONS(.method = "POST"), "/echo");
    assert_int_equal(w->out.status, 200);
    assert_int_equal(w->out.body.len, 0);
    get(w, OPTIONS(.method = "HEAD"), "/hello");
    assert_int_equal(w->out.status, 200);
    assert_int_equal(w->out.body.len, 0);
    get(w, OPTIONS(.method = "DELETE"), "/hello");
    assert_int_equal(w->out.status, 405);
    get(w, PLAIN, "/nowhere");
    assert_int_equal(w->out.status, 404);
    get(w, PLAIN, "/q/x%20y?a=1+2&b%20b=%2Fz&c");
    assert_string_equal(w->out.body.buf, "/q/x y|1 2|/z|-\n");
    char *large = xcalloc(1, HTTP_SERVER_BODY_MAX + 1);
    get(w, OPTIONS(.method = "PUT", .body = large, .body_len = HTTP_SERVER_BODY_MAX), "/echo");
    assert_int_equal(w->out.status, 200);
    assert_int_equal(w->out.body.len, HTTP_SERVER_BODY_MAX);
    get(w, OPTIONS(.method = "PUT", .body = large, .body_len = HTTP_SERVER_BODY_MAX + 1), "/echo");
    assert_int_equal(w->out.status, 413);
    free(large);
}

static void headers_done(void *arg, const struct http_response *response, const struct error *err)
{
    struct world *w = arg;
    outcome_done(&w->out, response, err);
    assert_int_equal(http_request_status(w->request), response->status);
    assert_string_equal(http_request_header(w->request, "x-METHOD"), "PUT");
    assert_null(http_request_header(w->request, "X-None"));
}

/* The body is sent from where it lies, and answers have headers. */
static void test_kept_body_and_headers(void **state)
{
    struct world *w = *state;
    char *body = xmalloc(HTTP_SERVER_BODY_MAX);
    memset(body, 'b', HTTP_SERVER_BODY_MAX);
    start(w,
        OPTIONS(.method = "PUT", .body = body, .body_len = HTTP_SERVER_BODY_MAX, .body_stays = true,
            .done = headers_done, .arg = w),
        "/echo");
    body[HTTP_SERVER_BODY_MAX - 1] = 'e'; /* seen: nothing was copied */
    assert_true(loop_until(w->loop, &w->out.done, 1));
    assert_int_equal(w->out.body.len, HTTP_SERVER_BODY_MAX);
    assert_memory_equal(w->out.body.buf, body, HTTP_SERVER_BODY_MAX);
    /* After a cancel it may go at once. */
    w->out.done = 0;
    for (int turns = 0; turns < 8; turns++) {
        start(w, OPTIONS(.method = "PUT", .body = body, .body_len = HTTP_SERVER_BODY_MAX, .body_stays = true), "/echo");
        for (int i = 0; i < turns && w->out.done == 0; i++)
            loop_run_once(w->loop, 0);
        if (w->out.done == 0)
            http_request_cancel(w->request);
        w->out.done = 0;
        free(body);
        body = xcalloc(1, HTTP_SERVER_BODY_MAX);
        loop_for(w->loop, 5);
        assert_int_equal(w->out.done, 0);
    }
    free(body);
}

static void test_retry_after(void **state)
{
    struct world *w = *state;
    get(w, PLAIN, "/busy");
    assert_int_equal(w->out.status, 429);
    assert_int_equal(w->out.err.kind, ERROR_NONE);
    assert_int_equal(w->out.retry_after_ms, 7000);
    get(w, PLAIN, "/busy?date=1");
    assert_in_range(w->out.retry_after_ms, 27000, 31000);
    get(w, PLAIN, "/hello");
    assert_int_equal(w->out.retry_after_ms, 0);
}

static void test_redirect_is_an_answer(void **state)
{
    struct world *w = *state;
    get(w, PLAIN, "/redirect");
    assert_int_equal(w->out.status, 302);
    assert_string_equal(w->out.body.buf, "over there\n");
}

static void test_oversized_body(void **state)
{
    struct world *w = *state;
    get(w, OPTIONS(.max_body = 199999), "/big");
    assert_int_equal(w->out.err.kind, ERROR_TOO_LARGE);
    get(w, OPTIONS(.max_body = 200000), "/big");
    assert_int_equal(w->out.err.kind, ERROR_NONE);
    assert_int_equal(w->out.body.len, 200000);
    get(w, OPTIONS(.data = outcome_data), "/big?fail=1");
    assert_int_equal(w->out.status, 500);
    assert_int_equal(w->out.err.kind, ERROR_NONE);
    assert_int_equal(w->out.body.len, KUBE_ERROR_BODY_MAX);
    assert_int_equal(w->out.data_calls, 0);
}

static void test_refused_and_bad_url(void **state)
{
    struct world *w = *state;
    /* A port that was ours a moment ago. */
    http_server_free(w->server);
    w->server = NULL;
    loop_for(w->loop, 10);
    get(w, PLAIN, "/hello");
    assert_int_equal(w->out.status, 0);
    assert_int_equal(w->out.err.kind, ERROR_UNAVAILABLE);
    assert_int_equal(w->out.err.code, ECONNREFUSED);
    assert_false(w->out.sent);
    str_replace(&w->base, "gopher://127.0.0.1");
    get(w, PLAIN, "/");
    assert_int_equal(w->out.err.kind, ERROR_INVALID);
}

static void test_truncated_stream(void **state)
{
    struct world *w = *state;
    get(w, OPTIONS(.data = outcome_data), "/abort");
    assert_true(w->out.err.kind == ERROR_PROTOCOL || w->out.err.kind == ERROR_UNAVAILABLE);
    assert_int_equal(w->closed, 0); /* the aborter knows */
    get(w, PLAIN, "/hello");
    assert_int_equal(w->out.status, 200);
}

static void test_server_dies_in_mid_body(void **state)
{
    struct world *w = *state;
    start(w, OPTIONS(.data = outcome_data), "/stream");
    assert_true(loop_until(w->loop, &w->kept_count, 1));
    http_stream_write(w->kept, "abc", 3);
    assert_true(loop_until(w->loop, &w->out.data_calls, 1));
    http_server_free(w->server);
    w->server = NULL;
    assert_int_equal(w->closed, 1);
    assert_true(loop_until(w->loop, &w->out.done, 1));
    assert_true(w->out.err.kind == ERROR_PROTOCOL || w->out.err.kind == ERROR_UNAVAILABLE);
    assert_string_equal(w->out.streamed.buf, "abc");
}

static void test_answer_later(void **state)
{
    struct world *w = *state;
    start(w, PLAIN, "/later");
    assert_true(loop_until(w->loop, &w->kept_count, 1));
    loop_for(w->loop, 30);
    assert_int_equal(w->out.done, 0);
    http_replyf(w->kept, 200, "now");
    assert_true(loop_until(w->loop, &w->out.done, 1));
    assert_string_equal(w->out.body.buf, "now\n");
    /* The peer goes before the answer. */
    http_request_cancel(start(w, PLAIN, "/later"));
    start(w, PLAIN, "/later");
    assert_true(loop_until(w->loop, &w->kept_count, 2));
    http_request_cancel(w->request);
    loop_for(w->loop, 30);
    http_replyf(w->kept, 200, "nobody listens");
    loop_for(w->loop, 30);
    assert_int_equal(w->out.done, 1);
}

static void test_timeouts(void **state)
{
    struct world *w = *state;
    get(w, OPTIONS(.idle_timeout_ms = 60), "/later");
    assert_int_equal(w->out.err.kind, ERROR_TIMEOUT);
    assert_true(w->out.sent);
    http_replyf(steal_ptr(w->kept), 200, "late");
    get(w, OPTIONS(.timeout_ms = 60), "/later");
    assert_int_equal(w->out.err.kind, ERROR_TIMEOUT);
    http_replyf(steal_ptr(w->kept), 200, "late");
    /* Bytes push the idle time-out ahead, by far more than a busy machine sleeps. */
    start(w, OPTIONS(.idle_timeout_ms = 1000, .data = outcome_data), "/stream");
    assert_true(loop_until(w->loop, &w->kept_count, 3));
    for (int i = 0; i < 6; i++) {
        http_stream_write(w->kept, "x", 1);
        loop_for(w->loop, 200);
    }
    assert_int_equal(w->out.done, 0);
    assert_true(loop_until(w->loop, &w->out.done, 1));
    assert_int_equal(w->out.err.kind, ERROR_TIMEOUT);
    assert_int_equal(w->out.streamed.len, 6);
    assert_true(loop_until(w->loop, &w->closed, 1));
}

static void test_pause_and_resume(void **state)
{
    struct world *w = *state;
    start(w, OPTIONS(.data = outcome_data, .idle_timeout_ms = 100), "/flood");
    assert_true(loop_until(w->loop, &w->out.data_calls, 1));
    http_request_pause(w->request);
    loop_for(w->loop, 20);
    const size_t at_pause = w->out.streamed.len;
    loop_for(w->loop, 200); /* longer than the idle time-out, which must stand still */
    assert_int_equal(w->out.streamed.len, at_pause);
    assert_int_equal(w->out.done, 0);
    http_request_resume(w->request);
    http_request_pause(w->request);
    loop_for(w->loop, 20);
    assert_int_equal(w->out.streamed.len, at_pause);
    http_request_resume(w->request);
    assert_int_equal(w->out.streamed.len, at_pause); /* never inside resume */
    assert_true(loop_until(w->loop, &w->out.done, 1));
    assert_int_equal(w->out.err.kind, ERROR_NONE);
    assert_int_equal(w->out.streamed.len, 4 * KM_MIB);
}

static void test_back_pressure(void **state)
{
    struct world *w = *state;
    const int fd = raw_connect(w->port);
    const char request[] = "GET /flood HTTP/1.1\r\nHost: x\r\n\r\n";
    const int small = 4096;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    assert_int_equal(send(fd, request, strlen(request), 0), (int)strlen(request));
    loop_for(w->loop, 150);
    assert_true(w->refused);
    const int produced = w->produced_bytes;
    assert_true(produced < 4 * KM_MIB);
    loop_for(w->loop, 50);
    assert_int_equal(w->produced_bytes, produced); /* held back while nobody reads */
    close(fd);
    assert_true(loop_until(w->loop, &w->closed, 1));
    assert_true(connections_become(w->loop, w->server, 0));
}

static int data_cancel(void *arg, const char *data, size_t len)
{
    UNUSED(data);
    UNUSED(len);
    struct world *w = arg;
    w->out.data_calls++;
    http_request_cancel(w->request);
    return 0;
}

static int data_refuse(void *arg, const char *data, size_t len)
{
    UNUSED(arg);
    UNUSED(data);
    UNUSED(len);
    return -1;
}

static void world_done(void *arg, const struct http_response *response, const struct error *err)
{
    outcome_done(&((struct world *)arg)->out, response, err);
}

static void test_cancel_in_data(void **state)
{
    struct world *w = *state;
    start(w, OPTIONS(.data = data_cancel, .done = world_done, .arg = w), "/flood");
    assert_true(loop_until(w->loop, &w->closed, 1));
    assert_int_equal(w->out.data_calls, 1);
    assert_int_equal(w->out.done, 0);
    get(w, OPTIONS(.data = data_refuse, .done = world_done, .arg = w), "/big");
    assert_int_equal(w->out.err.kind, ERROR_CANCELLED);
    size_t in_flight = 9;
    http_client_stats(w->client, NULL, &in_flight);
    assert_int_equal(in_flight, 0);
}

/* Cancels another request and starts a third from inside a data callback, where libcurl is on the stack. */
struct pair {
    struct world *w;
    struct http_request *victim;
    bool did;
};

static int data_meddle(void *arg, const char *data, size_t len)
{
    UNUSED(data);
    UNUSED(len);
    struct pair *pair = arg;
    if (!pair->did) {
        pair->did = true;
        http_request_cancel(pair->victim);
        start(pair->w, PLAIN, "/hello");
    }
    return 0;
}

static void pair_done(void *arg, const struct http_response *response, const struct error *err)
{
    outcome_done(&((struct pair *)arg)->w->out, response, err);
}

static void test_meddling_in_data(void **state)
{
    struct world *w = *state;
    struct outcome victim;
    outcome_init(&victim);
    struct pair pair = {.w = w};
    pair.victim = start(w, OPTIONS(.arg = &victim), "/later");
    assert_true(loop_until(w->loop, &w->kept_count, 1));
    start(w, OPTIONS(.data = data_meddle, .done = pair_done, .arg = &pair), "/big");
    assert_true(loop_until(w->loop, &w->out.done, 2));
    assert_int_equal(victim.done, 0);
    loop_for(w->loop, 20);
    http_replyf(w->kept, 200, "x");
    outcome_release(&victim);
}

/* Cancelling after every number of turns finds every state of a request. */
static void test_cancel_at_every_point(void **state)
{
    struct world *w = *state;
    for (int turns = 0; turns < 25; turns++) {
        w->out.done = 0;
        struct http_request *request = start(w, OPTIONS(.data = outcome_data), "/big");
        for (int i = 0; i < turns && !w->out.done; i++)
            loop_run_once(w->loop, 2);
        if (!w->out.done)
            http_request_cancel(request);
        const int done = w->out.done;
        loop_for(w->loop, 3);
        assert_int_equal(w->out.done, done);
    }
    w->out.done = 0;
    get(w, PLAIN, "/hello");
    assert_int_equal(w->out.status, 200);
}

static void chain_done(void *arg, const struct http_response *response, const struct error *err)
{
    struct world *w = arg;
    outcome_done(&w->out, response, err);
    if (w->out.done < 10)
        start(w, OPTIONS(.done = chain_done, .arg = w), w->out.done % 3 == 0 ? "/big" : "/hello");
}

static void test_start_in_done(void **state)
{
    struct world *w = *state;
    start(w, OPTIONS(.done = chain_done, .arg = w), "/hello");
    assert_true(loop_until(w->loop, &w->out.done, 10));
}

static void test_free_with_requests_in_flight(void **state)
{
    struct world *w = *state;
    start(w, PLAIN, "/later");
    start(w, PLAIN, "/hello");
    start(w, OPTIONS(.data = outcome_data), "/stream");
    loop_run_once(w->loop, 5);
    http_client_free(w->client);
    w->client = NULL;
    loop_for(w->loop, 30);
    assert_int_equal(w->out.done, 0);
    if (w->kept)
        http_replyf(w->kept, 200, "x");
}

static const struct {
    const char *request;
    const char *status; /* what the answer begins with; "" for none */
} raw_cases[] = {
    {"GET /hello HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 200 "},
    {"\r\n\r\nGET /hello HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 200 "},
    {"GET /hello HTTP/1.0\r\n\r\n", "HTTP/1.1 200 "},
    {"GET http://x/hello HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 200 "},
    {"GET /%68ello HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 200 "},
    {"GET /hello HTTP/1.1\r\n\r\n", "HTTP/1.1 400 "},
    {"GET /hello HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", "HTTP/1.1 400 "},
    {"GET /hello%00 HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 400 "},
    {"GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 400 "},
    {"GET hello HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 400 "},
    {"GET /hello HTTP/2.0\r\nHost: x\r\n\r\n", "HTTP/1.1 505 "},
    {"GET /hello HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n", "HTTP/1.1 400 "},
    {"GET /hello HTTP/1.1\r\nHost: x\nA: b\r\n\r\n", "HTTP/1.1 400 "},
    {"GET /hello HTTP/1.1\r\nHost : x\r\n\r\n", "HTTP/1.1 400 "},
    {"PUT /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "HTTP/1.1 411 "},
    {"PUT /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n", "HTTP/1.1 400 "},
    {"PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 400 "},
    {"PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: -3\r\n\r\n", "HTTP/1.1 400 "},
    {"PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n", "HTTP/1.1 413 "},
    {"PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n", "HTTP/1.1 100 "},
    {"PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: more\r\n\r\n", "HTTP/1.1 417 "},
    {"PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nab", ""},
    {"GET /hello HTTP/1.1\r\nHost: x\r\n", ""},
};

static void test_raw_requests(void **state)
{
    struct world *w = *state;
    for (size_t i = 0; i < ARRAY_LEN(raw_cases); i++) {
        struct strbuf answer;
        strbuf_init(&answer, KM_MIB);
        const int fd = raw_connect(w->port);
        raw_exchange(w->loop, fd, raw_cases[i].request, strlen(raw_cases[i].request), &answer);
        close(fd);
        if (!*raw_cases[i].status && answer.len == 0) {
            strbuf_release(&answer);
            continue;
        }
        if (!*raw_cases[i].status || !str_starts_with(answer.buf, raw_cases[i].status))
            fail_msg("case %zu: wanted '%s', got '%s'", i, raw_cases[i].status, answer.buf);
        strbuf_release(&answer);
    }
    assert_true(connections_become(w->loop, w->server, 0));
}

static void test_oversized_head(void **state)
{
    struct world *w = *state;
    struct strbuf request;
    struct strbuf answer;
    strbuf_init(&request, KM_MIB);
    strbuf_init(&answer, KM_MIB);
    strbuf_adds(&request, "GET /hello HTTP/1.1\r\nHost: x\r\nA: ");
    while (request.len < HTTP_SERVER_HEADERS_MAX + 100)
        strbuf_addc(&request, 'a');
    const int fd = raw_connect(w->port);
    raw_exchange(w->loop, fd, request.buf, request.len, &answer);
    assert_true(str_starts_with(answer.buf, "HTTP/1.1 431 "));
    close(fd);
    strbuf_release(&request);
    strbuf_release(&answer);
}

static void test_pipelined_and_half_closed(void **state)
{
    struct world *w = *state;
    struct strbuf answer;
    strbuf_init(&answer, KM_MIB);
    const char request[] = "GET /hello HTTP/1.1\r\nHost: x\r\n\r\nHEAD /hello HTTP/1.1\r\nHost: x\r\n\r\n"
                           "PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc";
    const int fd = raw_connect(w->port);
    assert_int_equal(send(fd, request, strlen(request), 0), (int)strlen(request));
    raw_exchange(w->loop, fd, "", 0, &answer);
    const char *first = strstr(answer.buf, "\r\n\r\nhelloHTTP/1.1 200 OK");
    assert_non_null(first);
    const char *second = strstr(first + 4, "\r\n\r\nHTTP/1.1 200 OK"); /* HEAD: no body */
    assert_non_null(second);
    assert_non_null(strstr(second + 4, "\r\n\r\nabc"));
    /* A peer that shuts its side after the request still gets the answer. */
    strbuf_reset(&answer);
    const char last[] = "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n";
    assert_int_equal(send(fd, last, strlen(last), 0), (int)strlen(last));
    shutdown(fd, SHUT_WR);
    raw_exchange(w->loop, fd, "", 0, &answer);
    assert_non_null(strstr(answer.buf, "\r\n\r\nhello"));
    assert_true(connections_become(w->loop, w->server, 0));
    close(fd);
    strbuf_release(&answer);
}

/* Whoever has begun one holds its memory until it is answered or gone. */
static void test_large_bodies_at_a_time(void **state)
{
    struct world *w = *state;
    int fds[HTTP_SERVER_LARGE_BODIES_MAX];
    static const char large[HTTP_SERVER_PIECE_MAX + 1];
    const char head[] = "PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 65537\r\n\r\n";
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        fds[i] = raw_connect(w->port);
        assert_int_equal(send(fds[i], head, strlen(head), 0), (int)strlen(head));
    }
    loop_for(w->loop, 50);
    get(w, OPTIONS(.method = "PUT", .body = large, .body_len = sizeof(large)), "/echo");
    assert_int_equal(w->out.status, 503);
    get(w, OPTIONS(.method = "PUT", .body = large, .body_len = sizeof(large) - 1), "/echo");
    assert_int_equal(w->out.status, 200);
    close(fds[0]);
    loop_for(w->loop, 50);
    for (int i = 0; i < 3; i++, assert_int_equal(w->out.status, 200)) /* its own is let go with the answer */
        get(w, OPTIONS(.method = "PUT", .body = large, .body_len = sizeof(large)), "/echo");
    for (size_t i = 1; i < ARRAY_LEN(fds); i++)
        close(fds[i]);
}

static void test_connection_limit(void **state)
{
    struct world *w = *state;
    int fds[HTTP_SERVER_CONNECTIONS_MAX];
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        fds[i] = raw_connect(w->port);
        if (i % 16 == 0)
            loop_for(w->loop, 5);
    }
    assert_true(connections_become(w->loop, w->server, HTTP_SERVER_CONNECTIONS_MAX));
    get(w, PLAIN, "/hello");
    assert_int_equal(w->out.status, 503);
    close(fds[0]);
    assert_true(connections_become(w->loop, w->server, HTTP_SERVER_CONNECTIONS_MAX - 1));
    get(w, PLAIN, "/hello");
    assert_int_equal(w->out.status, 200);
    for (size_t i = 1; i < ARRAY_LEN(fds); i++)
        close(fds[i]);
    assert_true(connections_become(w->loop, w->server, 1));
}

static void test_http_1_0_stream(void **state)
{
    struct world *w = *state;
    struct strbuf answer;
    strbuf_init(&answer, KM_MIB);
    const int fd = raw_connect(w->port);
    const char request[] = "GET /stream HTTP/1.0\r\n\r\n";
    assert_int_equal(send(fd, request, strlen(request), 0), (int)strlen(request));
    assert_true(loop_until(w->loop, &w->kept_count, 1));
    http_stream_write(w->kept, "one ", 4);
    loop_for(w->loop, 20);
    http_stream_end(w->kept);
    raw_exchange(w->loop, fd, "", 0, &answer);
    assert_non_null(strstr(answer.buf, "\r\n\r\none "));
    assert_null(strstr(answer.buf, "chunked"));
    char byte;
    assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), 0); /* the end of the body */
    close(fd);
    strbuf_release(&answer);
}

#define WORLD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD(test_get_and_reuse),
        WORLD(test_methods_and_bodies),
        WORLD(test_kept_body_and_headers),
        WORLD(test_retry_after),
        WORLD(test_redirect_is_an_answer),
        WORLD(test_oversized_body),
        WORLD(test_refused_and_bad_url),
        WORLD(test_truncated_stream),
        WORLD(test_server_dies_in_mid_body),
        WORLD(test_answer_later),
        WORLD(test_timeouts),
        WORLD(test_pause_and_resume),
        WORLD(test_back_pressure),
        WORLD(test_cancel_in_data),
        WORLD(test_meddling_in_data),
        WORLD(test_cancel_at_every_point),
        WORLD(test_start_in_done),
        WORLD(test_free_with_requests_in_flight),
        WORLD(test_raw_requests),
        WORLD(test_oversized_head),
        WORLD(test_pipelined_and_half_closed),
        WORLD(test_large_bodies_at_a_time),
        WORLD(test_connection_limit),
        WORLD(test_http_1_0_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
