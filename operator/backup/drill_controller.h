/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drill_controller.h: the controller of restore drills (MysqlCluster.spec.backup.drill): what drill_decide.h says,
 * carried out.
 *
 * Reconciles clusters. Its own part of the world: it creates and deletes scratch clusters (label LABEL_DRILL, owned by
 * the cluster that is tried), deletes their claims, gives their agents the task of the check, and writes
 * status.backup.{lastVerifiedRestore, drill} and MysqlBackup.status.verified as merge patches. All else of a scratch
 * cluster is the cluster controller's, as of any cluster; the condition RestoreVerified is, too, by that status.
 *
 * Events on the cluster: RestoreDrillStarted, RestoreVerified, RestoreDrillFailed, RestoreDrillBlocked (the scratch
 * cluster could not be made), RestoreDrillProblem.
 */
#ifndef KM_DRILL_CONTROLLER_H
#define KM_DRILL_CONTROLLER_H

#include "common/check_task.h"
#include "common/strvec.h"
#include "operator/instance/agent_fleet.h"
#include "operator/runtime/manager.h"

/* What of one member's agent matters here. */
struct drill_member {
    bool open;                     /* its server takes writes as it was ordered */
    bool gave_up;                  /* its restore is not tried further before something changes */
    char reason[48], message[256]; /* then: why */
    struct check_report check;
};

/* The way to agents; of tests. */
struct drill_agents {
    bool (*look)(void *arg, const char *cluster_key, const char *pod, struct drill_member *ret); /* false: not heard */
    void (*check)(void *arg, const char *cluster_key, const char *pod, const struct check_task *task);
    void *arg;
};

struct drill_controller_options {
    const struct strvec *watch_namespaces; /* empty or NULL: all */
    /* Shared with other controllers. */
    struct informer *clusters, *backups;
    struct agent_fleet *fleet;         /* may be NULL if there are agents */
    const struct drill_agents *agents; /* copied; NULL: those of the fleet */
    const char *zone_folder;           /* NULL: ZONE_FILES_FOLDER */
    /* Wall clock; NULL: the system's. It may jump: it is looked at again after at most recheck_ms (0: a minute). */
    int64_t (*now_ms)(void *arg);
    void *now_arg;
    int64_t recheck_ms;
};

void drill_controller_use_kinds(struct manager *manager);
/* Options are copied, what they point to is borrowed. */
void drill_controller_setup(struct manager *manager, const struct drill_controller_options *options);

#endif
