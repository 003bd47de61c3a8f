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

static void release(void *work)
{
    struct cluster_reconcile *reconcile = work;
    cluster_decision_release(&reconcile->decision);
    cluster_snapshot_release(&reconcile->snapshot);
    secret_free(reconcile->user_password);
    free(reconcile->ca_pem);
    json_decref(reconcile->template_before);
    free(reconcile->route_cleared);
    free(reconcile->news);
    free(reconcile->decided_config_version);
    reconcile_context_release(&reconcile->context);
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
    reconcile_again_in(&reconcile->context, recheck_ms(reconcile));
    if (reconcile->context.error.kind == ERROR_EXISTS) {
        reconcile->context.error.kind = ERROR_NONE;
        reconcile->context.again_ms = FOREIGN_RECHECK_MS;
    }
    return reconcile_done(reconcile);
}

static int phase_abandoned(void *arg)
{
    struct cluster_reconcile *reconcile = arg;
    reconcile->context.error.kind = ERROR_NONE;
    reconcile->context.again_ms = 0;
    return reconcile_done(reconcile);
}

/* ---- the beginning ---- */

static const phase_fn phases[CLUSTER_PHASE_COUNT] = {
    [CLUSTER_PHASE_SECRETS] = cluster_phase_secrets,
    [CLUSTER_PHASE_ROLES] = cluster_phase_roles,
    [CLUSTER_PHASE_INTENDED] = cluster_phase_intended,
    [CLUSTER_PHASE_CHILDREN] = cluster_phase_children,
    [CLUSTER_PHASE_AGENTS] = cluster_phase_agents,
    [CLUSTER_PHASE_BINDING] = cluster_phase_binding,
    [CLUSTER_PHASE_STATUS] = cluster_phase_status,
    [CLUSTER_PHASE_CLAIMS] = cluster_phase_claims,
    [CLUSTER_PHASE_VOLUME_HOLD] = cluster_phase_volume_hold,
    [CLUSTER_PHASE_FINAL_BACKUP] = cluster_phase_final_backup,
    [CLUSTER_PHASE_DONE] = phase_done,
    [CLUSTER_PHASE_ABANDONED] = phase_abandoned,
};

/* Of a roll that has ended nothing is needed: it is read again, if it ever is. */
static void drop_before(struct cluster_memory *memory, struct cluster_snapshot *snapshot)
{
    if (!memory->before || str_eq(memory->before->hash, snapshot->last.roll.proven))
        return;
    snapshot->before_kept = NULL;
    roll_before_free(steal_ptr(memory->before));
    *memory->before_of = '\0';
    snapshot->before_known = false;
}

void cluster_reconcile_start(
    struct cluster_controller *controller, const char *key, const char *uid, struct reconcile *run)
{
    struct cluster_reconcile *reconcile = xnew(struct cluster_reconcile);
    struct cluster_memory *memory = cluster_memories_get(&controller->memories, key, uid);
    cluster_gather(&controller->sources, memory, key, clock_realtime_ms(), &reconcile->snapshot);
    drop_before(memory, &reconcile->snapshot);
    reconcile_context_init(
        reconcile, run, controller->client, reconcile->snapshot.ns, reconcile->snapshot.name, uid, release);
    reconcile->controller = controller;
    reconcile->error_kind = PLAN_KIND_COUNT;
    reconcile->error_child = CHILD_COUNT;
    bool first = memory->secrets_checked_ms == 0 && cluster_reconcile_wants_secrets(reconcile);
    reconcile_context_start(&reconcile->context, phases, first ? CLUSTER_PHASE_SECRETS : CLUSTER_PHASE_ROLES);
}
