/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/failover/cluster_confirmed.h"

#include "operator/cluster/failover/failover_facts.h"
#include "operator/cluster/failover/reigns.h"
#include "operator/cluster/state/member_view.h"

/* Whose commits are in question: the primary's, or those of the one before it while nobody else is chosen, or open. */
static const struct cluster_member *find_writer(const struct cluster_snapshot *snapshot)
{
    const struct cluster_transition *transition = &snapshot->last.roles.transition;
    const struct cluster_member *primary = cluster_primary(snapshot);
    bool is_moving = cluster_transition_is_set(transition) && (!transition->failover || str_empty(transition->to));
    if (!is_moving || (primary && member_is_open(snapshot, primary)))
        return primary;
    return cluster_member_named(snapshot, transition->from);
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

/* It was told to be primary, or its agent was started anew and has not been told anything. */
static bool takes_writes(const struct cluster_member *writer)
{
    const struct agent_status *agent = writer->agent;
    bool is_untold = agent->role == AGENT_ROLE_NONE && str_empty(agent->order_hash);
    return member_runs(writer) && (agent->role == AGENT_ROLE_PRIMARY || is_untold) && agent_takes_writes(agent);
}

/* By its own word commits need not wait, or some have ended without an acknowledgement: nobody else need hold them. An
 * agent that does not count lapses says that there were none. */
static void weaken_by_word_of(const struct cluster_member *writer, struct cluster_confirmed *confirmed)
{
    if (!writer || !member_speaks(writer))
        return;
    const struct agent_status *agent = writer->agent;
    bool writes = takes_writes(writer);
    if ((writes && !agent->semi_sync) || !knows_lapses(agent, confirmed))
        confirmed->semi_sync = false;
    if (writes && agent->semi_sync_acks > 0)
        confirmed->acks = MIN_OF(confirmed->acks, (int)agent->semi_sync_acks);
}

/* While nobody is chosen the one that was to follow a primary may never have been open: then the commits in question
 * are those of one before it, unless an election has ended since: its reign is not listed any more then. */
static void weaken_by_those_before(const struct cluster_snapshot *snapshot, struct cluster_confirmed *confirmed)
{
    const struct cluster_transition *transition = &snapshot->last.roles.transition;
    char name[DERIVED_NAME_SIZE] = "";
    if (cluster_transition_is_set(transition) && transition->failover && str_empty(transition->to))
        cluster_transition_before(transition, 0, name);
    for (int n = 1; !str_empty(name); n++) {
        if (reigns_index(&snapshot->last.roles.reigns, name) >= 0)
            weaken_by_word_of(cluster_member_named(snapshot, name), confirmed);
        cluster_transition_before(transition, n, name);
    }
}

/* An agent counts from 0 on also when its server has followed somebody: who was primary before may have. */
static bool is_another_reign(const struct cluster_snapshot *snapshot, const struct cluster_intent *intent)
{
    const struct cluster_transition *last = &snapshot->last.roles.transition;
    return cluster_transition_is_set(last) && !cluster_transition_is_set(&intent->roles.transition) &&
        !str_eq(intent->roles.current_primary, last->from);
}

void cluster_confirmed_weaken(const struct cluster_snapshot *snapshot, struct cluster_intent *intent)
{
    struct cluster_confirmed *confirmed = &intent->roles.confirmed;
    const struct cluster_member *writer = find_writer(snapshot);
    bool has_fence = intent->roles.semi_sync || intent->roles.loss_allowed;
    confirmed->semi_sync &= intent->roles.semi_sync;
    if (is_another_reign(snapshot, intent))
        forget_lapses(confirmed);
    weaken_by_those_before(snapshot, confirmed);
    weaken_by_word_of(writer, confirmed);
    if (writer && member_speaks(writer) && takes_writes(writer))
        cluster_confirmed_set_lapses(writer->agent, confirmed);
    confirmed->acks = confirmed->semi_sync ? MIN_OF(confirmed->acks, intent->roles.acks) : 0;
    if (!confirmed->semi_sync)
        forget_lapses(confirmed);
    if (snapshot->scale.effective < 2 || !has_fence || confirmed->self_fence_ms == 0) {
        confirmed->self_fence_ms = confirmed->self_fence_members = 0;
        return;
    }
    confirmed->self_fence_ms = MAX_OF(confirmed->self_fence_ms, (int)failover_self_fence_ms(snapshot));
    confirmed->self_fence_members =
        MIN_OF(confirmed->self_fence_members, intent->roles.loss_allowed ? snapshot->scale.effective - 1 : 1);
}
