/* SPDX-License-Identifier: Apache-2.0 */
/* An operator that dies after every single write and order of a switchover and of a clone: the next one ends it as if
 * nothing had been (I10). */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "operator/tests/role_story.h"

static void an_operator_may_die_at_any_step_of_a_switchover(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {role_story_settled, role_story_want_primary_1, role_story_primary_is_1,
        role_story_settled, role_story_quiet, NULL};
    role_story_dies_at_every_step(&(struct role_story){"'replicas': 2", steps, 1}, 6);
}

static void an_operator_may_die_at_any_step_of_a_clone(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        role_story_settled, role_story_grow_to_2, role_story_settled, role_story_quiet, NULL};
    role_story_dies_at_every_step(&(struct role_story){"'replicas': 1", steps, 1}, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_operator_may_die_at_any_step_of_a_switchover),
        cmocka_unit_test(an_operator_may_die_at_any_step_of_a_clone),
    };
    cmocka_set_test_filter(getenv("TEST_CASE"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
