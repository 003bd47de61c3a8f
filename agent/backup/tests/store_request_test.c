/* SPDX-License-Identifier: Apache-2.0 */
/* What the store takes for a request and a name; what it writes. */
#include "common/base.h"

#include "agent/backup/store_request.h"

#include <setjmp.h>
#include <cmocka.h>

#include "agent/backup/store_answer.h"

#define ID "0123456789abcdef0123456789abcdef"
#define DIGEST ID ID

struct texts {
    const char *query[4][2];
    const char *header[4][2];
};

static const char *find(const char *const (*pairs)[2], const char *name)
{
    for (size_t i = 0; i < 4 && pairs[i][0]; i++) {
        if (str_eq(pairs[i][0], name))
            return pairs[i][1];
    }
    return NULL;
}

static const char *get_query(void *arg, const char *name)
{
    return find(((struct texts *)arg)->query, name);
}

static const char *get_header(void *arg, const char *name)
{
    return find(((struct texts *)arg)->header, name);
}

static enum store_code parse(const char *method, const char *path, struct texts texts, struct store_request *ret)
{
    const struct store_texts all = {method, path, get_query, get_header, &texts};
    struct store_fault fault = {.code = STORE_OK};
    int rc = store_request_parse(&all, ret, &fault);

    assert_int_equal(rc == 0, fault.code == STORE_OK);
    assert_true(rc == 0 || *fault.message);
    return fault.code;
}

#define TEXTS(...) ((struct texts){__VA_ARGS__})
#define NONE TEXTS(.query = {{NULL, NULL}})
#define LENGTH                \
    {                         \
        "Content-Length", "5" \
    }

static void test_names(void **unused)
{
    static const char *const good[] = {
        "a", "a/b", "A-Z_0.9/x.y", "ns/cl/backups/20261121T204512Z-a-1/data-000001", "a..b", "-"};
    static const char *const bad[] = {"", "/", "/a", "a/", "a//b", ".", "..", "a/..", "../a", "a/../b", "a/./b",
        ".hidden", "a/.uploads/b", ".uploads/x", "a b", "a\\b", "a\nb", "a%b", "\xc3\xa4", "a:b", "a+b", "lost+found"};
    char longest[STORE_NAME_SIZE + 1];

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        assert_true(store_name_is_valid(good[i]));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        if (store_name_is_valid(bad[i]))
            fail_msg("taken: \"%s\"", bad[i]);
    }
    memset(longest, 'a', sizeof(longest));
    longest[STORE_SEGMENT_MAX] = '\0';
    assert_true(store_name_is_valid(longest));
    longest[STORE_SEGMENT_MAX] = 'a';
    longest[STORE_SEGMENT_MAX + 1] = '\0';
    assert_false(store_name_is_valid(longest));
    for (size_t i = 0; i < STORE_NAME_SIZE; i++)
        longest[i] = i % 200 == 199 ? '/' : 'a';
    longest[STORE_NAME_SIZE - 1] = '\0';
    assert_true(store_name_is_valid(longest));
    longest[STORE_NAME_SIZE - 1] = 'a';
    longest[STORE_NAME_SIZE] = '\0';
    assert_false(store_name_is_valid(longest));
    for (size_t i = 0; i < 80; i++)
        longest[i] = i % 2 ? '/' : 'a';
    longest[2 * STORE_DEPTH_MAX - 1] = '\0';
    assert_true(store_name_is_valid(longest));
    longest[2 * STORE_DEPTH_MAX - 1] = '/';
    longest[2 * STORE_DEPTH_MAX + 1] = '\0';
    assert_false(store_name_is_valid(longest));
    assert_true(store_prefix_is_valid(""));
    assert_true(store_prefix_is_valid("a/"));
    assert_true(store_prefix_is_valid("a/b"));
    assert_false(store_prefix_is_valid("a//"));
    assert_false(store_prefix_is_valid("../"));
    assert_false(store_prefix_is_valid("a/."));
}

