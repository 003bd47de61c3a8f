/* SPDX-License-Identifier: Apache-2.0 */
/*
 * golden_snapshot.h: a cluster_snapshot from two JSON documents, gathered by the code that runs in the operator.
 *
 * NAME.cluster.json   the MysqlCluster (metadata, spec; status as last written, if any)
 * NAME.observed.json  the rest of the world, all of it optional:
 *   config        a MysqlConfig
 *   children      "settled": as wanted and remembered; else {CHILD: STATE} over settled ones, with CHILD as
 *                 "Service/shop-mysql" and STATE one of "absent", "drifted" (edited since our last write), "unknown"
 *                 (as wanted, but not remembered), "orphan", "foreign"; of a Service "selector": it has been given one
 *   foreignSlices {NAME: merge patch} onto EndpointSlices of the primary Service that are not ours
 *   routeRestMs   so long those are left, as others have just been deleted
 *   statefulSet   merge patch onto the live set (status, annotations, spec)
 *   appliedSpec   spec that the children were made from, if not the cluster's own: what is in force before a change
 *   pods, claims  merge patches onto ready members' pods and bound claims, by ordinal; null: there is none
 *   template      {verdict: unknown | taken | overQuota | refused, message}: of the wanted template; absent: taken
 *   checkPod      merge patch onto the check pod of the wanted runtime
 *   terminal      merge patch onto the MysqlTerminal that we would make
 *   agents        merge patches onto what the agents of ready members say, by ordinal; null: it does not speak. The
 *                 first member is primary under epoch 1 and the others follow, unless the status of the cluster has an
 *                 epoch of its own
 *   cutOff        [ordinals] of members whose agents have said that, and are not heard any more
 *   unheardMs     {ordinal: for how long no stream to it stood}; absent: for long, if none does
 *   mycnf         verdicts on the wanted my.cnf, by ordinal: {"verdict": "pending" | "applied" | "needsRestart" |
 *                 "failed", "text": "..."}
 *   awaited       [ordinals] of members whose agents nobody has tried to reach yet
 *   since         {"drainMs": N, "applyMs": N, "unlockMs": N, "fencedMs": N, "chosenMs": N}: for how long a wish waits
 *                 for transactions, for what its target applies, for a lock on all tables (by the status), the old
 *                 primary takes no writes, a failover's next primary has been chosen
 *   applyPosition what the primary had executed when a wish began to wait for its target
 *   outage        {"noticedMs": N, "lastWriteMs": N, "lastWriteSpanMs": N}: the primary was not open when we began to
 *                 lead; how long ago that was noticed, and the last write that was told of then
 *   before        {"spec": ..., "version": "...", "stored": false, "refused": SPEC}: by the status, members ran that
 *                 spec before a roll, and what it refused is "refused", or what is wanted
 *   secrets       {"userPassword": "secretMissing" | "keyMissing", "failed": true, "certificateDays": N}
 *   error         {"kind": "AlreadyExists", "message": "...", "of": "Service"}: how the plan ended
 * Times are relative to GOLDEN_NOW_MS.
 */
#ifndef KM_GOLDEN_SNAPSHOT_H
#define KM_GOLDEN_SNAPSHOT_H

#include "common/base.h"

#include <jansson.h>

#include "operator/cluster/reconcile/cluster_gather.h"
#include "operator/cluster/rollout/cluster_decide.h"
#include "operator/cluster/status/cluster_report.h"

#define GOLDEN_NOW_MS 1770000000000LL
#define GOLDEN_UID "0c000000-0000-4000-8000-000000000001"

struct golden {
    struct loop *loop;
    struct http_client *http;
    struct kube_client *client;
    struct informer *informers[PLAN_KIND_COUNT + 3];
    struct kube_resource resources[PLAN_KIND_COUNT + 3];
    struct cluster_sources sources;
    struct cluster_memory memory;
    struct cluster_snapshot snapshot;
    struct position_pool *positions; /* of the agents */
    struct agent_status agents[CLUSTER_REPLICAS_MAX + 1];
    struct error error;
    enum plan_kind error_kind;
    enum cluster_child error_child;
};

/* A cluster of one member, of n members: for tests that need a snapshot without files. */
struct golden *golden_new(const json_t *cluster, const json_t *observed);
void golden_free(struct golden *golden);

/* Roles, whether the primary obeys, and the plan. */
void golden_decide(const struct cluster_snapshot *snapshot, struct cluster_decision *ret);
/* The orders of a snapshot, by what is decided from it. */
void golden_order(const struct cluster_snapshot *snapshot, struct cluster_orders *ret);
bool golden_primary_obeys(const struct cluster_snapshot *snapshot);

/* Reads a JSON file; fails the test if it cannot. */
json_t *golden_read(const char *path);
/* Compares with the file (indented, sorted); with UPDATE_GOLDENS=1 writes it instead. False (and a message) if it
 * differs. */
bool golden_matches(const char *path, const json_t *value);

#endif
