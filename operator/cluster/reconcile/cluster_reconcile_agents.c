/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/alloc.h"
#include "common/backoff.h"
#include "common/json.h"
#include "common/log.h"
#include "operator/cluster/failover/failover_facts.h"
#include "operator/cluster/reconcile/cluster_notes.h"
#include "operator/cluster/reconcile/cluster_reconcile.h"
#include "operator/cluster/reconcile/namespace_question.h"
#include "operator/cluster/reconcile/pod_question.h"
#include "operator/cluster/reconcile/restore_tend.h"
#include "operator/cluster/reconcile/roll_keeper.h"
#include "operator/cluster/reconcile/storage_class_question.h"
#include "operator/cluster/reconcile/template_question.h"
#include "operator/cluster/rollout/cluster_gate.h"
#include "operator/cluster/state/binlog_claims.h"
#include "operator/cluster/state/member_view.h"
#include "operator/cluster/status/cluster_events.h"

/* After a pause of this process somebody else may lead: then our orders are old, and our word must not keep a primary
 * open. */
static bool may_tell_agents(void *arg)
{
    return manager_leads(arg);
}

/* When a member that has departed is to be looked at again: its silence is no event. */
static int64_t departed_again_ms(const struct cluster_reconcile *reconcile, const struct cluster_member *member)
{
    const struct agent_fleet *fleet = reconcile->controller->sources.fleet;
    int64_t rest_ms = member->agent_connected
        ? CLUSTER_DEPARTED_SILENCE_MS - member->silent_ms
        : AGENT_FLEET_DEPARTED_MS - MAX_OF(0, agent_fleet_departed_ms(fleet, reconcile->context.key, member->name));
    return MAX_OF(rest_ms, 0) + 10;
}

void cluster_reconcile_sync_agents(struct cluster_reconcile *reconcile)
{
    const struct cluster_snapshot *snapshot = &reconcile->snapshot;
    struct agent_fleet_member members[CLUSTER_REPLICAS_MAX + 1];
    char names[CLUSTER_REPLICAS_MAX + 1][KUBE_NAME_MAX + 1];
    char uids[CLUSTER_REPLICAS_MAX + 1][KUBE_UID_TEXT_SIZE];
    size_t count = 0;
    for (int i = 0; i < snapshot->member_count && snapshot->secrets.client_tls; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (member->departed)
            reconcile_again_in(&reconcile->context, departed_again_ms(reconcile, member));
        if (!member->departed && !cluster_member_has_agent(member))
            continue;
        members[count] = (struct agent_fleet_member){.name = member->name, .keep = member->departed};
        if (cluster_member_has_agent(member)) {
            snprintf(names[count], sizeof(names[count]), "%s.%s.%s.svc", member->name, snapshot->names.service,
                snapshot->ns);
            kube_uid_print(member->pod->object.uid, uids[count]);
            members[count].target = (struct agent_target){member->pod->pod_ip, names[count], AGENT_PORT_TLS,
                snapshot->secrets.client_tls, may_tell_agents, reconcile->controller->manager,
                failover_silence_ms(snapshot), member->name, uids[count]};
        }
        count++;
    }
    agent_fleet_sync(reconcile->controller->sources.fleet, reconcile->context.key, members, count);
}

void cluster_reconcile_send_orders(struct cluster_reconcile *reconcile)
{
    const struct cluster_snapshot *snapshot = &reconcile->snapshot;
    struct cluster_orders *orders = xnew(struct cluster_orders);
    cluster_order(snapshot, &reconcile->decision.intent, orders);
    reconcile->decision.primary_obeys = cluster_primary_obeys(snapshot, orders);
    for (int i = 0; i < snapshot->member_count; i++) {
        if (orders->given[i])
            agent_fleet_order(reconcile->controller->sources.fleet, reconcile->context.key, snapshot->members[i].name,
                &orders->orders[i]);
        agent_fleet_repeat_order(
            reconcile->controller->sources.fleet, reconcile->context.key, snapshot->members[i].name, orders->repeat[i]);
    }
    cluster_notes_orders(cluster_reconcile_memory(reconcile), snapshot, orders, clock_monotonic_ms());
    if (cluster_notes_check(cluster_reconcile_memory(reconcile), snapshot))
        cluster_events_server_tried(manager_events(reconcile->controller->manager),
            reconcile->controller->cluster_resource, snapshot, cluster_check_cut(snapshot));
    reconcile_again_in(&reconcile->context, orders->again_ms);
    free(orders);
}

