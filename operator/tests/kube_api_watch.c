/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/tests/kube_api_watch.h"

#include "common/alloc.h"
#include "common/json.h"
#include "common/strvec.h"

/* Between the first half of an event and the end of the connection: a reset at once would take the half with it. */
#define CUT_DELAY_MS 20

struct watch {
    struct list_node node;
    struct kube_api_watches *watches;
    struct http_exchange *exchange; /* NULL: the peer is gone */
    char collection[256];
    char ns[64];
    char *labels, *fields;
    bool bookmarks;
    uint64_t sent; /* version of the last change looked at */
    bool cut;
    struct loop_timer timer; /* timeoutSeconds, or the cut */
};

/* ---- selectors ---- */

static const char *label_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(json_object_get(json_object_get(object, "metadata"), "labels"), key));
}

static bool label_fits(const json_t *object, char *term)
{
    char *equals = strchr(term, '=');
    if (!equals)
        return *term == '!' ? !label_of(object, term + 1) : label_of(object, term) != NULL;
    bool negative = equals > term && equals[-1] == '!';
    const char *value = equals + (equals[1] == '=' ? 2 : 1);
    equals[negative ? -1 : 0] = '\0';
    return str_eq(label_of(object, term), value) != negative;
}

static bool field_fits(const json_t *object, char *term)
{
    char *equals = strchr(term, '=');
    if (!equals)
        return false;
    *equals = '\0';
    return str_eq(json_path_str(object, term, ""), equals + 1);
}

static bool all_fit(const json_t *object, const char *selector, bool (*fits)(const json_t *, char *))
{
    struct strvec terms;
    strvec_init(&terms);
    strvec_split(&terms, str_or_empty(selector), ", ");
    bool ok = true;
    for (size_t i = 0; ok && i < terms.n; i++)
        ok = fits(object, terms.v[i]);
    strvec_release(&terms);
    return ok;
}

bool kube_api_selected(const json_t *object, const char *label_selector, const char *field_selector)
{
    return object && all_fit(object, label_selector, label_fits) && all_fit(object, field_selector, field_fits);
}

/* ---- life ---- */

void kube_api_watches_init(struct kube_api_watches *watches, struct loop *loop, const struct kube_api_store *store)
{
    *watches = (struct kube_api_watches){.loop = loop, .store = store};
    list_init(&watches->open);
}

static void watch_free(struct watch *watch)
{
    list_remove(&watch->node);
    watch->watches->count--;
    loop_timer_release(&watch->timer);
    free(watch->labels);
    free(watch->fields);
    free(watch);
}

void kube_api_watches_release(struct kube_api_watches *watches)
{
    while (!list_empty(&watches->open))
        watch_free(container_of(list_next(&watches->open), struct watch, node));
}

static void on_close(void *arg)
{
    watch_free(arg);
}

static void on_timer(void *arg)
{
    struct watch *watch = arg;
    if (watch->cut)
        http_stream_abort(watch->exchange);
    else
        http_stream_end(watch->exchange);
    watch_free(watch);
}

/* ---- events ---- */

static char *event_text(const char *type, const json_t *object)
{
    _cleanup_(json_decrefp) json_t *event = json_object();
    json_put_str(event, "type", type);
    json_put(event, "object", json_incref((json_t *)(uintptr_t)object));
    char *text = json_text(event);
    char *line = xasprintf("%s\n", text);
    free(text);
    return line;
}

/* A client that does not read is cut off, as a real server does it. */
static void send_event(struct watch *watch, const char *type, const json_t *object)
{
    _cleanup_(freep) char *line = event_text(type, object);
    if (http_stream_write(watch->exchange, line, strlen(line)))
        return;
    watch->cut = true;
    loop_timer_arm(&watch->timer, 0);
}

static bool wants(const struct watch *watch, const struct kube_api_change *change, const json_t *object)
{
    return str_eq(watch->collection, change->collection) && (!*watch->ns || str_eq(watch->ns, change->ns)) &&
        kube_api_selected(object, watch->labels, watch->fields);
}

