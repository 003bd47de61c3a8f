/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_gap_times.h: for how long a change of primaries held writes up, as the status tells it: from the last write of the
 * old primary that anybody has reported until the first commit on the new one that is not ours, or its opening if nobody
 * commits. Pure; nothing is decided by it.
 *
 * Each agent names moments by its own clock (agent_api.h: took_writes, event_received, first_commit): what counts is
 * how old they were in its last word, so clocks of nodes may differ.
 */
#ifndef KM_WRITE_GAP_TIMES_H
#define KM_WRITE_GAP_TIMES_H

#include "operator/cluster/state/cluster_roles.h"

/* What an agent's word takes to arrive, and the steps of clocks. */
#define WRITE_GAP_SLACK_MS 20
/* After a change has ended, for so long its figures may still be completed: longer than an agent looks for the first
 * commit (agent/first_commit.h). */
#define WRITE_GAP_COMPLETE_MS 90000

/* The last write of the old primary by its own word and that of those who received from it; what is there already
 * stays. Of a failover before anybody else is open, of a switchover also when the new one is. Nothing if no agent
 * tells. */
void write_gap_note_last_write(const struct cluster_snapshot *snapshot, struct cluster_transition *transition);
/* When that was by our clock; 0: not known. */
int64_t write_gap_last_write_ms(const struct cluster_transition *transition);
/* The new primary is open now. */
struct write_gap write_gap_opened(const struct cluster_snapshot *snapshot, const struct cluster_transition *transition);
/* The primary is open and no change is under way: if it tells of the first commit since, the last change's figures are
 * completed. */
void write_gap_complete(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, struct cluster_role_status *roles);

#endif
