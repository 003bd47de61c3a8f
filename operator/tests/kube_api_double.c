/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/tests/kube_api_double.h"

#include "common/alloc.h"
#include "common/http_server.h"
#include "common/json.h"
#include "common/list.h"
#include "operator/tests/kube_api_watch.h"

/* Between the first half of a body and the end of the connection: a reset at once would take the half with it. */
#define CUT_DELAY_MS 20
#define SNAPSHOTS_MAX 64

struct fault {
    struct list_node node;
    struct kube_api_fault fault;
    int seen, used;
};

struct request_log {
    char method[8];
    char *path;
};

/* Answers that do not come, or come half. */
struct held {
    struct list_node node;
    struct http_exchange *exchange;
    struct loop_timer timer;
};

/* The rest of a list after a page. */
struct snapshot {
    unsigned id;
    uint64_t version;
    json_t *items;
};

struct kube_api_double {
    struct loop *loop;
    struct http_server *server;
    uint16_t port;
    struct kube_api_store store;
    struct kube_api_watches watches;
    struct list_node faults;
    struct list_node held;
    struct snapshot snapshots[SNAPSHOTS_MAX];
    unsigned snapshot_ids;
    struct request_log *log;
    size_t log_count, log_capacity;
    void (*written)(void *arg);
    void *written_arg;
    const char *warning;
    bool is_ending;
};

static void handle(struct http_exchange *exchange, void *arg);

static const struct http_route routes[] = {
    {"GET", "/*", handle},
    {"POST", "/*", handle},
    {"PUT", "/*", handle},
    {"PATCH", "/*", handle},
    {"DELETE", "/*", handle},
    {.method = NULL},
};

/* ---- life ---- */

static void on_changed(void *arg, const struct kube_api_change *change)
{
    struct kube_api_double *api = arg;
    kube_api_watches_tell(&api->watches, change);
}

struct kube_api_double *kube_api_double_new(struct loop *loop)
{
    struct kube_api_double *api = xnew(struct kube_api_double);
    struct error err = ERROR_INIT;
    api->loop = loop;
    kube_api_store_init(&api->store);
    api->store.changed = on_changed;
    api->store.arg = api;
    kube_api_watches_init(&api->watches, loop, &api->store);
    list_init(&api->faults);
    list_init(&api->held);
    api->server = http_server_new(loop, NULL, routes, api);
    if (http_server_listen(api->server, "127.0.0.1", 0, &api->port, &err) < 0) {
        fprintf(stderr, "kube_api_double: %s\n", err.message);
        abort();
    }
    return api;
}

static void drop_snapshots(struct kube_api_double *api)
{
    for (size_t i = 0; i < SNAPSHOTS_MAX; i++) {
        json_decref(api->snapshots[i].items);
        api->snapshots[i] = (struct snapshot){.items = NULL};
    }
}

void kube_api_double_free(struct kube_api_double *api)
{
    if (!api)
        return;
    http_server_free(api->server);
    kube_api_watches_release(&api->watches);
    struct list_node *node;
    while ((node = list_pop_front(&api->held))) {
        struct held *held = container_of(node, struct held, node);
        loop_timer_release(&held->timer);
        http_stream_abort(held->exchange);
        free(held);
    }
    kube_api_double_clear_faults(api);
    drop_snapshots(api);
    kube_api_store_release(&api->store);
    for (size_t i = 0; i < api->log_count; i++)
        free(api->log[i].path);
    free(api->log);
    free(api);
}

void kube_api_double_config(const struct kube_api_double *api, struct kube_config *ret)
{
    *ret = (struct kube_config){
        .server = xasprintf("http://127.0.0.1:%u", (unsigned)api->port), .default_namespace = xstrdup("default")};
}

/* ---- answers ---- */

static void reply_json(struct http_exchange *exchange, int status, const json_t *body)
{
    _cleanup_(freep) char *text = json_text(body);
    http_reply(exchange, status, "application/json", text, strlen(text));
}

