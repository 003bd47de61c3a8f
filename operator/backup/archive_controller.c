/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/backup/archive_controller.h"

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/log.h"
#include "operator/api/api_kinds.h"
#include "operator/api/backup_store_pod.h"
#include "operator/api/mysql_cluster.h"
#include "operator/backup/archive_turn.h"
#include "operator/backup/backup_controller.h"
#include "operator/backup/backup_maps.h"
#include "operator/plan/plan_executor.h"

#define SENDER "archive"
/* After a sweep that left something to do. */
#define SWEEP_SOON_MS 1000
/* After a sweep that did not find out with which backup the chain is linked. */
#define LINK_AGAIN_MS 60000
/* After Secrets that lack something. */
#define SECRETS_SOON_MS 3000
/* Between the clocks of a node and of the API server. */
#define CREATED_MARGIN_MS ((int64_t)60 * 1000)

struct archive_controller {
    struct manager *manager;
    struct loop *loop;
    struct kube_client *client;
    struct archive_controller_options options;
    const struct kube_resource *cluster_resource;
    struct plan_targets targets;
    struct controller *runtime;
    struct backup_sources sources;
    struct archive_memories memories;
};

enum turn_phase {
    TURN_DONE = RECONCILE_DONE,
    TURN_SECRETS,
    TURN_STORE, /* the pod in front of a volume */
    TURN_ACT,   /* what agents are told, and the decision */
    TURN_STATUS,
};

/* NULL when it was forgotten meanwhile: the cluster is gone, or another one. */
static struct archive_memory *memory_of(const struct archive_turn *turn)
{
    struct archive_memory *memory = archive_memories_find(&turn->controller->memories, turn->context.key);
    return memory && str_eq(memory->uid, turn->history) ? memory : NULL;
}

/* ---- the status ---- */

static void tell_gap(const struct archive_turn *turn)
{
    char when[CLOCK_RFC3339_SIZE];
    clock_format_rfc3339(turn->decision.summary.gap_ms, when);
    reconcile_tell(&turn->context, manager_events(turn->controller->manager), turn->controller->cluster_resource,
        EVENT_WARNING, "BinlogsLost",
        "transactions before %s were in no binary log any more when they were to be archived: no restore goes over "
        "that moment; make a backup",
        when);
}

static int phase_status(void *work)
{
    struct archive_turn *turn = work;
    const struct reconcile_write write = {
        .informer = turn->controller->options.clusters, .what = "status.backup.archive", .next = TURN_DONE};
    if (!turn->decision.write)
        return TURN_DONE;
    if (turn->decision.new_gap)
        tell_gap(turn);
    reconcile_patch_status(
        &turn->context, turn->controller->cluster_resource, archive_summary_patch(&turn->decision.summary), &write);
    return PHASES_WAIT;
}

/* ---- agents ---- */

static void send_task(const struct archive_turn *turn, const struct archive_task *task, char digest[static 17])
{
    struct task_sender *sender =
        *turn->primary ? agent_fleet_archive(turn->controller->sources.fleet, turn->context.key, turn->primary) : NULL;
    struct strbuf text;
    archive_task_digest(task, digest);
    if (!sender)
        return;
    strbuf_init(&text, BACKUP_TASK_MAX);
    archive_task_encode(task, &text);
    task_sender_want(sender, SENDER, digest, text.buf);
    strbuf_release_secret(&text);
}

/* Whoever still has one would go on with it as soon as it is primary. Returns how many have, of those that are
 * heard. */
static int end_tasks(const struct archive_turn *turn)
{
    int ret = 0;
    struct agent_fleet *fleet = turn->controller->sources.fleet;
    for (int ordinal = 0; ordinal <= CLUSTER_REPLICAS_MAX; ordinal++) {
        char pod[DERIVED_NAME_SIZE];
        cluster_pod_name(pod, turn->context.name, ordinal);
        const struct agent_watch *watch = agent_fleet_get(fleet, turn->context.key, pod);
        if (!watch || !agent_watch_connected(watch))
            continue;
        task_sender_drop(agent_watch_archive(watch), SENDER);
        const struct agent_status *status = agent_fleet_status(fleet, turn->context.key, pod);
        if (!status || !*status->archive.task)
            continue;
        task_sender_end(agent_watch_archive(watch), status->archive.task);
        ret++;
    }
    return ret;
}

