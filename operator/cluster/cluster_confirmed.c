/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/cluster_confirmed.h"

#include "common/alloc.h"
#include "operator/cluster/cluster_failover.h"
#include "operator/cluster/failover_election.h"
#include "operator/cluster/member_view.h"

bool cluster_confirmed_same(const struct cluster_confirmed *a, const struct cluster_confirmed *b)
{
    return a->semi_sync == b->semi_sync && a->acks == b->acks && a->lapses == b->lapses &&
        str_eq(a->lapses_boot_id, b->lapses_boot_id) && a->self_fence_ms == b->self_fence_ms &&
        a->self_fence_members == b->self_fence_members;
}

/* ---- less ---- */

/* Whose commits are in question: the primary's, or those of the one before it while nobody else is chosen, or open. */
static const struct cluster_member *find_writer(const struct cluster_snapshot *snapshot)
{
    const struct cluster_transition *transition = &snapshot->last.transition;
    const struct cluster_member *primary = cluster_primary(snapshot);
    bool is_moving = cluster_transition_is_set(transition) && (!transition->failover || str_empty(transition->to));
    if (!is_moving || (primary && member_is_open(snapshot, primary)))
        return primary;
    return cluster_member_named(snapshot, transition->from);
}

static void set_lapses(const struct agent_status *agent, struct cluster_confirmed *confirmed)
{
    confirmed->lapses = (int64_t)agent->semi_sync_lapses;
    snprintf(confirmed->lapses_boot_id, sizeof(confirmed->lapses_boot_id), "%s",
        confirmed->lapses > 0 ? agent->boot_id : "");
}

static void forget_lapses(struct cluster_confirmed *confirmed)
{
    confirmed->lapses = 0;
    confirmed->lapses_boot_id[0] = '\0';
}

/* An agent counts from 0 on when it starts: as many of another process are others. */
static bool knows_lapses(const struct agent_status *agent, const struct cluster_confirmed *confirmed)
{
    return agent->semi_sync_lapses == 0 ||
        ((int64_t)agent->semi_sync_lapses == confirmed->lapses && str_eq(agent->boot_id, confirmed->lapses_boot_id));
}

/* By its own word commits need not wait, or some have ended without an acknowledgement: nobody else need hold them. An
 * agent that does not count lapses says that there were none. */
static void weaken_by_its_word(const struct cluster_snapshot *snapshot, struct cluster_confirmed *confirmed)
{
    const struct cluster_member *writer = find_writer(snapshot);
    if (!writer || !member_speaks(writer))
        return;
    const struct agent_status *agent = writer->agent;
    bool is_untold = agent->role == AGENT_ROLE_NONE && str_empty(agent->order_hash); /* its agent was started anew */
    bool is_primary = agent->role == AGENT_ROLE_PRIMARY || is_untold;
    bool writes = member_runs(writer) && is_primary && agent->writable;
    if ((writes && !agent->semi_sync) || !knows_lapses(agent, confirmed))
        confirmed->semi_sync = false;
    if (writes && agent->semi_sync_acks > 0)
        confirmed->acks = MIN_OF(confirmed->acks, (int)agent->semi_sync_acks);
    if (writes)
        set_lapses(agent, confirmed);
}

/* An agent counts from 0 on also when its server has followed somebody: who was primary before may have. */
static bool is_another_reign(const struct cluster_snapshot *snapshot, const struct cluster_intent *intent)
{
    const struct cluster_transition *last = &snapshot->last.transition;
    return cluster_transition_is_set(last) && !cluster_transition_is_set(&intent->transition) &&
        !str_eq(intent->primary, last->from);
}

void cluster_confirmed_weaken(const struct cluster_snapshot *snapshot, struct cluster_intent *intent)
{
    struct cluster_confirmed *confirmed = &intent->confirmed;
    bool has_fence = intent->semi_sync || intent->loss_allowed;
    confirmed->semi_sync &= intent->semi_sync;
    if (is_another_reign(snapshot, intent))
        forget_lapses(confirmed);
    weaken_by_its_word(snapshot, confirmed);
    confirmed->acks = confirmed->semi_sync ? MIN_OF(confirmed->acks, intent->acks) : 0;
    if (!confirmed->semi_sync)
        forget_lapses(confirmed);
    if (snapshot->cluster.replicas < 2 || !has_fence || confirmed->self_fence_ms == 0) {
        confirmed->self_fence_ms = confirmed->self_fence_members = 0;
        return;
    }
    confirmed->self_fence_ms = MAX_OF(confirmed->self_fence_ms, (int)failover_self_fence_ms(snapshot));
    confirmed->self_fence_members =
        MIN_OF(confirmed->self_fence_members, intent->loss_allowed ? snapshot->cluster.replicas - 1 : 1);
}

