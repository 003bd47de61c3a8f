/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/backup/drill_controller.h"

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/log.h"
#include "operator/api/api_kinds.h"
#include "operator/api/mysql_backup.h"
#include "operator/backup/backup_maps.h"
#include "operator/backup/drill_metrics.h"
#include "operator/backup/drill_scratch.h"
#include "operator/backup/drill_turn.h"

#define SENDER "drill"
#define RECHECK_MS (60 * 1000)
/* While one is under way: what its deadline, or a step that nobody tells us of, waits for. */
#define UNDER_WAY_MS 10000
/* After a write of our own, which does not wake us. */
#define SOON_MS 1
/* The clock of the timer and the wall clock may differ by so much when a run is due. */
#define EARLY_MS 20

struct drill_controller {
    struct manager *manager;
    struct kube_client *client;
    struct drill_controller_options options;
    struct drill_agents agents;
    const struct kube_resource *cluster_resource, *backup_resource, *claim_resource;
    struct controller *runtime;
    struct drill_memory memory;
};

/* ---- agents ---- */

static bool fleet_look(void *arg, const char *cluster_key, const char *pod, struct drill_member *ret)
{
    struct agent_fleet *fleet = arg;
    const struct agent_watch *watch = agent_fleet_get(fleet, cluster_key, pod);
    if (!watch || !agent_watch_connected(watch))
        return false;
    const struct agent_status *status = agent_fleet_status(fleet, cluster_key, pod);
    if (!status)
        return false;
    ret->open = status->writable && status->order_done && status->role == AGENT_ROLE_PRIMARY;
    ret->gave_up = status->seed.step == AGENT_SEED_STEP_FAILED && status->seed.gave_up;
    snprintf(ret->reason, sizeof(ret->reason), "%s", status->seed.reason);
    snprintf(ret->message, sizeof(ret->message), "%s", status->seed.message);
    ret->check = status->check;
    return true;
}

static void fleet_check(void *arg, const char *cluster_key, const char *pod, const struct check_task *task)
{
    struct task_sender *sender = agent_fleet_check(arg, cluster_key, pod);
    struct strbuf text;
    if (!sender)
        return;
    strbuf_init(&text, CHECK_TASK_MAX);
    check_task_encode(task, &text);
    task_sender_want(sender, SENDER, task->id, text.buf);
    strbuf_release(&text);
}

/* ---- the phases of a turn ---- */

enum turn_phase {
    TURN_DONE = RECONCILE_DONE,
    TURN_CLAIM,  /* of a scratch cluster that is gone; then the status */
    TURN_STATUS, /* the status first; what it says then is acted upon in the next turn */
    TURN_WRITTEN,
    TURN_ACT,
    TURN_CREATE_FAILED,
    TURN_DELETE, /* the scratch cluster */
};

/* ---- acts ---- */

static int create_scratch(struct drill_turn *turn)
{
    const struct reconcile_write write = {.informer = turn->controller->options.clusters,
        .but = ERROR_EXISTS,
        .next = TURN_DONE,
        .failed = TURN_CREATE_FAILED};
    json_t *object =
        drill_scratch_object(turn->context.ns, turn->context.name, turn->context.uid, turn->document, &turn->written);
    kube_create(turn->context.client, turn->controller->cluster_resource, turn->context.ns, object,
        reconcile_on_written, reconcile_expect(&turn->context, &write));
    json_decref(object);
    return PHASES_WAIT;
}

static int phase_create_failed(void *work)
{
    struct drill_turn *turn = work;
    reconcile_tell(&turn->context, manager_events(turn->controller->manager), turn->controller->cluster_resource,
        EVENT_WARNING, "RestoreDrillBlocked", "MysqlCluster %s cannot be made: %s", turn->written.cluster,
        turn->context.error.message);
    error_prefix(&turn->context.error, "the scratch cluster");
    return TURN_DONE;
}

