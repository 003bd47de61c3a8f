/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/s3_xml.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/strbuf.h"

static void note_open(void *arg, const char *path)
{
    strbuf_addf(arg, "<%s>", path);
}

static void note_close(void *arg, const char *path, const char *text)
{
    strbuf_addf(arg, "[%s=%s]", path, text);
}

static int walk(const char *text, size_t len, struct strbuf *out, struct error *err)
{
    static const struct s3_xml_ops ops = {.open = note_open, .close = note_close};
    char *copy = xmemdup(text, len); /* exact, so that the sanitizer sees every step beyond */
    const int rc = s3_xml_walk(copy, len, &ops, out, err);
    free(copy);
    return rc;
}

static const struct {
    const char *text;
    const char *events; /* NULL: refused */
} documents[] = {
    {"<a/>", "<a>[a=]"},
    {"<a></a>", "<a>[a=]"},
    {" \n<?xml version=\"1.0\"?>\n<a>x</a>\n ", "<a>[a=x]"},
    {"<?xml version='1.0'?>   \n   <a x='>' y=\"&lt;/a>\"  >x</a >", "<a>[a=x]"},
    {"<a><b>1</b><c/><b>2</b> </a>", "<a><a/b>[a/b=1]<a/c>[a/c=]<a/b>[a/b=2][a= ]"},
    {"<s3:a xmlns:s3='u'><s3:b>1</s3:b></s3:a>", "<a><a/b>[a/b=1][a=]"},
    {"<a>&lt;&amp;&gt;&quot;&apos;&#65;&#x42;&#xe4;&#8364;&#x1F600;</a>",
        "<a>[a=<&>\"'AB\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80]"},
    {"<a>1<!-- </a> -->2<![CDATA[<b>&amp;]]>3<?x </a> ?>4</a>", "<a>[a=12<b>&amp;34]"},
    {"<a><aa>x</aa></a>", "<a><a/aa>[a/aa=x][a=]"},
    {"", NULL},
    {"   ", NULL},
    {"text", NULL},
    {"<a>", NULL},
    {"<a", NULL},
    {"<a></a", NULL},
    {"<a></b>", NULL},
    {"<a></aa>", NULL},
    {"<aa></a>", NULL},
    {"<a><b></a></b>", NULL},
    {"</a>", NULL},
    {"<a/><b/>", NULL},
    {"<a/>x", NULL},
    {"<a/>&amp;", NULL},
    {"<a>&nbsp;</a>", NULL},
    {"<a>&amp</a>", NULL},
    {"<a>&#0;</a>", NULL},
    {"<a>&#xd800;</a>", NULL},
    {"<a>&#x110000;</a>", NULL},
    {"<a>&#;</a>", NULL},
    {"<a>&#x;</a>", NULL},
    {"<a>&#12a;</a>", NULL},
    {"<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", NULL},
    {"<a><!-- </a>", NULL},
    {"<a><![CDATA[ </a>", NULL},
    {"<a x='</a>'></a>", NULL},
    {"<a>&#1;</a>", NULL}, /* XML 1.0 does not have it */
    {"<a>\xff</a>", NULL},
    {"<a ' ></a>", NULL},
    {"<a <b/></a>", NULL},
    {"<>x</>", NULL},
    {"<1 2", NULL},
    {"<a:></a:>", NULL},
    {"<html><body>Bad gateway<br></body></html>", NULL},
};

static void test_documents(void **state)
{
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(documents); i++) {
        struct error err = ERROR_INIT;
        struct strbuf events;
        strbuf_init(&events, 8192);
        const int rc = walk(documents[i].text, strlen(documents[i].text), &events, &err);
        if (documents[i].events && (rc < 0 || !str_eq(events.buf, documents[i].events)))
            fail_msg("%s: %s %s", documents[i].text, events.buf, err.message);
        if (!documents[i].events && (rc == 0 || err.kind != ERROR_PROTOCOL))
            fail_msg("%s: taken as %s", documents[i].text, events.buf);
        strbuf_release(&events);
    }
}

