/* SPDX-License-Identifier: Apache-2.0 */
/* What a stream takes at once. */
#include "common/base.h"

#include <setjmp.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/tests/http_util.h"

#define LARGE_BYTES ((size_t)(2 * HTTP_SERVER_STREAM_BUFFER_MAX))
/* More than sockets take. */
#define HUGE_BYTES ((size_t)(32 * KM_MIB))

struct world {
    struct http_exchange *stream;
    char *piece;
    int drained;
};

static void on_drain(void *arg)
{
    struct world *w = arg;

    w->drained++;
    assert_true(http_stream_write(w->stream, w->piece, LARGE_BYTES)); /* nothing waits */
    assert_false(http_stream_write(w->stream, w->piece, 1));
    http_stream_end(w->stream);
}

static void handle(struct http_exchange *exchange, void *arg)
{
    struct world *w = arg;

    w->stream = exchange;
    http_stream_start(exchange, 200, NULL, NULL, NULL);
    assert_true(http_stream_write(exchange, "x", 1));
    assert_false(http_stream_write(exchange, w->piece, LARGE_BYTES)); /* the head and a byte wait */
    http_stream_on_drain(exchange, on_drain, w);
}

static void test_a_piece_larger_than_the_buffer_goes_alone(void **state)
{
    static const struct http_route routes[] = {{"GET", "/", handle}, {NULL, NULL, NULL}};
    struct world w = {.piece = xcalloc(1, LARGE_BYTES)};
    struct outcome out;
    uint16_t port = 0;
    struct loop *loop = loop_new();
    struct http_server *server = http_server_new(loop, NULL, routes, &w);
    struct http_client *client = http_client_new(loop);

    UNUSED(state);
    outcome_init(&out);
    assert_int_equal(http_server_listen(server, "127.0.0.1", 0, &port, NULL), 0);
    _cleanup_(freep) char *url = xasprintf("http://127.0.0.1:%u/", port);
    http_client_start(
        client, &(struct http_request_options){.method = "GET", .url = url, .done = outcome_done, .arg = &out});
    assert_true(loop_until(loop, &out.done, 1));
    assert_int_equal(out.body.len, 1 + LARGE_BYTES);
    assert_int_equal(w.drained, 1);
    http_client_free(client);
    http_server_free(server);
    loop_free(loop);
    outcome_release(&out);
    free(w.piece);
}

static void on_drain_end(void *arg)
{
    struct world *w = arg;

    assert_true(http_stream_write(w->stream, w->piece, HUGE_BYTES));
    http_stream_end(w->stream);
    w->drained++;
}

static void handle_huge(struct http_exchange *exchange, void *arg)
{
    struct world *w = arg;

    w->stream = exchange;
    http_stream_start_sized(exchange, 200, NULL, HUGE_BYTES, NULL, NULL);
    http_stream_on_drain(exchange, on_drain_end, w);
}

/* The exchange is over for whoever answers, and its answer is not sent. */
static void test_what_is_unsent_is_told(void **state)
{
    static const struct http_route routes[] = {{"GET", "/", handle_huge}, {NULL, NULL, NULL}};
    static const char request[] = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    struct world w = {.piece = xcalloc(1, HUGE_BYTES)};
    uint16_t port = 0;
    struct loop *loop = loop_new();
    struct http_server *server = http_server_new(loop, NULL, routes, &w);
    size_t read_bytes = 0;

    UNUSED(state);
    assert_int_equal(http_server_listen(server, "127.0.0.1", 0, &port, NULL), 0);
    assert_int_equal(http_server_unsent(server), 0);
    int fd = raw_connect(port);
    assert_int_equal(write(fd, request, sizeof(request) - 1), sizeof(request) - 1);
    assert_true(loop_until(loop, &w.drained, 1));
    loop_for(loop, 100);
    assert_in_range(http_server_unsent(server), 1, HUGE_BYTES);
    while (http_server_connections(server) > 0 && read_bytes < 2 * HUGE_BYTES) {
        loop_run_once(loop, 1);
        ssize_t n = recv(fd, w.piece, HUGE_BYTES, MSG_DONTWAIT);
        read_bytes += n > 0 ? (size_t)n : 0;
        if (n == 0)
            break;
    }
    assert_true(read_bytes > HUGE_BYTES);
    assert_int_equal(http_server_unsent(server), 0);
    close(fd);
    http_server_free(server);
    loop_free(loop);
    free(w.piece);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_piece_larger_than_the_buffer_goes_alone),
        cmocka_unit_test(test_what_is_unsent_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
