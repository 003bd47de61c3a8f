/* SPDX-License-Identifier: Apache-2.0 */
/* What the store takes for a request, a name, a list of parts; what it writes. */
#include "common/base.h"

#include "agent/backup/store_request.h"

#include <setjmp.h>
#include <cmocka.h>

#include "agent/backup/store_claims.h"
#include "agent/backup/store_xml.h"

#define ID "0123456789abcdef0123456789abcdef"

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
    struct store_request request;

    UNUSED(unused);
    assert_int_equal(parse("GET", "/backup/a/b", NONE, &request), STORE_OK);
    assert_int_equal(request.operation, STORE_GET);
    assert_string_equal(request.name, "a/b");
    assert_int_equal(parse("HEAD", "/backup/a/b", NONE, &request), STORE_OK);
    assert_int_equal(request.operation, STORE_GET);
    assert_int_equal(parse("PUT", "/backup/a", TEXTS(.header = {LENGTH}), &request), STORE_OK);
    assert_int_equal(request.operation, STORE_PUT);
    assert_int_equal(parse("DELETE", "/backup/a", NONE, &request), STORE_OK);
    assert_int_equal(request.operation, STORE_DELETE);
    assert_int_equal(parse("POST", "/backup/a", TEXTS(.query = {{"uploads", ""}}), &request), STORE_OK);
    assert_int_equal(request.operation, STORE_UPLOAD_BEGIN);
    assert_int_equal(parse("POST", "/backup/a", TEXTS(.query = {{"uploadId", ID}}), &request), STORE_OK);
    assert_int_equal(request.operation, STORE_UPLOAD_COMPLETE);
    assert_string_equal(request.upload_id, ID);
    assert_int_equal(parse("DELETE", "/backup/a", TEXTS(.query = {{"uploadId", ID}}), &request), STORE_OK);
    assert_int_equal(request.operation, STORE_UPLOAD_ABORT);
    assert_int_equal(parse("PUT", "/backup/a",
                         TEXTS(.query = {{"uploadId", ID}, {"partNumber", "10000"}}, .header = {LENGTH}), &request),
        STORE_OK);
    assert_int_equal(request.operation, STORE_UPLOAD_PART);
    assert_int_equal(request.part, 10000);
    assert_int_equal(parse("GET", "/backup", TEXTS(.query = {{"uploads", ""}, {"prefix", "a/"}}), &request), STORE_OK);
    assert_int_equal(request.operation, STORE_LIST_UPLOADS);
    assert_string_equal(request.list.prefix, "a/");
    assert_int_equal(
        parse("GET", "/backup/",
            TEXTS(.query = {{"list-type", "2"}, {"max-keys", "5"}, {"delimiter", "/"}, {"start-after", "b"}}), &request),
        STORE_OK);
    assert_int_equal(request.operation, STORE_LIST);
    assert_int_equal(request.list.max_keys, 5);
    assert_true(request.list.delimited);
    assert_string_equal(request.list.after, "b");
}

