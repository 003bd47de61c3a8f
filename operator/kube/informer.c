/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/kube/informer.h"

#include "common/alloc.h"
#include "common/log.h"
#include "operator/kube/reflector.h"

/* Objects that we deleted and whose DELETED event is still to come. More than these at once only means that some of
 * them show for a moment again. */
#define TOMBSTONES_MAX 64

/* kube_object.list_mark while a list is in progress. */
enum {
    MARK_NONE,    /* not met in the list yet */
    MARK_SEEN,    /* the list has it */
    MARK_WRITTEN, /* put in by informer_observe_write since the list began: may be newer than the list */
};

struct handler {
    struct handler *next;
    informer_handler_fn fn;
    void *arg;
};

struct sync_hook {
    struct sync_hook *next;
    void (*fn)(void *arg);
    void *arg;
};

struct informer {
    const struct kube_resource *resource;
    const struct kube_projection *projection;
    struct store *store;
    struct reflector *reflector;
    struct handler *handlers;
    struct sync_hook *sync_hooks;
    struct loop_timer sync_timer;
    bool synced;
    bool (*wanted)(void *arg, const char *key); /* NULL: all */
    void *wanted_arg;
    struct kube_object *pending; /* new and changed objects of the list in progress */
    struct kube_object **pending_end;
    struct kube_uid tombstones[TOMBSTONES_MAX];
    size_t next_tombstone;
    struct metric *events_metric, *objects_metric;
};

/* ---- telling ---- */

static void notify(
    const struct informer *informer, const struct kube_object *old_object, const struct kube_object *new_object)
{
    if (informer->events_metric)
        metric_inc(informer->events_metric);
    if (informer->objects_metric)
        metric_set(informer->objects_metric, (double)store_count(informer->store));
    for (const struct handler *handler = informer->handlers; handler; handler = handler->next)
        handler->fn(handler->arg, old_object, new_object);
}

static void put(struct informer *informer, struct kube_object *object)
{
    struct kube_object *old = store_put(informer->store, object);
    notify(informer, old, object);
    store_free_object(informer->store, old);
}

static void take_out(struct informer *informer, const char *key)
{
    struct kube_object *old = store_remove(informer->store, key);
    if (!old)
        return;
    notify(informer, old, NULL);
    store_free_object(informer->store, old);
}

static bool is_wanted(const struct informer *informer, const char *key)
{
    return !informer->wanted || informer->wanted(informer->wanted_arg, key);
}

static struct kube_object *project(const struct informer *informer, struct json_slice object)
{
    struct error err = ERROR_INIT;
    struct kube_object *projected = informer->projection->project(object, &err);
    if (!projected)
        log_warn("object ignored", LOG_STR("resource", informer->resource->kind->plural), LOG_ERR(&err));
    return projected;
}

/* ---- tombstones ---- */

static struct kube_uid *find_tombstone(struct informer *informer, struct kube_uid uid)
{
    for (size_t i = 0; !kube_uid_is_zero(uid) && i < TOMBSTONES_MAX; i++) {
        if (kube_uid_eq(informer->tombstones[i], uid))
            return &informer->tombstones[i];
    }
    return NULL;
}

static void add_tombstone(struct informer *informer, struct kube_uid uid)
{
    informer->tombstones[informer->next_tombstone++ % TOMBSTONES_MAX] = uid;
}

/* ---- list ---- */

/* a is a later state than b. False if that cannot be told. */
static bool is_newer(const char *a, const char *b)
{
    int order;
    return kube_version_compare(a, b, &order) && order > 0;
}

static void on_list_begin(void *arg)
{
    struct informer *informer = arg;
    struct kube_object *object;
    for (size_t cursor = 0; (object = store_next(informer->store, &cursor));)
        object->list_mark = MARK_NONE;
}

static bool same_version(const struct kube_object *object, struct json_slice version)
{
    size_t len = strlen(object->resource_version);
    return version.len == len + 2 && memcmp(version.data + 1, object->resource_version, len) == 0;
}

/* Unchanged objects are only marked. Others wait in `pending` until the list is complete, so that a list which fails
 * leaves everything as it was. */
static void on_list_object(void *arg, struct json_slice object)
{
    struct informer *informer = arg;
    struct kube_meta meta;
    struct error err = ERROR_INIT;
    if (kube_meta_scan(object, &meta, &err) < 0) {
        log_warn("object ignored", LOG_STR("resource", informer->resource->kind->plural), LOG_ERR(&err));
        return;
    }
    char key[KUBE_KEY_MAX];
    kube_meta_key(&meta, key);
    if (!is_wanted(informer, key))
        return; /* one that is held vanishes */
    struct kube_object *stored = store_get(informer->store, key);
    if (stored && same_version(stored, meta.resource_version)) {
        stored->list_mark = MARK_SEEN;
        return;
    }
    if (stored && stored->list_mark == MARK_NONE)
        stored->list_mark = MARK_SEEN;
    struct kube_object *projected = project(informer, object);
    if (!projected)
        return;
    *informer->pending_end = projected;
    informer->pending_end = &projected->next;
}

