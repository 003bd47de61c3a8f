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

/* So long after its pod was made, a server that is not heard yet is one that starts. */
static int64_t start_rest_ms(const struct cluster_snapshot *snapshot, const struct pod_object *pod)
{
    int64_t age_ms = snapshot->now_ms - pod->created_ms;
    return pod->created_ms > 0 && age_ms < CLUSTER_STATE_START_MS ? CLUSTER_STATE_START_MS - MAX_OF(0, age_ms) : 0;
}

/* Its pod is being replaced, or starts, and nothing is known to be wrong. A pod that is deleted after its member was
 * lost may be on a node that is lost, too: nobody tells when it ends. */
static bool is_on_its_way(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    const struct pod_object *pod = member->pod;
    if (member_trouble_rank(member) != TROUBLE_STARTING)
        return false;
    if (!pod)
        return snapshot->stateful_set != NULL;
    if (pod->object.deleting)
        return snapshot->last.state != CLUSTER_STATE_LOST;
    return !pod->initialized || start_rest_ms(snapshot, pod) > 0;
}

static bool all_are_on_their_way(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if ((member_is_wanted(snapshot, member) || member == cluster_primary(snapshot)) &&
            !is_on_its_way(snapshot, member))
            return false;
    }
    return true;
}

int64_t cluster_state_again_ms(const struct cluster_snapshot *snapshot, enum cluster_state state)
{
    int64_t soonest_ms = 0;
    for (int i = 0; i < snapshot->member_count && state == CLUSTER_STATE_INCOMPLETE; i++) {
        const struct pod_object *pod = snapshot->members[i].pod;
        int64_t rest_ms = pod && pod->initialized && !pod->ready ? start_rest_ms(snapshot, pod) : 0;
        if (rest_ms > 0 && (soonest_ms == 0 || rest_ms < soonest_ms))
            soonest_ms = rest_ms;
    }
    return soonest_ms;
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
        return running > 0 || first_start_fails(snapshot, &first) || all_are_on_their_way(snapshot)
            ? CLUSTER_STATE_INCOMPLETE
            : CLUSTER_STATE_LOST;
    return speaking > 0 ? CLUSTER_STATE_FAILED : CLUSTER_STATE_LOST;
}
