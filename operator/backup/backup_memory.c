/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/backup/backup_memory.h"

#include "common/alloc.h"

static const char *key_of(const void *entry)
{
    return ((const struct backup_memory *)entry)->key;
}

static void memory_free(void *entry)
{
    struct backup_memory *memory = entry;
    if (!memory)
        return;
    backup_job_cancel(memory->job);
    task_keys_release(&memory->keys);
    free(memory->key);
    free(memory->uid);
    free(memory->ns);
    free(memory->cluster);
    free(memory->claim);
    free(memory);
}

void backup_memories_init(struct backup_memories *memories)
{
    hashmap_init(&memories->by_key, key_of);
}

void backup_memories_release(struct backup_memories *memories)
{
    hashmap_release(&memories->by_key, memory_free);
}

struct backup_memory *backup_memories_find(const struct backup_memories *memories, const char *key)
{
    return hashmap_get(&memories->by_key, key);
}

void backup_memories_forget(struct backup_memories *memories, const char *key)
{
    memory_free(hashmap_remove(&memories->by_key, key));
}

struct backup_memory *backup_memories_get(
    struct backup_memories *memories, const char *key, const char *uid, void *owner)
{
    struct backup_memory *memory = backup_memories_find(memories, key);
    if (memory && str_eq(memory->uid, uid))
        return memory;
    backup_memories_forget(memories, key);
    memory = xnew(struct backup_memory);
    memory->owner = owner;
    memory->key = xstrdup(key);
    memory->uid = xstrdup(uid);
    hashmap_put(&memories->by_key, memory);
    return memory;
}

bool backup_memories_want_store(
    const struct backup_memories *memories, const char *ns, const char *cluster, const char *claim)
{
    size_t cursor = 0;
    for (const struct backup_memory *memory; (memory = hashmap_next(&memories->by_key, &cursor));) {
        if (memory->wants_store && str_eq(memory->ns, ns) && str_eq(memory->cluster, cluster) &&
            str_eq(memory->claim, claim))
            return true;
    }
    return false;
}

bool backup_memories_have_begun(
    const struct backup_memories *memories, const struct backup_memory *but, const char *ns, const char *pod)
{
    size_t cursor = 0;
    for (const struct backup_memory *memory; (memory = hashmap_next(&memories->by_key, &cursor));) {
        if (memory != but && str_eq(memory->begins_with, pod) && str_eq(memory->ns, ns))
            return true;
    }
    return false;
}
