/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/kube/event_recorder.h"

#include "common/alloc.h"
#include "common/clock.h"
#include "common/hashmap.h"
#include "common/json.h"
#include "common/list.h"
#include "common/log.h"
#include "common/strbuf.h"

#define EVENT_MESSAGE_MAX 1024 /* validation of core/v1 Event */
#define EVENT_REASON_MAX 128   /* likewise */
#define AGGREGATE_WINDOW_MS (10LL * 60 * 1000)
#define SPAM_BURST 50
#define SPAM_REFILL_MS (30LL * 1000)
#define KEY_SIZE 96

/* One event in the API server, and what we know of it. */
struct aggregate {
    struct list_node lru;     /* most recently used first */
    struct list_node waiting; /* in recorder->waiting, or alone */
    char key[KEY_SIZE];       /* object, type, reason and message, hashed */
    struct event_recorder *recorder;
    struct kube_request *request; /* the write under way */
    char *ns;
    char *name;
    int64_t first_seen_ms; /* monotonic: when the window began */
    int64_t first_ms;      /* wall clock */
    int64_t last_ms;
    int64_t count;
    json_t *document; /* only while a write waits or is under way */
    bool created;
    bool dirty; /* counted since the last write began */
};

/* What may still be said of an object for one reason. */
struct bucket {
    struct list_node lru;
    char key[KEY_SIZE];
    double tokens;
    int64_t filled_ms;
    uint64_t dropped;
};

struct event_recorder {
    struct loop *loop;
    struct kube_client *client;
    struct kube_resource resource;
    char *component;
    char *instance;
    uint64_t last_mark;       /* of the newest name */
    struct list_node waiting; /* aggregates, the first to be recorded first */
    struct loop_timer timer;
    struct hashmap aggregates;
    struct list_node aggregates_lru;
    struct hashmap buckets;
    struct list_node buckets_lru;
};

static const char *aggregate_key(const void *entry)
{
    return ((const struct aggregate *)entry)->key;
}

static const char *bucket_key(const void *entry)
{
    return ((const struct bucket *)entry)->key;
}

/* A thousand remembered events must not keep a thousand documents. */
static void aggregate_drop_document(struct aggregate *aggregate)
{
    json_decref(steal_ptr(aggregate->document));
}

static void aggregate_free(struct aggregate *aggregate)
{
    if (aggregate->request)
        kube_request_cancel(aggregate->request);
    list_remove(&aggregate->lru);
    list_remove(&aggregate->waiting);
    free(aggregate->ns);
    free(aggregate->name);
    aggregate_drop_document(aggregate);
    free(aggregate);
}

static bool aggregate_is_idle(const struct aggregate *aggregate)
{
    return !aggregate->request && list_empty(&aggregate->waiting);
}

static void aggregate_forget(struct aggregate *aggregate)
{
    hashmap_remove(&aggregate->recorder->aggregates, aggregate->key);
    aggregate_free(aggregate);
}

/* ---- how much an object may say ------------------------------------------------------------------------------- */

static struct bucket *bucket_of(struct event_recorder *recorder, const char *key, int64_t now_ms)
{
    struct bucket *bucket = hashmap_get(&recorder->buckets, key);
    if (bucket) {
        list_remove(&bucket->lru);
        list_push_front(&recorder->buckets_lru, &bucket->lru);
        return bucket;
    }
    if (recorder->buckets.count >= EVENT_CACHE_MAX) {
        struct bucket *oldest = container_of(recorder->buckets_lru.prev, struct bucket, lru);
        hashmap_remove(&recorder->buckets, oldest->key);
        list_remove(&oldest->lru);
        free(oldest);
    }
    bucket = xnew(struct bucket);
    snprintf(bucket->key, sizeof(bucket->key), "%s", key);
    bucket->tokens = SPAM_BURST;
    bucket->filled_ms = now_ms;
    list_push_front(&recorder->buckets_lru, &bucket->lru);
    hashmap_put(&recorder->buckets, bucket);
    return bucket;
}

