/* SPDX-License-Identifier: Apache-2.0 */
/* A Service made of spec.services that the API server refuses: the spec is not accepted, the field is named, and it is
 * in force as soon as it is corrected. What others refuse, as by a quota, may go on by itself. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/json.h"
#include "operator/tests/operator_world.h"

#define PATH_PRIMARY PATH_CORE "services/shop-mysql-primary"
#define INVALID                                                                                                    \
    "Service \"shop-mysql-primary\" is invalid: metadata.annotations: Invalid value: \"Bad Key\": name part must " \
    "consist of alphanumeric characters"
#define QUOTA                                                                                                         \
    "services \"shop-mysql-primary\" is forbidden: exceeded quota: team, requested: services.loadbalancers=1, used: " \
    "services.loadbalancers=2, limited: services.loadbalancers=2"

#define REFUSED "the API server refuses Service shop-mysql-primary: "

static bool settled(struct operator_world *world)
{
    return !world_missing_child(world) && world_is_settled(world) && world_is_quiet(world, 150);
}

static void refuse(struct operator_world *world, int status, const char *reason, const char *message)
{
    kube_api_double_fault(world->api,
        &(struct kube_api_fault){.method = "PATCH",
            .path_prefix = PATH_PRIMARY,
            .times = -1,
            .kind = KUBE_API_FAULT_STATUS,
            .status = status,
            .reason = reason,
            .message = message});
}

static bool next_action_says(struct operator_world *world, const char *words)
{
    return strstr(world_str(world, PATH_CLUSTER, "status.nextAction"), words) != NULL;
}

static bool put_bad_key(struct operator_world *world)
{
    refuse(world, 422, "Invalid", INVALID);
    world_edit_json(world, PATH_CLUSTER, "{'spec': {'services': {'primary': {'annotations': {'Bad Key': 'x'}}}}}");
    return true;
}

static bool field_is_told(struct operator_world *world)
{
    if (!str_eq(world_condition(world, "Accepted"), "False/ServiceRefused"))
        return false;
    assert_string_equal(world_condition(world, "Stalled"), "True/ServiceRefused");
    assert_string_equal(world_str(world, PATH_CLUSTER, "status.state"), "Degraded");
    assert_true(next_action_says(world, "correct the spec: spec.services.primary.annotations: " REFUSED INVALID));
    return true;
}

static bool correct_key(struct operator_world *world)
{
    kube_api_double_clear_faults(world->api);
    world_edit_json(
        world, PATH_CLUSTER, "{'spec': {'services': {'primary': {'annotations': {'Bad Key': null, 'good': 'x'}}}}}");
    return true;
}

static bool is_in_force(struct operator_world *world)
{
    return str_eq(world_str(world, PATH_PRIMARY, "metadata.annotations.good"), "x") &&
        str_eq(world_condition(world, "Accepted"), "True/Accepted") &&
        str_eq(world_condition(world, "Stalled"), "False/NotStalled");
}

static void a_refused_service_is_told_by_its_field(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {settled, put_bad_key, field_is_told, correct_key, is_in_force, settled, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, "");
    operator_world_run(world, steps);
    operator_world_free(world);
}

static bool want_balancer(struct operator_world *world)
{
    refuse(world, 403, "Forbidden", QUOTA);
    world_edit_json(world, PATH_CLUSTER, "{'spec': {'services': {'primary': {'type': 'LoadBalancer'}}}}");
    return true;
}

static bool quota_is_told(struct operator_world *world)
{
    if (!str_eq(world_condition(world, "Progressing"), "True/Retrying"))
        return false;
    assert_string_equal(world_condition(world, "Accepted"), "True/Accepted");
    assert_string_equal(world_condition(world, "Stalled"), "False/NotStalled");
    assert_true(next_action_says(world, "raise the ResourceQuota of namespace ns1"));
    assert_true(next_action_says(world, "spec.services.primary: " REFUSED QUOTA));
    kube_api_double_clear_faults(world->api);
    return true;
}

static void a_service_beyond_a_quota_may_go_on_by_itself(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {settled, want_balancer, quota_is_told, settled, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, "");
    operator_world_run(world, steps);
    assert_string_equal(world_str(world, PATH_PRIMARY, "spec.type"), "LoadBalancer");
    operator_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refused_service_is_told_by_its_field),
        cmocka_unit_test(a_service_beyond_a_quota_may_go_on_by_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
