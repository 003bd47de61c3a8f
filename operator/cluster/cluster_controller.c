#include "common/base.h"

#include "operator/cluster/cluster_controller.h"

#include "common/alloc.h"
#include "common/backoff.h"
#include "common/json.h"
#include "common/log.h"
#include "operator/api/api_kinds.h"
#include "operator/cluster/cluster_confirmed.h"
#include "operator/cluster/cluster_events.h"
#include "operator/cluster/cluster_gather.h"
#include "operator/cluster/cluster_maps.h"
#include "operator/cluster/cluster_metrics.h"
#include "operator/cluster/cluster_report.h"
#include "operator/cluster/cluster_report_roles.h"
#include "operator/cluster/cluster_secrets.h"
#include "operator/cluster/failover_election.h"
#include "operator/cluster/final_backup_tend.h"
#include "operator/cluster/member_view.h"
#include "operator/cluster/restore_tend.h"
#include "operator/plan/plan_executor.h"

/* Somebody else's object in our way: only they can change that. */
#define FOREIGN_RECHECK_MS 30000
/* Writes of one round about roles: first primary, its opening, acknowledgements. More are a bug, and come with the next round. */
#define INTENTS_MAX 4

/* A failover that takes longer is told of. */
#define FAILOVER_REPORT_MS 2000

struct cluster_controller {
    struct manager *manager;
    struct loop *loop;
    struct kube_client *client;
    struct cluster_controller_options options;
    const struct kube_resource *cluster_resource, *backup_resource;
    struct cluster_sources sources;
    struct plan_targets targets;
    struct desired_versions versions;
    struct strbuf slice_version, budget_version;
    struct controller *runtime;
    struct cluster_memories memories;
    uint64_t random_state;
};

/*
 * One reconcile under way: look, plan, Secrets if they are due, report. Secrets that were never made come before the plan. The snapshot is parsed once
 * and looked at again after every wait; it holds the cluster's UID, so a round never goes on with another cluster of the same name.
 */
struct round {
    struct cluster_controller *controller;
    struct reconcile *run;
    char *key;
    struct cluster_snapshot snapshot;
    struct cluster_decision decision;
    bool planned;
    bool recheck_soon;
    int intents;                     /* written in this round */
    int64_t again_ms;                /* look again then, 0: at the usual time */
    enum final_backup_act final_act; /* after the status */
    struct error error;
    enum plan_kind error_kind;
};

static void round_plan(struct round *round);
static void round_report(struct round *round);

/* ---- looking ---- */

static struct cluster_memory *round_memory(const struct round *round)
{
    return cluster_memories_get(&round->controller->memories, round->key, round->snapshot.uid);
}

static bool round_look_again(struct round *round)
{
    return cluster_gather_again(
        &round->controller->sources, round_memory(round), round->key, clock_realtime_ms(), &round->snapshot);
}

static void look_again_in(struct round *round, int64_t ms)
{
    if (ms > 0)
        round->again_ms = round->again_ms > 0 ? MIN_OF(round->again_ms, ms) : ms;
}

static void cluster_forget(struct cluster_controller *controller, const char *key)
{
    agent_fleet_sync(controller->sources.fleet, key, NULL, 0);
    cluster_memories_forget(&controller->memories, key);
}

/* ---- the end of a round ---- */

static void round_free(struct round *round)
{
    cluster_decision_release(&round->decision);
    cluster_snapshot_release(&round->snapshot);
    free(round->key);
    free(round);
}

/* Spread, so that a thousand clusters do not come back in the same second. */
static int64_t recheck_ms(struct round *round)
{
    int64_t period = round->recheck_soon ? CLUSTER_SECRETS_RECHECK_SOON_MS : CLUSTER_SECRETS_RECHECK_MS;
    return period - (int64_t)(random_next(&round->controller->random_state) % (uint64_t)(period / 5));
}

static void round_finish(struct round *round)
{
    struct reconcile *run = round->run;
    int64_t again_ms = recheck_ms(round);
    if (round->again_ms > 0)
        again_ms = MIN_OF(again_ms, round->again_ms);
    struct error error = round->error;
    round_free(round);
    if (error.kind == ERROR_EXISTS)
        reconcile_finish(run, NULL, FOREIGN_RECHECK_MS);
    else if (error.kind)
        reconcile_finish(run, &error, 0);
    else
        reconcile_finish(run, NULL, again_ms);
}

