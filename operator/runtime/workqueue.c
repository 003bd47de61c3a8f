/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/runtime/workqueue.h"

#include "common/alloc.h"
#include "common/hashmap.h"
#include "common/heap.h"

/*
 * One block a key. A key is in one of three states: waiting (in the heap), processing (handed out), or neither, and
 * then it is kept only because its failures are remembered. due_ms means "when" while waiting and "when again"
 * (INT64_MAX: not) while processing.
 */
struct entry {
    int64_t due_ms;
    uint64_t sequence; /* equal times leave in the order of arrival */
    size_t heap_index;
    uint32_t failures;
    bool processing;
    char key[];
};

struct workqueue {
    struct backoff_policy policy;
    uint64_t random_state;
    uint64_t sequence;
    size_t processing;
    struct hashmap entries;
    struct heap waiting;
};

static const char *entry_key(const void *entry)
{
    return ((const struct entry *)entry)->key;
}

static bool entry_less(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    return a->due_ms != b->due_ms ? a->due_ms < b->due_ms : a->sequence < b->sequence;
}

static size_t *entry_index(void *entry)
{
    return &((struct entry *)entry)->heap_index;
}

struct workqueue *workqueue_new(const struct backoff_policy *policy, uint64_t seed)
{
    struct workqueue *queue = xnew(struct workqueue);
    queue->policy = *policy;
    queue->random_state = seed;
    hashmap_init(&queue->entries, entry_key);
    heap_init(&queue->waiting, entry_less, entry_index);
    return queue;
}

void workqueue_free(struct workqueue *queue)
{
    if (!queue)
        return;
    heap_release(&queue->waiting);
    hashmap_release(&queue->entries, free);
    free(queue);
}

static struct entry *entry_of(struct workqueue *queue, const char *key)
{
    struct entry *entry = hashmap_get(&queue->entries, key);
    if (entry)
        return entry;
    size_t key_size = strlen(key) + 1;
    entry = xcalloc(1, sizeof(*entry) + key_size);
    memcpy(entry->key, key, key_size);
    entry->heap_index = HEAP_NOT_IN;
    entry->due_ms = INT64_MAX;
    hashmap_put(&queue->entries, entry);
    return entry;
}

static void entry_schedule(struct workqueue *queue, struct entry *entry, int64_t due_ms)
{
    if (due_ms >= entry->due_ms)
        return;
    entry->due_ms = due_ms;
    if (entry->processing)
        return;
    if (entry->heap_index != HEAP_NOT_IN) {
        heap_update(&queue->waiting, entry);
        return;
    }
    entry->sequence = queue->sequence++;
    heap_push(&queue->waiting, entry);
}

/* An entry that waits for nothing and remembers nothing goes. */
static void entry_drop_if_idle(struct workqueue *queue, struct entry *entry)
{
    if (entry->processing || entry->heap_index != HEAP_NOT_IN || entry->failures)
        return;
    hashmap_remove(&queue->entries, entry->key);
    free(entry);
}

void workqueue_add_after(struct workqueue *queue, const char *key, int64_t now_ms, int64_t delay_ms)
{
    entry_schedule(queue, entry_of(queue, key), now_ms + MAX_OF(delay_ms, 0));
}

void workqueue_add(struct workqueue *queue, const char *key, int64_t now_ms)
{
    workqueue_add_after(queue, key, now_ms, 0);
}

int64_t workqueue_add_rate_limited(struct workqueue *queue, const char *key, int64_t now_ms, int64_t at_least_ms)
{
    struct entry *entry = entry_of(queue, key);
    struct backoff backoff = {.attempts = entry->failures, .random_state = queue->random_state};
    int64_t delay_ms = backoff_next_ms(&backoff, &queue->policy);
    delay_ms = MAX_OF(delay_ms, at_least_ms);
    queue->random_state = backoff.random_state;
    if (entry->failures < UINT32_MAX)
        entry->failures++;
    entry_schedule(queue, entry, now_ms + delay_ms);
    return delay_ms;
}

void workqueue_forget(struct workqueue *queue, const char *key)
{
    struct entry *entry = hashmap_get(&queue->entries, key);
    if (!entry)
        return;
    entry->failures = 0;
    entry_drop_if_idle(queue, entry);
}

const char *workqueue_get(struct workqueue *queue, int64_t now_ms)
{
    struct entry *entry = heap_peek(&queue->waiting);
    if (!entry || entry->due_ms > now_ms)
        return NULL;
    heap_pop(&queue->waiting);
    entry->processing = true;
    entry->due_ms = INT64_MAX;
    queue->processing++;
    return entry->key;
}

void workqueue_done(struct workqueue *queue, const char *key, int64_t now_ms)
{
    struct entry *entry = hashmap_get(&queue->entries, key);
    if (!entry || !entry->processing)
        return;
    entry->processing = false;
    queue->processing--;
    int64_t again_ms = entry->due_ms;
    entry->due_ms = INT64_MAX;
    /* What was added meanwhile queues up behind those that waited while we worked: one busy key cannot starve the
     * others. */
    if (again_ms != INT64_MAX)
        entry_schedule(queue, entry, MAX_OF(again_ms, now_ms));
    else
        entry_drop_if_idle(queue, entry);
}

int64_t workqueue_next_due_ms(const struct workqueue *queue)
{
    const struct entry *entry = heap_peek(&queue->waiting);
    return entry ? entry->due_ms : INT64_MAX;
}

size_t workqueue_depth(const struct workqueue *queue)
{
    return queue->waiting.count;
}

size_t workqueue_processing(const struct workqueue *queue)
{
    return queue->processing;
}

uint32_t workqueue_failures(const struct workqueue *queue, const char *key)
{
    const struct entry *entry = hashmap_get(&queue->entries, key);
    return entry ? entry->failures : 0;
}

size_t workqueue_remembered(const struct workqueue *queue)
{
    return queue->entries.count;
}
