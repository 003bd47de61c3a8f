/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_gap_times.h: for how long a change of primaries, or an outage, held writes up, as the status has it: from the
 * last write of the old primary that any agent has reported until the first commit on the new one that is not the
 * operator's, or its opening if nobody commits. Pure; nothing is decided by it.
 *
 * Each agent names moments by its own clock (agent_api.h: took_writes, event_received, opening, first_commit): what
 * counts is how old they were in its last word, so clocks of nodes may differ, and it does not matter which operator
 * leads, nor since when.
 */
#ifndef KM_WRITE_GAP_TIMES_H
#define KM_WRITE_GAP_TIMES_H

#include "operator/cluster/state/cluster_roles.h"

/* What an agent's word takes to arrive, and the steps of clocks. */
#define WRITE_GAP_SLACK_MS 20
/* After a change has ended, for so long its figures may still be completed: longer than an agent looks for the first
 * commit (agent/first_commit.h). */
#define WRITE_GAP_COMPLETE_MS 660000
/* A first commit that comes later than this, and was not seen to wait, may be of somebody who had not tried before. */
#define WRITE_GAP_IDLE_MS 5000
/* And later than this it is: no route is loaded, and no client waits before it connects anew, for so long. */
#define WRITE_GAP_IDLE_MAX_MS 60000
/* A primary that is lost so soon after its opening may have had no client yet. */
#define WRITE_GAP_SOON_MS 30000

/* The last write of the old primary, as its own agent and those of its replicas report it. Of a failover before anybody
 * else is open, of a switchover also when the new one is. Nothing if no agent reports one. What is there already stays
 * unless it is earlier: an agent that reported to an operator before may not be heard by this one. It stays in any case
 * if it is of a primary before the one that is lost now. */
void write_gap_note_last_write(const struct cluster_snapshot *snapshot, struct cluster_transition *transition);
/* The change is given up, and `to` is lost. It may have been open while no operator led: if an agent reports that, the
 * last write is the one there, or, where no client's commit there was reported, at any time since the one before. */
void write_gap_renew_last_write(const struct cluster_snapshot *snapshot, struct cluster_transition *transition);
/* A failover begins, out of no other change. If the change that made `from` primary has ended just now, and no client's
 * commit was seen since, clients may have waited ever since the last write before that one. */
void write_gap_go_on(const struct cluster_snapshot *snapshot, struct cluster_transition *transition);
/* When that was by our clock; 0: not known. */
int64_t write_gap_last_write_ms(const struct cluster_transition *transition);
/* The last sign of a write before end_ms by anybody's word, by our clock; at_ms 0: nobody tells. */
struct agent_moment write_gap_newest(const struct cluster_snapshot *snapshot, int64_t end_ms);

struct write_gap_change {
    const struct cluster_member *to; /* is open now */
    int64_t epoch, started_ms;
    struct agent_moment last_write; /* by our clock; at_ms 0: not known */
    bool seen_closed; /* in our life: else it may have been open for long, while another operator led or none */
};
struct write_gap_end {
    int64_t finished_ms; /* when it was opened */
    int64_t blocked_ms;  /* -1: not known */
    struct write_gap gap;
};
struct write_gap_end write_gap_end(const struct cluster_snapshot *snapshot, const struct write_gap_change *change);
/* The primary is open and no change is under way: if its agent reports the first commit since, the figures of the last
 * change, or outage, are completed. */
void write_gap_complete(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, struct cluster_role_status *roles);

#endif
