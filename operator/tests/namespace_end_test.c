/* SPDX-License-Identifier: Apache-2.0 */
/* A namespace is deleted, as Kubernetes 1.33 and later do it: all pods first, the MysqlCluster when none is left. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "operator/tests/operator_world.h"

#define REPLICATED "'replicas': 2"

static bool settled(struct operator_world *world)
{
    return world_is_settled(world);
}

static bool quiet(struct operator_world *world)
{
    return world_is_quiet(world, 150);
}

static void delete_pod(struct operator_world *world, int ordinal)
{
    _cleanup_(freep) char *path = xasprintf(PATH_CORE "pods/shop-mysql-%d", ordinal);
    kube_api_double_remove(world->api, path);
}

static bool delete_namespace(struct operator_world *world)
{
    kube_api_double_end_namespace(world->api);
    world->kubernetes.is_ending = true;
    world->numbers[0] = clock_monotonic_ms();
    delete_pod(world, 1);
    delete_pod(world, 0);
    return true;
}

static bool delete_both(struct operator_world *world)
{
    delete_pod(world, 1);
    delete_pod(world, 0);
    return true;
}

static bool no_pod_is_left(struct operator_world *world)
{
    world->numbers[1] = clock_monotonic_ms() - world->numbers[0];
    return !*world_pod_str(world, 0, "metadata.name") && !*world_pod_str(world, 1, "metadata.name");
}

/* Also when it comes after the last pod. */
static bool cluster_goes(struct operator_world *world)
{
    kube_api_double_remove(world->api, PATH_CLUSTER);
    return true;
}

static void the_last_primary_does_not_wait(void **state)
{
    static const world_step_fn steps[] = {settled, quiet, delete_namespace, no_pod_is_left, cluster_goes, NULL};
    struct operator_world *world = operator_world_new();
    UNUSED(state);
    world_put_cluster(world, REPLICATED);
    operator_world_run(world, steps);
    assert_in_range(world->numbers[1], 0, 4000);
    operator_world_free(world);
}

static bool both_are_back(struct operator_world *world)
{
    world->numbers[2] = world->numbers[2] || world_agent(world, 0)->nobody_stays || world_agent(world, 1)->nobody_stays;
    return world_agent(world, 0)->lives > 1 && world_agent(world, 1)->lives > 1;
}

/* Somebody deletes all pods: others come, and the primary waits for one that takes over. */
static void a_namespace_that_stays_is_no_matter(void **state)
{
    static const world_step_fn steps[] = {settled, quiet, delete_both, both_are_back, settled, NULL};
    struct operator_world *world = operator_world_new();
    UNUSED(state);
    world_put_cluster(world, REPLICATED);
    operator_world_run(world, steps);
    assert_int_equal(world->numbers[2], 0);
    operator_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_primary_does_not_wait),
        cmocka_unit_test(a_namespace_that_stays_is_no_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
