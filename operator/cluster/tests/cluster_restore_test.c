/* SPDX-License-Identifier: Apache-2.0 */
/* A new cluster that is made of a stored backup: what its status becomes, what its first member is told, what people
 * see. */
#include "common/base.h"

#include "operator/cluster/restore/cluster_restore.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/json.h"
#include "operator/cluster/rollout/cluster_decide.h"
#include "operator/cluster/status/cluster_state.h"
#include "operator/cluster/tests/golden_snapshot.h"

#define NAMED "{\"backup\":{\"name\":\"nightly\"}}"
#define OTHER "{\"backup\":{\"name\":\"weekly\"}}"
#define LATEST                                                                                \
    "{\"latest\":true,\"destination\":{\"s3\":{\"bucket\":\"backups\",\"credentialsSecret\":" \
    "{\"name\":\"keys\"}}}}"
#define LATEST_OR_EMPTY                                                                                        \
    "{\"latest\":true,\"orEmpty\":true,\"destination\":{\"s3\":{\"bucket\":\"backups\",\"credentialsSecret\":" \
    "{\"name\":\"keys\"}}}}"
#define RESOLVING(from) "{\"phase\":\"Resolving\",\"from\":" from "}"
#define RESTORING(from) \
    "{\"phase\":\"Restoring\",\"backup\":\"b1\",\"digest\":\"d1\",\"folder\":\"f\",\"from\":" from "}"

struct row {
    const char *name;
    const char *wish;   /* spec.restoreFrom; NULL: none */
    const char *before; /* status.restore; NULL: none */
    bool chosen;        /* there is a first primary */
    bool initialized;
    const char *data; /* of the first member: "Empty" or "Database" */
    enum restore_finding finding;
    /* what comes of it */
    enum restore_step step;
    enum agent_seed seed; /* told by the status as it was */
    const char *state;
    const char *reason; /* of the condition Restored; NULL: there is none */
};

