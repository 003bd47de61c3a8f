/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/json.h"
#include "common/json_scan.h"

/* Writes down every call: "E<element>" and "M<key>=<value>", each with a line feed. */
struct record {
    struct strbuf calls;
    const char *chunk; /* the chunk being fed, to see what is passed on in place */
    size_t chunk_len;
    int in_place;
    int stop_after; /* elements until the callback refuses; 0: never */
    int elements;
};

static int on_element(void *arg, struct json_slice element, struct error *err)
{
    struct record *record = arg;
    strbuf_addc(&record->calls, 'E');
    strbuf_add(&record->calls, element.data, element.len);
    strbuf_addc(&record->calls, '\n');
    uintptr_t at = (uintptr_t)element.data, chunk = (uintptr_t)record->chunk;
    record->in_place += at >= chunk && at + element.len <= chunk + record->chunk_len;
    if (++record->elements == record->stop_after)
        return error_set(err, ERROR_CANCELLED, "enough");
    return 0;
}

static int on_member(void *arg, struct json_slice key, struct json_slice value, struct error *err)
{
    UNUSED(err);
    struct record *record = arg;
    strbuf_addf(&record->calls, "M%.*s=%.*s\n", (int)key.len, key.data, (int)value.len, value.data);
    return 0;
}

static const struct json_cutter_ops both_ops = {.element = on_element, .member = on_member};

static int feed(struct json_cutter *cutter, struct record *record, const char *data, size_t len, struct error *err)
{
    /* An exact heap copy, so that the address sanitizer sees reads beyond the chunk. */
    char *chunk = xmemdup(data, len);
    record->chunk = chunk;
    record->chunk_len = len;
    int rc = json_cutter_feed(cutter, chunk, len, err);
    free(chunk);
    return rc;
}

/* Feeds text cut at up to two places. */
static int cut(
    const char *text, size_t len, size_t split1, size_t split2, size_t max, struct record *record, struct error *err)
{
    strbuf_init(&record->calls, 1 << 20);
    struct json_cutter *cutter = json_cutter_new("items", max, &both_ops, record);
    int rc = feed(cutter, record, text, split1, err);
    if (rc == 0)
        rc = feed(cutter, record, text + split1, split2 - split1, err);
    if (rc == 0)
        rc = feed(cutter, record, text + split2, len - split2, err);
    if (rc == 0)
        rc = json_cutter_finish(cutter, err);
    json_cutter_free(cutter);
    return rc;
}

static int cut_whole(const char *text, size_t max, struct record *record, struct error *err)
{
    size_t len = strlen(text);
    return cut(text, len, 0, len, max, record, err);
}

static const struct {
    const char *text;
    const char *calls;
} valid[] = {
    {"{}", ""},
    {" {\n} \r\n\t", ""},
    {"{\"items\":[]}", ""},
    {"{\"items\": [ ] }", ""},
    {"{\"items\":null,\"a\":1}", "Ma=1\n"},
    {"{\"items\":[1,-2.5e+3,true,null,\"x\"]}", "E1\nE-2.5e+3\nEtrue\nEnull\nE\"x\"\n"},
    {"{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"12\"},\"items\":[{\"a\":1},{\"b\":[2,{}]}],\"z\":[]}",
        "Mkind=\"PodList\"\nMmetadata={\"resourceVersion\":\"12\"}\nE{\"a\":1}\nE{\"b\":[2,{}]}\nMz=[]\n"},
    {"{\"items\" : [ {\"s\":\"]}\\\"[{\\\\\"} , [[[]]] ]\n}", "E{\"s\":\"]}\\\"[{\\\\\"}\nE[[[]]]\n"},
    {"{\"x\":{\"items\":[1]},\"items\":[2]}", "Mx={\"items\":[1]}\nE2\n"},
    {"{\"items\":[\"\\\\\",\"\\\\\\\"\",\"a\\\\\\\\\"]}", "E\"\\\\\"\nE\"\\\\\\\"\"\nE\"a\\\\\\\\\"\n"},
    /* Longer than the blocks of 64 bytes, escapes and quotes across their borders. */
    {"{\"items\":[{\"k\":\"0123456789012345678901234567890123456789012345678\\\\\\\\\\\\\\\"}]{[01234567890123\"},"
     "{\"deep\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[{\"a\":\"b\"}]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}]}",
        "E{\"k\":\"0123456789012345678901234567890123456789012345678\\\\\\\\\\\\\\\"}]{[01234567890123\"}\n"
        "E{\"deep\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[{\"a\":\"b\"}]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}\n"},
};

