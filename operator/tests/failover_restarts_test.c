/* SPDX-License-Identifier: Apache-2.0 */
/* An operator that dies after every single write and order of a failover: the next one ends it as if nothing had been
 * (I10). */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/json.h"
#include "operator/tests/role_story.h"

static bool crash_0(struct operator_world *world)
{
    agent_double_crash(world_agent(world, 0));
    return true;
}

static bool recover_0(struct operator_world *world)
{
    agent_double_recover(world_agent(world, 0));
    return true;
}

/* Each change once, whenever an operator ended. */
static bool history_is(struct operator_world *world, const char *latest, const char *first)
{
    const json_t *history = json_path(kube_api_double_get(world->api, PATH_CLUSTER), "status.history");
    return json_array_size(history) == 2 && str_eq(json_path_str(json_array_get(history, 0), "kind", ""), latest) &&
        str_eq(json_path_str(json_array_get(history, 0), "to", ""), "shop-mysql-1") &&
        str_eq(json_path_str(json_array_get(history, 1), "kind", ""), first);
}

/* The conditions are those of before for the first seconds of a failover. */
static bool healed(struct operator_world *world)
{
    return world_is_settled(world) && str_eq(role_story_status(world, "state"), "Healthy") &&
        str_eq(role_story_status(world, "lastFailover.to"), "shop-mysql-1") && world_agent(world, 0)->following == 1;
}

/* Both at once: an operator that has just begun may say Degraded until it has heard of every member, and is quiet
 * before that. */
static bool healed_and_quiet(struct operator_world *world)
{
    return role_story_quiet(world) && healed(world) && history_is(world, "Failover", "Election");
}

static void an_operator_may_die_at_any_step_of_a_failover(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {role_story_settled, role_story_quiet, crash_0, role_story_primary_is_1,
        recover_0, healed, healed_and_quiet, NULL};
    role_story_dies_at_every_step(&(struct role_story){"'replicas': 2", steps, 2}, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_operator_may_die_at_any_step_of_a_failover)};
    cmocka_set_test_filter(getenv("TEST_CASE"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
