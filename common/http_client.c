/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/http_client.h"

#include <curl/curl.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/http_client_connections.h"
#include "common/http_client_tls.h"
#include "common/list.h"
#include "common/version.h"

/* Easy handles kept for reuse: 6 KiB each, so only as many as save allocations in a busy phase. */
#define SPARE_HANDLES_MAX 8
#define CONNECT_TIMEOUT_DEFAULT_MS 10000
#define RECEIVE_BUFFER_DEFAULT_BYTES (16 * KM_KIB)

struct http_client {
    struct loop *loop;
    struct list_node sets;
    struct http_connections *current;
    struct list_node requests;
    /* Requests that something must happen to which could not while libcurl was on the stack, or inside the caller's
     * call; worked off by sweep(). */
    struct list_node todo;
    struct loop_timer sweep_timer;
    unsigned inside_curl;
    CURL *spare[SPARE_HANDLES_MAX];
    size_t spare_count;
    size_t in_flight;
};

enum request_state {
    REQUEST_QUEUED,    /* not with libcurl yet: started from inside a libcurl callback */
    REQUEST_RUNNING,   /* in set->multi */
    REQUEST_FAILED,    /* could not start; done runs from the sweep */
    REQUEST_CANCELLED, /* to be freed by the sweep */
    REQUEST_DELIVERING,
};

struct http_request {
    struct list_node node; /* in http_client.requests or .todo */
    struct http_client *client;
    struct http_connections *set;
    enum request_state state;
    CURL *easy;
    struct http_tls *tls;
    struct curl_slist *headers;
    struct curl_slist *connect_to;
    char *request_body_copy; /* NULL: the caller keeps it */
    const char *request_body;
    size_t request_body_len;
    size_t request_body_handed_out;
    bool begun_once; /* a method that may take effect twice has been sent */
    int64_t start_us;
    int64_t idle_timeout_ms;
    int64_t last_byte_ms;
    struct loop_timer idle_timer;
    int socket; /* of an HTTP/2 connection; -1: not known yet, or not HTTP/2 */
    bool socket_known;
    bool completed; /* libcurl has ended it, without an error */
    bool paused;
    bool resume_wanted;
    bool cut; /* the rest of an error body is not wanted */
    size_t header_bytes;
    size_t max_body;
    struct strbuf body;
    struct error failure; /* our own reason to end it, above libcurl's */
    char curl_message[CURL_ERROR_SIZE];
    int (*data)(void *arg, const char *data, size_t len);
    void (*done)(void *arg, const struct http_response *response, const struct error *err);
    void *arg;
};

/* ---- life of a request ---- */

static void give_back_handle(struct http_client *client, CURL *easy)
{
    if (!easy)
        return;
    if (client->spare_count == SPARE_HANDLES_MAX) {
        curl_easy_cleanup(easy);
        return;
    }
    curl_easy_reset(easy);
    client->spare[client->spare_count++] = easy;
}

static CURL *take_handle(struct http_client *client)
{
    if (client->spare_count > 0)
        return client->spare[--client->spare_count];
    CURL *easy = curl_easy_init();
    if (!easy)
        abort();
    return easy;
}

static void free_secret_list(struct curl_slist *list)
{
    for (struct curl_slist *item = list; item; item = item->next)
        explicit_bzero(item->data, strlen(item->data));
    curl_slist_free_all(list);
}

static void request_free(struct http_request *request)
{
    struct http_client *client = request->client;
    list_remove(&request->node);
    client->in_flight--;
    give_back_handle(client, request->easy);
    loop_timer_release(&request->idle_timer);
    free_secret_list(request->headers);
    curl_slist_free_all(request->connect_to);
    if (request->request_body_copy)
        explicit_bzero(request->request_body_copy, request->request_body_len);
    free(request->request_body_copy);
    strbuf_release_secret(&request->body);
    http_tls_unref(request->tls);
    free(request);
}

/* Takes it away from libcurl; only while libcurl is not on the stack. */
static void request_detach(struct http_request *request)
{
    if (!request->set)
        return;
    http_connections_remove(request->set, request->easy, request->completed);
    request->set = NULL;
}

/* Has the sweep look at it, which runs next turn, or as soon as libcurl is off the stack. */
static void request_mark(struct http_request *request)
{
    list_remove(&request->node);
    list_push_back(&request->client->todo, &request->node);
    if (request->client->inside_curl == 0)
        loop_timer_arm(&request->client->sweep_timer, 0);
}

