/* SPDX-License-Identifier: Apache-2.0 */
/* The sealed stream: what OpenSSL's maker says of keys (values from an independent implementation), round trips, and
 * everything that must be refused. */
#include "common/base.h"

#include "common/backup_seal.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/tls.h"

#define STREAM_MAX ((size_t)(4 * KM_MIB))

static unsigned char key[BACKUP_KEY_BYTES];
static unsigned char salt[BACKUP_SALT_BYTES];

static int setup(void **state)
{
    UNUSED(state);
    for (unsigned i = 0; i < 32; i++) {
        key[i] = (unsigned char)i;
        salt[i] = (unsigned char)(32 + i);
    }
    return 0;
}

static void assert_hex(const void *data, size_t len, const char *hex)
{
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, STREAM_MAX);
    for (size_t i = 0; i < len; i++)
        strbuf_addf(&text, "%02x", ((const unsigned char *)data)[i]);
    assert_string_equal(text.buf, hex);
}

static void seal(const char *data, size_t len, size_t step, struct strbuf *out)
{
    struct seal_writer *writer = seal_writer_new(key, salt);

    strbuf_init(out, STREAM_MAX);
    for (size_t at = 0; at < len; at += step)
        seal_writer_add(writer, data + at, MIN_OF(step, len - at), out);
    seal_writer_end(writer, out);
    seal_writer_free(writer);
    assert_false(out->overflowed);
}

static int take(void *arg, const char *data, size_t len, struct error *err)
{
    UNUSED(err);
    strbuf_add(arg, data, len);
    return 0;
}

/* 0 if it was accepted to its end; *out has what was handed on. */
static int open_stream(const char *data, size_t len, size_t step, struct strbuf *out, struct error *err)
{
    struct seal_reader *reader = seal_reader_new(key, salt);
    int rc = 0;

    strbuf_reset(out);
    for (size_t at = 0; at < len && rc == 0; at += step)
        rc = seal_reader_feed(reader, data + at, MIN_OF(step, len - at), take, out, err);
    if (rc == 0)
        rc = seal_reader_end(reader, err);
    seal_reader_free(reader);
    return rc;
}

static char *pattern(size_t len)
{
    char *data = xmalloc(len + 1);

    for (size_t i = 0; i < len; i++)
        data[i] = (char)(i * 2654435761u >> 13);
    return data;
}

static void test_known_values(void **state)
{
    unsigned char derived[BACKUP_KEY_BYTES];
    char id[17];
    char sha256[65];
    _cleanup_(strbuf_release) struct strbuf out;
    _cleanup_(freep) char *text = xmalloc(SEAL_FRAME_MAX + 1);

    UNUSED(state);
    backup_key_derive(key, salt, "kube-mysql backup 1", derived);
    assert_hex(derived, 32, "c41258a808d552a3b2acba1fa2dbedd5b61861f42309b35f19cf96b96a8c373b");
    backup_key_derive(key, salt, "kube-mysql manifest 1", derived);
    assert_hex(derived, 32, "5a8c4256c0b59423c36dd7d24ff74f993e6f0ef7ee73cfcafc2299f34fdd4146");
    backup_key_id(key, id);
    assert_string_equal(id, "afc55239d0cd6092");
    seal("hello", 5, 5, &out);
    assert_hex(out.buf, out.len, "000000050b6081197cd6af5f813f703d0ac96d30c69d6372f3");
    strbuf_release(&out);
    seal("", 0, 1, &out);
    assert_hex(out.buf, out.len, "00000000051545d6d48cc2ad0f2f025c967339fa");
    strbuf_release(&out);
    memset(text, 'a', SEAL_FRAME_MAX);
    text[SEAL_FRAME_MAX] = 'b';
    seal(text, SEAL_FRAME_MAX + 1, 1000, &out);
    tls_sha256_hex(out.buf, out.len, sha256);
    assert_string_equal(sha256, "c25afc62d3ba8bea8b11d2f72c403e14a875d1c517eb75da917c2c728fc0b3cb");
}

static void test_round_trips_at_borders(void **state)
{
    static const size_t sizes[] = {0, 1, SEAL_FRAME_MAX - 1, SEAL_FRAME_MAX, SEAL_FRAME_MAX + 1, 2 * SEAL_FRAME_MAX - 1,
        2 * SEAL_FRAME_MAX, 2 * SEAL_FRAME_MAX + 1, 5 * SEAL_FRAME_MAX + 77};
    static const size_t steps[] = {1, 7, 4096, SEAL_FRAME_MAX, SEAL_FRAME_MAX + SEAL_OVERHEAD, STREAM_MAX};

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        _cleanup_(freep) char *data = pattern(sizes[i]);
        _cleanup_(strbuf_release) struct strbuf sealed;
        _cleanup_(strbuf_release) struct strbuf opened;
        seal(data, sizes[i], 1 + i * 5003, &sealed);
        assert_int_equal(sealed.len, sizes[i] + (sizes[i] / SEAL_FRAME_MAX + 1) * SEAL_OVERHEAD);
        strbuf_init(&opened, STREAM_MAX);
        for (size_t j = 0; j < ARRAY_LEN(steps); j++) {
            assert_int_equal(open_stream(sealed.buf, sealed.len, steps[j], &opened, NULL), 0);
            assert_int_equal(opened.len, sizes[i]);
            assert_memory_equal(opened.buf, data, sizes[i]);
        }
    }
}

