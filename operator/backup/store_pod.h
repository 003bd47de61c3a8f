/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_pod.h: the pod in front of a volume that backups and archived binary logs of a cluster lie on
 * (backup_store_pod.h): how it is, how it should be, how it is reached; and the same for a bucket, which needs none.
 */
#ifndef KM_STORE_POD_H
#define KM_STORE_POD_H

#include "common/base.h"

#include "operator/api/projections.h"
#include "operator/backup/backup_secrets.h"
#include "operator/instance/agent_fleet.h"
#include "operator/kube/informer.h"
#include "operator/plan/plan.h"

/* What the controllers of this folder look at. */
struct backup_sources {
    struct informer *backups, *clusters, *pods;
    struct agent_fleet *fleet;
    const char *default_agent_image;
};

/* The pod as it is; NULL: there is none. */
const struct pod_object *store_pod_find(
    const struct backup_sources *sources, const char *ns, const char *cluster, const char *claim);
/* It serves, and we understand it. If not, message says what it waits for. pod may be NULL. */
bool store_pod_serves(const struct pod_object *pod, char *message, size_t size);
/* Its scheduler says that there is no such claim; it places the pod when that is made. pod may be NULL. */
bool store_pod_lacks_claim(const struct pod_object *pod, const char *claim);
/* Plans to make it, or to have one that is outdated made anew: at once when it serves nobody, else when nothing is
 * sent to it any more. Nothing while the cluster has no accepted spec. With `makes_claim` the claim is made before
 * it, if there is none and the destination says how large it should be. */
void store_pod_plan(const struct backup_sources *sources, const char *ns, const char *cluster,
    const struct backup_destination *destination, bool makes_claim, const char *why, struct plan *plan);
/* Whether the cluster archives its binary logs there, so that the pod stands all the time. */
bool store_pod_is_archived_to(
    const struct backup_sources *sources, const char *ns, const char *cluster, const char *claim);
/* Where objects are, be it on a volume or in a bucket. Release it. */
void store_pod_describe(const struct backup_sources *sources, const char *ns, const char *cluster,
    const struct backup_destination *destination, const struct task_keys *keys, struct backup_store *ret);

#endif