static void test_every_split_gives_the_same(void **state)
{
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(valid); i++) {
        size_t len = strlen(valid[i].text);
        for (size_t a = 0; a <= len; a++) {
            size_t step = len > 100 ? 7 : 1;
            for (size_t b = a; b <= len; b += step) {
                struct record record = {0};
                struct error err = ERROR_INIT;
                assert_int_equal(cut(valid[i].text, len, a, b, 4096, &record, &err), 0);
                assert_string_equal(record.calls.buf, valid[i].calls);
                strbuf_release(&record.calls);
            }
        }
    }
}

static void test_byte_by_byte(void **state)
{
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(valid); i++) {
        struct record record = {0};
        strbuf_init(&record.calls, 1 << 20);
        struct json_cutter *cutter = json_cutter_new("items", 4096, &both_ops, &record);
        for (const char *p = valid[i].text; *p; p++)
            assert_int_equal(feed(cutter, &record, p, 1, NULL), 0);
        assert_int_equal(json_cutter_finish(cutter, NULL), 0);
        assert_string_equal(record.calls.buf, valid[i].calls);
        json_cutter_free(cutter);
        strbuf_release(&record.calls);
    }
}

static void test_every_truncation_fails(void **state)
{
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(valid); i++) {
        size_t len = strlen(valid[i].text);
        while (len > 0 && valid[i].text[len - 1] != '}')
            len--;
        for (size_t shorter = 0; shorter < len; shorter++) {
            struct record record = {0};
            struct error err = ERROR_INIT;
            assert_int_equal(cut(valid[i].text, shorter, 0, shorter / 2, 4096, &record, &err), -1);
            assert_int_equal(err.kind, ERROR_PROTOCOL);
            strbuf_release(&record.calls);
        }
    }
}

static void test_malformed_is_refused(void **state)
{
    UNUSED(state);
    static const char *const bad[] = {"[]", "1", "\"x\"", "{,}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}",
        "{\"a\":1 \"b\":2}", "{a:1}", "{\"items\":[,]}", "{\"items\":[1,]}", "{\"items\":[1 2]}", "{\"items\":[1}",
        "{\"items\":{}}", "{\"items\":3}", "{\"items\":\"x\"}", "{} x", "{}{}", "{\"items\":[]]}", "{\"a\"::1}",
        "{\"a\":!}", "{\"items\":[}]}", "\xef\xbb\xbf{}"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        for (size_t split = 0; split <= strlen(bad[i]); split++) {
            struct record record = {0};
            struct error err = ERROR_INIT;
            assert_int_equal(cut(bad[i], strlen(bad[i]), 0, split, 4096, &record, &err), -1);
            assert_int_equal(err.kind, ERROR_PROTOCOL);
            strbuf_release(&record.calls);
        }
    }
}

static void test_what_lies_in_one_chunk_is_not_copied(void **state)
{
    UNUSED(state);
    const char *text = "{\"items\":[{\"a\":1},{\"b\":2},{\"c\":3}]}";
    size_t inside_second = strlen("{\"items\":[{\"a\":1},{\"b");
    struct record record = {0};
    assert_int_equal(cut_whole(text, 4096, &record, NULL), 0);
    assert_int_equal(record.in_place, 3);
    strbuf_release(&record.calls);
    record = (struct record){0};
    assert_int_equal(cut(text, strlen(text), 0, inside_second, 4096, &record, NULL), 0);
    assert_int_equal(record.in_place, 2);
    strbuf_release(&record.calls);
}

