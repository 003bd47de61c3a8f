/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schedule_controller.h: the controller of schedules: MysqlBackups as MysqlCluster.spec.backup.schedule asks for, and
 * their retention.
 *
 * Reconciles clusters. Its own part of the world: it creates MysqlBackups with the label LABEL_SCHEDULED, deletes such
 * (never others), and writes status.lastBackupTime and its members of status.backup as a merge patch, beside the
 * cluster controller's server-side apply, which does not own them. Running a backup, and removing the data of one that
 * is deleted, is the backup controller's.
 *
 * Backups belong to their cluster by its UID: those of an earlier cluster of the same name are neither counted nor
 * removed. While some cluster is still being restored from backups of this one, or is to be, in place, too, those that
 * it may need are held.
 *
 * Events on the cluster: BackupScheduled, BackupSkipped, BackupScheduleProblem.
 */
#ifndef KM_SCHEDULE_CONTROLLER_H
#define KM_SCHEDULE_CONTROLLER_H

#include "common/strvec.h"
#include "operator/runtime/manager.h"

struct schedule_controller_options {
    const struct strvec *watch_namespaces; /* empty or NULL: all */
    /* Shared with other controllers. */
    struct informer *clusters, *backups;
    const char *zone_folder; /* NULL: ZONE_FILES_FOLDER */
    /* Wall clock; NULL: the system's. It may jump: it is looked at again after at most recheck_ms (0: five minutes). */
    int64_t (*now_ms)(void *arg);
    void *now_arg;
    int64_t recheck_ms;
};

void schedule_controller_use_kinds(struct manager *manager);
/* Options are copied, what they point to is borrowed. */
void schedule_controller_setup(struct manager *manager, const struct schedule_controller_options *options);

#endif
