/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/alloc.h"
#include "operator/cluster/reconcile/cluster_notes.h"
#include "operator/cluster/reconcile/cluster_reconcile.h"
#include "operator/cluster/rollout/route_clear.h"
#include "operator/cluster/status/cluster_events.h"

/* ---- what the status must say about roles ---- */

int cluster_phase_intended(void *arg)
{
    struct cluster_reconcile *reconcile = arg;
    cluster_events_tell(manager_events(reconcile->controller->manager), reconcile->controller->cluster_resource,
        &reconcile->snapshot, reconcile->news, reconcile->news_count);
    return cluster_reconcile_look_again(reconcile) ? CLUSTER_PHASE_ROLES : CLUSTER_PHASE_ABANDONED;
}

/* Nothing has happened as long as the status does not say so. */
static void keep_news(struct cluster_reconcile *reconcile, const struct cluster_intent *intent)
{
    struct cluster_news news[CLUSTER_INTENT_NEWS_MAX];
    reconcile->news_count = cluster_intent_news(&reconcile->snapshot, intent, news);
    free(reconcile->news);
    reconcile->news = xmemdup(news, (size_t)reconcile->news_count * sizeof(*news));
}

static void write_intent(struct cluster_reconcile *reconcile)
{
    const struct cluster_intent *intent = &reconcile->decision.intent;
    struct cluster_status status;
    cluster_notes_intent(cluster_reconcile_memory(reconcile), &reconcile->snapshot, intent);
    reconcile->intents++;
    cluster_status_copy(&reconcile->snapshot.last, &status);
    cluster_intent_apply(&reconcile->snapshot, intent, &status);
    cluster_history_note(&status.history, &reconcile->snapshot.last.roles, &status.roles, reconcile->snapshot.now_ms);
    keep_news(reconcile, intent);
    cluster_reconcile_write_status(reconcile, &status, CLUSTER_PHASE_INTENDED);
    cluster_status_release(&status);
    cluster_decision_release(&reconcile->decision);
    cluster_snapshot_drop_world(&reconcile->snapshot);
}

/* ---- the decision ---- */

/* After a restart: if all children are as the status says we left them, none needs to be applied to make sure. */
static void seed_memory(struct cluster_memory *memory, struct cluster_snapshot *snapshot)
{
    char hash[17];
    uint64_t desired[CHILD_COUNT];
    memory->children_known = true;
    cluster_desired_hashes(snapshot, desired);
    cluster_applied_hash(snapshot, desired, hash);
    if (str_empty(hash) || !str_eq(hash, snapshot->last.applied_hash))
        return;
    for (int child = 0; child < CHILD_COUNT; child++)
        memory->children[child] = (struct cluster_child_memory){desired[child], snapshot->children[child]->digest};
    memcpy(snapshot->memory, memory->children, sizeof(snapshot->memory));
}

static void decide_plan(struct cluster_reconcile *reconcile)
{
    struct cluster_snapshot *snapshot = &reconcile->snapshot;
    struct cluster_memory *memory = cluster_reconcile_memory(reconcile);
    if (!memory->children_known && snapshot->usable)
        seed_memory(memory, snapshot);
    free(reconcile->decided_config_version);
    reconcile->decided_generation = snapshot->generation;
    reconcile->decided_config_version = xstrdup(snapshot->config_version);
    cluster_decide_plan(snapshot, &reconcile->decision);
}

static void note_drain(struct cluster_reconcile *reconcile)
{
    cluster_notes_drain(cluster_reconcile_memory(reconcile), &reconcile->snapshot, &reconcile->decision.intent);
    reconcile_again_in(&reconcile->context, reconcile->decision.intent.again_ms);
    reconcile_again_in(&reconcile->context, reconcile->decision.gate_again_ms);
}

/* Who waits looks for the others' marks; who may begin says again that it does; who is on turn ends it by what the
 * status says, whose writing is no event. */
static void look_for_turn(struct cluster_reconcile *reconcile)
{
    const struct cluster_turn *turn = &reconcile->snapshot.turn;
    if (turn->cause != CLUSTER_TURN_NONE || turn->marked)
        reconcile_again_in(&reconcile->context, CLUSTER_TURN_RETRY_MS);
}

int cluster_phase_roles(void *arg)
{
    struct cluster_reconcile *reconcile = arg;
    reconcile->planned = true;
    cluster_reconcile_sync_agents(reconcile);
    cluster_decide_roles(&reconcile->snapshot, &reconcile->decision);
    cluster_reconcile_send_orders(reconcile); /* of the status as it stands: no write holds them up */
    note_drain(reconcile);
    if (reconcile->decision.intent.changed && reconcile->intents < CLUSTER_INTENTS_MAX) {
        write_intent(reconcile);
        return PHASES_WAIT;
    }
    if (cluster_failover_is_swift(&reconcile->snapshot))
        return CLUSTER_PHASE_DONE;
    decide_plan(reconcile);
    reconcile_again_in(&reconcile->context, route_clear_again_ms(&reconcile->snapshot));
    look_for_turn(reconcile);
    return plan_is_empty(reconcile->decision.plan) ? CLUSTER_PHASE_AGENTS : CLUSTER_PHASE_CHILDREN;
}
