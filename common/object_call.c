/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/object_call.h"

#include <time.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/s3_sign.h"
#include "common/tls.h"

#define URL_MAX ((size_t)(8 * KM_KIB))
#define RETRY_AFTER_MAX_MS 30000
/* How often it is looked whether the keys have changed. */
#define KEYS_LOOK_MS 200
#define SHOWN_MAX ((size_t)100)
/* Larger bodies ask first (Expect: 100-continue) once a try has failed: a server that refuses without reading would cut
 * us off before its answer is read. */
#define ASK_FIRST_BYTES ((size_t)(64 * KM_KIB))

struct object_call {
    struct object_store *store;
    char *method;
    char *what; /* for errors: "PUT s3://bucket/key" */
    char *path;
    char *query;
    char *headers[OBJECT_CALL_HEADERS_MAX];
    const void *body;
    size_t body_len;
    char sha256[65];
    size_t max_body;
    bool slow;
    bool paused;
    bool got_data;
    bool unsure;
    bool ending; /* done runs, or has run */
    struct backoff tries;
    struct loop_timer timer;
    unsigned keys_version; /* of the store's, that the last try was signed with */
    int64_t refused_ms;    /* when its keys were; 0: they were not */
    bool awaits_keys;
    struct http_request *http;
    struct error failure; /* of object_call_fail */
    int (*data)(void *arg, struct http_request *http, const char *data, size_t len);
    enum object_verdict (*judge)(void *arg, const struct object_answer *answer, struct error *err);
    void (*done)(void *arg, const struct object_answer *answer, const struct error *err);
    void *arg;
};

/* ---- one try ---- */

static void call_try(struct object_call *call);

static void call_free(struct object_call *call)
{
    loop_timer_release(&call->timer);
    free(call->method);
    free(call->what);
    free(call->path);
    free(call->query);
    for (size_t i = 0; i < OBJECT_CALL_HEADERS_MAX; i++)
        free(call->headers[i]);
    free(call);
}

static void call_end(struct object_call *call, struct object_answer *answer, struct error *err)
{
    if (err && call->tries.attempts > 1)
        error_prefix(err, "after %u tries", call->tries.attempts);
    if (err)
        error_prefix(err, "%s", call->what);
    call->ending = true;
    call->done(call->arg, answer, err);
    call_free(call);
}

static void read_refusal(const struct object_store *store, struct object_answer *answer, struct object_refusal *ret)
{
    if (store->ops->read_refusal(answer->status, answer->body, answer->len, ret) < 0)
        *ret = (struct object_refusal){.code = "", .message = "no reason given"};
    /* Answers to HEAD have no body. */
    const char *region = http_request_header(answer->http, "x-amz-bucket-region");
    if (region && !*ret->region)
        snprintf(ret->region, sizeof(ret->region), "%.60s", region);
    if (answer->status == 301 && !*ret->code)
        snprintf(ret->code, sizeof(ret->code), "PermanentRedirect");
}

static bool transport_may_heal(const struct error *err)
{
    return err->kind == ERROR_UNAVAILABLE || err->kind == ERROR_TIMEOUT || err->kind == ERROR_PROTOCOL;
}

/* refusal: memory for answer->code. */
static enum object_verdict judge_try(struct object_call *call, struct object_answer *answer,
    struct object_refusal *refusal, bool sent, struct error *err)
{
    enum object_verdict verdict;
    if (err->kind != ERROR_NONE) {
        call->unsure |= sent;
        return transport_may_heal(err) ? OBJECT_RETRY : OBJECT_BAD;
    }
    if (answer->status >= 200 && answer->status < 300) {
        verdict = call->judge ? call->judge(call->arg, answer, err) : OBJECT_GOOD;
    } else {
        read_refusal(call->store, answer, refusal);
        answer->code = refusal->code;
        verdict = object_judge_refusal(call->store, answer->status, refusal, err);
    }
    /* The next try is to know that this one may have done it. */
    call->unsure |= verdict == OBJECT_RETRY;
    return verdict;
}

static void pause_and_retry(struct object_call *call, uint32_t retry_after_ms)
{
    /* call_try has counted the try by taking the pause after it; here it is only waited for. */
    const uint32_t wanted_ms = MIN_OF(retry_after_ms, (uint32_t)RETRY_AFTER_MAX_MS);
    struct backoff next = {.attempts = call->tries.attempts - 1, .random_state = call->store->random_state};
    const uint32_t pause_ms = backoff_next_ms(&next, &call->store->pauses);
    call->store->random_state = next.random_state;
    loop_timer_arm(&call->timer, MAX_OF(pause_ms, wanted_ms));
}

/* ---- keys that are rotated ---- */

static int64_t keys_wait_left_ms(const struct object_call *call)
{
    return call->refused_ms + call->store->keys_grace_ms - loop_now_ms(call->store->loop);
}

/* Whoever revokes the old keys before everybody has the new ones must not end hours of work. But keys that never worked
 * are wrong. */
