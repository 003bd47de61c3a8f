/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/deletion/volume_owner.h"

#include "operator/api/pod_reason.h"
#include "operator/cluster/state/final_backup_state.h"

/* Its pod may be given a node at this moment. */
static bool is_being_placed(const struct cluster_snapshot *snapshot, const struct pvc_object *claim)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (member->claim != claim)
            continue;
        return member->pod ? !pod_reason_is_placement(member->pod->problem_reason) : str_empty(member->refused);
    }
    return false;
}

bool volume_owner_is_wanted(const struct cluster_snapshot *snapshot, const struct pvc_object *claim)
{
    if (!claim->is_bound && !cluster_is_let_go(snapshot) && is_being_placed(snapshot, claim))
        return cluster_owns(snapshot, &claim->object);
    return snapshot->cluster.deletion_volumes == DELETION_VOLUMES_DELETE && !final_backup_holds_volumes(snapshot);
}

bool volume_owner_is_foreign(const struct cluster_snapshot *snapshot, const struct pvc_object *claim)
{
    return !cluster_owns(snapshot, &claim->object) && !kube_uid_is_zero(claim->object.owner);
}

bool volume_owners_are_settled(const struct cluster_snapshot *snapshot)
{
    if (snapshot->cluster.storage.volume_source)
        return true;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct pvc_object *claim = snapshot->members[i].claim;
        if (claim && !claim->object.deleting && !volume_owner_is_foreign(snapshot, claim) &&
            cluster_owns(snapshot, &claim->object) != volume_owner_is_wanted(snapshot, claim))
            return false;
    }
    return true;
}
