/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opening.h: whether the primary that the status names may be opened, when it is closed and nothing is being changed:
 * pure.
 *
 * Its server was started anew, or all servers were. Three things may be wrong with what it holds:
 *   - Its volume went back in time (a snapshot was restored, a disk lied): a replica holds more of its reign than it
 *     does, or it lacks what it had when all members were stopped (hibernation.h). New transactions would take numbers
 *     that others have. So as many members are heard first as prove what was acknowledged: A - n + 1 of those that
 *     acknowledge, the primary being one of them. If one holds more, another member has to become primary.
 *   - Its last transactions were never acknowledged, and its server committed them when it recovered (MySQL bug 99370):
 *     who reads them and loses the primary finds them gone. So it opens when a member that acknowledges has them, too.
 *   - Nobody else is there to ask, or can show what it has received (MariaDB: somebody wrote on it under the numbers of
 *     these transactions). The others are given startMilliseconds. Then the primary opens, commits wait, and condition
 *     Replicated says that its last transactions are on no other member that answers.
 *
 * A transaction that too few others hold may have been acknowledged all the same: somebody with all rights turned
 * semi-sync off, or killed what waited, and the server ended before its agent looked. So the status says first that
 * commits need not have waited (status.confirmed), until enough others hold all of it: a failover without the word of
 * this primary would take such a transaction back. So it is where a failover finds that the old primary goes on
 * (cluster_failover.c).
 */
#ifndef KM_OPENING_H
#define KM_OPENING_H

#include "operator/cluster/state/cluster_snapshot.h"

enum opening {
    OPENING_NOW,
    OPENING_WAITS,       /* for the status of another member, or until that one has received what the primary has */
    OPENING_UNCONFIRMED, /* at once, when the status says that its commits need not have waited */
    OPENING_BEHIND,      /* it lacks something: another member has to become primary */
};

/* The primary runs and is closed, and the status has no transition. why: what is waited for, or who holds more; "" with
 * OPENING_NOW. *ret_again_ms: look again then; 0: when something happens. */
enum opening opening_decide(const struct cluster_snapshot *snapshot, const struct cluster_member *primary, char *why,
    size_t size, int64_t *ret_again_ms);

/* Fewer members that acknowledge hold all that it holds than a commit waits for, as far as they answer. */
bool opening_is_unconfirmed(const struct cluster_snapshot *snapshot, const struct cluster_member *primary);

/* For the report: the primary is open, nobody follows it, and no member that acknowledges holds what it holds. */
bool opening_holds_alone(const struct cluster_snapshot *snapshot, const struct cluster_member *primary);

#endif
