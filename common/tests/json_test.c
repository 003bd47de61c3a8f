/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/json.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/hashmap.h"

static json_t *parse(const char *text)
{
    struct error err = ERROR_INIT;
    json_t *doc = json_parse(text, strlen(text), &err);
    assert_string_equal(err.message, "");
    assert_non_null(doc);
    return doc;
}

static void assert_canonical(const json_t *value, const char *expected)
{
    struct strbuf out;
    strbuf_init(&out, 1 << 16);
    json_canonical(value, &out);
    assert_string_equal(out.buf, expected);
    strbuf_release(&out);
}

static void test_parse_errors_do_not_quote(void **state)
{
    UNUSED(state);
    static const char *const bad[] = {"", "{", "{\"secret\":}", "secret", "{\"a\":1} secret",
        "{\"secret\":1,\"secret\":2}", "[1,]", "{\"k\":\"secret\xff\"}", "[99999999999999999999]",
        "{\"secret\\u0000\":1}"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct error err = ERROR_INIT;
        assert_null(json_parse(bad[i], strlen(bad[i]), &err));
        assert_int_equal(err.kind, ERROR_PROTOCOL);
        assert_null(strstr(err.message, "secret"));
        assert_non_null(strstr(err.message, "line 1"));
    }
}

static void test_depth_limit(void **state)
{
    UNUSED(state);
    for (int depth = JSON_DEPTH_MAX; depth <= JSON_DEPTH_MAX + 1; depth++) {
        struct strbuf text;
        strbuf_init(&text, 4096);
        strbuf_adds(&text, "[\"[[[\\\"[[[\",");
        for (int i = 1; i < depth; i++)
            strbuf_addc(&text, '[');
        for (int i = 0; i < depth; i++)
            strbuf_addc(&text, ']');
        json_t *doc = json_parse(text.buf, text.len, NULL);
        assert_int_equal(doc != NULL, depth == JSON_DEPTH_MAX);
        json_decref(doc);
        strbuf_release(&text);
    }
}

static void test_nul_in_a_value_is_no_obstacle(void **state)
{
    UNUSED(state);
    static const char raw[] = "{\"a\":null\0}";
    assert_null(json_parse(raw, sizeof(raw) - 1, NULL));
    json_t *doc = parse("{\"a\":\"x\\u0000y\",\"b\":1}");
    assert_string_equal(json_path_str(doc, "a", NULL), "x");
    assert_int_equal(json_path_int(doc, "b", 0), 1);
    assert_canonical(doc, "{\"a\":\"x\\u0000y\",\"b\":1}");
    json_decref(doc);
}

static const char document[] =
    "{\"spec\":{\"list\":[{\"name\":\"n0\"},{\"name\":\"n1\",\"deep\":[[1,2],[3]]}],\"n\":7,\"t\":true,"
    "\"f\":false,\"nil\":null,\"s\":\"text\",\"r\":1.5},\"metadata\":{\"annotations\":{\"a.b/c\":"
    "\"v\",\"x[0]\":\"w\"}}}";

static void test_paths(void **state)
{
    UNUSED(state);
    static const struct {
        const char *path;
        const char *expected; /* canonical text; NULL: absent */
    } cases[] = {
        {"spec.n", "7"},
        {"spec.list[0].name", "\"n0\""},
        {"spec.list[1].deep[0][1]", "2"},
        {"spec.list[2]", NULL},
        {"spec.list[99999999999999999999]", NULL},
        {"metadata.annotations[\"a.b/c\"]", "\"v\""},
        {"metadata[\"annotations\"][\"x[0]\"]", "\"w\""},
        {"[\"spec\"].s", "\"text\""},
        {"spec.nil", "null"},
        {"spec.nil.more", NULL},
        {"spec.s.more", NULL},
        {"spec.list.name", NULL},
        {"spec[0]", NULL},
        {"nope.n", NULL},
        /* malformed */
        {"spec.", NULL},
        {"spec..n", NULL},
        {".spec", NULL},
        {"spec.list[", NULL},
        {"spec.list[]", NULL},
        {"spec.list[-1]", NULL},
        {"spec.list[0", NULL},
        {"spec.list[0]name", NULL},
        {"spec[\"n", NULL},
    };
    json_t *doc = parse(document);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const json_t *got = json_path(doc, cases[i].path);
        if (cases[i].expected)
            assert_canonical(got, cases[i].expected);
        else
            assert_null(got);
    }
    assert_ptr_equal(json_path(doc, ""), doc);
    assert_null(json_path(NULL, "a"));
    json_decref(doc);
}

