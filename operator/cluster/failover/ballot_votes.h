/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ballot_votes.h: the votes of a ballot (ballot.h), and what one asks of them. For the files of the ballot only. Pure.
 *
 * `i` and `reign` are indexes in ballot.reigns; the next one is the reign before.
 */
#ifndef KM_BALLOT_VOTES_H
#define KM_BALLOT_VOTES_H

#include "operator/cluster/failover/ballot.h"

/* Of all that have answered, by the reigns of the ballot as they are now. Those read before are released. */
void ballot_read_votes(const struct cluster_snapshot *snapshot, struct ballot *ballot);
/* Of its primary; NULL: that has not answered. */
const struct vote *ballot_vote_of(const struct ballot *ballot, const struct cluster_reign *reign);
/* Another member that was the primary of the reign before, and has answered; NULL: there is none that is known. */
const struct vote *ballot_older_than(const struct ballot *ballot, int i, const struct vote *vote);
/* MySQL. Of what `older` holds of that server. */
bool ballot_lacks_some_written_by(const struct vote *vote, const struct vote *older, const char *origin);
/* That reign is the latest of which it holds anything. but: NULL anybody */
bool ballot_anybody_holds(const struct ballot *ballot, int reign, const struct vote *but);
/* Of a later reign than that one. */
bool ballot_anybody_holds_later(const struct ballot *ballot, int reign);

#endif
