/* SPDX-License-Identifier: Apache-2.0 */
/* Another operator brings another agent: one cluster after the other has its members replaced (cluster_turn.h). */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "operator/api/names.h"
#include "operator/tests/operator_world.h"
#include "operator/tests/world_copy.h"

#define PATH_OTHER "/apis/apps/v1/namespaces/ns2/statefulsets/crm-mysql"
#define OTHER(annotations)                                                                                             \
    "{'apiVersion': 'apps/v1', 'kind': 'StatefulSet', 'metadata': {'name': 'crm-mysql', 'namespace': 'ns2', 'labels':" \
    " {'" LABEL_MANAGED_BY "': '" LABEL_MANAGED_BY_US "'}, 'annotations': " annotations "}, 'spec': {'replicas': 3}}"
#define ON_TURN OTHER("{'" ANNOTATION_AGENT_TURN "': 'agent:2'}")
#define OVER OTHER("{}")

static bool all_children(struct operator_world *world)
{
    return !world_missing_child(world);
}

static bool settled(struct operator_world *world)
{
    return world_is_settled(world) && str_starts_with(world_condition(world, "Ready"), "True/");
}

static bool quiet(struct operator_world *world)
{
    return world_is_quiet(world, 150);
}

static const char *image(const struct operator_world *world)
{
    return world_str(world, PATH_STATEFUL_SET, "spec.template.spec.initContainers[0].image");
}

static const char *mark(const struct operator_world *world)
{
    return world_str(world, PATH_STATEFUL_SET, "metadata.annotations[\"" ANNOTATION_AGENT_TURN "\"]");
}

static bool another_agent_comes(struct operator_world *world)
{
    assert_string_equal(image(world), "agent:1");
    assert_string_equal(mark(world), "");
    world->numbers[0] = world_agent(world, 0)->lives;
    world->agent_image = "agent:2";
    world_kill_operator(world);
    return true;
}

static bool waits(struct operator_world *world)
{
    const char *next = world_str(world, PATH_CLUSTER, "status.nextAction");
    if (!strstr(next, "waits for ns2/crm, whose turn it is"))
        return false;
    assert_non_null(strstr(next, "for the agent agent:2"));
    return true;
}

static bool nothing_is_touched(struct operator_world *world)
{
    assert_string_equal(image(world), "agent:1");
    assert_int_equal(world_agent(world, 0)->lives, world->numbers[0]);
    assert_true(str_starts_with(world_condition(world, "Ready"), "True/"));
    world_put_json(world, PATH_OTHER, OVER);
    return true;
}

#define PATH_CHECK_POD PATH_CORE "pods/shop-mysql-check"

/* The check pod takes the new agent, as often as one is made. */
static void let_check_pass(struct operator_world *world)
{
    if (kube_api_double_get(world->api, PATH_CHECK_POD) &&
        !str_eq(world_str(world, PATH_CHECK_POD, "status.phase"), "Succeeded"))
        world_edit_json(world, PATH_CHECK_POD, "{'status': {'phase': 'Succeeded'}}");
}

static bool is_marked_with_the_image(struct operator_world *world)
{
    let_check_pass(world);
    if (!str_eq(image(world), "agent:2"))
        return false;
    assert_string_equal(mark(world), "agent:2");
    return true;
}

/* Not before its members serve with it. */
static bool turn_is_over(struct operator_world *world)
{
    let_check_pass(world);
    if (*mark(world))
        return false;
    assert_int_not_equal(world_agent(world, 0)->lives, world->numbers[0]);
    return world_is_settled(world);
}

static void play(const world_step_fn *steps, const char *other, int turns)
{
    struct operator_world *world = operator_world_new();
    world->turns = turns;
    if (other)
        world_put_json(world, PATH_OTHER, other);
    world_put_cluster(world, "");
    operator_world_run(world, steps);
    assert_string_equal(image(world), "agent:2");
    assert_int_equal(world_int(world, PATH_CLUSTER, "status.updatedReplicas"), 1);
    operator_world_free(world);
}

static void one_waits_until_the_other_is_ready(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {all_children, settled, quiet, another_agent_comes, waits, quiet,
        nothing_is_touched, is_marked_with_the_image, turn_is_over, quiet, NULL};
    play(steps, ON_TURN, 1);
}

static void two_at_a_time(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        all_children, settled, quiet, another_agent_comes, is_marked_with_the_image, turn_is_over, quiet, NULL};
    play(steps, ON_TURN, 2);
}

/* Each operator is killed after any of its writes: what lies in the API server is enough to go on. */
static void operators_that_die_on_the_way(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        all_children, settled, quiet, another_agent_comes, is_marked_with_the_image, turn_is_over, quiet, NULL};
    for (size_t kill_after = 1; kill_after <= 6; kill_after += world_crash_every()) {
        struct operator_world *world = operator_world_new();
        world->turns = 1;
        world->kill_after_step = 4;
        world->kill_after = kill_after;
        world_put_cluster(world, "");
        operator_world_run(world, steps);
        assert_string_equal(image(world), "agent:2");
        assert_string_equal(mark(world), "");
        operator_world_free(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_waits_until_the_other_is_ready),
        cmocka_unit_test(two_at_a_time),
        cmocka_unit_test(operators_that_die_on_the_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
