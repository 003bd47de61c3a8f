/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/backup/schedule_controller.h"

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/log.h"
#include "operator/api/api_kinds.h"
#include "operator/api/condition_reason.h"
#include "operator/api/in_place_status.h"
#include "operator/api/in_place_wish.h"
#include "operator/api/mysql_backup.h"
#include "operator/api/projections.h"
#include "operator/api/restore_spec.h"
#include "operator/backup/backup_maps.h"
#include "operator/backup/retention.h"
#include "operator/backup/schedule_decide.h"
#include "operator/backup/schedule_metrics.h"
#include "operator/backup/zone_files.h"
#include "operator/runtime/reconcile_context.h"

#define RECHECK_MS (5 * 60 * 1000)
/* Further ones go in the next turn, which begins soon after. */
#define REMOVALS_MAX 16
#define REMOVALS_SOON_MS 1000
/* The clock of the timer and the wall clock may differ by so much when a run is due. */
#define EARLY_MS 20

struct schedule_controller {
    struct manager *manager;
    struct kube_client *client;
    struct schedule_controller_options options;
    const struct kube_resource *cluster_resource, *backup_resource;
    struct controller *runtime;
    struct schedule_memory memory;
};

struct removal {
    char *name, *uid;
};

/* One reconcile under way. Nothing in it points into the caches. */
struct turn {
    struct reconcile_context context;
    struct schedule_controller *controller;
    json_t *document; /* the cluster's spec, which backup borrows */
    struct backup_spec backup;
    bool paused, waits;
    int64_t now_ms;
    struct time_zone zone;
    bool has_zone;
    char problem[KM_KIB];
    char running[KUBE_NAME_MAX + 1];          /* a scheduled backup that is not over; "" none */
    char refusal[KUBE_CONDITION_MESSAGE_MAX]; /* why the API server does not let that one begin; "": it does */
    struct backup_summary written;            /* the status as it is */
    struct schedule_decision decision;
    struct removal removals[REMOVALS_MAX];
    int removal_count, removed;
    bool more_removals;
};

enum turn_phase {
    TURN_DONE = RECONCILE_DONE,
    TURN_CREATE,  /* the backup that is due */
    TURN_CREATED, /* told, unless somebody came before us */
    TURN_STATUS,
    TURN_REMOVE, /* what is not kept any more, one after the other */
    TURN_REMOVED,
};

static void turn_free(void *work)
{
    struct turn *turn = work;
    for (int i = 0; i < turn->removal_count; i++) {
        free(turn->removals[i].name);
        free(turn->removals[i].uid);
    }
    time_zone_release(&turn->zone);
    json_decref(turn->document);
    reconcile_context_release(&turn->context);
    free(turn);
}

static void look_again_in_time(struct turn *turn)
{
    int64_t recheck_ms = turn->controller->options.recheck_ms, next_ms = turn->decision.summary.next_ms;
    reconcile_again_in(&turn->context, recheck_ms > 0 ? recheck_ms : RECHECK_MS);
    if (turn->more_removals)
        reconcile_again_in(&turn->context, REMOVALS_SOON_MS);
    if (next_ms > 0)
        reconcile_again_in(&turn->context, MAX_OF(0, next_ms - turn->now_ms) + EARLY_MS);
}

/* ---- backups of the cluster ---- */

static int64_t time_of(const char *text)
{
    int64_t ms = 0;
    return clock_parse_rfc3339(text, &ms) == 0 ? ms : 0;
}

/* Of the cluster of that name as it is now, as far as it is known; one that has not begun yet tells no UID. */
static bool is_ours(const struct turn *turn, const struct custom_object *backup, const struct backup_status *status)
{
    return str_eq(backup->ns, turn->context.ns) && str_eq(backup->cluster_name, turn->context.name) &&
        (!*status->cluster_uid || str_eq(status->cluster_uid, turn->context.uid));
}