static void send_mycnf(struct cluster_reconcile *reconcile)
{
    const struct cluster_snapshot *snapshot = &reconcile->snapshot;
    if (!cluster_may_give_mycnf(snapshot, &reconcile->decision))
        return;
    const struct cluster_member *member = cluster_next_for_mycnf(snapshot);
    if (member)
        agent_fleet_mycnf(reconcile->controller->sources.fleet, reconcile->context.key, member->name,
            snapshot->mycnf_hash, snapshot->mycnf);
}

/* Positions move without an event: while somebody waits for others to have more, it is looked at again. */
#define PURGE_AGAIN_MS 2000

static void grant_purge(
    struct cluster_reconcile *reconcile, const struct cluster_member *member, const struct binlog_claims *claims)
{
    struct task_sender *sender =
        agent_fleet_purge(reconcile->controller->sources.fleet, reconcile->context.key, member->name);
    const char *wish = member->agent->purge_wish;
    if (!sender)
        return;
    _cleanup_(json_decrefp) json_t *grant = json_build("{s:s}", "wish", wish);
    _cleanup_(freep) char *text = json_text(grant);
    if (!str_eq(member->agent->purge_granted, wish))
        log_info("binary logs may go: nobody lacks what is in them", LOG_STR("cluster", reconcile->context.key),
            LOG_STR("member", member->name), LOG_STR("until", member->agent->purge_until),
            LOG_STR("copiedAnew", claims->lapsed ? claims->lapsed->name : ""));
    task_sender_want(sender, "cluster", wish, text);
}

/* What a member that is asked for nothing any more was granted does no harm: it holds for that very wish. */
static void tend_binlogs(struct cluster_reconcile *reconcile)
{
    const struct cluster_snapshot *snapshot = &reconcile->snapshot;
    for (int i = 0; i < snapshot->member_count; i++) {
        struct binlog_claims claims;
        binlog_claims_look(snapshot, &snapshot->members[i], &claims);
        if (!claims.is_wished)
            continue;
        if (claims.is_free)
            grant_purge(reconcile, &snapshot->members[i], &claims);
        else
            reconcile_again_in(&reconcile->context, PURGE_AGAIN_MS);
    }
}

static void ask_about_mycnf(struct cluster_reconcile *reconcile)
{
    const struct cluster_snapshot *snapshot = &reconcile->snapshot;
    const struct cluster_member *asked = reconcile->decision.asks_preview ? desired_check_asked(snapshot) : NULL;
    if (asked)
        agent_fleet_preview(reconcile->controller->sources.fleet, reconcile->context.key, asked->name,
            snapshot->mycnf_hash, snapshot->mycnf);
}

static void tend_restore(struct cluster_reconcile *reconcile)
{
    struct cluster_controller *controller = reconcile->controller;
    const struct restore_lookup_options options = {
        .loop = controller->loop,
        .client = controller->client,
        .secrets = controller->targets.kinds[PLAN_SECRET].resource,
        .backups = controller->backup_resource,
        .changed = cluster_controller_wake,
        .arg = controller,
    };
    restore_tend(&reconcile->snapshot, cluster_reconcile_memory(reconcile), &options, controller->sources.fleet);
}

/* The template that is asked about may be another than the one in force; a pod is asked for of that one alone, as it is
 * what the StatefulSet controller tries. */
