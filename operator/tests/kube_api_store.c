/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/tests/kube_api_store.h"

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"

#define CREATED "2026-01-02T03:04:05Z"
#define SEGMENTS_MAX 10

/* ---- paths ---- */

static void copy(char *out, size_t size, const char *text)
{
    snprintf(out, size, "%s", text);
}

/* Of a path, without the slashes. Steps ask for objects by their paths all the time: no memory is taken. */
struct segments {
    struct segment {
        const char *text;
        int len;
    } v[SEGMENTS_MAX];
    size_t n;
};

static bool segment_is(const struct segment *segment, const char *text)
{
    return (size_t)segment->len == strlen(text) && strncmp(segment->text, text, (size_t)segment->len) == 0;
}

static int split(const char *text, struct segments *ret)
{
    ret->n = 0;
    for (const char *at = text + strspn(text, "/"); *at; at += strspn(at, "/")) {
        size_t len = strcspn(at, "/");
        if (ret->n == SEGMENTS_MAX)
            return -1;
        ret->v[ret->n++] = (struct segment){at, (int)len};
        at += len;
    }
    return 0;
}

static void copy_segment(char *out, size_t size, const struct segment *segment)
{
    size_t len = MIN_OF((size_t)segment->len, size - 1);
    memcpy(out, segment->text, len);
    out[len] = '\0';
}

static int parse_segments(const struct segments *parts, struct kube_api_path *ret)
{
    size_t i = segment_is(&parts->v[0], "api") ? 2 : 3;
    if (parts->n <= i || (i == 3 && !segment_is(&parts->v[0], "apis")))
        return -1;
    const struct segment *last = &parts->v[i - 1];
    const char *root = parts->v[0].text - 1;
    int root_len = (int)(last->text + last->len - root);
    if (segment_is(&parts->v[i], "namespaces") && parts->n > i + 2) {
        copy_segment(ret->ns, sizeof(ret->ns), &parts->v[i + 1]);
        i += 2;
    }
    snprintf(ret->collection, sizeof(ret->collection), "%.*s/%.*s", root_len, root, parts->v[i].len, parts->v[i].text);
    if (parts->n > i + 1)
        copy_segment(ret->name, sizeof(ret->name), &parts->v[i + 1]);
    if (parts->n > i + 2)
        copy_segment(ret->subresource, sizeof(ret->subresource), &parts->v[i + 2]);
    return parts->n > i + 3 ? -1 : 0;
}

int kube_api_path_parse(const char *text, struct kube_api_path *ret)
{
    struct segments parts;
    ret->collection[0] = ret->ns[0] = ret->name[0] = ret->subresource[0] = '\0';
    return *text == '/' && split(text, &parts) == 0 && parts.n >= 3 ? parse_segments(&parts, ret) : -1;
}

static int path_compare(const struct kube_api_path *a, const struct kube_api_path *b)
{
    int order = strcmp(a->collection, b->collection);
    if (order == 0)
        order = strcmp(a->ns, b->ns);
    return order ? order : strcmp(a->name, b->name);
}

/* ---- entries and history ---- */

void kube_api_store_init(struct kube_api_store *store)
{
    *store = (struct kube_api_store){.version = 1000};
}

static void forget_history(struct kube_api_store *store)
{
    for (size_t i = 0; i < store->history_count; i++) {
        json_decref(store->history[i].before);
        json_decref(store->history[i].after);
    }
    store->history_count = 0;
}

void kube_api_store_compact(struct kube_api_store *store)
{
    forget_history(store);
    store->compacted = store->version;
}

static void entry_free(struct kube_api_entry *entry)
{
    json_decref(entry->object);
    json_decref(entry->applied);
    json_decref(entry->applied_status);
    free(entry);
}

void kube_api_store_release(struct kube_api_store *store)
{
    forget_history(store);
    for (size_t i = 0; i < store->count; i++)
        entry_free(store->entries[i]);
    free(store->entries);
    free(store->history);
}

