/* SPDX-License-Identifier: Apache-2.0 */
/* Request bodies that are streamed, and answers of a length that is known before. */
#include "common/base.h"

#include <setjmp.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/sha256.h"
#include "common/tests/http_util.h"

#define LARGE_BYTES ((size_t)(3 * KM_MIB + 17))
#define BODY_MAX ((size_t)(4 * KM_MIB))

struct world {
    struct loop *loop;
    struct http_server *server;
    struct http_client *client;
    uint16_t port;
    struct tls_server *tls; /* NULL: plain */
    struct http_tls *client_tls;
    char *large;
    char *base;
    struct outcome out;
    struct http_exchange *kept;
    struct sha256 sha;
    size_t taken;
    size_t refuse_at; /* bytes */
    bool pausing;     /* each piece pauses until resume() */
    int pieces;
    int handled;
    int ended;
    int gone;
    int closed;
    int fds_before;
};

static void on_data(void *arg, const char *data, size_t len)
{
    struct world *w = arg;
    assert_in_range(len, 1, HTTP_SERVER_PIECE_MAX);
    sha256_add(&w->sha, data, len);
    w->taken += len;
    w->pieces++;
    if (w->refuse_at && w->taken >= w->refuse_at)
        http_replyf(steal_ptr(w->kept), 507, "full");
    else if (w->pausing)
        http_body_pause(w->kept);
}

static void on_end(void *arg)
{
    struct world *w = arg;
    char hex[65];
    w->ended++;
    sha256_hex(&w->sha, hex);
    http_reply(steal_ptr(w->kept), 200, "text/plain", hex, 64);
}

static void on_gone(void *arg)
{
    struct world *w = arg;
    w->gone++;
}

static const struct http_body_reader reader = {on_data, on_end, on_gone};

static void h_put(struct http_exchange *e, void *arg)
{
    struct world *w = arg;
    w->kept = e;
    w->handled++;
    w->taken = 0;
    sha256_release(&w->sha);
    sha256_init(&w->sha);
    if (!http_exchange_query(e, "later"))
        http_body_read(e, &reader, w);
}

static void h_refuse(struct http_exchange *e, void *arg)
{
    UNUSED(arg);
    http_replyf(e, 403, "no");
}

static void on_closed(void *arg)
{
    struct world *w = arg;
    w->closed++;
}

static void h_get(struct http_exchange *e, void *arg)
{
    struct world *w = arg;
    http_stream_start_sized(e, 206, "text/plain", 10, on_closed, w);
    assert_true(http_stream_write(e, "01234", 5));
    if (!http_exchange_query(e, "half"))
        assert_true(http_stream_write(e, "56789", 5));
    http_stream_end(e);
}

static const struct http_route routes[] = {
    {"PUT", "/put", h_put},
    {"PUT", "/refuse", h_refuse},
    {"GET", "/get", h_get},
    {NULL, NULL, NULL},
};

static void make_tls(struct world *w)
{
    static const char *const names[] = {"localhost", NULL};
    struct tls_keypair ca = test_ca("ca");
    struct tls_keypair leaf = test_leaf(&ca, names);
    const struct http_tls_options options = {
        .ca_pem = ca.cert_pem, .cert_pem = leaf.cert_pem, .key_pem = leaf.key_pem, .server_name = "localhost"};
    w->tls = tls_server_new(&leaf, ca.cert_pem, NULL);
    w->client_tls = http_tls_new(&options);
    tls_keypair_release(&leaf);
    tls_keypair_release(&ca);
}

static int set_up_world(void **state, bool tls)
{
    struct world *w = xnew(struct world);
    w->fds_before = count_open_fds();
    if (tls)
        make_tls(w);
    w->large = xmalloc(LARGE_BYTES);
    for (size_t i = 0; i < LARGE_BYTES; i++)
        w->large[i] = (char)(i * 131 >> 3);
    w->loop = loop_new();
    w->server = http_server_new(w->loop, w->tls, routes, w);
    http_server_stream_bodies(w->server, BODY_MAX);
    w->client = http_client_new(w->loop);
    assert_int_equal(http_server_listen(w->server, "127.0.0.1", 0, &w->port, NULL), 0);
    w->base = xasprintf("%s://127.0.0.1:%u", tls ? "https" : "http", w->port);
    outcome_init(&w->out);
    *state = w;
    return 0;
}

static int set_up(void **state)
{
    return set_up_world(state, false);
}

static int set_up_tls(void **state)
{
    return set_up_world(state, true);
}

static int tear_down(void **state)
{
    struct world *w = *state;
    http_client_free(w->client);
    http_server_free(w->server);
    tls_server_free(w->tls);
    http_tls_unref(w->client_tls);
    loop_free(w->loop);
    assert_int_equal(count_open_fds(), w->fds_before);
    sha256_release(&w->sha);
    outcome_release(&w->out);
    free(w->base);
    free(w->large);
    free(w);
    return 0;
}

