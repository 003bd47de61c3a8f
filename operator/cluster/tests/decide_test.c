/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Goldens of the whole decision: data/decide/NAME.cluster.json + NAME.observed.json give NAME.plan.json and
 * NAME.status.json. Those of its part about roles: data/roles/NAME.case.json {"spec": more of a spec, "status",
 * "annotations", "observed"} gives NAME.roles.json. UPDATE_GOLDENS=1 writes what comes out; read the difference before
 * it is committed.
 */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/strvec.h"
#include "common/tests/folder_util.h"
#include "operator/api/ready_conditions.h"
#include "operator/cluster/failover/cluster_confirmed.h"
#include "operator/cluster/failover/failover_facts.h"
#include "operator/cluster/status/cluster_state.h"
#include "operator/cluster/tests/golden_snapshot.h"

#define DATA "operator/cluster/tests/data/decide"
#define SUFFIX ".cluster.json"
#define ROLES "operator/cluster/tests/data/roles"
#define ROLES_SUFFIX ".case.json"

static json_t *describe_transition(const struct cluster_transition *transition)
{
    json_t *json = json_build("{s:s, s:s, s:s, s:I}", "from", transition->from, "to", transition->to, "reason",
        transition_reason_name(transition->reason), "epoch", (json_int_t)transition->epoch);
    const char *const texts[][2] = {{"position", transition->position}, {"evidence", transition->evidence},
        {"before", transition->before}, {"waitsFor", transition->waits_for},
        {"candidateWhy", transition->candidate_why}, {"mayBeLost", transition->may_be_lost}};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        if (!str_empty(texts[i][1]))
            json_put_str(json, texts[i][0], texts[i][1]);
    }
    if (transition->silent_ms > 0)
        json_put_int(json, "silentMs", transition->silent_ms);
    if (transition->salvage)
        json_put_bool(json, "salvage", true);
    if (transition->last_write_ms > 0)
        json_put(json, "lastWrite",
            json_build("{s:I, s:I}", "msAgo", (json_int_t)(GOLDEN_NOW_MS - transition->last_write_ms), "spanMs",
                (json_int_t)transition->last_write_span_ms));
    return json;
}

/* NULL: nothing new is told. */
static json_t *describe_gap(const struct write_gap *last, const struct write_gap *now, int64_t writes_blocked_ms)
{
    if (write_gap_same(last, now) || now->until == WRITE_GAP_UNTIL_UNKNOWN)
        return NULL;
    json_t *json = json_build("{s:I}", "writesBlockedMs", (json_int_t)writes_blocked_ms);
    write_gap_encode(now, json);
    return json;
}

static void put_told(json_t *json, const struct cluster_role_status *last, const struct cluster_role_status *now)
{
    json_t *switchover =
        describe_gap(&last->last_switchover.gap, &now->last_switchover.gap, now->last_switchover.writes_blocked_ms);
    json_t *failover =
        describe_gap(&last->last_failover.gap, &now->last_failover.gap, now->last_failover.writes_blocked_ms);
    if (switchover)
        json_put(json, "toldOfSwitchover", switchover);
    if (failover)
        json_put(json, "toldOfFailover", failover);
    if (now->last_outage.started_ms != last->last_outage.started_ms) {
        json_t *outage = json_build("{s:s, s:I}", "primary", now->last_outage.primary, "writesBlockedMs",
            (json_int_t)now->last_outage.writes_blocked_ms);
        write_gap_encode(&now->last_outage.gap, outage);
        json_put(json, "toldOfOutage", outage);
    }
}

/* "epoch 3 of shop-mysql-1 (2), floor 0-1-100, opened" */
static json_t *describe_reigns(const struct cluster_reigns *reigns)
{
    json_t *array = json_array();
    for (int i = 0; i < reigns->count; i++) {
        const struct cluster_reign *reign = &reigns->list[i];
        _cleanup_(freep) char *text =
            xasprintf("epoch %lld of %s (%s), floor %s%s%s%s", (long long)reign->epoch, reign->primary, reign->origin,
                str_empty(reign->floor) ? "none" : reign->floor, reign->floor_is_partial ? " and more" : "",
                reign->opened ? ", opened" : "", reign->closed ? ", closed" : "");
        json_array_append_new(array, json_string(text));
    }
    return array;
}

