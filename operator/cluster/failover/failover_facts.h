/* SPDX-License-Identifier: Apache-2.0 */
/*
 * failover_facts.h: what failures, elections and the confirmed are judged by: what members say of their positions, what
 * the written status says of commits, and the times of spec.failover. Pure, and nothing is decided here.
 */
#ifndef KM_FAILOVER_FACTS_H
#define KM_FAILOVER_FACTS_H

#include "operator/cluster/state/cluster_snapshot.h"

/* It has carried out the order to receive from nobody, under the epoch of the status: what it has received is final. */
bool member_is_held(const struct cluster_snapshot *snapshot, const struct cluster_member *member);
/* All that it holds. One that was primary has received nothing; one that was only to become it has. */
const char *failover_position_of(const struct cluster_member *member);
/* Its received set holds this one; a set that cannot be read is held by nobody. */
bool failover_has_received(const struct cluster_member *member, const char *gtids);
/* Its server has executed them; what cannot be read is executed by nobody. */
bool failover_has_executed(const struct cluster_member *member, const char *gtids);
/* One that leaves is asked as long as it may hold the only copy of a commit; so may the last primary, and those of
 * reigns that are not judged yet. */
bool failover_asks(const struct cluster_snapshot *snapshot, const struct cluster_member *member);
/* It was told to acknowledge commits of the current primary. */
bool member_acknowledges(const struct cluster_snapshot *snapshot, const struct cluster_member *member);

/* Somebody else may be opened without the primary's word: by proof, as commits wait for acknowledgements, or at a loss.
 * So it closes itself when it is cut off (I6). Otherwise it stays open: nobody could take its place. */
bool failover_has_fence(const struct cluster_snapshot *snapshot);
/* The primary was told to close itself when it does not hear everybody: somebody else may be opened after that time,
 * although something may be lost. */
bool failover_has_lease(const struct cluster_snapshot *snapshot);

/* spec.failover, also while the spec cannot be read. */
int64_t failover_silence_ms(const struct cluster_snapshot *snapshot);
int64_t failover_hung_ms(const struct cluster_snapshot *snapshot);
int64_t failover_writes_blocked_ms(const struct cluster_snapshot *snapshot);
int64_t failover_stalled_ms(const struct cluster_snapshot *snapshot);
int64_t failover_start_ms(const struct cluster_snapshot *snapshot);
int64_t failover_self_fence_ms(const struct cluster_snapshot *snapshot);

/* ---- what is believed of the primary (cluster_confirmed.h) ---- */

/* How many acknowledgements every commit has waited for; 0: none need have. */
int cluster_confirmed_acks(const struct cluster_snapshot *snapshot);
/* It closes itself when it does not hear all others (I6). */
bool cluster_confirmed_lease(const struct cluster_snapshot *snapshot);
/* After how long. */
int64_t cluster_confirmed_fence_ms(const struct cluster_snapshot *snapshot);
/* Those that the agent has counted are known from now on. */
void cluster_confirmed_set_lapses(const struct agent_status *agent, struct cluster_confirmed *confirmed);

#endif
