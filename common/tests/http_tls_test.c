/* SPDX-License-Identifier: Apache-2.0 */
/* Client and server over mutual TLS: who is let in, who is not, and certificates that change under live connections. */
#include "common/base.h"

#include <setjmp.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/fs.h"
#include "common/tests/http_util.h"

static const char *const server_names[] = {"agent.test", "*.pods.test", NULL};

struct world {
    struct loop *loop;
    struct tls_server *tls;
    struct http_server *server;
    struct http_client *client;
    uint16_t port;
    struct tls_keypair ca;
    struct tls_keypair other_ca;
    struct tls_keypair server_pair;
    struct tls_keypair client_pair;
    struct http_exchange *stream;
    int streams;
    int closed;
    unsigned produced; /* bytes of /bulk */
    unsigned bulk_bytes;
    unsigned received;
    unsigned wrong; /* bytes that are not what was produced */
    unsigned pause_at;
    struct http_request *request;
    struct outcome out;
    int fds_before;
};

static void h_hello(struct http_exchange *e, void *arg)
{
    UNUSED(arg);
    http_reply(e, 200, "text/plain", http_exchange_header(e, "Host"), strlen(http_exchange_header(e, "Host")));
}

static void on_closed(void *arg)
{
    struct world *w = arg;
    w->closed++;
}

static void h_stream(struct http_exchange *e, void *arg)
{
    struct world *w = arg;
    w->stream = e;
    w->streams++;
    http_stream_start(e, 200, NULL, on_closed, w);
    http_stream_write(e, "a", 1);
}

static void h_abort(struct http_exchange *e, void *arg)
{
    UNUSED(arg);
    http_stream_start(e, 200, NULL, NULL, NULL);
    http_stream_write(e, "half", 4);
    http_stream_abort(e);
}

static void h_whoami(struct http_exchange *e, void *arg)
{
    UNUSED(arg);
    http_reply(e, 200, "text/plain", http_exchange_peer_name(e), strlen(http_exchange_peer_name(e)));
}

static void h_big(struct http_exchange *e, void *arg)
{
    UNUSED(arg);
    char *body = xcalloc(1, 3 * KM_MIB);
    http_reply(e, 200, NULL, body, 3 * KM_MIB);
    free(body);
}

/* Any byte tells where it belongs. */
static char bulk_byte(unsigned at)
{
    return (char)(at * 31 + at / 251 + at / 65537);
}

/* As the donor of a copy does: two parts, of all lengths around that of a TLS record, and no piece while one is not
 * sent. */
static bool produce_piece(struct world *w)
{
    static char piece[100 * KM_KIB];
    const size_t len =
        MIN_OF((size_t)(w->produced * 7919U % (sizeof(piece) - 1)) + 1, (size_t)(w->bulk_bytes - w->produced));
    const size_t first = MIN_OF(len, (size_t)(w->produced % 40));
    for (size_t i = 0; i < len; i++)
        piece[i] = bulk_byte(w->produced + (unsigned)i);
    const struct iovec parts[] = {{piece, first}, {piece + first, len - first}};
    if (!http_stream_writev(w->stream, parts, 2))
        return false;
    memset(piece, 'x', sizeof(piece)); /* what was taken is theirs */
    w->produced += (unsigned)len;
    return http_stream_is_drained(w->stream);
}

static void produce(void *arg)
{
    struct world *w = arg;
    while (w->produced < w->bulk_bytes)
        if (!produce_piece(w)) {
            http_stream_on_drain(w->stream, produce, w);
            return;
        }
    http_stream_end(w->stream);
}

static void h_bulk(struct http_exchange *e, void *arg)
{
    struct world *w = arg;
    w->stream = e;
    http_stream_start(e, 200, NULL, on_closed, w);
    produce(w);
}

static const struct http_route routes[] = {
    {"GET", "/bulk", h_bulk},
    {"GET", "/hello", h_hello},
    {"GET", "/stream", h_stream},
    {"GET", "/abort", h_abort},
    {"GET", "/big", h_big},
    {"GET", "/whoami", h_whoami},
    {NULL, NULL, NULL},
};

