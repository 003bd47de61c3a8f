/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/rollout/route_clear.h"

#include "common/json.h"

static const struct service_object *primary_service(const struct cluster_snapshot *snapshot)
{
    return (const struct service_object *)snapshot->children[CHILD_SERVICE_PRIMARY];
}

static void take_selector(
    const struct cluster_snapshot *snapshot, const struct service_object *service, struct plan *plan)
{
    char uid[KUBE_UID_TEXT_SIZE];
    kube_uid_print(service->object.uid, uid);
    plan_add_patch(plan, PLAN_SERVICE, snapshot->ns, snapshot->names.service_primary, uid,
        json_build("{s:{s:s}, s:{s:n}}", "metadata", "uid", uid, "spec", "selector"),
        "take the selector away: it leads to others than the primary");
    plan_let_pass(plan);
}

/* The Endpoints first: as long as an EndpointSlice is there, this is done again. */
static void delete_foreign(const struct cluster_snapshot *snapshot, struct plan *plan)
{
    static const char *const why = "delete what leads to others than the primary";
    plan_add_delete(plan, PLAN_ENDPOINTS, snapshot->ns, snapshot->names.service_primary, NULL, why);
    plan_let_pass(plan);
    for (int i = 0; i < snapshot->foreign_slice_count; i++) {
        char uid[KUBE_UID_TEXT_SIZE];
        kube_uid_print(snapshot->foreign_slices[i]->object.uid, uid);
        plan_add_delete(plan, PLAN_ENDPOINT_SLICE, snapshot->ns, snapshot->foreign_slices[i]->name, uid, why);
        plan_let_pass(plan);
    }
}

static bool has_foreign(const struct cluster_snapshot *snapshot)
{
    const struct service_object *service = primary_service(snapshot);
    return service && !service->has_selector && snapshot->foreign_slice_count > 0;
}

void route_clear_decide(const struct cluster_snapshot *snapshot, struct plan *plan)
{
    const struct service_object *service = primary_service(snapshot);
    if (service && service->has_selector)
        take_selector(snapshot, service, plan);
    else if (has_foreign(snapshot) && snapshot->route_rest_ms == 0)
        delete_foreign(snapshot, plan);
}

int64_t route_clear_again_ms(const struct cluster_snapshot *snapshot)
{
    return has_foreign(snapshot) ? snapshot->route_rest_ms : 0;
}

bool route_clear_tell(const struct plan_action *action, char out[static ROUTE_CLEARED_SIZE])
{
    bool is_selector = action->verb == PLAN_PATCH && action->kind == PLAN_SERVICE;
    bool is_foreign =
        action->verb == PLAN_DELETE && (action->kind == PLAN_ENDPOINT_SLICE || action->kind == PLAN_ENDPOINTS);
    if (is_selector)
        snprintf(out, ROUTE_CLEARED_SIZE, "spec.selector");
    else if (is_foreign)
        snprintf(out, ROUTE_CLEARED_SIZE, "%s %s", plan_kind_name(action->kind), action->name);
    return is_selector || is_foreign;
}
