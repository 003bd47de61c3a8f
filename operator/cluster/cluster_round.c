/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/cluster_round.h"

#include "common/alloc.h"
#include "common/backoff.h"
#include "common/clock.h"
#include "operator/cluster/cluster_events.h"
#include "operator/cluster/cluster_notes.h"
#include "operator/cluster/cluster_report.h"
#include "operator/cluster/cluster_secrets.h"
#include "operator/cluster/namespace_end.h"

/* Somebody else's object in our way: only they can change that. */
#define FOREIGN_RECHECK_MS 30000

/* ---- looking ---- */

struct cluster_memory *cluster_round_memory(const struct cluster_round *round)
{
    return cluster_memories_get(&round->controller->memories, round->key, round->snapshot.uid);
}

bool cluster_round_look_again(struct cluster_round *round)
{
    return cluster_gather_again(
        &round->controller->sources, cluster_round_memory(round), round->key, clock_realtime_ms(), &round->snapshot);
}

void cluster_round_again_in(struct cluster_round *round, int64_t ms)
{
    if (ms > 0)
        round->again_ms = round->again_ms > 0 ? MIN_OF(round->again_ms, ms) : ms;
}

/* ---- the end of a round ---- */

static void round_free(struct cluster_round *round)
{
    cluster_decision_release(&round->decision);
    cluster_snapshot_release(&round->snapshot);
    free(round->news);
    free(round->key);
    free(round);
}

/* Spread, so that a thousand clusters do not come back in the same second. */
static int64_t recheck_ms(struct cluster_round *round)
{
    int64_t period = round->recheck_soon ? CLUSTER_SECRETS_RECHECK_SOON_MS : CLUSTER_SECRETS_RECHECK_MS;
    return period - (int64_t)(random_next(&round->controller->random_state) % (uint64_t)(period / 5));
}

void cluster_round_finish(struct cluster_round *round)
{
    struct reconcile *run = round->run;
    int64_t again_ms = recheck_ms(round);
    if (round->again_ms > 0)
        again_ms = MIN_OF(again_ms, round->again_ms);
    struct error error = round->error;
    round_free(round);
    if (error.kind == ERROR_EXISTS)
        reconcile_finish(run, NULL, FOREIGN_RECHECK_MS);
    else if (error.kind)
        reconcile_finish(run, &error, 0);
    else
        reconcile_finish(run, NULL, again_ms);
}

void cluster_round_abandon(struct cluster_round *round)
{
    struct reconcile *run = round->run;
    round_free(round);
    reconcile_finish(run, NULL, 0);
}

/* ---- the plan ---- */

static bool find_child(const struct cluster_names *names, const struct plan_action *action, enum cluster_child *ret)
{
    for (int child = 0; child < CHILD_COUNT; child++) {
        if (desired_child_kind((enum cluster_child)child) != action->kind ||
            !str_eq(desired_child_name(names, (enum cluster_child)child), action->name))
            continue;
        *ret = (enum cluster_child)child;
        return true;
    }
    return false;
}

/* Remembers what was applied and what the server made of it. Not what the cache holds: that may be somebody's later edit. */
static void remember_child(
    struct cluster_round *round, const struct plan_action *action, const struct kube_answer *answer)
{
    enum cluster_child child;
    struct cluster_memory *memory = cluster_round_memory(round);
    if (!find_child(&round->snapshot.names, action, &child))
        return;
    memory->children_known = true;
    memory->children[child] =
        (struct cluster_child_memory){round->decision.desired[child], kube_object_digest(answer->raw)};
}

/* A conflict at a pod says that it is not the one that was read. A label that is late harms nobody: the route does not
 * go by it. A deletion names the pod's UID, so the pod that it meant is gone. */
static bool is_no_news(struct cluster_round *round, const struct plan_action *action, const struct error *err)
{
    bool is_late = action->verb == PLAN_PATCH || action->verb == PLAN_DELETE;
    if (!is_late || action->kind != PLAN_POD || err->kind != ERROR_CONFLICT)
        return false;
    cluster_round_again_in(round, CLUSTER_CONFLICT_RETRY_MS);
    return !cluster_memory_note_conflict(cluster_round_memory(round), clock_monotonic_ms());
}

