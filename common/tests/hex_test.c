/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/hex.h"

#include <setjmp.h>
#include <cmocka.h>

static void test_there_and_back(void **state)
{
    const unsigned char bytes[] = {0x00, 0x09, 0xaf, 0xf0, 0xff};
    unsigned char back[sizeof(bytes)] = {1, 2, 3, 4, 5};
    char text[2 * sizeof(bytes) + 1];
    UNUSED(state);
    hex_print(bytes, sizeof(bytes), text);
    assert_string_equal(text, "0009aff0ff");
    assert_true(hex_parse(text, back, sizeof(back)));
    assert_memory_equal(back, bytes, sizeof(bytes));
    hex_print(bytes, 0, text);
    assert_string_equal(text, "");
}

static void test_what_is_no_hex(void **state)
{
    static const char *const texts[] = {NULL, "", "0", "000", "00000", "000g", "00G0", "00AF", "0x00", "00 0", "-000"};
    unsigned char out[2];
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_false(hex_parse(texts[i], out, sizeof(out)));
    assert_true(hex_parse("00af", out, sizeof(out)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_what_is_no_hex),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