/* What a primary was told before it lost its role does not hold any more. */
static void drop_others(const struct archive_turn *turn)
{
    for (int ordinal = 0; ordinal <= CLUSTER_REPLICAS_MAX; ordinal++) {
        char pod[DERIVED_NAME_SIZE];
        cluster_pod_name(pod, turn->context.name, ordinal);
        struct task_sender *sender = agent_fleet_archive(turn->controller->sources.fleet, turn->context.key, pod);
        if (sender && !str_eq(pod, turn->primary))
            task_sender_drop(sender, SENDER);
    }
}

/* ---- what nobody needs any more ---- */

static void on_swept(void *arg, const struct archive_sweep_result *result)
{
    struct archive_memory *memory = arg;
    struct archive_controller *controller = memory->owner;
    memory->sweep = NULL;
    memory->swept_ms = MAX_OF(loop_now_ms(controller->loop), 1);
    memory->sweep_more = result->more;
    bool is_of_now = memory->swept_for == memory->backups_digest; /* else it is looked for anew */
    if (result->link.known && is_of_now)
        memory->link = result->link;
    if (*result->failure)
        log_warn("the archive of binary logs could not be cleared", LOG_STR("cluster", memory->key),
            LOG_STR("error", result->failure));
    if (result->removed > 0)
        log_info("archived binary logs that no backup needs are removed", LOG_STR("cluster", memory->key),
            LOG_INT("segments", (int64_t)result->removed));
    if (result->more)
        controller_enqueue_after(controller->runtime, memory->key, SWEEP_SOON_MS);
    else if (result->link.known)
        controller_enqueue(controller->runtime, memory->key);
}

/* While a backup runs its position is not known yet, and may be behind those that are. */
static bool is_sweep_due(const struct archive_turn *turn, const struct archive_memory *memory, bool wants_link)
{
    const struct archive_controller *controller = turn->controller;
    int64_t every_ms = controller->options.sweep_ms > 0 ? controller->options.sweep_ms : ARCHIVE_SWEEP_EVERY_MS;
    int64_t age_ms = loop_now_ms(controller->loop) - memory->swept_ms;
    bool others = memory->backups_digest != memory->swept_for;
    bool due = memory->swept_ms == 0 || others || age_ms >= every_ms ||
        (memory->sweep_more && age_ms >= SWEEP_SOON_MS) || (wants_link && age_ms >= LINK_AGAIN_MS);
    return due && !memory->sweep && !memory->backup_runs && memory->backup_count > 0 && !turn->paused &&
        archive_memories_sweeps(&controller->memories) < ARCHIVE_SWEEPS_MAX && manager_leads(controller->manager);
}

static void start_sweep(const struct archive_turn *turn, struct archive_memory *memory, const struct archive_task *task,
    const struct binlog_segment_name *chain)
{
    struct http_tls *ca_only = NULL;
    if (!memory->keys.tls && memory->keys.ca_pem)
        ca_only = http_tls_new(&(struct http_tls_options){.ca_pem = memory->keys.ca_pem});
    const struct archive_sweep_request request = {
        .ns = turn->context.ns,
        .cluster = turn->context.name,
        .uid = turn->history,
        .store = &task->store,
        .tls = memory->keys.tls ? memory->keys.tls : ca_only,
        .backups = memory->backups,
        .backup_count = memory->backup_count,
        .chain = *chain,
        .now_ms = turn->now_ms,
    };
    memory->swept_for = memory->backups_digest;
    memory->sweep = archive_sweep_start(turn->controller->loop, &request, on_swept, memory);
    http_tls_unref(ca_only);
}

/* ---- deciding ---- */

/* NULL: it is not heard. */
static const struct agent_status *primary_status(const struct archive_turn *turn)
{
    struct agent_fleet *fleet = turn->controller->sources.fleet;
    const struct agent_watch *watch = *turn->primary ? agent_fleet_get(fleet, turn->context.key, turn->primary) : NULL;
    return watch && agent_watch_connected(watch) ? agent_fleet_status(fleet, turn->context.key, turn->primary) : NULL;
}

/* A member was copied since the primary's last round. Until the primary has archived what came before the copy, that
 * member could not go on with the archive (archive_status.h). Not while rounds fail: they would only fail more often.
 * An agent of an earlier version, which does not say when its binary logs begin, looks into the archive anew with each
 * other interval. */
