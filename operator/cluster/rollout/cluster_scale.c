/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/rollout/cluster_scale.h"

#include "common/json.h"
#include "operator/cluster/desired/desired.h"
#include "operator/cluster/state/final_backup_state.h"
#include "operator/cluster/state/member_view.h"

static int scale_of_last_spec(const struct cluster_snapshot *snapshot)
{
    int replicas = snapshot->last.replicas;
    if (snapshot->stateful_set)
        replicas = snapshot->stateful_set->replicas;
    else if (snapshot->last.accepted_spec)
        replicas = (int)json_path_int(snapshot->last.accepted_spec, "replicas", replicas);
    return MAX_OF(0, MIN_OF(replicas, CLUSTER_REPLICAS_MAX));
}

static int scale_wanted(const struct cluster_snapshot *snapshot)
{
    const json_t *accepted = snapshot->last.accepted_spec;
    if (!snapshot->usable)
        return scale_of_last_spec(snapshot);
    if (snapshot->cluster.paused && accepted)
        return (int)MAX_OF(0, MIN_OF(json_path_int(accepted, "replicas", 0), CLUSTER_REPLICAS_MAX));
    if (snapshot->cluster.replicas > 0)
        return snapshot->cluster.replicas;
    return MIN_OF(final_backup_wakes(snapshot), CLUSTER_REPLICAS_MAX);
}

static bool has_older_template(const struct cluster_snapshot *snapshot)
{
    for (size_t i = 0; i < ARRAY_LEN(snapshot->members); i++) {
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

struct cluster_scale cluster_scale(const struct cluster_snapshot *snapshot)
{
    const struct stateful_set_object *set = snapshot->stateful_set;
    int wanted = scale_wanted(snapshot);
    bool grows =
        snapshot->usable && snapshot->last.roles.initialized && set && set->replicas > 0 && set->replicas < wanted;
    return (struct cluster_scale){wanted, grows && must_roll_first(snapshot, set) ? set->replicas : wanted};
}
