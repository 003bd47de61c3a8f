/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/frame_stream.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"

struct taken {
    struct stream_header header;
    unsigned headers;
    struct strbuf data;
    bool refuse;
};

static int on_header(void *arg, const struct stream_header *header, struct error *err)
{
    struct taken *taken = arg;

    taken->header = *header;
    taken->headers++;
    return taken->refuse ? error_set(err, ERROR_TOO_LARGE, "no room") : 0;
}

static int on_data(void *arg, const char *data, size_t len, struct error *err)
{
    struct taken *taken = arg;

    UNUSED(err);
    strbuf_add(&taken->data, data, len);
    return 0;
}

static const struct frame_reader_ops ops = {.header = on_header, .data = on_data};
static const char *const pieces[] = {"hello ", "", "x", "a longer piece of data", "end"};

static void write_stream_checked(struct strbuf *out, bool ok, enum stream_digest_kind digest)
{
    struct frame_writer writer;
    struct stream_header header = {.method = STREAM_METHOD_XBSTREAM,
        .flavour = "mariadb",
        .server_version = "10.11.19-MariaDB",
        .estimate_bytes = 12345,
        .digest = digest};
    struct stream_trailer trailer = {.ok = ok, .gtid = "0-1-5", .error = "tool: it broke"};

    strbuf_init(out, KM_MIB);
    frame_writer_init(&writer);
    frame_writer_begin(&writer, &header, out);
    for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
        char head[FRAME_HEAD_BYTES];
        frame_writer_data(&writer, pieces[i], strlen(pieces[i]), head);
        strbuf_add(out, head, sizeof(head));
        strbuf_adds(out, pieces[i]);
    }
    frame_writer_end(&writer, &trailer, out);
    frame_writer_release(&writer);
}

static void write_stream(struct strbuf *out, bool ok)
{
    write_stream_checked(out, ok, STREAM_DIGEST_POLY1305);
}

/* Feeds in steps of `step` bytes; 0 if the stream was accepted to its end. */
static int read_stream(const char *bytes, size_t len, size_t step, struct taken *taken, struct error *err)
{
    struct frame_reader reader;
    struct stream_trailer trailer = {0};
    int rc = 0;

    strbuf_reset(&taken->data);
    taken->headers = 0;
    frame_reader_init(&reader, &ops, taken);
    for (size_t at = 0; at < len && rc == 0; at += step)
        rc = frame_reader_feed(&reader, bytes + at, MIN_OF(step, len - at), err);
    if (rc == 0)
        rc = frame_reader_finish(&reader, &trailer, err);
    if (rc == 0) {
        assert_string_equal(trailer.gtid, "0-1-5");
        assert_true(trailer.bytes == taken->data.len);
    }
    frame_reader_release(&reader);
    return rc;
}

static void test_whole_in_any_pieces(void **state)
{
    static const size_t steps[] = {1, 2, 3, 5, 7, 64, 100000};
    struct taken taken = {0};
    struct error err = ERROR_INIT;

    UNUSED(state);
    strbuf_init(&taken.data, KM_MIB);
    for (size_t i = 0; i < 2 * ARRAY_LEN(steps); i++) {
        _cleanup_(strbuf_release) struct strbuf stream;
        write_stream_checked(&stream, true, (enum stream_digest_kind)(i % 2));
        assert_int_equal(read_stream(stream.buf, stream.len, steps[i / 2], &taken, &err), 0);
        assert_int_equal(taken.header.digest, i % 2);
        assert_string_equal(taken.data.buf, "hello xa longer piece of dataend");
        assert_int_equal(taken.headers, 1);
        assert_int_equal(taken.header.method, STREAM_METHOD_XBSTREAM);
        assert_string_equal(taken.header.flavour, "mariadb");
        assert_true(taken.header.estimate_bytes == 12345);
    }
    strbuf_release(&taken.data);
}

/* I8: wherever it is cut, it is not complete. */
static void test_truncated_anywhere(void **state)
{
    _cleanup_(strbuf_release) struct strbuf stream;
    struct taken taken = {0};

    UNUSED(state);
    strbuf_init(&taken.data, KM_MIB);
    write_stream(&stream, true);
    for (size_t len = 0; len < stream.len; len++) {
        struct error err = ERROR_INIT;
        assert_int_equal(read_stream(stream.buf, len, 4096, &taken, &err), -1);
        assert_int_equal(err.kind, ERROR_PROTOCOL);
    }
    strbuf_release(&taken.data);
}

/* One bit of the data or of what frames it: refused. */
static void flip_all(enum stream_digest_kind digest)
{
    _cleanup_(strbuf_release) struct strbuf stream;
    struct taken taken = {0};

    strbuf_init(&taken.data, KM_MIB);
    write_stream_checked(&stream, true, digest);
    const char *first_data = memchr(stream.buf, '}', stream.len);
    assert_non_null(first_data);
    const char *trailer = memrchr(stream.buf, 0x7b, stream.len);
    assert_non_null(trailer);
    for (const char *at = first_data + 1; at < trailer; at++) {
        for (int bit = 0; bit < 8; bit++) {
            _cleanup_(freep) char *copy = xmemdup(stream.buf, stream.len);
            copy[at - stream.buf] = (char)(copy[at - stream.buf] ^ (1 << bit));
            assert_int_equal(read_stream(copy, stream.len, 4096, &taken, NULL), -1);
        }
    }
    strbuf_release(&taken.data);
}

static void test_flipped_anywhere(void **state)
{
    UNUSED(state);
    flip_all(STREAM_DIGEST_SHA256);
    flip_all(STREAM_DIGEST_POLY1305);
}

