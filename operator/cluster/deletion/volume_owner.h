/* SPDX-License-Identifier: Apache-2.0 */
/*
 * volume_owner.h: whose the claims of a cluster are: pure.
 *
 * deletion.volumes Delete makes the cluster their controller, so that Kubernetes' garbage collector removes them with
 * it, even while no operator runs; Retain takes that reference away again. Until all have it a finalizer holds the
 * cluster (volume_hold.h). With deletion.finalBackup they get it when the last backup is stored, not before.
 */
#ifndef KM_VOLUME_OWNER_H
#define KM_VOLUME_OWNER_H

#include "operator/cluster/state/cluster_snapshot.h"

/* The cluster is to be its controller. Not changed while the scheduler may be placing the claim's pod, which would make
 * it start over: only when the claim is bound, the scheduler has found no node, the API server refuses the pod, or the
 * cluster is let go. */
bool volume_owner_is_wanted(const struct cluster_snapshot *snapshot, const struct pvc_object *claim);
/* Somebody else's: it is left alone. */
bool volume_owner_is_foreign(const struct cluster_snapshot *snapshot, const struct pvc_object *claim);
/* No claim needs another owner. */
bool volume_owners_are_settled(const struct cluster_snapshot *snapshot);

#endif