/* Index of the first entry not before path. */
static size_t lower_bound(const struct kube_api_store *store, const struct kube_api_path *path)
{
    size_t low = 0;
    size_t high = store->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (path_compare(&store->entries[middle]->path, path) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct kube_api_entry *kube_api_store_find(const struct kube_api_store *store, const struct kube_api_path *path)
{
    size_t i = lower_bound(store, path);
    return i < store->count && path_compare(&store->entries[i]->path, path) == 0 ? store->entries[i] : NULL;
}

static struct kube_api_entry *entry_insert(struct kube_api_store *store, const struct kube_api_path *path)
{
    size_t i = lower_bound(store, path);
    if (store->count == store->capacity) {
        store->capacity = MAX_OF(store->capacity * 2, (size_t)64);
        store->entries = xreallocarray(store->entries, store->capacity, sizeof(void *));
    }
    memmove(&store->entries[i + 1], &store->entries[i], (store->count - i) * sizeof(void *));
    store->entries[i] = xnew(struct kube_api_entry);
    store->entries[i]->path = *path;
    store->entries[i]->path.subresource[0] = '\0';
    store->count++;
    return store->entries[i];
}

static void entry_remove(struct kube_api_store *store, struct kube_api_entry *entry)
{
    size_t i = lower_bound(store, &entry->path);
    store->count--;
    memmove(&store->entries[i], &store->entries[i + 1], (store->count - i) * sizeof(void *));
    entry_free(entry);
}

/* Takes over both references. */
static void record(struct kube_api_store *store, const struct kube_api_path *path, json_t *before, json_t *after)
{
    if (store->history_count == store->history_capacity) {
        store->history_capacity = MAX_OF(store->history_capacity * 2, (size_t)64);
        store->history = xreallocarray(store->history, store->history_capacity, sizeof(*store->history));
    }
    struct kube_api_change *change = &store->history[store->history_count++];
    *change = (struct kube_api_change){.version = store->version, .before = before, .after = after};
    copy(change->collection, sizeof(change->collection), path->collection);
    copy(change->ns, sizeof(change->ns), path->ns);
    if (store->changed)
        store->changed(store->arg, change);
}

static void stamp(struct kube_api_store *store, json_t *object)
{
    char text[24];
    snprintf(text, sizeof(text), "%llu", (unsigned long long)++store->version);
    json_put_str(json_object_get(object, "metadata"), "resourceVersion", text);
}

/* ---- writes ---- */

static void fail(
    struct kube_api_result *ret, int status, const char *reason, const struct kube_api_path *path, const char *what)
{
    *ret = (struct kube_api_result){.status = status, .reason = reason};
    snprintf(ret->message, sizeof(ret->message), "%s \"%s\": %s", path->collection, path->name, what);
}

/* One precondition: given but not what is there. */
static bool mismatch(const json_t *wanted, const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(wanted, key));
    return text && !str_eq(text, json_string_value(json_object_get(json_object_get(object, "metadata"), key)));
}

static json_t *ensure_object(json_t *parent, const char *key)
{
    if (!json_is_object(json_object_get(parent, key)))
        json_object_set_new(parent, key, json_object());
    return json_object_get(parent, key);
}

static void fill_metadata(struct kube_api_store *store, const struct kube_api_path *path, json_t *object)
{
    json_t *metadata = ensure_object(object, "metadata");
    char uid[40];
    snprintf(uid, sizeof(uid), "00000000-0000-4000-8000-%012x", ++store->uids);
    json_put_str(metadata, "name", path->name);
    if (*path->ns)
        json_put_str(metadata, "namespace", path->ns);
    if (!json_object_get(metadata, "uid"))
        json_put_str(metadata, "uid", uid);
    if (!json_object_get(metadata, "creationTimestamp")) /* a test whose story depends on it says when */
        json_put_str(metadata, "creationTimestamp", store->created ? store->created : CREATED);
    json_put_int(metadata, "generation", 1);
}

/* Keys that the manager applied last time and does not name any more. */
static void prune(json_t *object, const json_t *applied_before, const json_t *applied_now)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)applied_before, key, value) {
        json_t *now = json_object_get(applied_now, key);
        if (!now)
            json_object_del(object, key);
        else if (json_is_object(value) && json_is_object(now))
            prune(json_object_get(object, key), value, now);
    }
}

