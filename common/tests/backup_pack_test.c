/* SPDX-License-Identifier: Apache-2.0 */
/* Raw bytes in, stored bytes out, and back: the same ones, or an error. */
#include "common/base.h"

#include "common/backup_pack.h"

#include <setjmp.h>
#include <zstd.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/backoff.h"
#include "common/backup_seal.h"

#define STREAM_MAX ((size_t)(16 * KM_MIB))

static const unsigned char key[BACKUP_KEY_BYTES] = {1, 2, 3};
static const unsigned char salt[BACKUP_SALT_BYTES] = {4, 5, 6};

static const struct pack_options kinds[] = {
    {.compression = BACKUP_COMPRESSION_NONE},
    {.compression = BACKUP_COMPRESSION_ZSTD},
    {.compression = BACKUP_COMPRESSION_NONE, .key = key, .salt = salt},
    {.compression = BACKUP_COMPRESSION_ZSTD, .key = key, .salt = salt},
};

static void pack(const struct pack_options *kind, const char *data, size_t len, size_t step, struct strbuf *out)
{
    struct pack_writer *writer = pack_writer_new(kind);
    _cleanup_(strbuf_release) struct strbuf piece;

    strbuf_init(out, STREAM_MAX);
    strbuf_init(&piece, PACK_OUT_MAX);
    for (size_t at = 0; at < len; at += step) {
        pack_writer_add(writer, data + at, MIN_OF(step, len - at), &piece);
        strbuf_add(out, piece.buf, piece.len);
        strbuf_reset(&piece);
    }
    pack_writer_end(writer, &piece);
    strbuf_add(out, piece.buf, piece.len);
    pack_writer_free(writer);
    assert_false(out->overflowed);
}

static int drain(struct pack_reader *reader, size_t size, struct strbuf *out, struct error *err)
{
    _cleanup_(freep) char *buf = xmalloc(size);
    ssize_t n;

    while ((n = pack_reader_get(reader, buf, size, err)) > 0) {
        assert_true((size_t)n <= size);
        strbuf_add(out, buf, (size_t)n);
    }
    return (int)n;
}

static int unpack(const struct pack_options *kind, const struct strbuf *in, size_t step, size_t size,
    struct strbuf *out, struct error *err)
{
    struct pack_reader *reader = pack_reader_new(kind);
    int rc = 0;

    strbuf_reset(out);
    for (size_t at = 0; at < in->len && rc == 0; at += step) {
        rc = pack_reader_put(reader, in->buf + at, MIN_OF(step, in->len - at), err);
        if (rc == 0)
            rc = drain(reader, size, out, err);
    }
    if (rc == 0)
        rc = pack_reader_end(reader, err);
    pack_reader_free(reader);
    return rc;
}

/* Half of it packs well. */
static char *make_data(size_t len)
{
    char *data = xmalloc(len + 1);
    uint64_t random = 7;

    for (size_t i = 0; i < len; i++)
        data[i] = i / 5000 % 2 ? (char)random_next(&random) : "a database page, "[i % 17];
    return data;
}

static void test_round_trips(void **state)
{
    static const size_t sizes[] = {0, 1, 70000, SEAL_FRAME_MAX, 2 * SEAL_FRAME_MAX, 3000000};
    static const size_t steps[] = {PACK_FEED_MAX, 4099, 64 * KM_KIB};

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(kinds) * ARRAY_LEN(sizes); i++) {
        const struct pack_options *kind = &kinds[i % ARRAY_LEN(kinds)];
        size_t len = sizes[i / ARRAY_LEN(kinds)];
        _cleanup_(freep) char *data = make_data(len);
        _cleanup_(strbuf_release) struct strbuf packed;
        _cleanup_(strbuf_release) struct strbuf got;
        strbuf_init(&got, STREAM_MAX);
        pack(kind, data, len, steps[i % ARRAY_LEN(steps)], &packed);
        for (size_t j = 0; j < ARRAY_LEN(steps); j++) {
            assert_int_equal(unpack(kind, &packed, steps[j], 1000 + 60000 * j, &got, NULL), 0);
            assert_int_equal(got.len, len);
            assert_memory_equal(got.buf, data, len);
        }
        assert_true(kind->compression == BACKUP_COMPRESSION_NONE || len < 70000 || packed.len < len * 2 / 3);
    }
}

/* The output of one feed stays below the promise, also when nothing can be made smaller. */
static void test_bounded_output(void **state)
{
    uint64_t random = 3;
    _cleanup_(freep) char *data = xmalloc(PACK_FEED_MAX);
    _cleanup_(strbuf_release) struct strbuf out;
    struct pack_writer *writer = pack_writer_new(&kinds[3]);

    UNUSED(state);
    strbuf_init(&out, PACK_OUT_MAX); /* more than that aborts */
    for (int i = 0; i < 200; i++) {
        for (size_t at = 0; at < PACK_FEED_MAX; at++)
            data[at] = (char)(i % 20 ? random_next(&random) : 0);
        pack_writer_add(writer, data, PACK_FEED_MAX - (size_t)(i * 37), &out);
        strbuf_reset(&out);
    }
    pack_writer_end(writer, &out);
    pack_writer_free(writer);
}

static void assert_damaged(const struct pack_options *kind, const struct strbuf *packed, const char *says)
{
    _cleanup_(strbuf_release) struct strbuf got;
    struct error err = ERROR_INIT;

    strbuf_init(&got, STREAM_MAX);
    assert_int_equal(unpack(kind, packed, PACK_FEED_MAX, PACK_FEED_MAX, &got, &err), -1);
    assert_int_equal(err.kind, ERROR_PROTOCOL);
    if (says)
        assert_non_null(strstr(err.message, says));
}

