/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "operator/cluster/desired/template_change.h"
#include "operator/cluster/reconcile/cluster_reconcile.h"
#include "operator/cluster/rollout/route_clear.h"
#include "operator/cluster/state/namespace_end.h"
#include "operator/cluster/status/cluster_events.h"

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

/* Remembers what was applied and what the server made of it. Not what the cache holds: that may be somebody's later
 * edit. */
static void remember_child(
    struct cluster_reconcile *reconcile, const struct plan_action *action, const struct kube_answer *answer)
{
    enum cluster_child child;
    struct cluster_memory *memory = cluster_reconcile_memory(reconcile);
    if (!find_child(&reconcile->snapshot.names, action, &child))
        return;
    memory->children_known = true;
    memory->children[child] =
        (struct cluster_child_memory){reconcile->decision.desired[child], kube_object_digest(answer->raw)};
}

/* A conflict at a pod says that it is not the one that was read, and "not found" that it has gone meanwhile. A label
 * that is late harms nobody: the route does not go by it. A deletion names the pod's UID, so the pod that it meant is
 * gone. */
static bool is_no_news(struct cluster_reconcile *reconcile, const struct plan_action *action, const struct error *err)
{
    bool is_late = action->verb == PLAN_PATCH || action->verb == PLAN_DELETE;
    bool is_another = err->kind == ERROR_CONFLICT || err->kind == ERROR_NOT_FOUND;
    if (!is_late || action->kind != PLAN_POD || !is_another)
        return false;
    reconcile_again_in(&reconcile->context, CLUSTER_CONFLICT_RETRY_MS);
    return !cluster_memory_note_conflict(cluster_reconcile_memory(reconcile), clock_monotonic_ms());
}

/* ---- what changes in the template ---- */

static const struct plan_action *find_set_apply(const struct plan *plan)
{
    for (int i = 0; i < plan->count; i++) {
        const struct plan_action *action = &plan->actions[i];
        if (action->verb == PLAN_APPLY && action->kind == PLAN_STATEFUL_SET && action->uid)
            return action;
    }
    return NULL;
}

static void on_set_read(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct cluster_reconcile *reconcile = arg;
    if (!err) {
        reconcile->template_before = json_deep_copy(json_path(answer->object, "spec.template"));
        snprintf(reconcile->template_from, sizeof(reconcile->template_from), "%s",
            json_path_str(answer->object, "status.updateRevision", ""));
    }
    phases_go_on(&reconcile->context.phases, CLUSTER_PHASE_CHILDREN);
}

/* Told before the first pod is replaced for it, and then with each. */
static void tell_template_change(struct cluster_reconcile *reconcile, const struct kube_answer *answer)
{
    char text[TEMPLATE_CHANGE_SIZE];
    struct cluster_memory *memory = cluster_reconcile_memory(reconcile);
    template_change_text(reconcile->template_before, json_path(answer->object, "spec.template"), text);
    if (str_empty(text))
        return;
    free(memory->template_change);
    free(memory->template_from);
    memory->template_change = xstrdup(text);
    memory->template_from = xstrdup(reconcile->template_from);
    cluster_events_template_changed(manager_events(reconcile->controller->manager),
        reconcile->controller->cluster_resource, &reconcile->snapshot, text);
}

/* ---- what others have put beside the route ---- */

/* A deletion that finds nothing is none, and no error either. */
static void note_cleared(
    struct cluster_reconcile *reconcile, const struct plan_action *action, const struct kube_answer *answer)
{
    char what[ROUTE_CLEARED_SIZE];
    if (!route_clear_tell(action, what))
        return;
    if (action->kind == PLAN_ENDPOINTS)
        cluster_memory_note_cleared(cluster_reconcile_memory(reconcile), clock_monotonic_ms());
    if (!answer || answer->status / 100 != 2)
        return;
    char *before = reconcile->route_cleared;
    bool is_first = action->kind == PLAN_ENDPOINTS; /* whichever is answered first: two Events of one text are one */
    if (!before)
        reconcile->route_cleared = xstrdup(what);
    else
        reconcile->route_cleared = xasprintf("%s, %s", is_first ? what : before, is_first ? before : what);
    free(before);
}

static void tell_cleared(const struct cluster_reconcile *reconcile)
{
    if (reconcile->route_cleared)
        cluster_events_route_cleared(manager_events(reconcile->controller->manager),
            reconcile->controller->cluster_resource, &reconcile->snapshot, reconcile->route_cleared);
}

/* ---- the plan ---- */

static void on_action(
    void *arg, const struct plan_action *action, const struct kube_answer *answer, const struct error *err)
{
    struct cluster_reconcile *reconcile = arg;
    cluster_memory_note_write(cluster_reconcile_memory(reconcile), err);
    if (err && !reconcile->context.error.kind && !is_no_news(reconcile, action, err)) {
        reconcile_fail(&reconcile->context, err, NULL);
        reconcile->error_kind = action->verb == PLAN_CREATE ? PLAN_KIND_COUNT : action->kind; /* no member's claim */
        if (action->verb != PLAN_APPLY || !find_child(&reconcile->snapshot.names, action, &reconcile->error_child))
            reconcile->error_child = CHILD_COUNT;
    }
    note_cleared(reconcile, action, err ? NULL : answer);
    if (!err && action->verb == PLAN_APPLY)
        remember_child(reconcile, action, answer);
    if (!err && action->verb == PLAN_ADOPT) /* the rest of the plan is the next reconcile's */
        reconcile_again_in(&reconcile->context, 1);
    if (!err && action->verb == PLAN_APPLY && action->kind == PLAN_STATEFUL_SET)
        tell_template_change(reconcile, answer);
    if (!err && action->verb == PLAN_APPLY && action->kind == PLAN_ENDPOINT_SLICE &&
        reconcile->snapshot.last.roles.transition.failover && !str_empty(reconcile->snapshot.last.roles.transition.to))
        cluster_reconcile_memory(reconcile)->failover_times.published_ms = clock_realtime_ms();
    if (!err && action->verb == PLAN_DELETE && action->kind == PLAN_POD && action->why)
        cluster_events_pod_replaced(manager_events(reconcile->controller->manager),
            reconcile->controller->cluster_resource, &reconcile->snapshot, action->why);
}

static void on_plan_done(void *arg, const struct plan *plan, const struct error *err)
{
    UNUSED(plan);
    UNUSED(err); /* on_action has it */
    struct cluster_reconcile *reconcile = arg;
    tell_cleared(reconcile);
    phases_go_on(&reconcile->context.phases, cluster_reconcile_go_on(reconcile, CLUSTER_PHASE_AGENTS));
}

int cluster_phase_children(void *arg)
{
    struct cluster_reconcile *reconcile = arg;
    struct cluster_controller *controller = reconcile->controller;
    const struct plan_action *set = find_set_apply(reconcile->decision.plan);
    if (set && !reconcile->template_asked) {
        reconcile->template_asked = true;
        kube_get(controller->client, controller->targets.kinds[PLAN_STATEFUL_SET].resource, set->ns, set->name,
            on_set_read, reconcile);
        cluster_snapshot_drop_world(&reconcile->snapshot);
        return PHASES_WAIT;
    }
    reconcile->executed = true;
    plan_execute(controller->loop, &controller->targets, steal_ptr(reconcile->decision.plan), on_action, on_plan_done,
        reconcile);
    cluster_snapshot_drop_world(&reconcile->snapshot);
    return PHASES_WAIT;
}