static void request_attach(struct http_request *request)
{
    struct http_connections *set = request->client->current;
    const char *refusal = http_connections_add(set, request->easy);
    if (refusal) {
        error_set(&request->failure, ERROR_INTERNAL, "%s", refusal);
        request->state = REQUEST_FAILED;
        request_mark(request);
        return;
    }
    request->set = set;
    request->state = REQUEST_RUNNING;
}

static const struct {
    CURLcode code;
    enum error_kind kind;
} failure_kinds[] = {
    {CURLE_OPERATION_TIMEDOUT, ERROR_TIMEOUT},
    {CURLE_PARTIAL_FILE, ERROR_PROTOCOL},
    {CURLE_WEIRD_SERVER_REPLY, ERROR_PROTOCOL},
    {CURLE_UNSUPPORTED_PROTOCOL, ERROR_INVALID},
    {CURLE_URL_MALFORMAT, ERROR_INVALID},
    {CURLE_SSL_CERTPROBLEM, ERROR_INVALID},
    {CURLE_SSL_CACERT_BADFILE, ERROR_INVALID},
    {CURLE_BAD_FUNCTION_ARGUMENT, ERROR_INTERNAL},
    {CURLE_FAILED_INIT, ERROR_INTERNAL},
};

static void error_from_curl(struct error *err, const struct http_request *request, CURLcode code)
{
    enum error_kind kind = ERROR_UNAVAILABLE;
    for (size_t i = 0; i < ARRAY_LEN(failure_kinds); i++)
        if (failure_kinds[i].code == code)
            kind = failure_kinds[i].kind;
    long os_errno = 0;
    if (code == CURLE_COULDNT_CONNECT)
        curl_easy_getinfo(request->easy, CURLINFO_OS_ERRNO, &os_errno);
    const char *said = *request->curl_message ? request->curl_message : curl_easy_strerror(code);
    error_set_code(err, kind, (int)os_errno, "%s", said);
}

static int http_version_number(long curl_version)
{
    switch (curl_version) {
    case CURL_HTTP_VERSION_1_0:
        return 10;
    case CURL_HTTP_VERSION_1_1:
        return 11;
    case CURL_HTTP_VERSION_2_0:
        return 20;
    default:
        return 0;
    }
}

static void response_fill(struct http_response *response, struct http_request *request)
{
    long status = 0;
    long connects = 0;
    long version = 0;
    long sent_bytes = 0;
    char *content_type = NULL;
    curl_off_t retry_after_s = 0;
    CURL *easy = request->easy;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(easy, CURLINFO_NUM_CONNECTS, &connects);
    curl_easy_getinfo(easy, CURLINFO_HTTP_VERSION, &version);
    curl_easy_getinfo(easy, CURLINFO_REQUEST_SIZE, &sent_bytes);
    curl_easy_getinfo(easy, CURLINFO_CONTENT_TYPE, &content_type);
    curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &retry_after_s);
    retry_after_s = MIN_OF(MAX_OF(retry_after_s, 0), (curl_off_t)(UINT32_MAX / 1000));
    *response = (struct http_response){
        .status = (int)status,
        .retry_after_ms = (uint32_t)retry_after_s * 1000U,
        .content_type = content_type,
        .body = request->body.buf,
        .body_len = request->body.len,
        .reused_connection = status > 0 && connects == 0,
        .sent = sent_bytes > 0,
        .http_version = status > 0 ? http_version_number(version) : 0,
        .total_us = clock_monotonic_us() - request->start_us,
    };
}

/* Runs `done` and frees. libcurl must not be on the stack. */
static void request_deliver(struct http_request *request, CURLcode code)
{
    struct error err = ERROR_INIT;
    struct http_response response;
    response_fill(&response, request);
    response.distrust = http_tls_distrust(request->easy, (int)code);
    if (request->failure.kind != ERROR_NONE)
        err = request->failure;
    else if (code != CURLE_OK && !(request->cut && code == CURLE_WRITE_ERROR))
        error_from_curl(&err, request, code);
    if (err.kind != ERROR_NONE)
        err.retry_after_ms = response.retry_after_ms;
    request_detach(request);
    request->state = REQUEST_DELIVERING;
    request->done(request->arg, &response, err.kind == ERROR_NONE ? NULL : &err);
    request_free(request);
}

