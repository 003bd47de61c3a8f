/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/reconcile/cluster_memory.h"

#include "common/alloc.h"

static const char *memory_key(const void *entry)
{
    return ((const struct cluster_memory *)entry)->key;
}

static void memory_free(void *entry)
{
    struct cluster_memory *memory = entry;
    if (!memory)
        return;
    http_tls_unref(memory->secrets.client_tls);
    restore_lookup_free(memory->restore);
    free(memory->awaited_position);
    free(memory->apply_position);
    free(memory->final_error);
    free(memory->pod_question.refusal);
    free(memory->storage_class.name);
    free(memory->template_change);
    roll_before_free(memory->before);
    free(memory->before_error);
    free(memory->template_from);
    free(memory->figures.changes);
    free(memory->key);
    free(memory->uid);
    free(memory);
}

void cluster_memories_init(struct cluster_memories *memories)
{
    hashmap_init(&memories->by_key, memory_key);
    list_init(&memories->questions);
    list_init(&memories->looks);
}

void cluster_memories_release(struct cluster_memories *memories)
{
    hashmap_release(&memories->by_key, memory_free);
}

struct cluster_memory *cluster_memories_find(const struct cluster_memories *memories, const char *key)
{
    return hashmap_get(&memories->by_key, key);
}

struct cluster_memory *cluster_memories_get(struct cluster_memories *memories, const char *key, const char *uid)
{
    struct cluster_memory *memory = cluster_memories_find(memories, key);
    if (memory && str_eq(memory->uid, uid))
        return memory;
    cluster_memories_forget(memories, key);
    memory = xnew(struct cluster_memory);
    memory->key = xstrdup(key);
    memory->uid = xstrdup(uid);
    hashmap_put(&memories->by_key, memory);
    return memory;
}

void cluster_memories_forget(struct cluster_memories *memories, const char *key)
{
    memory_free(hashmap_remove(&memories->by_key, key));
}

/* Without running pods no TLS is asked for, and an old one may be out of date when they come: it goes. */
void cluster_memory_take_secrets(struct cluster_memory *memory, const struct cluster_secrets_facts *facts)
{
    struct http_tls *kept = memory->secrets.client_tls;
    bool same = kept && facts->client_tls && facts->client_tls_digest == memory->secrets.client_tls_digest;
    memory->secrets = *facts;
    http_tls_unref(same ? facts->client_tls : kept);
    if (same)
        memory->secrets.client_tls = kept;
}

/* Tries come at least once in CLUSTER_CONFLICT_RETRY_MS: what is further apart is another conflict. */
bool cluster_memory_note_conflict(struct cluster_memory *memory, int64_t monotonic_ms)
{
    bool goes_on = memory->conflict_ms && monotonic_ms - memory->conflict_ms < 3 * (int64_t)CLUSTER_CONFLICT_RETRY_MS;
    if (!goes_on)
        memory->conflict_since_ms = monotonic_ms;
    memory->conflict_ms = monotonic_ms;
    return monotonic_ms - memory->conflict_since_ms >= CLUSTER_CONFLICT_NEWS_MS;
}

void cluster_memory_note_cleared(struct cluster_memory *memory, int64_t monotonic_ms)
{
    bool goes_on = memory->route_cleared_ms && monotonic_ms - memory->route_cleared_ms < 2 * memory->route_rest_ms;
    memory->route_cleared_ms = monotonic_ms;
    memory->route_rest_ms =
        goes_on ? MIN_OF(2 * memory->route_rest_ms, CLUSTER_ROUTE_REST_MAX_MS) : CLUSTER_ROUTE_REST_MS;
}

int64_t cluster_memory_route_rest_ms(const struct cluster_memory *memory, int64_t monotonic_ms)
{
    int64_t rest_ms = memory->route_cleared_ms + memory->route_rest_ms - monotonic_ms;
    return memory->route_cleared_ms ? MAX_OF(0, rest_ms) : 0;
}

void cluster_memory_note_held(struct cluster_memory *memory, int64_t epoch, bool held, int64_t monotonic_ms)
{
    if (memory->held_epoch != epoch)
        memory->held_since_ms = 0;
    memory->held_epoch = epoch;
    if (epoch != 0 && held && memory->held_since_ms == 0)
        memory->held_since_ms = monotonic_ms;
}