static int phase_delete(void *work)
{
    struct drill_turn *turn = work;
    const struct kube_delete_options options = {.uid = turn->scratch_uid, .grace_seconds = -1};
    const struct reconcile_write write = {
        .what = "removing the scratch cluster", .but = ERROR_NOT_FOUND, .next = TURN_DONE};
    kube_delete(turn->context.client, turn->controller->cluster_resource, turn->context.ns, turn->written.cluster,
        &options, reconcile_on_written, reconcile_expect(&turn->context, &write));
    return PHASES_WAIT;
}

/* A drill that was called off says nothing of its backup. */
static bool must_tell_backup(const struct drill_turn *turn)
{
    return !turn->backup_is_told && turn->written.ended_ms > 0 && turn->written.ended_ms >= turn->written.start_ms;
}

/* A backup that is gone, or another one of its name, is told nothing. */
static void on_told(void *work, const struct kube_answer *answer, const struct error *err)
{
    struct drill_turn *turn = work;
    if (err && err->kind == ERROR_NOT_FOUND)
        turn->context.write.but = ERROR_NOT_FOUND;
    reconcile_on_written(work, answer, err);
}

static int tell_backup(struct drill_turn *turn)
{
    const struct drill_summary *summary = &turn->written;
    const struct reconcile_write write = {.informer = turn->controller->options.backups,
        .what = "status.verified of the backup",
        .but = ERROR_CONFLICT,
        .next = TURN_DELETE};
    char when[CLOCK_RFC3339_SIZE];
    bool passed = drill_reason_of(summary->reason) == DRILL_VERIFIED;
    clock_format_rfc3339(summary->ended_ms, when);
    json_t *patch = json_build("{s:{s:s}, s:{s:{s:s, s:s, s:s}}}", "metadata", "uid", summary->backup_uid, "status",
        "verified", "time", when, "result",
        backup_verdict_names[passed ? BACKUP_VERIFIED_PASSED : BACKUP_VERIFIED_FAILED], "message", summary->message);
    kube_patch(turn->context.client, turn->controller->backup_resource, turn->context.ns, summary->backup, "status",
        KUBE_PATCH_MERGE, patch, on_told, reconcile_expect(&turn->context, &write));
    json_decref(patch);
    return PHASES_WAIT;
}

static void ask_for_check(const struct drill_turn *turn)
{
    struct check_task task = {.id = ""};
    char pod[DERIVED_NAME_SIZE];
    bool whole = position_is_whole(turn->scratch.gtid); /* else the restore alone has compared it */
    cluster_pod_name(pod, turn->written.cluster, 0);
    snprintf(task.id, sizeof(task.id), "%s", turn->written.cluster);
    snprintf(task.gtid, sizeof(task.gtid), "%s", whole ? turn->scratch.gtid : "");
    turn->controller->agents.check(turn->controller->agents.arg, turn->scratch_key, pod, &task);
}

static int phase_act(void *work)
{
    struct drill_turn *turn = work;
    switch (turn->decision.act) {
    case DRILL_ACT_CREATE:
        return create_scratch(turn);
    case DRILL_ACT_DELETE:
        return must_tell_backup(turn) ? tell_backup(turn) : TURN_DELETE;
    case DRILL_ACT_CHECK:
        ask_for_check(turn);
        return TURN_DONE;
    default:
        return TURN_DONE;
    }
}

/* ---- the status ---- */

