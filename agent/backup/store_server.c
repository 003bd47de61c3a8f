/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/store_server.h"

#include <unistd.h>

#include "agent/backup/store_claims.h"
#include "agent/backup/store_exchange.h"
#include "agent/backup/store_list.h"
#include "agent/backup/store_xml.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/worker.h"

#define SWEEP_INTERVAL_MS (3600 * 1000LL)
#define XML_TYPE "application/xml"
#define ANSWER_MAX ((size_t)(2 * KM_MIB))
#define COMPLETED_KEPT 16

/* An upload that was completed just now, for whoever did not get the answer. */
struct completed {
    char id[STORE_ID_SIZE];
    char name[STORE_NAME_SIZE];
    char etag[STORE_ETAG_SIZE];
};

struct store_server {
    struct loop *loop;
    const struct store_folder *folder;
    const char *const *peers;
    struct worker *lanes[STORE_LANES];
    struct store_claims *claims;
    struct list_node exchanges;
    size_t count;
    size_t completions; /* of them */
    struct completed completed[COMPLETED_KEPT];
    size_t completed_next;
    struct loop_timer sweep_timer;
    bool closing;
};

/* ---- jobs ---- */

static void on_run(void *arg)
{
    struct store_exchange *exchange = arg;

    exchange->ran = true;
    exchange->work(exchange);
}

static void on_done(void *arg)
{
    struct store_exchange *exchange = arg;

    /* The store goes: what was to free something is done nevertheless, the rest is not begun any more. */
    if (!exchange->ran && exchange->failing)
        exchange->work(exchange);
    else if (!exchange->ran)
        store_fault_set(&exchange->fault, STORE_INTERNAL, "the store ends");
    if (exchange->end_code != STORE_OK && exchange->fault.code == STORE_OK)
        store_fault_set(&exchange->fault, exchange->end_code, "%s", exchange->end_why);
    exchange->busy = false;
    exchange->then(exchange);
}

static struct worker *pick_lane(const struct store_server *server)
{
    struct worker *best = NULL;

    for (size_t i = 0; i < STORE_LANES; i++) {
        struct worker *lane = server->lanes[i];
        if (lane && (!best || worker_pending(lane) < worker_pending(best)))
            best = lane;
    }
    return best;
}

void store_exchange_run(struct store_exchange *exchange, void (*work)(struct store_exchange *exchange),
    void (*then)(struct store_exchange *exchange))
{
    struct worker *lane = pick_lane(exchange->server);
    const struct worker_job job = {.run = on_run, .done = on_done, .arg = exchange};

    exchange->work = work;
    exchange->then = then;
    exchange->busy = true;
    exchange->ran = false;
    if (!lane || worker_submit(lane, &job) < 0)
        on_done(exchange);
}

/* ---- exchanges ---- */

static void wake_waiting(struct store_server *server, const char *upload_id);

void store_exchange_free(struct store_exchange *exchange)
{
    struct store_server *server = exchange->server;

    list_remove(&exchange->node);
    server->count--;
    server->completions -= exchange->request.operation == STORE_UPLOAD_COMPLETE;
    store_receive_release(exchange);
    if (exchange->object.fd >= 0)
        close(exchange->object.fd);
    strbuf_release(&exchange->answer);
    strbuf_release(&exchange->list);
    if (exchange->offset >= 0 && !*exchange->etag)
        store_claims_release(server->claims, exchange->request.upload_id, exchange->request.part);
    if (exchange->request.operation == STORE_UPLOAD_PART)
        wake_waiting(server, exchange->request.upload_id);
    free(exchange);
}

static void reply_fault(struct http_exchange *http, const struct store_fault *fault)
{
    _cleanup_(strbuf_release) struct strbuf text;
    int status = store_code_status(fault->code);

    strbuf_init(&text, ANSWER_MAX);
    store_xml_error(&text, fault, http_exchange_path(http));
    if (status == 503)
        http_exchange_add_header(http, "Retry-After", "1");
    http_reply(http, status, XML_TYPE, text.buf, text.len);
}

void store_exchange_refuse(struct store_exchange *exchange)
{
    const struct store_fault *fault = &exchange->fault;

    if (fault->code == STORE_INTERNAL || fault->code == STORE_INSUFFICIENT_STORAGE)
        log_warn("a request failed", LOG_STR("object", exchange->request.name), LOG_STR("reason", fault->message));
    reply_fault(exchange->http, fault);
    store_exchange_free(exchange);
}