static json_t *describe_confirmed(const struct cluster_confirmed *confirmed)
{
    json_t *json = json_build("{s:b, s:i, s:i, s:i}", "semiSync", confirmed->semi_sync, "acks", confirmed->acks,
        "selfFenceMs", confirmed->self_fence_ms, "selfFenceMembers", confirmed->self_fence_members);
    if (confirmed->lapses > 0)
        json_put_int(json, "lapses", confirmed->lapses);
    if (!str_empty(confirmed->lapses_boot_id))
        json_put_str(json, "lapsesBootId", confirmed->lapses_boot_id);
    return json;
}

/* NULL unless the status must be written before anything else. */
static json_t *describe_intent(const struct cluster_status *last, const struct cluster_intent *intent)
{
    if (!intent->changed)
        return NULL;
    json_t *json = json_build("{s:I, s:s, s:b, s:b}", "epoch", (json_int_t)intent->roles.epoch, "primary",
        intent->roles.current_primary, "initialized", intent->roles.initialized, "semiSync", intent->roles.semi_sync);
    if (intent->roles.acks > 0)
        json_put_int(json, "acks", intent->roles.acks);
    if (intent->roles.heard_epoch)
        json_put_int(json, "heardEpoch", intent->roles.heard_epoch);
    if (intent->roles.lock_awaited_ms != last->roles.lock_awaited_ms)
        json_put_int(json, "lockAwaitedMs",
            intent->roles.lock_awaited_ms > 0 ? GOLDEN_NOW_MS - intent->roles.lock_awaited_ms : -1);
    if (cluster_transition_is_set(&intent->roles.transition))
        json_put(json, "transition", describe_transition(&intent->roles.transition));
    if (!cluster_reigns_same(&intent->roles.reigns, &last->roles.reigns))
        json_put(json, "reigns", describe_reigns(&intent->roles.reigns));
    if (intent->roles.last_switchover.finished_ms == GOLDEN_NOW_MS)
        json_put(json, "lastSwitchover",
            json_build("{s:s, s:s, s:s, s:I}", "from", intent->roles.last_switchover.from, "to",
                intent->roles.last_switchover.to, "reason", transition_reason_name(intent->roles.last_switchover.reason),
                "writesBlockedMs", (json_int_t)intent->roles.last_switchover.writes_blocked_ms));
    if (intent->roles.last_failover.finished_ms == GOLDEN_NOW_MS)
        json_put(json, "lastFailover",
            json_build("{s:s, s:s, s:s, s:s}", "from", intent->roles.last_failover.from, "to",
                intent->roles.last_failover.to, "position", intent->roles.last_failover.position, "mayBeLost",
                intent->roles.last_failover.may_be_lost));
    put_told(json, &last->roles, &intent->roles);
    if (!str_empty(intent->roles.switchover_done))
        json_put_str(json, "switchoverDone", intent->roles.switchover_done);
    if (intent->roles.acknowledgers != last->roles.acknowledgers)
        json_put_int(json, "acknowledgers", (json_int_t)intent->roles.acknowledgers);
    if (!cluster_confirmed_same(&intent->roles.confirmed, &last->roles.confirmed))
        json_put(json, "confirmed", describe_confirmed(&intent->roles.confirmed));
    return json;
}

/* By member; null: what it was told before stands. */
static json_t *describe_orders(const struct cluster_snapshot *snapshot)
{
    struct cluster_orders *orders = xnew(struct cluster_orders);
    json_t *json = json_object();
    golden_order(snapshot, orders);
    for (int i = 0; i < snapshot->member_count; i++) {
        _cleanup_(strbuf_release) struct strbuf text;
        strbuf_init(&text, AGENT_ORDER_MAX);
        agent_order_encode(&orders->orders[i], &text);
        if (orders->given[i])
            json_put(json, snapshot->members[i].name, json_parse(text.buf, text.len, NULL));
    }
    if (orders->again_ms > 0)
        json_put_int(json, "againMs", orders->again_ms);
    free(orders);
    return json;
}