static bool bucket_take(struct bucket *bucket, int64_t now_ms)
{
    bucket->tokens += (double)(now_ms - bucket->filled_ms) / SPAM_REFILL_MS;
    bucket->tokens = MIN_OF(bucket->tokens, SPAM_BURST);
    bucket->filled_ms = now_ms;
    if (bucket->tokens < 1) {
        bucket->dropped++;
        return false;
    }
    bucket->tokens -= 1;
    return true;
}

/* ---- writing -------------------------------------------------------------------------------------------------- */

static void aggregate_write(struct aggregate *aggregate);

static void log_lost(const struct aggregate *aggregate, const struct error *err)
{
    log_warn("event not written", LOG_STR("namespace", aggregate->ns), LOG_STR("event", aggregate->name), LOG_ERR(err));
}

static void on_written(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct aggregate *aggregate = arg;
    UNUSED(answer);
    aggregate->request = NULL;
    if (err && err->kind == ERROR_NOT_FOUND && aggregate->created) { /* expired in the server: a new life for it */
        aggregate->created = false;
        aggregate_write(aggregate);
        return;
    }
    if (err && !aggregate->created) {
        log_lost(aggregate, err);
        aggregate_forget(aggregate); /* the next occurrence tries anew */
        return;
    }
    if (err)
        log_lost(aggregate, err);
    aggregate->created = true;
    if (aggregate->dirty)
        aggregate_write(aggregate);
    else
        aggregate_drop_document(aggregate);
}

static json_t *aggregate_patch(const struct aggregate *aggregate)
{
    char last[CLOCK_RFC3339_SIZE];
    clock_format_rfc3339(aggregate->last_ms, last);
    return json_build("{s:I, s:s}", "count", (json_int_t)aggregate->count, "lastTimestamp", last);
}

static void aggregate_write(struct aggregate *aggregate)
{
    struct event_recorder *recorder = aggregate->recorder;
    _cleanup_(json_decrefp) json_t *patch = aggregate_patch(aggregate);
    aggregate->dirty = false;
    if (aggregate->created) {
        aggregate->request = kube_patch(recorder->client, &recorder->resource, aggregate->ns, aggregate->name, NULL,
            KUBE_PATCH_MERGE, patch, on_written, aggregate);
        return;
    }
    json_object_update(aggregate->document, patch);
    aggregate->request =
        kube_create(recorder->client, &recorder->resource, aggregate->ns, aggregate->document, on_written, aggregate);
}

static json_t *involved_object(const struct event_target *target)
{
    _cleanup_(strbuf_release) struct strbuf version;
    strbuf_init(&version, KUBE_NAME_MAX);
    kube_resource_api_version(target->resource, &version);
    json_t *object = json_object();
    json_put_str(object, "apiVersion", version.buf);
    json_put_str(object, "kind", target->resource->kind->kind);
    json_put_str(object, "namespace", str_empty(target->ns) ? NULL : target->ns);
    json_put_str(object, "name", target->name);
    json_put_str(object, "uid", target->uid);
    json_put_str(object, "resourceVersion", target->resource_version);
    return object;
}

static json_t *event_document(const struct aggregate *aggregate, const struct event_target *target,
    enum event_type type, const char *reason, const char *message)
{
    const struct event_recorder *recorder = aggregate->recorder;
    char first[CLOCK_RFC3339_SIZE];
    clock_format_rfc3339(aggregate->first_ms, first);
    json_t *document = json_build("{s:s, s:s, s:{s:s, s:s}, s:s, s:s, s:{s:s}}", "apiVersion",
        recorder->resource.version, "kind", "Event", "metadata", "namespace", aggregate->ns, "name", aggregate->name,
        "type", type == EVENT_WARNING ? "Warning" : "Normal", "firstTimestamp", first, "source", "component",
        recorder->component);
    json_put(document, "involvedObject", involved_object(target));
    json_put(document, "reason", json_stringn(reason, strnlen(reason, EVENT_REASON_MAX)));
    json_put_str(document, "message", message);
    json_put_str(document, "reportingComponent", recorder->component);
    json_put_str(document, "reportingInstance", recorder->instance);
    return document;
}

