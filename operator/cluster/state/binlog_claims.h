/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binlog_claims.h: whether anybody lacks what is in the binary logs that a member wishes to remove (agent_api.h:
 * purge_wish). Pure.
 *
 * Kept is what the archive lacks, and what a wanted member has not executed, be it silent now: by its last word. A
 * member without data, or whose word was never heard in the life of this process, may lack all of it. What an outside
 * replica is being sent its server keeps by itself, and a member that gives a copy wishes nothing.
 *
 * A member that has not been heard for BINLOG_CLAIM_MS loses its claim where room is lacking: before writes are closed
 * for it, it is copied anew. With room it keeps it.
 */
#ifndef KM_BINLOG_CLAIMS_H
#define KM_BINLOG_CLAIMS_H

#include "operator/cluster/state/cluster_snapshot.h"

#define BINLOG_CLAIM_MS (60 * 60 * 1000LL)

struct binlog_claims {
    bool is_wished;
    bool is_free;                        /* nobody lacks them */
    char why[192];                       /* who does; "" if nobody does, or nothing is wished */
    const struct cluster_member *lapsed; /* whose claim does not count; the first of several; NULL: nobody's */
};

void binlog_claims_look(
    const struct cluster_snapshot *snapshot, const struct cluster_member *member, struct binlog_claims *ret);

#endif