/* It was deleted meanwhile, or made again: the event of that brings its key back. */
static void round_abandon(struct round *round)
{
    struct reconcile *run = round->run;
    round_free(round);
    reconcile_finish(run, NULL, 0);
}

static void on_final_tended(void *arg, int64_t again_ms, const struct error *err)
{
    struct round *round = arg;
    look_again_in(round, again_ms);
    if (err && !round->error.kind)
        round->error = *err;
    round_finish(round);
}

/* The last thing in a round, so that one that fails holds up nothing else. */
static void round_end(struct round *round)
{
    struct cluster_controller *controller = round->controller;
    const struct final_backup_tender tender = {
        .client = controller->client,
        .clusters = controller->cluster_resource,
        .backups = controller->backup_resource,
        .cluster_cache = controller->sources.clusters,
        .backup_cache = controller->sources.backups,
        .memories = &controller->memories,
    };
    final_backup_tend(&tender, &round->snapshot, round->final_act, on_final_tended, round);
}

static void on_status_written(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct round *round = arg;
    if (!err)
        informer_observe_write(round->controller->sources.clusters, answer);
    else if (err->kind != ERROR_NOT_FOUND && !round->error.kind) {
        round->error = *err;
        error_prefix(&round->error, "status");
    }
    if (err)
        round_finish(round);
    else
        round_end(round);
}

/* Under the version that was read: a newer spec is reported by the round that it brings. */
static void send_status(struct round *round, const struct cluster_status *status,
    void (*done)(void *arg, const struct kube_answer *answer, const struct error *err))
{
    const struct cluster_controller *controller = round->controller;
    const struct cluster_snapshot *snapshot = &round->snapshot;
    json_t *body = json_build("{s:s, s:s, s:{s:s, s:s, s:s, s:s}, s:o}", "apiVersion", KM_API_GROUP_VERSION, "kind",
        kube_kind_mysql_cluster.kind, "metadata", "name", snapshot->name, "namespace", snapshot->ns, "uid",
        snapshot->uid, "resourceVersion", snapshot->version, "status", cluster_status_encode(status));
    kube_apply_status(controller->client, controller->cluster_resource, body, done, round);
    json_decref(body);
}

static void round_report(struct round *round)
{
    struct cluster_controller *controller = round->controller;
    const struct cluster_snapshot *snapshot = &round->snapshot;
    const struct cluster_outcome outcome = {round->error.kind ? &round->error : NULL, round->error_kind};
    struct cluster_status status;
    cluster_report(snapshot, &round->decision, &outcome, &status);
    round->recheck_soon = snapshot->cluster.password_secret_name || cluster_snapshot_has_mounting_pod(snapshot);
    if (cluster_epoch_spreads(snapshot))
        look_again_in(round, CLUSTER_EPOCH_SPREAD_MS);
    if (cluster_confirmed_is_awaited(snapshot)) {
        cluster_memory_note_awaited(round_memory(round), cluster_primary(snapshot)->agent);
        look_again_in(round, CLUSTER_CONFIRM_MS);
    }
    cluster_figures_set(&round_memory(round)->figures, snapshot, &status);
    round->final_act = final_backup_next_act(snapshot); /* before the world is let go */
    if (cluster_status_same(&snapshot->last, &status))
        round_end(round);
    else {
        cluster_events_record(manager_events(controller->manager), controller->cluster_resource, snapshot, &status);
        send_status(round, &status, on_status_written);
        cluster_snapshot_drop_world(&round->snapshot);
    }
    cluster_status_release(&status);
}

/* ---- agents ---- */

/* After a pause of this process somebody else may lead: then our orders are old, and our word must not keep a primary open. */
static bool may_tell_agents(void *arg)
{
    return manager_leads(arg);
}

static void sync_fleet(struct round *round)
{
    const struct cluster_snapshot *snapshot = &round->snapshot;
    struct agent_fleet_member members[CLUSTER_REPLICAS_MAX + 1];
    char names[CLUSTER_REPLICAS_MAX + 1][KUBE_NAME_MAX + 1];
    size_t count = 0;
    for (int i = 0; i < snapshot->member_count && snapshot->secrets.client_tls; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (!cluster_member_has_agent(member))
            continue;
        snprintf(
            names[count], sizeof(names[count]), "%s.%s.%s.svc", member->name, snapshot->names.service, snapshot->ns);
        members[count] = (struct agent_fleet_member){
            .name = member->name,
            .target = {member->pod->pod_ip, names[count], AGENT_PORT_TLS, snapshot->secrets.client_tls, may_tell_agents,
                round->controller->manager, failover_silence_ms(snapshot)},
        };
        count++;
    }
    agent_fleet_sync(round->controller->sources.fleet, round->key, members, count);
}