void event_recorder_flush(struct event_recorder *recorder)
{
    if (!recorder)
        return;
    loop_timer_cancel(&recorder->timer);
    while (!list_empty(&recorder->waiting)) {
        struct aggregate *aggregate = container_of(list_next(&recorder->waiting), struct aggregate, waiting);
        list_remove(&aggregate->waiting);
        aggregate_write(aggregate);
    }
}

static void on_timer(void *arg)
{
    event_recorder_flush(arg);
}

static void aggregate_write_later(struct aggregate *aggregate)
{
    struct event_recorder *recorder = aggregate->recorder;
    if (list_empty(&recorder->waiting))
        loop_timer_arm(&recorder->timer, EVENT_DELAY_MS);
    list_push_back(&recorder->waiting, &aggregate->waiting);
}

/* ---- life ----------------------------------------------------------------------------------------------------- */

struct event_recorder *event_recorder_new(struct loop *loop, struct kube_client *client,
    const struct kube_resource *event, const char *component, const char *instance)
{
    struct event_recorder *recorder = xnew(struct event_recorder);
    recorder->loop = loop;
    recorder->client = client;
    recorder->resource = *event;
    recorder->component = xstrdup(component);
    recorder->instance = xstrdup(instance);
    hashmap_init(&recorder->aggregates, aggregate_key);
    hashmap_init(&recorder->buckets, bucket_key);
    list_init(&recorder->aggregates_lru);
    list_init(&recorder->buckets_lru);
    list_init(&recorder->waiting);
    loop_timer_init(&recorder->timer, loop, on_timer, recorder);
    return recorder;
}

void event_recorder_free(struct event_recorder *recorder)
{
    if (!recorder)
        return;
    hashmap_release(&recorder->aggregates, NULL);
    hashmap_release(&recorder->buckets, free);
    while (!list_empty(&recorder->aggregates_lru))
        aggregate_free(container_of(list_next(&recorder->aggregates_lru), struct aggregate, lru));
    loop_timer_release(&recorder->timer);
    free(recorder->component);
    free(recorder->instance);
    free(recorder);
}

/* ---- recording ------------------------------------------------------------------------------------------------ */

/* Room for one more: the least recently used that has no write under way goes. */
static bool recorder_make_room(struct event_recorder *recorder)
{
    if (recorder->aggregates.count < EVENT_CACHE_MAX)
        return true;
    for (struct list_node *node = recorder->aggregates_lru.prev; node != &recorder->aggregates_lru; node = node->prev) {
        struct aggregate *aggregate = container_of(node, struct aggregate, lru);
        if (aggregate_is_idle(aggregate)) {
            aggregate_forget(aggregate);
            return true;
        }
    }
    return false;
}

/* Nanoseconds, as client-go names events. Times in events have whole seconds, and kubectl keeps events of one second as
 * the API server lists them: by name. */
static char *event_name(struct event_recorder *recorder, const char *target_name)
{
    int room = KUBE_NAME_MAX - 1 - 16;
    uint64_t now = (uint64_t)clock_realtime_us() * 1000;
    recorder->last_mark = MAX_OF(now, recorder->last_mark + 1);
    return xasprintf("%.*s.%016llx", room, target_name, (unsigned long long)recorder->last_mark);
}

static struct aggregate *aggregate_new(
    struct event_recorder *recorder, const char *key, const struct event_target *target)
{
    struct aggregate *aggregate = xnew(struct aggregate);
    aggregate->recorder = recorder;
    snprintf(aggregate->key, sizeof(aggregate->key), "%s", key);
    aggregate->ns = xstrdup(str_empty(target->ns) ? "default" : target->ns);
    aggregate->name = event_name(recorder, target->name);
    aggregate->first_seen_ms = clock_monotonic_ms();
    aggregate->first_ms = clock_realtime_ms();
    list_init(&aggregate->waiting);
    list_push_front(&recorder->aggregates_lru, &aggregate->lru);
    hashmap_put(&recorder->aggregates, aggregate);
    return aggregate;
}

