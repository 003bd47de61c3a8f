/* SPDX-License-Identifier: Apache-2.0 */
/* Names are looked up for every new connection: a pod that comes back has another address. */
#include "common/base.h"

#include <dlfcn.h>
#include <netdb.h>
#include <setjmp.h>
#include <cmocka.h>

#include "common/tests/http_util.h"

#define NAME "member.test"

static int lookups;

/* Instead of the C library's: libcurl calls it in a thread of its own, and the request waits for that. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the library's names are reserved */
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **ret)
{
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    if (!node || !str_eq(node, NAME))
        return real(node, service, hints, ret);
    __atomic_add_fetch(&lookups, 1, __ATOMIC_SEQ_CST);
    return real("127.0.0.1", service, hints, ret);
}

static void h_close(struct http_exchange *e, void *arg)
{
    UNUSED(arg);
    http_exchange_add_header(e, "Connection", "close");
    http_reply(e, 200, "text/plain", "hello", 5);
}

static void get(struct loop *loop, struct http_client *client, const char *url, struct outcome *out)
{
    const struct http_request_options options = {.method = "GET", .url = url, .done = outcome_done, .arg = out};
    http_client_start(client, &options);
    assert_true(loop_until(loop, &out->done, 1));
    assert_int_equal(out->status, 200);
    assert_false(out->reused);
    out->done = 0;
}

static void test_a_name_is_looked_up_for_each_connection(void **state)
{
    static const struct http_route routes[] = {{"GET", "/close", h_close}, {NULL, NULL, NULL}};
    struct loop *loop = loop_new();
    struct http_server *server = http_server_new(loop, NULL, routes, NULL);
    struct http_client *client = http_client_new(loop);
    struct outcome out;
    uint16_t port = 0;
    char url[64];
    UNUSED(state);
    outcome_init(&out);
    assert_int_equal(http_server_listen(server, "127.0.0.1", 0, &port, NULL), 0);
    snprintf(url, sizeof(url), "http://" NAME ":%u/close", port);
    get(loop, client, url, &out);
    assert_int_equal(__atomic_load_n(&lookups, __ATOMIC_SEQ_CST), 1);
    get(loop, client, url, &out);
    assert_int_equal(__atomic_load_n(&lookups, __ATOMIC_SEQ_CST), 2);
    http_client_free(client);
    http_server_free(server);
    loop_free(loop);
    outcome_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_name_is_looked_up_for_each_connection)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
