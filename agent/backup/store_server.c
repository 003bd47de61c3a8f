/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/store_server.h"

#include "agent/backup/store_answer.h"
#include "agent/backup/store_receive.h"
#include "agent/backup/store_send.h"
#include "agent/backup/store_upload.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/log.h"

#define SWEEP_INTERVAL_MS (3600 * 1000LL)
#define COMMITTED_KEPT 64

/* An upload that was committed just now, for whoever did not get the answer. */
struct committed {
    char id[STORE_ID_SIZE];
    char name[STORE_NAME_SIZE];
};

struct store_server {
    struct store_exchanges all;
    const char *const *peers;
    struct committed committed[COMMITTED_KEPT];
    size_t committed_next;
    struct loop_timer sweep_timer;
    bool closing;
};

/* ---- requests without bodies ---- */

static void work_delete(struct store_exchange *exchange)
{
    store_object_delete(exchange->folder, exchange->request.name, &exchange->fault);
}

static void work_list(struct store_exchange *exchange)
{
    struct store_page page = {.out = &exchange->answer};
    bool more = false;

    if (store_list(exchange->folder, &exchange->request.list, store_page_add, &page, &more, &exchange->fault) == 0)
        store_page_end(&page, more);
}

static void work_upload_begin(struct store_exchange *exchange)
{
    store_upload_begin(exchange->folder, &exchange->request, &exchange->fault);
}

static void work_upload_end(struct store_exchange *exchange)
{
    store_upload_end(exchange->folder, &exchange->request);
}

static void work_uploads_end(struct store_exchange *exchange)
{
    size_t count = 0;

    if (store_uploads_end(exchange->folder, exchange->request.list.prefix, &count, &exchange->fault) == 0)
        strbuf_addf(&exchange->answer, "{\"ended\":%zu}\n", count);
}

/* ---- committing an upload ---- */

static bool is_other(
    const struct store_exchange *exchange, const struct store_exchange *other, enum store_operation operation)
{
    return other != exchange && other->request.operation == operation &&
        str_eq(other->request.upload_id, exchange->request.upload_id);
}

static bool is_being_committed(const struct store_exchange *exchange)
{
    struct list_node *pos;
    struct list_node *tmp;

    list_for_each_safe(pos, tmp, &exchange->all->list) {
        if (is_other(exchange, container_of(pos, struct store_exchange, node), STORE_UPLOAD_COMMIT))
            return true;
    }
    return false;
}

/* True: there are some, which end now. */
static bool end_pieces(struct store_exchange *exchange)
{
    struct list_node *pos;
    struct list_node *tmp;
    bool some = false;

    list_for_each_safe(pos, tmp, &exchange->all->list) {
        struct store_exchange *other = container_of(pos, struct store_exchange, node);
        if (!is_other(exchange, other, STORE_UPLOAD_PIECE))
            continue;
        store_receive_end(other, STORE_NO_SUCH_UPLOAD, "the upload is being committed without this try");
        some = true;
    }
    return some;
}

static bool was_committed(const struct store_exchange *exchange)
{
    const struct store_server *server = exchange->owner;

    for (size_t i = 0; i < COMMITTED_KEPT; i++) {
        const struct committed *committed = &server->committed[i];
        if (str_eq(committed->id, exchange->request.upload_id) && str_eq(committed->name, exchange->request.name))
            return true;
    }
    return false;
}

static void work_commit(struct store_exchange *exchange)
{
    store_upload_commit(exchange->folder, &exchange->request, &exchange->fault);
}

static void committed(struct store_exchange *exchange)
{
    struct store_server *server = exchange->owner;
    struct committed *kept = &server->committed[server->committed_next];

    if (exchange->fault.code == STORE_OK) {
        server->committed_next = (server->committed_next + 1) % COMMITTED_KEPT;
        snprintf(kept->id, sizeof(kept->id), "%s", exchange->request.upload_id);
        snprintf(kept->name, sizeof(kept->name), "%s", exchange->request.name);
    }
    store_exchange_answer(exchange);
}