/* Since when the old primary of a switchover is out of service: what its clients feel. */
static void note_fence(struct round *round, const struct cluster_orders *orders)
{
    struct cluster_memory *memory = round_memory(round);
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

/* Since when the primary is not there, and since when a lost one hears less than all others. */
static void note_loss(struct round *round)
{
    struct cluster_memory *memory = round_memory(round);
    const struct cluster_snapshot *snapshot = &round->snapshot;
    const struct cluster_transition *transition = &snapshot->last.transition;
    const struct cluster_member *primary = cluster_primary(snapshot);
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
    if (memory->failover_times.chosen_ms == 0 && !str_empty(transition->to))
        memory->failover_times.chosen_ms = snapshot->now_ms;
}

static void send_orders(struct round *round)
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
    look_again_in(round, orders->again_ms);
    free(orders);
}

static void send_mycnf(struct round *round)
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

static void on_news(void *arg, const char *cluster_key);

static void tend_restore(struct round *round)
{
    struct cluster_controller *controller = round->controller;
    const struct restore_lookup_options options = {
        .loop = controller->loop,
        .client = controller->client,
        .secrets = controller->targets.kinds[PLAN_SECRET].resource,
        .backups = controller->backup_resource,
        .changed = on_news,
        .arg = controller,
    };
    restore_tend(&round->snapshot, round_memory(round), &options, controller->sources.fleet);
}

/* All of what agents are told, by the snapshot after the plan. */
static void tell_agents(struct round *round)
{
    send_orders(round);
    send_mycnf(round);
    tend_restore(round);
}

/* ---- Secrets ---- */

static bool has_agents(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++)
        if (cluster_member_has_agent(&snapshot->members[i]))
            return true;
    return false;
}

/* Any event is an occasion to look whether they are still there, unless the last look is fresh: nobody tells us of Secrets. */
static bool secrets_are_due(struct round *round)
{
    const struct cluster_snapshot *snapshot = &round->snapshot;
    const struct cluster_memory *memory = round_memory(round);
    bool is_led = snapshot->last.epoch > 0 && has_agents(snapshot); /* with or without a good spec */
    if ((!snapshot->usable && !is_led) || snapshot->cluster.paused || snapshot->secrets_failed)
        return false;
    int64_t age_ms = loop_now_ms(round->controller->loop) - memory->secrets_checked_ms;
    bool lacks_tls = !memory->secrets.client_tls && has_agents(snapshot);
    return memory->secrets_checked_ms == 0 || age_ms >= round->controller->options.secrets_fresh_ms ||
        memory->secrets_generation != snapshot->generation || lacks_tls;
}

static void after_secrets(struct round *round)
{
    if (!round_look_again(round))
        round_abandon(round);
    else if (round->planned) {
        sync_fleet(round);
        tell_agents(round);
        round_report(round);
    } else
        round_plan(round);
}

static void on_secrets(void *arg, const struct cluster_secrets_facts *facts, const struct error *err)
{
    struct round *round = arg;
    if (!err) {
        struct cluster_memory *memory = round_memory(round);
        cluster_memory_take_secrets(memory, facts);
        memory->secrets_checked_ms = loop_now_ms(round->controller->loop);
        memory->secrets_generation = round->snapshot.generation;
    } else {
        round->snapshot.secrets_failed = !round->planned;
        if (!round->error.kind) {
            round->error = *err;
            round->error_kind = PLAN_SECRET;
        }
    }
    after_secrets(round);
}

