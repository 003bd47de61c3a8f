/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The primary Service is given a selector by hand, and Kubernetes' controllers write EndpointSlices and Endpoints for
 * it, with the whole operator against the doubles: all of that goes, and people are told.
 */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "operator/api/names.h"
#include "operator/tests/operator_world.h"

#define PATH_PRIMARY PATH_CORE "services/shop-mysql-primary"
#define PATH_ENDPOINTS PATH_CORE "endpoints/shop-mysql-primary"
#define PATH_FOREIGN "/apis/discovery.k8s.io/v1/namespaces/ns1/endpointslices/shop-mysql-primary-4kx2p"
#define PATH_MIRRORED "/apis/discovery.k8s.io/v1/namespaces/ns1/endpointslices/shop-mysql-primary-v6zzq"
#define PATH_OTHER "/apis/discovery.k8s.io/v1/namespaces/ns1/endpointslices/shop-mysql-replicas-b7wtt"

#define LABELS "'" LABEL_MANAGED_BY "': '" LABEL_MANAGED_BY_US "', '" LABEL_CLUSTER "': 'shop'"
/* As Kubernetes makes it: with the Service's own labels. */
#define SLICE(service, suffix, manager)                                                                            \
    "{'apiVersion': 'discovery.k8s.io/v1', 'kind': 'EndpointSlice', 'metadata': {'name': '" service "-" suffix     \
    "', 'namespace': 'ns1', 'labels': {" LABELS ", '" LABEL_SERVICE_NAME "': '" service "', '" LABEL_SLICE_MANAGER \
    "': '" manager "'}}, 'addressType': 'IPv4', 'endpoints': [{'addresses': ['10.9.9.9']}]}"
#define ENDPOINTS                                                                                             \
    "{'apiVersion': 'v1', 'kind': 'Endpoints', 'metadata': {'name': 'shop-mysql-primary', 'namespace': 'ns1'" \
    ", 'labels': {" LABELS "}}, 'subsets': [{'addresses': [{'ip': '10.9.9.9'}]}]}"

static bool settled(struct operator_world *world)
{
    return !world_missing_child(world) && world_is_settled(world) && world_is_quiet(world, 150);
}

static bool selector_is_added(struct operator_world *world)
{
    world_edit_json(world, PATH_PRIMARY, "{'spec': {'selector': {'app': 'x'}}}");
    world_put_json(world, PATH_FOREIGN, SLICE("shop-mysql-primary", "4kx2p", "endpointslice-controller.k8s.io"));
    world_put_json(
        world, PATH_MIRRORED, SLICE("shop-mysql-primary", "v6zzq", "endpointslicemirroring-controller.k8s.io"));
    world_put_json(world, PATH_OTHER, SLICE("shop-mysql-replicas", "b7wtt", "endpointslice-controller.k8s.io"));
    world_put_json(world, PATH_ENDPOINTS, ENDPOINTS);
    return true;
}

static bool is_cleared(const struct operator_world *world)
{
    static const char *const foreign[] = {PATH_FOREIGN, PATH_MIRRORED, PATH_ENDPOINTS};
    for (size_t i = 0; i < ARRAY_LEN(foreign); i++) {
        if (kube_api_double_get(world->api, foreign[i]))
            return false;
    }
    return str_empty(world_str(world, PATH_PRIMARY, "spec.selector.app"));
}

static bool cleared(struct operator_world *world)
{
    return is_cleared(world) && settled(world);
}

static bool is_told(const struct operator_world *world, const char *text)
{
    _cleanup_(freep) char *dump = kube_api_double_dump(world->api);
    return strstr(dump, text) != NULL;
}

static bool told(struct operator_world *world)
{
    return is_told(world,
               "Service shop-mysql-primary is to lead to the primary alone; taken away from it: spec.selector") &&
        is_told(world, "taken away from it: Endpoints shop-mysql-primary, EndpointSlice shop-mysql-primary-");
}

/* A controller of Kubernetes was late: there is nothing to delete but that. */
static bool comes_back(struct operator_world *world)
{
    world_put_json(world, PATH_FOREIGN, SLICE("shop-mysql-primary", "4kx2p", "endpointslice-controller.k8s.io"));
    return true;
}

static bool told_of_the_slice_alone(struct operator_world *world)
{
    return is_told(world, "taken away from it: EndpointSlice shop-mysql-primary-4kx2p\"");
}

static void what_a_selector_brings_goes(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        settled, selector_is_added, cleared, told, comes_back, cleared, told_of_the_slice_alone, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, "'replicas': 2");
    operator_world_run(world, steps);
    assert_non_null(kube_api_double_get(world->api, PATH_OTHER));
    assert_non_null(kube_api_double_get(world->api, PATH_SLICE));
    operator_world_free(world);
}

static bool paused(struct operator_world *world)
{
    world_edit_json(world, PATH_CLUSTER, "{'spec': {'paused': true}, 'metadata': {'generation': 7}}");
    return true;
}

static bool cleared_alone(struct operator_world *world)
{
    return is_cleared(world) && world_is_quiet(world, 150);
}

static void also_while_the_cluster_is_paused(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {settled, paused, cleared_alone, selector_is_added, cleared_alone, told, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, "");
    operator_world_run(world, steps);
    operator_world_free(world);
}

/* Of what others have under other names nothing is deleted, and nothing is written where nothing is wrong. */
static bool others_are_added(struct operator_world *world)
{
    world_put_json(world, PATH_OTHER, SLICE("shop-mysql-replicas", "b7wtt", "endpointslice-controller.k8s.io"));
    return true;
}

static bool nothing_is_written(struct operator_world *world)
{
    return world_is_quiet(world, 1500);
}

static void nothing_is_written_while_nothing_is_wrong(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {settled, others_are_added, nothing_is_written, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, "");
    operator_world_run(world, steps);
    assert_int_equal(kube_api_double_requests(world->api, "DELETE", PATH_CORE "endpoints"), 0);
    assert_non_null(kube_api_double_get(world->api, PATH_OTHER));
    operator_world_free(world);
}

static char *tell(const void *arg, size_t n, struct world_copies *copies)
{
    UNUSED(arg);
    static const world_step_fn steps[] = {settled, selector_is_added, cleared, NULL};
    struct operator_world *world = operator_world_new();
    world->kill_after_step = 1;
    world->kill_after = n;
    world->copies = copies;
    world_put_cluster(world, "");
    operator_world_run(world, steps);
    char *end = world_children(world);
    world_copy_end(copies, end);
    operator_world_free(world);
    return end;
}

/* Each write may be the operator's last. */
static void a_crash_in_between_ends_the_same(void **state)
{
    UNUSED(state);
    world_dies_at_every_step(tell, NULL, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_selector_brings_goes),
        cmocka_unit_test(also_while_the_cluster_is_paused),
        cmocka_unit_test(nothing_is_written_while_nothing_is_wrong),
        cmocka_unit_test(a_crash_in_between_ends_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