static void test_bounds(void **state)
{
    struct strbuf text;
    struct strbuf events;
    UNUSED(state);
    strbuf_init(&text, KM_MIB);
    strbuf_init(&events, KM_MIB);
    for (unsigned depth = S3_XML_DEPTH_MAX; depth <= S3_XML_DEPTH_MAX + 1; depth++) {
        strbuf_reset(&text);
        for (unsigned i = 0; i < depth; i++)
            strbuf_adds(&text, "<e>");
        for (unsigned i = 0; i < depth; i++)
            strbuf_adds(&text, "</e>");
        assert_int_equal(walk(text.buf, text.len, &events, NULL), depth > S3_XML_DEPTH_MAX ? -1 : 0);
    }
    for (size_t len = S3_XML_TEXT_MAX; len <= S3_XML_TEXT_MAX + 1; len++) {
        strbuf_reset(&text);
        strbuf_adds(&text, "<e>");
        for (size_t i = 0; i < len; i++)
            strbuf_addc(&text, 'x');
        strbuf_adds(&text, "</e>");
        assert_int_equal(walk(text.buf, text.len, &events, NULL), len > S3_XML_TEXT_MAX ? -1 : 0);
    }
    strbuf_reset(&text);
    strbuf_addc(&text, '<');
    for (size_t i = 0; i < 1000; i++)
        strbuf_addc(&text, 'n');
    strbuf_adds(&text, "/>");
    assert_int_equal(walk(text.buf, text.len, &events, NULL), -1);
    assert_int_equal(walk("<a>\0</a>", 8, &events, NULL), -1);
    strbuf_release(&text);
    strbuf_release(&events);
}

/* ---- answers ---- */

/* Cut off anywhere, none of them is believed. */
static const char error_text[] =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    "<Error><Code>AuthorizationHeaderMalformed</Code><Message>the region 'a' is wrong;\n"
    "expecting 'eu-central-1'</Message><Region>eu-central-1</Region><RequestId>1</RequestId></Error>";

static void test_error(void **state)
{
    struct object_refusal got;
    UNUSED(state);
    assert_int_equal(s3_xml_error(error_text, strlen(error_text), &got, NULL), 0);
    assert_string_equal(got.code, "AuthorizationHeaderMalformed");
    assert_string_equal(got.message, "the region 'a' is wrong; expecting 'eu-central-1'");
    assert_string_equal(got.region, "eu-central-1");
    assert_string_equal(got.endpoint, "");
    static const char skew[] = "<Error><Code>RequestTimeTooSkewed</Code><ServerTime>2026-01-02T03:04:05Z</ServerTime>"
                               "<Endpoint>b.s3.eu.example</Endpoint></Error>";
    assert_int_equal(s3_xml_error(skew, strlen(skew), &got, NULL), 0);
    assert_string_equal(got.server_time, "2026-01-02T03:04:05Z");
    assert_string_equal(got.endpoint, "b.s3.eu.example");
    assert_string_equal(got.region, "");
    for (size_t len = 0; len < strlen(error_text); len++)
        assert_int_equal(s3_xml_error(error_text, len, &got, NULL), -1);
    assert_int_equal(s3_xml_error("<Error/>", 8, &got, NULL), -1);
    assert_int_equal(s3_xml_error("<html><Code>x</Code></html>", 27, &got, NULL), -1);
    /* Longer than our fields. */
    struct strbuf text;
    strbuf_init(&text, 16384);
    strbuf_adds(&text, "<Error><Code>");
    for (int i = 0; i < 500; i++)
        strbuf_addc(&text, 'c');
    strbuf_adds(&text, "</Code></Error>");
    assert_int_equal(s3_xml_error(text.buf, text.len, &got, NULL), 0);
    assert_int_equal(strlen(got.code), sizeof(got.code) - 1);
    strbuf_release(&text);
}

struct entries {
    struct strbuf text;
    int left; /* that are wanted */
};

static int on_entry(void *arg, const struct object_found *entry)
{
    struct entries *entries = arg;
    strbuf_addf(&entries->text, "%s%s %llu %lld;", entry->is_prefix ? "P " : "", entry->key,
        (unsigned long long)entry->bytes, (long long)entry->modified_ms);
    return --entries->left == 0 ? -1 : 0;
}

static const char list_text[] =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?><ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>b</Name>"
    "<Prefix>a/</Prefix><KeyCount>3</KeyCount><MaxKeys>3</MaxKeys><IsTruncated>true</IsTruncated>"
    "<NextContinuationToken>1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM=</NextContinuationToken>"
    "<Contents><Key>a/1&amp;2</Key><LastModified>2026-01-02T03:04:05.678Z</LastModified><ETag>&quot;x&quot;</ETag>"
    "<Size>18446744073709551610</Size><StorageClass>STANDARD</StorageClass><Owner><ID>1</ID></Owner></Contents>"
    "<Contents><Size>0</Size><Key>a/2</Key><LastModified>2026-01-02T03:04:05Z</LastModified></Contents>"
    "<CommonPrefixes><Prefix>a/b/</Prefix></CommonPrefixes></ListBucketResult>";
#define LISTED "a/1&2 18446744073709551610 1767323045678;a/2 0 1767323045000;P a/b/ 0 0;"

