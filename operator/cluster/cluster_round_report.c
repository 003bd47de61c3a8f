/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/alloc.h"
#include "common/json.h"
#include "operator/api/api_kinds.h"
#include "operator/cluster/cluster_confirmed.h"
#include "operator/cluster/cluster_events.h"
#include "operator/cluster/cluster_metrics.h"
#include "operator/cluster/cluster_notes.h"
#include "operator/cluster/cluster_report.h"
#include "operator/cluster/cluster_report_roles.h"
#include "operator/cluster/cluster_round.h"
#include "operator/cluster/final_backup_tend.h"
#include "operator/cluster/member_view.h"

/* Under the version that was read: a newer spec is reported by the round that it brings. */
static void send_status(struct cluster_round *round, const struct cluster_status *status,
    void (*done)(void *arg, const struct kube_answer *answer, const struct error *err))
{
    const struct cluster_controller *controller = round->controller;
    const struct cluster_snapshot *snapshot = &round->snapshot;
    json_t *body = json_build("{s:s, s:s, s:{s:s, s:s, s:s, s:s}, s:o}", "apiVersion", KM_API_GROUP_VERSION, "kind",
        kube_kind_mysql_cluster.kind, "metadata", "name", snapshot->name, "namespace", snapshot->ns, "uid",
        snapshot->uid, "resourceVersion", snapshot->version, "status", cluster_status_encode(status));
    kube_apply_status(controller->client, controller->cluster_resource, body, done, round);
    json_decref(body);
}

/* ---- intents ---- */

static void on_intent_written(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct cluster_round *round = arg;
    if (err) {
        round->error = *err;
        error_prefix(&round->error, "status");
        cluster_round_finish(round);
        return;
    }
    informer_observe_write(round->controller->sources.clusters, answer);
    cluster_events_tell(manager_events(round->controller->manager), round->controller->cluster_resource,
        &round->snapshot, round->news, round->news_count);
    if (cluster_round_look_again(round))
        cluster_round_plan(round);
    else
        cluster_round_abandon(round);
}

/* Nothing has happened as long as the status does not say so. */
static void keep_news(struct cluster_round *round, const struct cluster_intent *intent)
{
    struct cluster_news news[CLUSTER_INTENT_NEWS_MAX];
    round->news_count = cluster_intent_news(&round->snapshot, intent, news);
    free(round->news);
    round->news = xmemdup(news, (size_t)round->news_count * sizeof(*news));
}

void cluster_round_write_intent(struct cluster_round *round)
{
    const struct cluster_intent *intent = &round->decision.intent;
    struct cluster_status status;
    cluster_notes_intent(cluster_round_memory(round), &round->snapshot, intent);
    round->intents++;
    cluster_status_copy(&round->snapshot.last, &status);
    cluster_intent_apply(&round->snapshot, intent, &status);
    keep_news(round, intent);
    send_status(round, &status, on_intent_written);
    cluster_status_release(&status);
    cluster_decision_release(&round->decision);
    cluster_snapshot_drop_world(&round->snapshot);
}

/* ---- the last thing in a round ---- */

static void on_final_tended(void *arg, int64_t again_ms, const struct error *err)
{
    struct cluster_round *round = arg;
    cluster_round_again_in(round, again_ms);
    if (err && !round->error.kind)
        round->error = *err;
    cluster_round_finish(round);
}

/* The last thing in a round, so that one that fails holds up nothing else. */
static void round_end(struct cluster_round *round)
{
    struct cluster_controller *controller = round->controller;
    const struct final_backup_tender tender = {
        .client = controller->client,
        .clusters = controller->cluster_resource,
        .backups = controller->backup_resource,
        .cluster_cache = controller->sources.clusters,
        .backup_cache = controller->sources.backups,
        .memories = &controller->memories,
    };
    final_backup_tend(&tender, &round->snapshot, round->final_act, on_final_tended, round);
}

/* ---- the report ---- */

static void on_status_written(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct cluster_round *round = arg;
    if (!err)
        informer_observe_write(round->controller->sources.clusters, answer);
    else if (err->kind != ERROR_NOT_FOUND && !round->error.kind) {
        round->error = *err;
        error_prefix(&round->error, "status");
    }
    if (err)
        cluster_round_finish(round);
    else
        round_end(round);
}

void cluster_round_report(struct cluster_round *round)
{
    struct cluster_controller *controller = round->controller;
    const struct cluster_snapshot *snapshot = &round->snapshot;
    const struct cluster_outcome outcome = {round->error.kind ? &round->error : NULL, round->error_kind};
    struct cluster_status status;
    cluster_report(snapshot, &round->decision, &outcome, &status);
    round->recheck_soon = snapshot->cluster.password_secret_name || cluster_snapshot_has_mounting_pod(snapshot);
    if (cluster_epoch_spreads(snapshot))
        cluster_round_again_in(round, CLUSTER_EPOCH_SPREAD_MS);
    if (cluster_notes_report(cluster_round_memory(round), snapshot))
        cluster_round_again_in(round, CLUSTER_CONFIRM_MS);
    cluster_figures_set(&cluster_round_memory(round)->figures, snapshot, &status);
    round->final_act = final_backup_next_act(snapshot); /* before the world is let go */
    if (cluster_status_same(&snapshot->last, &status))
        round_end(round);
    else {
        cluster_events_record(manager_events(controller->manager), controller->cluster_resource, snapshot, &status);
        send_status(round, &status, on_status_written);
        cluster_snapshot_drop_world(&round->snapshot);
    }
    cluster_status_release(&status);
}
