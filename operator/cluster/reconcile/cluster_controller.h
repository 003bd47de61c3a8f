/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_controller.h: the controller of MysqlCluster: wires caches, decisions and writes.
 *
 * One reconcile: snapshot → decide → execute the plan → Secrets if they are due → report → write the status if it
 * changed. A cluster whose Secrets were never made gets them before anything else.
 * A restart at any point starts over from what the API server holds.
 */
#ifndef KM_CLUSTER_CONTROLLER_H
#define KM_CLUSTER_CONTROLLER_H

#include "common/strvec.h"
#include "operator/instance/agent_fleet.h"
#include "operator/runtime/manager.h"

struct cluster_controller_options {
    const char *agent_image;               /* for clusters whose configuration names none; may be NULL */
    const char *version;                   /* of the operator, for the label LABEL_VERSION and the status; NULL: none */
    const struct strvec *watch_namespaces; /* empty or NULL: all */
    int turns;                             /* clusters on their turn at a time (cluster_turn.h); 0: any number */
    const char *cluster_domain;            /* of the cluster's DNS; NULL: certificates do without names in it */
    bool ipv6;                             /* the cluster network's first family */
    int64_t secrets_fresh_ms;              /* 0: CLUSTER_SECRETS_FRESH_MS */
    /* Shared with other controllers. */
    struct informer *clusters, *configs, *terminals, *pods, *backups;
    struct agent_fleet *fleet; /* this controller says whom it listens to */
};

/* Before manager_run: names the kinds that it needs, so that discovery looks for them. */
void cluster_controller_use_kinds(struct manager *manager);
/* In the manager's setup: makes its own informers and the controller; freed with the manager. Options are copied, what
 * they point to is borrowed. */
void cluster_controller_setup(struct manager *manager, const struct cluster_controller_options *options);

#endif
