/* SPDX-License-Identifier: Apache-2.0 */
/*
 * first_start.h: what keeps a cluster that has never served from its first start, or one that slept from its next,
 * where that does not end before somebody changes something: one judgement for Accepted, and by that for Ready and
 * Stalled, for STATE and for the next action. Pure.
 *
 * A running cluster has a check pod that tries image and my.cnf before a member gets them (cluster_gate.h). A new one
 * has none: its members' own pods say the same, and it is told with the same reasons:
 *   ImagePullFailed    the registry has no such image, or does not give it out
 *   ImageRejected      the image holds no server
 *   MycnfRejected      `init` says that the server refuses my.cnf; or the server has ended ROLL_ENDS_MAX times, and
 *                      names an option of it, or takes more memory than it may have
 *   ServerNotStarted   `init` or the server has ended so often with other words
 * Whoever waits for the cluster gives up then (ready_conditions.h). So what may pass is none of it: a registry that
 * does not answer, a Secret that is not there yet, a node without room, and what a pod says that is not of the template
 * in force any more. That is told by Available and Healthy, as ever.
 *
 * Nor is there a check pod where no member is ready: a my.cnf that is changed then (while the cluster is hibernated)
 * goes in at once. Where no member is past `init` after that, and one says that the server refuses my.cnf, it is
 * MycnfRejected as well. The other reasons are of new clusters alone: image and memory have served a cluster that was
 * up, and nodes and registries come back.
 */
#ifndef KM_FIRST_START_H
#define KM_FIRST_START_H

#include "operator/api/condition_reason.h"
#include "operator/cluster/state/cluster_snapshot.h"

struct first_start {
    enum condition_reason reason;
    char message[KUBE_CONDITION_MESSAGE_MAX];
    char remedy[512]; /* what the user has to do, with the field */
};

/* False: nothing of that keeps it. */
bool first_start_fails(const struct cluster_snapshot *snapshot, struct first_start *ret);

#endif
