/* SPDX-License-Identifier: Apache-2.0 */
/* A primary is lost in the midst of something else. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "operator/api/names.h"
#include "operator/tests/failover_story.h"

/* ---- in the midst of something else ---- */

static bool grow(struct operator_world *world)
{
    world_agent(world, 3)->clone_ms = 300;
    role_story_edit_spec(world, "{'replicas': 4}");
    return true;
}

static bool crash_0_in_mid_clone(struct operator_world *world)
{
    const struct agent_double *receiver = world_agent(world, 3);
    return receiver->is_up && receiver->status.seed.step == AGENT_SEED_STEP_COPYING && failover_crash_0(world);
}

static void a_failover_during_a_clone(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {FAILOVER_UNTIL_SETTLED, grow, crash_0_in_mid_clone,
        failover_another_is_primary, failover_writes_go_on, failover_recover_0, FAILOVER_UNTIL_SETTLED, NULL};
    failover_play(FAILOVER_THREE, steps, NULL);
}

static bool crash_0_in_mid_switchover(struct operator_world *world)
{
    return str_eq(role_story_status(world, "transition.to"), "shop-mysql-1") && failover_crash_0(world);
}

static void a_failover_during_a_switchover(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {FAILOVER_UNTIL_SETTLED, role_story_want_primary_1, crash_0_in_mid_switchover,
        failover_another_is_primary, failover_writes_go_on, failover_recover_0, FAILOVER_UNTIL_SETTLED, NULL};
    failover_play(FAILOVER_THREE, steps, NULL);
}

static bool shrink(struct operator_world *world)
{
    role_story_edit_spec(world, "{'replicas': 2}");
    return true;
}

static bool primary_is_1(struct operator_world *world)
{
    return failover_primary_is(world, 1);
}

static void a_failover_during_scale_in(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {FAILOVER_UNTIL_SETTLED, shrink, failover_crash_0, primary_is_1,
        failover_recover_0, failover_writes_go_on, FAILOVER_UNTIL_SETTLED, NULL};
    failover_play(FAILOVER_THREE, steps, NULL);
}

static bool roll(struct operator_world *world)
{
    world->numbers[1] = world_agent(world, 2)->lives;
    role_story_edit_spec(world, "{'podTemplate': {'metadata': {'annotations': {'a': 'b'}}}}");
    return true;
}

static bool crash_0_in_mid_roll(struct operator_world *world)
{
    return world_agent(world, 2)->lives != world->numbers[1] && failover_crash_0(world);
}

static void a_failover_during_a_roll(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {FAILOVER_UNTIL_SETTLED, roll, world_check_passes, crash_0_in_mid_roll,
        failover_recover_0, failover_writes_go_on, FAILOVER_UNTIL_SETTLED, NULL};
    failover_play(FAILOVER_THREE, steps, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failover_during_a_clone),
        cmocka_unit_test(a_failover_during_a_switchover),
        cmocka_unit_test(a_failover_during_scale_in),
        cmocka_unit_test(a_failover_during_a_roll),
    };
    cmocka_set_test_filter(getenv("TEST_CASE"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
