/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/reconcile/cluster_turns.h"

#include "operator/api/names.h"
#include "operator/api/projections.h"

#define NOTE_MS 30000 /* renewed by each look at a cluster whose check pod is at work, or was refused */

static struct cluster_turn_note *find_note(struct cluster_turns *turns, const char *set)
{
    for (int i = 0; i < CLUSTER_TURNS_MAX; i++) {
        if (str_eq(turns->notes[i].key, set))
            return &turns->notes[i];
    }
    return NULL;
}

static bool is_marked(const struct informer *sets, const char *key)
{
    const struct stateful_set_object *set = (const struct stateful_set_object *)store_get(informer_store(sets), key);
    return set && !str_empty(set->turn);
}

/* Others on their turn; *ret names one. */
static int count_others(struct cluster_turns *turns, const struct informer *sets, const char *but, int64_t now_ms,
    char ret[static CLUSTER_TURN_KEY_SIZE])
{
    int count = 0;
    size_t cursor = 0;
    for (const struct kube_object *object; (object = store_next(informer_store(sets), &cursor));) {
        const struct stateful_set_object *set = (const struct stateful_set_object *)object;
        if (str_empty(set->turn) || str_eq(set->object.key, but))
            continue;
        count++;
        cluster_name_of_set(ret, CLUSTER_TURN_KEY_SIZE, set->object.key);
    }
    for (int i = 0; i < CLUSTER_TURNS_MAX; i++) {
        struct cluster_turn_note *note = &turns->notes[i];
        if (*note->key && note->until_ms <= now_ms)
            *note->key = '\0';
        if (!*note->key || str_eq(note->key, but) || is_marked(sets, note->key))
            continue;
        count++;
        cluster_name_of_set(ret, CLUSTER_TURN_KEY_SIZE, note->key);
    }
    return count;
}

bool cluster_turns_take(struct cluster_turns *turns, const struct informer *sets, const char *set, int64_t now_ms,
    char ret[static CLUSTER_TURN_KEY_SIZE])
{
    bool may_begin = is_marked(sets, set) || count_others(turns, sets, set, now_ms, ret) < turns->max;
    struct cluster_turn_note *note = find_note(turns, set);
    if (!note)
        note = find_note(turns, "");
    if (may_begin && note) {
        snprintf(note->key, sizeof(note->key), "%s", set);
        note->until_ms = now_ms + NOTE_MS;
    }
    return may_begin;
}

void cluster_turns_forget(struct cluster_turns *turns, const char *set)
{
    struct cluster_turn_note *note = find_note(turns, set);
    if (note)
        *note->key = '\0';
}