static void on_action(
    void *arg, const struct plan_action *action, const struct kube_answer *answer, const struct error *err)
{
    struct cluster_round *round = arg;
    namespace_end_note(cluster_round_memory(round), err);
    if (err && !round->error.kind && !is_no_news(round, action, err)) {
        round->error = *err;
        round->error_kind = action->verb == PLAN_CREATE ? PLAN_KIND_COUNT : action->kind; /* no member's claim */
    }
    if (!err && action->verb == PLAN_APPLY)
        remember_child(round, action, answer);
    if (!err && action->kind == PLAN_ENDPOINT_SLICE && round->snapshot.last.transition.failover &&
        !str_empty(round->snapshot.last.transition.to))
        cluster_round_memory(round)->failover_times.published_ms = clock_realtime_ms();
    if (!err && action->verb == PLAN_DELETE && action->kind == PLAN_POD && action->why)
        cluster_events_pod_replaced(manager_events(round->controller->manager), round->controller->cluster_resource,
            &round->snapshot, action->why);
}

static void after_plan(struct cluster_round *round)
{
    if (cluster_primary_is_about_to_change(&round->snapshot)) {
        cluster_round_again_in(round, CLUSTER_FAILOVER_REPORT_MS);
        cluster_round_finish(round);
    } else if (cluster_round_wants_secrets(round))
        cluster_round_ensure_secrets(round);
    else
        cluster_round_report(round);
}

/* Others wait for their children: the status of this one, which costs the server as much as four of them, is left to the round that what
 * was written brings anyway. That one has nothing to write and reports, so this happens once a change. */
static void round_report_later(struct cluster_round *round)
{
    controller_enqueue(round->controller->runtime, round->key);
    cluster_round_finish(round);
}

static void on_plan_done(void *arg, const struct plan *plan, const struct error *err)
{
    UNUSED(plan);
    UNUSED(err); /* on_action has it */
    struct cluster_round *round = arg;
    if (!cluster_round_look_again(round)) {
        cluster_round_abandon(round);
        return;
    }
    cluster_round_sync_agents(round);
    cluster_round_tell_agents(round);
    if (!round->error.kind && controller_has_due(round->controller->runtime))
        round_report_later(round);
    else
        after_plan(round);
}

/* ---- the decision ---- */

/* After a restart: if all children are as the status says we left them, none needs to be applied to make sure. */
static bool seed_memory(
    struct cluster_memory *memory, const struct cluster_snapshot *snapshot, const struct cluster_decision *decision)
{
    char hash[17];
    cluster_applied_hash(snapshot, decision->desired, hash);
    memory->children_known = true;
    if (str_empty(hash) || !str_eq(hash, snapshot->last.applied_hash))
        return false;
    for (int child = 0; child < CHILD_COUNT; child++)
        memory->children[child] =
            (struct cluster_child_memory){decision->desired[child], snapshot->children[child]->digest};
    return true;
}

static void decide(struct cluster_round *round)
{
    struct cluster_snapshot *snapshot = &round->snapshot;
    struct cluster_memory *memory = cluster_round_memory(round);
    cluster_decide(snapshot, &round->decision);
    if (memory->children_known || !snapshot->usable || !seed_memory(memory, snapshot, &round->decision))
        return;
    memcpy(snapshot->memory, memory->children, sizeof(snapshot->memory));
    cluster_decision_release(&round->decision);
    cluster_decide(snapshot, &round->decision);
}

static void note_drain(struct cluster_round *round)
{
    cluster_notes_drain(cluster_round_memory(round), &round->snapshot, &round->decision.intent);
    cluster_round_again_in(round, round->decision.intent.again_ms);
}

void cluster_round_plan(struct cluster_round *round)
{
    struct cluster_controller *controller = round->controller;
    round->planned = true;
    cluster_round_sync_agents(round);
    cluster_round_send_orders(round); /* of the status as it stands: what is written next does not hold them up */
    decide(round);
    note_drain(round);
    if (round->decision.intent.changed && round->intents < CLUSTER_INTENTS_MAX) {
        cluster_round_write_intent(round);
        return;
    }
    if (cluster_failover_is_swift(&round->snapshot)) {
        cluster_round_finish(round);
        return;
    }
    if (plan_is_empty(round->decision.plan)) {
        cluster_round_tell_agents(round);
        after_plan(round);
        return;
    }
    plan_execute(
        controller->loop, &controller->targets, steal_ptr(round->decision.plan), on_action, on_plan_done, round);
    cluster_snapshot_drop_world(&round->snapshot);
}

void cluster_round_start(struct cluster_controller *controller, const char *key, const char *uid, struct reconcile *run)
{
    struct cluster_round *round = xnew(struct cluster_round);
    round->controller = controller;
    round->run = run;
    round->key = xstrdup(key);
    round->error_kind = PLAN_KIND_COUNT;
    const struct cluster_memory *memory = cluster_memories_get(&controller->memories, key, uid);
    cluster_gather(&controller->sources, memory, key, clock_realtime_ms(), &round->snapshot);
    if (memory->secrets_checked_ms == 0 && cluster_round_wants_secrets(round))
        cluster_round_ensure_secrets(round);
    else
        cluster_round_plan(round);
}
