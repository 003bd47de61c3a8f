/* SPDX-License-Identifier: Apache-2.0 */
/*
 * final_backup_state.h: whether a cluster that is being deleted still has to wait for its last backup (final_backup.h
 * has the steps). Pure.
 */
#ifndef KM_FINAL_BACKUP_STATE_H
#define KM_FINAL_BACKUP_STATE_H

#include "operator/cluster/state/cluster_snapshot.h"

/* The cluster is being deleted, and has to wait. */
bool final_backup_is_due(const struct cluster_snapshot *snapshot);
/* Why a cluster that is being deleted need not wait (any more). */
enum final_backup_end {
    FINAL_BACKUP_END_NONE, /* it must wait */
    FINAL_BACKUP_END_COMPLETED,
    FINAL_BACKUP_END_SKIPPED,      /* by annotation */
    FINAL_BACKUP_END_NOT_WANTED,   /* by spec.deletion.finalBackup */
    FINAL_BACKUP_END_MEMBERS_STAY, /* deleted with --cascade=orphan */
    FINAL_BACKUP_END_NO_DATA,
    FINAL_BACKUP_END_COUNT,
};
enum final_backup_end final_backup_end(const struct cluster_snapshot *snapshot);
/* It is being deleted, has our finalizer, and need not wait (any more). */
bool final_backup_is_over(const struct cluster_snapshot *snapshot);
/* It is being deleted, a finalizer of ours holds it (volume_hold.h has the other one), and no last backup needs to be
 * waited for (any more). */
bool cluster_is_let_go(const struct cluster_snapshot *snapshot);
/* The primary must not take writes. */
bool final_backup_is_closed(const struct cluster_snapshot *snapshot);
/* Claims have no owner yet, whatever deletion.volumes says: a deletion of dependents first would take them along. */
bool final_backup_holds_volumes(const struct cluster_snapshot *snapshot);
/* How many members a stopped cluster is woken to; 0: it is not, or need not be. */
int final_backup_wakes(const struct cluster_snapshot *snapshot);

#endif