static bool must_hurry(const struct archive_turn *turn, const struct archive_memory *memory)
{
    const struct agent_status *primary = primary_status(turn);
    if (!primary || *primary->archive.error_reason || primary->binlogs_from_ms == 0)
        return false;
    if (!primary->archive.known) /* it has another task, and looks */
        return memory->hurries;
    for (int ordinal = 0; ordinal <= CLUSTER_REPLICAS_MAX; ordinal++) {
        char pod[DERIVED_NAME_SIZE];
        cluster_pod_name(pod, turn->context.name, ordinal);
        const struct agent_status *status = agent_fleet_status(turn->controller->sources.fleet, turn->context.key, pod);
        if (status && !str_eq(pod, turn->primary) &&
            archive_lacks(primary->archive.until_ms, primary->binlogs_from_ms, status->binlogs_from_ms))
            return true;
    }
    return false;
}

/* A failure since the last good one, or a problem, tells that it may not come. */
static bool is_scheduled(const struct archive_turn *turn)
{
    const struct backup_summary *schedule = &turn->schedule;
    return turn->spec.schedule && !turn->spec.suspend && !*schedule->problem &&
        schedule->last_failure_ms <= schedule->last_backup_ms;
}

/* On volumes that outlived a cluster its binary logs are older than the cluster. Who has just restored one is given the
 * time to make a backup of it. */
static bool has_earlier_data(const struct archive_turn *turn, const struct agent_status *status)
{
    return status && status->binlogs_from_ms > 0 && turn->created_ms > 0 &&
        status->binlogs_from_ms < turn->created_ms - CREATED_MARGIN_MS;
}

static struct archive_view view_of(const struct archive_turn *turn, const struct archive_memory *memory,
    const struct agent_status *status, const char *problem, const char *message)
{
    return (struct archive_view){
        .spec = &turn->spec,
        .now_ms = turn->now_ms,
        .since_ms = memory->since_ms,
        .noticed_ms = memory->noticed_ms,
        .rests = turn->rests,
        .problem = problem,
        .problem_message = message,
        .flavour = agent_gtid_flavour(status ? status->flavour : AGENT_FLAVOUR_UNKNOWN),
        .report = status ? &status->archive : NULL,
        .backups = memory->backups,
        .backup_count = memory->backup_count,
        .backup_runs = memory->backup_runs,
        .is_scheduled = is_scheduled(turn),
        .next_backup_ms = turn->schedule.next_ms,
        .has_earlier_data = has_earlier_data(turn, status),
        .link = memory->link,
        .last = turn->written,
    };
}

static void decide(struct archive_turn *turn, struct archive_memory *memory, const char *problem, const char *message)
{
    const struct agent_status *status = primary_status(turn);
    const struct archive_view view = view_of(turn, memory, status, problem, message);
    archive_decide(&view, &turn->decision);
    if (status && status->archive.known)
        archive_memory_notice(memory, &status->archive);
    memory->recoverable_from_ms = turn->decision.summary.recoverable_from_ms;
    memory->gap = archive_reason_of(turn->decision.summary.reason) == ARCHIVE_GAP;
    snprintf(memory->primary, sizeof(memory->primary), "%s", turn->primary);
}

static void sweep_if_due(const struct archive_turn *turn, struct archive_memory *memory, const struct archive_task *task)
{
    const struct archive_view view = view_of(turn, memory, primary_status(turn), "", "");
    struct binlog_segment_name chain = {0};
    bool wants_link = archive_link_is_wanted(&view);
    if (wants_link)
        chain = archive_chain_of(view.report);
    if (is_sweep_due(turn, memory, wants_link))
        start_sweep(turn, memory, task, &chain);
}

/* Between an operator and an agent of an earlier version the archive of a volume waits: nobody archives, nothing is
 * removed from it, and the next agent goes on where it ends. */
static bool awaits_agent(const struct archive_turn *turn, char *message, size_t size)
{
    const struct agent_status *status = primary_status(turn);
    bool waits =
        turn->spec.destination.kind == BACKUP_DESTINATION_VOLUME && status && backup_store_agent_is_outdated(status);
    if (waits)
        backup_store_say_outdated(turn->primary, message, size);
    if (waits && !turn->paused)
        end_tasks(turn);
    return waits;
}