static void note_backup(
    const struct custom_object *backup, const struct backup_status *status, struct backup_summary *summary)
{
    if (status->phase == BACKUP_PHASE_COMPLETED && status->completion_ms > summary->last_backup_ms) {
        summary->last_backup_ms = status->completion_ms;
        snprintf(summary->last_backup, sizeof(summary->last_backup), "%s", backup->name);
    }
    if (status->phase == BACKUP_PHASE_FAILED && status->completion_ms > summary->last_failure_ms) {
        summary->last_failure_ms = status->completion_ms;
        snprintf(summary->last_failure, sizeof(summary->last_failure), "%s: %.400s", backup->name, status->message);
    }
}

static struct retention_item item_of(const struct custom_object *backup, const struct backup_status *status)
{
    int64_t created_ms = time_of(backup->creation_timestamp);
    return (struct retention_item){
        .name = backup->name,
        .uid = backup->uid,
        .begun_ms = status->start_ms > 0 ? status->start_ms : created_ms,
        .ended_ms = status->completion_ms > 0 ? status->completion_ms : created_ms,
        .good = status->phase == BACKUP_PHASE_COMPLETED,
        .proven = status->verified == BACKUP_VERIFIED_PASSED,
        .doubtful = status->verified == BACKUP_VERIFIED_FAILED,
    };
}

struct item_list {
    struct retention_item *items;
    size_t count, capacity;
};

static void add_item(struct item_list *list, struct retention_item item)
{
    if (list->count == list->capacity) {
        list->capacity = MAX_OF((size_t)32, list->capacity * 2);
        list->items = xreallocarray(list->items, list->capacity, sizeof(*list->items));
    }
    list->items[list->count++] = item;
}

static void take_running(struct turn *turn, const struct custom_object *backup, const struct backup_status *status)
{
    const struct kube_condition *accepted = kube_conditions_find(&status->conditions, CONDITION_BACKUP_ACCEPTED);
    bool is_refused = reason_of(accepted) == REASON_POD_REFUSED;
    snprintf(turn->running, sizeof(turn->running), "%s", backup->name);
    snprintf(turn->refusal, sizeof(turn->refusal), "%s", is_refused ? accepted->message : "");
}

static void take_backup(
    struct turn *turn, const struct custom_object *backup, struct backup_summary *summary, struct item_list *list)
{
    struct backup_status *status = xnew(struct backup_status);
    _cleanup_(json_decrefp) json_t *json = custom_object_status(backup);
    backup_status_decode(json, status);
    if (is_ours(turn, backup, status)) {
        note_backup(backup, status, summary);
        bool is_over = backup_phase_is_final(status->phase);
        if (!str_empty(backup->scheduled) && !is_over && !backup->object.deleting)
            take_running(turn, backup, status);
        else if (!str_empty(backup->scheduled) && !backup->object.deleting)
            add_item(list, item_of(backup, status));
    }
    backup_status_release(status);
    free(status);
}

/* What the status tells of backups is what there is. */
static void look_at_backups(struct turn *turn, struct backup_summary *summary, struct item_list *list)
{
    size_t cursor = 0;
    summary->last_backup_ms = summary->last_failure_ms = 0;
    *summary->last_backup = *summary->last_failure = '\0';
    const struct store *store = informer_store(turn->controller->options.backups);
    for (const struct kube_object *each; (each = store_next(store, &cursor));) {
        const struct custom_object *backup = (const struct custom_object *)each;
        if (str_eq(backup->cluster_name, turn->context.name) && str_eq(backup->ns, turn->context.ns))
            take_backup(turn, backup, summary, list);
    }
}

/* ---- who is being restored from them ---- */

static bool wants(const struct turn *turn, const struct custom_object *cluster, const struct restore_spec *restore,
    const struct retention_item *item)
{
    const char *ns = str_empty(restore->from_namespace) ? cluster->ns : restore->from_namespace;
    const char *name = str_empty(restore->from_cluster) ? cluster->name : restore->from_cluster;
    if (restore->source == RESTORE_SOURCE_BACKUP)
        return str_eq(cluster->ns, turn->context.ns) && str_eq(restore->backup, item->name);
    return restore->source != RESTORE_SOURCE_NONE && str_eq(ns, turn->context.ns) && str_eq(name, turn->context.name);
}

