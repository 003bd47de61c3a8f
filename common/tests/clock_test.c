/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/clock.h"

#include <setjmp.h>
#include <cmocka.h>

static void test_format(void **state)
{
    UNUSED(state);
    static const struct {
        int64_t us;
        const char *seconds;
        const char *micro;
    } cases[] = {
        {0, "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000Z"},
        {1767323045000006, "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000006Z"},
        {951782399999999, "2000-02-28T23:59:59Z", "2000-02-28T23:59:59.999999Z"},
        {951868799000000, "2000-02-29T23:59:59Z", "2000-02-29T23:59:59.000000Z"},
        {-1, "1969-12-31T23:59:59Z", "1969-12-31T23:59:59.999999Z"},
        {INT64_MAX, "9999-12-31T23:59:59Z", NULL},
        {INT64_MIN, "0000-01-01T00:00:00Z", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char seconds[CLOCK_RFC3339_SIZE], micro[CLOCK_RFC3339_MICRO_SIZE];
        int64_t us = cases[i].us;
        clock_format_rfc3339(cases[i].micro ? us / 1000 - (us % 1000 < 0) : us, seconds);
        assert_string_equal(seconds, cases[i].seconds);
        clock_format_rfc3339_micro(us, micro);
        if (cases[i].micro)
            assert_string_equal(micro, cases[i].micro);
        assert_int_equal(strlen(micro), CLOCK_RFC3339_MICRO_SIZE - 1);
    }
}

static void test_parse(void **state)
{
    UNUSED(state);
    static const struct {
        const char *text;
        int64_t ms;
    } cases[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"2026-01-02T03:04:05Z", 1767323045000},
        {"2026-01-02t03:04:05.9z", 1767323045900},
        {"2026-01-02T03:04:05.000006Z", 1767323045000},
        {"2026-01-02T03:04:05.123456789123Z", 1767323045123},
        {"2026-01-02T05:34:05+02:30", 1767323045000},
        {"2026-01-01T23:04:05.5-04:00", 1767323045500},
        {"2000-02-29T00:00:00Z", 951782400000},
        {"2016-12-31T23:59:60Z", 1483228800000},
        {"0000-01-01T00:00:00Z", -62167219200000},
        {"9999-12-31T23:59:59.999Z", 253402300799999},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t ms = 1;
        assert_int_equal(clock_parse_rfc3339(cases[i].text, &ms), 0);
        assert_true(ms == cases[i].ms);
    }
}

static void test_parse_refuses(void **state)
{
    UNUSED(state);
    static const char *const bad[] = {NULL, "", "2026", "2026-01-02", "2026-01-02T03:04:05", "2026-01-02T03:04Z",
        "2026-13-02T03:04:05Z", "2026-00-02T03:04:05Z", "2026-02-29T03:04:05Z", "1900-02-29T00:00:00Z",
        "2026-01-32T03:04:05Z", "2026-01-02T24:04:05Z", "2026-01-02T03:60:05Z", "2026-01-02T03:04:61Z",
        "2026-01-02T03:04:05.Z", "2026-01-02T03:04:05Zx", "2026-01-02T03:04:05+0230", "2026-01-02T03:04:05+24:00",
        "2026-01-02T03:04:05+02:60", " 2026-01-02T03:04:05Z", "+026-01-02T03:04:05Z", "2026-1-02T03:04:05Z"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        int64_t ms = 77;
        assert_int_equal(clock_parse_rfc3339(bad[i], &ms), -1);
        assert_int_equal(ms, 77);
    }
}

static void test_round_trip(void **state)
{
    UNUSED(state);
    for (int64_t day = -719000; day < 2900000; day += 97) {
        int64_t ms = day * 86400000 + 12345 * 1000, back;
        char text[CLOCK_RFC3339_SIZE];
        clock_format_rfc3339(ms, text);
        assert_int_equal(clock_parse_rfc3339(text, &back), 0);
        assert_true(back == ms);
    }
}

static void test_clocks_agree(void **state)
{
    UNUSED(state);
    int64_t us = clock_monotonic_us(), ms = clock_monotonic_ms();
    assert_true(us > 0 && ms >= us / 1000);
    int64_t real_us = clock_realtime_us(), real_ms = clock_realtime_ms();
    assert_true(real_ms >= real_us / 1000 && real_ms > 1700000000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_format),
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_parse_refuses),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_clocks_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
