/* SPDX-License-Identifier: Apache-2.0 */
/*
 * final_backup_tend.h: carries out what final_backup_next_act asks for: the cluster's finalizers, the MysqlBackup.
 *
 * Finalizers are a list that others write, too: it is read, and written under the version that was read.
 */
#ifndef KM_FINAL_BACKUP_TEND_H
#define KM_FINAL_BACKUP_TEND_H

#include "operator/cluster/deletion/final_backup.h"
#include "operator/cluster/reconcile/cluster_memory.h"
#include "operator/kube/informer.h"

/* All borrowed; what they point to lives as long as the controller. */
struct final_backup_tender {
    struct kube_client *client;
    const struct kube_resource *clusters, *backups;
    struct informer *cluster_cache, *backup_cache;
    struct cluster_memories *memories;
};

/* `again_ms`: look again then, 0: when something happens. A MysqlBackup that could not be made is no error here: it is
 * remembered, and told by the status. */
typedef void (*final_backup_done_fn)(void *arg, int64_t again_ms, const struct error *err);

/* `act` as it was when the snapshot knew the world, which it need not any more. Copies what it needs. `done` runs once:
 * at once if nothing is to be written now, else from the loop. */
void final_backup_tend(const struct final_backup_tender *tender, const struct cluster_snapshot *snapshot,
    enum final_backup_act act, final_backup_done_fn done, void *arg);

#endif