static void tell(struct watch *watch, const struct kube_api_change *change)
{
    if (change->version <= watch->sent || watch->cut)
        return;
    watch->sent = change->version;
    bool before = wants(watch, change, change->before);
    bool after = wants(watch, change, change->after);
    if (after)
        send_event(watch, before ? "MODIFIED" : "ADDED", change->after);
    else if (before)
        send_event(watch, "DELETED", change->after ? change->after : change->before);
}

static void catch_up(struct watch *watch)
{
    const struct kube_api_store *store = watch->watches->store;
    for (size_t i = 0; i < store->history_count; i++)
        tell(watch, &store->history[i]);
}

void kube_api_watch_start(
    struct kube_api_watches *watches, struct http_exchange *exchange, const struct kube_api_path *path, uint64_t since)
{
    struct watch *watch = xnew(struct watch);
    watch->watches = watches;
    watch->exchange = exchange;
    watch->sent = since;
    memcpy(watch->collection, path->collection, sizeof(watch->collection));
    memcpy(watch->ns, path->ns, sizeof(watch->ns));
    watch->labels = xstrdup(http_exchange_query(exchange, "labelSelector"));
    watch->fields = xstrdup(http_exchange_query(exchange, "fieldSelector"));
    watch->bookmarks = str_eq(http_exchange_query(exchange, "allowWatchBookmarks"), "true");
    const char *seconds = http_exchange_query(exchange, "timeoutSeconds");
    list_push_back(&watches->open, &watch->node);
    watches->count++;
    loop_timer_init(&watch->timer, watches->loop, on_timer, watch);
    if (seconds)
        loop_timer_arm(&watch->timer, 1000 * strtoll(seconds, NULL, 10));
    http_stream_start(exchange, 200, "application/json", on_close, watch);
    if (!watches->muted)
        catch_up(watch);
}

void kube_api_watches_tell(struct kube_api_watches *watches, const struct kube_api_change *change)
{
    struct list_node *pos;
    struct list_node *tmp;
    if (watches->muted)
        return;
    list_for_each_safe(pos, tmp, &watches->open)
        tell(container_of(pos, struct watch, node), change);
}

void kube_api_watches_mute(struct kube_api_watches *watches, bool muted)
{
    struct list_node *pos;
    struct list_node *tmp;
    watches->muted = muted;
    if (muted)
        return;
    list_for_each_safe(pos, tmp, &watches->open)
        catch_up(container_of(pos, struct watch, node));
}

void kube_api_watches_bookmark(struct kube_api_watches *watches)
{
    char version[24];
    snprintf(version, sizeof(version), "%llu", (unsigned long long)watches->store->version);
    _cleanup_(json_decrefp) json_t *object = json_build(
        "{s:s,s:{s:s,s:n}}", "kind", "Bookmark", "metadata", "resourceVersion", version, "creationTimestamp");
    struct list_node *pos;
    struct list_node *tmp;
    list_for_each_safe(pos, tmp, &watches->open) {
        struct watch *watch = container_of(pos, struct watch, node);
        if (watch->bookmarks && !watch->cut && !watches->muted)
            send_event(watch, "BOOKMARK", object);
    }
}

static void break_one(struct watch *watch, enum kube_api_break how)
{
    static const char half[] = "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"ha";
    bool expired = how == KUBE_API_BREAK_EXPIRED;
    if (watch->cut)
        return;
    if (expired || how == KUBE_API_BREAK_ERROR) {
        _cleanup_(json_decrefp) json_t *status = json_build("{s:s,s:s,s:s,s:s,s:s,s:i}", "kind", "Status", "apiVersion",
            "v1", "status", "Failure", "message", expired ? "too old resource version" : "etcd has a bad day", "reason",
            expired ? "Expired" : "InternalError", "code", expired ? 410 : 500);
        send_event(watch, "ERROR", status);
    }
    watch->cut = how == KUBE_API_BREAK_CUT;
    if (watch->cut)
        http_stream_write(watch->exchange, half, strlen(half));
    loop_timer_arm(&watch->timer, watch->cut ? CUT_DELAY_MS : 0);
}

void kube_api_watches_break(struct kube_api_watches *watches, enum kube_api_break how)
{
    struct list_node *pos;
    struct list_node *tmp;
    list_for_each_safe(pos, tmp, &watches->open)
        break_one(container_of(pos, struct watch, node), how);
}
