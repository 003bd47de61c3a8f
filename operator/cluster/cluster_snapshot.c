/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/cluster_snapshot.h"

const char *cluster_take_position(const struct cluster_snapshot *snapshot, const char *position)
{
    return position_take(snapshot->last.positions, position);
}

bool cluster_owns(const struct cluster_snapshot *snapshot, const struct kube_object *object)
{
    return kube_uid_eq(object->owner, kube_uid_parse(snapshot->uid, strlen(snapshot->uid)));
}

bool cluster_member_is_ready(const struct cluster_member *member)
{
    return member->pod && member->pod->ready && !member->pod->object.deleting;
}
