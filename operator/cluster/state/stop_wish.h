/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stop_wish.h: one member whose server is stopped while its pod stays, for work on its files: whoever wishes that names
 * it by annotation (ANNOTATION_STOP_SERVER). Pure.
 *
 * The member leaves first, as one does that is to be removed: it is ordered to be nothing, and is no acknowledger any
 * more once the others hold all that it has. Then its server is stopped (agent_order.h: keep_stopped). A failover
 * meanwhile neither waits for it nor counts on it. It never is the primary: that one has to be moved away before, and a
 * member that is to become primary is started.
 */
#ifndef KM_STOP_WISH_H
#define KM_STOP_WISH_H

#include "operator/cluster/state/cluster_snapshot.h"

struct stop_wish {
    const struct cluster_member *member; /* NULL: there is no wish, or no such member */
    bool granted;                        /* it is stopped, or may be */
    char why[256];                       /* why it is not granted; "" if it is, or if there is no wish */
};

void stop_wish_read(const struct cluster_snapshot *snapshot, struct stop_wish *ret);
/* Its server is to be stopped, or is: it does not count as one that serves, acknowledges or is replaced. */
bool member_is_to_stop(const struct cluster_snapshot *snapshot, const struct cluster_member *member);
/* By its own word it is. */
bool member_is_stopped(const struct cluster_member *member);
/* The annotation's value names it, by ordinal or by pod. */
const struct cluster_member *cluster_member_meant(const struct cluster_snapshot *snapshot, const char *value);

#endif
