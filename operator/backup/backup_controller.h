/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backup_controller.h: the controller of MysqlBackup: wires caches, decisions, agents, the store and writes.
 *
 * One visit: Secrets if they are due → gather → decide → the status, if it is another one, and again from gather → what
 * the step says: a task for the donor, a job in the store, our finalizer, the pod in front of a volume. A restart at
 * any point starts over from the status.
 */
#ifndef KM_BACKUP_CONTROLLER_H
#define KM_BACKUP_CONTROLLER_H

#include "common/strvec.h"
#include "operator/instance/agent_fleet.h"
#include "operator/runtime/manager.h"

struct backup_controller_options {
    const char *agent_image;               /* for clusters whose configuration names none; may be NULL */
    const struct strvec *watch_namespaces; /* empty or NULL: all */
    int64_t secrets_fresh_ms;              /* 0: BACKUP_SECRETS_FRESH_MS */
    int64_t blocked_recheck_ms;            /* 0: STORE_REFUSED_RECHECK_MS */
    /* Shared with other controllers. */
    struct informer *backups, *clusters, *pods;
    struct agent_fleet *fleet;
};

/* A rotated key is used after this time at the latest. */
#define BACKUP_SECRETS_FRESH_MS 15000

void backup_controller_use_kinds(struct manager *manager);
void backup_controller_setup(struct manager *manager, const struct backup_controller_options *options);

#endif
