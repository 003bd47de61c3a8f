/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tools that know nothing of our kinds make of each state: the rules of kstatus (ready_conditions.h has where they
 * are from), applied to every status that the goldens of clusters and backups show; and what Ready of a cluster depends
 * on besides.
 */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/json.h"
#include "common/strvec.h"
#include "common/tests/folder_util.h"
#include "operator/api/ready_conditions.h"
#include "operator/cluster/tests/golden_snapshot.h"

#define DATA "operator/cluster/tests/data"

/* ---- kstatus ---- */

static const char *condition_member(const json_t *status, const char *type, const char *member)
{
    size_t i;
    const json_t *condition;
    json_array_foreach(json_object_get(status, "conditions"), i, condition) {
        if (str_eq(json_path_str(condition, "type", NULL), type))
            return json_path_str(condition, member, "");
    }
    return "";
}

static const char *condition_status(const json_t *status, const char *type)
{
    return condition_member(status, type, "status");
}

static const char *condition_reason(const json_t *status, const char *type)
{
    return condition_member(status, type, "reason");
}

struct rule {
    const char *type, *status, *verdict;
};

/* generic.go, checkGenericProperties: the first of them that holds, in the order of the object's own list. */
static const struct rule generic_rules[] = {
    {CONDITION_RECONCILING, "True", "InProgress"},
    {CONDITION_STALLED, "True", "Failed"},
    {NULL, NULL, NULL},
};
/* status.go, checkReadyCondition, after those. */
static const struct rule ready_rules[] = {
    {CONDITION_READY, "True", "Current"},
    {CONDITION_READY, "False", "InProgress"},
    {CONDITION_READY, "Unknown", "InProgress"},
    {NULL, NULL, NULL},
};

static const char *first_that_holds(const json_t *status, const struct rule *rules)
{
    size_t i;
    const json_t *condition;
    json_array_foreach(json_object_get(status, "conditions"), i, condition) {
        for (const struct rule *rule = rules; rule->type; rule++) {
            if (str_eq(json_path_str(condition, "type", NULL), rule->type) &&
                str_eq(json_path_str(condition, "status", NULL), rule->status))
                return rule->verdict;
        }
    }
    return NULL;
}

/* cli-utils v0.37.2, status.Compute, of a kind that it has no rules of its own for. Deletion comes before all of it:
 * Terminating. No observedGeneration at all is no reason to wait; so the CRDs have a default of 0 (fields_test.c). */
static const char *kstatus(const json_t *status, int64_t generation)
{
    const json_t *observed = json_object_get(status, "observedGeneration");
    if (observed && json_integer_value(observed) != generation)
        return "InProgress";
    const char *verdict = first_that_holds(status, generic_rules);
    if (!verdict)
        verdict = first_that_holds(status, ready_rules);
    return verdict ? verdict : "Current";
}

