/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/kube/kube_client.h"

#include "common/alloc.h"
#include "common/backoff.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/list.h"
#include "common/log.h"
#include "common/version.h"
#include "operator/kube/kube_client_private.h"
#include "operator/kube/kube_token.h"

/* Far above what one API server writes: KUBE_INFLIGHT_MAX is the brake that follows its pace, this one only stops a
 * runaway. */
#define QPS_DEFAULT 2000.0
#define BURST_DEFAULT 4000.0
#define MAX_ATTEMPTS_DEFAULT 5
#define TIMEOUT_DEFAULT_MS 30000
/* The longest Retry-After that we follow. */
#define RETRY_AFTER_MAX_MS 60000U
static const struct backoff_policy retry_policy = {.base_ms = 100, .max_ms = 5000, .jitter_percent = 20};

struct kube_client {
    struct loop *loop;
    struct http_client *http;
    struct http_tls *tls;
    struct kube_token token;
    char *server;
    char *field_manager;
    char *user_agent_header;
    double qps, burst;
    double tokens; /* of the bucket */
    int64_t refilled_us;
    struct loop_timer bucket_timer;
    int max_attempts;
    int64_t timeout_ms;
    bool (*may_write)(void *arg);
    void *may_write_arg;
    struct list_node queue;  /* waiting for their turn, first come first served */
    struct list_node active; /* everything else: running, waiting to be repeated, refused, streams */
    size_t outstanding;      /* requests that are no streams */
    size_t in_flight;        /* of these, with http_client */
    struct metric_family *requests_total;
    struct metric_family *duration;
    struct metric *in_flight_gauge;
    struct metric *warnings_total;
};

enum request_state {
    REQUEST_QUEUED,
    REQUEST_RUNNING,
    REQUEST_WAITING, /* for the back-off or Retry-After */
    REQUEST_REFUSED, /* queue full: done runs from the timer */
    REQUEST_BARRED,  /* a write that may not be: the same */
};

struct kube_request {
    struct list_node node;
    struct kube_client *client;
    enum request_state state;
    struct kube_call call;
    int attempts;
    bool token_read_again;
    struct backoff backoff;
    struct loop_timer timer;
    struct http_request *http;
    int64_t started_us;
    kube_done_fn done;
    bool is_stream;
    struct kube_stream_ops stream;
    int64_t idle_timeout_ms;
    void *arg;
};

static void pump(struct kube_client *client);

/* ---- metrics ---- */

static const struct metric_desc requests_desc = {
    .name = "kubemysql_api_requests_total",
    .help = "Requests to the API server by outcome; code is <error> when no answer came.",
    .type = METRIC_COUNTER,
    .labels = {"verb", "resource", "code"},
};
static const struct metric_desc duration_desc = {
    .name = "kubemysql_api_request_duration_seconds",
    .help = "Time from sending a request to its complete answer.",
    .type = METRIC_HISTOGRAM,
    .labels = {"verb"},
    .buckets = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30},
};
static const struct metric_desc in_flight_desc = {
    .name = "kubemysql_api_requests_in_flight",
    .help = "Requests under way, streams not counted.",
    .type = METRIC_GAUGE,
};

static const struct metric_desc warnings_desc = {
    .name = "kubemysql_api_warnings_total",
    .help = "Answers of the API server with a Warning header; the log has its words.",
    .type = METRIC_COUNTER,
};

/* A deprecated version, or an object that is accepted and not as it should be. While the answer is there.
 * https://kubernetes.io/docs/reference/using-api/deprecation-policy/ */
static void count_warning(const struct kube_request *request)
{
    const char *warning = http_request_header(request->http, "Warning");
    if (!warning)
        return;
    log_warn("the API server warns", LOG_STR("verb", request->call.verb), LOG_STR("path", request->call.path),
        LOG_STR("warning", warning));
    if (request->client->warnings_total)
        metric_inc(request->client->warnings_total);
}

static void count_answer(const struct kube_request *request, int status)
{
    struct kube_client *client = request->client;
    if (!client->requests_total)
        return;
    char code[16] = "<error>";
    if (status > 0)
        snprintf(code, sizeof(code), "%d", status);
    const char *labels[] = {request->call.verb, request->call.resource, code};
    metric_inc(metric_with(client->requests_total, labels));
    if (!request->is_stream)
        metric_observe(metric_of1(client->duration, request->call.verb),
            (double)(clock_monotonic_us() - request->started_us) / 1e6);
}

static void set_in_flight(struct kube_client *client, size_t in_flight)
{
    client->in_flight = in_flight;
    if (client->in_flight_gauge)
        metric_set(client->in_flight_gauge, (double)in_flight);
}

/* ---- the client ---- */

