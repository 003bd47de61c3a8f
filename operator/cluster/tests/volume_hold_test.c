/* SPDX-License-Identifier: Apache-2.0 */
/* The finalizer that waits for the owners of claims, and what is done for claims of a cluster that is let go. */
#include "common/base.h"

#include "operator/cluster/deletion/volume_hold.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/json.h"
#include "operator/cluster/deletion/final_backup.h"
#include "operator/cluster/tests/golden_snapshot.h"

#define OWNER                                                                                      \
    "\"metadata\": {\"ownerReferences\": [{\"apiVersion\": \"kubemysql.dev/v1alpha1\", \"kind\": " \
    "\"MysqlCluster\", \"name\": \"shop\", \"uid\": \"" GOLDEN_UID "\", \"controller\": true}]}"
#define FOREIGN                                                                                         \
    "\"metadata\": {\"ownerReferences\": [{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"name\": " \
    "\"other\", \"uid\": \"0f000000-0000-4000-8000-00000000000f\", \"controller\": true}]}"
#define PENDING "\"status\": {\"phase\": \"Pending\"}"
#define NO_CLAIM "{}"
#define OWNED "{\"0\": {" OWNER "}}"
#define BOUND "{\"0\": {}}"
#define WAITS "{\"0\": {" PENDING "}}"
#define WAITS_OWNED "{\"0\": {" PENDING ", " OWNER "}}"

#define SET_OF(replicas, seen)                                                \
    "{\"metadata\": {\"generation\": 2}, \"spec\": {\"replicas\": " #replicas \
    "}, \"status\": {\"observedGeneration\": " #seen "}}"
#define RUNS SET_OF(1, 2)
#define TOLD SET_OF(0, 1)
#define RESTS SET_OF(0, 2)

enum deletion { KEEP, GO, GO_WITH_BACKUP };

struct row {
    const char *name;
    enum deletion wish;
    const char *finalizers; /* of the cluster */
    const char *claims;
    const char *set; /* a patch; NULL: there is none */
    bool deleting;
    const char *spec; /* a patch */
    /* What comes of it. */
    enum volume_hold_act act;
    bool awaited;  /* no StatefulSet is made or grown yet */
    bool stops;    /* the StatefulSet is given replicas: 0 */
    bool owns;     /* a claim gets its owner */
    bool released; /* FINALIZER_FINAL_BACKUP is taken away */
};

#define HELD "[\"" FINALIZER_VOLUMES "\"]"
#define HELD_BY_BACKUP "[\"" FINALIZER_FINAL_BACKUP "\"]"
#define ORPHANED "[\"" FINALIZER_VOLUMES "\", \"" FINALIZER_ORPHAN "\"]"
#define NOT_HELD "[]"

static const struct row rows[] = {
    {"a new one is held before it has a StatefulSet", GO, NOT_HELD, .claims = NO_CLAIM, .act = VOLUME_HOLD_PUT,
        .awaited = true},
    {"then that is made", GO, HELD, .claims = NO_CLAIM},
    {"one whose claims stay is not held", KEEP, NOT_HELD, .claims = NO_CLAIM},
    {"one that gets a last backup is held by that", GO_WITH_BACKUP, NOT_HELD, .claims = NO_CLAIM, .awaited = true},
    {"and then made", GO_WITH_BACKUP, HELD_BY_BACKUP, .claims = NO_CLAIM},
    {"volumes without claims need nothing", GO, NOT_HELD, .claims = NO_CLAIM,
        .spec = "{\"storage\": {\"resources\": null, \"volumeSource\": {\"emptyDir\": {}}}}"},
    {"a claim that is being placed is waited for", GO, HELD, .claims = WAITS, .set = RUNS},
    {"one that is bound has no owner yet", GO, HELD, .claims = BOUND, .set = RUNS, .owns = true},
    {"all have one", GO, HELD, .claims = OWNED, .set = RUNS, .act = VOLUME_HOLD_TAKE},
    {"and have it still", GO, NOT_HELD, .claims = OWNED, .set = RUNS},
    {"somebody else's does not count", GO, HELD, .claims = "{\"0\": {" FOREIGN "}}", .set = RUNS,
        .act = VOLUME_HOLD_TAKE},
    {"one that goes is followed by another", GO, NOT_HELD,
        .claims = "{\"0\": {\"metadata\": {\"deletionTimestamp\": \"2026-02-02T02:37:00Z\"}}}", .set = RUNS,
        .act = VOLUME_HOLD_PUT},
    {"it grows", GO, NOT_HELD, .claims = OWNED, .set = RUNS, .spec = "{\"replicas\": 2}", .act = VOLUME_HOLD_PUT,
        .awaited = true},
    {"a last backup takes over", GO_WITH_BACKUP, HELD, .claims = OWNED, .set = RUNS},
    {"a change of mind", KEEP, HELD, .claims = WAITS, .set = RUNS, .act = VOLUME_HOLD_TAKE},
    {"a spec that is not good changes no finalizer", GO, HELD, .claims = OWNED, .set = RUNS,
        .spec = "{\"username\": \"x\"}"},

    {"deleted: no claim is to be made any more", GO, HELD, .claims = WAITS, .set = RUNS, .deleting = true,
        .stops = true, .owns = true},
    {"deleted: the controller has not seen that", GO, HELD, .claims = WAITS_OWNED, .set = TOLD, .deleting = true},
    {"deleted: it has", GO, HELD, .claims = WAITS_OWNED, .set = RESTS, .deleting = true, .act = VOLUME_HOLD_TAKE},
    {"deleted: a claim that came last", GO, HELD, .claims = WAITS, .set = RESTS, .deleting = true, .owns = true},
    {"deleted: somebody else's stays", GO, HELD, .claims = "{\"0\": {" FOREIGN "}}", .set = RESTS, .deleting = true,
        .act = VOLUME_HOLD_TAKE},
    {"deleted before anything was made", GO, HELD, .claims = NO_CLAIM, .set = NULL, .deleting = true,
        .act = VOLUME_HOLD_TAKE},
    {"deleted while paused", GO, HELD, .claims = WAITS, .set = RUNS, .deleting = true, .spec = "{\"paused\": true}",
        .stops = true, .owns = true},
    {"deleted, and claims stay", KEEP, HELD, .claims = WAITS, .set = RUNS, .deleting = true, .act = VOLUME_HOLD_TAKE},
    {"deleted, and members stay", GO, ORPHANED, .claims = WAITS, .set = RUNS, .deleting = true, .act = VOLUME_HOLD_TAKE},
    {"deleted after its backup", GO_WITH_BACKUP, HELD_BY_BACKUP, .claims = WAITS, .set = RUNS, .deleting = true,
        .stops = true, .owns = true},
    {"deleted after its backup: at rest", GO_WITH_BACKUP, HELD_BY_BACKUP, .claims = WAITS_OWNED, .set = RESTS,
        .deleting = true, .released = true},
    {"deleted after its backup, and claims stay", KEEP, HELD_BY_BACKUP, .claims = WAITS, .set = RUNS, .deleting = true,
        .released = true},
};