/* While a cluster is paused its primary keeps the task that it has, whatever the spec says meanwhile. How soon its next
 * round begins is changed all the same: the primary may be moved, and that waits for the round. */
static bool may_send_task(const struct archive_turn *turn, const struct archive_task *task)
{
    const struct agent_status *status = primary_status(turn);
    char usual[17], soon[17];
    archive_task_digest_at(task, (uint32_t)turn->spec.archive_interval_s, usual);
    archive_task_digest_at(task, ARCHIVE_INTERVAL_MIN_S, soon);
    return !turn->paused || (status && (str_eq(status->archive.task, usual) || str_eq(status->archive.task, soon)));
}

static void act(struct archive_turn *turn, struct archive_memory *memory)
{
    char reason[KUBE_CONDITION_REASON_MAX] = "", message[KUBE_CONDITION_MESSAGE_MAX] = "", digest[17] = "";
    struct archive_task task;
    drop_others(turn);
    turn->hurries = memory->hurries = must_hurry(turn, memory);
    archive_turn_look_at_backups(turn, &turn->controller->sources, memory);
    if (awaits_agent(turn, message, sizeof(message)))
        snprintf(reason, sizeof(reason), "%s", BACKUP_STORE_AGENT_OUTDATED);
    else if (archive_turn_task(turn, &turn->controller->sources, memory, &task, reason, message)) {
        const struct task_sender *sender =
            agent_fleet_archive(turn->controller->sources.fleet, turn->context.key, turn->primary);
        bool may_send = may_send_task(turn, &task);
        if (may_send)
            send_task(turn, &task, digest);
        const char *failure = sender && may_send ? task_sender_error(sender, digest) : "";
        if (*failure) {
            snprintf(reason, sizeof(reason), "NotToldYet");
            snprintf(message, sizeof(message), "%s: %s", turn->primary, failure);
        }
        sweep_if_due(turn, memory, &task);
        archive_task_release(&task);
    }
    decide(turn, memory, reason, message);
}

/* Nothing is archived any more. The status tells of it until no agent goes on: whoever comes after us then knows that
 * there is something to end. */
static void stop(struct archive_turn *turn, struct archive_memory *memory)
{
    int left = turn->paused ? 0 : end_tasks(turn);
    archive_sweep_cancel(steal_ptr(memory->sweep));
    decide(turn, memory, "", "");
    memory->since_ms = 0;
    turn->decision.write = turn->decision.write && left == 0 && !turn->paused;
}

static int phase_act(void *work)
{
    struct archive_turn *turn = work;
    struct archive_memory *memory = memory_of(turn);
    if (!memory)
        return TURN_DONE;
    if (turn->spec.archives)
        act(turn, memory);
    else
        stop(turn, memory);
    return TURN_STATUS;
}

/* ---- the pod in front of a volume ---- */

static bool is_open(const struct custom_object *backup)
{
    return backup->has_backup_finalizer || backup->object.deleting || !backup_phase_is_final(backup->backup_phase);
}

/* A backup needs it. */
static bool is_needed(const struct archive_turn *turn, const struct pod_object *pod)
{
    const struct store *backups = informer_store(turn->controller->sources.backups);
    size_t cursor = 0;
    for (const struct kube_object *each; (each = store_next(backups, &cursor));) {
        const struct custom_object *backup = (const struct custom_object *)each;
        if (str_empty(backup->claim) || !is_open(backup) || !str_eq(backup->ns, turn->context.ns) ||
            !str_eq(backup->cluster_name, turn->context.name))
            continue;
        if (store_pod_find(&turn->controller->sources, turn->context.ns, turn->context.name, backup->claim) == pod)
            return true;
    }
    return false;
}

/* Others than the one that is wanted: it was switched off, or goes elsewhere now. */
static void plan_removals(const struct archive_turn *turn, const struct pod_object *wanted, struct plan *plan)
{
    _cleanup_(freep) char *prefix = xasprintf("%s-" BACKUP_STORE_FOR_BACKUPS "-", turn->context.name);
    const struct store *pods = informer_store(turn->controller->sources.pods);
    size_t cursor = 0;
    for (const struct kube_object *each; (each = store_next(pods, &cursor));) {
        const struct pod_object *pod = (const struct pod_object *)each;
        if (pod != wanted && str_starts_with(pod->name, prefix) && str_eq(pod->ns, turn->context.ns) &&
            str_eq(pod->cluster, turn->context.name) && !pod->object.deleting && !is_needed(turn, pod))
            plan_add_delete(plan, PLAN_POD, pod->ns, pod->name, pod->uid, "nobody needs the volume any more");
    }
}