static void on_bucket_timer(void *arg)
{
    pump(arg);
}

static struct http_tls *tls_from(const struct kube_config *config)
{
    const struct http_tls_options options = {
        .ca_pem = config->ca_pem,
        .cert_pem = config->client_cert_pem,
        .key_pem = config->client_key_pem,
        .server_name = config->tls_server_name,
        .insecure_skip_verify = config->insecure_skip_verify,
    };
    return http_tls_new(&options);
}

static void declare_metrics(struct kube_client *client, struct metrics *metrics)
{
    if (!metrics)
        return;
    client->requests_total = metrics_declare(metrics, &requests_desc);
    client->duration = metrics_declare(metrics, &duration_desc);
    client->in_flight_gauge = metric_of(metrics_declare(metrics, &in_flight_desc));
    client->warnings_total = metric_of(metrics_declare(metrics, &warnings_desc));
}

struct kube_client *kube_client_new(struct loop *loop, struct http_client *http, const struct kube_config *config,
    const struct kube_client_options *options, struct error *err)
{
    static const struct kube_client_options defaults = {.qps = 0};
    options = options ? options : &defaults;
    struct kube_token token;
    if (kube_token_init(&token, config->token, config->token_file, err) < 0)
        return NULL;
    struct kube_client *client = xnew(struct kube_client);
    client->loop = loop;
    client->http = http;
    client->token = token;
    client->tls = tls_from(config);
    client->server = xstrdup(config->server);
    client->field_manager = xstrdup(options->field_manager ? options->field_manager : "kube-mysql");
    if (options->user_agent)
        client->user_agent_header = xasprintf("User-Agent: %s", options->user_agent);
    client->qps = options->qps > 0 ? options->qps : QPS_DEFAULT;
    client->burst = options->burst >= 1 ? options->burst : MAX_OF(BURST_DEFAULT, client->qps);
    client->tokens = client->burst;
    client->refilled_us = clock_monotonic_us();
    client->max_attempts = options->max_attempts > 0 ? options->max_attempts : MAX_ATTEMPTS_DEFAULT;
    client->timeout_ms = options->timeout_ms > 0 ? options->timeout_ms : TIMEOUT_DEFAULT_MS;
    client->may_write = options->may_write;
    client->may_write_arg = options->may_write_arg;
    list_init(&client->queue);
    list_init(&client->active);
    loop_timer_init(&client->bucket_timer, loop, on_bucket_timer, client);
    declare_metrics(client, options->metrics);
    return client;
}

const char *kube_client_field_manager(const struct kube_client *client)
{
    return client->field_manager;
}

static void request_free(struct kube_request *request)
{
    loop_timer_release(&request->timer);
    free(request->call.path);
    secret_free(request->call.body);
    if (request->call.free_arg)
        request->call.free_arg(request->arg);
    free(request);
}

/* Takes it out of the client's books; what is left is only the struct. */
static void request_unlink(struct kube_request *request)
{
    struct kube_client *client = request->client;
    list_remove(&request->node);
    if (request->is_stream)
        return;
    client->outstanding--;
    if (request->state == REQUEST_RUNNING)
        set_in_flight(client, client->in_flight - 1);
}

static void free_all(struct list_node *head)
{
    struct list_node *node;
    while ((node = list_pop_front(head))) {
        struct kube_request *request = container_of(node, struct kube_request, node);
        if (request->http)
            http_request_cancel(request->http);
        request_free(request);
    }
}

void kube_client_free(struct kube_client *client)
{
    if (!client)
        return;
    free_all(&client->queue);
    free_all(&client->active);
    if (client->in_flight_gauge)
        metric_set(client->in_flight_gauge, 0);
    loop_timer_release(&client->bucket_timer);
    kube_token_release(&client->token);
    http_tls_unref(client->tls);
    free(client->server);
    free(client->field_manager);
    free(client->user_agent_header);
    free(client);
}

/* ---- one attempt ---- */

static void on_answer(void *arg, const struct http_response *response, const struct error *http_err);
static void on_stream_done(void *arg, const struct http_response *response, const struct error *http_err);

static int on_stream_data(void *arg, const char *data, size_t len)
{
    const struct kube_request *request = arg;
    return request->stream.data(request->arg, data, len);
}