static void ensure_secrets(struct round *round)
{
    struct cluster_controller *controller = round->controller;
    const struct cluster_snapshot *snapshot = &round->snapshot;
    const char *ns = snapshot->ns;
    _cleanup_(freep) char *wildcard = xasprintf("*.%s.%s.svc", snapshot->names.service, ns);
    _cleanup_(freep) char *primary = xasprintf("%s.%s.svc", snapshot->names.service_primary, ns);
    _cleanup_(freep) char *replicas = xasprintf("%s.%s.svc", snapshot->names.service_replicas, ns);
    const char *const dns_names[] = {wildcard, primary, replicas, NULL};
    _cleanup_(json_decrefp) json_t *metadata = desired_child_metadata(snapshot);
    const struct cluster_secrets_request request = {
        .ns = ns,
        .accounts_name = snapshot->names.accounts,
        .ca_name = snapshot->names.ca,
        .tls_name = snapshot->names.tls,
        .metadata = metadata,
        .dns_names = dns_names,
        .user_password = snapshot->usable ? snapshot->cluster.password : NULL,
        .user_secret_name = snapshot->usable ? snapshot->cluster.password_secret_name : NULL,
        .user_secret_key = snapshot->cluster.password_secret_key,
        .keep_user_password = !snapshot->usable,
        .generate_user_password = snapshot->usable && snapshot->cluster.username,
        .fresh = snapshot->last.observed_generation == 0 && round_memory(round)->secrets_checked_ms == 0,
        .want_client_tls = has_agents(snapshot),
        .now_ms = snapshot->now_ms,
        .known = &round_memory(round)->secrets,
    };
    cluster_secrets_ensure(
        controller->client, controller->targets.kinds[PLAN_SECRET].resource, &request, on_secrets, round);
    cluster_snapshot_drop_world(&round->snapshot);
}

/* ---- the plan ---- */

static bool find_child(const struct cluster_names *names, const struct plan_action *action, enum cluster_child *ret)
{
    for (int child = 0; child < CHILD_COUNT; child++) {
        if (desired_child_kind((enum cluster_child)child) != action->kind ||
            !str_eq(desired_child_name(names, (enum cluster_child)child), action->name))
            continue;
        *ret = (enum cluster_child)child;
        return true;
    }
    return false;
}

/* Remembers what was applied and what the server made of it. Not what the cache holds: that may be somebody's later edit. */
static void remember_child(struct round *round, const struct plan_action *action, const struct kube_answer *answer)
{
    enum cluster_child child;
    struct cluster_memory *memory = round_memory(round);
    if (!find_child(&round->snapshot.names, action, &child))
        return;
    memory->children_known = true;
    memory->children[child] =
        (struct cluster_child_memory){round->decision.desired[child], kube_object_digest(answer->raw)};
}

static void on_action(
    void *arg, const struct plan_action *action, const struct kube_answer *answer, const struct error *err)
{
    struct round *round = arg;
    if (err && !round->error.kind) {
        round->error = *err;
        round->error_kind = action->kind;
    }
    if (!err && action->verb == PLAN_APPLY)
        remember_child(round, action, answer);
    if (!err && action->kind == PLAN_ENDPOINT_SLICE && round->snapshot.last.transition.failover &&
        !str_empty(round->snapshot.last.transition.to))
        round_memory(round)->failover_times.published_ms = clock_realtime_ms();
    if (!err && action->verb == PLAN_DELETE && action->kind == PLAN_POD && action->why)
        cluster_events_pod_replaced(manager_events(round->controller->manager), round->controller->cluster_resource,
            &round->snapshot, action->why);
}

/* Nor is there time for a report before the new primary is open. */
static bool failover_is_young(const struct cluster_snapshot *snapshot)
{
    int64_t age_ms = snapshot->now_ms - snapshot->last.transition.started_ms;
    return snapshot->last.transition.failover && age_ms >= 0 && age_ms < FAILOVER_REPORT_MS;
}

static void after_plan(struct round *round)
{
    if (failover_is_young(&round->snapshot)) {
        look_again_in(round, FAILOVER_REPORT_MS);
        round_finish(round);
    } else if (secrets_are_due(round))
        ensure_secrets(round);
    else
        round_report(round);
}

/* Others wait for their children: the status of this one, which costs the server as much as four of them, is left to the round that what
 * was written brings anyway. That one has nothing to write and reports, so this happens once a change. */
static void round_report_later(struct round *round)
{
    controller_enqueue(round->controller->runtime, round->key);
    round_finish(round);
}

