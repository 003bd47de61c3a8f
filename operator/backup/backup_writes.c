/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/json.h"
#include "operator/api/api_kinds.h"
#include "operator/api/projections.h"
#include "operator/backup/backup_metrics.h"
#include "operator/backup/backup_visit.h"

/* ---- status ---- */

static void tell(struct backup_visit *visit)
{
    const struct backup_snapshot *snapshot = &visit->snapshot;
    const struct event_target target = {
        .resource = visit->controller->resource,
        .ns = snapshot->ns,
        .name = snapshot->name,
        .uid = snapshot->uid,
        .resource_version = snapshot->version,
    };
    if (!visit->step.event)
        return;
    event_record(manager_events(visit->controller->manager), &target,
        visit->step.warning ? EVENT_WARNING : EVENT_NORMAL, visit->step.event, "%s", visit->step.next.message);
    backup_metrics_note(visit->controller->metrics, snapshot, &visit->step.next);
}

static void on_status_written(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct backup_visit *visit = arg;
    if (err && err->kind == ERROR_NOT_FOUND)
        backup_visit_finish(visit, NULL);
    else if (err) {
        struct error copy = *err;
        error_prefix(&copy, "status");
        backup_visit_finish(visit, &copy);
    } else {
        informer_observe_write(visit->controller->sources.backups, answer);
        tell(visit);
        visit->go_on(visit);
    }
}

void backup_visit_write_status(struct backup_visit *visit)
{
    const struct backup_snapshot *snapshot = &visit->snapshot;
    visit->writes++;
    json_t *body = json_build("{s:s, s:s, s:{s:s, s:s, s:s, s:s}, s:o}", "apiVersion", KM_API_GROUP_VERSION, "kind",
        kube_kind_mysql_backup.kind, "metadata", "name", snapshot->name, "namespace", snapshot->ns, "uid",
        snapshot->uid, "resourceVersion", snapshot->version, "status", backup_status_encode(&visit->step.next));
    kube_apply_status(visit->controller->client, visit->controller->resource, body, on_status_written, visit);
    json_decref(body);
}

/* ---- finalizer ---- */

static void on_finalizer_written(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct backup_visit *visit = arg;
    if (err) {
        backup_visit_finish(visit, err->kind == ERROR_NOT_FOUND ? NULL : err);
        return;
    }
    /* One that is being deleted may be gone with its last finalizer: then the watch has the last word. */
    if (visit->snapshot.deleting) {
        backup_visit_finish(visit, NULL);
        return;
    }
    informer_observe_write(visit->controller->sources.backups, answer);
    visit->go_on(visit);
}

/* The others' stay as they are. NULL: nothing is to change. */
static json_t *changed_finalizers(const json_t *object, bool wanted)
{
    json_t *list = json_array();
    bool had = false;
    size_t i;
    json_t *each;
    json_array_foreach(json_path(object, "metadata.finalizers"), i, each) {
        bool ours = str_eq(json_string_value(each), FINALIZER_BACKUP);
        had = had || ours;
        if (!ours)
            json_array_append(list, each);
    }
    if (wanted)
        json_array_append_new(list, json_string(FINALIZER_BACKUP));
    if (had != wanted)
        return list;
    json_decref(list);
    return NULL;
}

/* A list cannot be changed by halves: it is read, and written under the version that was read. */
static void on_finalizers_read(struct backup_visit *visit, const json_t *object, bool wanted)
{
    struct error err = ERROR_INIT;
    if (!str_eq(json_path_str(object, "metadata.uid", NULL), visit->uid)) {
        backup_visit_finish(visit, NULL);
        return;
    }
    json_t *list = changed_finalizers(object, wanted);
    if (!list) {
        error_set(&err, ERROR_CONFLICT, "the finalizers have changed meanwhile");
        backup_visit_finish(visit, &err);
        return;
    }
    json_t *patch = json_build("{s:{s:s, s:o}}", "metadata", "resourceVersion",
        json_path_str(object, "metadata.resourceVersion", ""), "finalizers", list);
    kube_patch(visit->controller->client, visit->controller->resource, visit->snapshot.ns, visit->snapshot.name, NULL,
        KUBE_PATCH_MERGE, patch, on_finalizer_written, visit);
    json_decref(patch);
}