/* Of a cluster that has no data yet. */
static void hold_first(const struct turn *turn, const struct custom_object *cluster, const json_t *spec,
    const json_t *status, struct item_list *list)
{
    struct restore_spec restore;
    if (!json_is_object(json_object_get(spec, "restoreFrom")) || json_path_bool(status, "initialized", false))
        return;
    restore_spec_read(spec, &restore);
    for (size_t i = 0; i < list->count; i++)
        list->items[i].held = list->items[i].held || wants(turn, cluster, &restore, &list->items[i]);
}

static void hold_wish(
    const struct turn *turn, const struct custom_object *cluster, const char *text, struct item_list *list)
{
    struct in_place_wish wish;
    in_place_wish_read(text, &wish);
    for (size_t i = 0; wish.document && i < list->count; i++)
        list->items[i].held = list->items[i].held || wants(turn, cluster, &wish.spec, &list->items[i]);
    in_place_wish_release(&wish);
}

/* Of a cluster that has data: what the annotation asks for and was not dealt with yet, and what is under way. */
static void hold_in_place(
    const struct turn *turn, const struct custom_object *cluster, const json_t *status, struct item_list *list)
{
    struct cluster_in_place *last = xnew(struct cluster_in_place);
    cluster_in_place_decode(json_object_get(status, "restoreInPlace"), last);
    if (!cluster_in_place_is_over(last))
        hold_wish(turn, cluster, last->wish, list);
    if (!str_eq(cluster->restore_in_place, last->wish))
        hold_wish(turn, cluster, cluster->restore_in_place, list);
    cluster_in_place_release(last);
    free(last);
}

static void hold_for(const struct turn *turn, const struct custom_object *cluster, struct item_list *list)
{
    _cleanup_(json_decrefp) json_t *spec = custom_object_spec(cluster);
    _cleanup_(json_decrefp) json_t *status = custom_object_status(cluster);
    hold_first(turn, cluster, spec, status, list);
    hold_in_place(turn, cluster, status, list);
}

static void hold_restored(const struct turn *turn, struct item_list *list)
{
    size_t cursor = 0;
    const struct store *store = informer_store(turn->controller->options.clusters);
    for (const struct kube_object *each; (each = store_next(store, &cursor));)
        hold_for(turn, (const struct custom_object *)each, list);
}

static size_t count_removals(const struct item_list *list)
{
    size_t ret = 0;
    for (size_t i = 0; i < list->count; i++)
        ret += list->items[i].remove;
    return ret;
}

/* Oldest first. Clusters are looked through only if something would go. */
static void choose_removals(struct turn *turn, struct item_list *list)
{
    if (turn->paused || !turn->has_zone || !turn->backup.document)
        return;
    retention_decide(&turn->backup.keep, &turn->zone, 0, list->items, list->count);
    if (count_removals(list) == 0)
        return;
    hold_restored(turn, list);
    retention_decide(&turn->backup.keep, &turn->zone, 0, list->items, list->count);
    turn->more_removals = count_removals(list) > REMOVALS_MAX;
    for (size_t i = list->count; i > 0 && turn->removal_count < REMOVALS_MAX; i--) {
        const struct retention_item *item = &list->items[i - 1];
        if (item->remove)
            turn->removals[turn->removal_count++] = (struct removal){xstrdup(item->name), xstrdup(item->uid)};
    }
}

/* ---- writes ---- */

/* A name that is taken: somebody came before us, perhaps ourselves before a crash. */
static int phase_create(void *work)
{
    struct turn *turn = work;
    const struct reconcile_write write = {
        .informer = turn->controller->options.backups, .what = "MysqlBackup", .but = ERROR_EXISTS, .next = TURN_CREATED};
    json_t *object = json_build("{s:s, s:s, s:{s:s, s:s, s:{s:s, s:s, s:s}}, s:o}", "apiVersion", KM_API_GROUP_VERSION,
        "kind", kube_kind_mysql_backup.kind, "metadata", "name", turn->decision.name, "namespace", turn->context.ns,
        "labels", LABEL_CLUSTER, turn->context.name, LABEL_SCHEDULED, "true", LABEL_MANAGED_BY, LABEL_MANAGED_BY_US,
        "spec", backup_spec_of_run(&turn->backup, turn->context.name));
    kube_create(turn->context.client, turn->controller->backup_resource, turn->context.ns, object, reconcile_on_written,
        reconcile_expect(&turn->context, &write));
    json_decref(object);
    return PHASES_WAIT;
}

