/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_failure.h: whether the primary is lost: pure.
 *
 * Unreachable is not dead (I5). What counts:
 *   ServerDown            its agent says that there is no server, or one that does not answer yet
 *   ServerHung            its agent says that the server answers no probe (spec.failover.hungMilliseconds)
 *   StorageStalled        its agent's own writes hang, though not on acknowledgements (stalledMilliseconds)
 *   AcknowledgementsLost  commits wait (writesBlockedMilliseconds), and the replicas that could acknowledge say that
 *                         they have lost it
 *   MemberLost            its agent is silent (silenceMilliseconds), and the replicas that we hear say that they have
 *                         lost it, too
 *
 * Where the primary's pod was deleted by force, its agent's silence is not waited for: kubelet ends it, so it is enough
 * that the replicas have lost its server.
 *
 * Commits on a primary that none of its replicas has been connected to yet are given CLUSTER_CONNECT_MS: a connection
 * over TLS needs some fifteen round trips, so behind 200 ms of latency each new primary would be given up before
 * anybody could have acknowledged anything.
 *
 * When all servers have only just started, as after an outage or hibernation, nobody has been connected to the primary
 * yet: then its loss must last for startMilliseconds, so that it can come back as what it was.
 *
 * Whether enough members could answer for what was acknowledged is asked before anything is fenced: a primary that may
 * be alive is not stopped for a failover that could not end.
 */
#ifndef KM_CLUSTER_FAILURE_H
#define KM_CLUSTER_FAILURE_H

#include "operator/cluster/state/cluster_snapshot.h"

#define CLUSTER_CONNECT_MS 10000

struct cluster_failure {
    enum transition_reason reason; /* TRANSITION_NO_REASON: the primary is not known to be lost */
    char evidence[256];
    char doubt[256];  /* why an ailing primary is not given up; "" nothing ails it, or it is lost */
    int64_t again_ms; /* look again then, 0: when something happens */
};

/* name: of the primary, there may be no such member any more. */
void cluster_find_failure(const struct cluster_snapshot *snapshot, const char *name, struct cluster_failure *ret);

/* The one that is being opened after a failover or in a switchover is lost: nobody follows it yet who could be
 * asked. */
bool cluster_target_is_lost(const struct cluster_snapshot *snapshot, const char *name, struct cluster_failure *ret);

#endif
