/* SPDX-License-Identifier: Apache-2.0 */
/*
 * candidate.h: whether a member can be opened instead of a lost primary, and which of two that hold the same is opened:
 * pure.
 */
#ifndef KM_CANDIDATE_H
#define KM_CANDIDATE_H

#include "operator/cluster/state/cluster_snapshot.h"

/* Why it cannot be opened, whatever it holds; "" it can. Static text. */
const char *candidate_why_unfit(const struct cluster_snapshot *snapshot, const struct cluster_member *member);
/* It was chosen in the failover that goes on, and given up as it did not open. */
bool candidate_was_tried(const struct cluster_snapshot *snapshot, const struct cluster_member *member);
/* Both hold the same: one that stays, one that has not failed to open, one to which the primary could be moved
 * (problem_effects.h), one whose volume has room (where none has, the database still goes on), the wished one, one that
 * no roll waits for, one on another node than the lost one, one that has less to apply. */
bool candidate_is_better_equal(
    const struct cluster_snapshot *snapshot, const struct cluster_member *a, const struct cluster_member *b);

#endif
