/*
 * hibernation.h: all members are stopped (spec.replicas: 0), and wake up again, without forgetting what they know: pure.
 *
 * The primary is closed first, under a new epoch, while the others go on following it. What it has then is all that its
 * reign will ever have written. Once those that receive from it have that, too, the status says so (the reign is closed,
 * its floor is everything), and only then are the members stopped. So on waking nobody needs to ask the old primary: who
 * holds the floor may lead, also if the old one's volume is lost meanwhile. A reign that is closed opens nobody: the old
 * primary begins another one.
 *
 * A primary whose server does not run cannot be closed: then all are stopped as they are.
 */
#ifndef KM_HIBERNATION_H
#define KM_HIBERNATION_H

#include "operator/cluster/cluster_roles.h"

/* The primary is to be closed, or the others have yet to receive what it has: the pods stay. */
bool hibernation_goes_on(const struct cluster_snapshot *snapshot);
/* spec.replicas is 0. */
void hibernation_intend(const struct cluster_snapshot *snapshot, struct cluster_intent *intent);
/* False: what the member was told before stands. */
bool hibernation_order(const struct cluster_snapshot *snapshot, const struct cluster_member *member);

/* The status is of a cluster that was stopped that way, and its primary is not ordered to open yet. */
bool hibernation_is_waking(const struct cluster_snapshot *snapshot);
/* The old primary is back and has everything: it begins a reign. */
void hibernation_wake(const struct cluster_snapshot *snapshot, struct cluster_intent *intent);

#endif
