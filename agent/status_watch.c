/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/status_watch.h"

#include "common/alloc.h"
#include "common/clock.h"
#include "common/list.h"
#include "common/strbuf.h"

#define WATCHERS_MAX 32
#define JSON_TYPE "application/json"

struct status_watch {
    const struct agent_status *status;
    struct list_node watchers;
    size_t watcher_count;
    int64_t alone_since_ms; /* while nobody watches */
    struct loop_timer heartbeat;
};

struct watcher {
    struct list_node node;
    struct status_watch *watch;
    struct http_exchange *exchange;
    bool stalled;
};

/* One line; the clock is read here, so that every line has its own. */
static void encode(const struct status_watch *watch, struct strbuf *line)
{
    struct agent_status status = *watch->status;

    status.now_ms = clock_realtime_ms();
    status.clock_ms = clock_monotonic_ms();
    agent_status_encode(&status, line);
    strbuf_addc(line, '\n');
}

static void watcher_remove(struct watcher *watcher)
{
    list_remove(&watcher->node);
    watcher->watch->watcher_count--;
    watcher->watch->alone_since_ms = clock_monotonic_ms();
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
    encode(watcher->watch, &line);
    if (!http_stream_write(watcher->exchange, line.buf, line.len)) {
        watcher->stalled = true;
        http_stream_on_drain(watcher->exchange, on_watcher_drained, watcher);
    }
}

void status_watch_publish(struct status_watch *watch)
{
    struct list_node *node;
    struct list_node *next;

    list_for_each_safe(node, next, &watch->watchers)
        watcher_send(container_of(node, struct watcher, node));
    if (watch->watcher_count > 0)
        loop_timer_arm(&watch->heartbeat, AGENT_STATUS_INTERVAL_MS);
}

static void on_heartbeat(void *arg)
{
    status_watch_publish(arg);
}

static void start_watch(struct status_watch *watch, struct http_exchange *exchange)
{
    if (watch->watcher_count >= WATCHERS_MAX) {
        http_replyf(exchange, 503, "%d clients watch already", WATCHERS_MAX);
        return;
    }
    struct watcher *watcher = xnew(struct watcher);
    watcher->watch = watch;
    watcher->exchange = exchange;
    list_push_back(&watch->watchers, &watcher->node);
    watch->watcher_count++;
    http_stream_start(exchange, 200, JSON_TYPE, on_watcher_closed, watcher);
    watcher_send(watcher);
    loop_timer_arm(&watch->heartbeat, AGENT_STATUS_INTERVAL_MS);
}

void status_watch_handle(struct status_watch *watch, struct http_exchange *exchange, bool may_watch)
{
    const char *wish = http_exchange_query(exchange, "watch");

    if (wish && strcmp(wish, "0") != 0 && strcmp(wish, "false") != 0) {
        if (may_watch)
            start_watch(watch, exchange);
        else
            http_replyf(exchange, 403, "only the operator watches");
        return;
    }
    _cleanup_(strbuf_release) struct strbuf line;
    strbuf_init(&line, AGENT_STATUS_MAX + 1);
    encode(watch, &line);
    http_reply(exchange, 200, JSON_TYPE, line.buf, line.len);
}

size_t status_watch_count(const struct status_watch *watch)
{
    return watch->watcher_count;
}

int64_t status_watch_alone_ms(const struct status_watch *watch, int64_t now_ms)
{
    return watch->watcher_count > 0 ? 0 : MAX_OF(now_ms - watch->alone_since_ms, 1);
}

struct status_watch *status_watch_new(struct loop *loop, const struct agent_status *status)
{
    struct status_watch *watch = xnew(struct status_watch);

    watch->status = status;
    watch->alone_since_ms = clock_monotonic_ms();
    list_init(&watch->watchers);
    loop_timer_init(&watch->heartbeat, loop, on_heartbeat, watch);
    return watch;
}

void status_watch_free(struct status_watch *watch)
{
    struct list_node *node;
    struct list_node *next;

    if (!watch)
        return;
    list_for_each_safe(node, next, &watch->watchers)
        watcher_remove(container_of(node, struct watcher, node));
    loop_timer_release(&watch->heartbeat);
    free(watch);
}