static int list(const char *text, size_t len, struct entries *entries, char **ret_token, struct error *err)
{
    char *copy = xmemdup(text, len);
    strbuf_reset(&entries->text);
    const int rc = s3_xml_objects(copy, len, on_entry, entries, ret_token, err);
    free(copy);
    return rc;
}

static void test_list(void **state)
{
    struct entries entries = {.left = 0};
    char *token = NULL;
    UNUSED(state);
    strbuf_init(&entries.text, 8192);
    assert_int_equal(list(list_text, strlen(list_text), &entries, &token, NULL), 0);
    assert_string_equal(entries.text.buf, LISTED);
    assert_string_equal(token, "1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM=");
    str_replace(&token, NULL);
    entries.left = 1;
    assert_int_equal(list(list_text, strlen(list_text), &entries, &token, NULL), 0);
    assert_string_equal(entries.text.buf, "a/1&2 18446744073709551610 1767323045678;");
    str_replace(&token, NULL);
    for (size_t len = 0; len < strlen(list_text); len++) {
        struct error err = ERROR_INIT;
        assert_int_equal(list(list_text, len, &entries, &token, &err), -1);
        assert_int_equal(err.kind, ERROR_PROTOCOL);
        assert_int_equal(entries.text.len, 0); /* nothing was handed out */
        assert_null(token);
    }
    strbuf_release(&entries.text);
}

#define LIST(inside)                                         \
    "<ListBucketResult><Contents><Key>a</Key><Size>1</Size>" \
    "<LastModified>2026-01-02T03:04:05Z</LastModified></Contents>" inside "</ListBucketResult>"
static const char *const bad_lists[] = {
    "<Other/>",
    LIST("<IsTruncated>true</IsTruncated>"),
    LIST("<IsTruncated>true</IsTruncated><NextContinuationToken></NextContinuationToken>"),
    LIST("<IsTruncated>maybe</IsTruncated>"),
    LIST("<Contents/>"),
    LIST("<Contents><Key>b</Key><Size>1</Size></Contents>"),
    LIST("<Contents><Key>b</Key><LastModified>2026-01-02T03:04:05Z</LastModified></Contents>"),
    LIST("<Contents><Key>b</Key><Size>-1</Size><LastModified>2026-01-02T03:04:05Z</LastModified></Contents>"),
    LIST(
        "<Contents><Key>b</Key><Size>18446744073709551616</Size><LastModified>2026-01-02T03:04:05Z</LastModified></Contents>"),
    LIST("<Contents><Key>b</Key><Size>1</Size><LastModified>yesterday</LastModified></Contents>"),
};

static void test_bad_lists(void **state)
{
    struct entries entries = {.left = 0};
    char *token = NULL;
    UNUSED(state);
    strbuf_init(&entries.text, 8192);
    for (size_t i = 0; i < ARRAY_LEN(bad_lists); i++) {
        if (list(bad_lists[i], strlen(bad_lists[i]), &entries, &token, NULL) == 0)
            fail_msg("taken: %s", bad_lists[i]);
        assert_int_equal(entries.text.len, 0);
    }
    assert_int_equal(list(LIST(""), strlen(LIST("")), &entries, &token, NULL), 0);
    assert_null(token);
    strbuf_release(&entries.text);
}

#define ENCODED(inside)                                                                                    \
    "<ListBucketResult><Contents><Key>a%01+b%2Bc%25</Key><Size>1</Size><LastModified>2026-01-02T03:04:05Z" \
    "</LastModified></Contents><CommonPrefixes><Prefix>x%0A/</Prefix></CommonPrefixes><IsTruncated>true"   \
    "</IsTruncated><NextContinuationToken>a%20b</NextContinuationToken>" inside "</ListBucketResult>"

/* What S3 is asked for: XML has no control characters. Wherever the page says so, and only then. */
static void test_encoded_keys(void **state)
{
    static const char encoded[] = ENCODED("<EncodingType>url</EncodingType>"), plain[] = ENCODED("");
    static const char bad[] =
        LIST("<Contents><Key>%0</Key><Size>1</Size><LastModified>2026-01-02T03:04:05Z</LastModified></Contents>"
             "<EncodingType>url</EncodingType>");
    struct entries entries = {.left = 0};
    char *token = NULL;
    UNUSED(state);
    strbuf_init(&entries.text, 8192);
    assert_int_equal(list(encoded, strlen(encoded), &entries, &token, NULL), 0);
    assert_string_equal(entries.text.buf, "a\x01 b+c% 1 1767323045000;P x\n/ 0 0;");
    assert_string_equal(token, "a%20b");
    str_replace(&token, NULL);
    assert_int_equal(list(plain, strlen(plain), &entries, &token, NULL), 0);
    assert_string_equal(entries.text.buf, "a%01+b%2Bc%25 1 1767323045000;P x%0A/ 0 0;");
    str_replace(&token, NULL);
    assert_int_equal(list(bad, strlen(bad), &entries, &token, NULL), -1);
    assert_int_equal(entries.text.len, 0);
    assert_int_equal(list(LIST("<EncodingType>base64</EncodingType>"),
                         strlen(LIST("<EncodingType>base64</EncodingType>")), &entries, &token, NULL),
        -1);
    strbuf_release(&entries.text);
}

