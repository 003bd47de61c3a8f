/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/deletion/hibernation.h"

#include "operator/cluster/failover/cluster_failover.h"
#include "operator/cluster/failover/failover_facts.h"
#include "operator/cluster/failover/reigns.h"
#include "operator/cluster/state/in_place_state.h"
#include "operator/cluster/state/member_view.h"

static bool is_closed(const struct cluster_snapshot *snapshot)
{
    return snapshot->last.roles.reigns.count > 0 && snapshot->last.roles.reigns.list[0].closed;
}

/* It runs, is not on its way out, and nothing else is being changed. Where the status is of the past another one may
 * have been primary since: all are stopped as they are, and on waking that is found out. */
static const struct cluster_member *find_primary(const struct cluster_snapshot *snapshot)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    bool can_be_closed = snapshot->usable && snapshot->last.roles.initialized && primary && member_runs(primary) &&
        primary->pod && !primary->pod->object.deleting && position_is_whole(primary->agent->gtid_executed) &&
        !cluster_transition_is_set(&snapshot->last.roles.transition) && !in_place_is_under_way(snapshot) &&
        !failover_status_is_old(snapshot);
    return can_be_closed ? primary : NULL;
}

bool hibernation_goes_on(const struct cluster_snapshot *snapshot)
{
    return snapshot->scale.effective == 0 && !is_closed(snapshot) && find_primary(snapshot);
}

/* It may be opened once more by an order of this epoch that is still on its way. Not under the epoch that was begun to
 * close it: there it is waited for. Each new epoch would be a new order, and while it takes that up it is writable. */
static bool was_told_to_open(const struct cluster_snapshot *snapshot, const struct cluster_member *primary)
{
    bool is_being_closed = snapshot->closing_epoch == snapshot->last.roles.epoch;
    return primary->agent->epoch == (uint64_t)snapshot->last.roles.epoch &&
        (primary->agent->role == AGENT_ROLE_PRIMARY || (primary->agent->writable && !is_being_closed));
}

static const struct cluster_member *find_behind(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary)
{
    char host[AGENT_HOST_SIZE];
    cluster_member_host(snapshot, primary, host);
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        bool receives = member != primary && member_runs(member) && member->pod && !member->pod->object.deleting &&
            member->agent->replication.receiver == AGENT_THREAD_RUNNING && !member->agent->replication.source_lost &&
            str_eq(member->agent->replication.source_host, host);
        if (receives && !failover_has_received(member, primary->agent->gtid_executed))
            return member;
    }
    return NULL;
}

static void close_reign(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, struct cluster_intent *intent)
{
    struct cluster_reign *latest = &intent->roles.reigns.list[0];
    reigns_in_force(snapshot, &intent->roles.reigns);
    intent->roles.reigns.count = 1;
    snprintf(latest->primary, sizeof(latest->primary), "%s", primary->name);
    latest->floor = cluster_take_position(snapshot, primary->agent->gtid_executed);
    latest->floor_is_partial = false;
    latest->closed = true;
}

void hibernation_intend(const struct cluster_snapshot *snapshot, struct cluster_intent *intent)
{
    const struct cluster_member *primary = find_primary(snapshot);
    const struct cluster_member *behind = primary ? find_behind(snapshot, primary) : NULL;
    if (!hibernation_goes_on(snapshot))
        return;
    intent->again_ms = 1000;
    if (was_told_to_open(snapshot, primary))
        intent->roles.epoch = cluster_newest_epoch(snapshot) + 1;
    else if (!member_is_fenced(snapshot, primary))
        cluster_intent_say(
            intent, "stop all members (spec.replicas is 0); waits until %s has stopped writes", primary->name);
    else if (behind)
        cluster_intent_say(intent, "stop all members (spec.replicas is 0); waits until %s has received what %s has",
            behind->name, primary->name);
    else
        close_reign(snapshot, primary, intent);
}

bool hibernation_order(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    return !hibernation_goes_on(snapshot) || member == cluster_primary(snapshot);
}

bool hibernation_is_waking(const struct cluster_snapshot *snapshot)
{
    return is_closed(snapshot) && snapshot->scale.effective > 0;
}

/* Nobody else can have what it lacks: a cluster of one whose volume was restored on purpose, for instance. */
static bool is_alone(const struct cluster_snapshot *snapshot, const struct cluster_member *primary)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        if (&snapshot->members[i] != primary && member_may_hold_data(&snapshot->members[i]))
            return false;
    }
    return true;
}

void hibernation_wake(const struct cluster_snapshot *snapshot, struct cluster_intent *intent)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    const struct cluster_reign *closed = &snapshot->last.roles.reigns.list[0];
    if (!primary || !member_runs(primary))
        return;
    bool has_floor = failover_has_received(primary, closed->floor);
    if (!has_floor && !is_alone(snapshot, primary)) {
        cluster_intent_say(intent,
            "open %s for writes; blocked: it lacks what it had when all members were stopped, and another volume may "
            "have it",
            primary->name);
        return;
    }
    const char *floor = has_floor ? closed->floor : cluster_take_position(snapshot, primary->agent->gtid_executed);
    intent->roles.epoch = cluster_newest_epoch(snapshot) + 1;
    reigns_begin(primary, intent->roles.epoch, floor, snapshot->last.roles.reigns.count, &intent->roles.reigns);
}