static int set_up(void **state)
{
    struct world *w = xnew(struct world);
    w->ca = test_ca("ca");
    w->other_ca = test_ca("other");
    w->server_pair = test_leaf(&w->ca, server_names);
    w->client_pair = test_leaf(&w->ca, NULL);
    w->fds_before = count_open_fds();
    w->loop = loop_new();
    w->tls = tls_server_new(&w->server_pair, w->ca.cert_pem, NULL);
    assert_non_null(w->tls);
    w->server = http_server_new(w->loop, w->tls, routes, w);
    w->client = http_client_new(w->loop);
    assert_int_equal(http_server_listen(w->server, "127.0.0.1", 0, &w->port, NULL), 0);
    outcome_init(&w->out);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    http_client_free(w->client);
    http_server_free(w->server);
    tls_server_free(w->tls);
    loop_free(w->loop);
    assert_int_equal(count_open_fds(), w->fds_before);
    tls_keypair_release(&w->ca);
    tls_keypair_release(&w->other_ca);
    tls_keypair_release(&w->server_pair);
    tls_keypair_release(&w->client_pair);
    outcome_release(&w->out);
    free(w);
    return 0;
}

static struct http_tls *identity(
    const struct world *w, const char *ca_pem, const struct tls_keypair *pair, const char *name)
{
    UNUSED(w);
    return http_tls_new(&(struct http_tls_options){.ca_pem = ca_pem,
        .cert_pem = pair ? pair->cert_pem : NULL,
        .key_pem = pair ? pair->key_pem : NULL,
        .server_name = name});
}

static void get_full(struct world *w, struct http_tls *tls, const char *host, const char *path, bool connect_to)
{
    char *url = xasprintf("https://%s:%u%s", host, w->port, path);
    char *dial = xasprintf("127.0.0.1:%u", w->port);
    w->out.done = 0;
    http_client_start(w->client,
        &(struct http_request_options){.method = "GET",
            .url = url,
            .tls = tls,
            .connect_to = connect_to ? dial : NULL,
            .timeout_ms = 3000,
            .done = outcome_done,
            .arg = &w->out});
    free(url);
    free(dial);
    assert_true(loop_until(w->loop, &w->out.done, 1));
}

static void test_mutual_tls(void **state)
{
    struct world *w = *state;
    struct http_tls *tls = identity(w, w->ca.cert_pem, &w->client_pair, NULL);
    get_full(w, tls, "agent.test", "/hello", true);
    assert_string_equal(w->out.err.message, "");
    assert_int_equal(w->out.status, 200);
    get_full(w, tls, "x.pods.test", "/hello", true);
    assert_int_equal(w->out.status, 200);
    get_full(w, tls, "agent.test", "/hello", true);
    assert_true(w->out.reused);
    get_full(w, tls, "agent.test", "/big", true);
    assert_int_equal(w->out.body.len, 3 * KM_MIB);
    w->out.body.len = 0;
    get_full(w, tls, "agent.test", "/whoami", true);
    assert_memory_equal(w->out.body.buf, "leaf", sizeof("leaf"));
    http_tls_unref(tls);
}

static void test_server_name(void **state)
{
    struct world *w = *state;
    char host[64];
    snprintf(host, sizeof(host), "127.0.0.1:%u", w->port);
    struct http_tls *tls = identity(w, w->ca.cert_pem, &w->client_pair, "agent.test");
    get_full(w, tls, "127.0.0.1", "/hello", false);
    assert_int_equal(w->out.status, 200);
    assert_string_equal(w->out.body.buf, host); /* Host stays what was asked for */
    http_tls_unref(tls);
    tls = identity(w, w->ca.cert_pem, &w->client_pair, "wrong.test");
    get_full(w, tls, "127.0.0.1", "/hello", false);
    assert_int_equal(w->out.err.kind, ERROR_UNAVAILABLE);
    assert_false(w->out.sent);
    http_tls_unref(tls);
}