static void on_plan_done(void *arg, const struct plan *plan, const struct error *err)
{
    UNUSED(plan);
    UNUSED(err); /* on_action has it */
    struct round *round = arg;
    if (!round_look_again(round)) {
        round_abandon(round);
        return;
    }
    sync_fleet(round);
    tell_agents(round);
    if (!round->error.kind && controller_has_due(round->controller->runtime))
        round_report_later(round);
    else
        after_plan(round);
}

/* After a restart: if all children are as the status says we left them, none needs to be applied to make sure. */
static bool seed_memory(
    struct cluster_memory *memory, const struct cluster_snapshot *snapshot, const struct cluster_decision *decision)
{
    char hash[17];
    cluster_applied_hash(snapshot, decision->desired, hash);
    memory->children_known = true;
    if (str_empty(hash) || !str_eq(hash, snapshot->last.applied_hash))
        return false;
    for (int child = 0; child < CHILD_COUNT; child++)
        memory->children[child] =
            (struct cluster_child_memory){decision->desired[child], snapshot->children[child]->digest};
    return true;
}

static void decide(struct round *round)
{
    struct cluster_controller *controller = round->controller;
    struct cluster_snapshot *snapshot = &round->snapshot;
    struct cluster_memory *memory = round_memory(round);
    cluster_decide(snapshot, &controller->versions, &round->decision);
    if (memory->children_known || !snapshot->usable || !seed_memory(memory, snapshot, &round->decision))
        return;
    memcpy(snapshot->memory, memory->children, sizeof(snapshot->memory));
    cluster_decision_release(&round->decision);
    cluster_decide(snapshot, &controller->versions, &round->decision);
}

/* ---- intents ---- */

static void on_intent_written(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct round *round = arg;
    if (err) {
        round->error = *err;
        error_prefix(&round->error, "status");
        round_finish(round);
        return;
    }
    informer_observe_write(round->controller->sources.clusters, answer);
    if (round_look_again(round))
        round_plan(round);
    else
        round_abandon(round);
}

/* Who is primary stands in the status, under the version that was read, before anybody is told (I2). The same round goes on after it. */
static void write_intent(struct round *round)
{
    const struct cluster_intent *intent = &round->decision.intent;
    struct cluster_status status;
    bool same_primary = str_eq(intent->primary, round->snapshot.last.current_primary);
    if (same_primary && intent->epoch != round->snapshot.last.epoch)
        round_memory(round)->epoch_since_ms = round->snapshot.now_ms;
    round->intents++;
    cluster_status_copy(&round->snapshot.last, &status);
    cluster_intent_apply(&round->snapshot, intent, &status);
    cluster_events_intent(
        manager_events(round->controller->manager), round->controller->cluster_resource, &round->snapshot, intent);
    send_status(round, &status, on_intent_written);
    cluster_status_release(&status);
    cluster_decision_release(&round->decision);
    cluster_snapshot_drop_world(&round->snapshot);
}

static void note_drain(struct round *round)
{
    struct cluster_memory *memory = round_memory(round);
    if (!round->decision.intent.waits_for_drain)
        memory->drain_since_ms = 0;
    else if (memory->drain_since_ms == 0)
        memory->drain_since_ms = round->snapshot.now_ms;
    look_again_in(round, round->decision.intent.again_ms);
}

/* Until the members have answered, which takes milliseconds, nothing else is written: what they say must not wait for it. */
static bool failover_is_swift(const struct cluster_snapshot *snapshot)
{
    const struct cluster_transition *transition = &snapshot->last.transition;
    int64_t age_ms = snapshot->now_ms - transition->started_ms;
    return transition->failover && str_empty(transition->to) && age_ms >= 0 && age_ms < FAILOVER_HOLD_MS;
}

static void round_plan(struct round *round)
{
    struct cluster_controller *controller = round->controller;
    round->planned = true;
    sync_fleet(round);
    send_orders(round); /* of the status as it stands: what is written next does not hold them up */
    decide(round);
    note_drain(round);
    if (round->decision.intent.changed && round->intents < INTENTS_MAX) {
        write_intent(round);
        return;
    }
    if (failover_is_swift(&round->snapshot)) {
        round_finish(round);
        return;
    }
    if (plan_is_empty(round->decision.plan)) {
        tell_agents(round);
        after_plan(round);
        return;
    }
    plan_execute(
        controller->loop, &controller->targets, steal_ptr(round->decision.plan), on_action, on_plan_done, round);
    cluster_snapshot_drop_world(&round->snapshot);
}