static bool wait_for_keys(struct object_call *call)
{
    struct object_store *store = call->store;
    const bool outdated = call->keys_version != store->keys_version;
    if (call->got_data || (!outdated && (!store->keys_proved || store->keys_grace_ms <= 0)))
        return false;
    if (call->refused_ms == 0) {
        call->refused_ms = loop_now_ms(store->loop);
        log_warn("the store takes the keys no more: new ones are waited for", LOG_STR("bucket", store->bucket));
    }
    const int64_t left_ms = keys_wait_left_ms(call);
    if (!outdated && left_ms <= 0) {
        store->keys_proved = false; /* what else is asked for need not wait as long again */
        return false;
    }
    call->awaits_keys = true;
    loop_timer_arm(&call->timer, outdated ? 0 : MIN_OF(left_ms, (int64_t)KEYS_LOOK_MS));
    return true;
}

/* False: they are here, or time is up: one more try. */
static bool still_awaits_keys(struct object_call *call)
{
    if (!call->awaits_keys)
        return false;
    const int64_t left_ms = keys_wait_left_ms(call);
    call->awaits_keys = call->keys_version == call->store->keys_version && left_ms > 0;
    if (call->awaits_keys)
        loop_timer_arm(&call->timer, MIN_OF(left_ms, (int64_t)KEYS_LOOK_MS));
    else
        call->tries.attempts = 0;
    return call->awaits_keys;
}

static void on_http_done(void *arg, const struct http_response *response, const struct error *http_err)
{
    struct object_call *call = arg;
    struct error err = ERROR_INIT;
    struct object_refusal refusal = {.code = ""};
    struct object_answer answer = {.status = response->status,
        .body = response->body,
        .len = response->body_len,
        .code = "",
        .unsure = call->unsure,
        .http = call->http};
    call->http = NULL;
    if (http_err)
        err = *http_err;
    object_explain_distrust(call->store, response->distrust, &err);
    const enum object_verdict verdict = judge_try(call, &answer, &refusal, response->sent, &err);
    answer.worth_a_retry = verdict == OBJECT_RETRY;
    if (verdict == OBJECT_GOOD && call->keys_version == call->store->keys_version)
        call->store->keys_proved = true;
    if (verdict == OBJECT_BAD && object_blames_keys(&answer, &err) && wait_for_keys(call))
        return;
    if (verdict == OBJECT_RETRY && !call->got_data && call->tries.attempts < OBJECT_TRIES_MAX)
        pause_and_retry(call, response->retry_after_ms);
    else
        call_end(call, &answer, verdict == OBJECT_GOOD ? NULL : &err);
}

static int on_http_data(void *arg, const char *data, size_t len)
{
    struct object_call *call = arg;
    call->got_data = true;
    return call->data(call->arg, call->http, data, len);
}

/* ---- sending ---- */

struct wire {
    struct strbuf url;
    struct strbuf authorization;
    char time[S3_TIME_SIZE];
    char *texts[6 + OBJECT_CALL_HEADERS_MAX]; /* heap */
    size_t count;
};

static void wire_add(struct wire *wire, const char *name, const char *value)
{
    wire->texts[wire->count++] = xasprintf("%s: %s", name, value);
}

static void wire_release(struct wire *wire)
{
    strbuf_release(&wire->url);
    strbuf_release_secret(&wire->authorization);
    for (size_t i = 0; i < wire->count; i++)
        secret_free(wire->texts[i]);
}

static void wire_sign(struct wire *wire, const struct object_call *call)
{
    const struct object_store *store = call->store;
    const bool token = *store->session_token;
    const struct s3_header headers[] = {
        {"host", store->host},
        {"x-amz-content-sha256", call->sha256},
        {"x-amz-date", wire->time},
        {"x-amz-security-token", store->session_token},
    };
    const struct s3_signable request = {.method = call->method,
        .path = call->path,
        .query = call->query,
        .headers = headers,
        .header_count = ARRAY_LEN(headers) - (token ? 0 : 1),
        .payload_sha256 = call->sha256,
        .time = wire->time,
        .region = store->region};
    s3_authorization(&request, store->access_key, store->secret_key, &wire->authorization);
    wire_add(wire, "x-amz-date", wire->time);
    if (token)
        wire_add(wire, "x-amz-security-token", store->session_token);
    wire_add(wire, "Authorization", wire->authorization.buf);
}

static void wire_fill(struct wire *wire, const struct object_call *call)
{
    const struct object_store *store = call->store;
    strbuf_init(&wire->url, URL_MAX);
    strbuf_init(&wire->authorization, URL_MAX);
    strbuf_addf(&wire->url, "%s%s", store->base_url, call->path);
    if (*call->query)
        strbuf_addf(&wire->url, "?%s", call->query);
    wire_add(wire, "Host", store->host);
    wire_add(wire, store->ops->digest_field, call->sha256);
    s3_format_time(clock_realtime_ms(), wire->time);
    if (*store->access_key)
        wire_sign(wire, call);
    if (call->body_len >= ASK_FIRST_BYTES && call->tries.attempts > 1)
        wire_add(wire, "Expect", "100-continue");
    for (size_t i = 0; i < OBJECT_CALL_HEADERS_MAX; i++)
        if (call->headers[i])
            wire->texts[wire->count++] = xstrdup(call->headers[i]);
}

