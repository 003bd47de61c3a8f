/* SPDX-License-Identifier: Apache-2.0 */
/* An operator that dies after every single write and order while a cluster shrinks whose primary would go (I10). */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "operator/tests/role_story.h"

static bool shrunk(struct operator_world *world)
{
    bool shrinks = world_int(world, PATH_STATEFUL_SET, "spec.replicas") == 1;
    if (shrinks && world_agent(world, 1)->mark != AGENT_MARK_LEFT && !*world->failure)
        snprintf(world->failure, sizeof(world->failure), "the set shrinks before the volume is marked");
    return world_is_settled(world) && !*world_pod_str(world, 1, "metadata.name") &&
        *role_story_status(world, "retainedVolumes[0]");
}

static void an_operator_may_die_at_any_step_of_scale_in(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {role_story_settled, role_story_want_primary_1, role_story_primary_is_1,
        role_story_settled, role_story_shrink_to_1, shrunk, role_story_quiet, NULL};
    role_story_dies_at_every_step(&(struct role_story){"'replicas': 2", steps, 4}, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_operator_may_die_at_any_step_of_scale_in)};
    cmocka_set_test_filter(getenv("TEST_CASE"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