/* ---- the sweep: everything that must happen outside libcurl and outside the caller's start ---- */

static void deliver_finished(struct http_connections *set)
{
    CURL *easy;
    int code;
    while ((easy = http_connections_next_finished(set, &code))) {
        struct http_request *request = NULL;
        curl_easy_getinfo(easy, CURLINFO_PRIVATE, &request);
        request->completed = code == CURLE_OK;
        if (request->state == REQUEST_CANCELLED)
            request_detach(request);
        else
            request_deliver(request, (CURLcode)code);
    }
}

static void request_resume(struct http_request *request)
{
    request->resume_wanted = false;
    if (request->paused)
        return;
    request->last_byte_ms = loop_now_ms(request->client->loop);
    request->client->inside_curl++;
    const CURLcode code = curl_easy_pause(request->easy, CURLPAUSE_CONT);
    request->client->inside_curl--;
    /* What was held back is handed out in there; libcurl itself does not end the transfer when that fails. */
    if (code != CURLE_OK && request->state == REQUEST_RUNNING)
        request_deliver(request, code);
}

static void request_step(struct http_request *request)
{
    switch (request->state) {
    case REQUEST_QUEUED:
        request_attach(request);
        break;
    case REQUEST_FAILED:
        request_deliver(request, CURLE_OK);
        break;
    case REQUEST_CANCELLED:
        request_detach(request);
        request_free(request);
        break;
    case REQUEST_RUNNING:
        if (request->failure.kind != ERROR_NONE)
            request_deliver(request, CURLE_OK);
        else if (request->resume_wanted)
            request_resume(request);
        break;
    case REQUEST_DELIVERING:
        break;
    }
}

static void sweep(struct http_client *client)
{
    struct list_node *pos;
    struct list_node *tmp;
    if (client->inside_curl > 0)
        return;
    list_for_each_safe(pos, tmp, &client->sets)
        deliver_finished(container_of(pos, struct http_connections, node));
    while ((pos = list_pop_front(&client->todo))) {
        list_push_back(&client->requests, pos);
        request_step(container_of(pos, struct http_request, node));
    }
    list_for_each_safe(pos, tmp, &client->sets) {
        struct http_connections *set = container_of(pos, struct http_connections, node);
        if (set != client->current && set->in_flight == 0)
            http_connections_free(set);
    }
}

static void on_sweep_timer(void *arg)
{
    sweep(arg);
}

static void on_curl_enter(void *arg)
{
    ((struct http_client *)arg)->inside_curl++;
}

static void on_curl_leave(void *arg)
{
    ((struct http_client *)arg)->inside_curl--;
    sweep(arg);
}

/* ---- callbacks of one transfer ---- */

static void on_idle_timer(void *arg)
{
    struct http_request *request = arg;
    const int64_t now_ms = loop_now_ms(request->client->loop);
    if (request->paused)
        request->last_byte_ms = now_ms;
    const int64_t left_ms = request->last_byte_ms + request->idle_timeout_ms - now_ms;
    if (left_ms > 0) {
        loop_timer_arm(&request->idle_timer, left_ms);
        return;
    }
    error_set(&request->failure, ERROR_TIMEOUT, "no byte within %lld ms", (long long)request->idle_timeout_ms);
    request_mark(request);
}

static size_t on_header(char *data, size_t size, size_t count, void *arg)
{
    struct http_request *request = arg;
    const size_t len = size * count;
    UNUSED(data);
    request->last_byte_ms = loop_now_ms(request->client->loop);
    request->header_bytes += len;
    if (request->header_bytes <= HTTP_HEADERS_MAX)
        return len;
    error_set(&request->failure, ERROR_TOO_LARGE, "response headers exceed %ld bytes", (long)HTTP_HEADERS_MAX);
    return 0;
}

static bool answer_is_success(const struct http_request *request)
{
    const int status = http_request_status(request);
    return status >= 200 && status < 300;
}

/* 0 tells libcurl to give up. */
static size_t gather(struct http_request *request, const char *data, size_t len)
{
    const size_t room = request->body.max - request->body.len;
    strbuf_add(&request->body, data, MIN_OF(len, room));
    if (len <= room)
        return len;
    if (answer_is_success(request))
        error_set(&request->failure, ERROR_TOO_LARGE, "response body exceeds %zu bytes", request->max_body);
    else
        request->cut = true;
    return 0;
}