static const struct row rows[] = {
    {"no wish", NULL, NULL, true, false, "Empty", RESTORE_FINDING_NONE, RESTORE_STEP_NONE, AGENT_SEED_INITIALISE,
        "Cloning", NULL},
    {"begins with the first primary", NAMED, NULL, false, false, "Empty", RESTORE_FINDING_NONE, RESTORE_STEP_BEGIN,
        AGENT_SEED_NONE, "Cloning", NULL},
    {"a wish that came later forbids an empty database at once", NAMED, NULL, true, false, "Empty",
        RESTORE_FINDING_NONE, RESTORE_STEP_BEGIN, AGENT_SEED_NONE, "Cloning", NULL},
    {"is looked for", NAMED, RESOLVING(NAMED), true, false, "Empty", RESTORE_FINDING_NONE, RESTORE_STEP_NONE,
        AGENT_SEED_NONE, "Restoring", "Resolving"},
    {"is found, and nobody is told before that is written", NAMED, RESOLVING(NAMED), true, false, "Empty",
        RESTORE_FINDING_BACKUP, RESTORE_STEP_FOUND, AGENT_SEED_NONE, "Restoring", "Resolving"},
    {"not before the first primary is chosen", NAMED, RESOLVING(NAMED), false, false, "Empty", RESTORE_FINDING_BACKUP,
        RESTORE_STEP_NONE, AGENT_SEED_NONE, "Restoring", "Resolving"},
    {"could not be found", NAMED, RESOLVING(NAMED), true, false, "Empty", RESTORE_FINDING_FAILED, RESTORE_STEP_NONE,
        AGENT_SEED_NONE, "Restoring", "StoreRefused"},
    {"nothing is stored, and that is no reason to begin empty", LATEST, RESOLVING(LATEST), true, false, "Empty",
        RESTORE_FINDING_NOTHING, RESTORE_STEP_NONE, AGENT_SEED_NONE, "Restoring", "BackupMissing"},
    {"nothing is stored, orEmpty", LATEST_OR_EMPTY, RESOLVING(LATEST_OR_EMPTY), true, false, "Empty",
        RESTORE_FINDING_NOTHING, RESTORE_STEP_EMPTY, AGENT_SEED_NONE, "Restoring", "BackupMissing"},
    {"a store that fails is not empty", LATEST_OR_EMPTY, RESOLVING(LATEST_OR_EMPTY), true, false, "Empty",
        RESTORE_FINDING_FAILED, RESTORE_STEP_NONE, AGENT_SEED_NONE, "Restoring", "StoreRefused"},
    {"begins empty once that is written", LATEST_OR_EMPTY, "{\"phase\":\"Empty\",\"from\":" LATEST_OR_EMPTY "}", true,
        false, "Empty", RESTORE_FINDING_NONE, RESTORE_STEP_NONE, AGENT_SEED_INITIALISE, "Cloning", "Empty"},
    {"but not by another wish", NAMED, "{\"phase\":\"Empty\",\"from\":" LATEST_OR_EMPTY "}", true, false, "Empty",
        RESTORE_FINDING_NONE, RESTORE_STEP_BEGIN, AGENT_SEED_NONE, "Cloning", "Empty"},
    {"is told", NAMED, RESTORING(NAMED), true, false, "Empty", RESTORE_FINDING_NONE, RESTORE_STEP_NONE,
        AGENT_SEED_RESTORE, "Restoring", "Restoring"},
    {"what was found stays, whatever is found now", NAMED, RESTORING(NAMED), true, false, "Empty",
        RESTORE_FINDING_BACKUP, RESTORE_STEP_NONE, AGENT_SEED_RESTORE, "Restoring", "Restoring"},
    {"has arrived", NAMED, RESTORING(NAMED), true, false, "Database", RESTORE_FINDING_NONE, RESTORE_STEP_NONE,
        AGENT_SEED_KEEP, "Restoring", "Restoring"},
    {"is over", NAMED, RESTORING(NAMED), true, true, "Database", RESTORE_FINDING_NONE, RESTORE_STEP_COMPLETE,
        AGENT_SEED_KEEP, "Failed", "Restoring"},
    {"stays over", NAMED, "{\"phase\":\"Completed\",\"backup\":\"b1\",\"from\":" NAMED "}", true, true, "Database",
        RESTORE_FINDING_NONE, RESTORE_STEP_NONE, AGENT_SEED_KEEP, "Failed", "Completed"},
    {"a primary that lost its restored data is not made anew", NAMED,
        "{\"phase\":\"Completed\",\"backup\":\"b1\",\"from\":" NAMED "}", true, true, "Empty", RESTORE_FINDING_NONE,
        RESTORE_STEP_NONE, AGENT_SEED_NONE, "Lost", "Completed"},
    {"volumes with data are kept", NAMED, RESOLVING(NAMED), true, false, "Database", RESTORE_FINDING_BACKUP,
        RESTORE_STEP_SKIP, AGENT_SEED_KEEP, "Restoring", "Resolving"},
    {"another wish begins anew", OTHER, RESTORING(NAMED), true, false, "Empty", RESTORE_FINDING_NONE,
        RESTORE_STEP_BEGIN, AGENT_SEED_RESTORE, "Restoring", "Restoring"},
    {"another wish comes too late for data that are there", OTHER, RESTORING(NAMED), true, false, "Database",
        RESTORE_FINDING_NONE, RESTORE_STEP_NONE, AGENT_SEED_KEEP, "Restoring", "Restoring"},
    {"an answer to another wish does not count", OTHER, RESOLVING(OTHER), true, false, "Empty", RESTORE_FINDING_BACKUP,
        RESTORE_STEP_NONE, AGENT_SEED_NONE, "Restoring", "Resolving"},
    {"taken back in time", NULL, RESOLVING(NAMED), true, false, "Empty", RESTORE_FINDING_NONE, RESTORE_STEP_DROP,
        AGENT_SEED_NONE, "Restoring", "Resolving"},
    {"a phase of a newer operator makes nothing empty", NAMED, "{\"phase\":\"Replaying\",\"from\":" NAMED "}", true,
        false, "Empty", RESTORE_FINDING_NONE, RESTORE_STEP_NONE, AGENT_SEED_NONE, "Restoring", "Resolving"},
};

static json_t *parse(const char *text)
{
    return json_parse(text, strlen(text), NULL);
}

static json_t *cluster_of(const struct row *row, const json_t *role_case)
{
    json_t *spec = parse("{\"config\": {\"spec\": {\"images\": {\"mysql\": \"mysql:8.4\"}}}, \"replicas\": 3,"
                         "\"storage\": {\"resources\": {\"requests\": {\"storage\": \"1Gi\"}}}}");
    json_t *status = json_deep_copy(json_object_get(role_case, "status"));
    if (row->wish)
        json_object_set_new(spec, "restoreFrom", parse(row->wish));
    if (row->before)
        json_object_set_new(status, "restore", parse(row->before));
    if (!row->chosen)
        json_object_del(status, "currentPrimary");
    json_object_set_new(status, "initialized", json_boolean(row->initialized));
    return json_build("{s:{s:i}, s:o, s:o}", "metadata", "generation", 2, "spec", spec, "status", status);
}

