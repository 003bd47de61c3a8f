#include "common/base.h"

#include "operator/cluster/cluster_memory.h"

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
    free(memory->key);
    free(memory->uid);
    free(memory);
}

void cluster_memories_init(struct cluster_memories *memories)
{
    hashmap_init(&memories->by_key, memory_key);
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