static void tell_news(const struct drill_turn *turn)
{
    const struct drill_summary *summary = &turn->decision.summary;
    const struct kube_resource *cluster = turn->controller->cluster_resource;
    struct event_recorder *events = manager_events(turn->controller->manager);
    if (*summary->problem && !str_eq(summary->problem, turn->written.problem))
        reconcile_tell(&turn->context, events, cluster, EVENT_WARNING, "RestoreDrillProblem", "%s", summary->problem);
    if (turn->decision.news == DRILL_NEWS_BEGUN)
        reconcile_tell(&turn->context, events, cluster, EVENT_NORMAL, "RestoreDrillStarted",
            "MysqlBackup %s is restored into MysqlCluster %s", summary->backup, summary->cluster);
    else if (turn->decision.news == DRILL_NEWS_VERIFIED)
        reconcile_tell(&turn->context, events, cluster, EVENT_NORMAL, "RestoreVerified", "%s", summary->message);
    else if (turn->decision.news == DRILL_NEWS_FAILED)
        reconcile_tell(&turn->context, events, cluster, EVENT_WARNING, "RestoreDrillFailed", "%s: %s", summary->reason,
            summary->message);
}

static int phase_written(void *work)
{
    struct drill_turn *turn = work;
    tell_news(turn);
    reconcile_again_in(&turn->context, SOON_MS);
    return TURN_DONE;
}

static int phase_status(void *work)
{
    struct drill_turn *turn = work;
    const struct drill_summary *summary = &turn->decision.summary;
    const struct reconcile_write write = {
        .informer = turn->controller->options.clusters, .what = "status.backup.drill", .next = TURN_WRITTEN};
    if (drill_summary_same(summary, &turn->written))
        return TURN_ACT;
    reconcile_patch_status(&turn->context, turn->controller->cluster_resource, drill_summary_patch(summary), &write);
    return PHASES_WAIT;
}

/* A claim that was never bound has no owner yet that it would go with (cluster_volumes.c). */
static int phase_claim(void *work)
{
    struct drill_turn *turn = work;
    char name[DERIVED_NAME_SIZE];
    const struct kube_delete_options options = {.grace_seconds = -1};
    const struct reconcile_write write = {
        .what = "removing the scratch volume", .but = ERROR_NOT_FOUND, .next = TURN_STATUS};
    cluster_claim_name(name, turn->written.cluster, 0);
    kube_delete(turn->context.client, turn->controller->claim_resource, turn->context.ns, name, &options,
        reconcile_on_written, reconcile_expect(&turn->context, &write));
    return PHASES_WAIT;
}

static const phase_fn phases[] = {
    [TURN_DONE] = reconcile_done,
    [TURN_CLAIM] = phase_claim,
    [TURN_STATUS] = phase_status,
    [TURN_WRITTEN] = phase_written,
    [TURN_ACT] = phase_act,
    [TURN_CREATE_FAILED] = phase_create_failed,
    [TURN_DELETE] = phase_delete,
};

/* ---- reconcile ---- */

static int64_t wall_ms(const struct drill_controller *controller)
{
    const struct drill_controller_options *options = &controller->options;
    return options->now_ms ? options->now_ms(options->now_arg) : clock_realtime_ms();
}

static void look_again_in_time(struct drill_turn *turn)
{
    const struct drill_summary *summary = &turn->decision.summary;
    int64_t recheck_ms = turn->controller->options.recheck_ms;
    reconcile_again_in(&turn->context, recheck_ms > 0 ? recheck_ms : RECHECK_MS);
    if (summary->phase != DRILL_PHASE_NONE)
        reconcile_again_in(&turn->context, UNDER_WAY_MS);
    if (summary->next_ms > 0)
        reconcile_again_in(&turn->context, MAX_OF(0, summary->next_ms - turn->now_ms) + EARLY_MS);
}

static void reconcile(void *arg, const char *key, struct reconcile *run)
{
    struct drill_controller *controller = arg;
    const struct custom_object *cluster =
        (const struct custom_object *)store_get(informer_store(controller->options.clusters), key);
    if (!cluster || !cluster->drills || !str_empty(cluster->drill_of) ||
        !namespace_is_watched(controller->options.watch_namespaces, cluster->ns)) {
        drill_memory_forget(&controller->memory, key);
        reconcile_finish(run, NULL, 0);
        return;
    }
    struct drill_turn *turn =
        drill_turn_new(&controller->options, cluster, run, controller->client, wall_ms(controller));
    turn->controller = controller;
    drill_turn_decide(turn);
    look_again_in_time(turn);
    drill_memory_set(&controller->memory, key, &turn->decision.summary);
    reconcile_context_start(&turn->context, phases, turn->decision.act == DRILL_ACT_FINISH ? TURN_CLAIM : TURN_STATUS);
}

