/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/buffer_pool.h"

#include <setjmp.h>
#include <cmocka.h>

static void test_parts_of_the_limit(void **unused)
{
    UNUSED(unused);
    assert_int_equal(buffer_pool_bytes(0), 0);
    assert_int_equal(buffer_pool_bytes(32 * KM_MIB), 0);
    assert_int_equal(buffer_pool_bytes(256 * KM_MIB), 64 * KM_MIB);
    assert_int_equal(buffer_pool_bytes(512 * KM_MIB), 256 * KM_MIB);
    assert_int_equal(buffer_pool_bytes(6144 * KM_MIB), 4096 * KM_MIB);
    for (int64_t mib = 64; mib < 100000; mib += 37)
        assert_true(buffer_pool_bytes(mib * KM_MIB) <= mib * KM_MIB / 3 * 2 && buffer_pool_bytes(mib * KM_MIB) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_of_the_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
