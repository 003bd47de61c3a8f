#include "common/base.h"

#include "agent/agent_server.h"

#include "agent/readiness.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/http_server.h"
#include "common/json.h"
#include "common/list.h"
#include "common/strbuf.h"

#define METRICS_TEXT_MAX (1 * KM_MIB)
#define WATCHERS_MAX 32
#define JSON_TYPE "application/json"

struct agent_server {
    struct agent_view *view;
    struct http_server *plain;
    struct http_server *tls;
    struct list_node watchers;
    size_t watcher_count;
    struct loop_timer heartbeat;
};

/* One client of /v1/status?watch=1. */
struct watcher {
    struct list_node node;
    struct agent_server *server;
    struct http_exchange *exchange;
    bool stalled; /* does not read: it gets the newest status when it does again */
};

/* ---- plain ---- */

static void answer(struct http_exchange *exchange, struct readiness readiness)
{
    http_replyf(exchange, readiness.yes ? 200 : 503, "%s", readiness.yes ? "ok" : readiness.reason);
}

static void handle_live(struct http_exchange *exchange, void *arg)
{
    struct agent_server *server = arg;

    answer(exchange, readiness_live(server->view->state, clock_monotonic_ms()));
}

static void handle_ready(struct http_exchange *exchange, void *arg)
{
    struct agent_server *server = arg;

    answer(exchange, readiness_ready(server->view->state, clock_monotonic_ms()));
}

static void handle_startup(struct http_exchange *exchange, void *arg)
{
    struct agent_server *server = arg;

    answer(exchange, readiness_startup(server->view->state, clock_monotonic_ms()));
}

static void handle_metrics(struct http_exchange *exchange, void *arg)
{
    struct agent_server *server = arg;
    _cleanup_(strbuf_release) struct strbuf text;

    server->view->last_scrape_ms = clock_monotonic_ms();
    strbuf_init(&text, METRICS_TEXT_MAX);
    metrics_render(server->view->metrics, &text);
    http_reply(exchange, 200, "text/plain; version=0.0.4; charset=utf-8", text.buf, text.len);
}

static const struct http_route plain_routes[] = {
    {"GET", "/live", handle_live},
    {"GET", "/ready", handle_ready},
    {"GET", "/startup", handle_startup},
    {"GET", "/metrics", handle_metrics},
    {NULL, NULL, NULL},
};

/* ---- status ---- */

static void watcher_remove(struct watcher *watcher)
{
    list_remove(&watcher->node);
    watcher->server->watcher_count--;
    free(watcher);
}

static void on_watcher_closed(void *arg)
{
    watcher_remove(arg);
}

static void watcher_send(struct watcher *watcher);

static void on_watcher_drained(void *arg)
{
    struct watcher *watcher = arg;

    watcher->stalled = false;
    watcher_send(watcher);
}

static void watcher_send(struct watcher *watcher)
{
    if (watcher->stalled)
        return;
    _cleanup_(strbuf_release) struct strbuf line;
    strbuf_init(&line, AGENT_STATUS_MAX + 1);
    agent_status_encode(watcher->server->view->status, &line);
    strbuf_addc(&line, '\n');
    if (!http_stream_write(watcher->exchange, line.buf, line.len)) {
        watcher->stalled = true;
        http_stream_on_drain(watcher->exchange, on_watcher_drained, watcher);
    }
}

void agent_server_publish(struct agent_server *server)
{
    struct list_node *node;
    struct list_node *next;

    list_for_each_safe(node, next, &server->watchers)
        watcher_send(container_of(node, struct watcher, node));
    if (server->watcher_count > 0)
        loop_timer_arm(&server->heartbeat, AGENT_STATUS_INTERVAL_MS);
}

static void on_heartbeat(void *arg)
{
    agent_server_publish(arg);
}