static void test_what_is_refused(void **unused)
{
    static const struct {
        enum store_code code;
        const char *method, *path;
        struct texts texts;
    } cases[] = {
        {STORE_NO_SUCH_BUCKET, "GET", "/", {.query = {{NULL, NULL}}}},
        {STORE_NO_SUCH_BUCKET, "GET", "/backups/a", {.query = {{NULL, NULL}}}},
        {STORE_NO_SUCH_BUCKET, "GET", "/other/backup/a", {.query = {{NULL, NULL}}}},
        {STORE_INVALID_ARGUMENT, "GET", "/backup/../etc/passwd", {.query = {{NULL, NULL}}}},
        {STORE_INVALID_ARGUMENT, "GET", "/backup//etc/passwd", {.query = {{NULL, NULL}}}},
        {STORE_INVALID_ARGUMENT, "DELETE", "/backup/.uploads/" ID "/upload", {.query = {{NULL, NULL}}}},
        {STORE_MISSING_LENGTH, "PUT", "/backup/a", {.query = {{NULL, NULL}}}},
        {STORE_INVALID_ARGUMENT, "PUT", "/backup/a", {.query = {{"partNumber", "1"}}, .header = {LENGTH}}},
        {STORE_INVALID_ARGUMENT, "PUT", "/backup/a", {.query = {{"uploadId", ID}}, .header = {LENGTH}}},
        {STORE_INVALID_ARGUMENT, "PUT", "/backup/a",
            {.query = {{"uploadId", ID}, {"partNumber", "0"}}, .header = {LENGTH}}},
        {STORE_INVALID_ARGUMENT, "PUT", "/backup/a",
            {.query = {{"uploadId", ID}, {"partNumber", "10001"}}, .header = {LENGTH}}},
        {STORE_INVALID_ARGUMENT, "PUT", "/backup/a",
            {.query = {{"uploadId", ID}, {"partNumber", "1x"}}, .header = {LENGTH}}},
        {STORE_NO_SUCH_UPLOAD, "DELETE", "/backup/a", {.query = {{"uploadId", "../../../../../../../../etc/cron"}}}},
        {STORE_NO_SUCH_UPLOAD, "DELETE", "/backup/a", {.query = {{"uploadId", ""}}}},
        {STORE_NOT_IMPLEMENTED, "POST", "/backup/a", {.query = {{NULL, NULL}}}},
        {STORE_METHOD_NOT_ALLOWED, "DELETE", "/backup", {.query = {{NULL, NULL}}}},
        {STORE_METHOD_NOT_ALLOWED, "PUT", "/backup/", {.header = {LENGTH}}},
        {STORE_METHOD_NOT_ALLOWED, "PATCH", "/backup/a", {.query = {{NULL, NULL}}}},
        {STORE_NOT_IMPLEMENTED, "GET", "/backup", {.query = {{NULL, NULL}}}},
        {STORE_NOT_IMPLEMENTED, "GET", "/backup", {.query = {{"list-type", "2"}, {"delimiter", "-"}}}},
        {STORE_INVALID_ARGUMENT, "GET", "/backup", {.query = {{"list-type", "2"}, {"prefix", "../"}}}},
        {STORE_INVALID_ARGUMENT, "GET", "/backup", {.query = {{"list-type", "2"}, {"start-after", "/"}}}},
        {STORE_INVALID_ARGUMENT, "GET", "/backup", {.query = {{"list-type", "2"}, {"max-keys", "-1"}}}},
        {STORE_INVALID_ARGUMENT, "GET", "/backup", {.query = {{"list-type", "2"}, {"continuation-token", "abc"}}}},
        {STORE_INVALID_ARGUMENT, "GET", "/backup", {.query = {{"list-type", "2"}, {"continuation-token", "2e2e"}}}},
        {STORE_INVALID_ARGUMENT, "GET", "/backup", {.query = {{"list-type", "2"}, {"continuation-token", ""}}}},
        {STORE_NOT_IMPLEMENTED, "PUT", "/backup/a", {.query = {{"tagging", ""}}, .header = {LENGTH}}},
        {STORE_NOT_IMPLEMENTED, "PUT", "/backup/a", {.header = {LENGTH, {"x-amz-copy-source", "b"}}}},
        {STORE_NOT_IMPLEMENTED, "DELETE", "/backup/a", {.query = {{"versionId", "1"}}}},
        {STORE_NOT_IMPLEMENTED, "PUT", "/backup/a",
            {.header = {LENGTH, {"x-amz-content-sha256", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"}}}},
        {STORE_INVALID_ARGUMENT, "PUT", "/backup/a", {.header = {LENGTH, {"x-amz-content-sha256", "abc"}}}},
        {STORE_PRECONDITION_FAILED, "GET", "/backup/a", {.header = {{"If-Match", "\"a\", \"b\""}}}},
    };
    struct store_request request;

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        enum store_code code = parse(cases[i].method, cases[i].path, cases[i].texts, &request);
        if (code != cases[i].code)
            fail_msg("case %zu: %s, not %s", i, store_code_name(code), store_code_name(cases[i].code));
    }
}

static void test_tokens_come_back(void **unused)
{
    char token[2 * STORE_NAME_SIZE];
    struct store_request request;

    UNUSED(unused);
    store_token_make("a/b-1/", token);
    assert_int_equal(
        parse("GET", "/backup",
            TEXTS(.query = {{"list-type", "2"}, {"continuation-token", token}, {"start-after", "zzz"}}), &request),
        STORE_OK);
    assert_string_equal(request.list.after, "a/b-1/");
    assert_true(request.list.is_continued);
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
        {"bytes=-3", 10, true, 7, 3},
        {"bytes=-30", 10, true, 0, 10},
        {"bytes=-0", 10, false, 0, 0},
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
        assert_int_equal(parse("GET", "/backup/a", TEXTS(.header = {{"Range", cases[i].header}}), &request), STORE_OK);
        int rc = store_range_resolve(&request, cases[i].size, &from, &count, &fault);
        if ((rc == 0) != cases[i].good || from != cases[i].from || count != cases[i].count)
            fail_msg("%s: %d, %llu, %llu", str_or_empty(cases[i].header), rc, (unsigned long long)from,
                (unsigned long long)count);
    }
}

static enum store_code read_parts(const char *text, struct store_part **ret, size_t *ret_count)
{
    struct store_fault fault = {.code = STORE_OK};

    int rc = store_xml_read_parts(text, strlen(text), ret, ret_count, &fault);

    assert_int_equal(rc == 0, fault.code == STORE_OK);
    return fault.code;
}

#define LIST(parts) "<CompleteMultipartUpload>" parts "</CompleteMultipartUpload>"
#define PART(number, etag) "<Part><PartNumber>" number "</PartNumber><ETag>" etag "</ETag></Part>"

static void test_lists_of_parts(void **unused)
{
    static const char *const malformed[] = {"", "x", "<", LIST(""), LIST("x"), LIST(PART("0", "a")),
        LIST(PART("10001", "a")), LIST(PART("x", "a")), LIST("<Part><PartNumber>1</PartNumber></Part>"),
        LIST("<Part><ETag>a</ETag></Part>"), "<CompleteMultipartUpload>" PART("1", "a"), LIST(PART("1", "a")) "x",
        LIST(PART("1", "a")) "\0x", "<Other>" PART("1", "a") "</Other>",
        "<!DOCTYPE a [<!ENTITY b \"c\">]>" LIST(PART("1", "a")), LIST(PART("1", "&b;")),
        LIST("<Part><PartNumber>1</Part></PartNumber>"), LIST("<Part><PartNumber><ETag>a</ETag></PartNumber></Part>"),
        LIST("<Part>1<ETag>a</ETag><PartNumber>1</PartNumber></Part>")};
    struct store_part *parts;
    size_t count;

    UNUSED(unused);
    assert_int_equal(
        read_parts(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\n"
            "  <Part>\n <ETag>&quot;0123456789abcdef&quot;</ETag><PartNumber> 1 </PartNumber>\n</Part>\n"
            "<Part><PartNumber>3</PartNumber><ETag>\"fedcba9876543210\"</ETag><ChecksumSHA256>x</ChecksumSHA256><A/></Part>"
            "<Part><PartNumber>10000</PartNumber><ETag>this one is far too long for ours</ETag></Part>"
            "</CompleteMultipartUpload>\n",
            &parts, &count),
        STORE_OK);
    assert_int_equal(count, 3);
    assert_int_equal(parts[0].number, 1);
    assert_string_equal(parts[0].etag, "0123456789abcdef");
    assert_int_equal(parts[1].number, 3);
    assert_string_equal(parts[1].etag, "fedcba9876543210");
    assert_int_equal(parts[2].number, 10000);
    assert_string_equal(parts[2].etag, "");
    free(parts);
    for (size_t i = 0; i < ARRAY_LEN(malformed); i++) {
        bool has_nul = i == 12;
        struct store_fault fault = {.code = STORE_OK};
        size_t len = strlen(malformed[i]) + (has_nul ? 2 : 0);
        if (store_xml_read_parts(malformed[i], len, &parts, &count, &fault) == 0 || fault.code != STORE_MALFORMED_XML)
            fail_msg("case %zu: taken: %s", i, malformed[i]);
    }
    assert_int_equal(read_parts(LIST(PART("2", "a") PART("1", "b")), &parts, &count), STORE_INVALID_PART_ORDER);
    assert_int_equal(read_parts(LIST(PART("2", "a") PART("2", "b")), &parts, &count), STORE_INVALID_PART_ORDER);
}

static void test_answers(void **unused)
{
    const struct store_fault fault = {.code = STORE_NO_SUCH_KEY, .message = "no <such> \"object\" & \x01\xc3"};
    const struct store_entry entry = {.name = "a/b", .bytes = 7, .modified_ms = 1700000000123, .etag = "1-2-3"};
    const struct store_entry prefix = {.name = "a/c/", .is_prefix = true};
    const struct store_list_query query = {.prefix = "a/", .delimited = true, .max_keys = 2};
    _cleanup_(strbuf_release) struct strbuf out;
    struct store_xml_page page;

    UNUSED(unused);
    strbuf_init(&out, KM_MIB);
    store_xml_error(&out, &fault, "/backup/<x>");
    assert_string_equal(out.buf,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>NoSuchKey</Code>"
        "<Message>no &#60;such&#62; &#34;object&#34; &#38; ?"
        "?</Message><Resource>/backup/&#60;x&#62;</Resource></Error>\n");
    strbuf_reset(&out);
    store_xml_page_init(&page);
    assert_true(store_xml_page_add(&page, &entry));
    assert_true(store_xml_page_add(&page, &prefix));
    store_xml_page_end(&page, &query, true, &out);
    store_xml_page_release(&page);
    assert_string_equal(out.buf,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
        "<Name>backup</Name><Prefix>a/</Prefix><Delimiter>/</Delimiter><MaxKeys>2</MaxKeys><KeyCount>2</KeyCount>"
        "<IsTruncated>true</IsTruncated><NextContinuationToken>612f632f</NextContinuationToken>"
        "<Contents><Key>a/b</Key><LastModified>2023-11-14T22:13:20.123Z</LastModified><ETag>&quot;1-2-3&quot;</ETag><Size>7</Size></Contents>"
        "<CommonPrefixes><Prefix>a/c/</Prefix></CommonPrefixes></ListBucketResult>\n");
    for (int code = 0; code < STORE_CODE_COUNT; code++) {
        assert_non_null(store_code_name((enum store_code)code));
        assert_in_range(store_code_status((enum store_code)code), 200, 599);
    }
}

static void test_claims(void **unused)
{
    struct store_claims *claims = store_claims_new();
    char id[STORE_ID_SIZE];

    UNUSED(unused);
    assert_int_equal(store_claims_take(claims, "a", 1, 5), -1); /* not begun here */
    store_claims_begin(claims, "a");
    assert_int_equal(store_claims_take(claims, "a", 3, 5), -1); /* its place is not known yet */
    assert_int_equal(store_claims_take(claims, "a", 1, 5), 0);
    assert_int_equal(store_claims_take(claims, "a", 1, 5), -1); /* once */
    assert_int_equal(store_claims_take(claims, "a", 3, 5), -1);
    assert_int_equal(store_claims_take(claims, "a", 2, 6), -1); /* too large for its place */
    assert_int_equal(store_claims_take(claims, "a", 4, 5), 15);
    assert_int_equal(store_claims_take(claims, "a", 10000, 4), 9999 * 5);
    assert_int_equal(store_claims_take(claims, "a", 10001, 4), -1);
    assert_int_equal(store_claims_take(claims, "a", 0, 4), -1);
    store_claims_release(claims, "a", 4);
    assert_int_equal(store_claims_take(claims, "a", 4, 5), 15);
    store_claims_release(claims, "a", 1);
    assert_int_equal(store_claims_take(claims, "a", 1, 4), -1); /* the others lie by its first size */
    store_claims_release(claims, "a", 1);
    assert_int_equal(store_claims_take(claims, "a", 1, 5), 0);
    store_claims_release(claims, "b", 1);
    store_claims_end(claims, "a");
    store_claims_end(claims, "a");
    assert_int_equal(store_claims_take(claims, "a", 5, 5), -1);
    store_claims_begin(claims, "b");
    for (int i = 0; i < STORE_CLAIMS_MAX; i++) {
        snprintf(id, sizeof(id), "more-%d", i);
        store_claims_begin(claims, id);
    }
    assert_int_equal(store_claims_take(claims, "b", 1, 5), -1); /* forgotten */
    assert_int_equal(store_claims_take(claims, "more-0", 1, INT64_MAX), -1);
    store_claims_free(claims);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_operations),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_tokens_come_back),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_lists_of_parts),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_claims),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