static void rules_are_applied_in_order(void **state)
{
    UNUSED(state);
    static const struct {
        int64_t observed;
        const char *ready, *reconciling, *stalled, *verdict;
    } cases[] = {
        {0, "", "", "", "InProgress"},               /* the default of the CRDs */
        {1, "True", "False", "False", "InProgress"}, /* an older generation */
        {3, "True", "False", "False", "InProgress"},
        {2, "", "", "", "Current"},
        {2, "True", "True", "False", "InProgress"},
        {2, "True", "False", "True", "Failed"},
        {2, "False", "True", "True", "Failed"}, /* Stalled stands first in the list */
        {2, "True", "False", "False", "Current"},
        {2, "False", "False", "False", "InProgress"},
        {2, "Unknown", "False", "False", "InProgress"},
        {2, "Strange", "False", "False", "Current"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_(json_decrefp) json_t *status = json_build("{s:I, s:[{s:s, s:s}, {s:s, s:s}, {s:s, s:s}]}",
            "observedGeneration", (json_int_t)cases[i].observed, "conditions", "type", CONDITION_READY, "status",
            cases[i].ready, "type", CONDITION_STALLED, "status", cases[i].stalled, "type", CONDITION_RECONCILING,
            "status", cases[i].reconciling);
        assert_string_equal(kstatus(status, 2), cases[i].verdict);
    }
    _cleanup_(json_decrefp) json_t *nothing = json_object();
    assert_string_equal(kstatus(nothing, 2), "Current");
}

/* ---- every state of the goldens ---- */

/* What is not Ready either comes by itself or needs somebody. Neither holds of a paused cluster alone: nothing is done
 * about it, by wish, and yet its primary may come back. */
static void goes_on_or_needs_somebody(const char *name, const json_t *status)
{
    bool goes_on = str_eq(condition_status(status, CONDITION_RECONCILING), "True");
    bool needs_somebody = str_eq(condition_status(status, CONDITION_STALLED), "True");
    bool is_paused = str_eq(condition_reason(status, CONDITION_RECONCILING), "Paused");
    if (str_eq(condition_status(status, CONDITION_READY), "False") && !is_paused && !goes_on && !needs_somebody)
        fail_msg("%s: neither Ready nor Reconciling nor Stalled", name);
    if (is_paused && goes_on)
        fail_msg("%s: paused, and yet Reconciling", name);
}

/* One vocabulary: what STATE says, no condition denies. */
static void state_fits_conditions(const char *name, const json_t *status)
{
    const char *state = json_path_str(status, "state", "");
    bool degraded = str_eq(condition_status(status, CONDITION_DEGRADED), "True");
    bool ready = str_eq(condition_status(status, CONDITION_READY), "True");
    if (str_eq(state, "Degraded") && !degraded)
        fail_msg("%s: STATE is Degraded, the condition is not True", name);
    if ((str_eq(state, "Healthy") || str_eq(state, "Offline")) && degraded)
        fail_msg("%s: STATE is %s, and the condition Degraded is True", name, state);
    if ((str_eq(state, "Failed") || str_eq(state, "Lost")) && ready)
        fail_msg("%s: STATE is %s, and the condition Ready is True", name, state);
}

static json_t *verdict_of(const char *name, const json_t *status, int64_t generation)
{
    static const char *const types[] = {CONDITION_READY, CONDITION_RECONCILING, CONDITION_STALLED, CONDITION_DEGRADED};
    json_t *ret = json_build("{s:s}", "kstatus", kstatus(status, generation));
    size_t i;
    const json_t *condition;
    if (strcmp(condition_status(status, CONDITION_RECONCILING), "True") == 0 &&
        strcmp(condition_status(status, CONDITION_STALLED), "True") == 0)
        fail_msg("%s: Reconciling and Stalled", name);
    goes_on_or_needs_somebody(name, status);
    if (*condition_status(status, CONDITION_DEGRADED)) /* clusters only */
        state_fits_conditions(name, status);
    json_array_foreach(json_object_get(status, "conditions"), i, condition) {
        const char *type = json_path_str(condition, "type", "");
        for (size_t j = 0; j < ARRAY_LEN(types); j++) {
            if (strcmp(type, types[j]) != 0)
                continue;
            assert_int_equal(json_path_int(condition, "observedGeneration", 0), generation);
            json_put(ret, type,
                json_sprintf("%s %s", json_path_str(condition, "status", ""), json_path_str(condition, "reason", "")));
        }
    }
    return ret;
}

static void judge_folder(const char *folder, const char *suffix, const char *key, const char *golden)
{
    struct strvec names;
    _cleanup_(json_decrefp) json_t *verdicts = json_object();
    strvec_init(&names);
    folder_list(folder, suffix, 31, &names);
    for (size_t i = 0; i < names.n; i++) {
        _cleanup_(freep) char *path = xasprintf("%s/%s%s", folder, names.v[i], suffix);
        _cleanup_(json_decrefp) json_t *document = golden_read(path);
        const json_t *status = key ? json_object_get(document, key) : document;
        if (status)
            json_put(
                verdicts, names.v[i], verdict_of(names.v[i], status, json_path_int(status, "observedGeneration", 0)));
    }
    strvec_release(&names);
    assert_true(json_object_size(verdicts) > 30);
    assert_true(golden_matches(golden, verdicts));
}

static void each_state_has_its_verdict(void **state)
{
    UNUSED(state);
    judge_folder(DATA "/decide", ".status.json", NULL, DATA "/kstatus.json");
    judge_folder("operator/backup/tests/data/decide", ".step.json", "status", DATA "/kstatus-backups.json");
}

/* ---- what Ready depends on besides ---- */

#define APPLIED "\"appliedGeneration\": 2"
#define WAS_OF(generation, status, reason)                                                           \
    "\"conditions\": [{\"type\": \"Ready\", \"status\": \"" status "\", \"reason\": \"" reason "\"," \
    "\"message\": \"\", \"observedGeneration\": " generation ", \"lastTransitionTime\": \"2026-01-01T00:00:00Z\"}]"
#define WAS(status, reason) WAS_OF("2", status, reason)
/* Nobody is heard by an operator that has led for so long; nor has a check pod of its time started a server. */
#define NEW_LEADER(unheard_ms) \
    "{\"agents\": {\"0\": null, \"1\": null, \"2\": null}, \"mycnf\": null, \"unheardMs\": " unheard_ms "}"
#define UNHEARD(ms) "{\"0\": " ms ", \"1\": " ms ", \"2\": " ms "}"

/* Over the golden `name`, what the status was; and merge patches of the spec and of the rest of the world. */
static const struct {
    const char *name, *status, *spec, *observed, *ready, *kstatus;
} cases[] = {
    /* a roll of this generation is awaited, one that begins later is not */
    {"roll-one", APPLIED, "{}", "{}", "False Applying", "InProgress"},
    {"roll-one", APPLIED ", " WAS("False", "Applying"), "{}", "{}", "False Applying", "InProgress"},
    {"roll-one", APPLIED ", " WAS("True", "TakesWrites"), "{}", "{}", "True TakesWrites", "InProgress"},
    {"roll-one", APPLIED ", " WAS("False", "NoPrimary"), "{}", "{}", "True TakesWrites", "InProgress"},
    {"roll-one", "\"appliedGeneration\": 1, " WAS_OF("1", "True", "TakesWrites"), "{}", "{}", "False Applying",
        "InProgress"},
    /* so with an edited child, and a MysqlConfig that has gone */
    {"child-drifted", APPLIED ", " WAS("True", "TakesWrites"), "{}", "{}", "True TakesWrites", "InProgress"},
    {"config-missing", APPLIED ", " WAS("True", "TakesWrites"), "{}", "{}", "True TakesWrites", "InProgress"},
    {"config-missing", APPLIED, "{}", "{}", "False NotAccepted", "InProgress"},
    /* the account that the spec wants cannot be made yet */
    {"user-secret-missing", APPLIED, "{}", "{}", "False NotAccepted", "InProgress"},
    /* a primary that is not heard: as it was, as long as its pod is ready */
    {"settled", APPLIED, "{}", "{\"agents\": {\"0\": null}}", "False PrimarySilent", "InProgress"},
    {"settled", APPLIED ", \"state\": \"Healthy\", " WAS("True", "TakesWrites"), "{}", "{\"agents\": {\"0\": null}}",
        "True TakesWrites", "Current"},
    {"settled", APPLIED ", " WAS("True", "TakesWrites"), "{}",
        "{\"agents\": {\"0\": null}, \"pods\": {\"0\": {\"status\": {\"conditions\": []}}}}", "False PrimaryNotReady",
        "InProgress"},
    /* an operator that has just begun to lead does not know what the members run: in the midst of a roll it is awaited */
    {"mycnf-restart-replica-first", APPLIED ", " WAS("False", "Applying"), "{}", NEW_LEADER(UNHEARD("0")),
        "False Applying", "InProgress"},
    {"mycnf-restart-replica-first", APPLIED ", " WAS("False", "Applying"), "{}", NEW_LEADER(UNHEARD("9999")),
        "False Applying", "InProgress"},
    {"mycnf-restart-replica-first", APPLIED ", " WAS("False", "Applying"), "{}",
        NEW_LEADER("{\"0\": 60000, \"1\": 60000, \"2\": 9999}"), "False Applying", "InProgress"},
    /* not for ever, and not where the roll was over */
    {"mycnf-restart-replica-first", APPLIED ", " WAS("False", "Applying"), "{}", NEW_LEADER(UNHEARD("10000")),
        "False PrimarySilent", "InProgress"},
    {"mycnf-restart-replica-first", APPLIED ", \"state\": \"Healthy\", " WAS("True", "TakesWrites"), "{}",
        NEW_LEADER(UNHEARD("0")), "True TakesWrites", "Current"},
    /* nor is a roll looked at while a check pod, or what is stored, is awaited, or Secrets could not be read */
    {"mycnf-restart-replica-first", APPLIED ", " WAS("False", "Applying"), "{}", "{\"started\": false}",
        "False Applying", "InProgress"},
    {"mycnf-restart-replica-first", APPLIED ", " WAS("True", "TakesWrites"), "{}", "{\"started\": false}",
        "True TakesWrites", "InProgress"},
    {"mycnf-restart-replica-first", APPLIED ", " WAS("False", "Applying"), "{}", "{\"secrets\": {\"failed\": true}}",
        "False Applying", "InProgress"},
    /* accounts that need TLS still, or do not yet; an agent of an earlier version does not tell */
    {"settled", APPLIED, "{}", "{\"agents\": {\"0\": {\"namedKnown\": true, \"namedTLS\": \"Required\"}}}",
        "False Applying", "InProgress"},
    {"settled", APPLIED, "{}", "{\"agents\": {\"0\": {\"namedKnown\": true, \"namedTLS\": \"Offered\"}}}",
        "True TakesWrites", "Current"},
    {"settled", APPLIED, "{}", "{\"agents\": {\"0\": {\"namedKnown\": true}}}", "True TakesWrites", "Current"},
    {"settled", APPLIED, "{\"tls\": {\"mode\": \"Required\"}}",
        "{\"agents\": {\"0\": {\"namedKnown\": true, \"namedTLS\": \"Offered\"}}}", "False Applying", "InProgress"},
    /* a primary whose pod is ready, but which takes no writes yet */
    {"settled", APPLIED, "{}", "{\"agents\": {\"0\": {\"role\": \"replica\"}}}", "False PrimaryNotReady", "InProgress"},
    /* refused by its server, the agent knows nothing; with its connections open it does */
    {"settled", APPLIED, "{}",
        "{\"pods\": {\"0\": {\"status\": {\"conditions\": []}}}, \"agents\": {\"0\": {\"problems\": "
        "[{\"reason\": \"AgentLockedOut\", \"message\": \"\"}]}}}",
        "False AgentLockedOut", "InProgress"},
    {"settled", APPLIED, "{}",
        "{\"agents\": {\"0\": {\"problems\": [{\"reason\": \"AgentLockedOut\", \"message\": \"\"}]}}}",
        "True TakesWrites", "Current"},
    /* paused: what is not applied does not count */
    {"roll-one", "\"appliedGeneration\": 1", "{\"paused\": true}", "{}", "True TakesWrites", "Current"},
    /* and is then neither Reconciling nor Stalled, whatever its primary lacks */
    {"settled", APPLIED, "{\"paused\": true}", "{\"pods\": {\"0\": {\"status\": {\"conditions\": []}}}}",
        "False PrimaryNotReady", "InProgress"},
    {"room-closed-for-writes", APPLIED, "{\"paused\": true}", "{}", "False VolumeFull", "InProgress"},
    /* being hibernated, and awake again */
    {"scale-zero", APPLIED, "{}", "{}", "False Hibernating", "InProgress"},
};

static json_t *parse(const char *text)
{
    struct error err = ERROR_INIT;
    json_t *json = json_parse(text, strlen(text), &err);
    if (!json)
        fail_msg("%s: %s", err.message, text);
    return json;
}

/* decided: the world before the plan was carried out. */
static json_t *reported(const json_t *cluster, const json_t *decided, const json_t *observed)
{
    struct golden *before = golden_new(cluster, decided), *golden = golden_new(cluster, observed);
    struct cluster_decision decision;
    struct cluster_status status;
    const struct cluster_outcome outcome = {NULL, PLAN_KIND_COUNT, CHILD_COUNT};
    golden_decide(&before->snapshot, &decision);
    cluster_report(&golden->snapshot, &decision, &outcome, &status);
    json_t *json = cluster_status_encode(&status);
    cluster_status_release(&status);
    cluster_decision_release(&decision);
    golden_free(before);
    golden_free(golden);
    return json;
}

static void ready_goes_by_what_was_applied(void **state)
{
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_(freep) char *cluster_path = xasprintf(DATA "/decide/%s.cluster.json", cases[i].name);
        _cleanup_(freep) char *observed_path = xasprintf(DATA "/decide/%s.observed.json", cases[i].name);
        _cleanup_(freep) char *text = xasprintf("{%s}", cases[i].status);
        _cleanup_(json_decrefp) json_t *cluster = golden_read(cluster_path), *observed = golden_read(observed_path);
        _cleanup_(json_decrefp) json_t *status = parse(text), *spec = parse(cases[i].spec),
                                       *more = parse(cases[i].observed);
        json_object_set(cluster, "status", status);
        json_merge(json_object_get(cluster, "spec"), spec);
        json_merge(observed, more);
        /* null: no agent; a merge would remove the key */
        if (json_path(more, "agents"))
            json_object_set(observed, "agents", json_object_get(more, "agents"));
        _cleanup_(json_decrefp) json_t *now = reported(cluster, observed, observed);
        _cleanup_(json_decrefp) json_t *verdict = verdict_of(cases[i].name, now, 2);
        if (!str_eq(json_path_str(verdict, CONDITION_READY, NULL), cases[i].ready) ||
            !str_eq(json_path_str(verdict, "kstatus", NULL), cases[i].kstatus))
            fail_msg("case %zu, %s: Ready %s, %s; expected %s, %s", i, cases[i].name,
                json_path_str(verdict, CONDITION_READY, ""), json_path_str(verdict, "kstatus", ""), cases[i].ready,
                cases[i].kstatus);
    }
}

/* The report that follows the plan goes by the decision before it, which knew of no roll. */
static void not_ready_before_a_new_template_is_taken_up(void **state)
{
    UNUSED(state);
    _cleanup_(json_decrefp) json_t *cluster = golden_read(DATA "/decide/set-not-observed.cluster.json"),
                                   *observed = golden_read(DATA "/decide/set-not-observed.observed.json"),
                                   *decided = json_copy(observed);
    json_object_del(decided, "statefulSet");
    _cleanup_(json_decrefp) json_t *old = reported(cluster, decided, decided);
    assert_string_equal(condition_status(old, CONDITION_READY), "True");
    _cleanup_(json_decrefp) json_t *now = reported(cluster, decided, observed);
    assert_int_equal(json_path_int(now, "appliedGeneration", 0), 2);
    assert_string_equal(condition_status(now, CONDITION_READY), "False");
    assert_string_equal(condition_reason(now, CONDITION_READY), "Applying");
    assert_string_equal(kstatus(now, 2), "InProgress");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_are_applied_in_order),
        cmocka_unit_test(each_state_has_its_verdict),
        cmocka_unit_test(ready_goes_by_what_was_applied),
        cmocka_unit_test(not_ready_before_a_new_template_is_taken_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