void store_exchange_answer(struct store_exchange *exchange, int status)
{
    char etag[STORE_ETAG_SIZE + 2];
    const struct strbuf *answer = &exchange->answer;

    snprintf(etag, sizeof(etag), "\"%s\"", exchange->etag);
    if (*exchange->etag)
        http_exchange_add_header(exchange->http, "ETag", etag);
    http_reply(exchange->http, status, answer->len > 0 ? XML_TYPE : NULL, answer->buf, answer->len);
    store_exchange_free(exchange);
}

static struct store_exchange *exchange_new(
    struct store_server *server, struct http_exchange *http, const struct store_request *request)
{
    struct store_exchange *exchange = xnew(struct store_exchange);

    exchange->server = server;
    exchange->folder = server->folder;
    exchange->http = http;
    exchange->is_head = str_eq(http_exchange_method(http), "HEAD");
    exchange->request = *request;
    exchange->draft = (struct store_draft)STORE_DRAFT_INIT;
    exchange->object.fd = -1;
    exchange->offset = -1;
    strbuf_init(&exchange->answer, ANSWER_MAX);
    strbuf_init(&exchange->list, STORE_XML_READ_MAX);
    list_push_back(&server->exchanges, &exchange->node);
    server->count++;
    server->completions += request->operation == STORE_UPLOAD_COMPLETE;
    return exchange;
}

static void answered(struct store_exchange *exchange)
{
    bool nothing = exchange->request.operation == STORE_DELETE || exchange->request.operation == STORE_UPLOAD_ABORT;

    if (exchange->fault.code != STORE_OK)
        store_exchange_refuse(exchange);
    else
        store_exchange_answer(exchange, nothing ? 204 : 200);
}

/* ---- requests without bodies ---- */

static void work_delete(struct store_exchange *exchange)
{
    store_object_delete(exchange->folder, exchange->request.name, &exchange->fault);
}

static void work_list(struct store_exchange *exchange)
{
    const struct store_list_query *query = &exchange->request.list;
    struct store_xml_page page;
    bool truncated = false;

    store_xml_page_init(&page);
    if (store_list(exchange->folder, query, store_xml_page_add, &page, &truncated, &exchange->fault) == 0)
        store_xml_page_end(&page, query, truncated, &exchange->answer);
    store_xml_page_release(&page);
}

static void work_list_uploads(struct store_exchange *exchange)
{
    const char *prefix = exchange->request.list.prefix;
    struct store_upload_entry *entries = NULL;
    size_t count = 0;

    if (store_upload_list(exchange->folder, prefix, &entries, &count, &exchange->fault) == 0)
        store_xml_uploads(&exchange->answer, prefix, entries, count);
    free(entries);
}

static void work_upload_begin(struct store_exchange *exchange)
{
    const char *name = exchange->request.name;

    if (store_upload_begin(exchange->folder, name, exchange->id, &exchange->fault) == 0)
        store_xml_begun(&exchange->answer, name, exchange->id);
}

static void upload_begun(struct store_exchange *exchange)
{
    if (exchange->fault.code == STORE_OK)
        store_claims_begin(exchange->server->claims, exchange->id);
    answered(exchange);
}

static void work_upload_abort(struct store_exchange *exchange)
{
    store_upload_abort(exchange->folder, &exchange->request, &exchange->fault);
}

/* ---- completing an upload ---- */

static struct store_exchange *find_other(const struct store_exchange *exchange, enum store_operation operation)
{
    struct list_node *pos;
    struct list_node *tmp;

    list_for_each_safe(pos, tmp, &exchange->server->exchanges) {
        struct store_exchange *other = container_of(pos, struct store_exchange, node);
        if (other != exchange && other->request.operation == operation &&
            str_eq(other->request.upload_id, exchange->request.upload_id))
            return other;
    }
    return NULL;
}

static const struct completed *find_completed(const struct store_exchange *exchange)
{
    const struct store_server *server = exchange->server;

    for (size_t i = 0; i < COMPLETED_KEPT; i++) {
        const struct completed *completed = &server->completed[i];
        if (str_eq(completed->id, exchange->request.upload_id) && str_eq(completed->name, exchange->request.name))
            return completed;
    }
    return NULL;
}

static void remember_completed(const struct store_exchange *exchange)
{
    struct store_server *server = exchange->server;
    struct completed *completed = &server->completed[server->completed_next];

    server->completed_next = (server->completed_next + 1) % COMPLETED_KEPT;
    snprintf(completed->id, sizeof(completed->id), "%s", exchange->request.upload_id);
    snprintf(completed->name, sizeof(completed->name), "%s", exchange->request.name);
    snprintf(completed->etag, sizeof(completed->etag), "%s", exchange->etag);
}

