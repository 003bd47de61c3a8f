/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hibernation.h: stopping all members (spec.replicas: 0) and waking them, without forgetting what they know: pure.
 *
 * The primary is closed first, under a new epoch, while the others go on following it. What it has then is all that its
 * reign will ever have written. Once those that receive from it have that, too, the status says that the reign is
 * closed and that its floor is everything. Only then are the members stopped. So on waking nobody needs to ask the old
 * primary: who holds the floor may lead, also if the old one's volume is lost meanwhile. Nobody is opened under a reign
 * that is closed: the old primary begins another one.
 *
 * A primary whose server does not run cannot be closed: then all are stopped as they are. A replica that receives is
 * waited for without a limit; status.nextAction names it.
 */
#ifndef KM_HIBERNATION_H
#define KM_HIBERNATION_H

#include "operator/cluster/state/cluster_roles.h"

/* The primary is to be closed, or the others have yet to receive what it has: the pods stay. */
bool hibernation_goes_on(const struct cluster_snapshot *snapshot);
/* spec.replicas is 0. */
void hibernation_intend(const struct cluster_snapshot *snapshot, struct cluster_intent *intent);
/* False: the member's last order stays in force. */
bool hibernation_order(const struct cluster_snapshot *snapshot, const struct cluster_member *member);

/* The status is of a cluster that was stopped that way, and its primary is not ordered to open yet. */
bool hibernation_is_waking(const struct cluster_snapshot *snapshot);
/* The old primary runs: it begins a reign if it has everything, or if there is no other volume that may. */
void hibernation_wake(const struct cluster_snapshot *snapshot, struct cluster_intent *intent);

#endif
