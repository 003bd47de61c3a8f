/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/state/in_place_state.h"

#include "operator/cluster/state/member_view.h"

bool in_place_holds(const struct cluster_snapshot *snapshot)
{
    enum in_place_phase phase = snapshot->last.in_place.phase;
    return phase == IN_PLACE_PHASE_RESTORING || phase == IN_PLACE_PHASE_TAKING;
}

bool in_place_is_stale(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    return (snapshot->last.in_place.stale & UINT64_C(1) << member->ordinal) != 0;
}

bool in_place_is_under_way(const struct cluster_snapshot *snapshot)
{
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
