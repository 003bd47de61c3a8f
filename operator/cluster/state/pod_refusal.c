/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/state/pod_refusal.h"

#include "operator/cluster/state/member_view.h"

const struct cluster_member *pod_refusal_suspect(const struct cluster_snapshot *snapshot)
{
    const struct stateful_set_object *set = snapshot->stateful_set;
    bool is_tended = snapshot->usable && !snapshot->cluster.paused && !snapshot->namespace_ends &&
        !snapshot->final.deleting && set && !set->object.deleting;
    for (int i = 0; i < snapshot->member_count && is_tended; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (!member->pod && member->ordinal < set->replicas && member_is_wanted(snapshot, member))
            return member;
    }
    return NULL;
}