static void on_read_to_add(void *arg, const struct kube_answer *answer, const struct error *err)
{
    if (err)
        backup_visit_finish(arg, err->kind == ERROR_NOT_FOUND ? NULL : err);
    else
        on_finalizers_read(arg, answer->object, true);
}

static void on_read_to_remove(void *arg, const struct kube_answer *answer, const struct error *err)
{
    if (err)
        backup_visit_finish(arg, err->kind == ERROR_NOT_FOUND ? NULL : err);
    else
        on_finalizers_read(arg, answer->object, false);
}

void backup_visit_write_finalizer(struct backup_visit *visit, bool wanted)
{
    visit->writes++;
    kube_get(visit->controller->client, visit->controller->resource, visit->snapshot.ns, visit->snapshot.name,
        wanted ? on_read_to_add : on_read_to_remove, visit);
}

/* ---- the pod in front of a volume ---- */

static void on_plan_done(void *arg, const struct plan *plan, const struct error *err)
{
    UNUSED(plan);
    struct backup_visit *visit = arg;
    struct backup_memory *memory = backup_visit_memory(visit);
    if (memory)
        snprintf(memory->store_error, sizeof(memory->store_error), "%s", err ? err->message : "");
    backup_visit_finish(visit, err);
}

/* Others of the cluster may need it: those that run, or are to, and those of which we know. */
static bool is_needed(const struct backup_visit *visit, const char *cluster, const char *claim)
{
    const struct backup_controller *controller = visit->controller;
    const struct store *backups = informer_store(controller->sources.backups);
    size_t cursor = 0;
    for (const struct kube_object *each; (each = store_next(backups, &cursor));) {
        const struct custom_object *other = (const struct custom_object *)each;
        bool open = !str_eq(other->phase, backup_phase_names[BACKUP_PHASE_COMPLETED]) &&
            !str_eq(other->phase, backup_phase_names[BACKUP_PHASE_FAILED]);
        bool theirs = str_eq(other->ns, visit->snapshot.ns) && str_eq(other->cluster_name, cluster) &&
            str_eq(other->claim, claim) && !str_eq(other->name, visit->snapshot.name);
        if (theirs && open)
            return true;
    }
    return backup_memories_want_store(&controller->memories, visit->snapshot.ns, cluster, claim) ||
        store_pod_is_archived_to(&controller->sources, visit->snapshot.ns, cluster, claim);
}

static void plan_store(struct backup_visit *visit, struct plan *plan)
{
    const struct backup_snapshot *snapshot = &visit->snapshot;
    const struct backup_sources *sources = &visit->controller->sources;
    const char *cluster = snapshot->backup.cluster, *claim = snapshot->backup.destination.claim;
    const struct pod_object *pod = store_pod_find(sources, snapshot->ns, cluster, claim);
    if (visit->step.wants_store)
        store_pod_plan(sources, snapshot->ns, cluster, &snapshot->backup.destination, visit->step.wants_claim,
            "a backup needs the volume", plan);
    else if (pod && !pod->object.deleting && str_eq(pod->cluster, cluster) && !is_needed(visit, cluster, claim))
        plan_add_delete(plan, PLAN_POD, snapshot->ns, pod->name, pod->uid, "nobody needs the volume any more");
}

bool backup_visit_tend_store(struct backup_visit *visit)
{
    if (visit->snapshot.backup.destination.kind != BACKUP_DESTINATION_VOLUME)
        return false;
    struct plan *plan = plan_new();
    plan_store(visit, plan);
    if (plan_is_empty(plan)) {
        plan_free(plan);
        return false;
    }
    plan_execute(visit->controller->loop, &visit->controller->targets, plan, NULL, on_plan_done, visit);
    return true;
}