int64_t cluster_memory_held_ms(const struct cluster_memory *memory, int64_t epoch, int64_t monotonic_ms)
{
    bool is_held = memory->held_since_ms > 0 && memory->held_epoch == epoch;
    return is_held ? MAX_OF(1, monotonic_ms - memory->held_since_ms) : 0;
}

static void note_since(int64_t *since_ms, bool is_so, int64_t monotonic_ms)
{
    if (!is_so)
        *since_ms = 0;
    else if (*since_ms == 0)
        *since_ms = monotonic_ms;
}

static int64_t for_how_long(int64_t since_ms, int64_t monotonic_ms)
{
    return since_ms > 0 ? MAX_OF(1, monotonic_ms - since_ms) : 0;
}

void cluster_memory_note_stopped(struct cluster_memory *memory, int ordinal, bool stopped, int64_t monotonic_ms)
{
    if (ordinal < CLUSTER_ACKNOWLEDGERS_MAX)
        note_since(&memory->stopped_since_ms[ordinal], stopped, monotonic_ms);
}

int64_t cluster_memory_stopped_ms(const struct cluster_memory *memory, int ordinal, int64_t monotonic_ms)
{
    return ordinal < CLUSTER_ACKNOWLEDGERS_MAX ? for_how_long(memory->stopped_since_ms[ordinal], monotonic_ms) : 0;
}

void cluster_memory_note_gtids_lost(struct cluster_memory *memory, int ordinal, bool lost, int64_t monotonic_ms)
{
    if (ordinal <= CLUSTER_REPLICAS_MAX)
        note_since(&memory->gtids_lost_since_ms[ordinal], lost, monotonic_ms);
}

int64_t cluster_memory_gtids_lost_ms(const struct cluster_memory *memory, int ordinal, int64_t monotonic_ms)
{
    return ordinal <= CLUSTER_REPLICAS_MAX ? for_how_long(memory->gtids_lost_since_ms[ordinal], monotonic_ms) : 0;
}

void cluster_memory_note_unheard(struct cluster_memory *memory, int ordinal, bool unheard, int64_t monotonic_ms)
{
    if (ordinal <= CLUSTER_REPLICAS_MAX)
        note_since(&memory->unheard_since_ms[ordinal], unheard, monotonic_ms);
}

int64_t cluster_memory_unheard_ms(const struct cluster_memory *memory, int ordinal, int64_t monotonic_ms)
{
    return ordinal <= CLUSTER_REPLICAS_MAX ? for_how_long(memory->unheard_since_ms[ordinal], monotonic_ms) : 0;
}

void cluster_memory_note_awaited(struct cluster_memory *memory, const struct agent_status *primary)
{
    if (!memory)
        return;
    if (!primary) {
        memory->awaited_hash[0] = '\0';
        str_replace(&memory->awaited_position, NULL);
        return;
    }
    if (str_eq(memory->awaited_hash, primary->order_hash) && memory->awaited_lapses == primary->semi_sync_lapses &&
        str_eq(memory->awaited_boot_id, primary->boot_id))
        return;
    memcpy(memory->awaited_hash, primary->order_hash, sizeof(memory->awaited_hash));
    memory->awaited_lapses = primary->semi_sync_lapses;
    memcpy(memory->awaited_boot_id, primary->boot_id, sizeof(memory->awaited_boot_id));
    str_replace(&memory->awaited_position, primary->gtid_executed);
}

bool cluster_memory_note_end(struct cluster_memory *memory, enum error_kind kind)
{
    memory->conflicts = kind == ERROR_CONFLICT ? MIN_OF(memory->conflicts + 1, CLUSTER_CONFLICTS_TOLD) : 0;
    return kind != ERROR_NONE && (kind != ERROR_CONFLICT || memory->conflicts == CLUSTER_CONFLICTS_TOLD);
}

void cluster_memory_note_write(struct cluster_memory *memory, const struct error *err)
{
    if (err && err->kind == ERROR_ENDING)
        memory->namespace_ends = true;
}