/* ---- reconcile ---- */

static bool is_watched(const struct cluster_controller *controller, const char *ns)
{
    const struct strvec *namespaces = controller->options.watch_namespaces;
    return !namespaces || namespaces->n == 0 || strvec_contains(namespaces, ns);
}

static void reconcile(void *arg, const char *key, struct reconcile *run)
{
    struct cluster_controller *controller = arg;
    const struct custom_object *object =
        (const struct custom_object *)store_get(informer_store(controller->sources.clusters), key);
    if (!object || custom_object_is_going(object) || !is_watched(controller, object->ns)) {
        cluster_forget(controller, key);
        reconcile_finish(run, NULL, 0);
        return;
    }
    struct round *round = xnew(struct round);
    round->controller = controller;
    round->run = run;
    round->key = xstrdup(key);
    round->error_kind = PLAN_KIND_COUNT;
    struct cluster_memory *memory = cluster_memories_get(&controller->memories, key, object->uid);
    cluster_gather(&controller->sources, memory, key, clock_realtime_ms(), &round->snapshot);
    if (memory->secrets_checked_ms == 0 && secrets_are_due(round))
        ensure_secrets(round);
    else
        round_plan(round);
}

/* ---- watches ---- */

/* A MysqlConfig wakes every cluster that names it. */
static void map_config(void *arg, const struct kube_object *object, controller_emit_fn emit, void *emit_arg)
{
    const struct cluster_controller *controller = arg;
    const struct store *clusters = informer_store(controller->sources.clusters);
    size_t cursor = 0;
    for (const struct kube_object *cluster; (cluster = store_next(clusters, &cursor));)
        if (str_eq(((const struct custom_object *)cluster)->config_name, object->key))
            emit(emit_arg, cluster->key);
}

static void on_news(void *arg, const char *cluster_key)
{
    struct cluster_controller *controller = arg;
    controller_enqueue(controller->runtime, cluster_key);
}

/* ---- set-up ---- */

static const struct kube_kind *const kinds_of_plan[PLAN_KIND_COUNT] = {
    [PLAN_SERVICE_ACCOUNT] = &kube_kind_service_account,
    [PLAN_CONFIG_MAP] = &kube_kind_config_map,
    [PLAN_SECRET] = &kube_kind_secret,
    [PLAN_SERVICE] = &kube_kind_service,
    [PLAN_ENDPOINT_SLICE] = &kube_kind_endpoint_slice,
    [PLAN_POD_DISRUPTION_BUDGET] = &kube_kind_pod_disruption_budget,
    [PLAN_STATEFUL_SET] = &kube_kind_stateful_set,
    [PLAN_POD] = &kube_kind_pod,
    [PLAN_VOLUME_CLAIM] = &kube_kind_persistent_volume_claim,
    [PLAN_TERMINAL] = &kube_kind_mysql_terminal,
};

void cluster_controller_use_kinds(struct manager *manager)
{
    for (int kind = 0; kind < PLAN_KIND_COUNT; kind++)
        manager_use_kind(manager, kinds_of_plan[kind]);
    manager_use_kind(manager, &kube_kind_mysql_cluster);
    manager_use_kind(manager, &kube_kind_mysql_backup);
}

static struct informer *make_informer(
    struct cluster_controller *controller, enum plan_kind kind, const struct kube_projection *projection)
{
    /* Our own slices only: the endpoint controllers copy a Service's labels onto theirs. */
    const struct informer_options options = {
        .label_selector = kind == PLAN_ENDPOINT_SLICE ? SELECTOR_MANAGED
            ",endpointslice.kubernetes.io/managed-by=" DESIRED_SLICE_MANAGER
                                                      : SELECTOR_MANAGED,
    };
    struct informer *informer =
        manager_informer(controller->manager, controller->targets.kinds[kind].resource, projection, &options);
    controller->targets.kinds[kind].informer = informer;
    return informer;
}