static void test_the_maximum_holds_however_the_text_is_split(void **state)
{
    UNUSED(state);
    const char *text = "{\"a\":{\"bb\":12},\"items\":[\"0123456789\",\"012345678\"]}"; /* largest: 12 bytes */
    for (size_t split = 0; split <= strlen(text); split++) {
        struct record record = {0};
        struct error err = ERROR_INIT;
        assert_int_equal(cut(text, strlen(text), 0, split, 12, &record, &err), 0);
        strbuf_release(&record.calls);
        record = (struct record){0};
        assert_int_equal(cut(text, strlen(text), 0, split, 11, &record, &err), -1);
        assert_int_equal(err.kind, ERROR_TOO_LARGE);
        strbuf_release(&record.calls);
    }
}

static void test_unwanted_members_have_no_maximum(void **state)
{
    UNUSED(state);
    static const struct json_cutter_ops ops = {.element = on_element};
    struct record record = {0};
    strbuf_init(&record.calls, 4096);
    struct json_cutter *cutter = json_cutter_new("items", 4, &ops, &record);
    const char *text = "{\"big\":[1,2,3,4,5,6,7,8,9],\"items\":[17]}";
    for (const char *p = text; *p; p++)
        assert_int_equal(feed(cutter, &record, p, 1, NULL), 0);
    assert_int_equal(json_cutter_finish(cutter, NULL), 0);
    assert_string_equal(record.calls.buf, "E17\n");
    json_cutter_free(cutter);
    strbuf_release(&record.calls);
}

static void test_long_key_is_refused(void **state)
{
    UNUSED(state);
    struct strbuf text;
    strbuf_init(&text, 1 << 20);
    strbuf_adds(&text, "{\"");
    for (int i = 0; i < 5000; i++)
        strbuf_addc(&text, 'k');
    strbuf_adds(&text, "\":1}");
    struct record record = {0};
    struct error err = ERROR_INIT;
    assert_int_equal(cut_whole(text.buf, 1 << 20, &record, &err), -1);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
    strbuf_release(&record.calls);
    strbuf_release(&text);
}

static void test_a_refusing_callback_ends_it(void **state)
{
    UNUSED(state);
    struct record record = {.stop_after = 2};
    strbuf_init(&record.calls, 4096);
    struct error err = ERROR_INIT;
    struct json_cutter *cutter = json_cutter_new("items", 100, &both_ops, &record);
    const char *text = "{\"items\":[1,2,3,4]}";
    assert_int_equal(feed(cutter, &record, text, strlen(text), &err), -1);
    assert_int_equal(err.kind, ERROR_CANCELLED);
    assert_string_equal(err.message, "enough");
    error_clear(&err);
    assert_int_equal(feed(cutter, &record, "5", 1, &err), -1);
    assert_string_equal(err.message, "enough");
    error_clear(&err);
    assert_int_equal(json_cutter_finish(cutter, &err), -1);
    assert_int_equal(err.kind, ERROR_CANCELLED);
    assert_int_equal(record.elements, 2);
    json_cutter_free(cutter);
    json_cutter_free(NULL);
    strbuf_release(&record.calls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_split_gives_the_same),
        cmocka_unit_test(test_byte_by_byte),
        cmocka_unit_test(test_every_truncation_fails),
        cmocka_unit_test(test_malformed_is_refused),
        cmocka_unit_test(test_what_lies_in_one_chunk_is_not_copied),
        cmocka_unit_test(test_the_maximum_holds_however_the_text_is_split),
        cmocka_unit_test(test_unwanted_members_have_no_maximum),
        cmocka_unit_test(test_long_key_is_refused),
        cmocka_unit_test(test_a_refusing_callback_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
