/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/state/in_place_state.h"

#include "operator/cluster/state/member_view.h"

#define NUMBER_MAX (UINT64_C(1) << 62) /* a file that was damaged may say anything */

bool in_place_holds(const struct cluster_snapshot *snapshot)
{
    enum in_place_phase phase = snapshot->last.in_place.phase;
    return phase == IN_PLACE_PHASE_RESTORING || phase == IN_PLACE_PHASE_TAKING;
}

bool in_place_is_outdated(const struct cluster_snapshot *snapshot)
{
    return cluster_in_place_refusal(&snapshot->last.in_place) == IN_PLACE_REFUSAL_OUTDATED;
}

int64_t in_place_taken_epoch(const struct cluster_snapshot *snapshot)
{
    const struct cluster_in_place *last = &snapshot->last.in_place;
    if (last->taken_epoch > 0)
        return last->taken_epoch;
    return last->taken > 0 ? snapshot->last.roles.epoch : 0;
}

int64_t in_place_latest_epoch(const struct cluster_member *member)
{
    if (!member_speaks(member))
        return 0;
    return (int64_t)MAX_OF(member->agent->opened_epoch, member->agent->replication.applied_epoch);
}

bool in_place_is_stale(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    int64_t taken = in_place_taken_epoch(snapshot), latest = in_place_latest_epoch(member);
    bool is_listed = (snapshot->last.in_place.stale & UINT64_C(1) << member->ordinal) != 0;
    if (latest == 0 && member_runs(member) && in_place_is_outdated(snapshot)) /* nothing shows that it is of before */
        return false;
    return is_listed && (taken == 0 || latest < taken);
}

uint64_t in_place_still_stale(const struct cluster_snapshot *snapshot)
{
    uint64_t stale = snapshot->last.in_place.stale;
    for (int ordinal = 0; ordinal < CLUSTER_ACKNOWLEDGERS_MAX && stale; ordinal++) {
        const struct cluster_member *member = ordinal < snapshot->member_count ? &snapshot->members[ordinal] : NULL;
        bool is_gone = !member || (!member->pod && !member->claim && !member_is_wanted(snapshot, member));
        bool is_safe =
            member && (member_is_empty(member) || (member_is_seeding(member) && member_data_is_stale(member)));
        if (is_gone || is_safe || !in_place_is_stale(snapshot, member))
            stale &= ~(UINT64_C(1) << ordinal);
    }
    return stale;
}

int64_t in_place_heard_number(const struct cluster_snapshot *snapshot)
{
    uint64_t newest = 0;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct agent_status *agent = snapshot->members[i].agent;
        if (agent)
            newest = MAX_OF(newest, MAX_OF(agent->restored_number, agent->beside_number));
    }
    return newest < NUMBER_MAX ? (int64_t)newest : 0;
}

bool in_place_is_under_way(const struct cluster_snapshot *snapshot)
{
    if (in_place_is_outdated(snapshot))
        return false;
    for (int i = 0; i < snapshot->member_count; i++) { /* one without a pod can only come back in `init` */
        const struct cluster_member *member = &snapshot->members[i];
        if (member->pod && member_is_wanted(snapshot, member) && in_place_is_stale(snapshot, member))
            return true;
    }
    return in_place_holds(snapshot);
}

bool in_place_closes_route(const struct cluster_snapshot *snapshot)
{
    return snapshot->last.in_place.phase == IN_PLACE_PHASE_RESTORING;
}
