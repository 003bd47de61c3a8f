/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/deletion/volume_hold.h"

#include "operator/cluster/deletion/volume_owner.h"
#include "operator/cluster/state/cluster_roles.h"
#include "operator/cluster/state/final_backup_state.h"

static bool claims_go(const struct cluster_snapshot *snapshot)
{
    return snapshot->cluster.deletion_volumes == DELETION_VOLUMES_DELETE && !snapshot->cluster.storage.volume_source;
}

/* ---- while it lives ---- */

/* One that is being deleted is followed by another. */
static bool lacks_owner(const struct cluster_snapshot *snapshot, const struct pvc_object *claim)
{
    return !claim || claim->object.deleting ||
        (!cluster_owns(snapshot, &claim->object) && !volume_owner_is_foreign(snapshot, claim));
}

/* A claim of a pod that is there or is to be. */
static bool some_claim_lacks_owner(const struct cluster_snapshot *snapshot)
{
    int pods = cluster_wanted_pods(snapshot);
    if (snapshot->stateful_set)
        pods = MAX_OF(pods, snapshot->stateful_set->replicas);
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if ((member->claim || member->ordinal < pods) && lacks_owner(snapshot, member->claim))
            return true;
    }
    return pods > snapshot->member_count;
}

bool volume_hold_is_awaited(const struct cluster_snapshot *snapshot, int pods)
{
    bool grows = !snapshot->stateful_set || pods > snapshot->stateful_set->replicas;
    return grows && claims_go(snapshot) && !snapshot->final.deleting && !snapshot->final.has_finalizer &&
        !snapshot->final.holds_volumes;
}

const char *volume_hold_finalizer(const struct cluster_snapshot *snapshot)
{
    return snapshot->cluster.final_backup ? FINALIZER_FINAL_BACKUP : FINALIZER_VOLUMES;
}

enum volume_hold_act volume_hold_next_act(const struct cluster_snapshot *snapshot)
{
    const struct final_backup_facts *final = &snapshot->final;
    if (final->deleting)
        return final->holds_volumes && cluster_is_let_go(snapshot) && volume_hold_is_settled(snapshot)
            ? VOLUME_HOLD_TAKE
            : VOLUME_HOLD_STANDS;
    if (!snapshot->usable || (snapshot->cluster.final_backup && !final->has_finalizer))
        return VOLUME_HOLD_STANDS;
    bool wanted = claims_go(snapshot) && !snapshot->cluster.final_backup && some_claim_lacks_owner(snapshot);
    if (wanted == final->holds_volumes)
        return VOLUME_HOLD_STANDS;
    return wanted ? VOLUME_HOLD_PUT : VOLUME_HOLD_TAKE;
}

/* ---- while it is let go ---- */

bool volume_hold_removes(const struct cluster_snapshot *snapshot)
{
    return cluster_is_let_go(snapshot) && claims_go(snapshot) && !snapshot->final.orphan;
}

bool volume_hold_stops_set(const struct cluster_snapshot *snapshot)
{
    return volume_hold_removes(snapshot) && snapshot->stateful_set && snapshot->stateful_set->replicas > 0;
}

bool volume_hold_awaits_set(const struct cluster_snapshot *snapshot)
{
    const struct stateful_set_object *set = snapshot->stateful_set;
    return volume_hold_removes(snapshot) && set &&
        (set->replicas > 0 || set->observed_generation < set->object.generation);
}

bool volume_hold_is_settled(const struct cluster_snapshot *snapshot)
{
    return volume_owners_are_settled(snapshot) && !volume_hold_awaits_set(snapshot);
}
