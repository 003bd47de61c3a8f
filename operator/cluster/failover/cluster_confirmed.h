/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_confirmed.h: what the primary is known to go by (status.confirmed), as against what it is told: pure.
 *
 * Orders are made of what is wanted (semiSync, acks, lossAllowed, spec.failover). What an election may rely on is less:
 * only what an open primary has shown to be so. Between the two lies a crash, a partition, or just a moment:
 *   weaken      what is wanted no more is believed no more: in the write that changes the wish, and so before anybody
 *   is told; and what the primary shows not
 *               to be so, whoever changed it
 *   strengthen  what is wanted is believed when the primary's status shows the order and that it is done, and, for
 *   acknowledgements, when as many others
 *               as a commit waits for hold all that it had committed before. Written with the next report, so it costs
 *               hardly a write.
 * A primary that is opened by an order goes by it from its first commit on: so a switchover or failover takes nothing
 * away.
 */
#ifndef KM_CLUSTER_CONFIRMED_H
#define KM_CLUSTER_CONFIRMED_H

#include "operator/cluster/state/cluster_roles.h"

/* Positions come with every word of an agent (AGENT_STATUS_INTERVAL_MS), but are no news: they are looked at so often
 * while they decide. */
#define CLUSTER_CONFIRM_MS 200

/* Takes back from intent->confirmed what the intent, or the spec, no longer asks for, and what the primary says is not
 * so: semi-sync that is off or has given up, a time-out, commits that ended unacknowledged (agent_api.h,
 * semi_sync_lapses). */
void cluster_confirmed_weaken(const struct cluster_snapshot *snapshot, struct cluster_intent *intent);
/* Adds to *ret what the primary shows, if it obeys (cluster_primary_obeys). */
void cluster_confirmed_strengthen(
    const struct cluster_snapshot *snapshot, bool primary_obeys, struct cluster_confirmed *ret);
/* Acknowledgements are in force, as far as the primary says, and are not believed yet: positions decide. */
bool cluster_confirmed_is_awaited(const struct cluster_snapshot *snapshot, bool primary_obeys);

#endif