static void call_try(struct object_call *call)
{
    const struct object_store *store = call->store;
    struct wire wire = {.count = 0};
    const char *headers[ARRAY_LEN(wire.texts) + 1] = {NULL};
    call->tries.attempts++;
    call->keys_version = store->keys_version;
    wire_fill(&wire, call);
    for (size_t i = 0; i < wire.count; i++)
        headers[i] = wire.texts[i];
    const struct http_request_options options = {.method = call->method,
        .url = wire.url.buf,
        .headers = headers,
        .body = call->body,
        .body_len = call->body_len,
        .body_stays = true,
        .tls = store->tls,
        .connect_to = store->connect_to,
        .idle_timeout_ms = store->idle_timeout_ms * (call->slow ? 5 : 1),
        .max_body = call->max_body,
        .receive_buffer_bytes = call->data ? (size_t)(128 * KM_KIB) : 0,
        .data = call->data ? on_http_data : NULL,
        .done = on_http_done,
        .arg = call};
    call->http = http_client_start(store->client, &options);
    if (call->paused)
        http_request_pause(call->http);
    wire_release(&wire);
}

static void on_timer(void *arg)
{
    struct object_call *call = arg;
    struct object_answer answer = {.body = "", .code = ""};
    if (still_awaits_keys(call))
        return;
    if (call->failure.kind == ERROR_NONE)
        call_try(call);
    else
        call_end(call, &answer, &call->failure);
}

/* ---- life ---- */

/* The end of a long name tells more, and the reason must fit behind it (ERROR_MESSAGE_MAX). */
static char *describe(const char *method, const struct object_store *store, const char *name)
{
    const char *scheme_end = strstr(store->shown, "://");
    const char *place = scheme_end ? scheme_end + strlen("://") : store->shown;
    _cleanup_(freep) char *whole = xasprintf("%s/%s%s", place, store->prefix, name);
    const size_t len = strlen(whole);
    const bool cut = len > SHOWN_MAX;
    return xasprintf("%s %.*s%s%s", method, (int)(place - store->shown), store->shown, cut ? "..." : "",
        cut ? whole + len - SHOWN_MAX : whole);
}

static void call_aim(struct object_call *call, const char *own_root, const char *name)
{
    const struct object_store *store = call->store;
    const char *root = own_root ? own_root : store->root;
    struct strbuf path;
    strbuf_init(&path, URL_MAX);
    s3_add_path(&path, *root || name ? root : "/");
    if (name) {
        strbuf_addc(&path, '/');
        s3_add_path(&path, store->prefix);
        s3_add_path(&path, name);
    }
    call->path = strbuf_detach(&path, NULL);
    call->what = describe(call->method, store, str_or_empty(name));
}

static void call_hash(struct object_call *call, const unsigned char *sha256)
{
    if (!sha256) {
        tls_sha256_hex(call->body ? call->body : "", call->body_len, call->sha256);
        return;
    }
    for (size_t i = 0; i < 32; i++)
        snprintf(call->sha256 + 2 * i, 3, "%02x", sha256[i]);
}

struct object_call *object_call_start(struct object_store *store, const struct object_call_options *options)
{
    struct object_call *call = xnew(struct object_call);
    call->store = store;
    call->method = xstrdup(options->method);
    call->query = xstrdup(str_or_empty(options->query));
    for (size_t i = 0; i < OBJECT_CALL_HEADERS_MAX; i++)
        call->headers[i] = xstrdup(options->headers[i]);
    call->body = options->body;
    call->body_len = options->body ? options->body_len : 0;
    call->max_body = options->max_body;
    call->slow = options->slow;
    call->data = options->data;
    call->judge = options->judge;
    call->done = options->done;
    call->arg = options->arg;
    call_aim(call, options->root, options->name);
    call_hash(call, options->sha256);
    loop_timer_init(&call->timer, store->loop, on_timer, call);
    loop_timer_arm(&call->timer, options->delay_ms);
    return call;
}

struct object_call *object_call_fail(struct object_store *store, const struct error *err,
    void (*done)(void *arg, const struct object_answer *answer, const struct error *err), void *arg)
{
    struct object_call *call = xnew(struct object_call);
    call->store = store;
    call->what = xstrdup(store->shown);
    call->failure = *err;
    call->done = done;
    call->arg = arg;
    loop_timer_init(&call->timer, store->loop, on_timer, call);
    loop_timer_arm(&call->timer, 0);
    return call;
}

void object_call_cancel(struct object_call *call)
{
    if (!call || call->ending)
        return;
    if (call->http)
        http_request_cancel(call->http);
    call_free(call);
}

void object_call_set_paused(struct object_call *call, bool paused)
{
    if (!call)
        return;
    call->paused = paused;
    if (call->http && paused)
        http_request_pause(call->http);
    else if (call->http)
        http_request_resume(call->http);
}