static int on_upload(void *arg, const char *key, const char *id)
{
    strbuf_addf(arg, "%s=%s;", key, id);
    return 0;
}

static void test_uploads(void **state)
{
    static const char text[] =
        "<ListMultipartUploadsResult><Bucket>b</Bucket><KeyMarker/><UploadIdMarker/><NextKeyMarker>k2</NextKeyMarker>"
        "<NextUploadIdMarker>i2</NextUploadIdMarker><MaxUploads>2</MaxUploads><IsTruncated>true</IsTruncated>"
        "<Upload><Key>k1</Key><UploadId>i1</UploadId><Initiator><ID>arn</ID></Initiator></Upload>"
        "<Upload><UploadId>i2</UploadId><Key>k2</Key></Upload></ListMultipartUploadsResult>";
    struct strbuf seen;
    char *key = NULL;
    char *id = NULL;
    UNUSED(state);
    strbuf_init(&seen, 8192);
    assert_int_equal(s3_xml_uploads(text, strlen(text), on_upload, &seen, &key, &id, NULL), 0);
    assert_string_equal(seen.buf, "k1=i1;k2=i2;");
    assert_string_equal(key, "k2");
    assert_string_equal(id, "i2");
    free(key);
    free(id);
    key = id = NULL;
    strbuf_reset(&seen);
    for (size_t len = 0; len < strlen(text); len++)
        assert_int_equal(s3_xml_uploads(text, len, on_upload, &seen, &key, &id, NULL), -1);
    static const char none[] = "<ListMultipartUploadsResult><Upload><Key>k1</Key></Upload></ListMultipartUploadsResult>";
    assert_int_equal(s3_xml_uploads(none, strlen(none), on_upload, &seen, &key, &id, NULL), -1);
    assert_int_equal(seen.len, 0);
    strbuf_release(&seen);
}

static void test_upload_id(void **state)
{
    static const char text[] =
        "<InitiateMultipartUploadResult><Bucket>b</Bucket><Key>k</Key><UploadId>VXBsb2FkIElE&amp;"
        "</UploadId></InitiateMultipartUploadResult>";
    char *id = NULL;
    UNUSED(state);
    assert_int_equal(s3_xml_upload_id(text, strlen(text), &id, NULL), 0);
    assert_string_equal(id, "VXBsb2FkIElE&");
    str_replace(&id, NULL);
    for (size_t len = 0; len < strlen(text); len++)
        assert_int_equal(s3_xml_upload_id(text, len, &id, NULL), -1);
    assert_int_equal(s3_xml_upload_id("<InitiateMultipartUploadResult/>", 32, &id, NULL), -1);
    assert_null(id);
}

static void test_completed(void **state)
{
    /* S3 sends blanks while it works, and may then say that it failed. */
    static const char good[] = "<?xml version=\"1.0\"?>  \n \n <CompleteMultipartUploadResult><Location>x</Location>"
                               "<ETag>\"e-2\"</ETag></CompleteMultipartUploadResult>";
    static const char bad[] = "   <?xml version=\"1.0\"?>  <Error><Code>InternalError</Code><Message>We encountered an "
                              "internal error. Please try again.</Message></Error>";
    struct object_refusal refusal = {.code = ""};
    UNUSED(state);
    assert_int_equal(s3_xml_completed(good, strlen(good), &refusal, NULL), 0);
    assert_int_equal(s3_xml_completed(bad, strlen(bad), &refusal, NULL), 1);
    assert_string_equal(refusal.code, "InternalError");
    for (size_t len = 0; len < strlen(good); len++)
        assert_int_equal(s3_xml_completed(good, len, &refusal, NULL), -1);
    for (size_t len = 0; len < strlen(bad); len++)
        assert_int_equal(s3_xml_completed(bad, len, &refusal, NULL), -1);
    assert_int_equal(s3_xml_completed("<Other/>", 8, &refusal, NULL), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_documents),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_error),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_bad_lists),
        cmocka_unit_test(test_encoded_keys),
        cmocka_unit_test(test_uploads),
        cmocka_unit_test(test_upload_id),
        cmocka_unit_test(test_completed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