/* Bodies of applies have goldens of their own (desired_test). */
static json_t *describe_plan(const struct cluster_snapshot *snapshot, const struct cluster_decision *decision)
{
    static const char *const gates[] = {
        [GATE_OPEN] = "open", [GATE_CHECKING] = "checking", [GATE_REFUSED] = "refused", [GATE_HELD] = "held"};
    json_t *stages = plan_describe(decision->plan, true);
    size_t i, j;
    json_t *stage, *action;
    json_array_foreach(stages, i, stage)
        json_array_foreach(stage, j, action)
            if (!str_eq(json_path_str(action, "verb", ""), "patch"))
                json_object_del(action, "body");
    json_t *plan = json_build("{s:o, s:s, s:s, s:b, s:s}", "stages", stages, "gate", gates[decision->gate],
        "gateMessage", decision->gate_message, "rolling", decision->rolling, "nextAction", decision->next_action);
    json_put(plan, "orders", describe_orders(snapshot));
    json_put(plan, "intent", describe_intent(&snapshot->last, &decision->intent));
    return plan;
}

/* Whoever reads that nothing goes on before somebody changes something reads what: one of the parts of that message
 * (its end may be cut) stands in the next action, and it is no waiting. */
static bool next_action_is_of_stalled(const char *name, const struct cluster_status *status)
{
    static const size_t least = 12, most = 20;
    const struct kube_condition *stalled = kube_conditions_find(&status->conditions, CONDITION_STALLED);
    if (!stalled || stalled->status != KUBE_CONDITION_TRUE)
        return true;
    for (const char *part = stalled->message; part && !str_starts_with(status->next_action, "wait");) {
        _cleanup_(freep) char *begin = xstrndup(part, strnlen(part, most));
        if (strlen(begin) >= least && strstr(status->next_action, begin))
            return true;
        part += strcspn(part, ":(");
        part = *part ? part + 1 + strspn(part + 1, " ") : NULL;
    }
    print_message("%s: Stalled says %s: %s\n  and the next action \"%s\"\n", name, stalled->reason, stalled->message,
        status->next_action);
    return false;
}

static bool case_passes(const char *name)
{
    _cleanup_(freep) char *cluster_path = xasprintf(DATA "/%s.cluster.json", name);
    _cleanup_(freep) char *observed_path = xasprintf(DATA "/%s.observed.json", name);
    _cleanup_(freep) char *plan_path = xasprintf(DATA "/%s.plan.json", name);
    _cleanup_(freep) char *status_path = xasprintf(DATA "/%s.status.json", name);
    _cleanup_(json_decrefp) json_t *cluster = golden_read(cluster_path);
    _cleanup_(json_decrefp) json_t *observed = golden_read(observed_path);
    struct golden *golden = golden_new(cluster, observed);
    struct cluster_decision decision;
    struct cluster_status status;
    golden_decide(&golden->snapshot, &decision);
    const struct cluster_outcome outcome = {
        golden->error.kind ? &golden->error : NULL, golden->error_kind, golden->error_child};
    cluster_report(&golden->snapshot, &decision, &outcome, &status);
    _cleanup_(json_decrefp) json_t *plan_json = describe_plan(&golden->snapshot, &decision);
    _cleanup_(json_decrefp) json_t *status_json = cluster_status_encode(&status);
    bool plan_ok = golden_matches(plan_path, plan_json);
    bool status_ok = golden_matches(status_path, status_json) && next_action_is_of_stalled(name, &status);
    cluster_status_release(&status);
    cluster_decision_release(&decision);
    golden_free(golden);
    return plan_ok && status_ok;
}

static const char base_spec[] = "{\"config\": {\"spec\": {\"images\": {\"mysql\": \"mysql:8.4\"}}}, \"replicas\": 3,"
                                "\"storage\": {\"resources\": {\"requests\": {\"storage\": \"1Gi\"}}}}";

