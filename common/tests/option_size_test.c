/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/option_size.h"

#include <setjmp.h>
#include <cmocka.h>

static void sizes_are_read_as_servers_read_them(void **state)
{
    static const struct {
        const char *text;
        size_t len;
        uint64_t bytes;
    } cases[] = {
        {"0", 1, 0},
        {"1024", 4, 1024},
        {"100M", 4, 100ULL << 20},
        {"8k", 2, 8192},
        {"3T", 2, 3ULL << 40},
        {"1E", 2, 1ULL << 60},
        {"15E", 3, 15ULL << 60},
        {"16E", 3, UINT64_MAX},
        {"18446744073709551615", 20, UINT64_MAX},
        {"99999999999999999999", 20, UINT64_MAX},
        {"99999999999999999999K", 21, UINT64_MAX},
        {"12M:autoextend", 3, 12ULL << 20},
        {"12MB", 3, 12ULL << 20},
        {"12Z", 2, 12},
        {"", 0, 0},
        {"M", 0, 0},
        {"-1", 0, 0},
        {" 1", 0, 0},
        {"ON", 0, 0},
    };
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint64_t bytes = 7;
        size_t len = option_size_read(cases[i].text, &bytes);
        if (len != cases[i].len || bytes != cases[i].bytes)
            fail_msg("%s: %llu in %zu characters", cases[i].text, (unsigned long long)bytes, len);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sizes_are_read_as_servers_read_them)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