static void make_informers(struct cluster_controller *controller)
{
    struct cluster_sources *sources = &controller->sources;
    const struct cluster_controller_options *options = &controller->options;
    sources->clusters = options->clusters;
    sources->configs = options->configs;
    sources->terminals = options->terminals;
    sources->pods = options->pods;
    sources->backups = options->backups;
    controller->targets.kinds[PLAN_POD].informer = options->pods;
    controller->targets.kinds[PLAN_TERMINAL].informer = options->terminals;
    sources->claims = make_informer(controller, PLAN_VOLUME_CLAIM, &projection_pvc);
    make_informer(controller, PLAN_STATEFUL_SET, &projection_stateful_set);
    make_informer(controller, PLAN_SERVICE_ACCOUNT, &kube_projection_child);
    make_informer(controller, PLAN_CONFIG_MAP, &kube_projection_child);
    make_informer(controller, PLAN_SERVICE, &kube_projection_child);
    make_informer(controller, PLAN_ENDPOINT_SLICE, &kube_projection_child);
    make_informer(controller, PLAN_POD_DISRUPTION_BUDGET, &kube_projection_child);
    for (int child = 0; child < CHILD_COUNT; child++)
        sources->children[child] = controller->targets.kinds[desired_child_kind((enum cluster_child)child)].informer;
}

static void make_watches(struct cluster_controller *controller)
{
    const struct reconciler reconciler = {"mysqlcluster", reconcile, controller};
    const struct controller_options options = {.concurrency = 16};
    const struct cluster_sources *sources = &controller->sources;
    static const enum plan_kind owned[] = {PLAN_SERVICE_ACCOUNT, PLAN_CONFIG_MAP, PLAN_SERVICE, PLAN_ENDPOINT_SLICE,
        PLAN_POD_DISRUPTION_BUDGET, PLAN_STATEFUL_SET, PLAN_TERMINAL};
    controller->runtime = manager_controller(controller->manager, &reconciler, &options);
    controller_watch(controller->runtime, sources->clusters, cluster_map_matters, controller_map_self, NULL);
    controller_watch(
        controller->runtime, sources->configs, predicate_generation_or_digest_changed, map_config, controller);
    controller_watch(controller->runtime, sources->pods, NULL, cluster_map_pod, NULL);
    controller_watch(controller->runtime, sources->claims, NULL, cluster_map_claim, NULL);
    controller_watch(controller->runtime, sources->backups, NULL, cluster_map_backup, NULL);
    for (size_t i = 0; i < ARRAY_LEN(owned); i++)
        controller_watch(controller->runtime, controller->targets.kinds[owned[i]].informer, NULL, controller_map_owner,
            sources->clusters);
}

static void cluster_controller_free(void *arg)
{
    struct cluster_controller *controller = arg;
    cluster_memories_release(&controller->memories);
    strbuf_release(&controller->slice_version);
    strbuf_release(&controller->budget_version);
    free(controller);
}

void cluster_controller_setup(struct manager *manager, const struct cluster_controller_options *options)
{
    struct cluster_controller *controller = xnew(struct cluster_controller);
    controller->manager = manager;
    controller->loop = manager_loop(manager);
    controller->client = manager_client(manager);
    controller->options = *options;
    if (controller->options.secrets_fresh_ms == 0)
        controller->options.secrets_fresh_ms = CLUSTER_SECRETS_FRESH_MS;
    controller->cluster_resource = manager_use_kind(manager, &kube_kind_mysql_cluster);
    controller->backup_resource = manager_use_kind(manager, &kube_kind_mysql_backup);
    controller->targets.client = controller->client;
    for (int kind = 0; kind < PLAN_KIND_COUNT; kind++)
        controller->targets.kinds[kind].resource = manager_use_kind(manager, kinds_of_plan[kind]);
    strbuf_init(&controller->slice_version, 128);
    strbuf_init(&controller->budget_version, 128);
    kube_resource_api_version(controller->targets.kinds[PLAN_ENDPOINT_SLICE].resource, &controller->slice_version);
    kube_resource_api_version(
        controller->targets.kinds[PLAN_POD_DISRUPTION_BUDGET].resource, &controller->budget_version);
    controller->versions = (struct desired_versions){controller->slice_version.buf, controller->budget_version.buf};
    controller->random_state = random_seed();
    cluster_memories_init(&controller->memories);
    cluster_metrics_register(manager_metrics(manager), &controller->memories);
    controller->sources.default_agent_image = options->agent_image;
    controller->sources.ipv6 = options->ipv6;
    controller->sources.fleet = options->fleet;
    agent_fleet_listen(options->fleet, on_news, controller);
    make_informers(controller);
    make_watches(controller);
    manager_defer(manager, cluster_controller_free, controller);
}
