/* SPDX-License-Identifier: Apache-2.0 */
/*
 * problem_effects.h: what follows from each problem that an agent tells of its member (agent_problem.h): one table.
 * Pure.
 *
 * A problem that stops replication is listed for copies under way alone: such a member does not follow.
 */
#ifndef KM_PROBLEM_EFFECTS_H
#define KM_PROBLEM_EFFECTS_H

#include "operator/cluster/state/cluster_snapshot.h"

struct problem_effects {
    bool no_donor; /* its data or its position is in doubt: nobody copies from it as long as it is a replica */
};

bool member_is_no_donor(const struct cluster_member *member);

#endif