/* ---- more ---- */

/* The order in force is the one that would be given now, and what it asks for is done. */
static bool goes_by_our_order(const struct cluster_snapshot *snapshot, const struct cluster_member *primary)
{
    struct cluster_orders *orders = xnew(struct cluster_orders);
    char hash[17];
    ptrdiff_t i = primary - snapshot->members;
    cluster_order(snapshot, orders);
    agent_order_hash(&orders->orders[i], hash);
    bool same = orders->given[i] && str_eq(hash, primary->agent->order_hash);
    free(orders);
    return same && primary->agent->order_done;
}

static const struct cluster_member *find_obedient(const struct cluster_snapshot *snapshot)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    if (!primary || cluster_transition_is_set(&snapshot->last.transition) || snapshot->cluster.replicas < 2 ||
        !member_is_open(snapshot, primary) || primary->agent->isolated)
        return NULL;
    return goes_by_our_order(snapshot, primary) ? primary : NULL;
}

static bool lacks_acks(const struct cluster_snapshot *snapshot, const struct cluster_confirmed *confirmed)
{
    return snapshot->last.semi_sync && (!confirmed->semi_sync || confirmed->acks < snapshot->last.acks);
}

/* It says that commits wait, for as many acknowledgements as they are to. */
static bool shows_acks(const struct cluster_snapshot *snapshot, const struct agent_status *agent)
{
    return agent->semi_sync && (agent->semi_sync_acks == 0 || (int)agent->semi_sync_acks >= snapshot->last.acks);
}

static const char *awaited_position(const struct cluster_snapshot *snapshot, const struct cluster_member *primary)
{
    const struct agent_status *agent = primary->agent;
    bool is_noted = snapshot->awaited_position && str_eq(snapshot->awaited_hash, agent->order_hash) &&
        snapshot->awaited_lapses == agent->semi_sync_lapses &&
        (agent->semi_sync_lapses == 0 || str_eq(snapshot->awaited_boot_id, agent->boot_id));
    return is_noted ? snapshot->awaited_position : agent->gtid_executed;
}

void cluster_confirmed_strengthen(const struct cluster_snapshot *snapshot, struct cluster_confirmed *ret)
{
    const struct cluster_member *primary = find_obedient(snapshot);
    if (!primary)
        return;
    if (failover_has_fence(snapshot)) {
        ret->self_fence_ms = (int)failover_self_fence_ms(snapshot);
        ret->self_fence_members = failover_has_lease(snapshot) ? snapshot->cluster.replicas - 1 : 1;
    }
    if (!lacks_acks(snapshot, ret) || !shows_acks(snapshot, primary->agent) ||
        !acknowledgers_cover(snapshot, primary, awaited_position(snapshot, primary), NULL))
        return;
    ret->semi_sync = true;
    ret->acks = snapshot->last.acks;
    set_lapses(primary->agent, ret);
}

bool cluster_confirmed_is_awaited(const struct cluster_snapshot *snapshot)
{
    const struct cluster_member *primary =
        lacks_acks(snapshot, &snapshot->last.confirmed) ? find_obedient(snapshot) : NULL;
    return primary && shows_acks(snapshot, primary->agent);
}

/* ---- what may be believed ---- */

int cluster_confirmed_acks(const struct cluster_snapshot *snapshot)
{
    const struct cluster_status *last = &snapshot->last;
    return last->semi_sync && last->confirmed.semi_sync ? MIN_OF(last->acks, last->confirmed.acks) : 0;
}

bool cluster_confirmed_lease(const struct cluster_snapshot *snapshot)
{
    const struct cluster_confirmed *confirmed = &snapshot->last.confirmed;
    return failover_has_lease(snapshot) && confirmed->self_fence_ms > 0 &&
        confirmed->self_fence_members >= snapshot->cluster.replicas - 1;
}

int64_t cluster_confirmed_fence_ms(const struct cluster_snapshot *snapshot)
{
    return MAX_OF(failover_self_fence_ms(snapshot), (int64_t)snapshot->last.confirmed.self_fence_ms);
}
