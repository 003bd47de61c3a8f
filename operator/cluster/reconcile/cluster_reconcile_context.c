/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/clock.h"
#include "common/json.h"
#include "operator/api/api_kinds.h"
#include "operator/cluster/reconcile/cluster_reconcile.h"

void cluster_controller_wake(void *arg, const char *cluster_key)
{
    struct cluster_controller *controller = arg;
    controller_enqueue(controller->runtime, cluster_key);
}

struct cluster_memory *cluster_reconcile_memory(const struct cluster_reconcile *reconcile)
{
    return cluster_memories_get(&reconcile->controller->memories, reconcile->key, reconcile->snapshot.uid);
}

bool cluster_reconcile_look_again(struct cluster_reconcile *reconcile)
{
    return cluster_gather_again(&reconcile->controller->sources, cluster_reconcile_memory(reconcile), reconcile->key,
        clock_realtime_ms(), &reconcile->snapshot);
}

void cluster_reconcile_again_in(struct cluster_reconcile *reconcile, int64_t ms)
{
    if (ms > 0)
        reconcile->again_ms = reconcile->again_ms > 0 ? MIN_OF(reconcile->again_ms, ms) : ms;
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

/* ---- writing the status ---- */

/* Under the version that was read: a newer spec is reported by the round that it brings. */
void cluster_reconcile_send_status(struct cluster_reconcile *reconcile, const struct cluster_status *status,
    void (*done)(void *arg, const struct kube_answer *answer, const struct error *err))
{
    const struct cluster_controller *controller = reconcile->controller;
    const struct cluster_snapshot *snapshot = &reconcile->snapshot;
    json_t *body = json_build("{s:s, s:s, s:{s:s, s:s, s:s, s:s}, s:o}", "apiVersion", KM_API_GROUP_VERSION, "kind",
        kube_kind_mysql_cluster.kind, "metadata", "name", snapshot->name, "namespace", snapshot->ns, "uid",
        snapshot->uid, "resourceVersion", snapshot->version, "status", cluster_status_encode(status));
    kube_apply_status(controller->client, controller->cluster_resource, body, done, reconcile);
    json_decref(body);
}