static void start_attempt(struct kube_request *request)
{
    struct kube_client *client = request->client;
    const struct kube_call *call = &request->call;
    _cleanup_(freep) char *url = xasprintf("%s%s", client->server, call->path);
    _cleanup_(freep) char *content_type = call->content_type ? xasprintf("Content-Type: %s", call->content_type) : NULL;
    const char *headers[4] = {"Accept: application/json"};
    size_t n = 1;
    if (content_type)
        headers[n++] = content_type;
    if (client->user_agent_header)
        headers[n++] = client->user_agent_header;
    const struct http_request_options options = {
        .method = call->http_method,
        .url = url,
        .headers = headers,
        .bearer_token = kube_token_get(&client->token, loop_now_ms(client->loop)),
        .body = call->body,
        .body_len = call->body ? strlen(call->body) : 0,
        .tls = client->tls,
        .timeout_ms = request->is_stream ? 0 : client->timeout_ms,
        .idle_timeout_ms = request->idle_timeout_ms,
        .receive_buffer_bytes = request->stream.receive_buffer_bytes,
        .data = request->is_stream ? on_stream_data : NULL,
        .done = request->is_stream ? on_stream_done : on_answer,
        .arg = request,
    };
    request->started_us = clock_monotonic_us();
    request->attempts++;
    request->state = REQUEST_RUNNING;
    request->http = http_client_start(client->http, &options);
}

/* ---- queue and token bucket ---- */

static bool take_bucket_token(struct kube_client *client)
{
    int64_t now_us = clock_monotonic_us();
    client->tokens += (double)(now_us - client->refilled_us) / 1e6 * client->qps;
    client->tokens = MIN_OF(client->tokens, client->burst);
    client->refilled_us = now_us;
    if (client->tokens < 1)
        return false;
    client->tokens -= 1;
    return true;
}

static bool is_barred(const struct kube_request *request)
{
    const struct kube_client *client = request->client;
    return client->may_write && !str_eq(request->call.http_method, "GET") && !client->may_write(client->may_write_arg);
}

static void pump(struct kube_client *client)
{
    while (client->in_flight < KUBE_INFLIGHT_MAX && !list_empty(&client->queue)) {
        if (!take_bucket_token(client)) {
            loop_timer_arm(&client->bucket_timer, 1 + (int64_t)((1 - client->tokens) / client->qps * 1000));
            return;
        }
        struct kube_request *request = container_of(list_pop_front(&client->queue), struct kube_request, node);
        list_push_back(&client->active, &request->node);
        if (is_barred(request)) {
            request->state = REQUEST_BARRED;
            loop_timer_arm(&request->timer, 0);
            continue;
        }
        set_in_flight(client, client->in_flight + 1);
        start_attempt(request);
    }
}

/* Ends the request: the books first, because `done` may start requests, or free the client. */
static void finish(struct kube_request *request, const struct kube_answer *answer, const struct error *err)
{
    struct kube_client *client = request->client;
    request_unlink(request);
    pump(client);
    request->done(request->arg, answer, err);
    request_free(request);
}

static void finish_unsent(struct kube_request *request)
{
    static const struct kube_answer none;
    const struct kube_call *call = &request->call;
    struct error err = ERROR_INIT;
    if (request->state == REQUEST_BARRED)
        error_set(&err, ERROR_CANCELLED, "%s %s: not while another one may lead", call->http_method, call->path);
    else
        error_set(&err, ERROR_THROTTLED, "%s %s: %ld requests wait already", call->http_method, call->path,
            (long)KUBE_QUEUE_MAX);
    finish(request, &none, &err);
}

static void on_timer(void *arg)
{
    struct kube_request *request = arg;
    if (request->state == REQUEST_REFUSED || request->state == REQUEST_BARRED) {
        finish_unsent(request);
        return;
    }
    request->state = REQUEST_QUEUED;
    list_remove(&request->node);
    list_push_front(&request->client->queue, &request->node);
    pump(request->client);
}

static struct kube_request *request_new(struct kube_client *client, const struct kube_call *call, void *arg)
{
    struct kube_request *request = xnew(struct kube_request);
    request->client = client;
    request->call = *call;
    request->arg = arg;
    request->backoff.random_state = (uint64_t)(uintptr_t)request ^ (uint64_t)clock_monotonic_us();
    loop_timer_init(&request->timer, client->loop, on_timer, request);
    return request;
}

struct kube_request *kube_submit(struct kube_client *client, const struct kube_call *call, kube_done_fn done, void *arg)
{
    struct kube_request *request = request_new(client, call, arg);
    request->done = done;
    bool full = client->outstanding >= KUBE_QUEUE_MAX;
    client->outstanding++;
    if (full) {
        request->state = REQUEST_REFUSED;
        list_push_back(&client->active, &request->node);
        loop_timer_arm(&request->timer, 0);
        return request;
    }
    request->state = REQUEST_QUEUED;
    list_push_back(&client->queue, &request->node);
    pump(client);
    return request;
}

void kube_request_cancel(struct kube_request *request)
{
    struct kube_client *client = request->client;
    if (request->http)
        http_request_cancel(request->http);
    request_unlink(request);
    request_free(request);
    /* A slot may be free now. Not at once: the caller may be cancelling many. */
    if (!list_empty(&client->queue) && !client->bucket_timer.armed)
        loop_timer_arm(&client->bucket_timer, 0);
}

