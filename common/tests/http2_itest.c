/* SPDX-License-Identifier: Apache-2.0 */
/* The client against nghttpd (Debian's nghttp2-server): HTTP/2 with one connection for everything. Skipped without
 * it. */
#include "common/base.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/fs.h"
#include "common/subprocess.h"
#include "common/tests/http_util.h"
#include "common/tests/port_util.h"

#define NGHTTPD "/usr/sbin/nghttpd"
#define FILE_BYTES 300000

static const char *const names[] = {"h2.test", NULL};

struct world {
    struct loop *loop;
    struct http_client *client;
    struct subprocess *server;
    struct tls_keypair ca;
    struct tls_keypair pair;
    struct http_tls *tls;
    char dir[64];
    uint16_t port;
    int server_exited;
};

static void on_exited(void *arg, const struct subprocess_result *result)
{
    UNUSED(result);
    ((struct world *)arg)->server_exited++;
}

static void put_file(const struct world *w, const char *name, const void *data, size_t len)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", w->dir, name);
    if (fs_write_file_atomic(path, data, len, 0600, NULL) < 0)
        abort();
}

static struct http_request *get(struct world *w, struct outcome *out, const char *path, bool stream)
{
    char *url = xasprintf("https://127.0.0.1:%u%s", w->port, path);
    struct http_request *request = http_client_start(w->client,
        &(struct http_request_options){.method = "GET",
            .url = url,
            .tls = w->tls,
            .timeout_ms = 5000,
            .data = stream ? outcome_data : NULL,
            .done = outcome_done,
            .arg = out});
    free(url);
    return request;
}

static void wait_for_server(struct world *w)
{
    struct outcome out;
    outcome_init(&out);
    for (int tries = 0; tries < 100 && out.status != 200; tries++) {
        out.done = 0;
        get(w, &out, "/small", false);
        assert_true(loop_until(w->loop, &out.done, 1));
        if (out.status != 200)
            loop_for(w->loop, 20);
    }
    assert_int_equal(out.status, 200);
    assert_int_equal(out.http_version, 20);
    outcome_release(&out);
}

static int set_up(void **state)
{
    static const struct subprocess_ops ops = {.exited = on_exited};
    struct world *w = xnew(struct world);
    w->loop = loop_new();
    w->client = http_client_new(w->loop);
    w->ca = test_ca("ca");
    w->pair = test_leaf(&w->ca, names);
    w->tls = http_tls_new(&(struct http_tls_options){.ca_pem = w->ca.cert_pem, .server_name = "h2.test"});
    w->port = free_port();
    snprintf(w->dir, sizeof(w->dir), "/tmp/http2_itest.XXXXXX");
    assert_non_null(mkdtemp(w->dir));
    char *big = xmalloc(FILE_BYTES);
    memset(big, 'b', FILE_BYTES);
    put_file(w, "big", big, FILE_BYTES);
    put_file(w, "small", "small", 5);
    put_file(w, "key", w->pair.key_pem, strlen(w->pair.key_pem));
    put_file(w, "cert", w->pair.cert_pem, strlen(w->pair.cert_pem));
    free(big);
    char port[8];
    char root[80];
    char key[80];
    char cert[80];
    snprintf(port, sizeof(port), "%u", w->port);
    snprintf(root, sizeof(root), "-d%s", w->dir);
    snprintf(key, sizeof(key), "%s/key", w->dir);
    snprintf(cert, sizeof(cert), "%s/cert", w->dir);
    const char *const argv[] = {NGHTTPD, "-m1000", "-a", "127.0.0.1", root, port, key, cert, NULL};
    w->server = subprocess_start(w->loop, &(struct subprocess_options){.argv = argv}, &ops, w, NULL);
    assert_non_null(w->server);
    *state = w;
    wait_for_server(w);
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    http_client_free(w->client);
    subprocess_free(w->server);
    loop_free(w->loop);
    http_tls_unref(w->tls);
    tls_keypair_release(&w->ca);
    tls_keypair_release(&w->pair);
    assert_int_equal(fs_remove_all(w->dir, NULL), 0);
    free(w);
    return 0;
}

