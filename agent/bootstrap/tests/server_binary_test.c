/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/server_binary.h"

#include <setjmp.h>
#include <cmocka.h>

/* The operator keeps 256 bytes of a container's termination message, behind a prefix of its own. */
#define KEPT 200

static void test_what_matters_is_not_cut_off(void **state)
{
    UNUSED(state);
    const char *question = strstr(server_binary_missing, "is images.mysql a database image?");
    const char *places = strstr(server_binary_missing, "Searched: PATH:");

    assert_non_null(question);
    assert_non_null(places);
    assert_true(places > question);
    assert_true(places - server_binary_missing < KEPT);
    assert_true(strlen(server_binary_missing) < ERROR_MESSAGE_MAX - KEPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_matters_is_not_cut_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