static void start_watch(struct agent_server *server, struct http_exchange *exchange)
{
    if (server->watcher_count >= WATCHERS_MAX) {
        http_replyf(exchange, 503, "%d clients watch already", WATCHERS_MAX);
        return;
    }
    struct watcher *watcher = xnew(struct watcher);
    watcher->server = server;
    watcher->exchange = exchange;
    list_push_back(&server->watchers, &watcher->node);
    server->watcher_count++;
    http_stream_start(exchange, 200, JSON_TYPE, on_watcher_closed, watcher);
    watcher_send(watcher);
    loop_timer_arm(&server->heartbeat, AGENT_STATUS_INTERVAL_MS);
}

/* Members have certificates of the same CA, and databases run in their pods: only the operator is served. */
static bool is_operator(struct http_exchange *exchange)
{
    if (str_eq(http_exchange_peer_name(exchange), AGENT_OPERATOR_COMMON_NAME))
        return true;
    http_replyf(exchange, 403, "this door serves %s only", AGENT_OPERATOR_COMMON_NAME);
    return false;
}

static void handle_status(struct http_exchange *exchange, void *arg)
{
    struct agent_server *server = arg;
    if (!is_operator(exchange))
        return;
    const char *watch = http_exchange_query(exchange, "watch");

    if (watch && strcmp(watch, "0") != 0 && strcmp(watch, "false") != 0) {
        start_watch(server, exchange);
        return;
    }
    _cleanup_(strbuf_release) struct strbuf line;
    strbuf_init(&line, AGENT_STATUS_MAX + 1);
    agent_status_encode(server->view->status, &line);
    strbuf_addc(&line, '\n');
    http_reply(exchange, 200, JSON_TYPE, line.buf, line.len);
}

/* ---- check of a my.cnf ---- */

static void on_checked(void *arg, const struct error *error)
{
    struct http_exchange *exchange = arg;
    _cleanup_(json_decrefp) json_t *result = json_object();
    bool refused = error->kind == ERROR_INVALID;

    if (error->kind != ERROR_NONE && !refused) {
        http_replyf(exchange, 503, "my.cnf could not be checked: %s", error->message);
        return;
    }
    json_put_bool(result, "ok", !refused);
    json_put_str(result, "message", error->message);
    char *text = json_text(result);
    http_reply(exchange, 200, JSON_TYPE, text, strlen(text));
    free(text);
}

static void handle_check(struct http_exchange *exchange, void *arg)
{
    struct agent_server *server = arg;
    if (!is_operator(exchange))
        return;
    size_t len = 0;
    const char *body = http_exchange_body(exchange, &len);

    if (strlen(body) != len) {
        http_replyf(exchange, 400, "a my.cnf holds no NUL bytes");
        return;
    }
    if (action_lane_check_mycnf(server->view->actions, body, len, server->view->pod_name, on_checked, exchange) < 0)
        http_replyf(exchange, 503, "other checks run");
}

static const struct http_route tls_routes[] = {
    {"GET", "/v1/status", handle_status},
    {"POST", "/v1/mycnf/check", handle_check},
    {NULL, NULL, NULL},
};

/* ---- life ---- */

struct agent_server *agent_server_new(struct agent_view *view)
{
    struct agent_server *server = xnew(struct agent_server);

    server->view = view;
    list_init(&server->watchers);
    loop_timer_init(&server->heartbeat, view->loop, on_heartbeat, server);
    server->plain = http_server_new(view->loop, NULL, plain_routes, server);
    return server;
}

void agent_server_free(struct agent_server *server)
{
    struct list_node *node;
    struct list_node *next;

    if (!server)
        return;
    http_server_free(server->plain);
    http_server_free(server->tls);
    list_for_each_safe(node, next, &server->watchers)
        watcher_remove(container_of(node, struct watcher, node));
    loop_timer_release(&server->heartbeat);
    free(server);
}

int agent_server_listen_plain(struct agent_server *server, const char *address, uint16_t port, struct error *err)
{
    return http_server_listen(server->plain, address, port, NULL, err);
}

int agent_server_listen_tls(
    struct agent_server *server, struct tls_server *tls, const char *address, uint16_t port, struct error *err)
{
    server->tls = http_server_new(server->view->loop, tls, tls_routes, server);
    if (http_server_listen(server->tls, address, port, NULL, err) == 0)
        return 0;
    http_server_free(server->tls);
    server->tls = NULL;
    return -1;
}