/* Of what says which pod is wanted; never 0. */
static uint64_t tidy_digest(const struct archive_turn *turn)
{
    uint64_t where = json_hash(json_object_get(turn->spec.document, "destination"));
    return hash64(where, &turn->spec.archives, sizeof(turn->spec.archives)) | 1;
}

static void on_plan_done(void *work, const struct plan *plan, const struct error *err)
{
    struct archive_turn *turn = work;
    struct archive_memory *memory = memory_of(turn);
    if (memory)
        store_answer_take(&memory->store, turn->context.ns, plan, err);
    if (err && memory && memory->store.is_refused)
        reconcile_again_in(&turn->context, STORE_REFUSED_RECHECK_MS);
    else if (err)
        reconcile_fail(&turn->context, err, "the pod that serves the volume");
    else if (memory)
        memory->tidied_for = tidy_digest(turn);
    phases_go_on(&turn->context.phases, TURN_ACT);
}

static struct plan *store_plan(const struct archive_turn *turn, const struct archive_memory *memory)
{
    const struct backup_destination *destination = &turn->spec.destination;
    const struct backup_sources *sources = &turn->controller->sources;
    struct plan *plan = plan_new();
    bool wants = turn->spec.archives && destination->kind == BACKUP_DESTINATION_VOLUME;
    if (turn->paused)
        return plan;
    if (wants)
        store_pod_plan(sources, turn->context.ns, turn->context.name, destination, true,
            "binary logs are archived to the volume", plan);
    if (memory->tidied_for != tidy_digest(turn))
        plan_removals(turn,
            wants ? store_pod_find(sources, turn->context.ns, turn->context.name, destination->claim) : NULL, plan);
    return plan;
}

static int phase_store(void *work)
{
    struct archive_turn *turn = work;
    struct archive_memory *memory = memory_of(turn);
    if (!memory)
        return TURN_DONE;
    struct plan *plan = store_plan(turn, memory);
    if (!plan_is_empty(plan)) {
        plan_execute(turn->controller->loop, &turn->controller->targets, plan, NULL, on_plan_done, turn);
        return PHASES_WAIT;
    }
    plan_free(plan);
    memory->tidied_for = tidy_digest(turn);
    return TURN_ACT;
}

/* ---- Secrets ---- */

static bool secrets_are_due(const struct archive_turn *turn, const struct archive_memory *memory)
{
    int64_t fresh_ms = turn->controller->options.secrets_fresh_ms;
    if (*memory->keys.reason)
        fresh_ms = MIN_OF(fresh_ms, (int64_t)SECRETS_SOON_MS);
    return turn->spec.archives &&
        (!archive_turn_has_keys(turn, memory) || loop_now_ms(turn->controller->loop) - memory->keys_ms >= fresh_ms);
}

/* Without them the turn goes on: what is known of the archive is told all the same. */
static void on_secrets(void *work, struct task_keys *keys, const struct error *err)
{
    struct archive_turn *turn = work;
    struct archive_memory *memory = memory_of(turn);
    if (err)
        reconcile_fail(&turn->context, err, "Secrets of spec.backup");
    else if (memory) {
        task_keys_take(&memory->keys, keys);
        memory->keys_ms = MAX_OF(loop_now_ms(turn->controller->loop), 1);
        memory->keys_for = backup_secrets_meant(turn->spec.document);
    }
    phases_go_on(&turn->context.phases, TURN_STORE);
}

static int phase_secrets(void *work)
{
    struct archive_turn *turn = work;
    struct archive_controller *controller = turn->controller;
    struct archive_memory *memory =
        archive_memories_get(&controller->memories, turn->context.key, turn->history, controller);
    if (turn->spec.archives && memory->since_ms == 0)
        memory->since_ms = turn->now_ms;
    if (!secrets_are_due(turn, memory))
        return TURN_STORE;
    backup_secrets_read(turn->context.client, controller->targets.kinds[PLAN_SECRET].resource, &turn->wish,
        "spec.backup", on_secrets, turn);
    return PHASES_WAIT;
}

/* ---- reconcile ---- */