static size_t hand_out(struct http_request *request, const char *data, size_t len)
{
    if (request->data(request->arg, data, len) == 0 || request->state == REQUEST_CANCELLED)
        return request->state == REQUEST_CANCELLED ? 0 : len;
    error_set(&request->failure, ERROR_CANCELLED, "ended by the receiver");
    return 0;
}

static void look_again(struct http_request *request)
{
    if (!request->socket_known) {
        long version = 0;
        curl_easy_getinfo(request->easy, CURLINFO_HTTP_VERSION, &version);
        request->socket =
            version == CURL_HTTP_VERSION_2_0 ? http_connections_socket_of(request->set, request->easy) : -1;
        request->socket_known = true;
    }
    http_connections_look_again(request->set, request->socket);
}

static size_t on_body(char *data, size_t size, size_t count, void *arg)
{
    struct http_request *request = arg;
    const size_t len = size * count;
    if (request->state != REQUEST_RUNNING || request->failure.kind != ERROR_NONE)
        return 0;
    request->last_byte_ms = loop_now_ms(request->client->loop);
    if (request->paused)
        return CURL_WRITEFUNC_PAUSE;
    look_again(request);
    if (request->data && answer_is_success(request))
        return hand_out(request, data, len);
    if (request->body.len == 0 && !answer_is_success(request))
        request->body.max = KUBE_ERROR_BODY_MAX;
    return gather(request, data, len);
}

/* ---- starting ---- */

static bool has_header(const char *const *headers, const char *name)
{
    const size_t len = strlen(name);
    for (size_t i = 0; headers && headers[i]; i++)
        if (strncasecmp(headers[i], name, len) == 0 && headers[i][len] == ':')
            return true;
    return false;
}

static void push_header(struct http_request *request, const char *text)
{
    struct curl_slist *list = curl_slist_append(request->headers, text);
    if (!list)
        abort();
    request->headers = list;
}

static void build_headers(struct http_request *request, const struct http_request_options *options)
{
    for (size_t i = 0; options->headers && options->headers[i]; i++)
        push_header(request, options->headers[i]);
    /* Not what libcurl would add by itself: a wait of a second before larger bodies, and a wrong content type. */
    if (!has_header(options->headers, "Expect"))
        push_header(request, "Expect:");
    if (!has_header(options->headers, "Content-Type"))
        push_header(request, "Content-Type:");
    if (options->bearer_token) {
        char *header = xasprintf("Authorization: Bearer %s", options->bearer_token);
        push_header(request, header);
        secret_free(header);
    }
}

/*
 * libcurl by itself sends a request once more when a reused connection dies without an answer, POST or not. With
 * CURLOPT_POSTFIELDS a write could so take effect twice behind our caller's back. A body that is handed out once and
 * cannot be rewound makes it fail instead (CURLE_SEND_FAIL_REWIND), and the caller decides. A body that is empty needs
 * no rewinding; there on_request_begins says no.
 */
static size_t on_body_wanted(char *out, size_t size, size_t count, void *arg)
{
    struct http_request *request = arg;
    const size_t left = request->request_body_len - request->request_body_handed_out;
    const size_t len = MIN_OF(size * count, left);
    if ((len == 0 && request->request_body_len > 0) || request->state != REQUEST_RUNNING)
        return CURL_READFUNC_ABORT;
    request->last_byte_ms = loop_now_ms(request->client->loop);
    memcpy(out, request->request_body + request->request_body_handed_out, len);
    request->request_body_handed_out += len;
    return len;
}

static int on_request_begins(void *arg, char *peer, char *own, int peer_port, int own_port)
{
    struct http_request *request = arg;
    UNUSED(peer);
    UNUSED(own);
    UNUSED(peer_port);
    UNUSED(own_port);
    if (!request->begun_once) {
        request->begun_once = true;
        return CURL_PREREQFUNC_OK;
    }
    error_set(&request->failure, ERROR_UNAVAILABLE, "the connection was lost before there was an answer");
    return CURL_PREREQFUNC_ABORT;
}

