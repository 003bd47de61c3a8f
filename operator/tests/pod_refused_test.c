/* SPDX-License-Identifier: Apache-2.0 */
/* Pods that the API server refuses: the StatefulSet controller alone hears of it, and yet the status tells its
 * words. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/clock.h"
#include "operator/tests/operator_world.h"

#define QUOTA \
    "pods \"shop-mysql-0\" is forbidden: exceeded quota: team, requested: pods=1, used: pods=3, limited: pods=3"
#define INIT_QUOTA                                                                                       \
    "pods \"shop-mysql-0\" is forbidden: failed quota: team: must specify limits.cpu for: init,inject; " \
    "limits.memory for: init"
#define SMALL_QUOTA \
    "pods \"shop-mysql-0\" is forbidden: exceeded quota: team, requested: pods=1, used: pods=0, limited: pods=0"
#define CLAIM_QUOTA "persistentvolumeclaims \"data-shop-mysql-0\" is forbidden: exceeded quota: disks"

static void refuse(struct operator_world *world, const char *collection, const char *message)
{
    kube_api_double_fault(world->api,
        &(struct kube_api_fault){.method = "POST",
            .path_prefix = collection,
            .query = "dryRun",
            .times = -1,
            .kind = KUBE_API_FAULT_STATUS,
            .status = 403,
            .message = message});
}

/* As far as the StatefulSet controller comes. */
static bool set_is_there(struct operator_world *world)
{
    world->numbers[0] = clock_monotonic_ms();
    return *world_str(world, PATH_STATEFUL_SET, "metadata.name");
}

static bool tells(struct operator_world *world, const char *words)
{
    return str_eq(world_condition(world, "Healthy"), "False/PodRefused") &&
        strstr(world_str(world, PATH_CLUSTER, "status.nextAction"), words) &&
        strstr(world_str(world, PATH_CLUSTER, "status.nextAction"), "raise the ResourceQuota of namespace ns1");
}

static bool pod_is_told(struct operator_world *world)
{
    world->numbers[1] = clock_monotonic_ms() - world->numbers[0];
    return tells(world, QUOTA);
}

/* Before there is a StatefulSet that would try it. */
static bool init_quota_is_told(struct operator_world *world)
{
    world->numbers[1] = clock_monotonic_ms() - world->numbers[0];
    return str_eq(world_condition(world, "Accepted"), "False/TemplateRefused") &&
        str_eq(world_condition(world, "Stalled"), "True/TemplateRefused") &&
        strstr(world_str(world, PATH_CLUSTER, "status.nextAction"), INIT_QUOTA) &&
        strstr(world_str(world, PATH_CLUSTER, "status.nextAction"), "give the containers the requests and limits");
}

static bool claim_is_told(struct operator_world *world)
{
    return tells(world, CLAIM_QUOTA);
}

/* It is said no longer than it is so: also while the StatefulSet controller pauses between its tries. */
static bool quota_is_raised(struct operator_world *world)
{
    kube_api_double_clear_faults(world->api);
    return true;
}

static bool is_not_told(struct operator_world *world)
{
    return str_eq(world_condition(world, "Healthy"), "False/MemberNotReady");
}

static bool pods_are_made(struct operator_world *world)
{
    world->kubernetes.is_held = false;
    return true;
}

static bool settled(struct operator_world *world)
{
    return world_is_settled(world);
}

static bool is_healthy(struct operator_world *world)
{
    return str_eq(world_condition(world, "Healthy"), "True/AllReady") &&
        str_eq(world_str(world, PATH_CLUSTER, "status.nextAction"), "");
}

static void refused_pod_is_told(void **state)
{
    static const world_step_fn steps[] = {
        set_is_there, pod_is_told, quota_is_raised, is_not_told, pods_are_made, settled, is_healthy, NULL};
    struct operator_world *world = operator_world_new();
    UNUSED(state);
    world->kubernetes.is_held = true;
    refuse(world, PATH_CORE "pods", QUOTA);
    world_put_cluster(world, "'replicas': 1");
    operator_world_run(world, steps);
    assert_in_range(world->numbers[1], 0, 4000);
    operator_world_free(world);
}

