/*
 * cluster_roll.h: which pod is replaced next when the template has changed (updateStrategy OnDelete): pure.
 *
 * One at a time, each ready before the next; the primary last, after another member has taken over. A member that is not serving anyway goes first: that is what heals
 * a roll that ran into a bad template.
 */
#ifndef KM_CLUSTER_ROLL_H
#define KM_CLUSTER_ROLL_H

#include "operator/cluster/cluster_snapshot.h"

enum roll_step {
    ROLL_DONE,       /* every pod has the newest template */
    ROLL_WAIT,       /* something must happen first: text says what */
    ROLL_DELETE,     /* replace this member's pod */
    ROLL_SWITCHOVER, /* only the primary is left: it must be moved away first */
};

struct roll {
    enum roll_step step;
    const struct cluster_member *member; /* ROLL_DELETE */
    int outdated;                        /* pods of an older template */
    char text[256];
};

void cluster_roll(const struct cluster_snapshot *snapshot, struct roll *ret);

#endif