static void test_truncated(void **state)
{
    _cleanup_(freep) char *data = make_data(300000);

    UNUSED(state);
    for (size_t i = 1; i < ARRAY_LEN(kinds); i++) {
        _cleanup_(strbuf_release) struct strbuf packed;
        pack(&kinds[i], data, 300000, PACK_FEED_MAX, &packed);
        while (packed.len > 0) {
            packed.len -= MIN_OF(packed.len, (size_t)(packed.len > 100 && i % 2 ? 997 : 1009));
            assert_damaged(&kinds[i], &packed, NULL);
        }
    }
}

static void test_rubbish_behind(void **state)
{
    _cleanup_(freep) char *data = make_data(1000);

    UNUSED(state);
    for (size_t i = 1; i < ARRAY_LEN(kinds); i++) {
        _cleanup_(strbuf_release) struct strbuf packed;
        pack(&kinds[i], data, 1000, PACK_FEED_MAX, &packed);
        strbuf_addc(&packed, '\0');
        assert_damaged(&kinds[i], &packed, "goes on behind");
    }
}

/* zstd's own tool takes these. */
static void test_second_and_skippable_frames(void **state)
{
    static const char skippable[] = "\x50\x2a\x4d\x18\x04\x00\x00\x00skip";
    _cleanup_(freep) char *data = make_data(1000);
    _cleanup_(strbuf_release) struct strbuf packed;
    _cleanup_(strbuf_release) struct strbuf other;

    UNUSED(state);
    pack(&kinds[1], data, 1000, PACK_FEED_MAX, &packed);
    strbuf_init(&other, STREAM_MAX);
    strbuf_add(&other, packed.buf, packed.len);
    strbuf_add(&other, packed.buf, packed.len);
    assert_damaged(&kinds[1], &other, "goes on behind");
    strbuf_reset(&other);
    strbuf_add(&other, skippable, sizeof(skippable) - 1);
    assert_damaged(&kinds[1], &other, "does not begin");
    strbuf_reset(&other);
    assert_damaged(&kinds[1], &other, "breaks off");
}

/* Of 134 bytes, with one block that is empty: found by the fuzzer. zstd takes it if it comes in pieces. */
static void test_frame_shorter_than_it_says(void **state)
{
    static const char frame[] = "\x28\xb5\x2f\xfd\x20\x86\x01\x00\x00";
    _cleanup_(strbuf_release) struct strbuf packed;

    UNUSED(state);
    strbuf_init(&packed, STREAM_MAX);
    strbuf_add(&packed, frame, sizeof(frame) - 1);
    for (size_t step = 1; step < sizeof(frame); step++) {
        _cleanup_(strbuf_release) struct strbuf got;
        struct error err = ERROR_INIT;
        strbuf_init(&got, STREAM_MAX);
        assert_int_equal(unpack(&kinds[1], &packed, step, PACK_FEED_MAX, &got, &err), -1);
        assert_int_equal(err.kind, ERROR_PROTOCOL);
    }
}

/* Memory is not the peer's to choose. */
static void test_large_window(void **state)
{
    size_t len = (size_t)(12 * KM_MIB);
    _cleanup_(freep) char *data = make_data(len);
    _cleanup_(strbuf_release) struct strbuf packed;
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    ZSTD_outBuffer out;
    ZSTD_inBuffer in = {.src = data, .size = len};

    UNUSED(state);
    strbuf_init(&packed, STREAM_MAX);
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_windowLog, PACK_WINDOW_LOG_MAX + 1);
    char *room = xmalloc(STREAM_MAX);
    out = (ZSTD_outBuffer){.dst = room, .size = STREAM_MAX};
    assert_false(ZSTD_isError(ZSTD_compressStream2(zstd, &out, &in, ZSTD_e_flush)));
    strbuf_add(&packed, room, out.pos);
    assert_damaged(&kinds[1], &packed, NULL);
    free(room);
    ZSTD_freeCCtx(zstd);
}

/* zstd's checksum, or the seal. */
static void test_flips(void **state)
{
    _cleanup_(freep) char *data = make_data(30000);

    UNUSED(state);
    for (size_t i = 1; i < ARRAY_LEN(kinds); i++) {
        _cleanup_(strbuf_release) struct strbuf packed;
        _cleanup_(strbuf_release) struct strbuf got;
        pack(&kinds[i], data, 30000, PACK_FEED_MAX, &packed);
        strbuf_init(&got, STREAM_MAX);
        for (size_t at = 0; at < packed.len; at += at < 64 ? 1 : 13) {
            packed.buf[at] ^= 0x10;
            /* Bits of zstd's that mean nothing may be flipped: then what comes out is right all the same. */
            int rc = unpack(&kinds[i], &packed, PACK_FEED_MAX, PACK_FEED_MAX, &got, NULL);
            assert_true(rc < 0 || (i == 1 && got.len == 30000 && memcmp(got.buf, data, got.len) == 0));
            packed.buf[at] ^= 0x10;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_bounded_output),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_rubbish_behind),
        cmocka_unit_test(test_second_and_skippable_frames),
        cmocka_unit_test(test_frame_shorter_than_it_says),
        cmocka_unit_test(test_large_window),
        cmocka_unit_test(test_flips),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
