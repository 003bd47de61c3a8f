/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/state/namespace_end.h"

bool namespace_end_nobody_stays(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct pod_object *pod = snapshot->members[i].pod;
        if (pod && !pod->object.deleting)
            return false;
    }
    return snapshot->member_count > 0;
}

/* A cluster that never had a pod is new, and one of one member has nobody to hand over to. */
bool namespace_end_is_suspected(const struct cluster_snapshot *snapshot)
{
    bool matters = snapshot->final.deleting || (snapshot->last.roles.initialized && snapshot->scale.effective > 1);
    return matters && !snapshot->namespace_ends && namespace_end_nobody_stays(snapshot);
}
