/* SPDX-License-Identifier: Apache-2.0 */
/*
 * namespace_end.h: whether the cluster's namespace is being deleted.
 *
 * The operator has no right to read namespaces. Kubernetes 1.33 and later delete the pods of a namespace first and the
 * MysqlCluster when no pod is left; only a creation is refused meanwhile, with the cause NamespaceTerminating
 * (ERROR_ENDING). Where no member's pod stays, which is so then and seldom else, a ConfigMap is created by dry run:
 * nothing is stored, and the answer tells. It is remembered: nobody ends the deletion of a namespace.
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/
 */
#ifndef KM_NAMESPACE_END_H
#define KM_NAMESPACE_END_H

#include "operator/cluster/cluster_memory.h"
#include "operator/kube/kube_client.h"

/* Between two questions, while no pod stays and the answer was another one. */
#define NAMESPACE_END_RETRY_MS 2000

/* Pure: there is no pod of a member that is not on its way out. */
bool namespace_end_nobody_stays(const struct cluster_snapshot *snapshot);
/* Pure: it is worth a question. */
bool namespace_end_is_suspected(const struct cluster_snapshot *snapshot);
/* What a write was answered; NULL: it went well. */
void namespace_end_note(struct cluster_memory *memory, const struct error *err);

struct namespace_end_asker {
    struct kube_client *client;
    const struct kube_resource *config_maps;
    struct cluster_memories *memories;
    void (*changed)(void *arg, const char *cluster_key); /* it ends */
    void *arg;
};

/* Asks if it is due. Returns when to come again, 0: no matter. */
int64_t namespace_end_ask(
    const struct namespace_end_asker *asker, struct cluster_memory *memory, const struct cluster_snapshot *snapshot);

#endif
