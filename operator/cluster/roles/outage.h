/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outage.h: a primary that took no writes when this operator began to lead, and was opened again without anybody else
 * having become primary: status.lastOutage and an entry in status.history. Its server was restarted while no operator
 * led, say, and nobody could order it to open. Pure; nothing is decided by it.
 *
 * An agent opens its server by order only, so whoever gives that order has heard it closed before. The last write that
 * agents report then is of the time before the outage, however long nobody led: a replica's agent reports the last
 * transaction that came, the primary's the last write, unless they were restarted meanwhile. If none does, for how long
 * writes waited is not known, and is left out.
 *
 * A primary that is not heard may be open: nothing is noted of it before it speaks. An outage that ends in a failover is
 * told with that. One that begins while this operator leads is no part of this.
 */
#ifndef KM_OUTAGE_H
#define KM_OUTAGE_H

#include "operator/cluster/state/cluster_roles.h"

/* After the orders of each round. */
void outage_look(const struct cluster_snapshot *snapshot, struct outage_watch *watch);
/* The primary is open, and no change is under way: what ended with that, if anything did. */
void outage_end(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, struct cluster_role_status *roles);

#endif
