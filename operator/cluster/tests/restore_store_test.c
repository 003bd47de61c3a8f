/* SPDX-License-Identifier: Apache-2.0 */
/* The pod in front of a volume that a cluster is restored from: when one of an earlier version is replaced. */
#include "common/base.h"

#include "operator/cluster/restore/restore_store.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/json.h"
#include "operator/cluster/tests/golden_snapshot.h"

#define OUTDATED "store-0123456789abcdef"

struct row {
    const char *name;
    const char *agent; /* of the member that is restored; NULL: nobody has spoken with it yet */
    bool ready;        /* the pod in front of the volume */
    bool goes;
};

static const struct row rows[] = {
    {"nobody was told to read from it", "{\"phase\": \"Seeding\"}", true, true},
    {"it is being read from", "{\"phase\": \"Seeding\", \"seedTask\": \"b1\"}", true, false},
    {"it may be read from", NULL, true, false},
    {"it serves nobody", NULL, false, true},
    {"an agent of this version does not read from it",
        "{\"phase\": \"Seeding\", \"volumeProtocol\": 1, \"seedTask\": \"b1\"}", true, true},
};

static json_t *parse(const char *text)
{
    json_t *json = json_parse(text, strlen(text), NULL);
    assert_non_null(json);
    return json;
}

static void check(const struct row *row)
{
    _cleanup_(json_decrefp) json_t *cluster = parse(
        "{\"spec\": {\"config\": {\"spec\": {\"images\": {\"mysql\": \"mysql:8.4\"}}}, \"replicas\": 1}, \"status\": {\"currentPrimary\": \"shop-mysql-0\", \"epoch\": 1, \"restore\":"
        "{\"phase\": \"Restoring\", \"backup\": \"b1\", \"digest\": \"d1\", \"folder\": \"f\","
        "\"from\": {\"backup\": {\"name\": \"nightly\"}},"
        "\"destination\": {\"persistentVolumeClaim\": {\"claimName\": \"safe\"}}}}}");
    _cleanup_(json_decrefp) json_t *observed =
        parse("{\"pods\": {\"0\": {}}, \"claims\": {\"0\": {}}, \"children\": {}, \"agents\": {\"0\": null}}");
    if (row->agent)
        json_put(json_object_get(observed, "agents"), "0", parse(row->agent));
    struct golden *golden = golden_new(cluster, observed);
    struct cluster_snapshot *snapshot = &golden->snapshot;
    const struct pod_object pod = {.name = "shop-rstore-1",
        .uid = "u",
        .role = OUTDATED,
        .ready = row->ready,
        .scheduled = true,
        .phase = POD_PHASE_RUNNING};
    struct plan *plan = plan_new();

    snapshot->restore_store = &pod;
    snapshot->members[0].agent_awaited = !row->agent;
    restore_store_decide(snapshot, plan);
    if (plan_deletes(plan, PLAN_POD, pod.name) != row->goes)
        fail_msg("%s: it %s", row->name, row->goes ? "stays" : "goes");
    plan_free(plan);
    golden_free(golden);
}

static void one_of_an_earlier_version(void **state)
{
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        check(&rows[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_of_an_earlier_version)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