static void test_lenient_getters(void **state)
{
    UNUSED(state);
    json_t *doc = parse(document);
    assert_string_equal(json_path_str(doc, "spec.s", "x"), "text");
    assert_string_equal(json_path_str(doc, "spec.n", "x"), "x");
    assert_null(json_path_str(doc, "spec.nil", NULL));
    assert_int_equal(json_path_int(doc, "spec.n", 1), 7);
    assert_int_equal(json_path_int(doc, "spec.r", 1), 1);
    assert_int_equal(json_path_int(doc, "spec.t", 1), 1);
    assert_true(json_path_bool(doc, "spec.t", false));
    assert_false(json_path_bool(doc, "spec.f", true));
    assert_true(json_path_bool(doc, "spec.s", true));
    json_decref(doc);
}

static void test_strict_getters(void **state)
{
    UNUSED(state);
    json_t *doc = parse(document);
    struct error err = ERROR_INIT;
    const char *s = "before";
    int64_t n = -5;
    bool b = false;
    const json_t *value = NULL;
    assert_int_equal(json_want_str(doc, "spec.nil", &s, &err) | json_want_str(doc, "a.b.c", &s, &err), 0);
    assert_string_equal(s, "before");
    assert_int_equal(json_want_str(doc, "spec.s", &s, &err), 0);
    assert_string_equal(s, "text");
    assert_int_equal(json_want_int(doc, "spec.n", 0, 7, &n, &err), 0);
    assert_int_equal(n, 7);
    assert_int_equal(json_want_bool(doc, "spec.t", &b, &err), 0);
    assert_true(b);
    assert_int_equal(json_want_bool(doc, "spec.f", &b, &err), 0);
    assert_false(b);
    assert_int_equal(json_want_object(doc, "spec", &value, &err) | json_want_array(doc, "spec.list", &value, &err), 0);
    assert_int_equal(json_array_size(value), 2);

    assert_int_equal(json_want_str(doc, "spec.n", &s, &err), -1);
    assert_string_equal(err.message, "spec.n: must be a string");
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_int_equal(json_want_int(doc, "spec.n", 8, 9, &n, &err), -1);
    assert_string_equal(err.message, "spec.n: must be from 8 to 9, not 7");
    assert_int_equal(json_want_int(doc, "spec.r", 0, 9, &n, &err), -1);
    assert_string_equal(err.message, "spec.r: must be a whole number");
    assert_int_equal(json_want_bool(doc, "spec.n", &b, &err), -1);
    assert_int_equal(json_want_object(doc, "spec.list", &value, &err), -1);
    assert_int_equal(json_want_array(doc, "spec", &value, &err), -1);
    assert_int_equal(json_want_str(doc, "spec.s.more", &s, &err), -1);
    assert_string_equal(err.message, "spec.s: must be an object");
    assert_int_equal(json_want_str(doc, "spec.s[1]", &s, &err), -1);
    assert_string_equal(err.message, "spec.s: must be an array");
    assert_int_equal(json_want_str(json_path(doc, "spec.s"), "x", &s, &err), -1);
    assert_string_equal(err.message, "the document must be an object");
    assert_string_equal(s, "text");
    assert_int_equal(n, 7);
    json_decref(doc);
}

