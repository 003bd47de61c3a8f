/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/reconcile/agent_turns.h"

#include "operator/api/names.h"
#include "operator/api/projections.h"

#define NOTE_MS 30000 /* renewed by each look at a cluster that waits for its check pod */

static struct agent_turn_note *find_note(struct agent_turns *turns, const char *set)
{
    for (int i = 0; i < AGENT_TURNS_MAX; i++) {
        if (str_eq(turns->notes[i].key, set))
            return &turns->notes[i];
    }
    return NULL;
}

static bool is_marked(const struct informer *sets, const char *key)
{
    const struct stateful_set_object *set = (const struct stateful_set_object *)store_get(informer_store(sets), key);
    return set && !str_empty(set->agent_turn);
}

/* Others on their turn; *ret names one. */
static int count_others(struct agent_turns *turns, const struct informer *sets, const char *but, int64_t now_ms,
    char ret[static AGENT_TURN_KEY_SIZE])
{
    int count = 0;
    size_t cursor = 0;
    for (const struct kube_object *object; (object = store_next(informer_store(sets), &cursor));) {
        const struct stateful_set_object *set = (const struct stateful_set_object *)object;
        if (str_empty(set->agent_turn) || str_eq(set->object.key, but))
            continue;
        count++;
        cluster_name_of_set(ret, AGENT_TURN_KEY_SIZE, set->object.key);
    }
    for (int i = 0; i < AGENT_TURNS_MAX; i++) {
        struct agent_turn_note *note = &turns->notes[i];
        if (*note->key && note->until_ms <= now_ms)
            *note->key = '\0';
        if (!*note->key || str_eq(note->key, but) || is_marked(sets, note->key))
            continue;
        count++;
        cluster_name_of_set(ret, AGENT_TURN_KEY_SIZE, note->key);
    }
    return count;
}

bool agent_turns_take(struct agent_turns *turns, const struct informer *sets, const char *set, int64_t now_ms,
    char ret[static AGENT_TURN_KEY_SIZE])
{
    bool may_begin = is_marked(sets, set) || count_others(turns, sets, set, now_ms, ret) < turns->max;
    struct agent_turn_note *note = find_note(turns, set);
    if (!note)
        note = find_note(turns, "");
    if (may_begin && note) {
        snprintf(note->key, sizeof(note->key), "%s", set);
        note->until_ms = now_ms + NOTE_MS;
    }
    return may_begin;
}

void agent_turns_forget(struct agent_turns *turns, const char *set)
{
    struct agent_turn_note *note = find_note(turns, set);
    if (note)
        *note->key = '\0';
}