static json_t *parse(const char *text)
{
    json_t *json = json_parse(text, strlen(text), NULL);
    if (!json)
        fail_msg("not JSON: %s", text);
    return json;
}

static struct golden *make(const struct row *row)
{
    static const char *const deletions[] = {
        [KEEP] = "{}", [GO] = "{\"volumes\": \"Delete\"}", [GO_WITH_BACKUP] = "{\"volumes\": \"Delete\", \"finalBackup\": true}"};
    json_t *metadata = json_build("{s:i, s:o, s:{s:s}}", "generation", 2, "finalizers", parse(row->finalizers),
        "annotations", ANNOTATION_SKIP_FINAL_BACKUP, "true");
    json_t *spec = parse(
        "{\"config\": {\"spec\": {\"images\": {\"mysql\": \"mysql:8.4\"}}}, \"replicas\": 1,"
        "\"storage\": {\"resources\": {\"requests\": {\"storage\": \"1Gi\"}}},"
        "\"backup\": {\"destination\": {\"s3\": {\"bucket\": \"safe\", \"credentialsSecret\": {\"name\": \"keys\"}}}}}");
    json_put(spec, "deletion", parse(deletions[row->wish]));
    json_t *observed = json_build("{s:o, s:o, s:{s:n}}", "pods", parse(row->set ? "{\"0\": {}}" : "{}"), "claims",
        parse(row->claims), "agents", "0");
    json_put(observed, "appliedSpec", json_deep_copy(spec));
    json_put(observed, "children", parse(row->set ? "{}" : "{\"StatefulSet/shop-mysql\": \"absent\"}"));
    if (row->set)
        json_put(observed, "statefulSet", parse(row->set));
    if (row->deleting)
        json_put_str(metadata, "deletionTimestamp", "2026-02-02T02:37:00Z");
    if (row->spec) {
        _cleanup_(json_decrefp) json_t *patch = parse(row->spec);
        json_merge(spec, patch);
    }
    _cleanup_(json_decrefp) json_t *cluster =
        json_build("{s:o, s:o, s:{}}", "metadata", metadata, "spec", spec, "status");
    struct golden *golden = golden_new(cluster, observed);
    json_decref(observed);
    return golden;
}

/* What the plan does with the claims and the StatefulSet. */
static void check_plan(const struct row *row, const struct golden *golden)
{
    bool owns = false, stops = false, applies = false;
    struct cluster_decision decision;
    golden_decide(&golden->snapshot, &decision);
    for (int i = 0; i < decision.plan->count; i++) {
        const struct plan_action *action = &decision.plan->actions[i];
        bool is_set = action->kind == PLAN_STATEFUL_SET;
        owns |= action->kind == PLAN_VOLUME_CLAIM && json_path(action->body, "metadata.ownerReferences[0]");
        stops |= is_set && action->verb == PLAN_PATCH && json_path_int(action->body, "spec.replicas", -1) == 0;
        applies |= is_set && action->verb == PLAN_APPLY;
        assert_false(row->deleting && action->verb == PLAN_DELETE);
    }
    if (owns != row->owns || stops != row->stops || (applies && (row->awaited || row->deleting)))
        fail_msg("%s: owns %d, stops %d, applies %d: %s", row->name, owns, stops, applies, decision.next_action);
    if (row->awaited && !row->set && !strstr(decision.next_action, volume_hold_finalizer(&golden->snapshot)))
        fail_msg("%s: next action %s", row->name, decision.next_action);
    if (row->deleting && !strstr(decision.next_action, "let the cluster go"))
        fail_msg("%s: next action %s", row->name, decision.next_action);
    cluster_decision_release(&decision);
}

static void test_rows(void **state)
{
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct row *row = &rows[i];
        struct golden *golden = make(row);
        const struct cluster_snapshot *snapshot = &golden->snapshot;
        enum volume_hold_act act = volume_hold_next_act(snapshot);
        bool awaited = volume_hold_is_awaited(snapshot, cluster_wanted_pods(snapshot));
        bool released = row->deleting && final_backup_next_act(snapshot) == FINAL_BACKUP_ACT_RELEASE;
        if (act != row->act || awaited != row->awaited || released != row->released)
            fail_msg("%s: act %d, awaited %d, released %d", row->name, (int)act, awaited, released);
        check_plan(row, golden);
        golden_free(golden);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
    };
    cmocka_set_test_filter(getenv("TEST_CASE"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