static void begin_commit(struct store_exchange *exchange)
{
    if (was_committed(exchange)) {
        store_exchange_answer(exchange);
    } else if (is_being_committed(exchange) || end_pieces(exchange)) {
        store_fault_set(&exchange->fault, STORE_BUSY, "the upload is being committed, or a piece of it written");
        store_exchange_refuse(exchange);
    } else {
        store_exchange_run(exchange, work_commit, committed);
    }
}

static void begin_piece(struct store_exchange *exchange)
{
    if (is_being_committed(exchange)) {
        store_fault_set(&exchange->fault, STORE_NO_SUCH_UPLOAD, "the upload is being committed");
        store_exchange_refuse(exchange);
    } else {
        store_receive(exchange);
    }
}

/* ---- requests ---- */

static void begin(struct store_exchange *exchange)
{
    static void (*const works[])(struct store_exchange * exchange) = {
        [STORE_DELETE] = work_delete,
        [STORE_LIST] = work_list,
        [STORE_UPLOAD_BEGIN] = work_upload_begin,
        [STORE_UPLOAD_END] = work_upload_end,
        [STORE_UPLOADS_END] = work_uploads_end,
    };

    switch (exchange->request.operation) {
    case STORE_GET:
        store_send(exchange);
        break;
    case STORE_PUT:
        store_receive(exchange);
        break;
    case STORE_UPLOAD_PIECE:
        begin_piece(exchange);
        break;
    case STORE_UPLOAD_COMMIT:
        begin_commit(exchange);
        break;
    default:
        store_exchange_run(exchange, works[exchange->request.operation], store_exchange_answer);
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
    if (server->all.folder->read_only && ret->operation != STORE_GET && ret->operation != STORE_LIST)
        return store_fault_set(fault, STORE_ACCESS_DENIED, "this store only reads: its volume is mounted read-only");
    if (server->closing || server->all.count >= STORE_REQUESTS_MAX)
        return store_fault_set(fault, STORE_BUSY, server->closing ? "the store ends" : "too many requests at once");
    return 0;
}

static void handle(struct http_exchange *http, void *arg)
{
    struct store_server *server = arg;
    struct store_fault fault = {.code = STORE_OK};
    struct store_request request = {0};

    if (check(server, http, &request, &fault) < 0) {
        store_refuse(http, &fault);
        return;
    }
    struct store_exchange *exchange = store_exchange_new(&server->all, http, &request);
    exchange->owner = server;
    begin(exchange);
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
    const struct worker_job job = {.run = sweep, .arg = (void *)(uintptr_t)server->all.folder};

    loop_timer_arm(&server->sweep_timer, SWEEP_INTERVAL_MS);
    if (worker_submit(server->all.lanes[0], &job) < 0)
        log_warn("the store is too busy to look for what was abandoned");
}

struct store_server *store_server_new(struct loop *loop, const struct store_folder *folder, const char *const *peers)
{
    struct store_server *server = xnew(struct store_server);

    server->all.folder = folder;
    server->peers = peers;
    list_init(&server->all.list);
    for (size_t i = 0; i < STORE_LANES; i++)
        server->all.lanes[i] = worker_new(loop, "store");
    loop_timer_init(&server->sweep_timer, loop, on_sweep, server);
    if (!folder->read_only)
        loop_timer_arm(&server->sweep_timer, 0);
    return server;
}

void store_server_close(struct store_server *server)
{
    server->closing = true;
}

void store_server_free(struct store_server *server)
{
    if (!server)
        return;
    server->closing = true;
    loop_timer_release(&server->sweep_timer);
    for (size_t i = 0; i < STORE_LANES; i++)
        worker_free(steal_ptr(server->all.lanes[i]));
    /* Those whose peer went before its body was read: the loop would have told them. */
    while (!list_empty(&server->all.list)) {
        struct store_exchange *exchange = container_of(list_next(&server->all.list), struct store_exchange, node);
        store_draft_discard(&exchange->draft);
        store_fault_set(&exchange->fault, STORE_INTERNAL, "the store ends");
        store_exchange_refuse(exchange);
    }
    free(server);
}

size_t store_server_requests(const struct store_server *server)
{
    return server->all.count;
}

bool store_server_is_idle(const struct store_server *server, const struct http_server *http)
{
    return server->all.count == 0 && http_server_unsent(http) == 0;
}
