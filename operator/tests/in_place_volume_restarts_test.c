/* SPDX-License-Identifier: Apache-2.0 */
/* As in_place_restarts_test, of a backup on a volume: there are as many acts again, so it is a test of its own, which
 * runs beside the other. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "operator/tests/in_place_story.h"

static void test_operator_dies_while_it_waits_for_a_volume(void **state)
{
    UNUSED(state);
    static const struct role_story story = {.more = IN_PLACE_THREE, .steps = in_place_volume_steps, .begin = 1};
    role_story_dies_at_every_step(&story, 15);
}

int main(void)
{
    cmocka_set_test_filter(getenv("TEST_CASE"));
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_operator_dies_while_it_waits_for_a_volume)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