/* Old receivers ask for nothing and get what they know: the same bytes as ever. */
static void test_the_plain_form_stays(void **state)
{
    _cleanup_(strbuf_release) struct strbuf stream;

    UNUSED(state);
    write_stream_checked(&stream, true, STREAM_DIGEST_SHA256);
    assert_null(memmem(stream.buf, stream.len, "digest", 6));
    assert_non_null(memmem(
        stream.buf, stream.len, "\"sha256\":\"f702e0a0a68c34f46bbfa7d5c2237185064cd3247f1f7f19a919ff807beec144\"", 75));
}

/* RFC 8439, 2.5.2. */
static void test_poly1305(void **state)
{
    static const char text[] = "Cryptographic Forum Research Group";
    struct stream_digest digest;
    char hex[STREAM_DIGEST_HEX_SIZE];

    UNUSED(state);
    stream_digest_init(&digest);
    assert_int_equal(stream_digest_use_poly1305(&digest, "85d6be"), -1);
    assert_int_equal(
        stream_digest_use_poly1305(&digest, "85d6be7857556d337f4452fe42d506a80103808afb0db2fd4abff6af4149f51b"), 0);
    stream_digest_add(&digest, text, 5);
    stream_digest_add(&digest, text + 5, sizeof(text) - 6);
    stream_digest_hex(&digest, hex);
    assert_string_equal(hex, "a8061dc1305136c6c22b8baf0c0127a9");
    stream_digest_release(&digest);
}

static void test_bad_streams(void **state)
{
    /* clang-format off */
    static const struct { const char *bytes; size_t len; const char *says; } table[] = {
        {"HTTP/1.1 200", 12, "no stream"},
        {FRAME_MAGIC "D\0\0\0\1x", 14, "type 0x44"},
        {FRAME_MAGIC "T\0\0\0\2{}", 15, "type 0x54"},
        {FRAME_MAGIC "H\0\0\0\2{}H\0\0\0\2{}", 22, "type 0x48"},
        {FRAME_MAGIC "H\0\0\0\2{}X\0\0\0\2{}", 22, "type 0x58"},
        {FRAME_MAGIC "H\0\0\0\0", 13, "frame of 0 bytes"},
        {FRAME_MAGIC "H\0\1\100\1", 13, "frame of 81921 bytes"},
        {FRAME_MAGIC "H\377\377\377\377", 13, "frame of 4294967295 bytes"},
        {FRAME_MAGIC "H\0\0\0\2{}D\0\20\0\1", 20, "frame of 1048577 bytes"},
        {FRAME_MAGIC "H\0\0\0\2[]", 15, "no JSON object"},
        {FRAME_MAGIC "H\0\0\0\2{,", 15, "own words"},
        {FRAME_MAGIC "H\0\0\0\2{}T\0\0\0\2{}", 22, "could not complete the copy"},
        {FRAME_MAGIC "H\0\0\0\2{}T\0\0\0\2{}T", 23, "after its trailer"},
        {FRAME_MAGIC "H\0\0\0\2{}T\0\0\0\17{\"status\":\"ok\"}", 35, "sha256"},
        {FRAME_MAGIC "H\0\0\0\20{\"digest\":\"md5\"}", 29, "no digest and key"},
        {FRAME_MAGIC "H\0\0\0\25{\"digest\":\"poly1305\"}", 34, "no digest and key"},
        {FRAME_MAGIC "H\0\0\0\2{}T\0\0\0\31{\"status\":\"ok\",\"bytes\":9}", 45, "the donor sent 9"},
    };
    /* clang-format on */
    struct taken taken = {0};

    UNUSED(state);
    strbuf_init(&taken.data, KM_MIB);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct error err = ERROR_INIT;
        assert_int_equal(read_stream(table[i].bytes, table[i].len, 4096, &taken, &err), -1);
        if (!strstr(err.message, table[i].says))
            fail_msg("%zu: %s", i, err.message);
    }
    strbuf_release(&taken.data);
}

static void test_a_failed_donor_says_why(void **state)
{
    _cleanup_(strbuf_release) struct strbuf stream;
    struct taken taken = {0};
    struct error err = ERROR_INIT;

    UNUSED(state);
    strbuf_init(&taken.data, KM_MIB);
    write_stream(&stream, false);
    assert_int_equal(read_stream(stream.buf, stream.len, 4096, &taken, &err), -1);
    assert_int_equal(err.kind, ERROR_UNAVAILABLE);
    assert_non_null(strstr(err.message, "tool: it broke"));
    strbuf_release(&taken.data);
}

static void test_a_receiver_can_refuse(void **state)
{
    _cleanup_(strbuf_release) struct strbuf stream;
    struct taken taken = {.refuse = true};
    struct error err = ERROR_INIT;

    UNUSED(state);
    strbuf_init(&taken.data, KM_MIB);
    write_stream(&stream, true);
    assert_int_equal(read_stream(stream.buf, stream.len, 4096, &taken, &err), -1);
    assert_string_equal(err.message, "no room");
    assert_int_equal(taken.data.len, 0);
    strbuf_release(&taken.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_in_any_pieces),
        cmocka_unit_test(test_truncated_anywhere),
        cmocka_unit_test(test_flipped_anywhere),
        cmocka_unit_test(test_the_plain_form_stays),
        cmocka_unit_test(test_poly1305),
        cmocka_unit_test(test_bad_streams),
        cmocka_unit_test(test_a_failed_donor_says_why),
        cmocka_unit_test(test_a_receiver_can_refuse),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