static json_t *role_cluster(const json_t *role_case)
{
    json_t *spec = json_parse(base_spec, strlen(base_spec), NULL);
    json_merge(spec, json_object_get(role_case, "spec"));
    json_t *cluster = json_build("{s:{s:i}, s:o}", "metadata", "generation", 2, "spec", spec);
    json_t *annotations = json_object_get(role_case, "annotations");
    if (annotations)
        json_object_set(json_object_get(cluster, "metadata"), "annotations", annotations);
    json_t *status = json_object_get(role_case, "status");
    if (status)
        json_object_set(cluster, "status", status);
    return cluster;
}

/* What is written is left to the other goldens, but for pods and the set. */
static json_t *describe_roles(const struct golden *golden, const struct cluster_decision *decision)
{
    static const char *const verbs[] = {
        [PLAN_APPLY] = "apply", [PLAN_PATCH] = "patch", [PLAN_DELETE] = "delete", [PLAN_CREATE] = "create", [PLAN_ADOPT] = "adopt"};
    json_t *writes = json_array();
    for (int i = 0; i < decision->plan->count; i++) {
        const struct plan_action *action = &decision->plan->actions[i];
        if (action->kind == PLAN_POD || action->kind == PLAN_STATEFUL_SET)
            json_array_append_new(writes, json_build("[s, s]", verbs[action->verb], action->name));
    }
    json_t *json = json_build("{s:o, s:s, s:s, s:o}", "writes", writes, "nextAction", decision->next_action, "state",
        cluster_state_names[cluster_state_decide(&golden->snapshot)], "orders", describe_orders(&golden->snapshot));
    json_put(json, "intent", describe_intent(&golden->snapshot.last, &decision->intent));
    if (decision->intent.again_ms > 0)
        json_put_int(json, "againMs", decision->intent.again_ms);
    struct cluster_confirmed shown = golden->snapshot.last.roles.confirmed;
    bool obeys = golden_primary_obeys(&golden->snapshot);
    cluster_confirmed_strengthen(&golden->snapshot, obeys, &shown);
    if (!cluster_confirmed_same(&shown, &golden->snapshot.last.roles.confirmed))
        json_put(json, "confirmed", describe_confirmed(&shown));
    if (cluster_confirmed_is_awaited(&golden->snapshot, obeys))
        json_put_bool(json, "confirmationIsAwaited", true);
    return json;
}

static bool role_case_passes(const char *name)
{
    _cleanup_(freep) char *case_path = xasprintf(ROLES "/%s" ROLES_SUFFIX, name);
    _cleanup_(freep) char *roles_path = xasprintf(ROLES "/%s.roles.json", name);
    _cleanup_(json_decrefp) json_t *role_case = golden_read(case_path);
    _cleanup_(json_decrefp) json_t *cluster = role_cluster(role_case);
    struct golden *golden = golden_new(cluster, json_object_get(role_case, "observed"));
    struct cluster_decision decision;
    if (!golden->snapshot.usable)
        fail_msg("%s: %s", name, golden->snapshot.message);
    golden_decide(&golden->snapshot, &decision);
    _cleanup_(json_decrefp) json_t *roles = describe_roles(golden, &decision);
    bool ok = golden_matches(roles_path, roles);
    cluster_decision_release(&decision);
    golden_free(golden);
    return ok;
}

static void all_pass(const char *folder, const char *suffix, bool (*passes)(const char *name), size_t least)
{
    struct strvec names;
    int failed = 0;
    strvec_init(&names);
    folder_list(folder, suffix, least, &names);
    for (size_t i = 0; i < names.n; i++)
        failed += !passes(names.v[i]);
    strvec_release(&names);
    assert_int_equal(failed, 0);
}

static void all_goldens_hold(void **state)
{
    UNUSED(state);
    all_pass(DATA, SUFFIX, case_passes, 30);
}

static void all_goldens_of_roles_hold(void **state)
{
    UNUSED(state);
    all_pass(ROLES, ROLES_SUFFIX, role_case_passes, 40);
}

