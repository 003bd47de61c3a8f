/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/reconcile/cluster_reconcile.h"

#include "common/alloc.h"
#include "common/backoff.h"
#include "common/clock.h"
#include "operator/cluster/reconcile/cluster_secrets.h"

/* Somebody else's object in our way: only they can change that. */
#define FOREIGN_RECHECK_MS 30000

/* ---- the end ---- */

static void reconcile_free(struct cluster_reconcile *reconcile)
{
    cluster_decision_release(&reconcile->decision);
    cluster_snapshot_release(&reconcile->snapshot);
    secret_free(reconcile->user_password);
    free(reconcile->ca_pem);
    json_decref(reconcile->template_before);
    free(reconcile->news);
    free(reconcile->key);
    free(reconcile);
}

/* Spread, so that a thousand clusters do not come back in the same second. */
static int64_t recheck_ms(struct cluster_reconcile *reconcile)
{
    int64_t period = reconcile->recheck_soon ? CLUSTER_SECRETS_RECHECK_SOON_MS : CLUSTER_SECRETS_RECHECK_MS;
    return period - (int64_t)(random_next(&reconcile->controller->random_state) % (uint64_t)(period / 5));
}

static int phase_done(void *arg)
{
    struct cluster_reconcile *reconcile = arg;
    struct reconcile *run = reconcile->run;
    int64_t again_ms = recheck_ms(reconcile);
    if (reconcile->again_ms > 0)
        again_ms = MIN_OF(again_ms, reconcile->again_ms);
    struct error error = reconcile->error;
    reconcile_free(reconcile);
    if (error.kind == ERROR_EXISTS)
        reconcile_finish(run, NULL, FOREIGN_RECHECK_MS);
    else if (error.kind)
        reconcile_finish(run, &error, 0);
    else
        reconcile_finish(run, NULL, again_ms);
    return PHASES_END;
}

static int phase_abandoned(void *arg)
{
    struct cluster_reconcile *reconcile = arg;
    struct reconcile *run = reconcile->run;
    reconcile_free(reconcile);
    reconcile_finish(run, NULL, 0);
    return PHASES_END;
}

/* ---- the beginning ---- */

static const phase_fn phases[CLUSTER_PHASE_COUNT] = {
    [CLUSTER_PHASE_SECRETS] = cluster_phase_secrets,
    [CLUSTER_PHASE_ROLES] = cluster_phase_roles,
    [CLUSTER_PHASE_CHILDREN] = cluster_phase_children,
    [CLUSTER_PHASE_AGENTS] = cluster_phase_agents,
    [CLUSTER_PHASE_BINDING] = cluster_phase_binding,
    [CLUSTER_PHASE_STATUS] = cluster_phase_status,
    [CLUSTER_PHASE_FINAL_BACKUP] = cluster_phase_final_backup,
    [CLUSTER_PHASE_DONE] = phase_done,
    [CLUSTER_PHASE_ABANDONED] = phase_abandoned,
};

void cluster_reconcile_start(
    struct cluster_controller *controller, const char *key, const char *uid, struct reconcile *run)
{
    struct cluster_reconcile *reconcile = xnew(struct cluster_reconcile);
    reconcile->controller = controller;
    reconcile->run = run;
    reconcile->key = xstrdup(key);
    reconcile->error_kind = PLAN_KIND_COUNT;
    const struct cluster_memory *memory = cluster_memories_get(&controller->memories, key, uid);
    cluster_gather(&controller->sources, memory, key, clock_realtime_ms(), &reconcile->snapshot);
    bool first = memory->secrets_checked_ms == 0 && cluster_reconcile_wants_secrets(reconcile);
    phases_start(&reconcile->phases, phases, reconcile, first ? CLUSTER_PHASE_SECRETS : CLUSTER_PHASE_ROLES);
}
