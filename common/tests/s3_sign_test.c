/* SPDX-License-Identifier: Apache-2.0 */
/* Signature Version 4: the examples that AWS publishes, for S3 and of its test suite. */
#include "common/base.h"

#include "common/s3_sign.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/tls.h"

/* https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html, "Examples: Signature Calculations" */
#define ACCESS_KEY "AKIAIOSFODNN7EXAMPLE"
#define SECRET_KEY "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
#define HOST "examplebucket.s3.amazonaws.com"
#define TIME "20130524T000000Z"
#define NOTHING "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define WELCOME "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072" /* "Welcome to Amazon S3." */

struct example {
    const char *method, *path, *query, *payload_sha256;
    struct s3_header headers[6];
    size_t header_count;
    const char *canonical;      /* the whole text */
    const char *canonical_hash; /* last line of the string to sign */
    const char *signature;
    const char *signed_names;
};

static const struct example examples[] = {
    {.method = "GET",
        .path = "/test.txt",
        .query = "",
        .payload_sha256 = NOTHING,
        .headers = {{"x-amz-date", TIME}, {"host", HOST}, {"range", "bytes=0-9"}, {"x-amz-content-sha256", NOTHING}},
        .header_count = 4,
        .canonical = "GET\n/test.txt\n\nhost:" HOST "\nrange:bytes=0-9\nx-amz-content-sha256:" NOTHING
                     "\nx-amz-date:" TIME "\n\nhost;range;x-amz-content-sha256;x-amz-date\n" NOTHING,
        .canonical_hash = "7344ae5b7ee6c3e7e6b0fe0640412a37625d1fbfff95c48bbb2dc43964946972",
        .signature = "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
        .signed_names = "host;range;x-amz-content-sha256;x-amz-date"},
    {.method = "PUT",
        .path = "/test%24file.text",
        .query = "",
        .payload_sha256 = WELCOME,
        .headers = {{"date", "Fri, 24 May 2013 00:00:00 GMT"}, {"host", HOST}, {"x-amz-date", TIME},
            {"x-amz-storage-class", "REDUCED_REDUNDANCY"}, {"x-amz-content-sha256", WELCOME}},
        .header_count = 5,
        .canonical = "PUT\n/test%24file.text\n\ndate:Fri, 24 May 2013 00:00:00 GMT\nhost:" HOST
                     "\nx-amz-content-sha256:" WELCOME "\nx-amz-date:" TIME "\nx-amz-storage-class:REDUCED_REDUNDANCY\n\n"
                     "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class\n" WELCOME,
        .canonical_hash = "9e0e90d9c76de8fa5b200d8c849cd5b8dc7a3be3951ddb7f6a76b4158342019d",
        .signature = "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
        .signed_names = "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class"},
    {.method = "GET",
        .path = "/",
        .query = "lifecycle=",
        .payload_sha256 = NOTHING,
        .headers = {{"host", HOST}, {"x-amz-date", TIME}, {"x-amz-content-sha256", NOTHING}},
        .header_count = 3,
        .canonical = "GET\n/\nlifecycle=\nhost:" HOST "\nx-amz-content-sha256:" NOTHING "\nx-amz-date:" TIME
                     "\n\nhost;x-amz-content-sha256;x-amz-date\n" NOTHING,
        .canonical_hash = "9766c798316ff2757b517bc739a67f6213b4ab36dd5da2f94eaebf79c77395ca",
        .signature = "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
        .signed_names = "host;x-amz-content-sha256;x-amz-date"},
    {.method = "GET",
        .path = "/",
        .query = "max-keys=2&prefix=J",
        .payload_sha256 = NOTHING,
        .headers = {{"host", HOST}, {"x-amz-date", TIME}, {"x-amz-content-sha256", NOTHING}},
        .header_count = 3,
        .canonical = "GET\n/\nmax-keys=2&prefix=J\nhost:" HOST "\nx-amz-content-sha256:" NOTHING "\nx-amz-date:" TIME
                     "\n\nhost;x-amz-content-sha256;x-amz-date\n" NOTHING,
        .canonical_hash = "df57d21db20da04d7fa30298dd4488ba3a2b47ca3a489c74750e0f1e7df1b9b7",
        .signature = "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
        .signed_names = "host;x-amz-content-sha256;x-amz-date"},
};