static void test_operations(void **unused)
{
    static const struct {
        enum store_operation operation;
        const char *method, *path;
        struct texts texts;
    } cases[] = {
        {STORE_GET, "GET", "/v1/objects/a/b", {.query = {{NULL, NULL}}}},
        {STORE_GET, "HEAD", "/v1/objects/a/b", {.query = {{NULL, NULL}}}},
        {STORE_PUT, "PUT", "/v1/objects/a/b", {.header = {LENGTH, {"X-Content-SHA256", DIGEST}}}},
        {STORE_DELETE, "DELETE", "/v1/objects/a/b", {.query = {{NULL, NULL}}}},
        {STORE_UPLOAD_BEGIN, "POST", "/v1/uploads/" ID "/a/b", {.query = {{NULL, NULL}}}},
        {STORE_UPLOAD_PIECE, "PUT", "/v1/uploads/" ID "/a/b",
            {.query = {{"offset", "8388608"}}, .header = {LENGTH, {"X-Content-SHA256", DIGEST}}}},
        {STORE_UPLOAD_COMMIT, "POST", "/v1/uploads/" ID "/a/b", {.query = {{"bytes", "8388613"}}}},
        {STORE_UPLOAD_END, "DELETE", "/v1/uploads/" ID "/a/b", {.query = {{NULL, NULL}}}},
    };
    struct store_request request;

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(parse(cases[i].method, cases[i].path, cases[i].texts, &request), STORE_OK);
        assert_int_equal(request.operation, cases[i].operation);
        assert_string_equal(request.name, "a/b");
        assert_string_equal(request.upload_id, strstr(cases[i].path, ID) ? ID : "");
        assert_string_equal(request.sha256, cases[i].texts.header[1][0] ? DIGEST : "");
        assert_int_equal(request.offset, cases[i].operation == STORE_UPLOAD_PIECE ? 8388608 : 0);
        assert_int_equal(request.bytes, cases[i].operation == STORE_UPLOAD_COMMIT ? 8388613 : 0);
    }
    assert_int_equal(parse("DELETE", "/v1/uploads", TEXTS(.query = {{"prefix", "a/"}}), &request), STORE_OK);
    assert_int_equal(request.operation, STORE_UPLOADS_END);
    assert_string_equal(request.list.prefix, "a/");
    assert_int_equal(parse("GET", "/v1/objects",
                         TEXTS(.query = {{"prefix", "c"}, {"max", "5"}, {"folders", "1"}, {"after", "b/"}}), &request),
        STORE_OK);
    assert_int_equal(request.operation, STORE_LIST);
    assert_string_equal(request.list.prefix, "c");
    assert_string_equal(request.list.after, "b/");
    assert_int_equal(request.list.max, 5);
    assert_true(request.list.folders);
    assert_int_equal(parse("GET", "/v1/objects", TEXTS(.query = {{"max", "100000"}}), &request), STORE_OK);
    assert_int_equal(request.list.max, STORE_NAMES_MAX);
    assert_false(request.list.folders);
}