/* The status of every case, written and read again, is the same: it is not written a second time. */
static void reports_are_stable(void **state)
{
    UNUSED(state);
    _cleanup_(json_decrefp) json_t *cluster = golden_read(DATA "/messages-cut.cluster.json");
    _cleanup_(json_decrefp) json_t *observed = golden_read(DATA "/messages-cut.observed.json");
    struct golden *golden = golden_new(cluster, observed);
    struct cluster_decision decision;
    struct cluster_status status, read;
    golden_decide(&golden->snapshot, &decision);
    const struct cluster_outcome outcome = {NULL, PLAN_KIND_COUNT, CHILD_COUNT};
    cluster_report(&golden->snapshot, &decision, &outcome, &status);
    _cleanup_(json_decrefp) json_t *written = cluster_status_encode(&status);
    cluster_status_decode(written, &read);
    assert_true(cluster_status_same(&status, &read));
    cluster_status_release(&read);
    cluster_status_release(&status);
    cluster_decision_release(&decision);
    golden_free(golden);
}

/* A check pod of the operator that led before has started a server with it, and is gone. */
static void what_was_tried_is_not_tried_by_the_next_operator(void **state)
{
    UNUSED(state);
    _cleanup_(json_decrefp) json_t *cluster = golden_read(DATA "/mycnf-restart-replica-first.cluster.json");
    _cleanup_(json_decrefp) json_t *observed = golden_read(DATA "/mycnf-restart-replica-first.observed.json");
    struct golden *before = golden_new(cluster, observed);
    struct cluster_decision decision;
    struct cluster_status status;
    golden_decide(&before->snapshot, &decision);
    const struct cluster_outcome outcome = {NULL, PLAN_KIND_COUNT, CHILD_COUNT};
    cluster_report(&before->snapshot, &decision, &outcome, &status);
    json_object_set_new(cluster, "status", cluster_status_encode(&status));
    cluster_status_release(&status);
    cluster_decision_release(&decision);
    golden_free(before);
    json_put_bool(observed, "started", false);
    struct golden *next = golden_new(cluster, observed);
    golden_decide(&next->snapshot, &decision);
    assert_int_equal(decision.gate, GATE_OPEN);
    assert_int_equal(decision.roll.step, ROLL_DELETE);
    cluster_decision_release(&decision);
    golden_free(next);
}

static void conflicts_are_news_once_they_last(void **state)
{
    UNUSED(state);
    struct cluster_memory memory = {.key = NULL};
    int64_t at_ms = 50000;
    assert_false(cluster_memory_note_conflict(&memory, at_ms));
    for (; at_ms < 50000 + CLUSTER_CONFLICT_NEWS_MS; at_ms += CLUSTER_CONFLICT_RETRY_MS)
        assert_false(cluster_memory_note_conflict(&memory, at_ms));
    assert_true(cluster_memory_note_conflict(&memory, at_ms));
    at_ms += 3 * CLUSTER_CONFLICT_RETRY_MS; /* another one */
    assert_false(cluster_memory_note_conflict(&memory, at_ms));
}

/* A write of what has changed meanwhile is refused once, and done again with what is there. */
static void a_conflict_is_told_the_third_time(void **state)
{
    UNUSED(state);
    struct cluster_memory memory = {.key = NULL};
    assert_false(cluster_memory_note_end(&memory, ERROR_CONFLICT));
    assert_false(cluster_memory_note_end(&memory, ERROR_NONE));
    assert_false(cluster_memory_note_end(&memory, ERROR_CONFLICT));
    assert_false(cluster_memory_note_end(&memory, ERROR_CONFLICT));
    assert_true(cluster_memory_note_end(&memory, ERROR_CONFLICT));
    assert_true(cluster_memory_note_end(&memory, ERROR_CONFLICT));
    assert_true(cluster_memory_note_end(&memory, ERROR_INVALID));
    assert_false(cluster_memory_note_end(&memory, ERROR_CONFLICT));
}