/* Never 0, and never a byte that was not written there. */
static void assert_refused(const struct strbuf *stream, const char *data, size_t len)
{
    _cleanup_(strbuf_release) struct strbuf opened;
    struct error err = ERROR_INIT;

    strbuf_init(&opened, STREAM_MAX);
    assert_int_equal(open_stream(stream->buf, stream->len, STREAM_MAX, &opened, &err), -1);
    assert_int_equal(err.kind, ERROR_PROTOCOL);
    assert_true(opened.len <= len);
    assert_memory_equal(opened.buf, data, opened.len);
}

static void test_every_flip_is_refused(void **state)
{
    size_t len = SEAL_FRAME_MAX + 300;
    _cleanup_(freep) char *data = pattern(len);
    _cleanup_(strbuf_release) struct strbuf sealed;

    UNUSED(state);
    seal(data, len, len, &sealed);
    /* All of the heads, the tags and the short frame; a sample of the long one. */
    for (size_t at = 0; at < sealed.len; at += at < 64 || at > SEAL_FRAME_MAX - 64 ? 1 : 211) {
        for (unsigned bit = 0; bit < 8; bit += at < 4 || at > SEAL_FRAME_MAX ? 1 : 5) {
            sealed.buf[at] = (char)(sealed.buf[at] ^ (1 << bit));
            assert_refused(&sealed, data, len);
            sealed.buf[at] = (char)(sealed.buf[at] ^ (1 << bit));
        }
    }
}

static void test_every_truncation_is_refused(void **state)
{
    size_t len = SEAL_FRAME_MAX + 50;
    _cleanup_(freep) char *data = pattern(len);
    _cleanup_(strbuf_release) struct strbuf sealed;

    UNUSED(state);
    seal(data, len, len, &sealed);
    size_t whole = sealed.len;
    for (size_t cut = 0; cut < whole; cut += cut < 64 || cut > SEAL_FRAME_MAX ? 1 : 509) {
        sealed.len = cut;
        assert_refused(&sealed, data, len);
    }
    sealed.len = whole;
}

/* Frames of the stream in this order. */
static void assert_order_refused(const char *data, size_t len, const char *order)
{
    _cleanup_(strbuf_release) struct strbuf sealed;
    _cleanup_(strbuf_release) struct strbuf other;
    size_t frame = SEAL_FRAME_MAX + SEAL_OVERHEAD;

    seal(data, len, len, &sealed);
    strbuf_init(&other, STREAM_MAX);
    for (; *order; order++) {
        size_t at = (size_t)(*order - '0') * frame;
        strbuf_add(&other, sealed.buf + at, MIN_OF(frame, sealed.len - at));
    }
    assert_refused(&other, data, len);
}

static void test_frames_moved(void **state)
{
    size_t len = 3 * SEAL_FRAME_MAX + 10; /* frames 0, 1, 2 and the last, 3 */
    _cleanup_(freep) char *data = pattern(len);
    static const char *const orders[] = {
        "1023", "0213", "01233", "01230", "00123", "01123", "013", "03", "3", "123", "0132", "012"};

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(orders); i++)
        assert_order_refused(data, len, orders[i]);
}

static void test_foreign_streams(void **state)
{
    _cleanup_(freep) char *data = pattern(100);
    _cleanup_(strbuf_release) struct strbuf sealed;

    UNUSED(state);
    seal(data, 100, 100, &sealed);
    salt[5] ^= 1;
    assert_refused(&sealed, data, 100);
    salt[5] ^= 1;
    key[31] ^= 0x80;
    assert_refused(&sealed, data, 100);
    key[31] ^= 0x80;
    strbuf_addc(&sealed, 'x');
    assert_refused(&sealed, data, 100);
}

static void test_keys_as_users_keep_them(void **state)
{
    static const char hex[] = "000102030405060708090A0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
    unsigned char got[BACKUP_KEY_BYTES];
    struct error err = ERROR_INIT;
    _cleanup_(freep) char *base64 = tls_base64_encode(key, sizeof(key));
    _cleanup_(freep) char *padded = xasprintf(" \n%s\r\n", base64);

    UNUSED(state);
    assert_int_equal(backup_key_parse((const char *)key, 32, got, NULL), 0);
    assert_memory_equal(got, key, 32);
    memset(got, 0, sizeof(got));
    assert_int_equal(backup_key_parse(hex, 64, got, NULL), 0);
    assert_memory_equal(got, key, 32);
    memset(got, 0, sizeof(got));
    assert_int_equal(backup_key_parse(padded, strlen(padded), got, NULL), 0);
    assert_memory_equal(got, key, 32);
    assert_int_equal(backup_key_parse("0123456789012345678901234567890\n", 32, got, NULL), 0);
    assert_int_equal(got[31], '\n'); /* 32 bytes are a key, whatever they are */
    assert_int_equal(backup_key_parse("01234567890123456789012345678901\n", 33, got, NULL), 0);
    assert_int_equal(backup_key_parse(hex, 63, got, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_null(strstr(err.message, "0405"));
    assert_non_null(strstr(err.message, "63 characters"));
    assert_int_equal(backup_key_parse("", 0, got, &err), -1);
    assert_int_equal(backup_key_parse("secret", 6, got, &err), -1);
    assert_null(strstr(err.message, "secret"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_values),
        cmocka_unit_test(test_round_trips_at_borders),
        cmocka_unit_test(test_every_flip_is_refused),
        cmocka_unit_test(test_every_truncation_is_refused),
        cmocka_unit_test(test_frames_moved),
        cmocka_unit_test(test_foreign_streams),
        cmocka_unit_test(test_keys_as_users_keep_them),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