static struct http_request *start(struct world *w, const char *method, const char *path, size_t len)
{
    _cleanup_(freep) char *url = xasprintf("%s%s", w->base, path);
    const struct http_request_options options = {.method = method,
        .url = url,
        .body = w->large,
        .body_len = len,
        .tls = w->client_tls,
        .done = outcome_done,
        .arg = &w->out};
    w->out.done = 0;
    return http_client_start(w->client, &options);
}

static void run(struct world *w, const char *method, const char *path, size_t len)
{
    start(w, method, path, len);
    assert_true(loop_until(w->loop, &w->out.done, 1));
}

static void assert_put(struct world *w, size_t len)
{
    char hex[65];
    tls_sha256_hex(w->large, len, hex);
    assert_int_equal(w->out.status, 200);
    assert_string_equal(w->out.body.buf, hex);
    assert_int_equal(w->taken, len);
}

static void test_bodies_arrive_whole(void **state)
{
    struct world *w = *state;
    static const size_t sizes[] = {0, 1, HTTP_SERVER_PIECE_MAX, HTTP_SERVER_PIECE_MAX + 1, LARGE_BYTES};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        run(w, "PUT", "/put", sizes[i]);
        assert_put(w, sizes[i]);
        assert_int_equal(w->out.reused, i > 0);
    }
    assert_int_equal(w->ended, (int)ARRAY_LEN(sizes));
    assert_int_equal(w->gone, 0);
}

static void test_reading_later(void **state)
{
    struct world *w = *state;
    start(w, "PUT", "/put?later=1", LARGE_BYTES);
    assert_true(loop_until(w->loop, &w->handled, 1));
    loop_for(w->loop, 30);
    assert_int_equal(w->pieces, 0);
    assert_int_equal(http_exchange_body_length(w->kept), LARGE_BYTES);
    http_body_read(w->kept, &reader, w);
    assert_int_equal(w->pieces, 0); /* never inside the call */
    assert_true(loop_until(w->loop, &w->out.done, 1));
    assert_put(w, LARGE_BYTES);
}

static void test_pausing(void **state)
{
    struct world *w = *state;
    w->pausing = true;
    start(w, "PUT", "/put", LARGE_BYTES);
    assert_true(loop_until(w->loop, &w->pieces, 1));
    for (int pieces = 1; !w->out.done && w->kept; pieces++) {
        loop_for(w->loop, 10);
        assert_int_equal(w->pieces, pieces);
        http_body_resume(w->kept);
        assert_int_equal(w->pieces, pieces); /* never inside the call */
        while (w->pieces == pieces && w->kept)
            loop_run_once(w->loop, 10);
    }
    assert_true(loop_until(w->loop, &w->out.done, 1));
    assert_put(w, LARGE_BYTES);
}

/* Bytes that have been decrypted already are not waited for: whatever the size, and wherever the peer was held back. */
static void test_held_back_at_every_size(void **state)
{
    struct world *w = *state;
    for (size_t i = 0; i < 60; i++) {
        const size_t size = 60000 + i * 1777;
        w->handled = 0;
        start(w, "PUT", "/put?later=1", size);
        assert_true(loop_until(w->loop, &w->handled, 1));
        loop_for(w->loop, 3);
        http_body_read(w->kept, &reader, w);
        assert_true(loop_until(w->loop, &w->out.done, 1));
        assert_put(w, size);
    }
}

static void test_refused_in_the_middle(void **state)
{
    struct world *w = *state;
    w->refuse_at = 200000;
    run(w, "PUT", "/put", LARGE_BYTES);
    assert_int_equal(w->out.status, 507);
    assert_true(w->taken < LARGE_BYTES);
    loop_for(w->loop, 50);
    assert_int_equal(w->ended + w->gone, 0);
    w->refuse_at = 0;
    run(w, "PUT", "/put", 10);
    assert_put(w, 10);
    assert_false(w->out.reused);
}

static void test_refused_without_reading(void **state)
{
    struct world *w = *state;
    run(w, "PUT", "/refuse", LARGE_BYTES);
    assert_int_equal(w->out.status, 403);
    run(w, "PUT", "/put", BODY_MAX / 2);
    assert_put(w, BODY_MAX / 2);
    char *too_large = xcalloc(1, BODY_MAX + 1);
    const char *large = w->large;
    w->large = too_large;
    run(w, "PUT", "/put", BODY_MAX + 1);
    assert_int_equal(w->out.status, 413);
    w->large = (char *)(uintptr_t)large;
    free(too_large);
    assert_int_equal(w->handled, 1);
}