static struct kube_object *next_pending(struct informer *informer)
{
    struct kube_object *object = informer->pending;
    if (!object)
        return NULL;
    informer->pending = object->next;
    object->next = NULL;
    if (!informer->pending)
        informer->pending_end = &informer->pending;
    return object;
}

static void drop_pending(struct informer *informer)
{
    struct kube_object *object;
    while ((object = next_pending(informer)))
        store_free_object(informer->store, object);
}

static void commit_pending(struct informer *informer)
{
    struct kube_object *object;
    while ((object = next_pending(informer))) {
        struct kube_object *stored = store_get(informer->store, object->key);
        bool written_later = stored && stored->list_mark == MARK_WRITTEN &&
            !is_newer(object->resource_version, stored->resource_version);
        if (written_later)
            stored->list_mark = MARK_SEEN;
        if (written_later || find_tombstone(informer, object->uid)) {
            store_free_object(informer->store, object);
            continue;
        }
        object->list_mark = MARK_SEEN;
        put(informer, object);
    }
}

static bool has_vanished(const struct kube_object *object, const char *list_version)
{
    return object->list_mark == MARK_NONE ||
        (object->list_mark == MARK_WRITTEN && !is_newer(object->resource_version, list_version));
}

/* Keys are gathered first: handlers may look around in the store, and it must not change under an iteration. */
static void remove_vanished(struct informer *informer, const char *list_version)
{
    size_t count = 0;
    struct kube_object *object;
    for (size_t cursor = 0; (object = store_next(informer->store, &cursor));)
        count += has_vanished(object, list_version);
    if (count == 0)
        return;
    char **keys = xnew_array(char *, count);
    size_t n = 0;
    for (size_t cursor = 0; (object = store_next(informer->store, &cursor));) {
        if (has_vanished(object, list_version))
            keys[n++] = xstrdup(object->key);
    }
    for (size_t i = 0; i < n; i++) {
        take_out(informer, keys[i]);
        free(keys[i]);
    }
    free(keys);
}

static void run_sync_hooks(void *arg)
{
    struct informer *informer = arg;
    while (informer->sync_hooks) {
        struct sync_hook *hook = informer->sync_hooks;
        informer->sync_hooks = hook->next;
        hook->fn(hook->arg);
        free(hook);
    }
}

static void on_list_end(void *arg, const char *resource_version)
{
    struct informer *informer = arg;
    if (!resource_version) {
        drop_pending(informer);
        return;
    }
    commit_pending(informer);
    remove_vanished(informer, resource_version);
    if (informer->synced)
        return;
    informer->synced = true;
    log_info("informer synced", LOG_STR("resource", informer->resource->kind->plural),
        LOG_INT("objects", store_count(informer->store)));
    run_sync_hooks(informer);
}

/* ---- watch ---- */

static void on_deleted(struct informer *informer, const struct kube_object *gone)
{
    const struct kube_object *stored = store_get(informer->store, gone->key);
    struct kube_uid *tombstone = find_tombstone(informer, gone->uid);
    if (tombstone)
        *tombstone = (struct kube_uid){{0}};
    /* Of the same name, but made after this one was gone: a write of ours that the watch has not reached yet. */
    bool another =
        stored && !kube_uid_eq(stored->uid, gone->uid) && is_newer(stored->resource_version, gone->resource_version);
    if (stored && !another)
        take_out(informer, gone->key);
    else if (!stored && informer->wanted && is_wanted(informer, gone->key))
        notify(informer, gone, NULL);
}

/* The last state of a deleted object is needed only for its key, uid and version. */
static struct kube_object *scan_deleted(const struct informer *informer, struct json_slice object)
{
    struct kube_meta meta;
    struct error err = ERROR_INIT;
    if (kube_meta_scan(object, &meta, &err) == 0)
        return kube_object_new(sizeof(struct kube_object), &meta, 0, NULL);
    log_warn("object ignored", LOG_STR("resource", informer->resource->kind->plural), LOG_ERR(&err));
    return NULL;
}

/* Of most writes of ours, whose answer came first: what is known is not projected once more. */
static bool is_known(const struct informer *informer, struct json_slice slice)
{
    struct kube_meta meta;
    if (kube_meta_scan(slice, &meta, NULL) < 0)
        return false;
    struct kube_object *object = kube_object_new(sizeof(*object), &meta, 0, NULL);
    bool wanted = is_wanted(informer, object->key);
    const struct kube_object *stored = wanted ? store_get(informer->store, object->key) : NULL;
    int order = 1;
    bool known =
        stored && kube_version_compare(object->resource_version, stored->resource_version, &order) && order <= 0;
    free(object);
    return known;
}

