/* SPDX-License-Identifier: Apache-2.0 */
/* A store whose certificate is not to be taken: one try, and words that say what to do. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/tests/http_util.h"
#include "common/tests/object_util.h"

#define HOUR_MS 3600000LL

static const char *const names[] = {"s3.test", NULL};

struct world {
    struct loop *loop;
    struct tls_keypair ca, other_ca, client;
    struct tls_server *tls;
    struct http_server *server;
    uint16_t port;
    struct object_result out;
    const char *access_key;
    int requests;
};

static void on_put(struct http_exchange *e, void *arg)
{
    struct world *w = arg;
    w->requests++;
    http_exchange_add_header(e, "ETag", "\"1\"");
    http_reply(e, 200, NULL, "", 0);
}

static const struct http_route routes[] = {{"PUT", "/*", on_put}, {NULL, NULL, NULL}};

/* A certificate of these hours around now. */
static struct tls_keypair leaf(const struct world *w, int64_t from_hours, int64_t to_hours)
{
    const int64_t now_ms = clock_realtime_ms();
    struct tls_keypair pair = {.key_pem = NULL};
    assert_int_equal(tls_issue(&w->ca,
                         &(struct tls_cert_request){.common_name = "leaf",
                             .dns_names = names,
                             .server_auth = true,
                             .client_auth = true,
                             .not_before_ms = now_ms + from_hours * HOUR_MS,
                             .not_after_ms = now_ms + to_hours * HOUR_MS},
                         &pair, NULL),
        0);
    return pair;
}

static void serve(struct world *w, int64_t from_hours, int64_t to_hours)
{
    struct tls_keypair pair = leaf(w, from_hours, to_hours);
    if (!w->tls)
        w->tls = tls_server_new(&pair, w->ca.cert_pem, NULL);
    else
        assert_int_equal(tls_server_reload(w->tls, &pair, w->ca.cert_pem, NULL), 0);
    assert_non_null(w->tls);
    tls_keypair_release(&pair);
}

static int set_up(void **state)
{
    struct world *w = xnew(struct world);
    w->ca = test_ca("ca");
    w->other_ca = test_ca("other");
    w->client = test_leaf(&w->ca, NULL);
    w->loop = loop_new();
    w->access_key = "AKIATEST";
    serve(w, -1, 1);
    w->server = http_server_new(w->loop, w->tls, routes, w);
    assert_int_equal(http_server_listen(w->server, "127.0.0.1", 0, &w->port, NULL), 0);
    object_result_init(&w->out, w->loop);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    http_server_free(w->server);
    tls_server_free(w->tls);
    object_result_release(&w->out);
    loop_free(w->loop);
    tls_keypair_release(&w->ca);
    tls_keypair_release(&w->other_ca);
    tls_keypair_release(&w->client);
    free(w);
    return 0;
}

/* ca NULL: the system's. words NULL: it goes well. */
static void expect_put(struct world *w, const char *ca, const char *host, enum error_kind kind, const char *words)
{
    struct error err = ERROR_INIT;
    _cleanup_(freep) char *endpoint = xasprintf("https://%s:%u", host, w->port);
    _cleanup_(freep) char *dial = xasprintf("127.0.0.1:%u", w->port);
    struct http_tls *tls = http_tls_new(
        &(struct http_tls_options){.ca_pem = ca, .cert_pem = w->client.cert_pem, .key_pem = w->client.key_pem});
    const struct object_target target = {.endpoint = endpoint,
        .bucket = "bucket",
        .path_style = true,
        .access_key = w->access_key,
        .secret_key = *w->access_key ? "secret" : "",
        .connect_to = dial,
        .tls = tls,
        .retry_base_ms = 1};
    struct object_store *store = object_store_new(w->loop, &target, &err);
    if (!store)
        fail_msg("%s", err.message);
    w->requests = 0;
    object_put(store, "a", "x", 1, object_result_done, &w->out);
    object_result_expect(&w->out, kind);
    assert_int_equal(w->requests, kind == ERROR_NONE);
    if (words && !strstr(w->out.err.message, words))
        fail_msg("'%s' is not in '%s'", words, w->out.err.message);
    assert_int_equal(strstr(w->out.err.message, "tries") != NULL, kind == ERROR_UNAVAILABLE);
    object_store_free(store);
    http_tls_unref(tls);
}

static void test_authority(void **state)
{
    struct world *w = *state;
    expect_put(w, w->ca.cert_pem, "s3.test", ERROR_NONE, NULL);
    expect_put(w, w->other_ca.cert_pem, "s3.test", ERROR_INVALID, " is not trusted (");
    assert_non_null(strstr(w->out.err.message, "the certificate of s3.test:"));
    assert_non_null(strstr(w->out.err.message, "the authority that signed it in destination.s3.caSecret"));
    expect_put(w, "no PEM", "s3.test", ERROR_INVALID, " cannot be checked (");
}

static void test_system(void **state)
{
    struct world *w = *state;
    _cleanup_(freep) char *path = xasprintf("%s/object_tls_test-system.pem", getenv("TMPDIR"));
    assert_int_equal(setenv("SSL_CERT_FILE", path, 1), 0);
    expect_put(w, NULL, "s3.test", ERROR_INVALID, path); /* it is not there */
    assert_non_null(strstr(w->out.err.message, "the authorities that are trusted, in PEM, in destination.s3.caSecret"));
    assert_int_equal(fs_write_file_atomic(path, w->other_ca.cert_pem, strlen(w->other_ca.cert_pem), 0600, NULL), 0);
    expect_put(w, NULL, "s3.test", ERROR_INVALID, "caSecret");
    assert_int_equal(fs_write_file_atomic(path, w->ca.cert_pem, strlen(w->ca.cert_pem), 0600, NULL), 0);
    expect_put(w, NULL, "s3.test", ERROR_NONE, NULL);
    assert_int_equal(unsetenv("SSL_CERT_FILE"), 0);
}

static void test_name(void **state)
{
    struct world *w = *state;
    expect_put(w, w->ca.cert_pem, "other.test", ERROR_INVALID, " is not its own (");
    assert_non_null(strstr(w->out.err.message, "the certificate of other.test:"));
    assert_non_null(strstr(w->out.err.message, "destination.s3.endpoint"));
}

static void test_time(void **state)
{
    struct world *w = *state;
    serve(w, -3, -1);
    expect_put(w, w->ca.cert_pem, "s3.test", ERROR_INVALID, " is not valid now (certificate has expired): ");
    serve(w, 1, 3);
    expect_put(w, w->ca.cert_pem, "s3.test", ERROR_INVALID, " is not valid now (certificate is not yet valid): ");
    serve(w, -1, 1);
    expect_put(w, w->ca.cert_pem, "s3.test", ERROR_NONE, NULL);
}

/* The door of a volume: the operator renews what does not fit there, so it is tried again. */
static void test_door_of_a_volume(void **state)
{
    struct world *w = *state;
    w->access_key = "";
    expect_put(w, w->other_ca.cert_pem, "s3.test", ERROR_UNAVAILABLE, "certificate");
    expect_put(w, w->ca.cert_pem, "s3.test", ERROR_NONE, NULL);
}

#define WORLD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD(test_authority),
        WORLD(test_system),
        WORLD(test_name),
        WORLD(test_time),
        WORLD(test_door_of_a_volume),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
