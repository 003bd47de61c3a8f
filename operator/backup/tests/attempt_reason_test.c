/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/backup/attempt_reason.h"

#include <setjmp.h>
#include <cmocka.h>

static void each_is_read_back(void **state)
{
    UNUSED(state);
    for (int reason = ATTEMPT_OTHER; reason < ATTEMPT_REASON_COUNT; reason++)
        assert_int_equal(attempt_reason_of(attempt_reason_name((enum attempt_reason)reason)), reason);
    assert_int_equal(attempt_reason_of("ToolFailed"), ATTEMPT_OTHER);
    assert_int_equal(attempt_reason_of(NULL), ATTEMPT_OTHER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_is_read_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