static int phase_created(void *work)
{
    struct turn *turn = work;
    if (turn->context.written)
        reconcile_tell(&turn->context, manager_events(turn->controller->manager), turn->controller->cluster_resource,
            EVENT_NORMAL, "BackupScheduled", "MysqlBackup %s begins", turn->decision.name);
    return TURN_STATUS;
}

static int phase_status(void *work)
{
    struct turn *turn = work;
    const struct backup_summary *summary = &turn->decision.summary;
    const struct reconcile_write write = {
        .informer = turn->controller->options.clusters, .what = "status.backup", .next = TURN_REMOVE};
    if (backup_summary_same(summary, &turn->written))
        return TURN_REMOVE;
    if (*summary->problem && !str_eq(summary->problem, turn->written.problem))
        reconcile_tell(&turn->context, manager_events(turn->controller->manager), turn->controller->cluster_resource,
            EVENT_WARNING, "BackupScheduleProblem", "%s", summary->problem);
    reconcile_patch_status(&turn->context, turn->controller->cluster_resource, backup_summary_patch(summary), &write);
    return PHASES_WAIT;
}

static int phase_remove(void *work)
{
    struct turn *turn = work;
    if (turn->removed == turn->removal_count)
        return TURN_DONE;
    const struct removal *removal = &turn->removals[turn->removed];
    const struct kube_delete_options options = {.uid = removal->uid, .grace_seconds = -1};
    const struct reconcile_write write = {.what = "retention", .but = ERROR_NOT_FOUND, .next = TURN_REMOVED};
    log_info("backup is no longer kept", LOG_STR("namespace", turn->context.ns), LOG_STR("cluster", turn->context.name),
        LOG_STR("backup", removal->name));
    kube_delete(turn->context.client, turn->controller->backup_resource, turn->context.ns, removal->name, &options,
        reconcile_on_written, reconcile_expect(&turn->context, &write));
    return PHASES_WAIT;
}

static int phase_removed(void *work)
{
    struct turn *turn = work;
    turn->removed++;
    return TURN_REMOVE;
}

static const phase_fn phases[] = {
    [TURN_DONE] = reconcile_done,
    [TURN_CREATE] = phase_create,
    [TURN_CREATED] = phase_created,
    [TURN_STATUS] = phase_status,
    [TURN_REMOVE] = phase_remove,
    [TURN_REMOVED] = phase_removed,
};

static void tell_skipped(const struct turn *turn)
{
    char when[CLOCK_RFC3339_SIZE];
    schedule_memory_note_skipped(&turn->controller->memory, turn->context.key);
    clock_format_rfc3339(turn->decision.due_ms, when);
    reconcile_tell(&turn->context, manager_events(turn->controller->manager), turn->controller->cluster_resource,
        EVENT_WARNING, "BackupSkipped", "the backup of %s is left out: MysqlBackup %s still runs", when, turn->running);
}

/* ---- looking ---- */

static void read_zone(struct turn *turn)
{
    struct error err = ERROR_INIT;
    if (zone_files_load(turn->controller->options.zone_folder, turn->backup.time_zone, &turn->zone, &err) == 0)
        turn->has_zone = true;
    else
        snprintf(turn->problem, sizeof(turn->problem), "spec.backup.timeZone: %s", err.message);
}

static void read_spec(struct turn *turn)
{
    struct api_problems problems = {0};
    turn->paused = json_path_bool(turn->document, "paused", false);
    turn->waits = turn->paused || json_path_int(turn->document, "replicas", 1) == 0;
    if (backup_spec_parse(json_object_get(turn->document, "backup"), &turn->backup, &problems) == 0) {
        read_zone(turn);
        return;
    }
    struct strbuf text;
    strbuf_init(&text, sizeof(turn->problem) - 1);
    api_problems_text(&problems, &text);
    snprintf(turn->problem, sizeof(turn->problem), "%s", text.buf);
    strbuf_release(&text);
}

