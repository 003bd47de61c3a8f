/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/kube/store.h"

#include "common/alloc.h"
#include "common/backoff.h"

#define INDEX_SLOTS_MIN 16

/*
 * Open addressing with linear probing over one pointer per distinct uid, which is read from the object.
 * Removal moves later entries of the run back (no tombstones), so it never needs a clean-up.
 */
struct uid_index {
    struct kube_object **slots;
    size_t slot_count; /* 0 or a power of two */
    size_t count;
    uint64_t seed; /* keeps runs short whatever somebody may have chosen as uids */
};

struct store {
    const struct kube_projection *projection;
    struct hashmap by_key;
    struct uid_index *by_uid; /* slots stay NULL until somebody asks */
};

/* ---- uid index ---- */

static size_t index_home(const struct uid_index *index, struct kube_uid uid)
{
    uint64_t halves[2];
    memcpy(halves, uid.bytes, sizeof(halves));
    uint64_t h = (halves[0] ^ index->seed) * 0x9e3779b97f4a7c15ULL;
    h = (h ^ (h >> 32) ^ halves[1]) * 0xd6e8feb86659fd93ULL;
    return (size_t)(h ^ (h >> 32)) & (index->slot_count - 1);
}

/* The slot that holds the uid, or the free one where it belongs. */
static size_t index_slot(const struct uid_index *index, struct kube_uid uid)
{
    size_t i = index_home(index, uid);
    while (index->slots[i] && !kube_uid_eq(index->slots[i]->uid, uid))
        i = (i + 1) & (index->slot_count - 1);
    return i;
}

static struct kube_object *index_get(const struct uid_index *index, struct kube_uid uid)
{
    return index->slot_count ? index->slots[index_slot(index, uid)] : NULL;
}

static void index_resize(struct uid_index *index, size_t slot_count)
{
    struct kube_object **old = index->slots;
    size_t old_count = index->slot_count;
    index->slots = xnew_array(struct kube_object *, slot_count);
    index->slot_count = slot_count;
    for (size_t i = 0; i < old_count; i++) {
        if (old[i])
            index->slots[index_slot(index, old[i]->uid)] = old[i];
    }
    free(old);
}

/* Points the uid of `object` at it, whatever it pointed at before. */
static void index_set(struct uid_index *index, struct kube_object *object)
{
    if ((index->count + 1) * 4 > index->slot_count * 3)
        index_resize(index, MAX_OF(index->slot_count * 2, (size_t)INDEX_SLOTS_MIN));
    size_t i = index_slot(index, object->uid);
    index->count += index->slots[i] == NULL;
    index->slots[i] = object;
}

static void index_unset(struct uid_index *index, struct kube_uid uid)
{
    size_t mask = index->slot_count - 1;
    size_t hole = index_slot(index, uid);
    if (!index->slots[hole])
        return;
    index->slots[hole] = NULL;
    index->count--;
    for (size_t i = (hole + 1) & mask; index->slots[i]; i = (i + 1) & mask) {
        size_t home = index_home(index, index->slots[i]->uid);
        if (((i - home) & mask) < ((i - hole) & mask))
            continue; /* the hole is before its home: it must stay */
        index->slots[hole] = index->slots[i];
        index->slots[i] = NULL;
        hole = i;
    }
}

/* ---- linking ---- */

static void link_object(struct store *store, struct kube_object *object)
{
    if (store->by_uid->slot_count && !kube_uid_is_zero(object->uid))
        index_set(store->by_uid, object);
}

static void unlink_object(struct store *store, struct kube_object *object)
{
    if (store->by_uid->slot_count && index_get(store->by_uid, object->uid) == object)
        index_unset(store->by_uid, object->uid);
}

/* ---- the store ---- */

static const char *key_of(const void *entry)
{
    return ((const struct kube_object *)entry)->key;
}

struct store *store_new(const struct kube_projection *projection)
{
    struct store *store = xnew(struct store);
    store->projection = projection;
    hashmap_init(&store->by_key, key_of);
    store->by_uid = xnew(struct uid_index);
    store->by_uid->seed = random_seed();
    return store;
}

void store_free_object(const struct store *store, struct kube_object *object)
{
    if (store->projection->free_object && object)
        store->projection->free_object(object);
    else
        free(object);
}

void store_free(struct store *store)
{
    if (!store)
        return;
    size_t cursor = 0;
    struct kube_object *object;
    while ((object = store_next(store, &cursor)))
        store_free_object(store, object);
    hashmap_release(&store->by_key, NULL);
    free(store->by_uid->slots);
    free(store->by_uid);
    free(store);
}

size_t store_count(const struct store *store)
{
    return store->by_key.count;
}

struct kube_object *store_get(const struct store *store, const char *key)
{
    return hashmap_get(&store->by_key, key);
}

struct kube_object *store_get_by_uid(const struct store *store, struct kube_uid uid)
{
    struct uid_index *index = store->by_uid;
    if (kube_uid_is_zero(uid))
        return NULL;
    if (!index->slot_count) {
        index_resize(index, INDEX_SLOTS_MIN);
        struct kube_object *object;
        for (size_t cursor = 0; (object = store_next(store, &cursor));) {
            if (!kube_uid_is_zero(object->uid))
                index_set(index, object);
        }
    }
    return index_get(index, uid);
}

struct kube_object *store_next(const struct store *store, size_t *cursor)
{
    return hashmap_next(&store->by_key, cursor);
}

struct kube_object *store_put(struct store *store, struct kube_object *object)
{
    struct kube_object *old = hashmap_put(&store->by_key, object);
    if (old)
        unlink_object(store, old);
    link_object(store, object);
    return old;
}

struct kube_object *store_remove(struct store *store, const char *key)
{
    struct kube_object *old = hashmap_remove(&store->by_key, key);
    if (old)
        unlink_object(store, old);
    return old;
}