static const char *reason_of(int status)
{
    static const struct {
        int status;
        const char *reason;
    } reasons[] = {{400, "BadRequest"}, {401, "Unauthorized"}, {403, "Forbidden"}, {404, "NotFound"}, {409, "Conflict"},
        {410, "Expired"}, {415, "UnsupportedMediaType"}, {422, "Invalid"}, {429, "TooManyRequests"},
        {500, "InternalError"}, {503, "ServiceUnavailable"}, {504, "Timeout"}};
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
        if (reasons[i].status == status)
            return reasons[i].reason;
    }
    return "Unknown";
}

static json_t *make_status(int status, const char *reason, const char *message)
{
    return json_build("{s:s,s:s,s:{},s:s,s:s,s:s,s:i}", "kind", "Status", "apiVersion", "v1", "metadata", "status",
        status < 400 ? "Success" : "Failure", "message", message, "reason", reason ? reason : reason_of(status), "code",
        status);
}

static void reply_status(struct http_exchange *exchange, int status, const char *reason, const char *message)
{
    _cleanup_(json_decrefp) json_t *body = make_status(status, reason, message);
    reply_json(exchange, status, body);
}

static void reply_result(struct http_exchange *exchange, const struct kube_api_result *result)
{
    if (result->object)
        reply_json(exchange, result->status, result->object);
    else
        reply_status(exchange, result->status, result->reason, result->message);
}

/* ---- lists ---- */

static json_t *gather(struct kube_api_double *api, struct http_exchange *exchange, const struct kube_api_path *path)
{
    const char *labels = http_exchange_query(exchange, "labelSelector");
    const char *fields = http_exchange_query(exchange, "fieldSelector");
    json_t *items = json_array();
    for (size_t i = 0; i < api->store.count; i++) {
        const struct kube_api_entry *entry = api->store.entries[i];
        if (str_eq(entry->path.collection, path->collection) && (!*path->ns || str_eq(entry->path.ns, path->ns)) &&
            kube_api_selected(entry->object, labels, fields))
            json_array_append(items, entry->object);
    }
    return items;
}

/* Takes `rest` over; the token of the next page. */
static void keep_snapshot(struct kube_api_double *api, uint64_t version, json_t *rest, char *token, size_t size)
{
    struct snapshot *snapshot = &api->snapshots[++api->snapshot_ids % SNAPSHOTS_MAX];
    json_decref(snapshot->items);
    *snapshot = (struct snapshot){.id = api->snapshot_ids, .version = version, .items = rest};
    snprintf(token, size, "page-%u", snapshot->id);
}

static json_t *take_snapshot(struct kube_api_double *api, const char *token, uint64_t *ret_version)
{
    unsigned id = str_starts_with(token, "page-") ? (unsigned)strtoul(token + strlen("page-"), NULL, 10) : 0;
    const struct snapshot *snapshot = &api->snapshots[id % SNAPSHOTS_MAX];
    if (id == 0 || snapshot->id != id)
        return NULL;
    *ret_version = snapshot->version;
    return json_incref(snapshot->items);
}

static json_t *make_page(struct kube_api_double *api, json_t *items, size_t limit, uint64_t version)
{
    char token[32] = "";
    if (limit > 0 && json_array_size(items) > limit) {
        json_t *rest = json_array();
        for (size_t i = limit; i < json_array_size(items); i++)
            json_array_append(rest, json_array_get(items, i));
        keep_snapshot(api, version, rest, token, sizeof(token));
    }
    json_t *page = json_array();
    for (size_t i = 0; i < json_array_size(items) && (limit == 0 || i < limit); i++)
        json_array_append(page, json_array_get(items, i));
    char text[24];
    snprintf(text, sizeof(text), "%llu", (unsigned long long)version);
    json_t *metadata = json_build("{s:s}", "resourceVersion", text);
    if (*token)
        json_put_str(metadata, "continue", token);
    return json_build("{s:s,s:s,s:o,s:o}", "kind", "List", "apiVersion", "v1", "metadata", metadata, "items", page);
}

static void handle_list(struct kube_api_double *api, struct http_exchange *exchange, const struct kube_api_path *path)
{
    const char *token = http_exchange_query(exchange, "continue");
    const char *limit = http_exchange_query(exchange, "limit");
    uint64_t version = api->store.version;
    _cleanup_(json_decrefp) json_t *items = token ? take_snapshot(api, token, &version) : gather(api, exchange, path);
    if (!items) {
        reply_status(exchange, 410, "Expired", "the provided continue parameter is too old");
        return;
    }
    _cleanup_(json_decrefp) json_t *list = make_page(api, items, limit ? strtoul(limit, NULL, 10) : 0, version);
    reply_json(exchange, 200, list);
}

