/* SPDX-License-Identifier: Apache-2.0 */
/*
 * final_backup.h: the last backup of a cluster that is being deleted (deletion.finalBackup). Pure.
 *
 *   0. as long as the cluster lives: a finalizer on it (final_backup_next_act), and no owner on its claims
 *      (cluster_volumes.h)
 *   1. it is deleted; long transactions are waited for as before a switchover. Status: Closing, epoch + 1: the route is
 *      emptied, then the primary is ordered to be nothing
 *   2. the primary says that it takes no writes under that epoch. Status: Running, with the name of a MysqlBackup. What
 *      it has now is all there will ever be
 *   3. that MysqlBackup is made, without an owner, to be taken from that member alone (backup_donor.c)
 *   4. it is Completed, by that member, since it was closed. Status: Completed
 *   5. claims get their owner by deletion.volumes (volume_hold.h), and the finalizer is taken away
 * Meanwhile everything else goes on, failovers too: who takes over from the closed primary is open for a moment, under
 * another epoch; so 1 comes again, and what was taken before does not count. One that fails is followed by another,
 * until finalBackupDeadlineSeconds have passed. Then the cluster stays closed until somebody decides: data that was
 * asked to be saved is not dropped because time has passed.
 * Nothing is saved of a cluster that was never open for writes and whose members have no data. One that is stopped
 * (replicas: 0) is woken as far as its primary.
 */
#ifndef KM_FINAL_BACKUP_H
#define KM_FINAL_BACKUP_H

#include "operator/cluster/state/cluster_roles.h"
#include "operator/cluster/state/final_backup_state.h"

/* After one that failed: 10 s, 20 s, ... */
#define FINAL_BACKUP_RETRY_BASE_MS 10000
#define FINAL_BACKUP_RETRY_MAX_MS 300000
/* When it could not even be made. */
#define FINAL_BACKUP_MAKE_RETRY_MS 10000

/* Whether the next step is to close the primary, which long transactions may hold up. */
bool final_backup_will_close(const struct cluster_snapshot *snapshot);
/* What status.finalBackup must become, while no other change of the primary is under way. */
void final_backup_intend(const struct cluster_snapshot *snapshot, struct cluster_intent *intent);
/* For the closed primary. False: what it was told before stands; look again in *again_ms. */
bool final_backup_order(const struct cluster_snapshot *snapshot, struct agent_order *order, int64_t *again_ms);

/* What is to be written beside plan and status, one at a time. */
enum final_backup_act {
    FINAL_BACKUP_ACT_NONE,
    FINAL_BACKUP_ACT_HOLD,    /* the finalizer is to be put on the cluster */
    FINAL_BACKUP_ACT_RELEASE, /* taken from it */
    FINAL_BACKUP_ACT_KEEP,    /* FINALIZER_FOREGROUND is to be taken from it: its members are needed */
    FINAL_BACKUP_ACT_MAKE,    /* the MysqlBackup that the status names */
};
enum final_backup_act final_backup_next_act(const struct cluster_snapshot *snapshot);
/* The MysqlBackup; new object, NULL if spec.backup is not good. */
json_t *final_backup_object(const struct cluster_snapshot *snapshot);

/* status.finalBackup, condition FinalBackup, nextAction. */
void final_backup_report(const struct cluster_snapshot *snapshot, struct cluster_status *status);

#endif
