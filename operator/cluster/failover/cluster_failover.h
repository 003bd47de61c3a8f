/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_failover.h: the intents of a failover (cluster_roles.h): pure.
 *
 * From P, which is lost, to one that is not known yet; each step derived from what is observed:
 *   1. status: epoch + 1, transition from P to nobody
 *   2. all are held: they receive from nobody, so P gets no more acknowledgements, and go on applying. P, should it
 *   hear of that, is closed by it and
 *      is as good a witness as the others
 *   3. enough of them have answered what they have received: status: transition to C, what C must execute before it
 *   opens, who may acknowledge next 4. C becomes primary; the Service names it meanwhile
 *   5. C is open: the others follow it; status: what happened
 * C's reign (reigns.h) is added in step 3, with all that C must execute as its floor. A C that is lost in between, or
 * has not opened after CLUSTER_OPEN_MAX_MS while somebody else could, is the P of the next failover; its floor stays,
 * whoever is chosen and lost. P, should its server be back meanwhile with everything, is as good a C as any.
 */
#ifndef KM_CLUSTER_FAILOVER_H
#define KM_CLUSTER_FAILOVER_H

#include "operator/cluster/failover/cluster_failure.h"
#include "operator/cluster/state/cluster_roles.h"

/* Starts one if the primary is lost; says what it doubts otherwise. */
void failover_consider(const struct cluster_snapshot *snapshot, struct cluster_intent *intent);
/* A switchover whose old or new primary is lost before the new one is open, or whose new one never opens, becomes a
 * failover, unless spec says that there shall be none. One whose new primary has lost its data after the old one was
 * closed does in any case. False: it is none. */
bool failover_instead(const struct cluster_snapshot *snapshot, struct cluster_intent *intent);
/* Members have seen a later epoch than the status, which was restored from a backup of etcd, perhaps: if another one
 * than it names has become primary since, a failover from the latest of them. False: nobody has. */
bool failover_from_later(const struct cluster_snapshot *snapshot, struct cluster_intent *intent);
/* The status was restored to an earlier one: members have accepted a later epoch, or another member than its primary
 * was opened, or ordered to open, under the epoch of the status. No order is sent by such a status. */
bool failover_status_is_old(const struct cluster_snapshot *snapshot);
/* The status' transition is a failover. */
void failover_continue(const struct cluster_snapshot *snapshot, struct cluster_intent *intent);

/* Who may hold the only copy of a commit beside the primary, from now on. */
void acknowledgers_keep(const struct cluster_snapshot *snapshot, struct cluster_intent *intent);
/* Those that acknowledge the next primary from its first commit on. */
uint64_t acknowledgers_of(const struct cluster_snapshot *snapshot, const struct cluster_member *next);
/* As many acknowledgers, other than `but` (NULL: any), as a commit is to wait for have received all of what the open
 * primary had: then it does not matter who gave the acknowledgements. */
bool acknowledgers_cover(const struct cluster_snapshot *snapshot, const struct cluster_member *primary, const char *all,
    const struct cluster_member *but);
/* A replica follows the primary; or this one receives nothing, and another one receives from the primary and
 * acknowledges, though it cannot apply that: the primary's log goes on from its own, and it has all that is
 * acknowledged. */
bool acknowledgers_spare(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, const struct cluster_member *member);
/* An acknowledger that receives from the open primary, or may begin to, and holds something of its reign, may hold the
 * only other copy of a commit, while fewer others than a commit waits for hold what it has received. Transactions of
 * its own are no reason to replace its data by a copy then. With two members there are no others. */
bool acknowledgers_need(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, const struct cluster_member *member);

/* As far as is seen it can acknowledge nothing more of this primary's commits without an order of ours: it says so
 * itself, or it has no server. */
bool acknowledgers_has_stopped(const struct cluster_snapshot *snapshot, const struct cluster_member *member);

#endif
