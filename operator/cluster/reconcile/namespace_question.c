/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/reconcile/namespace_question.h"

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "operator/cluster/state/namespace_end.h"

struct question {
    struct namespace_asker asker;
    char *key, *uid;
};

static void on_answer(void *arg, const struct kube_answer *answer, const struct error *err)
{
    UNUSED(answer);
    struct question *question = arg;
    const struct namespace_asker asker = question->asker;
    struct cluster_memory *memory = cluster_memories_find(asker.memories, question->key);
    bool is_same = memory && str_eq(memory->uid, question->uid);
    if (is_same)
        cluster_memory_note_write(memory, err);
    if (is_same && memory->namespace_ends)
        asker.changed(asker.arg, question->key);
    free(question->key);
    free(question->uid);
    free(question);
}

int64_t namespace_ask(
    const struct namespace_asker *asker, struct cluster_memory *memory, const struct cluster_snapshot *snapshot)
{
    int64_t now_ms = clock_monotonic_ms();
    if (!namespace_end_is_suspected(snapshot))
        return 0;
    int64_t rest_ms = memory->namespace_asked_ms + NAMESPACE_ASK_RETRY_MS - now_ms;
    if (memory->namespace_asked_ms && rest_ms > 0)
        return rest_ms;
    memory->namespace_asked_ms = now_ms;
    struct question *question = xnew(struct question);
    *question = (struct question){
        .asker = *asker, .key = kube_key(snapshot->ns, snapshot->name), .uid = xstrdup(snapshot->uid)};
    json_t *object = json_build("{s:s, s:s, s:{s:s, s:s}}", "apiVersion", "v1", "kind", "ConfigMap", "metadata",
        "generateName", "kube-mysql-", "namespace", snapshot->ns);
    kube_try_create(asker->client, asker->config_maps, snapshot->ns, object, on_answer, question);
    json_decref(object);
    return NAMESPACE_ASK_RETRY_MS;
}
