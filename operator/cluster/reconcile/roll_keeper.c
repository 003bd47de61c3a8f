/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/reconcile/roll_keeper.h"

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "operator/cluster/desired/desired.h"
#include "operator/cluster/rollout/roll_target.h"

/* One look, of a cluster that may be gone when it ends. */
struct look {
    struct list_node node; /* of cluster_memories.looks */
    struct roll_keeper keeper;
    char *key, *ns, *uid;
    char before[DERIVED_NAME_SIZE], set[DERIVED_NAME_SIZE], config_map[DERIVED_NAME_SIZE];
    char proven[17];
    bool may_store;
    json_t *draft; /* owned: the ConfigMap without what the two answers bring */
    json_t *live_set;
};

static struct cluster_memory *memory_of(const struct look *look)
{
    struct cluster_memory *memory = cluster_memories_find(look->keeper.memories, look->key);
    return memory && str_eq(memory->uid, look->uid) ? memory : NULL;
}

static void look_free(struct look *look)
{
    list_remove(&look->node);
    json_decref(look->draft);
    json_decref(look->live_set);
    free(look->key);
    free(look->ns);
    free(look->uid);
    free(look);
}

/* before: taken over; NULL, or of something else: what was looked for is not there. */
static void look_end(struct look *look, struct roll_before *before, const char *problem)
{
    struct cluster_memory *memory = memory_of(look);
    if (before && !str_eq(before->hash, look->proven)) {
        roll_before_free(before);
        before = NULL;
    }
    if (memory) {
        memory->before_asked = false;
        free(memory->before_error);
        memory->before_error = problem ? xstrdup(problem) : NULL;
        if (!problem) {
            roll_before_free(memory->before);
            memory->before = steal_ptr(before);
            memcpy(memory->before_of, look->proven, sizeof(memory->before_of));
        }
        look->keeper.changed(look->keeper.arg, look->key);
    }
    roll_before_free(before);
    look_free(look);
}

static void on_stored(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct look *look = arg;
    struct cluster_memory *memory = memory_of(look);
    if (memory)
        cluster_memory_note_write(memory, err);
    look_end(look, err ? NULL : roll_before_read(answer->object), err ? err->message : NULL);
}

static void on_config_map_read(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct look *look = arg;
    if (err) {
        look_end(look, NULL, err->message);
        return;
    }
    json_t *object = desired_before_fill(look->draft, look->live_set, answer->object);
    if (!object) {
        look_end(look, NULL, "the StatefulSet or its my.cnf cannot be read");
        return;
    }
    kube_apply(look->keeper.client, look->keeper.config_maps, object, on_stored, look);
    json_decref(object);
}

/* What the cache showed may be older than what is there. */
static bool is_as_proven(const struct look *look, const json_t *set)
{
    char hash[17];
    const json_t *annotations = json_path(set, "metadata.annotations");
    roll_hash(json_string_value(json_object_get(annotations, ANNOTATION_APPLIED_HASH)),
        json_string_value(json_object_get(annotations, ANNOTATION_APPLIED_TEMPLATE)), hash);
    return str_eq(hash, look->proven);
}

static void on_set_read(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct look *look = arg;
    if (err || !is_as_proven(look, answer->object)) {
        look_end(look, NULL, err ? err->message : "the StatefulSet has changed meanwhile");
        return;
    }
    look->live_set = json_deep_copy(answer->object);
    kube_get(look->keeper.client, look->keeper.config_maps, look->ns, look->config_map, on_config_map_read, look);
}

static bool is_ours(const struct look *look, const json_t *object)
{
    const json_t *owner = json_array_get(json_path(object, "metadata.ownerReferences"), 0);
    return str_eq(json_path_str(owner, "uid", ""), look->uid);
}

static void on_before_read(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct look *look = arg;
    bool is_there = !err;
    if (err && err->kind != ERROR_NOT_FOUND) {
        look_end(look, NULL, err->message);
        return;
    }
    if (is_there && !is_ours(look, answer->object)) {
        _cleanup_(freep) char *text = xasprintf("ConfigMap %s exists and is not ours", look->before);
        look_end(look, NULL, text);
        return;
    }
    struct roll_before *before = is_there ? roll_before_read(answer->object) : NULL;
    if ((before && str_eq(before->hash, look->proven)) || !look->may_store) {
        look_end(look, before, NULL);
        return;
    }
    roll_before_free(before);
    kube_get(look->keeper.client, look->keeper.sets, look->ns, look->set, on_set_read, look);
}

static void look_begin(
    const struct roll_keeper *keeper, const struct cluster_snapshot *snapshot, const char *proven, bool may_store)
{
    struct look *look = xnew(struct look);
    *look = (struct look){.keeper = *keeper,
        .key = kube_key(snapshot->ns, snapshot->name),
        .ns = xstrdup(snapshot->ns),
        .uid = xstrdup(snapshot->uid),
        .may_store = may_store,
        .draft = desired_before(snapshot)};
    roll_before_name(snapshot, look->before);
    memcpy(look->set, snapshot->names.stateful_set, sizeof(look->set));
    memcpy(look->config_map, snapshot->names.config_map, sizeof(look->config_map));
    snprintf(look->proven, sizeof(look->proven), "%s", proven);
    list_push_back(&keeper->memories->looks, &look->node);
    kube_get(keeper->client, keeper->config_maps, look->ns, look->before, on_before_read, look);
}

int64_t roll_keeper_tend(const struct roll_keeper *keeper, struct cluster_memory *memory,
    const struct cluster_snapshot *snapshot, bool must_keep)
{
    char live[17];
    int64_t now_ms = clock_monotonic_ms();
    if (!must_keep && !roll_needs_before(snapshot))
        return 0;
    int64_t pause_ms = memory->before_asked ? ROLL_KEEPER_LOST_MS : memory->before_error ? ROLL_KEEPER_RETRY_MS : 0;
    int64_t rest_ms = memory->before_asked_ms + pause_ms - now_ms;
    if (memory->before_asked_ms && pause_ms && rest_ms > 0)
        return rest_ms;
    memory->before_asked = true;
    memory->before_asked_ms = now_ms;
    roll_live_hash(snapshot, live);
    look_begin(keeper, snapshot, snapshot->last.roll.proven, str_eq(live, snapshot->last.roll.proven));
    return ROLL_KEEPER_LOST_MS;
}

void roll_keeper_forget(struct cluster_memories *memories)
{
    struct list_node *node;
    while ((node = list_next(&memories->looks)) != &memories->looks)
        look_free(container_of(node, struct look, node));
}
