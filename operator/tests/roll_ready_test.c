/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ready right after a change: whoever waits for it must not get it before the roll is done, however fast the
 * StatefulSet's controller takes up the new template.
 */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/json.h"
#include "operator/tests/role_story.h"

#define REVISION "metadata.labels.controller-revision-hash"
#define SITE "spec.template.metadata.annotations.site"

static bool is_replaced(const struct operator_world *world, int ordinal)
{
    const char *revision = world_pod_str(world, ordinal, REVISION);
    return *revision && !str_eq(revision, world->uid);
}

/* Ready, and of the generation that the spec has now. */
static bool is_ready_now(struct operator_world *world)
{
    int64_t generation = world_int(world, PATH_CLUSTER, "metadata.generation");
    return str_eq(world_condition(world, "Ready"), "True/TakesWrites") &&
        world_int(world, PATH_CLUSTER, "status.observedGeneration") == generation;
}

/* After each write of the operator: its StatefulSet is observed before it is heard of. */
static void look(struct operator_world *world)
{
    if (str_eq(world_str(world, PATH_STATEFUL_SET, SITE), "north"))
        kubernetes_double_tick(&world->kubernetes);
    bool is_early = is_ready_now(world) && (!is_replaced(world, 0) || !is_replaced(world, 1));
    if (world->numbers[0] && is_early && !*world->failure)
        snprintf(world->failure, sizeof(world->failure), "Ready with members of the old template");
}

static bool want_a_site(struct operator_world *world)
{
    snprintf(world->uid, sizeof(world->uid), "%s", world_pod_str(world, 0, REVISION));
    world->numbers[0] = 1;
    role_story_edit_spec(world, "{'podTemplate': {'metadata': {'annotations': {'site': 'north'}}}}");
    return true;
}

static bool has_rolled(struct operator_world *world)
{
    const json_t *pod = kube_api_double_get(world->api, PATH_CORE "pods/shop-mysql-check");
    if (pod && !str_eq(json_path_str(pod, "status.phase", ""), "Succeeded"))
        world_check_passes(world);
    return is_ready_now(world) && is_replaced(world, 0) && is_replaced(world, 1);
}

static void ready_comes_after_the_roll(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        role_story_settled, role_story_quiet, want_a_site, has_rolled, role_story_quiet, NULL};
    struct operator_world *world = operator_world_new();
    world->after_act = look;
    world->secrets_fresh_ms = -1; /* Secrets are read between what is written and what is reported */
    world_put_cluster(world, "'replicas': 2");
    operator_world_run(world, steps);
    operator_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ready_comes_after_the_roll),
    };
    return cmocka_run_group_tests_name("roll_ready", tests, NULL, NULL);
}