/* ---- answers ---- */

static void path_without_query(const char *path, int *ret_len)
{
    *ret_len = (int)strcspn(path, "?");
}

/* Why the attempt failed, with the request in front where the server does not say itself what it was about. */
static void explain(const struct kube_request *request, const struct http_response *response,
    const struct error *http_err, struct error *err)
{
    if (!http_err) {
        kube_error_from_status(err, response->status, response->body, response->body_len);
        err->retry_after_ms = MAX_OF(err->retry_after_ms, response->retry_after_ms);
        return;
    }
    int path_len;
    path_without_query(request->call.path, &path_len);
    *err = *http_err;
    error_prefix(err, "%s %.*s", request->call.http_method, path_len, request->call.path);
}

static bool is_success(const struct http_response *response, const struct error *http_err)
{
    return !http_err && response->status >= 200 && response->status < 300;
}

static bool try_again(struct kube_request *request, const struct http_response *response, const struct error *http_err,
    const struct error *err)
{
    struct kube_client *client = request->client;
    int64_t delay_ms;
    if (response->status == 401 && !request->token_read_again && kube_token_distrust(&client->token)) {
        request->token_read_again = true;
        delay_ms = 0;
    } else if (request->attempts < client->max_attempts &&
        kube_may_repeat(request->call.repeatable, response, http_err)) {
        delay_ms = backoff_next_ms(&request->backoff, &retry_policy);
        if (err->retry_after_ms > 0)
            delay_ms = MIN_OF(err->retry_after_ms, RETRY_AFTER_MAX_MS);
    } else {
        return false;
    }
    if (http_err && http_err->kind == ERROR_TIMEOUT)
        http_client_drop_idle(client->http); /* the connection may be what hangs */
    log_debug("API request comes again", LOG_STR("path", request->call.path), LOG_ERR(err), LOG_INT("inMs", delay_ms));
    set_in_flight(client, client->in_flight - 1);
    request->state = REQUEST_WAITING;
    loop_timer_arm(&request->timer, delay_ms);
    pump(client);
    return true;
}

static void deliver_success(struct kube_request *request, const struct http_response *response)
{
    struct error err = ERROR_INIT;
    struct kube_answer answer = {.raw = {.data = response->body, .len = response->body_len}, .status = response->status};
    _cleanup_(json_decrefp) json_t *object = json_parse(response->body, response->body_len, &err);
    if (!object)
        error_prefix(&err, "%s %s", request->call.http_method, request->call.path);
    else if (!str_eq(json_string_value(json_object_get(object, "kind")), "Status"))
        answer.object = object;
    finish(request, &answer, object ? NULL : &err);
}

static void on_answer(void *arg, const struct http_response *response, const struct error *http_err)
{
    struct kube_request *request = arg;
    if (response->status > 0)
        count_warning(request);
    request->http = NULL;
    count_answer(request, http_err ? 0 : response->status);
    if (is_success(response, http_err)) {
        deliver_success(request, response);
        return;
    }
    struct error err = ERROR_INIT;
    explain(request, response, http_err, &err);
    if (try_again(request, response, http_err, &err))
        return;
    const struct kube_answer answer = {.status = response->status};
    finish(request, &answer, &err);
}

/* ---- streams ---- */

static void on_stream_done(void *arg, const struct http_response *response, const struct error *http_err)
{
    struct kube_request *request = arg;
    if (response->status > 0)
        count_warning(request);
    request->http = NULL;
    count_answer(request, http_err ? 0 : response->status);
    struct error err = ERROR_INIT;
    bool success = is_success(response, http_err);
    if (!success)
        explain(request, response, http_err, &err);
    if (response->status == 401)
        kube_token_distrust(&request->client->token);
    if (err.kind == ERROR_TIMEOUT)
        http_client_drop_idle(request->client->http); /* it is the connection that is silent, maybe */
    request_unlink(request);
    request->stream.done(request->arg, success ? NULL : &err);
    request_free(request);
}

struct kube_request *kube_stream(
    struct kube_client *client, const char *path, int64_t idle_timeout_ms, const struct kube_stream_ops *ops, void *arg)
{
    const struct kube_call call = {
        .verb = ops->is_watch ? "watch" : "list",
        .resource = ops->resource ? ops->resource : "",
        .http_method = "GET",
        .path = xstrdup(path),
    };
    struct kube_request *request = request_new(client, &call, arg);
    request->is_stream = true;
    request->stream = *ops;
    request->idle_timeout_ms = idle_timeout_ms;
    list_push_back(&client->active, &request->node);
    start_attempt(request);
    return request;
}
