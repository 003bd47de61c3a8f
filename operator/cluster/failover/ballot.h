/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ballot.h: what the members that have answered prove together about the reigns in force: pure.
 *
 * A commit of a reign was acknowledged to its client only after as many acknowledgers as commits wait for
 * (status.confirmed.acks, n) had received it, and after its primary had written it. So of the A acknowledgers beside
 * the primary any A - n + 1 hold every acknowledged commit of the reign between them. The reigns are gone through from
 * the latest to the oldest:
 *   - its primary has answered: it wrote something in it, and then holds all that was ever acknowledged; or it wrote
 *     nothing, and then the reign is empty
 *   - enough acknowledgers have answered, and none holds anything of it: it acknowledged nothing, it is empty
 *   - enough have answered, and one holds something of it: the one of them that holds most holds all that was ever
 *     acknowledged
 *   - too few have answered: nothing is proven, and nobody may lead
 * If all reigns are empty, whoever holds the floor of the oldest one holds all that was ever acknowledged.
 *
 * A reign began when its primary was opened. One that never began is empty, whatever bears its origin.
 *
 * Whatever is known of reigns: once every member has answered, all that was ever acknowledged is on one of them, since
 * whoever wrote it is among them. So one that holds all that each of them holds has everything.
 */
#ifndef KM_BALLOT_H
#define KM_BALLOT_H

#include "operator/cluster/failover/member_history.h"
#include "operator/cluster/state/cluster_snapshot.h"

struct vote {
    const struct cluster_member *member;
    struct member_history history;
    const char *unfit; /* why it cannot be opened; "" it can */
    bool is_of_before; /* it has a trace of a reign before the last one alone; what only it holds nobody acknowledged */
};

struct ballot {
    struct cluster_reigns reigns;   /* those in force, without those that never began */
    int listed[CLUSTER_REIGNS_MAX]; /* by index in `reigns`: that among those in force */
    struct cluster_reigns skipped;  /* those that never began */
    bool oldest_is_void;            /* the oldest never began, either; it is listed for its floor */
    /* Those that `reigns` has as one, as it is not known whose transactions they are; none. */
    struct cluster_reigns joined;
    struct vote votes[CLUSTER_REPLICAS_MAX + 1];
    int count;
    int decisive; /* index of the reign at which it is decided, or not yet; reigns.count: all are empty */
    int answers,
        needed;     /* of that reign: acknowledgers that have answered, and must; INT_MAX: only its primary can tell */
    bool is_proven; /* enough have answered */
    /* Of that reign others hold only what somebody may have written by hand. Whether it began, its primary has to
     * tell. */
    bool is_disputed;
    bool is_marked;              /* others than its primary hold something that was certainly written in it */
    const struct vote *old;      /* its primary, which has answered and holds all of it; NULL: it has not */
    const struct vote *best;     /* of the others: can be opened, holds most */
    const struct vote *ahead;    /* holds more than the best, but cannot be opened */
    const struct vote *diverged; /* holds what the best lacks, and the other way round */
    const struct vote *unfit;    /* any that cannot be opened */
};

/* Members that are held have answered. Release with ballot_release; large: on the heap. */
struct ballot *ballot_new(const struct cluster_snapshot *snapshot);
void ballot_free(struct ballot *ballot);
static inline void ballot_freep(struct ballot **p)
{
    ballot_free(*p);
}

/* The best holds all that the reign's primary holds. */
bool ballot_best_has_all(const struct ballot *ballot);
/* Nothing that was acknowledged is lost with the best. */
bool ballot_best_is_safe(const struct ballot *ballot);

/* Acknowledgers other than `primary` that must answer for its reign. whole_floor: the reign's floor is known and not
 * partial, so that fewer acknowledgers than commits wait for means that nothing was acknowledged. INT_MAX: only the
 * primary can tell. */
int ballot_answers_needed(const struct cluster_snapshot *snapshot, const char *primary, bool whole_floor);
/* It was ordered to acknowledge, and still holds all that it did: a server that was started anew may have dropped what
 * it had received. */
bool ballot_is_proof(const struct cluster_snapshot *snapshot, const struct cluster_member *member);
/* Its answer is one of those that a reign of `primary` ("": not known whose) needs, if it can be read. */
bool ballot_counts(const struct cluster_snapshot *snapshot, const char *primary, const struct cluster_member *member);
/* Reigns of which the origins are not known, as a version without reigns left them, become one of nobody known: any of
 * their primaries may have been the last one. ret: which; none if all are known. */
void ballot_join_unknown(struct cluster_reigns *reigns, struct cluster_reigns *ret);

#endif