/* The one to count in, or NULL if there is none young enough (an old one is forgotten). */
static struct aggregate *aggregate_find(struct event_recorder *recorder, const char *key)
{
    struct aggregate *aggregate = hashmap_get(&recorder->aggregates, key);
    if (!aggregate)
        return NULL;
    bool old = clock_monotonic_ms() - aggregate->first_seen_ms > AGGREGATE_WINDOW_MS;
    if (old && aggregate_is_idle(aggregate)) {
        aggregate_forget(aggregate);
        return NULL;
    }
    list_remove(&aggregate->lru);
    list_push_front(&recorder->aggregates_lru, &aggregate->lru);
    return aggregate;
}

static void subject_key(const struct event_target *target, const char *reason, char out[static KEY_SIZE])
{
    uint64_t name = hash64(HASH64_INIT, str_or_empty(target->ns), strlen(str_or_empty(target->ns)) + 1);
    name = hash64(name, target->name, strlen(target->name) + 1);
    name = hash64(name, target->resource->kind->plural, strlen(target->resource->kind->plural) + 1);
    name = hash64(name, reason, strlen(reason));
    snprintf(out, KEY_SIZE, "%.48s/%016llx", str_or_empty(target->uid), (unsigned long long)name);
}

static void log_message(const struct event_target *target, enum event_type type, const char *reason, const char *message)
{
    LOG_AT(type == EVENT_WARNING ? LOG_WARN : LOG_INFO, message, LOG_STR("reason", reason),
        LOG_STR("kind", target->resource->kind->kind), LOG_STR("namespace", target->ns), LOG_STR("name", target->name));
}

static void log_left_out(const struct event_target *target, const char *reason, struct bucket *bucket)
{
    log_warn("so many before this one were too many, and are left out", LOG_INT("count", (int64_t)bucket->dropped),
        LOG_STR("reason", reason), LOG_STR("namespace", target->ns), LOG_STR("name", target->name));
    bucket->dropped = 0;
}

static void record_message(struct event_recorder *recorder, const struct event_target *target, enum event_type type,
    const char *reason, const char *message)
{
    char subject[KEY_SIZE], key[KEY_SIZE];
    subject_key(target, reason, subject);
    uint64_t text = hash64(HASH64_INIT, message, strlen(message));
    snprintf(key, sizeof(key), "%.70s/%d/%016llx", subject, (int)type, (unsigned long long)text);

    struct bucket *bucket = bucket_of(recorder, subject, clock_monotonic_ms());
    if (!bucket_take(bucket, clock_monotonic_ms()))
        return;
    if (bucket->dropped > 0)
        log_left_out(target, reason, bucket);
    if (!target->is_logged)
        log_message(target, type, reason, message);
    struct aggregate *aggregate = aggregate_find(recorder, key);
    if (!aggregate) {
        if (!recorder_make_room(recorder)) {
            log_warn("event dropped: too many under way", LOG_STR("object", target->name), LOG_STR("reason", reason));
            return;
        }
        aggregate = aggregate_new(recorder, key, target);
    }
    if (!aggregate->document) /* also for a patch: the event may have expired in the server */
        aggregate->document = event_document(aggregate, target, type, reason, message);
    aggregate->count++;
    aggregate->last_ms = clock_realtime_ms();
    aggregate->dirty = true;
    if (aggregate_is_idle(aggregate))
        aggregate_write_later(aggregate);
}

void event_record(struct event_recorder *recorder, const struct event_target *target, enum event_type type,
    const char *reason, const char *fmt, ...)
{
    if (!recorder)
        return;
    char message[EVENT_MESSAGE_MAX + 1];
    va_list ap;
    va_start(ap, fmt);
    int len = vsnprintf(message, sizeof(message), fmt, ap);
    va_end(ap);
    if (len < 0)
        return;
    if ((size_t)len >= sizeof(message)) /* cut where a character begins, and say so */
    {
        size_t end = sizeof(message) - sizeof("...");
        while (end > 0 && ((unsigned char)message[end] & 0xc0) == 0x80)
            end--;
        memcpy(message + end, "...", sizeof("..."));
    }
    record_message(recorder, target, type, reason, message);
}
