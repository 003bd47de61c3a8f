#include "common/base.h"

#include "common/alloc.h"
#include "common/backoff.h"
#include "operator/cluster/cluster_failover.h"
#include "operator/cluster/cluster_round.h"
#include "operator/cluster/failover_election.h"
#include "operator/cluster/member_view.h"
#include "operator/cluster/restore_tend.h"

/* After a pause of this process somebody else may lead: then our orders are old, and our word must not keep a primary
 * open. */
static bool may_tell_agents(void *arg)
{
    return manager_leads(arg);
}

void cluster_round_sync_agents(struct cluster_round *round)
{
    const struct cluster_snapshot *snapshot = &round->snapshot;
    struct agent_fleet_member members[CLUSTER_REPLICAS_MAX + 1];
    char names[CLUSTER_REPLICAS_MAX + 1][KUBE_NAME_MAX + 1];
    char uids[CLUSTER_REPLICAS_MAX + 1][KUBE_UID_TEXT_SIZE];
    size_t count = 0;
    for (int i = 0; i < snapshot->member_count && snapshot->secrets.client_tls; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (!cluster_member_has_agent(member))
            continue;
        snprintf(
            names[count], sizeof(names[count]), "%s.%s.%s.svc", member->name, snapshot->names.service, snapshot->ns);
        kube_uid_print(member->pod->object.uid, uids[count]);
        members[count] = (struct agent_fleet_member){
            .name = member->name,
            .target = {member->pod->pod_ip, names[count], AGENT_PORT_TLS, snapshot->secrets.client_tls, may_tell_agents,
                round->controller->manager, failover_silence_ms(snapshot), member->name, uids[count]},
        };
        count++;
    }
    agent_fleet_sync(round->controller->sources.fleet, round->key, members, count);
}

/* Since when the old primary of a switchover is out of service: what its clients feel. */
static void note_fence(struct cluster_round *round, const struct cluster_orders *orders)
{
    struct cluster_memory *memory = cluster_round_memory(round);
    const struct cluster_snapshot *snapshot = &round->snapshot;
    if (!cluster_transition_is_set(&snapshot->last.transition)) {
        memory->fenced_since_ms = 0;
        return;
    }
    for (int i = 0; i < snapshot->member_count; i++) {
        bool told = orders->given[i] && orders->orders[i].role == AGENT_ROLE_NONE;
        if (told && str_eq(snapshot->members[i].name, snapshot->last.transition.from) && memory->fenced_since_ms == 0)
            memory->fenced_since_ms = snapshot->now_ms;
    }
}

static bool anybody_is_held(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        if (member_is_held(snapshot, &snapshot->members[i]))
            return true;
    }
    return false;
}

static void note_stopped(struct cluster_memory *memory, const struct cluster_snapshot *snapshot)
{
    int64_t now_ms = clock_monotonic_ms();
    for (int i = 0; i < snapshot->member_count; i++)
        cluster_memory_note_stopped(
            memory, snapshot->members[i].ordinal, acknowledgers_has_stopped(snapshot, &snapshot->members[i]), now_ms);
}

/* Since when the primary is not there, and since when a lost one hears less than all others. */
static void note_loss(struct cluster_round *round)
{
    struct cluster_memory *memory = cluster_round_memory(round);
    const struct cluster_snapshot *snapshot = &round->snapshot;
    const struct cluster_transition *transition = &snapshot->last.transition;
    const struct cluster_member *primary = cluster_primary(snapshot);
    note_stopped(memory, snapshot);
    if (primary && member_is_open(snapshot, primary))
        memory->lost_since_ms = 0;
    else if (memory->lost_since_ms == 0)
        memory->lost_since_ms = snapshot->now_ms;
    cluster_memory_note_held(
        memory, transition->failover ? transition->epoch : 0, anybody_is_held(snapshot), clock_monotonic_ms());
    if (!transition->failover) {
        memory->failover_times = (struct failover_times){0};
        return;
    }
    if (memory->failover_times.written_ms == 0 && str_empty(transition->to))
        memory->failover_times.written_ms = snapshot->now_ms;
    if (str_empty(transition->to)) /* not yet, or not any more: the next one is given its own time to open */
        memory->failover_times.chosen_ms = 0;
    else if (memory->failover_times.chosen_ms == 0)
        memory->failover_times.chosen_ms = snapshot->now_ms;
}

void cluster_round_send_orders(struct cluster_round *round)
{
    const struct cluster_snapshot *snapshot = &round->snapshot;
    struct cluster_orders *orders = xnew(struct cluster_orders);
    cluster_order(snapshot, orders);
    for (int i = 0; i < snapshot->member_count; i++) {
        if (orders->given[i])
            agent_fleet_order(
                round->controller->sources.fleet, round->key, snapshot->members[i].name, &orders->orders[i]);
        agent_fleet_repeat_order(
            round->controller->sources.fleet, round->key, snapshot->members[i].name, orders->repeat[i]);
    }
    note_fence(round, orders);
    note_loss(round);
    cluster_round_again_in(round, orders->again_ms);
    free(orders);
}

static void send_mycnf(struct cluster_round *round)
{
    const struct cluster_snapshot *snapshot = &round->snapshot;
    if (!cluster_may_give_mycnf(snapshot, &round->decision))
        return;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (member_takes_up_mycnf(snapshot, member) && member_runs(member))
            agent_fleet_mycnf(
                round->controller->sources.fleet, round->key, member->name, snapshot->mycnf_hash, snapshot->mycnf);
    }
}

static void tend_restore(struct cluster_round *round)
{
    struct cluster_controller *controller = round->controller;
    const struct restore_lookup_options options = {
        .loop = controller->loop,
        .client = controller->client,
        .secrets = controller->targets.kinds[PLAN_SECRET].resource,
        .backups = controller->backup_resource,
        .changed = cluster_controller_wake,
        .arg = controller,
    };
    restore_tend(&round->snapshot, cluster_round_memory(round), &options, controller->sources.fleet);
}

void cluster_round_tell_agents(struct cluster_round *round)
{
    cluster_round_send_orders(round);
    send_mycnf(round);
    tend_restore(round);
}