/* What the server itself owns is kept whatever a body says. */
static void keep_server_fields(json_t *object, const json_t *before)
{
    static const char *const keys[] = {
        "name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp"};
    json_t *metadata = ensure_object(object, "metadata");
    const json_t *old = json_object_get(before, "metadata");
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        json_object_del(metadata, keys[i]);
        json_t *value = json_object_get(old, keys[i]);
        if (value)
            json_object_set(metadata, keys[i], value);
    }
}

/* Everything but these is of the state before, and shared with it: states do not change. */
static json_t *only_status(const json_t *before, json_t *changed)
{
    json_t *object = json_copy((json_t *)(uintptr_t)before);
    json_put(object, "metadata", json_copy(json_object_get(before, "metadata")));
    json_object_del(object, "status");
    json_t *status = json_object_get(changed, "status");
    if (status)
        json_object_set(object, "status", status);
    json_decref(changed);
    return object;
}

static json_t *all_but_status(const json_t *before, json_t *changed)
{
    json_object_del(changed, "status");
    json_t *status = json_object_get(before, "status");
    if (status)
        json_object_set(changed, "status", status);
    return changed;
}

/* The object after the write, before any stamping. New reference. */
static json_t *next_state(
    struct kube_api_entry *entry, enum kube_api_write how, const struct kube_api_path *path, const json_t *body)
{
    json_t *changed = json_deep_copy(how == KUBE_API_UPDATE ? body : entry->object);
    bool whole = !*path->subresource;
    if (how == KUBE_API_APPLY) /* what others have written stays, in a status, too */
        prune(changed, whole ? entry->applied : entry->applied_status, body);
    if (how != KUBE_API_UPDATE)
        json_merge(changed, body);
    json_t *next = whole ? all_but_status(entry->object, changed) : only_status(entry->object, changed);
    keep_server_fields(next, entry->object);
    return next;
}

static bool spec_differs(const json_t *a, const json_t *b)
{
    _cleanup_(json_decrefp) json_t *x = json_copy((json_t *)(uintptr_t)a);
    _cleanup_(json_decrefp) json_t *y = json_copy((json_t *)(uintptr_t)b);
    json_object_del(x, "metadata");
    json_object_del(y, "metadata");
    json_object_del(x, "status");
    json_object_del(y, "status");
    return !json_equal(x, y);
}

static void remove_now(struct kube_api_store *store, struct kube_api_entry *entry);

/* Puts `next` (taken over) in place if it differs. */
static void commit(struct kube_api_store *store, struct kube_api_entry *entry, json_t *next, struct kube_api_result *ret)
{
    json_t *metadata = json_object_get(next, "metadata");
    *ret = (struct kube_api_result){.status = 200};
    if (json_equal(next, entry->object)) {
        json_decref(next);
        ret->object = entry->object;
        return;
    }
    if (spec_differs(next, entry->object))
        json_put_int(metadata, "generation", json_path_int(next, "metadata.generation", 0) + 1);
    stamp(store, next);
    json_t *before = entry->object;
    entry->object = next;
    ret->object = next;
    record(store, &entry->path, before, json_incref(next));
    if (json_object_get(metadata, "deletionTimestamp") && json_array_size(json_object_get(metadata, "finalizers")) == 0)
        remove_now(store, entry); /* the history keeps ret->object alive */
}

static void create(struct kube_api_store *store, const struct kube_api_path *path, const json_t *body, bool applied,
    struct kube_api_result *ret)
{
    json_t *object = json_deep_copy(body);
    json_object_del(object, "status");
    json_object_del(ensure_object(object, "metadata"), "uid");
    fill_metadata(store, path, object);
    stamp(store, object);
    struct kube_api_entry *entry = entry_insert(store, path);
    entry->object = object;
    entry->applied = applied ? json_deep_copy(body) : NULL;
    *ret = (struct kube_api_result){.status = 201, .object = object};
    record(store, path, NULL, json_incref(object));
}

