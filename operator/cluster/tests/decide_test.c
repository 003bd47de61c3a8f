/*
 * Goldens of the whole decision: data/decide/NAME.cluster.json + NAME.observed.json give NAME.plan.json and NAME.status.json. Those of its part
 * about roles: data/roles/NAME.case.json {"spec": more of a spec, "status", "annotations", "observed"} gives NAME.roles.json.
 * UPDATE_GOLDENS=1 writes what comes out; read the difference before it is committed.
 */
#include "common/base.h"

#include <dirent.h>
#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/json.h"
#include "common/strvec.h"
#include "operator/cluster/tests/golden_snapshot.h"

#define DATA "operator/cluster/tests/data/decide"
#define SUFFIX ".cluster.json"
#define ROLES "operator/cluster/tests/data/roles"
#define ROLES_SUFFIX ".case.json"

/* NULL unless the status must be written before anything else. */
static json_t *describe_intent(const struct cluster_intent *intent)
{
    if (!intent->changed)
        return NULL;
    json_t *json = json_build("{s:I, s:s, s:b, s:b}", "epoch", (json_int_t)intent->epoch, "primary", intent->primary,
        "initialized", intent->initialized, "semiSync", intent->semi_sync);
    if (cluster_transition_is_set(&intent->transition))
        json_put(json, "transition",
            json_build("{s:s, s:s, s:s, s:I}", "from", intent->transition.from, "to", intent->transition.to, "reason",
                intent->transition.reason, "epoch", (json_int_t)intent->transition.epoch));
    if (intent->last_switchover.finished_ms == GOLDEN_NOW_MS)
        json_put(json, "lastSwitchover",
            json_build("{s:s, s:s, s:s, s:I}", "from", intent->last_switchover.from, "to", intent->last_switchover.to,
                "reason", intent->last_switchover.reason, "writesBlockedMs",
                (json_int_t)intent->last_switchover.writes_blocked_ms));
    if (!str_empty(intent->switchover_done))
        json_put_str(json, "switchoverDone", intent->switchover_done);
    return json;
}

/* By member; null: what it was told before stands. */
static json_t *describe_orders(const struct cluster_snapshot *snapshot)
{
    struct cluster_orders *orders = xnew(struct cluster_orders);
    json_t *json = json_object();
    cluster_order(snapshot, orders);
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
    static const char *const gates[] = {[GATE_OPEN] = "open", [GATE_CHECKING] = "checking", [GATE_REFUSED] = "refused"};
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
    json_put(plan, "intent", describe_intent(&decision->intent));
    return plan;
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
    cluster_decide(&golden->snapshot, &golden_versions, &decision);
    const struct cluster_outcome outcome = {golden->error.kind ? &golden->error : NULL, golden->error_kind};
    cluster_report(&golden->snapshot, &decision, &outcome, &status);
    _cleanup_(json_decrefp) json_t *plan_json = describe_plan(&golden->snapshot, &decision);
    _cleanup_(json_decrefp) json_t *status_json = cluster_status_encode(&status);
    bool plan_ok = golden_matches(plan_path, plan_json);
    bool status_ok = golden_matches(status_path, status_json);
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
    static const char *const verbs[] = {[PLAN_APPLY] = "apply", [PLAN_PATCH] = "patch", [PLAN_DELETE] = "delete"};
    json_t *writes = json_array();
    for (int i = 0; i < decision->plan->count; i++) {
        const struct plan_action *action = &decision->plan->actions[i];
        if (action->kind == PLAN_POD || action->kind == PLAN_STATEFUL_SET)
            json_array_append_new(writes, json_build("[s, s]", verbs[action->verb], action->name));
    }
    json_t *json = json_build("{s:o, s:s, s:s, s:o}", "writes", writes, "nextAction", decision->next_action, "state",
        cluster_state_name(&golden->snapshot), "orders", describe_orders(&golden->snapshot));
    json_put(json, "intent", describe_intent(&decision->intent));
    if (decision->intent.again_ms > 0)
        json_put_int(json, "againMs", decision->intent.again_ms);
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
    cluster_decide(&golden->snapshot, &golden_versions, &decision);
    _cleanup_(json_decrefp) json_t *roles = describe_roles(golden, &decision);
    bool ok = golden_matches(roles_path, roles);
    cluster_decision_release(&decision);
    golden_free(golden);
    return ok;
}

static void all_pass(const char *folder, const char *suffix, bool (*passes)(const char *name), size_t at_least)
{
    struct strvec names;
    int failed = 0;
    strvec_init(&names);
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        size_t len = strlen(entry->d_name);
        if (len > strlen(suffix) && str_eq(entry->d_name + len - strlen(suffix), suffix))
            strvec_pushf(&names, "%.*s", (int)(len - strlen(suffix)), entry->d_name);
    }
    closedir(dir);
    strvec_sort(&names);
    assert_true(names.n >= at_least);
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
    cluster_decide(&golden->snapshot, &golden_versions, &decision);
    const struct cluster_outcome outcome = {NULL, PLAN_KIND_COUNT};
    cluster_report(&golden->snapshot, &decision, &outcome, &status);
    _cleanup_(json_decrefp) json_t *written = cluster_status_encode(&status);
    cluster_status_decode(written, &read);
    assert_true(cluster_status_same(&status, &read));
    cluster_status_release(&read);
    cluster_status_release(&status);
    cluster_decision_release(&decision);
    golden_free(golden);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_goldens_hold),
        cmocka_unit_test(all_goldens_of_roles_hold),
        cmocka_unit_test(reports_are_stable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