static struct s3_signable signable(const struct example *example)
{
    return (struct s3_signable){.method = example->method,
        .path = example->path,
        .query = example->query,
        .headers = example->headers,
        .header_count = example->header_count,
        .payload_sha256 = example->payload_sha256,
        .time = TIME,
        .region = "us-east-1"};
}

static void expect_text(void (*make)(const struct s3_signable *request, struct strbuf *out),
    const struct s3_signable *request, const char *expected)
{
    struct strbuf out;
    strbuf_init(&out, 8192);
    make(request, &out);
    assert_string_equal(out.buf, expected);
    strbuf_release(&out);
}

static void test_published_examples(void **state)
{
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(examples); i++) {
        const struct example *example = &examples[i];
        const struct s3_signable request = signable(example);
        struct strbuf text;
        strbuf_init(&text, 8192);
        expect_text(s3_canonical_request, &request, example->canonical);
        strbuf_addf(
            &text, "AWS4-HMAC-SHA256\n" TIME "\n20130524/us-east-1/s3/aws4_request\n%s", example->canonical_hash);
        expect_text(s3_string_to_sign, &request, text.buf);
        strbuf_reset(&text);
        s3_authorization(&request, ACCESS_KEY, SECRET_KEY, &text);
        struct strbuf expected;
        strbuf_init(&expected, 8192);
        strbuf_addf(&expected,
            "AWS4-HMAC-SHA256 Credential=" ACCESS_KEY
            "/20130524/us-east-1/s3/aws4_request,SignedHeaders=%s,Signature=%s",
            example->signed_names, example->signature);
        assert_string_equal(text.buf, expected.buf);
        strbuf_release(&expected);
        strbuf_release(&text);
    }
}

static void test_hash_of_the_example(void **state)
{
    char hex[65];
    UNUSED(state);
    tls_sha256_hex("Welcome to Amazon S3.", strlen("Welcome to Amazon S3."), hex);
    assert_string_equal(hex, WELCOME);
    tls_sha256_hex("", 0, hex);
    assert_string_equal(hex, NOTHING);
}

/* AWS's aws-sig-v4-test-suite, get-header-value-trim: blanks at the ends go, those inside become one. */
static void test_blanks_in_headers(void **state)
{
    UNUSED(state);
    const struct s3_header headers[] = {
        {"my-header2", " \"a   b   c\" "}, {"host", "example.amazonaws.com"}, {"my-header1", " value1\t"}};
    const struct s3_signable request = {.method = "GET",
        .path = "/",
        .query = "",
        .headers = headers,
        .header_count = 3,
        .payload_sha256 = NOTHING,
        .time = TIME,
        .region = "us-east-1"};
    expect_text(s3_canonical_request, &request,
        "GET\n/\n\nhost:example.amazonaws.com\nmy-header1:value1\nmy-header2:\"a b c\"\n\nhost;my-header1;my-header2\n" NOTHING);
}

static void test_encoding(void **state)
{
    struct strbuf out;
    UNUSED(state);
    strbuf_init(&out, 1000);
    s3_add_path(&out, "/a b/c+d%/\xc3\xa4~-_.$");
    assert_string_equal(out.buf, "/a%20b/c%2Bd%25/%C3%A4~-_.%24");
    strbuf_reset(&out);
    s3_query_add(&out, "delimiter", "/");
    s3_query_add(&out, "prefix", "a b=&\xc3\xa4");
    s3_query_add(&out, "uploads", "");
    assert_string_equal(out.buf, "delimiter=%2F&prefix=a%20b%3D%26%C3%A4&uploads=");
    strbuf_release(&out);
}

static void test_time(void **state)
{
    char text[S3_TIME_SIZE];
    UNUSED(state);
    s3_format_time(1369353600999, text);
    assert_string_equal(text, TIME);
    s3_format_time(951782399000, text);
    assert_string_equal(text, "20000228T235959Z");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_examples),
        cmocka_unit_test(test_hash_of_the_example),
        cmocka_unit_test(test_blanks_in_headers),
        cmocka_unit_test(test_encoding),
        cmocka_unit_test(test_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