void kube_api_store_write(struct kube_api_store *store, enum kube_api_write how, const struct kube_api_path *path,
    const json_t *body, struct kube_api_result *ret)
{
    struct kube_api_entry *entry = kube_api_store_find(store, path);
    const json_t *wanted = json_object_get(body, "metadata");
    if (how == KUBE_API_CREATE && entry) {
        fail(ret, 409, "AlreadyExists", path, "already exists");
        return;
    }
    if (!entry && (*path->subresource || how == KUBE_API_UPDATE || how == KUBE_API_MERGE)) {
        fail(ret, 404, "NotFound", path, "not found");
        return;
    }
    if (how != KUBE_API_CREATE &&
        ((entry && (mismatch(wanted, entry->object, "uid") || mismatch(wanted, entry->object, "resourceVersion"))) ||
            (!entry && (json_object_get(wanted, "uid") || json_object_get(wanted, "resourceVersion"))))) {
        fail(ret, 409, "Conflict", path, "the object has been modified");
        return;
    }
    if (!entry) {
        create(store, path, body, how == KUBE_API_APPLY, ret);
        return;
    }
    json_t *next = next_state(entry, how, path, body);
    if (how == KUBE_API_APPLY) {
        json_t **applied = *path->subresource ? &entry->applied_status : &entry->applied;
        json_decref(*applied);
        *applied = json_deep_copy(body);
    }
    commit(store, entry, next, ret);
}

const json_t *kube_api_store_force(struct kube_api_store *store, const struct kube_api_path *path, const json_t *object)
{
    struct kube_api_entry *entry = kube_api_store_find(store, path);
    json_t *next = json_deep_copy(object);
    int64_t generation = json_path_int(object, "metadata.generation", 0);
    if (entry)
        keep_server_fields(next, entry->object);
    else
        fill_metadata(store, path, next);
    if (generation > json_path_int(next, "metadata.generation", 0))
        json_put_int(json_object_get(next, "metadata"), "generation", generation);
    stamp(store, next);
    json_t *before = entry ? entry->object : NULL;
    if (!entry)
        entry = entry_insert(store, path);
    entry->object = next;
    record(store, path, before, json_incref(next));
    return next;
}

/* ---- deletion ---- */

static bool is_owned_by(const json_t *object, const char *uid)
{
    size_t i;
    const json_t *reference;
    json_array_foreach(json_object_get(json_object_get(object, "metadata"), "ownerReferences"), i, reference) {
        if (str_eq(json_string_value(json_object_get(reference, "uid")), uid))
            return true;
    }
    return false;
}

static void delete_dependents(struct kube_api_store *store, const char *uid)
{
    for (size_t i = 0; i < store->count;) {
        if (!is_owned_by(store->entries[i]->object, uid)) {
            i++;
            continue;
        }
        struct kube_api_path path = store->entries[i]->path;
        size_t before = store->count;
        struct kube_api_result result;
        kube_api_store_delete(store, &path, NULL, &result);
        i = store->count < before ? 0 : i + 1;
    }
}

static void remove_now(struct kube_api_store *store, struct kube_api_entry *entry)
{
    json_t *last = json_deep_copy(entry->object);
    _cleanup_(freep) char *uid = xstrdup(json_path_str(last, "metadata.uid", ""));
    struct kube_api_path path = entry->path;
    stamp(store, last);
    entry_remove(store, entry);
    record(store, &path, last, NULL);
    delete_dependents(store, uid);
}

void kube_api_store_delete(struct kube_api_store *store, const struct kube_api_path *path, const json_t *preconditions,
    struct kube_api_result *ret)
{
    struct kube_api_entry *entry = kube_api_store_find(store, path);
    if (!entry) {
        fail(ret, 404, "NotFound", path, "not found");
        return;
    }
    if (mismatch(preconditions, entry->object, "uid") || mismatch(preconditions, entry->object, "resourceVersion")) {
        fail(ret, 409, "Conflict", path, "the precondition does not match");
        return;
    }
    const json_t *metadata = json_object_get(entry->object, "metadata");
    if (json_array_size(json_object_get(metadata, "finalizers")) > 0) {
        json_t *next = json_deep_copy(entry->object);
        char now[CLOCK_RFC3339_SIZE];
        clock_format_rfc3339(clock_realtime_ms(), now);
        json_put_str(json_object_get(next, "metadata"), "deletionTimestamp", now);
        commit(store, entry, next, ret);
        return;
    }
    remove_now(store, entry);
    *ret = (struct kube_api_result){.status = 200, .reason = "Success"};
}