static void handle_watch(struct kube_api_double *api, struct http_exchange *exchange, const struct kube_api_path *path)
{
    const char *text = http_exchange_query(exchange, "resourceVersion");
    uint64_t since = text ? strtoull(text, NULL, 10) : api->store.version;
    if (since < api->store.compacted)
        reply_status(exchange, 410, "Expired", "too old resource version");
    else
        kube_api_watch_start(&api->watches, exchange, path, since);
}

/* ---- other verbs ---- */

static const char groups[] =
    "{\"kind\":\"APIGroupList\",\"apiVersion\":\"v1\",\"groups\":["
    "{\"name\":\"apps\",\"versions\":[{\"groupVersion\":\"apps/v1\",\"version\":\"v1\"}]},"
    "{\"name\":\"policy\",\"versions\":[{\"groupVersion\":\"policy/v1\",\"version\":\"v1\"}]},"
    "{\"name\":\"discovery.k8s.io\",\"versions\":[{\"groupVersion\":\"discovery.k8s.io/v1\",\"version\":\"v1\"}]},"
    "{\"name\":\"coordination.k8s.io\",\"versions\":[{\"groupVersion\":\"coordination.k8s.io/v1\",\"version\":\"v1\"}]},"
    "{\"name\":\"storage.k8s.io\",\"versions\":[{\"groupVersion\":\"storage.k8s.io/v1\",\"version\":\"v1\"}]},"
    "{\"name\":\"networking.k8s.io\",\"versions\":[{\"groupVersion\":\"networking.k8s.io/v1\",\"version\":\"v1\"}]},"
    "{\"name\":\"kubemysql.dev\",\"versions\":[{\"groupVersion\":\"kubemysql.dev/v1alpha1\",\"version\":\"v1alpha1\"}]}]}";

static void handle_get(struct kube_api_double *api, struct http_exchange *exchange, const struct kube_api_path *path)
{
    if (!*path->name && http_exchange_query(exchange, "watch")) {
        handle_watch(api, exchange, path);
        return;
    }
    if (!*path->name) {
        handle_list(api, exchange, path);
        return;
    }
    const struct kube_api_entry *entry = kube_api_store_find(&api->store, path);
    if (entry)
        reply_json(exchange, 200, entry->object);
    else
        reply_status(exchange, 404, NULL, "not found");
}

static bool write_kind(struct http_exchange *exchange, enum kube_api_write *ret)
{
    const char *method = http_exchange_method(exchange);
    const char *type = http_exchange_header(exchange, "Content-Type");
    if (str_eq(method, "POST"))
        *ret = KUBE_API_CREATE;
    else if (str_eq(method, "PUT"))
        *ret = KUBE_API_UPDATE;
    else if (str_starts_with(type, "application/apply-patch"))
        *ret = KUBE_API_APPLY;
    else if (str_starts_with(type, "application/merge-patch") ||
        str_starts_with(type, "application/strategic-merge-patch"))
        *ret = KUBE_API_MERGE;
    else
        return false;
    return true;
}

static void perform_write(struct kube_api_double *api, struct http_exchange *exchange, struct kube_api_path *path,
    struct kube_api_result *ret)
{
    size_t len;
    const char *text = http_exchange_body(exchange, &len);
    _cleanup_(json_decrefp) json_t *body = len > 0 ? json_parse(text, len, NULL) : json_object();
    enum kube_api_write how;
    *ret = (struct kube_api_result){.status = 400, .message = "not a JSON object"};
    if (!json_is_object(body))
        return;
    if (str_eq(http_exchange_method(exchange), "DELETE")) {
        kube_api_store_delete(&api->store, path, json_object_get(body, "preconditions"), ret);
        return;
    }
    if (!write_kind(exchange, &how)) {
        *ret = (struct kube_api_result){.status = 415, .message = "not understood by this double"};
        return;
    }
    if (how == KUBE_API_CREATE && !*path->name) {
        const char *prefix = json_path_str(body, "metadata.generateName", "");
        const char *name = json_path_str(body, "metadata.name", NULL);
        if (name)
            snprintf(path->name, sizeof(path->name), "%s", name);
        else
            snprintf(path->name, sizeof(path->name), "%.200s%05u", prefix, api->store.uids + 1);
    }
    kube_api_store_write(&api->store, how, path, body, ret);
}

