/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/clock.h"
#include "operator/cluster/reconcile/cluster_reconcile.h"

void cluster_controller_wake(void *arg, const char *cluster_key)
{
    struct cluster_controller *controller = arg;
    controller_enqueue(controller->runtime, cluster_key);
}

struct cluster_memory *cluster_reconcile_memory(const struct cluster_reconcile *reconcile)
{
    return cluster_memories_get(&reconcile->controller->memories, reconcile->context.key, reconcile->snapshot.uid);
}

bool cluster_reconcile_look_again(struct cluster_reconcile *reconcile)
{
    return cluster_gather_again(&reconcile->controller->sources, cluster_reconcile_memory(reconcile),
        reconcile->context.key, clock_realtime_ms(), &reconcile->snapshot);
}

static bool is_overtaken(const struct cluster_reconcile *reconcile)
{
    return reconcile->decided_generation > 0 &&
        (reconcile->snapshot.generation != reconcile->decided_generation ||
            !str_eq(reconcile->snapshot.config_version, reconcile->decided_config_version));
}

int cluster_reconcile_go_on(struct cluster_reconcile *reconcile, int next)
{
    if (!cluster_reconcile_look_again(reconcile))
        return CLUSTER_PHASE_ABANDONED;
    if (!is_overtaken(reconcile))
        return next;
    controller_enqueue(reconcile->controller->runtime, reconcile->context.key);
    return CLUSTER_PHASE_DONE;
}

bool cluster_reconcile_wants_secrets(const struct cluster_reconcile *reconcile)
{
    const struct cluster_snapshot *snapshot = &reconcile->snapshot;
    const struct cluster_memory *memory = cluster_reconcile_memory(reconcile);
    bool is_led =
        snapshot->last.roles.epoch > 0 && cluster_snapshot_has_agents(snapshot); /* with or without a good spec */
    bool may_make = snapshot->usable && !snapshot->cluster.paused;
    if ((!may_make && !is_led) || snapshot->secrets_failed)
        return false;
    int64_t age_ms = loop_now_ms(reconcile->controller->loop) - memory->secrets_checked_ms;
    bool lacks_tls = !memory->secrets.client_tls && cluster_snapshot_has_agents(snapshot);
    return memory->secrets_checked_ms == 0 || age_ms >= reconcile->controller->options.secrets_fresh_ms ||
        memory->secrets_generation != snapshot->generation || lacks_tls || (memory->binding_due && !reconcile->ca_pem);
}

void cluster_reconcile_write_status(struct cluster_reconcile *reconcile, const struct cluster_status *status, int next)
{
    const struct cluster_controller *controller = reconcile->controller;
    const struct reconcile_write write = {
        .informer = controller->sources.clusters, .what = "status", .next = next, .failed = CLUSTER_PHASE_DONE};
    reconcile_apply_status(&reconcile->context, controller->cluster_resource, cluster_status_encode(status),
        reconcile->snapshot.version, &write);
}
