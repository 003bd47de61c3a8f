/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/cluster_growth.h"

#include "operator/cluster/desired.h"
#include "operator/cluster/member_view.h"

static bool has_older_template(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        if (snapshot->members[i].pod && !member_has_newest_template(snapshot, &snapshot->members[i]))
            return true;
    }
    return false;
}

/* An image that is not in force yet counts: the write that brings it would make the new members, too. */
static bool must_roll_first(const struct cluster_snapshot *snapshot, const struct stateful_set_object *set)
{
    char wanted[17];
    desired_runtime_hash(snapshot, wanted);
    return !str_eq(set->applied_hash, wanted) || set->observed_generation < set->object.generation ||
        has_older_template(snapshot);
}

int cluster_growth_replicas(const struct cluster_snapshot *snapshot)
{
    const struct stateful_set_object *set = snapshot->stateful_set;
    int replicas = snapshot->cluster.replicas;
    bool grows = set && set->replicas > 0 && set->replicas < replicas && snapshot->last.initialized;
    return grows && must_roll_first(snapshot, set) ? set->replicas : replicas;
}
