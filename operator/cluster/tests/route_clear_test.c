/* SPDX-License-Identifier: Apache-2.0 */
/* What others have put beside the route: which cluster it is of, how often it is deleted, how it is called. */
#include "common/base.h"

#include "operator/cluster/rollout/route_clear.h"

#include <setjmp.h>
#include <cmocka.h>

#include "operator/cluster/reconcile/cluster_maps.h"
#include "operator/cluster/reconcile/cluster_memory.h"

/* ---- whose it is ---- */

static void take_key(void *arg, const char *key)
{
    snprintf(arg, KUBE_KEY_MAX, "%s", key);
}

static void assert_wakes(const char *cluster, const char *service, const char *wanted)
{
    char key[KUBE_KEY_MAX] = "";
    const struct endpoint_slice_object slice = {.ns = "ns1", .name = "any", .cluster = cluster, .service = service};
    cluster_map_foreign_slice(NULL, &slice.object, take_key, key);
    assert_string_equal(key, wanted);
}

static void a_slice_of_the_primary_service_wakes_its_cluster(void **state)
{
    UNUSED(state);
    assert_wakes("shop", "shop-mysql-primary", "ns1/shop");
    assert_wakes("shop", "shop-mysql-replicas", "");
    assert_wakes("shop", "", "");
    assert_wakes("", "-mysql-primary", "");
}

/* As the API server names it: 58 characters and five of its own. */
static void the_longest_name_is_wanted(void **state)
{
    UNUSED(state);
    struct cluster_names names;
    char cluster[CLUSTER_NAME_MAX + 1], key[KUBE_KEY_MAX];
    memset(cluster, 'a', sizeof(cluster) - 1);
    cluster[CLUSTER_NAME_MAX] = '\0';
    cluster_names_init(&names, cluster);
    snprintf(key, sizeof(key), "ns1/%.58s4kx2p", names.service_primary);
    assert_true(cluster_foreign_slice_is_wanted(NULL, key));
    cluster_names_init(&names, "shop");
    snprintf(key, sizeof(key), "ns1/%.58s-4kx2p", names.service_primary);
    assert_true(cluster_foreign_slice_is_wanted(NULL, key));
    snprintf(key, sizeof(key), "ns1/%.58s-4kx2p", names.service_replicas);
    assert_false(cluster_foreign_slice_is_wanted(NULL, key));
    snprintf(key, sizeof(key), "ns1/%.58s-4kx2p", names.service);
    assert_false(cluster_foreign_slice_is_wanted(NULL, key));
}

/* ---- how often ---- */

static void the_first_time_is_at_once(void **state)
{
    UNUSED(state);
    struct cluster_memory memory = {.key = NULL};
    assert_int_equal(cluster_memory_route_rest_ms(&memory, 5), 0);
    cluster_memory_note_cleared(&memory, 5000);
    assert_int_equal(cluster_memory_route_rest_ms(&memory, 5000), CLUSTER_ROUTE_REST_MS);
    assert_int_equal(cluster_memory_route_rest_ms(&memory, 5000 + CLUSTER_ROUTE_REST_MS - 1), 1);
    assert_int_equal(cluster_memory_route_rest_ms(&memory, 5000 + CLUSTER_ROUTE_REST_MS), 0);
}

static void who_goes_on_is_followed_ever_more_slowly(void **state)
{
    UNUSED(state);
    struct cluster_memory memory = {.key = NULL};
    int64_t at_ms = 5000, wanted_ms = CLUSTER_ROUTE_REST_MS;
    for (int i = 0; i < 10; i++) {
        cluster_memory_note_cleared(&memory, at_ms);
        assert_int_equal(cluster_memory_route_rest_ms(&memory, at_ms), wanted_ms);
        at_ms += wanted_ms;
        wanted_ms = MIN_OF(2 * wanted_ms, CLUSTER_ROUTE_REST_MAX_MS);
    }
    cluster_memory_note_cleared(&memory, at_ms + CLUSTER_ROUTE_REST_MAX_MS); /* something else, later */
    assert_int_equal(cluster_memory_route_rest_ms(&memory, at_ms + CLUSTER_ROUTE_REST_MAX_MS), CLUSTER_ROUTE_REST_MS);
}

/* ---- how it is called ---- */

static void only_what_was_taken_from_the_route_is_told(void **state)
{
    UNUSED(state);
    char text[ROUTE_CLEARED_SIZE];
    struct plan_action action = {.verb = PLAN_PATCH, .kind = PLAN_SERVICE, .name = (char[]){"shop-mysql-primary"}};
    assert_true(route_clear_tell(&action, text));
    assert_string_equal(text, "spec.selector");
    action.verb = PLAN_DELETE;
    action.kind = PLAN_ENDPOINTS;
    assert_true(route_clear_tell(&action, text));
    assert_string_equal(text, "Endpoints shop-mysql-primary");
    action.kind = PLAN_POD;
    assert_false(route_clear_tell(&action, text));
    action.verb = PLAN_APPLY;
    action.kind = PLAN_ENDPOINT_SLICE;
    assert_false(route_clear_tell(&action, text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slice_of_the_primary_service_wakes_its_cluster),
        cmocka_unit_test(the_longest_name_is_wanted),
        cmocka_unit_test(the_first_time_is_at_once),
        cmocka_unit_test(who_goes_on_is_followed_ever_more_slowly),
        cmocka_unit_test(only_what_was_taken_from_the_route_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
