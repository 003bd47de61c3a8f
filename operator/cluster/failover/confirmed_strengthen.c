/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/failover/cluster_confirmed.h"
#include "operator/cluster/failover/cluster_failover.h"
#include "operator/cluster/failover/failover_facts.h"
#include "operator/cluster/state/member_view.h"

bool cluster_primary_obeys(const struct cluster_snapshot *snapshot, const struct cluster_orders *orders)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    if (!primary || !member_speaks(primary))
        return false;
    char hash[17];
    ptrdiff_t i = primary - snapshot->members;
    agent_order_hash(&orders->orders[i], hash);
    return orders->given[i] && str_eq(hash, primary->agent->order_hash) && primary->agent->order_done;
}

static const struct cluster_member *find_obedient(const struct cluster_snapshot *snapshot, bool primary_obeys)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    if (!primary || !primary_obeys || cluster_transition_is_set(&snapshot->last.roles.transition) ||
        snapshot->scale.effective < 2 || !member_is_open(snapshot, primary) || primary->agent->isolated)
        return NULL;
    return primary;
}

static bool lacks_acks(const struct cluster_snapshot *snapshot, const struct cluster_confirmed *confirmed)
{
    return snapshot->last.roles.semi_sync && (!confirmed->semi_sync || confirmed->acks < snapshot->last.roles.acks);
}

/* It says that commits wait, for as many acknowledgements as they are to. */
static bool shows_acks(const struct cluster_snapshot *snapshot, const struct agent_status *agent)
{
    return agent->semi_sync && (agent->semi_sync_acks == 0 || (int)agent->semi_sync_acks >= snapshot->last.roles.acks);
}

static const char *awaited_position(const struct cluster_snapshot *snapshot, const struct cluster_member *primary)
{
    const struct agent_status *agent = primary->agent;
    bool is_noted = snapshot->awaited_position && str_eq(snapshot->awaited_hash, agent->order_hash) &&
        snapshot->awaited_lapses == agent->semi_sync_lapses &&
        (agent->semi_sync_lapses == 0 || str_eq(snapshot->awaited_boot_id, agent->boot_id));
    return is_noted ? snapshot->awaited_position : agent->gtid_executed;
}

void cluster_confirmed_strengthen(
    const struct cluster_snapshot *snapshot, bool primary_obeys, struct cluster_confirmed *ret)
{
    const struct cluster_member *primary = find_obedient(snapshot, primary_obeys);
    if (!primary)
        return;
    if (failover_has_fence(snapshot)) {
        ret->self_fence_ms = (int)failover_self_fence_ms(snapshot);
        ret->self_fence_members = failover_has_lease(snapshot) ? snapshot->scale.effective - 1 : 1;
    }
    if (!lacks_acks(snapshot, ret) || !shows_acks(snapshot, primary->agent) ||
        !acknowledgers_cover(snapshot, primary, awaited_position(snapshot, primary), NULL))
        return;
    ret->semi_sync = true;
    ret->acks = snapshot->last.roles.acks;
    cluster_confirmed_set_lapses(primary->agent, ret);
}

bool cluster_confirmed_is_awaited(const struct cluster_snapshot *snapshot, bool primary_obeys)
{
    const struct cluster_member *primary =
        lacks_acks(snapshot, &snapshot->last.roles.confirmed) ? find_obedient(snapshot, primary_obeys) : NULL;
    return primary && shows_acks(snapshot, primary->agent);
}
