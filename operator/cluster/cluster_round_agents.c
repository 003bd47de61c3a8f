/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/alloc.h"
#include "common/backoff.h"
#include "operator/cluster/cluster_notes.h"
#include "operator/cluster/cluster_round.h"
#include "operator/cluster/failover_facts.h"
#include "operator/cluster/member_view.h"
#include "operator/cluster/namespace_question.h"
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
    cluster_notes_orders(cluster_round_memory(round), snapshot, orders, clock_monotonic_ms());
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

static void ask_for_namespace(struct cluster_round *round)
{
    struct cluster_controller *controller = round->controller;
    const struct namespace_asker asker = {
        .client = controller->client,
        .config_maps = controller->targets.kinds[PLAN_CONFIG_MAP].resource,
        .memories = &controller->memories,
        .changed = cluster_controller_wake,
        .arg = controller,
    };
    cluster_round_again_in(round, namespace_ask(&asker, cluster_round_memory(round), &round->snapshot));
}

void cluster_round_tell_agents(struct cluster_round *round)
{
    cluster_round_send_orders(round);
    send_mycnf(round);
    tend_restore(round);
    ask_for_namespace(round);
}
