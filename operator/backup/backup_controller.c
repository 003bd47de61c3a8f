/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/backup/backup_controller.h"

#include "common/alloc.h"
#include "common/clock.h"
#include "operator/api/api_kinds.h"
#include "operator/api/projections.h"
#include "operator/backup/backup_metrics.h"
#include "operator/backup/backup_visit.h"

/* More writes of one visit than a backup ever needs in a row: what is left comes with the next. */
#define WRITES_MAX 6
#define IDLE_MS (10 * 60 * 1000)
#define RELEASE_AGAIN_MS 1000

/* ---- a visit ---- */

struct backup_memory *backup_visit_memory(const struct backup_visit *visit)
{
    struct backup_memory *memory = backup_memories_find(&visit->controller->memories, visit->key);
    return memory && str_eq(memory->uid, visit->uid) ? memory : NULL;
}

static void drop_look(struct backup_visit *visit)
{
    if (visit->looked) {
        backup_step_release(&visit->step);
        backup_snapshot_release(&visit->snapshot);
    }
    visit->looked = false;
}

void backup_visit_finish(struct backup_visit *visit, const struct error *err)
{
    struct reconcile *run = visit->run;
    struct backup_memory *memory = backup_visit_memory(visit);
    struct error error = err ? *err : visit->error;
    int64_t again_ms = visit->again_ms > 0 ? visit->again_ms : IDLE_MS;
    if (memory)
        *memory->begins_with = '\0';
    drop_look(visit);
    free(visit->key);
    free(visit->uid);
    free(visit);
    if (error.kind == ERROR_EXISTS) /* somebody else's pod of that name: only they can change that */
        reconcile_finish(run, NULL, MIN_OF(again_ms, BACKUP_RECHECK_MS));
    else if (error.kind)
        reconcile_finish(run, &error, 0);
    else
        reconcile_finish(run, NULL, again_ms);
}

static bool look(struct backup_visit *visit)
{
    const struct backup_memory *memory = backup_visit_memory(visit);
    drop_look(visit);
    if (!memory ||
        !backup_gather(
            &visit->controller->sources, &visit->controller->memories, memory, clock_realtime_ms(), &visit->snapshot))
        return false;
    backup_decide(&visit->snapshot, &visit->step);
    visit->looked = true;
    return true;
}

/* What others and metrics ask for between visits. */
static void remember(const struct backup_visit *visit, struct backup_memory *memory)
{
    const struct backup_snapshot *snapshot = &visit->snapshot;
    const struct mysql_backup *backup = &snapshot->backup;
    bool volume = backup->destination.kind == BACKUP_DESTINATION_VOLUME;
    str_replace(&memory->ns, snapshot->ns);
    str_replace(&memory->cluster, str_or_empty(backup->cluster));
    str_replace(&memory->claim, volume ? backup->destination.claim : "");
    bool begins = snapshot->last.phase != BACKUP_PHASE_RUNNING && visit->step.next.phase == BACKUP_PHASE_RUNNING;
    snprintf(memory->begins_with, sizeof(memory->begins_with), "%s", begins ? visit->step.next.donor : "");
    memory->wants_store = visit->step.wants_store;
    memory->phase = snapshot->last.phase;
    memory->start_ms = snapshot->last.start_ms;
    memory->completion_ms = snapshot->last.completion_ms;
    memory->stored_bytes = snapshot->last.stored_bytes;
}

/* ---- acts ---- */

static struct backup_sender *sender_of(const struct backup_visit *visit, const char *pod)
{
    _cleanup_(freep) char *key = kube_key(visit->snapshot.ns, str_or_empty(visit->snapshot.backup.cluster));
    return agent_fleet_backup(visit->controller->sources.fleet, key, pod);
}

static void withdraw_task(const struct backup_visit *visit, struct backup_memory *memory)
{
    struct backup_sender *sender = *memory->donor ? sender_of(visit, memory->donor) : NULL;
    if (sender)
        backup_sender_want(sender, visit->key, NULL);
    *memory->donor = '\0';
}

static char *folder_of(const struct backup_snapshot *snapshot, const char *id)
{
    struct strbuf folder;
    strbuf_init(&folder, 512);
    backup_folder_of(snapshot->ns, snapshot->backup.cluster, id, &folder);
    return strbuf_detach(&folder, NULL);
}