static void refused_claim_is_told(void **state)
{
    static const world_step_fn steps[] = {
        set_is_there, claim_is_told, quota_is_raised, pods_are_made, settled, is_healthy, NULL};
    struct operator_world *world = operator_world_new();
    UNUSED(state);
    world->kubernetes.is_held = true;
    refuse(world, PATH_CORE "persistentvolumeclaims", CLAIM_QUOTA);
    world_put_cluster(world, "'replicas': 1");
    operator_world_run(world, steps);
    operator_world_free(world);
}

static void quota_on_init_containers_is_told(void **state)
{
    static const world_step_fn steps[] = {init_quota_is_told, NULL};
    struct operator_world *world = operator_world_new();
    UNUSED(state);
    world->kubernetes.is_held = true;
    refuse(world, PATH_CORE "pods", INIT_QUOTA);
    world->numbers[0] = clock_monotonic_ms();
    world_put_cluster(world, "'replicas': 3");
    operator_world_run(world, steps);
    assert_in_range(world->numbers[1], 0, 4000);
    operator_world_free(world);
}

/* The claim could not be asked for: the pod is, all the same. */
static void pod_is_told_without_the_claim(void **state)
{
    static const world_step_fn steps[] = {set_is_there, pod_is_told, NULL};
    struct operator_world *world = operator_world_new();
    UNUSED(state);
    world->kubernetes.is_held = true;
    refuse(world, PATH_CORE "persistentvolumeclaims", "admission webhook \"v\" does not support dry run");
    refuse(world, PATH_CORE "pods", QUOTA);
    world_put_cluster(world, "'replicas': 1");
    operator_world_run(world, steps);
    assert_in_range(world->numbers[1], 0, 4000);
    operator_world_free(world);
}

/* After each write of the operators, from the death of the first one on. */
static void look(struct operator_world *world)
{
    if (world->numbers[2] && !tells(world, SMALL_QUOTA) && !*world->failure)
        snprintf(world->failure, sizeof(world->failure), "Healthy is %s", world_condition(world, "Healthy"));
}

static size_t dry_runs(const struct operator_world *world)
{
    return kube_api_double_requests(world->api, "POST", PATH_CORE "pods");
}

static bool quota_is_lowered(struct operator_world *world)
{
    refuse(world, PATH_CORE "pods", SMALL_QUOTA);
    return true;
}

static bool small_quota_is_told(struct operator_world *world)
{
    return tells(world, SMALL_QUOTA);
}

static bool operator_is_killed(struct operator_world *world)
{
    world->numbers[2] = 1;
    world->writes_before = dry_runs(world);
    world_kill_operator(world);
    return true;
}

static bool next_one_has_asked_twice(struct operator_world *world)
{
    return dry_runs(world) >= world->writes_before + 2;
}

static bool is_refused_no_more(struct operator_world *world)
{
    world->after_act = NULL;
    return quota_is_raised(world);
}

static void the_next_operator_tells_it_on(void **state)
{
    static const world_step_fn steps[] = {set_is_there, quota_is_lowered, small_quota_is_told, operator_is_killed,
        next_one_has_asked_twice, is_refused_no_more, pods_are_made, settled, is_healthy, NULL};
    struct operator_world *world = operator_world_new();
    UNUSED(state);
    world->kubernetes.is_held = true;
    world->after_act = look;
    world_put_cluster(world, "'replicas': 1");
    operator_world_run(world, steps);
    operator_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_pod_is_told),
        cmocka_unit_test(refused_claim_is_told),
        cmocka_unit_test(quota_on_init_containers_is_told),
        cmocka_unit_test(pod_is_told_without_the_claim),
        cmocka_unit_test(the_next_operator_tells_it_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