static const phase_fn phases[] = {
    [TURN_DONE] = reconcile_done,
    [TURN_SECRETS] = phase_secrets,
    [TURN_STORE] = phase_store,
    [TURN_ACT] = phase_act,
    [TURN_STATUS] = phase_status,
};

/* A spec that cannot be read changes nothing. */
static void reconcile(void *arg, const char *key, struct reconcile *run)
{
    struct archive_controller *controller = arg;
    const struct custom_object *cluster =
        (const struct custom_object *)store_get(informer_store(controller->sources.clusters), key);
    bool ours =
        cluster && !cluster->object.deleting && namespace_is_watched(controller->options.watch_namespaces, cluster->ns);
    if (!ours || (!cluster->archives && !archive_memories_find(&controller->memories, key))) {
        archive_memories_forget(&controller->memories, key);
        reconcile_finish(run, NULL, 0);
        return;
    }
    struct archive_turn *turn = archive_turn_new(cluster, run, controller->client);
    turn->controller = controller;
    if (turn->accepted && turn->spec.archives)
        reconcile_again_in(
            &turn->context, controller->options.recheck_ms > 0 ? controller->options.recheck_ms : ARCHIVE_RECHECK_MS);
    reconcile_context_start(&turn->context, phases, turn->accepted ? TURN_SECRETS : TURN_DONE);
}

/* ---- set-up ---- */

/* Pods in front of volumes; members speak for themselves. */
static void map_pod(void *arg, const struct kube_object *object, controller_emit_fn emit, void *emit_arg)
{
    UNUSED(arg);
    const struct pod_object *pod = (const struct pod_object *)object;
    _cleanup_(freep) char *key =
        str_empty(pod->cluster) || !str_starts_with(pod->role, "store-") ? NULL : kube_key(pod->ns, pod->cluster);
    if (key)
        emit(emit_arg, key);
}

static void on_agent_news(void *arg, const char *cluster_key)
{
    const struct archive_controller *controller = arg;
    controller_enqueue(controller->runtime, cluster_key);
}

void archive_controller_use_kinds(struct manager *manager)
{
    manager_use_kind(manager, &kube_kind_mysql_cluster);
    manager_use_kind(manager, &kube_kind_mysql_backup);
    manager_use_kind(manager, &kube_kind_secret);
    manager_use_kind(manager, &kube_kind_pod);
}

static void archive_controller_free(void *arg)
{
    struct archive_controller *controller = arg;
    archive_memories_release(&controller->memories);
    free(controller);
}

void archive_controller_setup(struct manager *manager, const struct archive_controller_options *options)
{
    struct archive_controller *controller = xnew(struct archive_controller);
    const struct reconciler reconciler = {"mysqlarchive", reconcile, controller};
    const struct controller_options runtime_options = {.concurrency = 8};
    controller->manager = manager;
    controller->loop = manager_loop(manager);
    controller->client = manager_client(manager);
    controller->options = *options;
    if (controller->options.secrets_fresh_ms == 0)
        controller->options.secrets_fresh_ms = BACKUP_SECRETS_FRESH_MS;
    controller->cluster_resource = manager_use_kind(manager, &kube_kind_mysql_cluster);
    controller->sources = (struct backup_sources){
        options->backups, options->clusters, options->pods, options->fleet, options->agent_image};
    controller->targets.client = controller->client;
    controller->targets.kinds[PLAN_POD].resource = manager_use_kind(manager, &kube_kind_pod);
    controller->targets.kinds[PLAN_POD].informer = options->pods;
    controller->targets.kinds[PLAN_SECRET].resource = manager_use_kind(manager, &kube_kind_secret);
    controller->targets.kinds[PLAN_VOLUME_CLAIM].resource =
        manager_use_kind(manager, &kube_kind_persistent_volume_claim);
    archive_memories_init(&controller->memories, options->fleet);
    archive_metrics_register(manager_metrics(manager), &controller->memories);
    controller->runtime = manager_controller(manager, &reconciler, &runtime_options);
    controller_watch(
        controller->runtime, options->clusters, predicate_generation_or_digest_changed, controller_map_self, NULL);
    controller_watch(controller->runtime, options->backups, backup_phase_changed, backup_map_cluster, NULL);
    controller_watch(controller->runtime, options->pods, NULL, map_pod, NULL);
    agent_fleet_listen(options->fleet, on_agent_news, controller);
    manager_defer(manager, archive_controller_free, controller);
}