static const struct {
    enum store_code code;
    const char *method, *path;
    struct texts texts;
} refused[] = {
    /* What agents of earlier versions ask for: nothing of it may look as if nothing were stored. */
    {STORE_OTHER_PROTOCOL, "GET", "/", {.query = {{NULL, NULL}}}},
    {STORE_OTHER_PROTOCOL, "GET", "/backup", {.query = {{"list-type", "2"}, {"prefix", "a/"}}}},
    {STORE_OTHER_PROTOCOL, "GET", "/backup/a", {.query = {{NULL, NULL}}}},
    {STORE_OTHER_PROTOCOL, "DELETE", "/backup/a", {.query = {{NULL, NULL}}}},
    {STORE_OTHER_PROTOCOL, "PUT", "/backup/a", {.header = {LENGTH}}},
    {STORE_OTHER_PROTOCOL, "POST", "/backup/a", {.query = {{"uploads", ""}}}},
    {STORE_OTHER_PROTOCOL, "GET", "/v2/objects", {.query = {{NULL, NULL}}}},
    {STORE_OTHER_PROTOCOL, "GET", "/v1/objectsa", {.query = {{NULL, NULL}}}},
    {STORE_INVALID_ARGUMENT, "GET", "/v1/objects/", {.query = {{NULL, NULL}}}},
    {STORE_INVALID_ARGUMENT, "GET", "/v1/objects/../etc/passwd", {.query = {{NULL, NULL}}}},
    {STORE_INVALID_ARGUMENT, "GET", "/v1/objects//etc/passwd", {.query = {{NULL, NULL}}}},
    {STORE_INVALID_ARGUMENT, "GET", "/v1/objects/a/./b", {.query = {{NULL, NULL}}}},
    {STORE_INVALID_ARGUMENT, "GET", "/v1/objects/a\\b", {.query = {{NULL, NULL}}}},
    {STORE_INVALID_ARGUMENT, "DELETE", "/v1/objects/.uploads/" ID "/upload", {.query = {{NULL, NULL}}}},
    {STORE_MISSING_LENGTH, "PUT", "/v1/objects/a", {.query = {{NULL, NULL}}}},
    {STORE_INVALID_ARGUMENT, "PUT", "/v1/objects/a", {.header = {LENGTH, {"X-Content-SHA256", "abc"}}}},
    {STORE_INVALID_ARGUMENT, "PUT", "/v1/objects/a", {.header = {LENGTH, {"X-Content-SHA256", DIGEST "0"}}}},
    {STORE_METHOD_NOT_ALLOWED, "POST", "/v1/objects/a", {.query = {{NULL, NULL}}}},
    {STORE_METHOD_NOT_ALLOWED, "PATCH", "/v1/objects/a", {.query = {{NULL, NULL}}}},
    {STORE_METHOD_NOT_ALLOWED, "DELETE", "/v1/objects", {.query = {{"prefix", "a"}}}},
    {STORE_METHOD_NOT_ALLOWED, "HEAD", "/v1/objects", {.query = {{NULL, NULL}}}},
    {STORE_PRECONDITION_FAILED, "GET", "/v1/objects/a", {.header = {{"If-Match", "\"a\", \"b\""}}}},
    {STORE_INVALID_ARGUMENT, "GET", "/v1/objects", {.query = {{"prefix", "../"}}}},
    {STORE_INVALID_ARGUMENT, "GET", "/v1/objects", {.query = {{"after", "/"}}}},
    {STORE_INVALID_ARGUMENT, "GET", "/v1/objects", {.query = {{"max", "-1"}}}},
    {STORE_INVALID_ARGUMENT, "GET", "/v1/objects", {.query = {{"max", "0"}}}},
    {STORE_INVALID_ARGUMENT, "GET", "/v1/objects", {.query = {{"max", "5x"}}}},
    {STORE_METHOD_NOT_ALLOWED, "GET", "/v1/uploads", {.query = {{NULL, NULL}}}},
    {STORE_INVALID_ARGUMENT, "DELETE", "/v1/uploads", {.query = {{"prefix", "/"}}}},
    {STORE_INVALID_ARGUMENT, "POST", "/v1/uploads/" ID, {.query = {{NULL, NULL}}}},
    {STORE_INVALID_ARGUMENT, "POST", "/v1/uploads/" ID "/", {.query = {{NULL, NULL}}}},
    {STORE_INVALID_ARGUMENT, "POST", "/v1/uploads/" ID "0/a", {.query = {{NULL, NULL}}}},
    {STORE_INVALID_ARGUMENT, "POST", "/v1/uploads/" ID "/../a", {.query = {{NULL, NULL}}}},
    {STORE_INVALID_ARGUMENT, "DELETE", "/v1/uploads/../../../../../../../../etc/cron/a", {.query = {{NULL, NULL}}}},
    {STORE_INVALID_ARGUMENT, "DELETE", "/v1/uploads/0123456789ABCDEF0123456789ABCDEF/a", {.query = {{NULL, NULL}}}},
    {STORE_INVALID_ARGUMENT, "DELETE", "/v1/uploads/a", {.query = {{NULL, NULL}}}},
    {STORE_METHOD_NOT_ALLOWED, "GET", "/v1/uploads/" ID "/a", {.query = {{NULL, NULL}}}},
    {STORE_INVALID_ARGUMENT, "PUT", "/v1/uploads/" ID "/a", {.header = {LENGTH}}},
    {STORE_INVALID_ARGUMENT, "PUT", "/v1/uploads/" ID "/a", {.query = {{"offset", "-1"}}, .header = {LENGTH}}},
    {STORE_INVALID_ARGUMENT, "PUT", "/v1/uploads/" ID "/a", {.query = {{"offset", "1x"}}, .header = {LENGTH}}},
    {STORE_INVALID_ARGUMENT, "PUT", "/v1/uploads/" ID "/a",
        {.query = {{"offset", "9223372036854775807"}}, .header = {LENGTH}}},
    {STORE_MISSING_LENGTH, "PUT", "/v1/uploads/" ID "/a", {.query = {{"offset", "0"}}}},
    {STORE_INVALID_ARGUMENT, "POST", "/v1/uploads/" ID "/a", {.query = {{"bytes", ""}}}},
    {STORE_INVALID_ARGUMENT, "POST", "/v1/uploads/" ID "/a", {.query = {{"bytes", "99999999999999999999"}}}},
};

