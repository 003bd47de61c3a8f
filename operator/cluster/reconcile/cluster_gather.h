/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_gather.h: fills a snapshot from the caches. No I/O, no waiting.
 */
#ifndef KM_CLUSTER_GATHER_H
#define KM_CLUSTER_GATHER_H

#include "operator/cluster/desired/desired.h"
#include "operator/cluster/reconcile/cluster_memory.h"
#include "operator/cluster/reconcile/cluster_turns.h"
#include "operator/cluster/state/cluster_snapshot.h"
#include "operator/instance/agent_fleet.h"
#include "operator/kube/informer.h"

/* Where to look. All informers are synced. */
struct cluster_sources {
    struct informer *clusters, *configs, *terminals, *pods, *claims, *backups;
    struct informer *children[CHILD_COUNT]; /* by child; several share one */
    struct informer *foreign_slices; /* EndpointSlices that are not ours, those of primary Services at least; or NULL */
    struct agent_fleet *fleet;
    const char *default_agent_image;
    const char *operator_version;
    struct cluster_turns *turns; /* NULL: clusters do not wait for each other */
    bool ipv6;                   /* see cluster_snapshot */
};

/* False if the cluster is not there; then *ret is zeroed. Release with cluster_snapshot_release. */
bool cluster_gather(const struct cluster_sources *sources, const struct cluster_memory *memory, const char *key,
    int64_t now_ms, struct cluster_snapshot *ret);
/* Before waiting: lets go of every pointer into caches and agents. What is parsed stays. */
void cluster_snapshot_drop_world(struct cluster_snapshot *snapshot);
/* Looks again after something was waited for. What was parsed stays while the caches hold the same versions. False if
 * the cluster is gone, or another one has its name; the snapshot then only serves to be released. */
bool cluster_gather_again(const struct cluster_sources *sources, const struct cluster_memory *memory, const char *key,
    int64_t now_ms, struct cluster_snapshot *snapshot);

#endif
