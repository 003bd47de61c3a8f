/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/cluster_snapshot.h"

#include "common/hashmap.h"

uint32_t cluster_server_id_base(const char *uid)
{
    uint64_t hash = hash64(HASH64_INIT, uid, strlen(uid));
    return (uint32_t)(((hash >> 16) % 0x0ffffffeULL + 1) << 4);
}

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