static void send_task(const struct backup_visit *visit, struct backup_memory *memory)
{
    const struct backup_snapshot *snapshot = &visit->snapshot;
    const struct mysql_backup *backup = &snapshot->backup;
    struct backup_sender *sender = sender_of(visit, snapshot->last.donor);
    if (!sender || !snapshot->secrets_known || !str_empty(memory->keys.reason) || !snapshot->store_ready)
        return;
    struct backup_task task = {
        .folder = folder_of(snapshot, snapshot->last.id),
        .method = backup->method,
        .compression = backup->compression,
        .sealed = memory->keys.sealed,
        .rate_limit = backup->rate_limit,
    };
    snprintf(task.id, sizeof(task.id), "%s", snapshot->last.id);
    snprintf(task.ns, sizeof(task.ns), "%s", snapshot->ns);
    snprintf(task.cluster, sizeof(task.cluster), "%s", backup->cluster);
    snprintf(task.cluster_uid, sizeof(task.cluster_uid), "%s", backup_status_history(&snapshot->last));
    memcpy(task.key, memory->keys.key, sizeof(task.key));
    store_pod_describe(
        &visit->controller->sources, snapshot->ns, backup->cluster, &backup->destination, &memory->keys, &task.store);
    backup_sender_want(sender, visit->key, &task);
    snprintf(memory->donor, sizeof(memory->donor), "%s", snapshot->last.donor);
    backup_task_release(&task);
}

static void on_job_done(void *arg, const struct backup_job_view *view)
{
    struct backup_memory *memory = arg;
    struct backup_controller *controller = memory->owner;
    memory->job = NULL;
    memory->view = *view;
    controller_enqueue(controller->runtime, memory->key);
}

static void start_job(const struct backup_visit *visit, struct backup_memory *memory, enum backup_job_kind kind)
{
    struct backup_store store;
    if (memory->job || !manager_leads(visit->controller->manager))
        return;
    _cleanup_(freep) char *folder = folder_of(&visit->snapshot, visit->step.id);
    struct http_tls *ca_only = NULL;
    store_pod_describe(&visit->controller->sources, visit->snapshot.ns, visit->snapshot.backup.cluster,
        &visit->snapshot.backup.destination, &memory->keys, &store);
    if (!memory->keys.tls && memory->keys.ca_pem)
        ca_only = http_tls_new(&(struct http_tls_options){.ca_pem = memory->keys.ca_pem});
    const struct backup_job_request request = {
        .kind = kind,
        .id = visit->step.id,
        .folder = folder,
        .store = &store,
        .tls = memory->keys.tls ? memory->keys.tls : ca_only,
        .user_key = memory->keys.sealed ? memory->keys.key : NULL,
    };
    memory->view = (struct backup_job_view){.kind = kind, .result = BACKUP_JOB_RUNNING};
    snprintf(memory->view.id, sizeof(memory->view.id), "%s", visit->step.id);
    memory->job = backup_job_start(visit->controller->loop, &request, on_job_done, memory);
    http_tls_unref(ca_only);
    backup_store_release(&store);
}

static void act(struct backup_visit *visit, struct backup_memory *memory)
{
    struct backup_sender *ender = *visit->step.end_donor ? sender_of(visit, visit->step.end_donor) : NULL;
    if (ender)
        backup_sender_end(ender, visit->step.end_id);
    if (visit->step.act == BACKUP_ACT_SEND)
        send_task(visit, memory);
    else
        withdraw_task(visit, memory);
    if (visit->step.act == BACKUP_ACT_CHECK)
        start_job(visit, memory, BACKUP_JOB_CHECK);
    else if (visit->step.act == BACKUP_ACT_REMOVE)
        start_job(visit, memory, BACKUP_JOB_REMOVE);
    if (!backup_visit_tend_store(visit))
        backup_visit_finish(visit, NULL);
}

/* The pod in front of the volume goes before our finalizer does: afterwards nobody would know of it. Its end brings us back. */
static void release(struct backup_visit *visit)
{
    visit->again_ms = RELEASE_AGAIN_MS;
    if (!backup_visit_tend_store(visit))
        backup_visit_write_finalizer(visit, false);
}

static void visit_decide(struct backup_visit *visit)
{
    if (!look(visit)) {
        backup_visit_finish(visit, NULL);
        return;
    }
    struct backup_memory *memory = backup_visit_memory(visit);
    remember(visit, memory);
    visit->again_ms = visit->step.again_ms;
    if (visit->writes >= WRITES_MAX) {
        visit->again_ms = BACKUP_SECRETS_FRESH_MS;
        backup_visit_finish(visit, NULL);
    } else if (!backup_status_same(&visit->step.next, &visit->snapshot.last))
        backup_visit_write_status(visit);
    else if (visit->step.act == BACKUP_ACT_HOLD)
        backup_visit_write_finalizer(visit, true);
    else if (visit->step.act == BACKUP_ACT_RELEASE)
        release(visit);
    else
        act(visit, memory);
}