static void apply_method(struct http_request *request, const struct http_request_options *options)
{
    CURL *easy = request->easy;
    const char *method = options->method ? options->method : "GET";
    const bool wants_body = str_eq(method, "POST") || str_eq(method, "PUT") || str_eq(method, "PATCH");
    if (options->body || wants_body) {
        request->request_body_len = options->body ? options->body_len : 0;
        request->request_body = options->body ? options->body : "";
        if (!options->body_stays)
            request->request_body = request->request_body_copy =
                xmemdup(request->request_body, request->request_body_len);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->request_body_len);
        curl_easy_setopt(easy, CURLOPT_POST, 1L);
        curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_body_wanted);
        curl_easy_setopt(easy, CURLOPT_READDATA, request);
        curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_request_begins);
        curl_easy_setopt(easy, CURLOPT_PREREQDATA, request);
    }
    if (str_eq(method, "HEAD"))
        curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    else if (!str_eq(method, "GET") || options->body)
        curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method);
}

/* libcurl verifies the name in the URL. So another name to verify goes into the URL, while the connection and the
 * Host header keep the authority that was asked for. */
static int swap_server_name(
    struct http_request *request, const struct http_request_options *options, char **ret_url, char **ret_dial)
{
    CURLU *url = curl_url();
    char *host = NULL;
    char *port = NULL;
    int rc = -1;
    if (curl_url_set(url, CURLUPART_URL, options->url, 0) == CURLUE_OK &&
        curl_url_get(url, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
        curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK) {
        if (!has_header(options->headers, "Host")) {
            char *header = xasprintf("Host: %s:%s", host, port);
            push_header(request, header);
            free(header);
        }
        *ret_dial = xasprintf("%s:%s", host, port);
        char *swapped = NULL;
        if (curl_url_set(url, CURLUPART_HOST, request->tls->server_name, 0) == CURLUE_OK &&
            curl_url_get(url, CURLUPART_URL, &swapped, 0) == CURLUE_OK) {
            *ret_url = xstrdup(swapped);
            rc = 0;
        }
        curl_free(swapped);
    }
    curl_free(host);
    curl_free(port);
    curl_url_cleanup(url);
    return rc;
}

static int apply_target(struct http_request *request, const struct http_request_options *options)
{
    _cleanup_(freep) char *url = NULL;
    _cleanup_(freep) char *dial = NULL;
    if (request->tls && request->tls->server_name && swap_server_name(request, options, &url, &dial) < 0)
        return error_set(&request->failure, ERROR_INVALID, "not a usable URL or server name: %s", options->url);
    if (options->connect_to)
        str_replace(&dial, options->connect_to);
    if (dial) {
        char *rule = xasprintf("::%s", dial);
        request->connect_to = curl_slist_append(NULL, rule);
        free(rule);
        curl_easy_setopt(request->easy, CURLOPT_CONNECT_TO, request->connect_to);
    }
    curl_easy_setopt(request->easy, CURLOPT_URL, url ? url : options->url);
    curl_easy_setopt(
        request->easy, CURLOPT_PATH_AS_IS, 1L); /* a signature and a deletion mean the path as it was written */
    return 0;
}

static void apply_basics(struct http_request *request, const struct http_request_options *options)
{
    CURL *easy = request->easy;
    const int64_t connect_ms =
        options->connect_timeout_ms > 0 ? options->connect_timeout_ms : CONNECT_TIMEOUT_DEFAULT_MS;
    const size_t buffer =
        options->receive_buffer_bytes > 0 ? options->receive_buffer_bytes : (size_t)RECEIVE_BUFFER_DEFAULT_BYTES;
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    /* Without TLS it would wait for the first answer, however long that takes, to learn that it is HTTP/1.1. */
    curl_easy_setopt(easy, CURLOPT_PIPEWAIT, str_starts_with(options->url, "https:") ? 1L : 0L);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, KM_USER_AGENT);
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)buffer);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)connect_ms);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)MAX_OF(options->timeout_ms, 0));
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, request->curl_message);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, request);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, request);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, request);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, request->headers);
}

static struct http_request *request_new(struct http_client *client, const struct http_request_options *options)
{
    struct http_request *request = xnew(struct http_request);
    request->client = client;
    request->easy = take_handle(client);
    request->socket = -1;
    request->tls = http_tls_ref(options->tls);
    request->start_us = clock_monotonic_us();
    request->last_byte_ms = loop_now_ms(client->loop);
    request->idle_timeout_ms = options->idle_timeout_ms;
    request->max_body = options->max_body > 0 ? options->max_body : (size_t)HTTP_BODY_MAX;
    request->data = options->data;
    request->done = options->done;
    request->arg = options->arg;
    strbuf_init(&request->body, request->max_body);
    list_push_back(&client->requests, &request->node);
    client->in_flight++;
    return request;
}