/* ---- faults ---- */

/* As faults name it: LIST and WATCH are told apart from GET. */
static const char *method_name(struct http_exchange *exchange, const struct kube_api_path *path, bool is_resource)
{
    const char *method = http_exchange_method(exchange);
    if (!str_eq(method, "GET") || !is_resource || *path->name)
        return method;
    return http_exchange_query(exchange, "watch") ? "WATCH" : "LIST";
}

static bool fault_matches(const struct kube_api_fault *fault, struct http_exchange *exchange, const char *method)
{
    return (!fault->method || str_eq(fault->method, method)) &&
        (!fault->path_prefix || str_starts_with(http_exchange_path(exchange), fault->path_prefix)) &&
        (!fault->query || http_exchange_query(exchange, fault->query));
}

static const struct kube_api_fault *due_fault(
    struct kube_api_double *api, struct http_exchange *exchange, const char *method)
{
    const struct kube_api_fault *due = NULL;
    struct list_node *pos;
    struct list_node *tmp;
    list_for_each_safe(pos, tmp, &api->faults) {
        struct fault *fault = container_of(pos, struct fault, node);
        const struct kube_api_fault *what = &fault->fault;
        if (due || !fault_matches(what, exchange, method))
            continue;
        fault->seen++;
        bool over = what->times >= 0 && fault->used >= MAX_OF(what->times, 1);
        if (fault->seen < what->nth || over)
            continue;
        fault->used++;
        due = what;
    }
    return due;
}

static void on_cut(void *arg)
{
    struct held *held = arg;
    list_remove(&held->node);
    http_stream_abort(held->exchange);
    loop_timer_release(&held->timer);
    free(held);
}

static struct held *hold(struct kube_api_double *api, struct http_exchange *exchange)
{
    struct held *held = xnew(struct held);
    held->exchange = exchange;
    list_push_back(&api->held, &held->node);
    loop_timer_init(&held->timer, api->loop, on_cut, held);
    return held;
}

/* The held exchange is gone with its connection. */
static void on_held_close(void *arg)
{
    struct held *held = arg;
    list_remove(&held->node);
    loop_timer_release(&held->timer);
    free(held);
}

/* Half of the bytes that a normal answer would have. */
static void reply_cut(struct kube_api_double *api, struct http_exchange *exchange, const struct kube_api_path *path,
    const struct kube_api_result *result)
{
    _cleanup_(json_decrefp) json_t *list = NULL;
    const struct kube_api_entry *entry = kube_api_store_find(&api->store, path);
    const json_t *body = result->object ? result->object : (entry ? entry->object : NULL);
    if (!body) {
        _cleanup_(json_decrefp) json_t *items = gather(api, exchange, path);
        list = make_page(api, items, 0, api->store.version);
        body = list;
    }
    _cleanup_(freep) char *text = json_text(body);
    struct held *held = hold(api, exchange);
    http_stream_start(exchange, 200, "application/json", on_held_close, held);
    http_stream_write(exchange, text, MIN_OF(strlen(text) / 2, (size_t)(128 * KM_KIB)));
    loop_timer_arm(&held->timer, CUT_DELAY_MS);
}

static void reply_fault(struct kube_api_double *api, struct http_exchange *exchange, const struct kube_api_path *path,
    const struct kube_api_fault *fault, const struct kube_api_result *result)
{
    char seconds[16];
    switch (fault->kind) {
    case KUBE_API_FAULT_STATUS:
        snprintf(seconds, sizeof(seconds), "%d", fault->retry_after_s);
        if (fault->retry_after_s > 0)
            http_exchange_add_header(exchange, "Retry-After", seconds);
        reply_status(exchange, fault->status, fault->reason, fault->message ? fault->message : "scripted fault");
        return;
    case KUBE_API_FAULT_CUT:
        reply_cut(api, exchange, path, result);
        return;
    case KUBE_API_FAULT_RESET:
        http_stream_abort(exchange);
        return;
    case KUBE_API_FAULT_SILENCE:
        hold(api, exchange);
        return;
    case KUBE_API_FAULT_GARBAGE:
        http_reply(exchange, 200, "application/json", "{\"kind\":", 8);
        return;
    }
}

