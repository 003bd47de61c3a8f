/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restore_store.h: the pod that serves a volume of backups while a cluster is restored from it (backup_store_pod.h):
 * whether it should be there, and how it is reached. Pure.
 */
#ifndef KM_RESTORE_STORE_H
#define KM_RESTORE_STORE_H

#include "common/backup_task.h"
#include "operator/cluster/state/cluster_snapshot.h"

/* Its name, of the restore that goes on or was the last; false: no volume is, or was, needed. */
bool restore_store_name(const struct cluster_snapshot *snapshot, char out[static DERIVED_NAME_SIZE]);
/* A restore that goes on reads from a volume; in place: as soon as it is known from which one, while the cluster
 * serves. */
bool restore_store_is_wanted(const struct cluster_snapshot *snapshot);
/* Made while it is wanted, removed afterwards. */
void restore_store_decide(const struct cluster_snapshot *snapshot, struct plan *plan);
/* It is there, and is understood. */
bool restore_store_serves(const struct cluster_snapshot *snapshot);
/* What a restore waits for while it does not. */
void restore_store_say_waits(const struct cluster_snapshot *snapshot, char *message, size_t size);
/* Fills in how it is reached (endpoint, bucket, connect_to, server_name; what was there is freed). False: it does not
 * serve yet. */
bool restore_store_door(const struct cluster_snapshot *snapshot, struct backup_store *store);

#endif
