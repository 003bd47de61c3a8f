/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/failover/cluster_confirmed.h"
#include "operator/cluster/reconcile/cluster_metrics.h"
#include "operator/cluster/reconcile/cluster_notes.h"
#include "operator/cluster/reconcile/cluster_reconcile.h"
#include "operator/cluster/reconcile/foreign_names.h"
#include "operator/cluster/rollout/roll_target.h"
#include "operator/cluster/status/cluster_events.h"
#include "operator/cluster/status/cluster_report.h"
#include "operator/cluster/status/cluster_report_accounts.h"
#include "operator/cluster/status/cluster_report_ready.h"
#include "operator/cluster/status/cluster_report_roles.h"
#include "operator/cluster/status/cluster_state.h"

/* ---- the status ---- */

static void on_names(void *arg, const char *text)
{
    struct cluster_reconcile *reconcile = arg;
    struct error *error = &reconcile->context.error;
    if (text)
        snprintf(error->message, sizeof(error->message), "%s", text);
    phases_go_on(&reconcile->context.phases, cluster_reconcile_go_on(reconcile, CLUSTER_PHASE_STATUS));
}

/* One is in the way: all are told at once. */
static bool look_at_names(struct cluster_reconcile *reconcile)
{
    if (reconcile->context.error.kind != ERROR_EXISTS || reconcile->names_looked)
        return false;
    reconcile->names_looked = true;
    foreign_names_look(&reconcile->controller->targets, &reconcile->snapshot, on_names, reconcile);
    cluster_snapshot_drop_world(&reconcile->snapshot);
    return true;
}

int cluster_phase_status(void *arg)
{
    struct cluster_reconcile *reconcile = arg;
    if (look_at_names(reconcile))
        return PHASES_WAIT;
    struct cluster_controller *controller = reconcile->controller;
    const struct cluster_snapshot *snapshot = &reconcile->snapshot;
    bool is_told = cluster_memory_note_end(cluster_reconcile_memory(reconcile), reconcile->context.error.kind);
    const struct cluster_outcome outcome = {
        is_told ? &reconcile->context.error : NULL, reconcile->error_kind, reconcile->error_child};
    struct cluster_status status;
    cluster_decision_note_roll(snapshot, &reconcile->decision);
    cluster_report(snapshot, &reconcile->decision, &outcome, &status);
    reconcile->recheck_soon = snapshot->cluster.password_secret_name || cluster_snapshot_has_mounting_pod(snapshot);
    if (cluster_epoch_spreads(snapshot))
        reconcile_again_in(&reconcile->context, CLUSTER_EPOCH_SPREAD_MS);
    if (cluster_notes_report(cluster_reconcile_memory(reconcile), snapshot, reconcile->decision.primary_obeys))
        reconcile_again_in(&reconcile->context, CLUSTER_CONFIRM_MS);
    cluster_figures_set(&cluster_reconcile_memory(reconcile)->figures, snapshot, &status);
    cluster_reconcile_choose_acts(reconcile); /* before the world is let go */
    if (cluster_accounts_are_applied(snapshot))
        memcpy(cluster_reconcile_memory(reconcile)->applied_accounts, snapshot->secrets.account_digests,
            sizeof(snapshot->secrets.account_digests));
    reconcile_again_in(&reconcile->context, cluster_report_ready_again_ms(snapshot, &status));
    reconcile_again_in(&reconcile->context, cluster_state_again_ms(snapshot, status.state));
    reconcile_again_in(&reconcile->context, roll_again_in_ms(&status.roll, snapshot->now_ms));
    bool changed = !cluster_status_same(&snapshot->last, &status);
    if (changed) {
        cluster_events_record(manager_events(controller->manager), controller->cluster_resource, snapshot, &status);
        cluster_reconcile_write_status(reconcile, &status, CLUSTER_PHASE_CLAIMS);
        cluster_snapshot_drop_world(&reconcile->snapshot);
    }
    cluster_status_release(&status);
    return changed ? PHASES_WAIT : CLUSTER_PHASE_CLAIMS;
}