void kube_api_double_fault(struct kube_api_double *api, const struct kube_api_fault *fault)
{
    struct fault *copy = xnew(struct fault);
    copy->fault = *fault;
    list_push_back(&api->faults, &copy->node);
}

void kube_api_double_created(struct kube_api_double *api, const char *time)
{
    api->store.created = time;
}

void kube_api_double_end_namespace(struct kube_api_double *api)
{
    api->is_ending = true;
}

void kube_api_double_warn(struct kube_api_double *api, const char *warning)
{
    api->warning = warning;
}

void kube_api_double_clear_faults(struct kube_api_double *api)
{
    struct list_node *node;
    while ((node = list_pop_front(&api->faults)))
        free(container_of(node, struct fault, node));
}

/* ---- routing ---- */

static void log_request(struct kube_api_double *api, const char *method, const char *path)
{
    if (api->log_count == api->log_capacity) {
        api->log_capacity = MAX_OF(api->log_capacity * 2, (size_t)256);
        api->log = xreallocarray(api->log, api->log_capacity, sizeof(*api->log));
    }
    struct request_log *entry = &api->log[api->log_count++];
    snprintf(entry->method, sizeof(entry->method), "%s", method);
    entry->path = xstrdup(path);
}

static void handle_resource(struct kube_api_double *api, struct http_exchange *exchange, struct kube_api_path *path,
    const struct kube_api_fault *fault)
{
    bool is_get = str_eq(http_exchange_method(exchange), "GET");
    struct kube_api_result result = {.status = 0};
    if (!fault && http_exchange_query(exchange, "dryRun")) {
        reply_status(exchange, 201, NULL, "it could be done");
        return;
    }
    if (!is_get && (!fault || fault->carried_out || fault->kind == KUBE_API_FAULT_CUT))
        perform_write(api, exchange, path, &result);
    if (!is_get && getenv("V"))
        fprintf(stderr, "%s %s %s: %d\n", http_exchange_method(exchange), path->collection, path->name, result.status);
    if (fault)
        reply_fault(api, exchange, path, fault, &result);
    else if (is_get)
        handle_get(api, exchange, path);
    else
        reply_result(exchange, &result);
    if (api->written && result.status >= 200 && result.status < 300 && !strstr(path->collection, "/events"))
        api->written(api->written_arg);
}

static void reply_ending(struct http_exchange *exchange)
{
    _cleanup_(json_decrefp) json_t *body = make_status(
        403, NULL, "it is forbidden: unable to create new content in namespace ns1 because it is being terminated");
    json_put(body, "details",
        json_build("{s:[{s:s, s:s}]}", "causes", "reason", "NamespaceTerminating", "field", "metadata.namespace"));
    reply_json(exchange, 403, body);
}

static void handle(struct http_exchange *exchange, void *arg)
{
    struct kube_api_double *api = arg;
    struct kube_api_path path;
    const char *text = http_exchange_path(exchange);
    bool is_resource = kube_api_path_parse(text, &path) == 0;
    const char *method = method_name(exchange, &path, is_resource);
    log_request(api, method, text);
    if (api->warning)
        http_exchange_add_header(exchange, "Warning", api->warning);
    const struct kube_api_fault *fault = due_fault(api, exchange, method);
    if (api->is_ending && str_eq(method, "POST"))
        reply_ending(exchange);
    else if (is_resource)
        handle_resource(api, exchange, &path, fault);
    else if (fault)
        reply_fault(api, exchange, &path, fault, &(struct kube_api_result){.status = 0});
    else if (str_eq(text, "/apis"))
        http_reply(exchange, 200, "application/json", groups, strlen(groups));
    else if (str_eq(text, "/version"))
        http_reply(exchange, 200, "application/json", "{\"gitVersion\":\"v1.30.0-double\"}", 32);
    else
        reply_status(exchange, 404, NULL, "no such path");
}

