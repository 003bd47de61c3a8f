/* SPDX-License-Identifier: Apache-2.0 */
/*
 * volume_hold.h: no claim is left behind by a cluster with deletion.volumes Delete: pure.
 *
 * The StatefulSet's controller makes claims without an owner, and the cluster becomes that when they are bound
 * (volume_owner.h). A cluster that is deleted before would leave them. So a finalizer is on it meanwhile:
 *
 *   1. FINALIZER_VOLUMES is put on the cluster before its StatefulSet is made or grows. One with deletion.finalBackup
 *      has FINALIZER_FINAL_BACKUP for all its life, which does as well
 *   2. it is taken away when each claim has its owner: such a cluster can be deleted while no operator runs
 *   3. a cluster that is deleted with either of them, and whose last backup need not be waited for, is let go
 *      (cluster_is_let_go): its StatefulSet is given replicas: 0. Once its controller has taken that up, it makes no
 *      claim any more
 *   4. each claim gets its owner, also one that is not bound: nobody has to be placed any more
 *   5. the API server is asked for claims that the cache does not show yet (cluster_reconcile_volumes.c)
 *   6. the finalizers are taken away, and the garbage collector removes the claims with the cluster
 *
 * With Retain, and with --cascade=orphan, none of 3, 4 and 5 is done.
 */
#ifndef KM_VOLUME_HOLD_H
#define KM_VOLUME_HOLD_H

#include "operator/cluster/state/cluster_snapshot.h"

/* Its StatefulSet is not to be made, or not to grow to so many pods, before the finalizer is there. */
bool volume_hold_is_awaited(const struct cluster_snapshot *snapshot, int pods);
/* Which finalizer that is. */
const char *volume_hold_finalizer(const struct cluster_snapshot *snapshot);

enum volume_hold_act {
    VOLUME_HOLD_STANDS,
    VOLUME_HOLD_PUT,  /* FINALIZER_VOLUMES is to be put on the cluster */
    VOLUME_HOLD_TAKE, /* taken from it; while it is being deleted: if no claim is left without an owner */
};
enum volume_hold_act volume_hold_next_act(const struct cluster_snapshot *snapshot);

/* The cluster is let go, and its claims go with it. */
bool volume_hold_removes(const struct cluster_snapshot *snapshot);
/* Then: the StatefulSet is to be given replicas: 0. */
bool volume_hold_stops_set(const struct cluster_snapshot *snapshot);
/* The StatefulSet's controller may still make a claim: it is to be waited for. */
bool volume_hold_awaits_set(const struct cluster_snapshot *snapshot);
/* Of a cluster that is let go: as far as the cache shows, nothing is to be done for its claims. */
bool volume_hold_is_settled(const struct cluster_snapshot *snapshot);

#endif
