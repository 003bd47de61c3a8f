/* SPDX-License-Identifier: Apache-2.0 */
/* A rate is kept, by a clock that the test turns. */
#include "common/base.h"

#include "agent/backup/pace.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/backoff.h"

#define SECOND_US 1000000LL

/* Bytes sent until then, by somebody who always has a part and comes up to late_us after the time that was named. */
static uint64_t send_until(
    struct pace *pace, uint64_t rate, size_t part, int64_t from_us, int64_t end_us, int64_t late_us)
{
    uint64_t sent = 0, random = 7;
    for (int64_t now_us = from_us; now_us < end_us;) {
        int64_t wait_us = pace_take(pace, rate, part, now_us);
        if (wait_us == 0)
            sent += part;
        else
            now_us += wait_us + (late_us > 0 ? (int64_t)(random_next(&random) % (uint64_t)late_us) : 0);
    }
    return sent;
}

static void test_rates(void **state)
{
    UNUSED(state);
    static const struct {
        uint64_t rate;
        size_t part;
        int64_t seconds, late_us;
    } cases[] = {
        {65536, 4096, 5, 0},
        {65536, 4096, 5, 50000},
        {50 * KM_MIB, 8 * KM_MIB, 5, 0},
        {50 * KM_MIB, 8 * KM_MIB, 5, 100000},
        {1000 * KM_MIB, 8 * KM_MIB, 5, 20000},
        {65536, 8 * KM_MIB, 3600, 100000}, /* parts of two minutes */
        {100, 7, 100, 1000},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct pace pace = {0};
        uint64_t sent =
            send_until(&pace, cases[i].rate, cases[i].part, 99, cases[i].seconds * SECOND_US + 99, cases[i].late_us);
        uint64_t wanted = cases[i].rate * (uint64_t)cases[i].seconds;
        /* The first part goes at once. */
        if (sent < wanted - wanted / 5 || sent > wanted + wanted / 20 + cases[i].part)
            fail_msg("case %zu: %llu bytes, wanted about %llu", i, (unsigned long long)sent, (unsigned long long)wanted);
    }
}

/* A tool that was silent for an hour does not get the hour back. */
static void test_no_burst(void **state)
{
    UNUSED(state);
    struct pace pace = {0};
    assert_int_equal(pace_take(&pace, 1000, 100, SECOND_US), 0);
    uint64_t sent = send_until(&pace, 1000, 100, 3600 * SECOND_US, 3601 * SECOND_US, 0);
    assert_in_range(sent, 1000, 1400);
}

static void test_no_limit(void **state)
{
    UNUSED(state);
    struct pace pace = {0};
    for (int i = 0; i < 10; i++)
        assert_int_equal(pace_take(&pace, 0, 8 * KM_MIB, 5), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rates),
        cmocka_unit_test(test_no_burst),
        cmocka_unit_test(test_no_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
