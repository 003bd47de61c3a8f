/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/runtime/health_server.h"

#include "common/alloc.h"
#include "common/http_server.h"
#include "common/strbuf.h"

/* Twenty thousand series of two hundred bytes. */
#define METRICS_TEXT_MAX (8 * KM_MIB)

struct health_server {
    struct http_server *http;
    struct health_checks checks;
    struct metrics *metrics;
};

static void reply_check(struct http_exchange *exchange, const char *problem)
{
    http_replyf(exchange, problem ? 503 : 200, "%s", problem ? problem : "ok");
}

static void handle_healthz(struct http_exchange *exchange, void *arg)
{
    const struct health_server *server = arg;
    reply_check(exchange, server->checks.healthy(server->checks.arg));
}

static void handle_readyz(struct http_exchange *exchange, void *arg)
{
    const struct health_server *server = arg;
    reply_check(exchange, server->checks.ready(server->checks.arg));
}

static void handle_metrics(struct http_exchange *exchange, void *arg)
{
    const struct health_server *server = arg;
    _cleanup_(strbuf_release) struct strbuf text;
    strbuf_init(&text, METRICS_TEXT_MAX);
    metrics_render(server->metrics, &text);
    http_reply(exchange, 200, "text/plain; version=0.0.4; charset=utf-8", text.buf, text.len);
}

static const struct http_route routes[] = {
    {"GET", "/healthz", handle_healthz},
    {"GET", "/readyz", handle_readyz},
    {"GET", "/metrics", handle_metrics},
    {NULL, NULL, NULL},
};

struct health_server *health_server_new(struct loop *loop, const char *address, uint16_t port,
    const struct health_checks *checks, struct metrics *metrics, uint16_t *ret_port, struct error *err)
{
    struct health_server *server = xnew(struct health_server);
    server->checks = *checks;
    server->metrics = metrics;
    server->http = http_server_new(loop, NULL, routes, server);
    uint16_t chosen;
    if (http_server_listen(server->http, address, port, &chosen, err) < 0) {
        error_prefix(err, "health and metrics server");
        health_server_free(server);
        return NULL;
    }
    if (ret_port)
        *ret_port = chosen;
    return server;
}

void health_server_free(struct health_server *server)
{
    if (!server)
        return;
    http_server_free(server->http);
    free(server);
}
