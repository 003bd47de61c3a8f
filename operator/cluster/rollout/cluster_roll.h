/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_roll.h: which pod is replaced next when the template has changed (updateStrategy OnDelete), or my.cnf in what
 * a server cannot change while it runs: pure.
 *
 * One at a time, each ready before the next; the primary last, after another member has taken over. A member that is
 * not serving anyway goes first: that is what heals a roll that ran into a bad template. A changed my.cnf is given to
 * the servers first (mycnf_sender.h): only those that cannot take all of it up are replaced, and none before all that
 * run have said whether they can.
 * A copy that arrives is waited for, whatever template its member has.
 *
 * After its switchover a new MySQL primary applies the accounts before the last replica that could acknowledge that is
 * replaced.
 *
 * A member that needs a copy, and whose new server takes none of the older series, is not waited for, as it would be
 * for ever, as long as the others can acknowledge without the next one.
 */
#ifndef KM_CLUSTER_ROLL_H
#define KM_CLUSTER_ROLL_H

#include "operator/cluster/state/cluster_snapshot.h"

enum roll_step {
    ROLL_DONE,       /* every pod has the newest template and, as far as is known, my.cnf */
    ROLL_WAIT,       /* something must happen first: text says what */
    ROLL_DELETE,     /* replace this member's pod */
    ROLL_SWITCHOVER, /* only the primary is left: it must be moved away first */
};

struct roll {
    enum roll_step step;
    const struct cluster_member *member; /* ROLL_DELETE */
    int outdated;                        /* pods that must be replaced */
    bool taking_up;                      /* none: servers take up a new my.cnf, text says which is awaited */
    char text[384];
};

void cluster_roll(const struct cluster_snapshot *snapshot, struct roll *ret);
/* As many acknowledge as commits wait for, and not one more: whoever is replaced, commits wait for it meanwhile. */
bool cluster_roll_stops_commits(const struct cluster_snapshot *snapshot);
#define CLUSTER_ROLL_STOPS_COMMITS \
    "while a member is replaced commits wait for it, as nobody else could acknowledge in its place"

#endif