static void test_who_is_not_let_in(void **state)
{
    struct world *w = *state;
    struct tls_keypair stranger = test_leaf(&w->other_ca, server_names);
    struct http_tls *good = identity(w, w->ca.cert_pem, &w->client_pair, NULL);
    struct http_tls *bad[] = {
        identity(w, w->other_ca.cert_pem, &w->client_pair, NULL), /* does not trust the server */
        identity(w, NULL, &w->client_pair, NULL),                 /* trusts the system's CAs only */
        identity(w, w->ca.cert_pem, NULL, NULL),                  /* has no certificate */
        identity(w, w->ca.cert_pem, &stranger, NULL),             /* has one of another CA */
    };
    get_full(w, good, "agent.test", "/hello", true);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        get_full(w, bad[i], "agent.test", "/hello", true);
        assert_int_equal(w->out.status, 0);
        assert_int_equal(w->out.err.kind, ERROR_UNAVAILABLE);
        get_full(w, good, "agent.test", "/hello", true); /* nobody else is disturbed */
        assert_int_equal(w->out.status, 200);
        assert_true(w->out.reused);
        http_tls_unref(bad[i]);
    }
    get_full(w, good, "other.test", "/hello", true); /* a name the certificate does not have */
    assert_int_equal(w->out.err.kind, ERROR_UNAVAILABLE);
    assert_true(connections_become(w->loop, w->server, 1));
    http_tls_unref(good);
    tls_keypair_release(&stranger);
}

/* The system's certificates are those of a file that is named from outside; whoever names its own trusts no others. */
static void test_system_certificates(void **state)
{
    struct world *w = *state;
    char *path = xasprintf("%s/http_tls_test-system.pem", getenv("TMPDIR"));
    assert_int_equal(fs_write_file_atomic(path, w->ca.cert_pem, strlen(w->ca.cert_pem), 0600, NULL), 0);
    assert_int_equal(setenv("SSL_CERT_FILE", path, 1), 0);
    struct http_tls *system = identity(w, NULL, &w->client_pair, NULL);
    struct http_tls *own = identity(w, w->other_ca.cert_pem, &w->client_pair, NULL);
    assert_int_equal(unsetenv("SSL_CERT_FILE"), 0);
    for (int i = 0; i < 2; i++) {
        get_full(w, system, "agent.test", "/hello", true);
        assert_string_equal(w->out.err.message, "");
        assert_int_equal(w->out.status, 200);
        http_client_drop_idle(w->client);
    }
    get_full(w, own, "agent.test", "/hello", true);
    assert_int_equal(w->out.status, 0);
    assert_int_equal(w->out.err.kind, ERROR_UNAVAILABLE);
    http_tls_unref(system);
    http_tls_unref(own);
    free(path);
}

static void test_garbage_instead_of_a_handshake(void **state)
{
    struct world *w = *state;
    struct strbuf answer;
    strbuf_init(&answer, KM_MIB);
    for (int i = 0; i < 5; i++) {
        const int fd = raw_connect(w->port);
        raw_exchange(w->loop, fd, "GET /hello HTTP/1.1\r\n\r\n", 23, &answer);
        close(fd);
    }
    assert_null(strstr(answer.buf, "200"));
    assert_true(connections_become(w->loop, w->server, 0));
    strbuf_release(&answer);
}

static void test_truncated(void **state)
{
    struct world *w = *state;
    struct http_tls *tls = identity(w, w->ca.cert_pem, &w->client_pair, NULL);
    get_full(w, tls, "agent.test", "/abort", true);
    assert_true(w->out.err.kind == ERROR_PROTOCOL || w->out.err.kind == ERROR_UNAVAILABLE);
    get_full(w, tls, "agent.test", "/hello", true);
    assert_int_equal(w->out.status, 200);
    http_tls_unref(tls);
}

