/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backup_ready.h: the conditions Ready, Reconciling and Stalled of a MysqlBackup. Pure.
 *
 * Ready: the backup exists. Until it does or has failed it is being made, or waits for what it needs. Stalled: it has
 * failed, its deletion waits for somebody, or the API server refuses the pod that it needs until somebody changes
 * something. Backups that had ended before there were these conditions stay as they are.
 */
#ifndef KM_BACKUP_READY_H
#define KM_BACKUP_READY_H

#include "operator/backup/backup_decide.h"

/* Sets them in step->next, of what else stands there. */
void backup_ready_set(const struct backup_snapshot *snapshot, struct backup_step *step);

#endif