static void test_building(void **state)
{
    UNUSED(state);
    json_t *object = json_build("{s:i}", "z", 1);
    json_put_str(object, "s", "v");
    json_put_str(object, "none", NULL);
    json_put_str(object, "bad",
        "a\xff"
        "b");
    json_put_int(object, "i", -3);
    json_put_bool(object, "b", true);
    json_put(object, "x", NULL);
    json_put(object, "a", json_array());
    assert_canonical(object,
        "{\"a\":[],\"b\":true,\"bad\":\"a\xef\xbf\xbd"
        "b\",\"i\":-3,\"s\":\"v\",\"z\":1}");
    char *text = json_text(object);
    assert_memory_equal(text, "{\"z\":1,\"s\":\"v\"", 14);
    free(text);
    json_decref(object);
}

static void test_merge(void **state)
{
    UNUSED(state);
    static const struct {
        const char *base, *over, *expected;
    } cases[] = {
        {"{}", "{}", "{}"},
        {"{\"a\":1}", "{\"b\":2}", "{\"a\":1,\"b\":2}"},
        {"{\"a\":{\"x\":1,\"y\":2}}", "{\"a\":{\"y\":3,\"z\":4}}", "{\"a\":{\"x\":1,\"y\":3,\"z\":4}}"},
        {"{\"a\":{\"x\":1}}", "{\"a\":null,\"b\":null}", "{}"},
        {"{\"a\":[1,2]}", "{\"a\":[3]}", "{\"a\":[3]}"},
        {"{\"a\":\"s\"}", "{\"a\":{\"b\":null,\"c\":{\"d\":null}}}", "{\"a\":{\"c\":{}}}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        json_t *base = parse(cases[i].base), *over = parse(cases[i].over);
        json_merge(base, over);
        assert_canonical(base, cases[i].expected);
        json_decref(over);
        assert_canonical(base, cases[i].expected); /* nothing is shared */
        json_decref(base);
    }
}

/* Hashes are stored: what jansson writes may not come out otherwise. */
static void test_canonical_is_what_jansson_writes(void **state)
{
    UNUSED(state);
    static const char *const texts[] = {"{}", "[]", "null", "true", "\"\"", "-7", "1.5", "1e300", "[0.1,[],{}]",
        "{\"b\":1,\"a\":[true,false,null],\"ab\":{\"z\":{},\"y\":[[]]},\"\":0,\"A\":2,\"aa\":3}",
        "{\"q\\\"k\":\"a\\\\b\",\"t\\tk\":\"x\\u0001\\n/\\u007f\",\"\\u00e9\":\"\\u00e9\\ud83d\\ude00\",\"e\":9223372036854775807}",
        "[\"/\",\"\\/\",\"\\b\\f\\r\",{\"k\":[{\"k\":[{\"k\":-0.0}]}]}]"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        json_t *value = parse(texts[i]);
        char *expected = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
        assert_canonical(value, expected);
        assert_true(json_hash(value) == hash64(HASH64_INIT, expected, strlen(expected)));
        free(expected);
        json_decref(value);
    }
}

static void test_hash_ignores_order_only(void **state)
{
    UNUSED(state);
    json_t *a = parse("{\"x\":[1,2],\"y\":{\"p\":1,\"q\":2}}");
    json_t *b = parse(" {\"y\" : {\"q\":2,\"p\":1} ,\"x\":[1,2]}");
    json_t *c = parse("{\"x\":[2,1],\"y\":{\"p\":1,\"q\":2}}");
    assert_true(json_hash(a) == json_hash(b));
    assert_true(json_hash(a) != json_hash(c));
    assert_true(json_hash(NULL) == json_hash(json_object_get(a, "z")));
    assert_true(json_hash(NULL) != json_hash(a));
    json_decref(a);
    json_decref(b);
    json_decref(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse_errors_do_not_quote),
        cmocka_unit_test(test_depth_limit),
        cmocka_unit_test(test_nul_in_a_value_is_no_obstacle),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_lenient_getters),
        cmocka_unit_test(test_strict_getters),
        cmocka_unit_test(test_building),
        cmocka_unit_test(test_merge),
        cmocka_unit_test(test_canonical_is_what_jansson_writes),
        cmocka_unit_test(test_hash_ignores_order_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
