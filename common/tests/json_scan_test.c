/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/json_scan.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"

static struct json_slice slice(const char *text)
{
    return (struct json_slice){.data = text, .len = strlen(text)};
}

static void assert_slice(struct json_slice got, const char *expected)
{
    if (!expected) {
        assert_null(got.data);
        return;
    }
    assert_non_null(got.data);
    assert_int_equal(got.len, strlen(expected));
    assert_memory_equal(got.data, expected, got.len);
}

static void test_skip_value(void **state)
{
    UNUSED(state);
    static const struct {
        const char *text;
        int end; /* -1: incomplete or none */
    } cases[] = {
        {"1", 1},
        {" 12,", 3},
        {"true]", 4},
        {"\"a\" ", 3},
        {"\"a\\\"b\"x", 6},
        {"\"\\\\\"", 4},
        {"\"", -1},
        {"\"\\\"", -1},
        {"", -1},
        {"  ", -1},
        {"{}", 2},
        {"{", -1},
        {"[{]", -1},
        {"[[],{\"]\":\"}\"}] ", 14},
        {",", -1},
        {"}", -1},
        {"nul", 3},
        {"{\"a\":\"\\\\\\\"}\"}", 13},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t len = strlen(cases[i].text);
        char *copy = xmemdup(cases[i].text, len);
        const char *end = json_skip_value(copy, copy + len);
        assert_int_equal(end ? end - copy : -1, cases[i].end);
        free(copy);
    }
}

/* A container of each length around the block size, with a string of brackets and an escaped quote at each offset. */
static void test_skip_value_at_block_borders(void **state)
{
    UNUSED(state);
    for (size_t before = 0; before < 140; before++) {
        for (size_t slashes = 0; slashes < 6; slashes++) {
            struct strbuf text;
            strbuf_init(&text, 4096);
            strbuf_adds(&text, "[\"");
            for (size_t i = 0; i < before; i++)
                strbuf_addc(&text, 'x');
            for (size_t i = 0; i < slashes; i++)
                strbuf_adds(&text, "\\\\");
            strbuf_adds(&text, "\\\"]}\",{\"k\":[]}]");
            size_t len = text.len;
            strbuf_adds(&text, ",]}\"");
            const char *end = json_skip_value(text.buf, text.buf + text.len);
            assert_non_null(end);
            assert_int_equal(end - text.buf, len);
            assert_null(json_skip_value(text.buf, text.buf + len - 1));
            strbuf_release(&text);
        }
    }
}

static void test_members(void **state)
{
    UNUSED(state);
    const char *doc = " { \"a\" : 1 , \"b\":{\"c\":\"x\",\"d\":[1, 2 ,{}]},\"e\\n\":2,\"\":null} ";
    assert_slice(json_slice_member(slice(doc), "a"), "1");
    assert_slice(json_slice_member(slice(doc), ""), "null");
    assert_slice(json_slice_member(slice(doc), "e\n"), NULL);
    assert_slice(json_slice_member(slice(doc), "zz"), NULL);
    assert_slice(json_slice_get(slice(doc), "b", "c", NULL), "\"x\"");
    assert_slice(json_slice_get(slice(doc), "b", "d", NULL), "[1, 2 ,{}]");
    assert_slice(json_slice_get(slice(doc), "b", "nope", "c", NULL), NULL);
    assert_slice(json_slice_get(slice(doc), "a", "c", NULL), NULL);
    assert_slice(json_slice_get((struct json_slice){.data = NULL}, "a", NULL), NULL);
    assert_slice(json_slice_member((struct json_slice){.data = NULL}, "a"), NULL);
    static const char *const broken[] = {
        "", "[]", "1", "{", "{\"x\"", "{\"x\":", "{\"x\":[", "{x:1}", "{\"a\" 1}", "{,\"x\":1}"};
    for (size_t i = 0; i < ARRAY_LEN(broken); i++)
        assert_slice(json_slice_member(slice(broken[i]), "x"), NULL);
}

static void test_elements(void **state)
{
    UNUSED(state);
    static const char *const expected[] = {"1", "[2,3]", "\"a,b\"", "{\"x\":[]}"};
    const char *cursor = NULL;
    struct json_slice value;
    for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
        static const char text[] = "[ 1 ,[2,3],\"a,b\" , {\"x\":[]} ]";
        assert_true(json_slice_next_element(slice(text), &cursor, &value));
        assert_slice(value, expected[i]);
        if (i + 1 == ARRAY_LEN(expected))
            assert_false(json_slice_next_element(slice(text), &cursor, &value));
    }
    static const char *const none[] = {"[]", "[ ]", "{}", "", "[,1]", "["};
    for (size_t i = 0; i < ARRAY_LEN(none); i++) {
        cursor = NULL;
        assert_false(json_slice_next_element(slice(none[i]), &cursor, &value));
    }
}

static void test_strings(void **state)
{
    UNUSED(state);
    static const struct {
        const char *text;
        const char *expected; /* NULL: refused */
    } cases[] = {
        {"\"\"", ""},
        {"\"plain\"", "plain"},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
        {"\"\\u0041\\u00e9\\u20AC\\ud83d\\ude00.\"", "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80."},
        {"\"\\ud83dx\"", "\xef\xbf\xbdx"},
        {"\"\\ud83d\\u0041\"",
            "\xef\xbf\xbd"
            "A"},
        {"\"\\ude00\"", "\xef\xbf\xbd"},
        {"\"\\q\"", NULL},
        {"\"\\u12\"", NULL},
        {"\"\\uzzzz\"", NULL},
        {"\"a\\\"", NULL},
        {"\"", NULL},
        {"12", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *copy = xmemdup(cases[i].text, strlen(cases[i].text));
        struct json_slice value = {.data = copy, .len = strlen(cases[i].text)};
        char *text = json_slice_strdup(value);
        if (cases[i].expected)
            assert_string_equal(text, cases[i].expected);
        else
            assert_null(text);
        if (cases[i].expected)
            assert_true(json_slice_str_eq(value, cases[i].expected));
        assert_false(json_slice_str_eq(value, "something else"));
        free(text);
        free(copy);
    }
    struct strbuf small;
    strbuf_init(&small, 5);
    strbuf_adds(&small, "ab");
    assert_int_equal(json_slice_string(slice("\"\\u0041\\u0042\\u0043\\u0044\""), &small), 0);
    assert_string_equal(small.buf, "ab");
    assert_true(small.overflowed);
    strbuf_release(&small);
}

static void test_scalars(void **state)
{
    UNUSED(state);
    static const struct {
        const char *text;
        int64_t expected;
    } cases[] = {{"0", 0}, {"-7", -7}, {"9223372036854775807", INT64_MAX}, {"-9223372036854775808", INT64_MIN},
        {"9223372036854775808", 99}, {"1.5", 99}, {"1e3", 99}, {"-", 99}, {"", 99}, {"\"1\"", 99}, {"null", 99}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(json_slice_int(slice(cases[i].text), 99), cases[i].expected);
    assert_int_equal(json_slice_int((struct json_slice){.data = NULL}, 5), 5);
    assert_true(json_slice_is_true(slice("true")));
    assert_false(json_slice_is_true(slice("truex")));
    assert_false(json_slice_is_true(slice("false")));
    assert_false(json_slice_is_true((struct json_slice){.data = NULL}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_skip_value),
        cmocka_unit_test(test_skip_value_at_block_borders),
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_elements),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_scalars),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
