/* SPDX-License-Identifier: Apache-2.0 */
/*
 * namespace_question.h: asks the API server whether a namespace is being deleted (namespace_end.h): a ConfigMap is
 * created by dry run. Nothing is stored, and the error of the answer tells.
 */
#ifndef KM_NAMESPACE_QUESTION_H
#define KM_NAMESPACE_QUESTION_H

#include "operator/cluster/reconcile/cluster_memory.h"
#include "operator/kube/kube_client.h"

/* Between two questions, while no pod stays and the answer was another one. */
#define NAMESPACE_ASK_RETRY_MS 2000

struct namespace_asker {
    struct kube_client *client;
    const struct kube_resource *config_maps;
    struct cluster_memories *memories;
    void (*changed)(void *arg, const char *cluster_key); /* the namespace is being deleted */
    void *arg;
};

/* Asks if it is due. Returns in how many milliseconds to come again, 0: there is no need to. */
int64_t namespace_ask(
    const struct namespace_asker *asker, struct cluster_memory *memory, const struct cluster_snapshot *snapshot);

#endif
