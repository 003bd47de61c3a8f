#include "common/base.h"

#include "operator/instance/agent_watch.h"

#include "common/alloc.h"
#include "common/backoff.h"
#include "common/error.h"
#include "common/log.h"
#include "common/strbuf.h"

static const struct backoff_policy reconnect_policy = {.base_ms = 200, .max_ms = 5000, .jitter_percent = 30};

/* What one chunk may bring on top of a line that is not complete. */
#define RECEIVE_BUFFER_BYTES (size_t)(16 * KM_KIB)

struct agent_watch {
    struct loop *loop;
    struct http_client *http;
    char *address;
    char *server_name;
    uint16_t port;
    struct http_tls *tls;
    void (*changed)(void *arg);
    void *arg;
    struct http_request *request;
    struct loop_timer reconnect;
    struct backoff backoff;
    struct strbuf line;
    struct agent_status status;
    bool has_status;
    bool spoke; /* on this connection */
    int64_t last_word_ms;
    struct error failure;
};

static void stream_open(void *arg);

/* Transactions that are executed are no news: a busy server has some with every word. */
static bool says_something_new(struct agent_watch *watch, const struct agent_status *status)
{
    if (!watch->has_status || !watch->spoke)
        return true;
    memcpy(watch->status.gtid_executed, status->gtid_executed, sizeof(status->gtid_executed));
    return !agent_status_same(&watch->status, status);
}

static void take_status(struct agent_watch *watch, const struct agent_status *status)
{
    bool news = says_something_new(watch, status);
    watch->status = *status;
    watch->has_status = true;
    watch->spoke = true;
    watch->last_word_ms = loop_now_ms(watch->loop);
    backoff_reset(&watch->backoff);
    error_clear(&watch->failure);
    if (news)
        watch->changed(watch->arg);
}

/* Decodes every complete line in the buffer; the rest stays for the next chunk. */
static int take_lines(struct agent_watch *watch)
{
    char *newline;
    while ((newline = memchr(watch->line.buf, '\n', watch->line.len))) {
        size_t len = (size_t)(newline - watch->line.buf);
        struct agent_status status = {0};
        if (agent_status_decode(watch->line.buf, len, &status, &watch->failure) < 0)
            return -1;
        strbuf_consume(&watch->line, len + 1);
        take_status(watch, &status);
    }
    return 0;
}

static int on_data(void *arg, const char *data, size_t len)
{
    struct agent_watch *watch = arg;
    strbuf_add(&watch->line, data, len);
    if (take_lines(watch) < 0)
        return -1;
    if (watch->line.overflowed || watch->line.len > AGENT_STATUS_MAX)
        return error_set(&watch->failure, ERROR_TOO_LARGE, "a status line of more than %ld bytes", AGENT_STATUS_MAX);
    return 0;
}

static void on_done(void *arg, const struct http_response *response, const struct error *err)
{
    struct agent_watch *watch = arg;
    watch->request = NULL;
    bool ended_by_us = err && err->kind == ERROR_CANCELLED; /* on_data said why */
    if (err && !ended_by_us)
        watch->failure = *err;
    else if (!ended_by_us)
        error_set_code(&watch->failure, ERROR_UNAVAILABLE, response->status,
            "the agent answered %d and ended the stream", response->status);
    bool lost = watch->spoke;
    watch->spoke = false;
    strbuf_reset(&watch->line);
    loop_timer_arm(&watch->reconnect, backoff_next_ms(&watch->backoff, &reconnect_policy));
    if (lost)
        watch->changed(watch->arg);
}

static void stream_open(void *arg)
{
    struct agent_watch *watch = arg;
    _cleanup_(freep) char *url = xasprintf("https://%s:%u/v1/status?watch=1", watch->server_name, watch->port);
    bool ipv6 = strchr(watch->address, ':') != NULL;
    _cleanup_(freep) char *dial = xasprintf(ipv6 ? "[%s]:%u" : "%s:%u", watch->address, watch->port);
    const struct http_request_options options = {
        .method = "GET",
        .url = url,
        .tls = watch->tls,
        .connect_to = dial,
        .connect_timeout_ms = AGENT_WATCH_SILENCE_MS,
        .idle_timeout_ms = AGENT_WATCH_SILENCE_MS,
        .receive_buffer_bytes = RECEIVE_BUFFER_BYTES,
        .data = on_data,
        .done = on_done,
        .arg = watch,
    };
    watch->request = http_client_start(watch->http, &options);
}

struct agent_watch *agent_watch_new(struct loop *loop, struct http_client *http,
    const struct agent_watch_target *target, void (*changed)(void *arg), void *arg)
{
    struct agent_watch *watch = xnew(struct agent_watch);
    watch->loop = loop;
    watch->http = http;
    watch->address = xstrdup(target->address);
    watch->server_name = xstrdup(target->server_name);
    watch->port = target->port;
    watch->tls = http_tls_ref(target->tls);
    watch->changed = changed;
    watch->arg = arg;
    watch->backoff.random_state = random_seed();
    strbuf_init(&watch->line, AGENT_STATUS_MAX + RECEIVE_BUFFER_BYTES);
    error_set(&watch->failure, ERROR_UNAVAILABLE, "not connected yet");
    loop_timer_init(&watch->reconnect, loop, stream_open, watch);
    loop_timer_arm(&watch->reconnect, 0);
    return watch;
}

void agent_watch_free(struct agent_watch *watch)
{
    if (!watch)
        return;
    if (watch->request)
        http_request_cancel(watch->request);
    loop_timer_release(&watch->reconnect);
    strbuf_release(&watch->line);
    http_tls_unref(watch->tls);
    free(watch->address);
    free(watch->server_name);
    free(watch);
}

const struct agent_status *agent_watch_status(const struct agent_watch *watch)
{
    return watch->has_status ? &watch->status : NULL;
}

bool agent_watch_connected(const struct agent_watch *watch)
{
    return watch->spoke;
}

int64_t agent_watch_age_ms(const struct agent_watch *watch)
{
    return watch->has_status ? loop_now_ms(watch->loop) - watch->last_word_ms : INT64_MAX;
}

const char *agent_watch_error(const struct agent_watch *watch)
{
    return watch->spoke ? "" : watch->failure.message;
}

bool agent_watch_same_target(const struct agent_watch *watch, const struct agent_watch_target *target)
{
    return str_eq(watch->address, target->address) && str_eq(watch->server_name, target->server_name) &&
        watch->port == target->port && watch->tls == target->tls;
}
