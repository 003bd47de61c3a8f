/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/status/cluster_state.h"

#include "operator/cluster/state/copy_close.h"
#include "operator/cluster/state/final_backup_state.h"
#include "operator/cluster/state/in_place_state.h"
#include "operator/cluster/state/member_view.h"
#include "operator/cluster/state/restore_state.h"
#include "operator/cluster/status/cluster_trouble.h"
#include "operator/cluster/status/first_start.h"

/* It gets its data, and nothing that is known keeps it from that. */
static bool gets_its_data(const struct cluster_member *member)
{
    return member_is_seeding(member) && member_trouble_rank(member) <= TROUBLE_STARTING;
}

/* Nothing was ever accepted: what the spec would be led with is not known. */
static bool is_not_begun(const struct cluster_snapshot *snapshot)
{
    return !snapshot->usable && !snapshot->last.accepted_spec && !snapshot->last.roles.initialized;
}

bool cluster_data_is_lost(const struct cluster_snapshot *snapshot)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    bool lost = snapshot->last.roles.initialized && primary && member_is_empty(primary) &&
        !restore_is_under_way(snapshot) && !in_place_holds(snapshot);
    for (int i = 0; i < snapshot->member_count && lost; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        lost = member_is_empty(member) || (!member->pod && !member_has_volume(member));
    }
    return lost;
}

enum cluster_state cluster_state_decide(const struct cluster_snapshot *snapshot)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    int running = 0, seeding = 0, speaking = 0, following = cluster_follower_count(snapshot);
    for (int i = 0; i < snapshot->member_count; i++) {
        running += member_runs(&snapshot->members[i]);
        seeding += member_is_wanted(snapshot, &snapshot->members[i]) && gets_its_data(&snapshot->members[i]);
        speaking += member_speaks(&snapshot->members[i]);
    }
    if (is_not_begun(snapshot))
        return CLUSTER_STATE_INCOMPLETE;
    if (snapshot->scale.effective == 0)
        return CLUSTER_STATE_OFFLINE;
    if (restore_is_under_way(snapshot) || in_place_holds(snapshot))
        return CLUSTER_STATE_RESTORING;
    struct first_start first;
    if (!snapshot->last.roles.initialized)
        return (seeding > 0 || running > 0) && !first_start_fails(snapshot, &first) ? CLUSTER_STATE_CLONING
                                                                                    : CLUSTER_STATE_INCOMPLETE;
    if (cluster_data_is_lost(snapshot))
        return CLUSTER_STATE_LOST;
    if (primary && member_is_open(snapshot, primary)) {
        if (following >= snapshot->scale.effective - 1)
            return member_commits_wait(primary) || member_is_closed_for_room(snapshot, primary) ? CLUSTER_STATE_DEGRADED
                                                                                                : CLUSTER_STATE_HEALTHY;
        return seeding > 0 ? CLUSTER_STATE_CLONING : CLUSTER_STATE_DEGRADED;
    }
    const struct cluster_member *from = cluster_member_named(snapshot, snapshot->last.roles.transition.from);
    if (primary && member_runs(primary) && from && member_runs(from)) /* a switchover takes its course */
        return CLUSTER_STATE_DEGRADED;
    if (primary && member_runs(primary) && (final_backup_is_closed(snapshot) || copy_close_is_under_way(snapshot)))
        return CLUSTER_STATE_DEGRADED;
    if (primary && !member_speaks(primary))
        return running > 0 ? CLUSTER_STATE_INCOMPLETE : CLUSTER_STATE_LOST;
    return speaking > 0 ? CLUSTER_STATE_FAILED : CLUSTER_STATE_LOST;
}
