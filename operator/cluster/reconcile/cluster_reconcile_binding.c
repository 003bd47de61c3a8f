/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/alloc.h"
#include "common/json.h"
#include "operator/cluster/reconcile/cluster_binding.h"
#include "operator/cluster/reconcile/cluster_reconcile.h"

/* Nobody tells of an object of somebody else's that has gone. */
#define CONFLICT_RECHECK_MS (20 * 1000)

static void on_binding(void *arg, const struct cluster_binding_facts *facts, const struct error *err)
{
    struct cluster_reconcile *reconcile = arg;
    struct cluster_memory *memory = cluster_reconcile_memory(reconcile);
    memory->binding = *facts;
    memory->binding_due = err != NULL;
    if (err && !reconcile->context.error.kind) {
        reconcile_fail(&reconcile->context, err, NULL);
        reconcile->error_kind = PLAN_KIND_COUNT;
    }
    if (!str_empty(facts->conflict)) {
        memory->binding_due = true;
        reconcile_again_in(&reconcile->context, CONFLICT_RECHECK_MS);
    }
    phases_go_on(&reconcile->context.phases, cluster_reconcile_go_on(reconcile, CLUSTER_PHASE_STATUS));
}

static enum binding_wish wish_of(const struct cluster_reconcile *reconcile)
{
    if (!reconcile->snapshot.usable || reconcile->snapshot.cluster.paused)
        return BINDING_KEEP;
    if (!reconcile->snapshot.cluster.username)
        return BINDING_NONE;
    return reconcile->user_password ? BINDING_WANTED : BINDING_KEEP; /* without: the user's Secret is awaited */
}

int cluster_phase_binding(void *arg)
{
    struct cluster_reconcile *reconcile = arg;
    struct cluster_controller *controller = reconcile->controller;
    const struct cluster_snapshot *snapshot = &reconcile->snapshot;
    if (!reconcile->ca_pem)
        return CLUSTER_PHASE_STATUS;
    _cleanup_(freep) char *host = xasprintf("%s.%s.svc", snapshot->names.service_primary, snapshot->ns);
    _cleanup_(json_decrefp) json_t *metadata = desired_child_metadata(snapshot);
    const struct cluster_binding_request request = {
        .ns = snapshot->ns,
        .secret_name = snapshot->names.app,
        .bundle_name = snapshot->names.ca_bundle,
        .metadata = metadata,
        .wish = wish_of(reconcile),
        .binding = {.host = host,
            .port = snapshot->cluster.port,
            .username = snapshot->cluster.username,
            .database = snapshot->cluster.database,
            .password = reconcile->user_password,
            .ca_pem = reconcile->ca_pem},
    };
    cluster_binding_ensure(controller->client, controller->targets.kinds[PLAN_SECRET].resource,
        controller->targets.kinds[PLAN_CONFIG_MAP].resource, &request, on_binding, reconcile);
    cluster_snapshot_drop_world(&reconcile->snapshot);
    return PHASES_WAIT;
}