static void work_complete(struct store_exchange *exchange)
{
    _cleanup_(freep) struct store_part *parts = NULL;
    size_t count = 0;

    if (store_xml_read_parts(exchange->list.buf, exchange->list.len, &parts, &count, &exchange->fault) == 0)
        store_upload_complete(exchange->folder, &exchange->request, parts, count, exchange->etag, &exchange->fault);
}

static void completed(struct store_exchange *exchange)
{
    if (exchange->fault.code == STORE_OK) {
        remember_completed(exchange);
        store_claims_end(exchange->server->claims, exchange->request.upload_id);
        store_xml_completed(&exchange->answer, exchange->request.name, exchange->etag);
        *exchange->etag = '\0'; /* it stands in the answer */
    }
    answered(exchange);
}

static void complete_now(struct store_exchange *exchange)
{
    exchange->waiting = false;
    store_exchange_run(exchange, work_complete, completed);
}

static void wake_waiting(struct store_server *server, const char *upload_id)
{
    struct list_node *pos;
    struct list_node *tmp;

    list_for_each_safe(pos, tmp, &server->exchanges) {
        struct store_exchange *exchange = container_of(pos, struct store_exchange, node);
        if (exchange->waiting && str_eq(exchange->request.upload_id, upload_id) &&
            !find_other(exchange, STORE_UPLOAD_PART)) {
            complete_now(exchange);
            return;
        }
    }
}

static void on_list_data(void *arg, const char *data, size_t len)
{
    struct store_exchange *exchange = arg;

    strbuf_add(&exchange->list, data, len);
}

static void on_list_gone(void *arg)
{
    struct store_exchange *exchange = arg;

    store_fault_set(&exchange->fault, STORE_INCOMPLETE_BODY, "the list of the parts was cut off");
    store_exchange_refuse(exchange);
}

static void on_list_end(void *arg)
{
    struct store_exchange *exchange = arg;
    const struct completed *before = find_completed(exchange);
    struct store_exchange *part = NULL;

    if (before) {
        store_xml_completed(&exchange->answer, before->name, before->etag);
        answered(exchange);
        return;
    }
    if (find_other(exchange, STORE_UPLOAD_COMPLETE)) {
        store_fault_set(&exchange->fault, STORE_SLOW_DOWN, "the upload is being completed");
        store_exchange_refuse(exchange);
        return;
    }
    exchange->waiting = true;
    struct list_node *pos;
    struct list_node *tmp;
    list_for_each_safe(pos, tmp, &exchange->server->exchanges) {
        part = container_of(pos, struct store_exchange, node);
        if (part->request.operation == STORE_UPLOAD_PART && str_eq(part->request.upload_id, exchange->request.upload_id))
            store_receive_end(part, STORE_NO_SUCH_UPLOAD, "the upload is being completed without this try");
    }
    if (exchange->waiting && !find_other(exchange, STORE_UPLOAD_PART))
        complete_now(exchange);
}

static const struct http_body_reader list_reader = {on_list_data, on_list_end, on_list_gone};

/* Parts that are new while it is being completed are not taken: find_other sees it. */
static void begin_complete(struct store_exchange *exchange)
{
    if (http_exchange_body_length(exchange->http) > STORE_XML_READ_MAX) {
        store_fault_set(&exchange->fault, STORE_MALFORMED_XML, "the list of the parts is too long");
        store_exchange_refuse(exchange);
        return;
    }
    http_body_read(exchange->http, &list_reader, exchange);
}

/* ---- requests ---- */

static void begin_part(struct store_exchange *exchange)
{
    const struct store_exchange *completion = find_other(exchange, STORE_UPLOAD_COMPLETE);

    if (completion && (completion->waiting || completion->busy)) {
        store_fault_set(&exchange->fault, STORE_NO_SUCH_UPLOAD, "the upload is being completed");
        store_exchange_refuse(exchange);
        return;
    }
    exchange->offset = store_claims_take(exchange->server->claims, exchange->request.upload_id, exchange->request.part,
        http_exchange_body_length(exchange->http));
    store_receive(exchange);
}