/* The lost primary is given its time to close itself, whatever the wall clock does. */
static void fence_time_is_monotonic(void **state)
{
    UNUSED(state);
    static struct cluster_memory memory;
    cluster_memory_note_held(&memory, 3, false, 1000);
    assert_int_equal(cluster_memory_held_ms(&memory, 3, 1500), 0);
    cluster_memory_note_held(&memory, 3, true, 2000);
    cluster_memory_note_held(&memory, 3, true, 2500);
    cluster_memory_note_held(&memory, 3, false, 2600);
    assert_int_equal(cluster_memory_held_ms(&memory, 3, 2700), 700);
    assert_int_equal(cluster_memory_held_ms(&memory, 4, 2700), 0); /* another failover has begun */
    cluster_memory_note_held(&memory, 4, true, 2800);
    assert_int_equal(cluster_memory_held_ms(&memory, 4, 2900), 100);
    cluster_memory_note_held(&memory, 0, true, 3000);
    assert_int_equal(cluster_memory_held_ms(&memory, 0, 3100), 0);

    _cleanup_(json_decrefp) json_t *role_case = golden_read(ROLES "/fail-loss-fence-time-runs" ROLES_SUFFIX);
    _cleanup_(json_decrefp) json_t *cluster = role_cluster(role_case);
    struct golden *golden = golden_new(cluster, json_object_get(role_case, "observed"));
    cluster_memory_note_held(&golden->memory, golden->snapshot.last.roles.transition.epoch, true, clock_monotonic_ms());
    assert_true(cluster_gather_again(
        &golden->sources, &golden->memory, "ns1/shop", GOLDEN_NOW_MS + INT64_C(3600000), &golden->snapshot));
    assert_in_range(golden->snapshot.held_ms, 1, 60000);
    golden_free(golden);
}

/* What others must hold before acknowledgements are believed: of another process of the agent as many lapses are
 * others, so the position is a later one. */
static void awaited_position_is_of_its_process(void **state)
{
    UNUSED(state);
    _cleanup_(json_decrefp) json_t *role_case = golden_read(ROLES "/confirm-after-a-lapse-is-covered" ROLES_SUFFIX);
    _cleanup_(json_decrefp) json_t *cluster = role_cluster(role_case);
    struct golden *golden = golden_new(cluster, json_object_get(role_case, "observed"));
    struct cluster_snapshot *snapshot = &golden->snapshot;
    struct agent_status *primary = &golden->agents[0];
    static const char *const rows[][2] = {{"one", "0-1-100"}, {"one", "0-1-100"}, {"two", "0-1-110"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        snprintf(primary->boot_id, sizeof(primary->boot_id), "%s", rows[i][0]);
        if (i > 0)
            primary->gtid_executed = "0-1-110"; /* what the others hold ends at 0-1-100 */
        snapshot->awaited_hash = golden->memory.awaited_hash;
        snapshot->awaited_position = golden->memory.awaited_position;
        snapshot->awaited_lapses = golden->memory.awaited_lapses;
        snapshot->awaited_boot_id = golden->memory.awaited_boot_id;
        struct cluster_confirmed shown = snapshot->last.roles.confirmed;
        cluster_confirmed_strengthen(snapshot, golden_primary_obeys(snapshot), &shown);
        assert_int_equal(shown.semi_sync, str_eq(rows[i][0], "one"));
        cluster_memory_note_awaited(&golden->memory, primary);
        assert_string_equal(golden->memory.awaited_position, rows[i][1]);
    }
    cluster_memory_note_awaited(&golden->memory, NULL);
    golden_free(golden);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_goldens_hold),
        cmocka_unit_test(all_goldens_of_roles_hold),
        cmocka_unit_test(reports_are_stable),
        cmocka_unit_test(fence_time_is_monotonic),
        cmocka_unit_test(what_was_tried_is_not_tried_by_the_next_operator),
        cmocka_unit_test(conflicts_are_news_once_they_last),
        cmocka_unit_test(a_conflict_is_told_the_third_time),
        cmocka_unit_test(awaited_position_is_of_its_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