/* ---- Secrets ---- */

static bool needs_secrets(const struct backup_visit *visit)
{
    const struct backup_snapshot *snapshot = &visit->snapshot;
    const struct backup_status *last = &snapshot->last;
    if (!str_empty(snapshot->reason) || snapshot->backup.destination.kind == BACKUP_DESTINATION_NONE ||
        !snapshot->cluster_exists)
        return snapshot->has_finalizer && snapshot->deleting &&
            snapshot->backup.destination.kind == BACKUP_DESTINATION_S3;
    if (!backup_phase_is_final(last->phase) || (snapshot->deleting && snapshot->has_finalizer))
        return true;
    for (int i = 0; i < last->failure_count; i++) {
        if (!last->failures[i].cleaned)
            return true;
    }
    return false;
}

static bool secrets_are_due(const struct backup_visit *visit, const struct backup_memory *memory)
{
    return needs_secrets(visit) &&
        (!visit->snapshot.secrets_known ||
            loop_now_ms(visit->controller->loop) - memory->keys_ms >= visit->controller->options.secrets_fresh_ms);
}

/* Without them the visit goes on: deadlines and deletions do not wait for an API server that answers only some questions. */
static void on_secrets(void *arg, struct task_keys *keys, const struct error *err)
{
    struct backup_visit *visit = arg;
    struct backup_memory *memory = backup_visit_memory(visit);
    if (err)
        visit->error = *err;
    else if (memory) {
        task_keys_take(&memory->keys, keys);
        memory->keys_ms = MAX_OF(loop_now_ms(visit->controller->loop), 1);
        memory->keys_for = visit->keys_for;
    }
    visit_decide(visit);
}

void backup_visit_go_on(struct backup_visit *visit)
{
    const struct backup_memory *memory = backup_visit_memory(visit);
    if (!look(visit) || !secrets_are_due(visit, memory)) {
        visit_decide(visit);
        return;
    }
    visit->keys_for = backup_secrets_meant(visit->snapshot.backup.document);
    backup_secrets_read(visit->controller->client, visit->controller->targets.kinds[PLAN_SECRET].resource,
        &visit->snapshot.backup, "spec", on_secrets, visit);
}

/* ---- reconcile ---- */

static void forget(struct backup_controller *controller, const char *key)
{
    const struct backup_memory *memory = backup_memories_find(&controller->memories, key);
    if (memory && *memory->donor && memory->cluster) {
        _cleanup_(freep) char *cluster = kube_key(memory->ns, memory->cluster);
        struct backup_sender *sender = agent_fleet_backup(controller->sources.fleet, cluster, memory->donor);
        if (sender)
            backup_sender_want(sender, key, NULL);
    }
    backup_memories_forget(&controller->memories, key);
}

static void reconcile(void *arg, const char *key, struct reconcile *run)
{
    struct backup_controller *controller = arg;
    const struct custom_object *object =
        (const struct custom_object *)store_get(informer_store(controller->sources.backups), key);
    if (!object || !namespace_is_watched(controller->options.watch_namespaces, object->ns)) {
        forget(controller, key);
        reconcile_finish(run, NULL, 0);
        return;
    }
    backup_memories_get(&controller->memories, key, object->uid, controller);
    struct backup_visit *visit = xnew(struct backup_visit);
    visit->controller = controller;
    visit->run = run;
    visit->key = xstrdup(key);
    visit->uid = xstrdup(object->uid);
    backup_visit_go_on(visit);
}

/* ---- watches ---- */

struct of_cluster {
    const struct backup_controller *controller;
    const char *ns, *cluster;
};

static bool is_open(const struct custom_object *backup)
{
    return backup->has_backup_finalizer || backup->object.deleting ||
        (!str_eq(backup->phase, backup_phase_names[BACKUP_PHASE_COMPLETED]) &&
            !str_eq(backup->phase, backup_phase_names[BACKUP_PHASE_FAILED]));
}

