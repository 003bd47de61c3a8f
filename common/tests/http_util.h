/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_util.h: a client, a server and a record of what came back, for tests.
 */
#ifndef KM_COMMON_TESTS_HTTP_UTIL_H
#define KM_COMMON_TESTS_HTTP_UTIL_H

#include "common/base.h"

#include "common/error.h"
#include "common/http_client.h"
#include "common/http_server.h"
#include "common/loop.h"
#include "common/strbuf.h"
#include "common/tls.h"

struct outcome {
    int done; /* times */
    int status;
    uint32_t retry_after_ms;
    bool reused;
    bool sent;
    int http_version;
    struct error err;
    struct strbuf body;     /* gathered */
    struct strbuf streamed; /* through the data callback */
    int data_calls;
};

void outcome_init(struct outcome *outcome);
void outcome_release(struct outcome *outcome);
/* For http_request_options. */
void outcome_done(void *arg, const struct http_response *response, const struct error *err);
int outcome_data(void *arg, const char *data, size_t len);

/* Turns the loop until *counter >= value; false after twenty seconds. */
bool loop_until(struct loop *loop, const int *counter, int value);
/* Likewise, until the server has so many connections: it hears of an end later than who caused it. */
bool connections_become(struct loop *loop, const struct http_server *server, size_t count);
void loop_for(struct loop *loop, int64_t ms);

struct tls_keypair test_ca(const char *name);
struct tls_keypair test_leaf(const struct tls_keypair *ca, const char *const *dns_names);

/* A blocking connection to 127.0.0.1, for what no client library would send. */
int raw_connect(uint16_t port);
/* Sends, then turns the loop and reads until the peer closes or nothing comes for 300 ms. */
void raw_exchange(struct loop *loop, int fd, const char *request, size_t len, struct strbuf *answer);

int count_open_fds(void);

#endif
