/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/reconcile/namespace_question.h"

#include "common/clock.h"
#include "common/json.h"
#include "operator/cluster/state/namespace_end.h"

/* That every answer of a write tells (cluster_memory_note_write). */
static bool take_answer(
    const struct api_asker *asker, struct cluster_memory *memory, const void *about, const struct error *err)
{
    UNUSED(asker);
    UNUSED(about);
    UNUSED(err);
    return memory->namespace_ends;
}

int64_t namespace_ask(
    const struct api_asker *asker, struct cluster_memory *memory, const struct cluster_snapshot *snapshot)
{
    int64_t now_ms = clock_monotonic_ms();
    if (!namespace_end_is_suspected(snapshot))
        return 0;
    int64_t rest_ms = memory->namespace_asked_ms + NAMESPACE_ASK_RETRY_MS - now_ms;
    if (memory->namespace_asked_ms && rest_ms > 0)
        return rest_ms;
    memory->namespace_asked_ms = now_ms;
    _cleanup_(json_decrefp) json_t *object = kube_namespace_probe(snapshot->ns);
    const struct api_question question = {.resource = asker->config_maps, .object = object, .answer = take_answer};
    api_ask(asker, snapshot->ns, snapshot->name, snapshot->uid, &question);
    return NAMESPACE_ASK_RETRY_MS;
}
