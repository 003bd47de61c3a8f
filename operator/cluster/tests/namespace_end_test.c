/* SPDX-License-Identifier: Apache-2.0 */
/* A namespace that is deleted: when it is worth a question, and what members are told. */
#include "common/base.h"

#include "operator/cluster/state/namespace_end.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/json.h"
#include "operator/cluster/rollout/cluster_decide.h"
#include "operator/cluster/tests/golden_snapshot.h"

#define GOES "{\"metadata\":{\"deletionTimestamp\":\"2026-02-02T02:39:59Z\"}}"
#define STATUS "{\"currentPrimary\":\"shop-mysql-0\",\"epoch\":1,\"initialized\":true,\"semiSync\":true}"

static json_t *parse(const char *text)
{
    json_t *json = json_parse(text, strlen(text), NULL);
    if (!json)
        fail_msg("not JSON: %s", text);
    return json;
}

/* pods: by ordinal */
static struct golden *make(int replicas, const char *status, const char *pods)
{
    _cleanup_(json_decrefp) json_t *spec = json_build("{s:{s:{s:{s:s}}}, s:i, s:{s:{s:{s:s}}}}", "config", "spec",
        "images", "mysql", "mysql:8.4", "replicas", replicas, "storage", "resources", "requests", "storage", "1Gi");
    _cleanup_(json_decrefp) json_t *cluster =
        json_build("{s:{s:i}, s:O, s:o}", "metadata", "generation", 1, "spec", spec, "status", parse(status));
    _cleanup_(json_decrefp) json_t *observed = json_build("{s:o, s:{s:{}, s:{}}, s:{}, s:{s:{}, s:{}}, s:O}", "pods",
        parse(pods), "claims", "0", "1", "children", "agents", "0", "1", "appliedSpec", spec);
    return golden_new(cluster, observed);
}

static void only_where_nobody_stays(void **unused)
{
    static const struct {
        int replicas;
        const char *status, *pods;
        bool suspected;
    } rows[] = {
        {2, STATUS, "{\"0\":" GOES ",\"1\":" GOES "}", true}, {2, STATUS, "{\"0\":" GOES "}", true},
        {2, STATUS, "{}", true}, {2, STATUS, "{\"0\":" GOES ",\"1\":{}}", false},
        {2, STATUS, "{\"0\":{},\"1\":" GOES "}", false}, {1, STATUS, "{\"0\":" GOES "}", false}, /* waits for nobody */
        {2, "{\"epoch\":1}", "{}", false},                                                       /* is new */
    };
    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct golden *golden = make(rows[i].replicas, rows[i].status, rows[i].pods);
        if (namespace_end_is_suspected(&golden->snapshot) != rows[i].suspected)
            fail_msg("%s", rows[i].pods);
        golden->snapshot.namespace_ends = true; /* known */
        assert_false(namespace_end_is_suspected(&golden->snapshot));
        golden_free(golden);
    }
}

static bool is_told(const struct cluster_snapshot *snapshot)
{
    struct cluster_orders *orders = xcalloc(1, sizeof(*orders));
    golden_order(snapshot, orders);
    bool told = orders->orders[0].nobody_stays;
    assert_true(orders->given[0]);
    assert_int_equal(orders->orders[0].role, AGENT_ROLE_PRIMARY); /* as ever */
    free(orders);
    return told;
}

static void the_last_primary_is_told(void **unused)
{
    struct golden *golden = make(2, STATUS, "{\"0\":" GOES ",\"1\":" GOES "}");
    UNUSED(unused);
    assert_false(is_told(&golden->snapshot)); /* as when somebody deletes all pods: others come back */
    golden->snapshot.namespace_ends = true;
    assert_true(is_told(&golden->snapshot));
    golden_free(golden);
    golden = make(2, STATUS, "{\"0\":" GOES ",\"1\":{}}");
    golden->snapshot.namespace_ends = true;
    assert_false(is_told(&golden->snapshot)); /* may take over */
    golden_free(golden);
}

static void what_a_write_is_answered_is_kept(void **unused)
{
    struct cluster_memory memory = {.key = NULL};
    struct error err = ERROR_INIT;
    UNUSED(unused);
    cluster_memory_note_write(&memory, NULL);
    error_set(&err, ERROR_FORBIDDEN, "you may not");
    cluster_memory_note_write(&memory, &err);
    assert_false(memory.namespace_ends);
    error_set(&err, ERROR_ENDING, "it is being terminated");
    cluster_memory_note_write(&memory, &err);
    cluster_memory_note_write(&memory, NULL);
    assert_true(memory.namespace_ends);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_where_nobody_stays),
        cmocka_unit_test(the_last_primary_is_told),
        cmocka_unit_test(what_a_write_is_answered_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
