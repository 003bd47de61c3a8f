/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/projections.h"
#include "operator/backup/backup_metrics.h"
#include "operator/backup/backup_visit.h"

/* ---- the object ---- */

int backup_visit_tell(void *work)
{
    struct backup_visit *visit = work;
    struct event_target target = reconcile_target(&visit->context, visit->controller->resource);
    target.resource_version = visit->snapshot.version;
    if (!visit->step.event)
        return BACKUP_VISIT_LOOK;
    event_record(manager_events(visit->controller->manager), &target,
        visit->step.warning ? EVENT_WARNING : EVENT_NORMAL, visit->step.event, "%s", visit->step.next.message);
    backup_metrics_note(visit->controller->metrics, &visit->snapshot, &visit->step.next);
    return BACKUP_VISIT_LOOK;
}

int backup_visit_write_status(struct backup_visit *visit)
{
    const struct reconcile_write write = {
        .informer = visit->controller->sources.backups, .what = "status", .next = BACKUP_VISIT_WRITTEN};
    visit->writes++;
    reconcile_apply_status(&visit->context, visit->controller->resource, backup_status_encode(&visit->step.next),
        visit->snapshot.version, &write);
    return PHASES_WAIT;
}

int backup_visit_write_finalizer(struct backup_visit *visit, bool wanted)
{
    const struct reconcile_finalizer finalizer = {visit->controller->resource, FINALIZER_BACKUP, wanted};
    const struct reconcile_write write = {.informer = visit->controller->sources.backups, .next = BACKUP_VISIT_LOOK};
    visit->writes++;
    reconcile_write_finalizer(&visit->context, &finalizer, &write);
    return PHASES_WAIT;
}

/* ---- the pod in front of a volume ---- */

/* A refusal is told at once, and asked about again after a while; other errors soon. */
static void on_plan_done(void *work, const struct plan *plan, const struct error *err)
{
    struct backup_visit *visit = work;
    struct backup_memory *memory = backup_visit_memory(visit);
    bool is_news = memory && store_answer_take(&memory->store, visit->context.ns, plan, err);
    bool is_refused = memory && memory->store.is_refused;
    if (is_refused)
        reconcile_again_in(&visit->context, visit->controller->options.blocked_recheck_ms);
    else if (err)
        reconcile_fail(&visit->context, err, NULL);
    phases_go_on(&visit->context.phases, is_refused && is_news ? BACKUP_VISIT_DECIDE : BACKUP_VISIT_DONE);
}

/* Others of the cluster may need it: those that run, or are to, and those of which we know. */
static bool is_needed(const struct backup_visit *visit, const char *cluster, const char *claim)
{
    const struct backup_controller *controller = visit->controller;
    const struct store *backups = informer_store(controller->sources.backups);
    size_t cursor = 0;
    for (const struct kube_object *each; (each = store_next(backups, &cursor));) {
        const struct custom_object *other = (const struct custom_object *)each;
        bool open = !backup_phase_is_final(other->backup_phase);
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

int backup_visit_tend_store(struct backup_visit *visit, int otherwise)
{
    if (visit->snapshot.backup.destination.kind != BACKUP_DESTINATION_VOLUME)
        return otherwise;
    struct plan *plan = plan_new();
    plan_store(visit, plan);
    if (plan_is_empty(plan)) {
        plan_free(plan);
        return otherwise;
    }
    plan_execute(visit->controller->loop, &visit->controller->targets, plan, NULL, on_plan_done, visit);
    return PHASES_WAIT;
}