/* All backups of a cluster that are not over. */
static void each_of_cluster(const struct of_cluster *of, controller_emit_fn emit, void *emit_arg)
{
    const struct store *backups = informer_store(of->controller->sources.backups);
    size_t cursor = 0;
    for (const struct kube_object *each; (each = store_next(backups, &cursor));) {
        const struct custom_object *backup = (const struct custom_object *)each;
        if (is_open(backup) && str_eq(backup->cluster_name, of->cluster) && str_eq(backup->ns, of->ns))
            emit(emit_arg, each->key);
    }
}

static void map_cluster(void *arg, const struct kube_object *object, controller_emit_fn emit, void *emit_arg)
{
    const struct custom_object *cluster = (const struct custom_object *)object;
    const struct of_cluster of = {arg, cluster->ns, cluster->name};
    each_of_cluster(&of, emit, emit_arg);
}

static void map_pod(void *arg, const struct kube_object *object, controller_emit_fn emit, void *emit_arg)
{
    const struct pod_object *pod = (const struct pod_object *)object;
    const struct of_cluster of = {arg, pod->ns, pod->cluster};
    if (!str_empty(pod->cluster))
        each_of_cluster(&of, emit, emit_arg);
}

/* What a backup takes from a cluster: that it is there, its spec, its image; who is closed, if it waits for its last one. Members speak for themselves. */
static bool cluster_matters(const struct kube_object *old_object, const struct kube_object *new_object)
{
    if (!old_object || !new_object || new_object->deleting ||
        predicate_generation_or_digest_changed(old_object, new_object))
        return true;
    const struct custom_object *before = (const struct custom_object *)old_object;
    return before->config_digest != ((const struct custom_object *)new_object)->config_digest;
}

static void enqueue(void *arg, const char *key)
{
    const struct backup_controller *controller = arg;
    controller_enqueue(controller->runtime, key);
}

static void on_agent_news(void *arg, const char *cluster_key)
{
    char ns[KUBE_LABEL_MAX + 1], name[KUBE_NAME_MAX + 1];
    const struct of_cluster of = {arg, ns, name};
    if (kube_key_split(cluster_key, ns, name) == 0)
        each_of_cluster(&of, enqueue, arg);
}

/* ---- set-up ---- */

void backup_controller_use_kinds(struct manager *manager)
{
    manager_use_kind(manager, &kube_kind_mysql_backup);
    manager_use_kind(manager, &kube_kind_secret);
    manager_use_kind(manager, &kube_kind_pod);
}

static void backup_controller_free(void *arg)
{
    struct backup_controller *controller = arg;
    backup_memories_release(&controller->memories);
    backup_metrics_free(controller->metrics);
    free(controller);
}

void backup_controller_setup(struct manager *manager, const struct backup_controller_options *options)
{
    struct backup_controller *controller = xnew(struct backup_controller);
    const struct reconciler reconciler = {"mysqlbackup", reconcile, controller};
    const struct controller_options runtime_options = {.concurrency = 8};
    controller->manager = manager;
    controller->loop = manager_loop(manager);
    controller->client = manager_client(manager);
    controller->options = *options;
    if (controller->options.secrets_fresh_ms == 0)
        controller->options.secrets_fresh_ms = BACKUP_SECRETS_FRESH_MS;
    controller->resource = manager_use_kind(manager, &kube_kind_mysql_backup);
    controller->sources = (struct backup_sources){
        options->backups, options->clusters, options->pods, options->fleet, options->agent_image};
    controller->targets.client = controller->client;
    controller->targets.kinds[PLAN_POD].resource = manager_use_kind(manager, &kube_kind_pod);
    controller->targets.kinds[PLAN_POD].informer = options->pods;
    controller->targets.kinds[PLAN_SECRET].resource = manager_use_kind(manager, &kube_kind_secret);
    controller->targets.kinds[PLAN_VOLUME_CLAIM].resource =
        manager_use_kind(manager, &kube_kind_persistent_volume_claim);
    backup_memories_init(&controller->memories);
    controller->metrics = backup_metrics_new(manager_metrics(manager), &controller->memories);
    controller->runtime = manager_controller(manager, &reconciler, &runtime_options);
    controller_watch(
        controller->runtime, options->backups, predicate_generation_or_digest_changed, controller_map_self, NULL);
    controller_watch(controller->runtime, options->clusters, cluster_matters, map_cluster, controller);
    controller_watch(controller->runtime, options->pods, NULL, map_pod, controller);
    agent_fleet_listen(options->fleet, on_agent_news, controller);
    manager_defer(manager, backup_controller_free, controller);
}
