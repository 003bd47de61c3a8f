/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive_controller.h: the controller of archived binary logs (MysqlCluster.spec.backup.binlogs): tells the primary's
 * agent what to archive and where (archive_task.h), says how that stands, and removes segments that no backup needs any
 * more.
 *
 * Reconciles clusters. One turn: Secrets if they are due → the pod in front of a volume, which stands as long as binary
 * logs are archived to it → the task, for the current primary alone; when nothing is to be archived any more, the end
 * of it for every agent that still has one → status.backup.{recoverableFrom, recoverableUntil, archive} as a merge
 * patch, beside what others write → now and then a sweep of the store. The condition BinlogsArchived is the cluster
 * controller's, by that status.
 *
 * Events on the cluster: BinlogsLost (a gap). What the condition says has its own.
 */
#ifndef KM_ARCHIVE_CONTROLLER_H
#define KM_ARCHIVE_CONTROLLER_H

#include "common/strvec.h"
#include "operator/instance/agent_fleet.h"
#include "operator/runtime/manager.h"

struct archive_controller_options {
    const char *agent_image;               /* for clusters whose configuration names none; may be NULL */
    const struct strvec *watch_namespaces; /* empty or NULL: all */
    int64_t secrets_fresh_ms;              /* 0: BACKUP_SECRETS_FRESH_MS */
    int64_t recheck_ms;                    /* 0: ARCHIVE_RECHECK_MS */
    int64_t sweep_ms;                      /* 0: ARCHIVE_SWEEP_EVERY_MS */
    /* Shared with other controllers. */
    struct informer *backups, *clusters, *pods;
    struct agent_fleet *fleet;
};

/* Nobody wakes us when a round that found nothing new has moved the time until which all is archived. */
#define ARCHIVE_RECHECK_MS 15000
#define ARCHIVE_SWEEP_EVERY_MS (60 * 60 * 1000)
#define ARCHIVE_SWEEPS_MAX 4 /* at once */

void archive_controller_use_kinds(struct manager *manager);
/* Options are copied, what they point to is borrowed. */
void archive_controller_setup(struct manager *manager, const struct archive_controller_options *options);

#endif
