/* SPDX-License-Identifier: Apache-2.0 */
/* backup_reconcile.c: the steps of one visit: Secrets, the decision, and what it says (backup_visit.h). */
#include "common/base.h"

#include "common/alloc.h"
#include "common/json.h"
#include "common/log.h"
#include "operator/api/projections.h"
#include "operator/backup/backup_visit.h"

/* More writes of one visit than a backup ever needs in a row: what is left comes with the next. */
#define WRITES_MAX 6
#define RELEASE_AGAIN_MS 1000
#define IDLE_MS (10 * 60 * 1000)

/* ---- what is remembered ---- */

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
        backup_sender_want(sender, visit->context.key, NULL);
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
    backup_sender_want(sender, visit->context.key, &task);
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

static int act(struct backup_visit *visit, struct backup_memory *memory)
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
    return backup_visit_tend_store(visit, BACKUP_VISIT_DONE);
}

/* The pod in front of the volume goes before our finalizer does: afterwards nobody would know of it. Its end brings us
 * back. */
static int release(struct backup_visit *visit)
{
    visit->context.again_ms = RELEASE_AGAIN_MS;
    return backup_visit_tend_store(visit, BACKUP_VISIT_RELEASE);
}

static int phase_release(void *work)
{
    const struct backup_visit *visit = work;
    const struct backup_snapshot *snapshot = &visit->snapshot;
    if (visit->step.gives_up_data)
        log_warn("a stored backup is left over, delete it by hand", LOG_STR("namespace", snapshot->ns),
            LOG_STR("name", snapshot->name), LOG_STR("location", snapshot->last.location),
            LOG_STR("endpoint", snapshot->backup.destination.endpoint), LOG_STR("why", snapshot->last.message));
    return backup_visit_write_finalizer(work, false);
}

/* ---- the namespace ---- */

/* As often as Secrets are read: it may end later than it was asked about. */
static bool asks_for_namespace(const struct backup_visit *visit, const struct backup_memory *memory)
{
    const struct backup_controller *controller = visit->controller;
    return visit->step.asks_for_namespace &&
        (!memory->namespace_asked_ms ||
            loop_now_ms(controller->loop) - memory->namespace_asked_ms >= controller->options.secrets_fresh_ms);
}

/* Whatever else it is answered, the visit goes on. */
static void on_asked(void *work, const struct kube_answer *answer, const struct error *err)
{
    UNUSED(answer);
    struct backup_visit *visit = work;
    struct backup_memory *memory = backup_visit_memory(visit);
    if (memory && err && err->kind == ERROR_ENDING)
        memory->namespace_ends = true;
    phases_go_on(&visit->context.phases, BACKUP_VISIT_DECIDE);
}

/* The operator has no right to read namespaces. A creation is refused in one that is being deleted, also by dry run,
 * which stores nothing. */
static int phase_ask(void *work)
{
    struct backup_visit *visit = work;
    struct backup_memory *memory = backup_visit_memory(visit);
    if (!memory)
        return BACKUP_VISIT_DONE;
    memory->namespace_asked_ms = MAX_OF(loop_now_ms(visit->controller->loop), 1);
    _cleanup_(json_decrefp) json_t *object = kube_namespace_probe(visit->context.ns);
    kube_try_create(visit->context.client, visit->controller->config_maps, visit->context.ns, object, on_asked, visit);
    return PHASES_WAIT;
}

/* ---- the decision ---- */

static int phase_decide(void *work)
{
    struct backup_visit *visit = work;
    if (!backup_visit_look(visit))
        return BACKUP_VISIT_DONE;
    struct backup_memory *memory = backup_visit_memory(visit);
    if (asks_for_namespace(visit, memory))
        return BACKUP_VISIT_ASK;
    remember(visit, memory);
    visit->context.again_ms = visit->step.again_ms > 0 ? visit->step.again_ms : IDLE_MS;
    if (visit->writes >= WRITES_MAX) {
        visit->context.again_ms = BACKUP_SECRETS_FRESH_MS;
        return BACKUP_VISIT_DONE;
    }
    if (!backup_status_same(&visit->step.next, &visit->snapshot.last))
        return backup_visit_write_status(visit);
    if (visit->step.act == BACKUP_ACT_HOLD)
        return backup_visit_write_finalizer(visit, true);
    return visit->step.act == BACKUP_ACT_RELEASE ? release(visit) : act(visit, memory);
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

/* Without them the visit goes on: deadlines and deletions do not wait for an API server that answers only some
 * questions. */
static void on_secrets(void *work, struct task_keys *keys, const struct error *err)
{
    struct backup_visit *visit = work;
    struct backup_memory *memory = backup_visit_memory(visit);
    if (err)
        reconcile_fail(&visit->context, err, NULL);
    else if (memory) {
        task_keys_take(&memory->keys, keys);
        memory->keys_ms = MAX_OF(loop_now_ms(visit->controller->loop), 1);
        memory->keys_for = visit->keys_for;
    }
    phases_go_on(&visit->context.phases, BACKUP_VISIT_DECIDE);
}

static int phase_look(void *work)
{
    struct backup_visit *visit = work;
    const struct backup_memory *memory = backup_visit_memory(visit);
    if (!backup_visit_look(visit) || !secrets_are_due(visit, memory))
        return BACKUP_VISIT_DECIDE;
    visit->keys_for = backup_secrets_meant(visit->snapshot.backup.document);
    backup_secrets_read(visit->context.client, visit->controller->targets.kinds[PLAN_SECRET].resource,
        &visit->snapshot.backup, "spec", on_secrets, visit);
    return PHASES_WAIT;
}

/* ---- the beginning and the end ---- */

static void visit_free(void *work)
{
    struct backup_visit *visit = work;
    struct backup_memory *memory = backup_visit_memory(visit);
    if (memory)
        *memory->begins_with = '\0';
    backup_visit_drop_look(visit);
    reconcile_context_release(&visit->context);
    free(visit);
}

/* Somebody else's pod of that name: only they can change that. */
static int phase_done(void *work)
{
    struct backup_visit *visit = work;
    if (visit->context.error.kind == ERROR_EXISTS) {
        visit->context.error.kind = ERROR_NONE;
        reconcile_again_in(&visit->context, BACKUP_RECHECK_MS);
    }
    return reconcile_done(work);
}

static const phase_fn phases[] = {
    [BACKUP_VISIT_DONE] = phase_done,
    [BACKUP_VISIT_LOOK] = phase_look,
    [BACKUP_VISIT_DECIDE] = phase_decide,
    [BACKUP_VISIT_ASK] = phase_ask,
    [BACKUP_VISIT_WRITTEN] = backup_visit_tell,
    [BACKUP_VISIT_RELEASE] = phase_release,
};

void backup_visit_start(struct backup_controller *controller, const struct custom_object *object, struct reconcile *run)
{
    struct backup_visit *visit = xnew(struct backup_visit);
    reconcile_context_init(visit, run, controller->client, object->ns, object->name, object->uid, visit_free);
    visit->context.again_ms = IDLE_MS;
    visit->controller = controller;
    reconcile_context_start(&visit->context, phases, BACKUP_VISIT_LOOK);
}