static void begin(struct store_exchange *exchange)
{
    switch (exchange->request.operation) {
    case STORE_GET:
        store_send(exchange);
        break;
    case STORE_PUT:
        store_receive(exchange);
        break;
    case STORE_DELETE:
        store_exchange_run(exchange, work_delete, answered);
        break;
    case STORE_LIST:
        store_exchange_run(exchange, work_list, answered);
        break;
    case STORE_LIST_UPLOADS:
        store_exchange_run(exchange, work_list_uploads, answered);
        break;
    case STORE_UPLOAD_BEGIN:
        store_exchange_run(exchange, work_upload_begin, upload_begun);
        break;
    case STORE_UPLOAD_PART:
        begin_part(exchange);
        break;
    case STORE_UPLOAD_COMPLETE:
        begin_complete(exchange);
        break;
    case STORE_UPLOAD_ABORT:
        store_exchange_run(exchange, work_upload_abort, answered);
        break;
    default:
        break;
    }
}

static bool may_come(const struct store_server *server, const char *name)
{
    for (const char *const *peer = server->peers; peer && *peer; peer++) {
        if (str_eq(*peer, name))
            return true;
    }
    return !server->peers;
}

static const char *get_query(void *arg, const char *name)
{
    return http_exchange_query(arg, name);
}

static const char *get_header(void *arg, const char *name)
{
    return http_exchange_header(arg, name);
}

static int check(
    const struct store_server *server, struct http_exchange *http, struct store_request *ret, struct store_fault *fault)
{
    const struct store_texts texts = {.method = http_exchange_method(http),
        .path = http_exchange_path(http),
        .query = get_query,
        .header = get_header,
        .arg = http};

    if (!may_come(server, http_exchange_peer_name(http)))
        return store_fault_set(fault, STORE_ACCESS_DENIED, "this store serves the operator and the members only");
    if (store_request_parse(&texts, ret, fault) < 0)
        return -1;
    if (server->closing || server->count >= STORE_REQUESTS_MAX ||
        (ret->operation == STORE_UPLOAD_COMPLETE && server->completions >= STORE_COMPLETIONS_MAX))
        return store_fault_set(fault, STORE_SLOW_DOWN, "too many requests at once");
    return 0;
}

static void handle(struct http_exchange *http, void *arg)
{
    struct store_server *server = arg;
    struct store_fault fault = {.code = STORE_OK};
    struct store_request request = {0};

    if (check(server, http, &request, &fault) < 0)
        reply_fault(http, &fault);
    else
        begin(exchange_new(server, http, &request));
}

const struct http_route store_server_routes[] = {
    {"GET", "/*", handle},
    {"PUT", "/*", handle},
    {"POST", "/*", handle},
    {"DELETE", "/*", handle},
    {NULL, NULL, NULL},
};

/* ---- life ---- */

static void sweep(void *arg)
{
    const struct store_folder *folder = arg;
    unsigned removed = store_uploads_sweep(folder, clock_realtime_ms());

    if (removed > 0)
        log_info("what was abandoned is removed", LOG_INT("uploads", removed));
}

static void on_sweep(void *arg)
{
    struct store_server *server = arg;
    const struct worker_job job = {.run = sweep, .arg = (void *)(uintptr_t)server->folder};

    loop_timer_arm(&server->sweep_timer, SWEEP_INTERVAL_MS);
    if (worker_submit(server->lanes[0], &job) < 0)
        log_warn("the store is too busy to look for what was abandoned");
}

struct store_server *store_server_new(struct loop *loop, const struct store_folder *folder, const char *const *peers)
{
    struct store_server *server = xnew(struct store_server);

    server->loop = loop;
    server->folder = folder;
    server->peers = peers;
    server->claims = store_claims_new();
    list_init(&server->exchanges);
    for (size_t i = 0; i < STORE_LANES; i++)
        server->lanes[i] = worker_new(loop, "store");
    loop_timer_init(&server->sweep_timer, loop, on_sweep, server);
    loop_timer_arm(&server->sweep_timer, 0);
    return server;
}

void store_server_free(struct store_server *server)
{
    if (!server)
        return;
    server->closing = true;
    loop_timer_release(&server->sweep_timer);
    for (size_t i = 0; i < STORE_LANES; i++)
        worker_free(steal_ptr(server->lanes[i]));
    /* Whose peer had gone before they listened, and was to be told of it by the loop. */
    while (!list_empty(&server->exchanges)) {
        struct store_exchange *exchange = container_of(list_next(&server->exchanges), struct store_exchange, node);
        store_draft_discard(&exchange->draft);
        store_fault_set(&exchange->fault, STORE_INTERNAL, "the store ends");
        store_exchange_refuse(exchange);
    }
    store_claims_free(server->claims);
    free(server);
}

size_t store_server_requests(const struct store_server *server)
{
    return server->count;
}
