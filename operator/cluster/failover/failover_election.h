/* SPDX-License-Identifier: Apache-2.0 */
/*
 * failover_election.h: who takes over from a lost primary: pure.
 *
 * Members are judged by what they say themselves, under the failover's epoch, after they have stopped to receive
 * (held): not by Kubernetes (I4). What they prove together about the reigns in force, and so who holds everything that
 * was ever acknowledged, is in ballot.h. Nobody else is chosen, unless spec.failover.dataLoss is allow: then the old
 * primary must have had time to close itself (I6). The one that has received most is chosen, and opens when it has
 * applied all of that.
 */
#ifndef KM_FAILOVER_ELECTION_H
#define KM_FAILOVER_ELECTION_H

#include "operator/cluster/state/cluster_snapshot.h"

/* Members that speak but are not held yet are waited for so long: one of them may have received more than the
 * others. */
#define FAILOVER_HOLD_MS 300
/* And so long before the old one goes on that hung or was cut off from them: it would be lost once more. MariaDB can
 * need 2 s to stop a receiver that is just connecting. */
#define FAILOVER_HOLD_OTHERS_MS 4000
/* Before that a failover that waits does not say that spec.failover.dataLoss would end the wait. */
#define FAILOVER_LOSS_HINT_MS 60000
/* Beyond the time after which an isolated primary has closed itself. */
#define FAILOVER_FENCE_MARGIN_MS 1000

struct failover_choice {
    const struct cluster_member *candidate; /* NULL: nobody yet */
    /* All that it has received: executed before it is opened; the old primary has it in any case. The text is that
     * agent's status's, or that of the reigns in force. */
    const char *position;
    char why[256];   /* why this one */
    bool salvage;    /* the lost one's binary logs are to be asked first */
    int first_reign; /* those before it are empty; CLUSTER_REIGNS_MAX: what was acknowledged in any is in `position` */
    bool goes_on;    /* the primary of reign `first_reign`, which goes on */
    char may_be_lost[256]; /* what may be lost with it; "" nothing */
    char waits[512];       /* nobody yet: for what, in words */
    int64_t again_ms;
};

/* By the written status: its transition is a failover whose `to` is not chosen yet. */
void failover_choose(const struct cluster_snapshot *snapshot, struct failover_choice *ret);

/* How many acknowledgers other than `lost` must have answered; INT_MAX: only its own word will do. */
int failover_answers_needed(const struct cluster_snapshot *snapshot, const char *lost);

/* Whether a failover from `lost` that begins now could end, as far as can be seen. may_answer: `lost` itself may be
 * asked, it only does not open. why: "" or what is missing. */
bool failover_can_succeed(
    const struct cluster_snapshot *snapshot, const char *lost, bool may_answer, char *why, size_t size);

/* Somebody else who could be opened: has heard of the failover, has received all that `chosen` must apply and executed
 * no less than that one. Nobody who was given up for not opening since this began: so each is tried once, and the last
 * one stays. NULL: nobody. */
const struct cluster_member *failover_substitute(
    const struct cluster_snapshot *snapshot, const struct cluster_member *chosen);

#endif
