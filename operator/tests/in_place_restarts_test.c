/* SPDX-License-Identifier: Apache-2.0 */
/* An operator that dies after every single write and order of a restore in place: the next one ends it as if nothing
 * had been (I10). */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "operator/tests/in_place_story.h"

static void test_operator_dies_at_every_step(void **state)
{
    UNUSED(state);
    static const struct role_story story = {.more = IN_PLACE_THREE, .steps = in_place_steps, .begin = 1};
    role_story_dies_at_every_step(&story, 15);
}

static void test_operator_dies_while_it_fails(void **state)
{
    UNUSED(state);
    static const struct role_story story = {.more = IN_PLACE_THREE, .steps = in_place_damaged_steps, .begin = 1};
    role_story_dies_at_every_step(&story, 8);
}

int main(void)
{
    cmocka_set_test_filter(getenv("TEST_CASE"));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operator_dies_at_every_step),
        cmocka_unit_test(test_operator_dies_while_it_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