static struct turn *turn_new(
    struct schedule_controller *controller, const struct custom_object *cluster, struct reconcile *run)
{
    struct turn *turn = xnew(struct turn);
    reconcile_context_init(turn, run, controller->client, cluster->ns, cluster->name, cluster->uid, turn_free);
    turn->controller = controller;
    turn->document = custom_object_spec(cluster);
    turn->now_ms =
        controller->options.now_ms ? controller->options.now_ms(controller->options.now_arg) : clock_realtime_ms();
    _cleanup_(json_decrefp) json_t *status = custom_object_status(cluster);
    backup_summary_decode(status, &turn->written);
    return turn;
}

static void turn_decide(struct turn *turn)
{
    struct item_list list = {.count = 0};
    struct schedule_view view = {
        .cluster = turn->context.name,
        .spec = &turn->backup,
        .now_ms = turn->now_ms,
        .last = turn->written,
    };
    read_spec(turn);
    look_at_backups(turn, &view.last, &list);
    choose_removals(turn, &list);
    free(list.items);
    view.waits = turn->waits;
    view.zone = turn->has_zone ? &turn->zone : NULL;
    view.problem = *turn->problem ? turn->problem : NULL;
    view.running = *turn->running ? turn->running : NULL;
    view.refusal = *turn->refusal ? turn->refusal : NULL;
    schedule_decide(&view, &turn->decision);
}

static void reconcile(void *arg, const char *key, struct reconcile *run)
{
    struct schedule_controller *controller = arg;
    const struct custom_object *cluster =
        (const struct custom_object *)store_get(informer_store(controller->options.clusters), key);
    if (!cluster || cluster->object.deleting ||
        !namespace_is_watched(controller->options.watch_namespaces, cluster->ns)) {
        schedule_memory_forget(&controller->memory, key);
        reconcile_finish(run, NULL, 0);
        return;
    }
    struct turn *turn = turn_new(controller, cluster, run);
    turn_decide(turn);
    look_again_in_time(turn);
    schedule_memory_set(
        &controller->memory, key, json_is_object(json_object_get(turn->document, "backup")), &turn->decision.summary);
    if (turn->decision.skip && !turn->decision.create)
        tell_skipped(turn);
    reconcile_context_start(&turn->context, phases, turn->decision.create ? TURN_CREATE : TURN_STATUS);
}

/* ---- set-up ---- */

void schedule_controller_use_kinds(struct manager *manager)
{
    manager_use_kind(manager, &kube_kind_mysql_cluster);
    manager_use_kind(manager, &kube_kind_mysql_backup);
}

static void schedule_controller_free(void *arg)
{
    struct schedule_controller *controller = arg;
    schedule_memory_release(&controller->memory);
    free(controller);
}

void schedule_controller_setup(struct manager *manager, const struct schedule_controller_options *options)
{
    struct schedule_controller *controller = xnew(struct schedule_controller);
    controller->manager = manager;
    controller->client = manager_client(manager);
    controller->options = *options;
    controller->cluster_resource = manager_use_kind(manager, &kube_kind_mysql_cluster);
    controller->backup_resource = manager_use_kind(manager, &kube_kind_mysql_backup);
    schedule_memory_init(&controller->memory);
    schedule_metrics_register(manager_metrics(manager), &controller->memory);
    const struct reconciler reconciler = {"mysqlbackupschedule", reconcile, controller};
    const struct controller_options runtime_options = {.concurrency = 4};
    controller->runtime = manager_controller(manager, &reconciler, &runtime_options);
    controller_watch(
        controller->runtime, options->clusters, predicate_generation_or_digest_changed, controller_map_self, NULL);
    controller_watch(controller->runtime, options->backups, backup_phase_changed, backup_map_cluster, NULL);
    manager_defer(manager, schedule_controller_free, controller);
}