struct http_request *http_client_start(struct http_client *client, const struct http_request_options *options)
{
    struct http_request *request = request_new(client, options);
    loop_timer_init(&request->idle_timer, client->loop, on_idle_timer, request);
    build_headers(request, options);
    apply_method(request, options);
    http_tls_apply(request->easy, request->tls);
    if (apply_target(request, options) < 0) {
        request->state = REQUEST_FAILED;
        request_mark(request);
        return request;
    }
    apply_basics(request, options);
    if (request->idle_timeout_ms > 0)
        loop_timer_arm(&request->idle_timer, request->idle_timeout_ms);
    if (client->inside_curl > 0)
        request_mark(request);
    else
        request_attach(request);
    return request;
}

int http_request_status(const struct http_request *request)
{
    long status = 0;
    curl_easy_getinfo(request->easy, CURLINFO_RESPONSE_CODE, &status);
    return (int)status;
}

const char *http_request_header(const struct http_request *request, const char *name)
{
    struct curl_header *header = NULL;
    if (curl_easy_header(request->easy, name, 0, CURLH_HEADER, -1, &header) != CURLHE_OK)
        return NULL;
    const size_t last = header->amount - 1;
    return curl_easy_header(request->easy, name, last, CURLH_HEADER, -1, &header) == CURLHE_OK ? header->value : NULL;
}

void http_request_cancel(struct http_request *request)
{
    if (request->state == REQUEST_DELIVERING || request->state == REQUEST_CANCELLED)
        return;
    if (request->client->inside_curl > 0) {
        request->state = REQUEST_CANCELLED;
        loop_timer_cancel(&request->idle_timer);
        request_mark(request);
        return;
    }
    request_detach(request);
    request_free(request);
}

void http_request_pause(struct http_request *request)
{
    /* The next bytes are refused by on_body, whereupon libcurl holds them and stops reading. */
    request->paused = true;
}

void http_request_resume(struct http_request *request)
{
    if (!request->paused)
        return;
    request->paused = false;
    request->resume_wanted = true;
    request_mark(request);
}

/* ---- the client ---- */

static void use_new_connections(struct http_client *client)
{
    client->current = http_connections_new(client->loop, on_curl_enter, on_curl_leave, client);
    list_push_back(&client->sets, &client->current->node);
}

struct http_client *http_client_new(struct loop *loop)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        abort();
    struct http_client *client = xnew(struct http_client);
    client->loop = loop;
    list_init(&client->sets);
    list_init(&client->requests);
    list_init(&client->todo);
    loop_timer_init(&client->sweep_timer, loop, on_sweep_timer, client);
    use_new_connections(client);
    return client;
}

static void free_requests(struct list_node *list)
{
    struct list_node *pos;
    struct list_node *tmp;
    list_for_each_safe(pos, tmp, list) {
        struct http_request *request = container_of(pos, struct http_request, node);
        request_detach(request);
        request_free(request);
    }
}

void http_client_free(struct http_client *client)
{
    struct list_node *pos;
    struct list_node *tmp;
    if (!client)
        return;
    free_requests(&client->requests);
    free_requests(&client->todo);
    list_for_each_safe(pos, tmp, &client->sets)
        http_connections_free(container_of(pos, struct http_connections, node));
    while (client->spare_count > 0)
        curl_easy_cleanup(client->spare[--client->spare_count]);
    loop_timer_release(&client->sweep_timer);
    free(client);
    curl_global_cleanup();
}

void http_client_stats(const struct http_client *client, size_t *ret_connections, size_t *ret_in_flight)
{
    size_t connections = 0;
    for (const struct list_node *pos = client->sets.next; pos != &client->sets; pos = pos->next)
        connections += container_of(pos, struct http_connections, node)->open;
    if (ret_connections)
        *ret_connections = connections;
    if (ret_in_flight)
        *ret_in_flight = client->in_flight;
}

void http_client_drop_idle(struct http_client *client)
{
    use_new_connections(client);
    loop_timer_arm(&client->sweep_timer, 0);
}