static void test_what_is_refused(void **unused)
{
    struct store_request request;

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        enum store_code code = parse(refused[i].method, refused[i].path, refused[i].texts, &request);
        if (code != refused[i].code)
            fail_msg("%s %s: %s, not %s", refused[i].method, refused[i].path, store_code_name(code),
                store_code_name(refused[i].code));
    }
}

static void test_ranges(void **unused)
{
    static const struct {
        const char *header;
        uint64_t size;
        bool good;
        uint64_t from, count;
    } cases[] = {
        {NULL, 10, true, 0, 10},
        {NULL, 0, true, 0, 0},
        {"bytes=0-", 10, true, 0, 10},
        {"bytes=3-", 10, true, 3, 7},
        {"bytes=9-", 10, true, 9, 1},
        {"bytes=10-", 10, false, 0, 0},
        {"bytes=0-", 0, false, 0, 0},
        {"bytes=2-4", 10, true, 2, 3},
        {"bytes=2-400", 10, true, 2, 8},
        {"bytes=4-2", 10, true, 0, 10},
        {"bytes=-3", 10, true, 0, 10}, /* not understood */
        {"bytes=1-2,4-5", 10, true, 0, 10},
        {"items=1-2", 10, true, 0, 10},
        {"bytes=99999999999999999999-", 10, true, 0, 10},
        {"bytes=0-9223372036854775807", 10, true, 0, 10},
    };

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct store_request request;
        struct store_fault fault = {.code = STORE_OK};
        uint64_t from = 0;
        uint64_t count = 0;
        assert_int_equal(
            parse("GET", "/v1/objects/a", TEXTS(.header = {{"Range", cases[i].header}}), &request), STORE_OK);
        int rc = store_range_resolve(&request, cases[i].size, &from, &count, &fault);
        if ((rc == 0) != cases[i].good || from != cases[i].from || count != cases[i].count)
            fail_msg("%s: %d, %llu, %llu", str_or_empty(cases[i].header), rc, (unsigned long long)from,
                (unsigned long long)count);
    }
}

static void test_answers(void **unused)
{
    const struct store_fault fault = {.code = STORE_NO_SUCH_OBJECT, .message = "no <such> \"object\" & \x01"};
    const struct store_entry entry = {.name = "a/b", .bytes = 7, .modified_ms = 1700000000123};
    const struct store_entry folder = {.name = "a/c/", .is_folder = true};
    _cleanup_(strbuf_release) struct strbuf out;
    struct store_page page = {.out = &out};

    UNUSED(unused);
    strbuf_init(&out, KM_MIB);
    store_answer_fault(&fault, &out);
    assert_string_equal(out.buf, "{\"code\":\"NoSuchObject\",\"message\":\"no <such> \\\"object\\\" & \\u0001\"}\n");
    strbuf_reset(&out);
    assert_true(store_page_add(&page, &entry));
    assert_true(store_page_add(&page, &folder));
    store_page_end(&page, true);
    assert_string_equal(out.buf,
        "{\"name\":\"a/b\",\"bytes\":7,\"modified\":1700000000123}\n"
        "{\"name\":\"a/c/\"}\n"
        "{\"after\":\"a/c/\"}\n");
    strbuf_reset(&out);
    store_page_end(&page, false);
    assert_string_equal(out.buf, "{\"end\":true}\n");
    for (int code = 0; code < STORE_CODE_COUNT; code++) {
        assert_non_null(store_code_name((enum store_code)code));
        assert_in_range(store_code_status((enum store_code)code), 200, 599);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_operations),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
