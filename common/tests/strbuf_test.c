/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/strbuf.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"

static void test_empty(void **state)
{
    UNUSED(state);
    struct strbuf sb;
    strbuf_init(&sb, 10);
    assert_string_equal(sb.buf, "");
    strbuf_reset(&sb);
    strbuf_truncate(&sb, 5);
    strbuf_consume(&sb, 3);
    strbuf_add(&sb, "x", 0);
    strbuf_addf(&sb, "%s", "");
    assert_string_equal(sb.buf, "");
    assert_int_equal(sb.len, 0);
    strbuf_release(&sb);
    strbuf_release(&sb);
    strbuf_release(NULL);
    size_t len = 7;
    char *text = strbuf_detach(&sb, &len);
    assert_string_equal(text, "");
    assert_int_equal(len, 0);
    free(text);
}

static void test_the_maximum_drops_additions_whole(void **state)
{
    UNUSED(state);
    struct strbuf sb;
    strbuf_init(&sb, 5);
    strbuf_adds(&sb, "abc");
    strbuf_adds(&sb, "def");
    assert_string_equal(sb.buf, "abc");
    assert_true(sb.overflowed);
    strbuf_addf(&sb, "%d", 123);
    assert_string_equal(sb.buf, "abc");
    strbuf_addf(&sb, "%d", 12);
    assert_string_equal(sb.buf, "abc12");
    assert_true(sb.overflowed);
    strbuf_addc(&sb, 'x');
    assert_int_equal(sb.len, 5);
    strbuf_reset(&sb);
    assert_false(sb.overflowed);
    strbuf_add_json_string(&sb, "a\n");
    assert_string_equal(sb.buf, "\"a\\n\"");
    assert_false(sb.overflowed);
    strbuf_reset(&sb);
    strbuf_add_json_string(&sb, "ab\n");
    assert_string_equal(sb.buf, "");
    assert_true(sb.overflowed);
    strbuf_reset(&sb);
    strbuf_adds(&sb, "x");
    strbuf_add_urlencoded(&sb, "a b");
    assert_string_equal(sb.buf, "x");
    assert_true(sb.overflowed);
    strbuf_add_urlencoded(&sb, " b");
    assert_string_equal(sb.buf, "x%20b");
    assert_true(sb.overflowed);
    strbuf_release(&sb);
    strbuf_init(&sb, 0);
    strbuf_addc(&sb, 'x');
    assert_int_equal(sb.len, 0);
    assert_true(sb.overflowed);
    strbuf_release(&sb);
}

static void test_growth(void **state)
{
    UNUSED(state);
    struct strbuf sb;
    strbuf_init(&sb, SIZE_MAX);
    for (int i = 0; i < 10000; i++)
        strbuf_addf(&sb, "%04d,", i);
    assert_int_equal(sb.len, 50000);
    assert_memory_equal(sb.buf + 49990, "9998,9999,", 11);
    strbuf_consume(&sb, 49995);
    assert_string_equal(sb.buf, "9999,");
    strbuf_truncate(&sb, 4);
    assert_string_equal(sb.buf, "9999");
    strbuf_add(&sb, "\0z", 2);
    assert_int_equal(sb.len, 6);
    size_t len;
    char *text = strbuf_detach(&sb, &len);
    assert_memory_equal(text, "9999\0z", 7);
    assert_int_equal(len, 6);
    assert_string_equal(sb.buf, "");
    free(text);
    strbuf_adds(&sb, "again");
    assert_string_equal(sb.buf, "again");
    strbuf_release_secret(&sb);
    assert_int_equal(sb.len, 0);
}

static void test_json_strings(void **state)
{
    UNUSED(state);
    static const struct {
        const char *text;
        const char *quoted;
    } cases[] = {
        {"", "\"\""}, {"plain", "\"plain\""},
        {"a\"b\\c\b\f\n\r\t\x01\x1f\x7f/", "\"a\\\"b\\\\c\\b\\f\\n\\r\\t\\u0001\\u001f\x7f/\""},
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""},
        {"\xff", "\"\xef\xbf\xbd\""}, {"a\xc3", "\"a\xef\xbf\xbd\""}, {"\xe2\x82", "\"\xef\xbf\xbd\xef\xbf\xbd\""},
        {"\xc0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\""},                                   /* overlong */
        {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},                   /* surrogate */
        {"\xf4\x90\x80\x80z", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz\""}, /* beyond U+10FFFF */
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct strbuf sb;
        strbuf_init(&sb, 1000);
        char *copy = xstrdup(cases[i].text);
        strbuf_add_json_string(&sb, copy);
        assert_string_equal(sb.buf, cases[i].quoted);
        free(copy);
        strbuf_release(&sb);
    }
}

static void test_urlencoding(void **state)
{
    UNUSED(state);
    struct strbuf sb;
    strbuf_init(&sb, 1000);
    strbuf_add_urlencoded(&sb, "aZ09-._~ /?&=+%,!\xc3\xa9");
    assert_string_equal(sb.buf, "aZ09-._~%20%2F%3F%26%3D%2B%25%2C%21%C3%A9");
    strbuf_release(&sb);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_the_maximum_drops_additions_whole),
        cmocka_unit_test(test_growth),
        cmocka_unit_test(test_json_strings),
        cmocka_unit_test(test_urlencoding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