static void ask_api_server(struct cluster_reconcile *reconcile)
{
    struct cluster_controller *controller = reconcile->controller;
    struct cluster_memory *memory = cluster_reconcile_memory(reconcile);
    const struct cluster_snapshot *snapshot = &reconcile->snapshot;
    const struct api_asker asker = {
        .client = controller->client,
        .pods = controller->targets.kinds[PLAN_POD].resource,
        .claims = controller->targets.kinds[PLAN_VOLUME_CLAIM].resource,
        .config_maps = controller->targets.kinds[PLAN_CONFIG_MAP].resource,
        .storage_classes = controller->storage_class_resource,
        .memories = &controller->memories,
        .changed = cluster_controller_wake,
        .arg = controller,
    };
    reconcile_again_in(&reconcile->context, namespace_ask(&asker, memory, snapshot));
    reconcile_again_in(&reconcile->context, storage_class_ask(&asker, memory, snapshot));
    if (reconcile->decision.asks_template)
        reconcile_again_in(&reconcile->context, template_ask(&asker, memory, snapshot));
    const struct roll_keeper keeper = {.client = controller->client,
        .sets = controller->targets.kinds[PLAN_STATEFUL_SET].resource,
        .config_maps = controller->targets.kinds[PLAN_CONFIG_MAP].resource,
        .memories = &controller->memories,
        .changed = cluster_controller_wake,
        .arg = controller};
    reconcile_again_in(
        &reconcile->context, roll_keeper_tend(&keeper, memory, snapshot, reconcile->decision.asks_before));
    if (cluster_child_is_as_wanted(snapshot, &reconcile->decision, CHILD_STATEFUL_SET))
        reconcile_again_in(&reconcile->context, pod_ask(&asker, memory, snapshot));
}

void cluster_reconcile_look_at_agents(struct cluster_reconcile *reconcile)
{
    cluster_reconcile_sync_agents(reconcile);
    cluster_intend(&reconcile->snapshot, false, &reconcile->decision.intent);
    cluster_reconcile_send_orders(reconcile);
}

void cluster_reconcile_tell_agents(struct cluster_reconcile *reconcile)
{
    send_mycnf(reconcile);
    tend_binlogs(reconcile);
    ask_about_mycnf(reconcile);
    tend_restore(reconcile);
    ask_api_server(reconcile);
}

/* ---- the phase ---- */

/* Others wait for their children: the status of this one, which costs the server as much as four of them, is left to
 * the reconcile that what was written brings anyway. That one has nothing to write and reports, so this happens once a
 * change. */
static bool may_report_later(const struct cluster_reconcile *reconcile)
{
    return reconcile->executed && !reconcile->context.error.kind && controller_has_due(reconcile->controller->runtime);
}

/* Likewise, and nobody else need wait: the answer is on its way, and brings the reconcile that goes on. One that does
 * not come is told by the next, which has nothing to write. */
static bool awaits_first_answer(const struct cluster_reconcile *reconcile)
{
    return reconcile->executed && !reconcile->context.error.kind && reconcile->decision.set_waits &&
        reconcile->decision.gate_reason == REASON_OTHER;
}

int cluster_phase_agents(void *arg)
{
    struct cluster_reconcile *reconcile = arg;
    if (reconcile->executed)
        cluster_reconcile_look_at_agents(reconcile);
    cluster_reconcile_tell_agents(reconcile);
    if (may_report_later(reconcile)) {
        controller_enqueue(reconcile->controller->runtime, reconcile->context.key);
        return CLUSTER_PHASE_DONE;
    }
    if (awaits_first_answer(reconcile))
        return CLUSTER_PHASE_DONE;
    if (cluster_primary_is_about_to_change(&reconcile->snapshot)) {
        reconcile_again_in(&reconcile->context, CLUSTER_FAILOVER_REPORT_MS);
        return CLUSTER_PHASE_DONE;
    }
    return cluster_reconcile_wants_secrets(reconcile) ? CLUSTER_PHASE_SECRETS : CLUSTER_PHASE_BINDING;
}