/* A stream stays up while requests on further connections go on: HTTP/1.1 behind TLS must not be waited for. */
static void test_reload_under_live_connections(void **state)
{
    struct world *w = *state;
    struct outcome watch;
    outcome_init(&watch);
    struct http_tls *old_tls = identity(w, w->ca.cert_pem, &w->client_pair, "agent.test");
    char *url = xasprintf("https://127.0.0.1:%u/stream", w->port);
    http_client_start(w->client,
        &(struct http_request_options){
            .method = "GET", .url = url, .tls = old_tls, .data = outcome_data, .done = outcome_done, .arg = &watch});
    assert_true(loop_until(w->loop, &watch.data_calls, 1));

    struct tls_keypair renewed = test_leaf(&w->other_ca, server_names);
    struct tls_keypair renewed_client = test_leaf(&w->other_ca, NULL);
    struct tls_keypair broken = {.key_pem = w->client_pair.key_pem, .cert_pem = renewed.cert_pem};
    struct error err = ERROR_INIT;
    assert_int_equal(tls_server_reload(w->tls, &broken, w->other_ca.cert_pem, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    get_full(w, old_tls, "127.0.0.1", "/hello", false);
    assert_int_equal(w->out.status, 200); /* a refused reload changes nothing */
    assert_int_equal(tls_server_reload(w->tls, &renewed, w->other_ca.cert_pem, &err), 0);

    struct http_tls *new_tls = identity(w, w->other_ca.cert_pem, &renewed_client, "agent.test");
    http_client_drop_idle(w->client);
    get_full(w, new_tls, "127.0.0.1", "/hello", false);
    assert_int_equal(w->out.status, 200);
    get_full(w, old_tls, "127.0.0.1", "/hello", false);
    assert_int_equal(w->out.err.kind, ERROR_UNAVAILABLE); /* the old identity is not let in any more */
    http_stream_write(w->stream, "b", 1);
    assert_true(loop_until(w->loop, &watch.data_calls, 2));
    http_stream_end(w->stream);
    assert_true(loop_until(w->loop, &watch.done, 1));
    assert_string_equal(watch.streamed.buf, "ab");
    assert_int_equal(watch.err.kind, ERROR_NONE);
    free(url);
    http_tls_unref(old_tls);
    http_tls_unref(new_tls);
    tls_keypair_release(&renewed);
    tls_keypair_release(&renewed_client);
    outcome_release(&watch);
}

static void test_peer_of_a_stream_goes(void **state)
{
    struct world *w = *state;
    struct http_tls *tls = identity(w, w->ca.cert_pem, &w->client_pair, "agent.test");
    char *url = xasprintf("https://127.0.0.1:%u/stream", w->port);
    struct http_request *request = http_client_start(w->client,
        &(struct http_request_options){
            .method = "GET", .url = url, .tls = tls, .data = outcome_data, .done = outcome_done, .arg = &w->out});
    assert_true(loop_until(w->loop, &w->out.data_calls, 1));
    http_request_cancel(request);
    assert_true(loop_until(w->loop, &w->closed, 1));
    assert_int_equal(w->out.done, 0);
    free(url);
    http_tls_unref(tls);
}

static int take_bulk(void *arg, const char *data, size_t len)
{
    struct world *w = arg;
    for (size_t i = 0; i < len; i++)
        w->wrong += data[i] != bulk_byte(w->received + (unsigned)i);
    w->received += (unsigned)len;
    if (w->received >= w->pause_at)
        http_request_pause(w->request);
    return 0;
}

static void bulk_done(void *arg, const struct http_response *response, const struct error *err)
{
    outcome_done(&((struct world *)arg)->out, response, err);
}

/* The whole arrives, in order, whether the receiver keeps up or not; and while it takes nothing, the producer is held
 * back. */
static void test_bulk(void **state)
{
    struct world *w = *state;
    struct http_tls *tls = identity(w, w->ca.cert_pem, &w->client_pair, "agent.test");
    char *url = xasprintf("https://127.0.0.1:%u/bulk", w->port);
    w->bulk_bytes = 48 * KM_MIB;
    w->pause_at = 1 * KM_MIB;
    w->request = http_client_start(w->client,
        &(struct http_request_options){.method = "GET",
            .url = url,
            .tls = tls,
            .receive_buffer_bytes = 256 * KM_KIB,
            .data = take_bulk,
            .done = bulk_done,
            .arg = w});
    while (!w->out.done) {
        const unsigned at_pause = w->pause_at;
        while (!w->out.done && w->received < at_pause)
            loop_run_once(w->loop, 1000);
        if (w->out.done)
            break;
        unsigned produced;
        do { /* until the kernel is full */
            produced = w->produced;
            loop_for(w->loop, 100);
        } while (w->produced != produced);
        assert_true(w->produced < w->bulk_bytes || at_pause >= w->bulk_bytes / 3);
        w->pause_at = at_pause * 3;
        http_request_resume(w->request);
    }
    assert_int_equal(w->out.err.kind, ERROR_NONE);
    assert_int_equal(w->received, w->bulk_bytes);
    assert_int_equal(w->wrong, 0);
    assert_int_equal(w->closed, 0);
    free(url);
    http_tls_unref(tls);
}

#define WORLD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD(test_mutual_tls),
        WORLD(test_server_name),
        WORLD(test_who_is_not_let_in),
        WORLD(test_system_certificates),
        WORLD(test_garbage_instead_of_a_handshake),
        WORLD(test_truncated),
        WORLD(test_reload_under_live_connections),
        WORLD(test_peer_of_a_stream_goes),
        WORLD(test_bulk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
