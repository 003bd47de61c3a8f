/* SPDX-License-Identifier: Apache-2.0 */
/*
 * namespace_end.h: whether the cluster's namespace is being deleted, as far as answers of the API server say: pure.
 *
 * The operator has no right to read namespaces. Kubernetes 1.33 and later delete the pods of a namespace first and the
 * MysqlCluster when no pod is left; only a creation is refused meanwhile, with the cause NamespaceTerminating
 * (ERROR_ENDING). Where no member's pod stays, which is so then and seldom else, one is tried (namespace_question.h).
 * The answer is remembered: nobody ends the deletion of a namespace.
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/
 */
#ifndef KM_NAMESPACE_END_H
#define KM_NAMESPACE_END_H

#include "operator/cluster/state/cluster_snapshot.h"

/* There is no pod of a member that is not being deleted. */
bool namespace_end_nobody_stays(const struct cluster_snapshot *snapshot);
/* It is worth a question. */
bool namespace_end_is_suspected(const struct cluster_snapshot *snapshot);

#endif