static void test_peer_goes(void **state)
{
    struct world *w = *state;
    struct http_request *request = start(w, "PUT", "/put", LARGE_BYTES);
    w->pausing = true;
    assert_true(loop_until(w->loop, &w->pieces, 1));
    http_request_cancel(request);
    loop_for(w->loop, 20);
    assert_int_equal(w->pieces, 1);
    w->pausing = false; /* who is held back is not listened to */
    http_body_resume(w->kept);
    assert_true(loop_until(w->loop, &w->gone, 1));
    http_replyf(steal_ptr(w->kept), 200, "nobody listens");
    /* It goes before the handler asks for the body. */
    request = start(w, "PUT", "/put?later=1", LARGE_BYTES);
    assert_true(loop_until(w->loop, &w->handled, 2));
    http_request_cancel(request);
    loop_for(w->loop, 20);
    http_body_read(w->kept, &reader, w);
    assert_int_equal(w->gone, 1); /* never inside the call */
    assert_true(loop_until(w->loop, &w->gone, 2));
    http_replyf(steal_ptr(w->kept), 200, "nobody listens");
    assert_int_equal(w->ended, 0);
}

static void test_server_goes(void **state)
{
    struct world *w = *state;
    w->pausing = true;
    start(w, "PUT", "/put", LARGE_BYTES);
    assert_true(loop_until(w->loop, &w->pieces, 1));
    http_server_free(steal_ptr(w->server));
    assert_int_equal(w->gone, 1);
    http_body_resume(w->kept);
    http_replyf(steal_ptr(w->kept), 200, "nobody listens");
    assert_true(loop_until(w->loop, &w->out.done, 1));
    assert_int_equal(w->out.status, 0);
}

static void raw(struct world *w, const char *request, bool shut, struct strbuf *answer)
{
    const int fd = raw_connect(w->port);
    strbuf_reset(answer);
    assert_int_equal(send(fd, request, strlen(request), 0), (int)strlen(request));
    if (shut)
        shutdown(fd, SHUT_WR);
    raw_exchange(w->loop, fd, "", 0, answer);
    close(fd);
}

static void test_bytes_on_the_wire(void **state)
{
    struct world *w = *state;
    _cleanup_(strbuf_release) struct strbuf answer;
    strbuf_init(&answer, KM_MIB);
    raw(w, "PUT /put HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n", false, &answer);
    assert_string_equal(answer.buf, "HTTP/1.1 100 Continue\r\n\r\n");
    loop_for(w->loop, 20);
    assert_int_equal(w->gone, 1);
    http_replyf(steal_ptr(w->kept), 500, "nobody listens");
    /* Refused at once: no 100, and the connection ends. */
    raw(w, "PUT /refuse HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n", false, &answer);
    assert_true(str_starts_with(answer.buf, "HTTP/1.1 403 "));
    assert_non_null(strstr(answer.buf, "Connection: close\r\n"));
    /* A body that nobody wanted, but that is here already, is not read as the next request. */
    raw(w,
        "PUT /refuse HTTP/1.1\r\nHost: x\r\nContent-Length: 16\r\n\r\nGET /get HTTP/1."
        "PUT /put HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
        "HEAD /get HTTP/1.1\r\nHost: x\r\n\r\n",
        false, &answer);
    const char *second = strstr(answer.buf + 1, "HTTP/1.1 200 OK\r\n");
    assert_non_null(second);
    assert_non_null(strstr(second, "\r\n\r\nba7816bf")); /* SHA-256 of abc */
    const char *third = strstr(second, "HTTP/1.1 206 Partial Content\r\n");
    assert_non_null(third);
    assert_non_null(strstr(third, "Content-Length: 10\r\n"));
    assert_string_equal(strstr(third, "\r\n\r\n"), "\r\n\r\n");
    /* Half a body, and the peer has shut its side. */
    raw(w, "PUT /put HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nabc", true, &answer);
    assert_int_equal(answer.len, 0);
    assert_int_equal(w->gone, 2);
    http_replyf(steal_ptr(w->kept), 500, "nobody listens");
    assert_int_equal(http_server_connections(w->server), 0);
}

static void test_sized_answers(void **state)
{
    struct world *w = *state;
    run(w, "GET", "/get", 0);
    assert_int_equal(w->out.status, 206);
    assert_string_equal(w->out.body.buf, "0123456789");
    run(w, "GET", "/get", 0);
    assert_true(w->out.reused);
    run(w, "GET", "/get?half=1", 0);
    assert_true(w->out.err.kind == ERROR_PROTOCOL || w->out.err.kind == ERROR_UNAVAILABLE);
    assert_int_equal(w->closed, 0);
}

#define WORLD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
#define TLS(test)                                         \
    {                                                     \
#test " (TLS)", test, set_up_tls, tear_down, NULL \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD(test_bodies_arrive_whole),
        WORLD(test_reading_later),
        WORLD(test_pausing),
        WORLD(test_held_back_at_every_size),
        WORLD(test_refused_in_the_middle),
        WORLD(test_refused_without_reading),
        WORLD(test_peer_goes),
        WORLD(test_server_goes),
        WORLD(test_bytes_on_the_wire),
        WORLD(test_sized_answers),
        TLS(test_bodies_arrive_whole),
        TLS(test_reading_later),
        TLS(test_pausing),
        TLS(test_held_back_at_every_size),
        TLS(test_refused_in_the_middle),
        TLS(test_refused_without_reading),
        TLS(test_peer_goes),
        TLS(test_server_goes),
        TLS(test_sized_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
