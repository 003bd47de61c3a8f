/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/state/storage_class.h"

#include "operator/cluster/state/member_view.h"

static bool waits(const struct cluster_member *member)
{
    return member->claim && !member->claim->is_bound && !member->claim->object.deleting;
}

/* The API server gives a claim the default class when it is made, or later, when there is one. A class "" that the spec
 * names means volumes that were made beforehand. */
const struct cluster_member *storage_class_suspect(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count && snapshot->usable; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        bool is_named = waits(member) && !str_empty(member->claim->storage_class);
        if (waits(member) && member_is_wanted(snapshot, member) &&
            (is_named || !snapshot->cluster.storage.storage_class_name))
            return member;
    }
    return NULL;
}

void storage_class_note(struct cluster_snapshot *snapshot, const char *missing)
{
    for (int i = 0; i < snapshot->member_count && snapshot->usable && missing; i++) {
        struct cluster_member *member = &snapshot->members[i];
        member->class_missing = waits(member) && member_is_wanted(snapshot, member) &&
            str_eq(str_or_empty(member->claim->storage_class), missing);
    }
}

void storage_class_say(const struct cluster_member *member, char *out, size_t size)
{
    const struct pvc_object *claim = member->claim;
    if (str_empty(claim->storage_class))
        snprintf(
            out, size, "claim %s has no StorageClass: the cluster names none, and none is the default", claim->name);
    else
        snprintf(
            out, size, "claim %s waits for StorageClass %s, which does not exist", claim->name, claim->storage_class);
}