static void on_event(void *arg, enum watch_event_type type, struct json_slice slice)
{
    struct informer *informer = arg;
    if (type == WATCH_DELETED) {
        _cleanup_(freep) struct kube_object *gone = scan_deleted(informer, slice);
        if (gone)
            on_deleted(informer, gone);
        return;
    }
    if (is_known(informer, slice))
        return;
    struct kube_object *object = project(informer, slice);
    if (!object)
        return;
    if (!is_wanted(informer, object->key)) {
        take_out(informer, object->key);
        store_free_object(informer->store, object);
        return;
    }
    if (find_tombstone(informer, object->uid)) {
        store_free_object(informer->store, object);
        return;
    }
    put(informer, object);
}

/* ---- the informer ---- */

static void declare_metrics(struct informer *informer, struct metrics *metrics)
{
    static const struct metric_desc events = {
        .name = "kubemysql_informer_changes_total",
        .help = "Changes of objects told to handlers.",
        .type = METRIC_COUNTER,
        .labels = {"resource"},
    };
    static const struct metric_desc objects = {
        .name = "kubemysql_informer_objects",
        .help = "Objects held.",
        .type = METRIC_GAUGE,
        .labels = {"resource"},
    };
    if (!metrics)
        return;
    informer->events_metric = metric_of1(metrics_declare(metrics, &events), informer->resource->kind->plural);
    informer->objects_metric = metric_of1(metrics_declare(metrics, &objects), informer->resource->kind->plural);
}

struct informer *informer_new(struct loop *loop, struct kube_client *client, const struct kube_resource *resource,
    const struct kube_projection *projection, const struct informer_options *options)
{
    static const struct informer_options defaults = {.ns = NULL};
    static const struct reflector_ops ops = {
        .list_begin = on_list_begin, .list_object = on_list_object, .list_end = on_list_end, .event = on_event};
    options = options ? options : &defaults;
    struct informer *informer = xnew(struct informer);
    informer->resource = resource;
    informer->projection = projection;
    informer->store = store_new(projection);
    informer->wanted = options->wanted;
    informer->wanted_arg = options->wanted_arg;
    informer->pending_end = &informer->pending;
    loop_timer_init(&informer->sync_timer, loop, run_sync_hooks, informer);
    informer->reflector = reflector_new(loop, client, resource, options, &ops, informer);
    declare_metrics(informer, options->metrics);
    return informer;
}

void informer_free(struct informer *informer)
{
    if (!informer)
        return;
    reflector_free(informer->reflector);
    drop_pending(informer);
    loop_timer_release(&informer->sync_timer);
    while (informer->sync_hooks) {
        struct sync_hook *hook = informer->sync_hooks;
        informer->sync_hooks = hook->next;
        free(hook);
    }
    while (informer->handlers) {
        struct handler *handler = informer->handlers;
        informer->handlers = handler->next;
        free(handler);
    }
    store_free(informer->store);
    free(informer);
}

/* Handlers are told in the order in which they were added. */
void informer_add_handler(struct informer *informer, informer_handler_fn fn, void *arg)
{
    struct handler *handler = xnew(struct handler);
    handler->fn = fn;
    handler->arg = arg;
    struct handler **last = &informer->handlers;
    while (*last)
        last = &(*last)->next;
    *last = handler;
}

void informer_start(struct informer *informer)
{
    reflector_start(informer->reflector);
}

bool informer_synced(const struct informer *informer)
{
    return informer->synced;
}

void informer_on_sync(struct informer *informer, void (*fn)(void *arg), void *arg)
{
    struct sync_hook *hook = xnew(struct sync_hook);
    *hook = (struct sync_hook){.next = informer->sync_hooks, .fn = fn, .arg = arg};
    informer->sync_hooks = hook;
    if (informer->synced)
        loop_timer_arm(&informer->sync_timer, 0);
}

const struct store *informer_store(const struct informer *informer)
{
    return informer->store;
}

const struct kube_resource *informer_resource(const struct informer *informer)
{
    return informer->resource;
}

int64_t informer_silence_ms(const struct informer *informer)
{
    return reflector_silence_ms(informer->reflector);
}

/* ---- read your writes ---- */

/*
 * Whether the state in an answer belongs into the store. What is not there may be deleted since: the answer of a write
 * can come after the watch told of the deletion. If the watch has passed the answer's version, it would have shown the
 * object.
 */
static bool write_is_news(struct informer *informer, const struct kube_object *object)
{
    if (find_tombstone(informer, object->uid))
        return false;
    const struct kube_object *stored = store_get(informer->store, object->key);
    if (stored)
        return is_newer(object->resource_version, stored->resource_version);
    return reflector_listing(informer->reflector) ||
        (informer->synced && is_newer(object->resource_version, reflector_version(informer->reflector)));
}

void informer_observe_write(struct informer *informer, const struct kube_answer *answer)
{
    if (!answer->object)
        return;
    struct kube_object *object = project(informer, answer->raw);
    if (!object)
        return;
    if (!write_is_news(informer, object)) {
        store_free_object(informer->store, object);
        return;
    }
    object->list_mark = MARK_WRITTEN;
    put(informer, object);
}

void informer_observe_delete(struct informer *informer, const char *key)
{
    const struct kube_object *stored = store_get(informer->store, key);
    if (!stored)
        return;
    add_tombstone(informer, stored->uid);
    take_out(informer, key);
}