static void test_one_connection_for_all(void **state)
{
    struct world *w = *state;
    struct outcome outs[200];
    for (size_t i = 0; i < ARRAY_LEN(outs); i++) {
        outcome_init(&outs[i]);
        get(w, &outs[i], i % 10 == 0 ? "/big" : "/small", i % 20 == 0);
    }
    for (size_t i = 0; i < ARRAY_LEN(outs); i++) {
        assert_true(loop_until(w->loop, &outs[i].done, 1));
        assert_int_equal(outs[i].status, 200);
        assert_int_equal(outs[i].http_version, 20);
        const size_t len = i % 20 == 0 ? outs[i].streamed.len : outs[i].body.len;
        assert_int_equal(len, i % 10 == 0 ? FILE_BYTES : 5);
    }
    size_t connections = 0;
    http_client_stats(w->client, &connections, NULL);
    assert_int_equal(connections, 1);
    for (size_t i = 0; i < ARRAY_LEN(outs); i++) {
        assert_int_equal(outs[i].done, 1);
        outcome_release(&outs[i]);
    }
}

static void test_cancel_one_of_many(void **state)
{
    struct world *w = *state;
    struct outcome outs[40];
    struct http_request *requests[40];
    for (int turns = 0; turns < 12; turns++) {
        for (size_t i = 0; i < ARRAY_LEN(outs); i++) {
            outcome_init(&outs[i]);
            requests[i] = get(w, &outs[i], "/big", true);
        }
        for (int i = 0; i < turns; i++)
            loop_run_once(w->loop, 2);
        int cancelled = 0;
        for (size_t i = 0; i < ARRAY_LEN(outs); i += 3) {
            if (outs[i].done)
                continue;
            http_request_cancel(requests[i]);
            outs[i].status = -2;
            cancelled++;
        }
        assert_true(turns > 3 || cancelled > 0);
        for (size_t i = 0; i < ARRAY_LEN(outs); i++) {
            if (outs[i].status != -2)
                assert_true(loop_until(w->loop, &outs[i].done, 1));
            assert_int_equal(outs[i].done, outs[i].status == -2 ? 0 : 1);
            if (outs[i].done && (outs[i].err.kind != ERROR_NONE || outs[i].streamed.len != FILE_BYTES))
                fail_msg("turns %d, stream %zu: %zu bytes, '%s'", turns, i, outs[i].streamed.len, outs[i].err.message);
            outcome_release(&outs[i]);
        }
    }
}

struct pauser {
    struct outcome out;
    struct http_request *request;
};

static int data_and_pause(void *arg, const char *data, size_t len)
{
    struct pauser *p = arg;
    if (p->out.data_calls == 0)
        http_request_pause(p->request);
    return outcome_data(&p->out, data, len);
}

static void pauser_done(void *arg, const struct http_response *response, const struct error *err)
{
    outcome_done(&((struct pauser *)arg)->out, response, err);
}

static void start_paused(struct world *w, struct pauser *p)
{
    outcome_init(&p->out);
    char *url = xasprintf("https://127.0.0.1:%u/big", w->port);
    p->request = http_client_start(w->client,
        &(struct http_request_options){
            .method = "GET", .url = url, .tls = w->tls, .data = data_and_pause, .done = pauser_done, .arg = p});
    free(url);
    assert_true(loop_until(w->loop, &p->out.data_calls, 1));
}

static void test_pause_over_http2(void **state)
{
    struct world *w = *state;
    struct pauser p;
    start_paused(w, &p);
    loop_for(w->loop, 50);
    assert_int_equal(p.out.data_calls, 1);
    assert_int_equal(p.out.done, 0);
    http_request_resume(p.request);
    assert_true(loop_until(w->loop, &p.out.done, 1));
    assert_string_equal(p.out.err.message, "");
    assert_int_equal(p.out.streamed.len, FILE_BYTES);
    outcome_release(&p.out);
}

static void test_server_dies(void **state)
{
    struct world *w = *state;
    struct pauser p;
    struct outcome out;
    start_paused(w, &p);
    subprocess_kill(w->server, 9);
    assert_true(loop_until(w->loop, &w->server_exited, 1));
    http_request_resume(p.request);
    assert_true(loop_until(w->loop, &p.out.done, 1));
    outcome_release(&p.out);
    outcome_init(&out);
    get(w, &out, "/small", false);
    assert_true(loop_until(w->loop, &out.done, 1));
    assert_int_equal(out.err.kind, ERROR_UNAVAILABLE);
    assert_false(out.sent);
    outcome_release(&out);
}

#define WORLD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    if (access(NGHTTPD, X_OK) < 0) {
        puts("skipped: " NGHTTPD " (package nghttp2-server) is not installed");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        WORLD(test_one_connection_for_all),
        WORLD(test_cancel_one_of_many),
        WORLD(test_pause_over_http2),
        WORLD(test_server_dies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