static void answer(const struct row *row, struct restore_answer *ret)
{
    *ret = (struct restore_answer){.finding = row->finding};
    snprintf(ret->found.backup, sizeof(ret->found.backup), "b2");
    snprintf(ret->found.reason, sizeof(ret->found.reason), "StoreRefused");
    ret->found.from = parse(strstr(row->name, "another wish does not") || !row->wish ? NAMED : row->wish);
}

static enum agent_seed seed_of(const struct cluster_snapshot *snapshot)
{
    struct cluster_orders *orders = xcalloc(1, sizeof(*orders));
    golden_order(snapshot, orders);
    enum agent_seed seed = orders->given[0] ? orders->orders[0].seed : AGENT_SEED_NONE;
    if (seed == AGENT_SEED_RESTORE)
        assert_string_equal(orders->orders[0].restore_id, "b1");
    free(orders);
    return seed;
}

static void check(const struct row *row, struct golden *golden)
{
    struct cluster_intent intent;
    struct cluster_status status = {0};
    cluster_intend(&golden->snapshot, false, &intent);
    restore_report(&golden->snapshot, &status);
    const struct kube_condition *condition = kube_conditions_find(&status.conditions, CONDITION_RESTORED);
    enum agent_seed seed = seed_of(&golden->snapshot);
    const char *state = cluster_state_names[cluster_state_decide(&golden->snapshot)];
    if (intent.restore_step != row->step || seed != row->seed || !str_eq(state, row->state) ||
        !str_eq(condition ? condition->reason : NULL, row->reason))
        fail_msg("%s: step %d, seed %d, state %s, Restored %s", row->name, intent.restore_step, (int)seed, state,
            condition ? condition->reason : "-");
    assert_true(intent.changed || row->step == RESTORE_STEP_NONE);
    cluster_status_release(&status);
    /* What is written is read back as it was, and then the same step is not taken again. */
    struct cluster_status after, again;
    cluster_status_copy(&golden->snapshot.last, &after);
    cluster_intent_apply(&golden->snapshot, &intent, &after);
    _cleanup_(json_decrefp) json_t *json = cluster_status_encode(&after);
    cluster_status_decode(json, &again);
    assert_true(cluster_restore_same(&after.restore, &again.restore));
    assert_true(row->step != RESTORE_STEP_FOUND || (str_eq(after.restore.backup, "b2") && after.restore.from));
    cluster_status_release(&golden->snapshot.last);
    golden->snapshot.last = again;
    cluster_intend(&golden->snapshot, false, &intent);
    if (row->step != RESTORE_STEP_NONE && intent.restore_step == row->step)
        fail_msg("%s: taken twice", row->name);
    cluster_status_release(&after);
}

static void test_rows(void **state)
{
    UNUSED(state);
    _cleanup_(json_decrefp) json_t *role_case =
        golden_read("operator/cluster/tests/data/roles/seed-initialise.case.json");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(json_decrefp) json_t *cluster = cluster_of(&rows[i], role_case);
        _cleanup_(json_decrefp) json_t *observed = json_deep_copy(json_object_get(role_case, "observed"));
        json_object_set_new(
            json_object_get(json_object_get(observed, "agents"), "0"), "data", json_string(rows[i].data));
        struct golden *golden = golden_new(cluster, observed);
        struct restore_answer found;
        answer(&rows[i], &found);
        golden->snapshot.restore_answer = &found;
        if (!golden->snapshot.usable)
            fail_msg("%s: %s", rows[i].name, golden->snapshot.message);
        check(&rows[i], golden);
        restore_answer_release(&found);
        golden_free(golden);
    }
}

/* What is done cannot be wished otherwise, and nothing else stops for that. */
static void test_change_after_the_fact(void **state)
{
    static const struct {
        const char *wish, *before, *reason;
    } changes[] = {
        {NAMED, "{\"phase\":\"Completed\",\"from\":" NAMED "}", ""},
        {NULL, "{\"phase\":\"Completed\",\"from\":" NAMED "}", ""},
        {OTHER, "{\"phase\":\"Completed\",\"from\":" NAMED "}", "RestoreChangeRefused"},
        {OTHER, NULL, "RestoreChangeRefused"},
    };
    UNUSED(state);
    _cleanup_(json_decrefp) json_t *role_case =
        golden_read("operator/cluster/tests/data/roles/seed-initialise.case.json");
    for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
        const struct row row = {
            .wish = changes[i].wish, .before = changes[i].before, .chosen = true, .initialized = true};
        _cleanup_(json_decrefp) json_t *cluster = cluster_of(&row, role_case);
        struct golden *golden = golden_new(cluster, json_object_get(role_case, "observed"));
        assert_true(golden->snapshot.usable);
        assert_string_equal(golden->snapshot.reason, changes[i].reason);
        golden_free(golden);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_change_after_the_fact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