/* ---- the world ---- */

static void must_parse(const char *text, struct kube_api_path *ret)
{
    if (kube_api_path_parse(text, ret) == 0 && *ret->name)
        return;
    fprintf(stderr, "kube_api_double: not the path of an object: %s\n", text);
    abort();
}

void kube_api_double_put(struct kube_api_double *api, const char *path, const json_t *object)
{
    struct kube_api_path parsed;
    must_parse(path, &parsed);
    kube_api_store_force(&api->store, &parsed, object);
}

void kube_api_double_edit(struct kube_api_double *api, const char *path, const json_t *changes)
{
    _cleanup_(json_decrefp) json_t *object = json_deep_copy(kube_api_double_get(api, path));
    if (!object) {
        fprintf(stderr, "kube_api_double: nothing to edit: %s\n", path);
        abort();
    }
    json_merge(object, changes);
    kube_api_double_put(api, path, object);
}

bool kube_api_double_remove(struct kube_api_double *api, const char *path)
{
    struct kube_api_path parsed;
    struct kube_api_result result;
    must_parse(path, &parsed);
    kube_api_store_delete(&api->store, &parsed, NULL, &result);
    return result.status == 200;
}

const json_t *kube_api_double_get(const struct kube_api_double *api, const char *path)
{
    struct kube_api_path parsed;
    must_parse(path, &parsed);
    const struct kube_api_entry *entry = kube_api_store_find(&api->store, &parsed);
    return entry ? entry->object : NULL;
}

size_t kube_api_double_count(const struct kube_api_double *api, const char *collection)
{
    size_t count = 0;
    for (size_t i = 0; i < api->store.count; i++)
        count += !collection || str_eq(api->store.entries[i]->path.collection, collection);
    return count;
}

static void strip(json_t *object)
{
    json_t *metadata = json_object_get(object, "metadata");
    size_t i;
    json_t *reference;
    json_object_del(metadata, "uid");
    json_object_del(metadata, "resourceVersion");
    json_object_del(metadata, "generation");
    json_array_foreach(json_object_get(metadata, "ownerReferences"), i, reference)
        json_object_del(reference, "uid");
}

char *kube_api_double_dump(const struct kube_api_double *api)
{
    struct strbuf out;
    strbuf_init(&out, 64 * KM_MIB);
    for (size_t i = 0; i < api->store.count; i++) {
        _cleanup_(json_decrefp) json_t *object = json_deep_copy(api->store.entries[i]->object);
        strip(object);
        strbuf_addf(&out, "%s ", api->store.entries[i]->path.collection);
        json_canonical(object, &out);
        strbuf_addc(&out, '\n');
    }
    return strbuf_detach(&out, NULL);
}

size_t kube_api_double_requests(const struct kube_api_double *api, const char *method, const char *path_prefix)
{
    size_t count = 0;
    for (size_t i = 0; i < api->log_count; i++)
        count += (!method || str_eq(api->log[i].method, method)) &&
            (!path_prefix || str_starts_with(api->log[i].path, path_prefix));
    return count;
}

size_t kube_api_double_writes(const struct kube_api_double *api)
{
    static const char *const methods[] = {"POST", "PUT", "PATCH", "DELETE"};
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_LEN(methods); i++)
        count += kube_api_double_requests(api, methods[i], NULL);
    return count;
}

void kube_api_double_on_write(struct kube_api_double *api, void (*fn)(void *arg), void *arg)
{
    api->written = fn;
    api->written_arg = arg;
}

size_t kube_api_double_watches(const struct kube_api_double *api)
{
    return api->watches.count;
}

void kube_api_double_break_watches(struct kube_api_double *api, enum kube_api_break how)
{
    kube_api_watches_break(&api->watches, how);
}

void kube_api_double_mute_watches(struct kube_api_double *api, bool muted)
{
    kube_api_watches_mute(&api->watches, muted);
}

void kube_api_double_bookmark(struct kube_api_double *api)
{
    kube_api_watches_bookmark(&api->watches);
}

void kube_api_double_compact(struct kube_api_double *api)
{
    drop_snapshots(api);
    kube_api_store_compact(&api->store);
}
