/*
 * Goldens of the whole decision: data/decide/NAME.cluster.json + NAME.observed.json give NAME.plan.json and NAME.status.json.
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

/* Bodies of applies have goldens of their own (desired_test). */
static json_t *describe_plan(const struct cluster_decision *decision)
{
    static const char *const gates[] = {[GATE_OPEN] = "open", [GATE_CHECKING] = "checking", [GATE_REFUSED] = "refused"};
    json_t *stages = plan_describe(decision->plan, true);
    size_t i, j;
    json_t *stage, *action;
    json_array_foreach(stages, i, stage)
        json_array_foreach(stage, j, action)
            if (!str_eq(json_path_str(action, "verb", ""), "patch"))
                json_object_del(action, "body");
    return json_build("{s:o, s:s, s:s, s:b, s:s}", "stages", stages, "gate", gates[decision->gate], "gateMessage",
        decision->gate_message, "rolling", decision->rolling, "nextAction", decision->next_action);
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
    _cleanup_(json_decrefp) json_t *plan_json = describe_plan(&decision);
    _cleanup_(json_decrefp) json_t *status_json = cluster_status_encode(&status);
    bool plan_ok = golden_matches(plan_path, plan_json);
    bool status_ok = golden_matches(status_path, status_json);
    cluster_status_release(&status);
    cluster_decision_release(&decision);
    golden_free(golden);
    return plan_ok && status_ok;
}

static void all_goldens_hold(void **state)
{
    UNUSED(state);
    struct strvec names;
    int failed = 0;
    strvec_init(&names);
    DIR *dir = opendir(DATA);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        size_t len = strlen(entry->d_name);
        if (len > strlen(SUFFIX) && str_eq(entry->d_name + len - strlen(SUFFIX), SUFFIX))
            strvec_pushf(&names, "%.*s", (int)(len - strlen(SUFFIX)), entry->d_name);
    }
    closedir(dir);
    strvec_sort(&names);
    assert_true(names.n >= 30);
    for (size_t i = 0; i < names.n; i++)
        failed += !case_passes(names.v[i]);
    strvec_release(&names);
    assert_int_equal(failed, 0);
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
        cmocka_unit_test(reports_are_stable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