/* ---- set-up ---- */

static void emit_parent(const struct custom_object *cluster, controller_emit_fn emit, void *emit_arg)
{
    _cleanup_(freep) char *key = kube_key(cluster->ns, cluster->drill_of);
    emit(emit_arg, key);
}

/* A scratch cluster wakes the one that it is made for. */
static void map_cluster(void *arg, const struct kube_object *object, controller_emit_fn emit, void *emit_arg)
{
    UNUSED(arg);
    const struct custom_object *cluster = (const struct custom_object *)object;
    if (str_empty(cluster->drill_of))
        emit(emit_arg, object->key);
    else
        emit_parent(cluster, emit, emit_arg);
}

static bool cluster_matters(const struct kube_object *old_object, const struct kube_object *new_object)
{
    const struct kube_object *either = new_object ? new_object : old_object;
    return !old_object || !new_object || !str_empty(((const struct custom_object *)either)->drill_of) ||
        old_object->deleting != new_object->deleting || predicate_generation_or_digest_changed(old_object, new_object);
}

static void enqueue(void *arg, const char *key)
{
    const struct drill_controller *controller = arg;
    controller_enqueue(controller->runtime, key);
}

/* Only scratch clusters have agents that matter here. */
static void on_agent_news(void *arg, const char *cluster_key)
{
    struct drill_controller *controller = arg;
    const struct custom_object *cluster =
        (const struct custom_object *)store_get(informer_store(controller->options.clusters), cluster_key);
    if (cluster && !str_empty(cluster->drill_of))
        emit_parent(cluster, enqueue, controller);
}

void drill_controller_use_kinds(struct manager *manager)
{
    manager_use_kind(manager, &kube_kind_mysql_cluster);
    manager_use_kind(manager, &kube_kind_mysql_backup);
    manager_use_kind(manager, &kube_kind_persistent_volume_claim);
}

static void drill_controller_free(void *arg)
{
    struct drill_controller *controller = arg;
    drill_memory_release(&controller->memory);
    free(controller);
}

void drill_controller_setup(struct manager *manager, const struct drill_controller_options *options)
{
    struct drill_controller *controller = xnew(struct drill_controller);
    controller->manager = manager;
    controller->client = manager_client(manager);
    controller->options = *options;
    controller->agents =
        options->agents ? *options->agents : (struct drill_agents){fleet_look, fleet_check, options->fleet};
    controller->options.agents = &controller->agents;
    controller->cluster_resource = manager_use_kind(manager, &kube_kind_mysql_cluster);
    controller->backup_resource = manager_use_kind(manager, &kube_kind_mysql_backup);
    controller->claim_resource = manager_use_kind(manager, &kube_kind_persistent_volume_claim);
    drill_memory_init(&controller->memory);
    drill_metrics_register(manager_metrics(manager), &controller->memory);
    const struct reconciler reconciler = {"mysqlrestoredrill", reconcile, controller};
    const struct controller_options runtime_options = {.concurrency = 4};
    controller->runtime = manager_controller(manager, &reconciler, &runtime_options);
    controller_watch(controller->runtime, options->clusters, cluster_matters, map_cluster, NULL);
    controller_watch(controller->runtime, options->backups, backup_phase_changed, backup_map_cluster, NULL);
    if (options->fleet)
        agent_fleet_listen(options->fleet, on_agent_news, controller);
    manager_defer(manager, drill_controller_free, controller);
}
