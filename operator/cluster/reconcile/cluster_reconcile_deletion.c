/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/alloc.h"
#include "common/json.h"
#include "common/strbuf.h"
#include "operator/cluster/reconcile/cluster_reconcile.h"
#include "operator/cluster/reconcile/final_backup_tend.h"

#define CLAIMS_PATH_MAX 1024
/* A claim that the cache does not show yet. */
#define CLAIM_UNSEEN_RETRY_MS 200

void cluster_reconcile_choose_acts(struct cluster_reconcile *reconcile)
{
    const struct cluster_snapshot *snapshot = &reconcile->snapshot;
    reconcile->final_act = final_backup_next_act(snapshot);
    reconcile->hold_act = volume_hold_next_act(snapshot);
    reconcile->asks_claims = volume_hold_removes(snapshot) && volume_hold_is_settled(snapshot);
}

/* ---- claims without an owner ---- */

static bool is_left(const json_t *claim, const char *cluster)
{
    char name[DERIVED_NAME_SIZE];
    if (json_path(claim, "metadata.deletionTimestamp") || json_array_size(json_path(claim, "metadata.ownerReferences")))
        return false;
    for (int ordinal = 0; ordinal <= CLUSTER_REPLICAS_MAX; ordinal++) {
        cluster_claim_name(name, cluster, ordinal);
        if (str_eq(name, json_path_str(claim, "metadata.name", "")))
            return true;
    }
    return false;
}

static void on_claims(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct cluster_reconcile *reconcile = arg;
    size_t i, left = 0;
    const json_t *claim;
    json_array_foreach(err ? NULL : json_object_get(answer->object, "items"), i, claim)
        left += is_left(claim, reconcile->context.name);
    if (err)
        reconcile_fail(&reconcile->context, err, "claims without an owner");
    if (left > 0)
        reconcile_again_in(&reconcile->context, CLAIM_UNSEEN_RETRY_MS);
    phases_go_on(&reconcile->context.phases, err || left > 0 ? CLUSTER_PHASE_DONE : CLUSTER_PHASE_VOLUME_HOLD);
}

int cluster_phase_claims(void *arg)
{
    struct cluster_reconcile *reconcile = arg;
    const struct plan_targets *targets = &reconcile->controller->targets;
    if (!reconcile->asks_claims)
        return CLUSTER_PHASE_VOLUME_HOLD;
    _cleanup_(strbuf_release) struct strbuf path;
    strbuf_init(&path, CLAIMS_PATH_MAX);
    kube_resource_path(targets->kinds[PLAN_VOLUME_CLAIM].resource, reconcile->context.ns, NULL, NULL, &path);
    _cleanup_(freep) char *selector = xasprintf(LABEL_CLUSTER "=%s", reconcile->context.name);
    strbuf_adds(&path, "?labelSelector=");
    strbuf_add_urlencoded(&path, selector);
    kube_get_path(reconcile->controller->client, path.buf, on_claims, reconcile);
    cluster_snapshot_drop_world(&reconcile->snapshot);
    return PHASES_WAIT;
}

/* ---- the finalizer that waits for their owners ---- */

int cluster_phase_volume_hold(void *arg)
{
    struct cluster_reconcile *reconcile = arg;
    struct cluster_controller *controller = reconcile->controller;
    const struct reconcile_finalizer finalizer = {.resource = controller->cluster_resource,
        .name = FINALIZER_VOLUMES,
        .wanted = reconcile->hold_act == VOLUME_HOLD_PUT};
    const struct reconcile_write write = {
        .informer = controller->sources.clusters, .what = "metadata.finalizers", .next = CLUSTER_PHASE_FINAL_BACKUP};
    if (reconcile->hold_act == VOLUME_HOLD_STANDS)
        return CLUSTER_PHASE_FINAL_BACKUP;
    reconcile_write_finalizer(&reconcile->context, &finalizer, &write);
    cluster_snapshot_drop_world(&reconcile->snapshot);
    return PHASES_WAIT;
}

/* ---- the last backup ---- */

static void on_final_tended(void *arg, int64_t again_ms, const struct error *err)
{
    struct cluster_reconcile *reconcile = arg;
    reconcile_again_in(&reconcile->context, again_ms);
    if (err)
        reconcile_fail(&reconcile->context, err, NULL);
    phases_go_on(&reconcile->context.phases, CLUSTER_PHASE_DONE);
}

int cluster_phase_final_backup(void *arg)
{
    struct cluster_reconcile *reconcile = arg;
    struct cluster_controller *controller = reconcile->controller;
    const struct final_backup_tender tender = {
        .client = controller->client,
        .clusters = controller->cluster_resource,
        .backups = controller->backup_resource,
        .cluster_cache = controller->sources.clusters,
        .backup_cache = controller->sources.backups,
        .memories = &controller->memories,
    };
    final_backup_tend(&tender, &reconcile->snapshot, reconcile->final_act, on_final_tended, reconcile);
    return PHASES_WAIT;
}
