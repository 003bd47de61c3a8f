/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/backup_pack.h"

#include <openssl/crypto.h>
#include <zstd.h>

#include "common/alloc.h"
#include "common/backup_seal.h"

/* ---- the giving side ---- */

struct pack_writer {
    struct seal_writer *seal; /* NULL: not sealed */
    ZSTD_CCtx *zstd;          /* NULL: not compressed */
    size_t chunk_size;
    char *chunk;
};

static void set(size_t rc)
{
    if (ZSTD_isError(rc))
        abort();
}

static ZSTD_CCtx *compressor_new(void)
{
    ZSTD_CCtx *zstd = ZSTD_createCCtx();

    if (!zstd)
        abort();
    set(ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, PACK_LEVEL));
    set(ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1));
    return zstd;
}

struct pack_writer *pack_writer_new(const struct pack_options *options)
{
    struct pack_writer *writer = xnew(struct pack_writer);

    if (options->key)
        writer->seal = seal_writer_new(options->key, options->salt);
    if (options->compression == BACKUP_COMPRESSION_ZSTD) {
        writer->zstd = compressor_new();
        writer->chunk_size = ZSTD_CStreamOutSize();
        writer->chunk = xmalloc(writer->chunk_size);
    }
    return writer;
}

void pack_writer_free(struct pack_writer *writer)
{
    if (!writer)
        return;
    seal_writer_free(writer->seal);
    ZSTD_freeCCtx(writer->zstd);
    free(writer->chunk);
    free(writer);
}

static void put(struct pack_writer *writer, const void *data, size_t len, struct strbuf *out)
{
    if (writer->seal)
        seal_writer_add(writer->seal, data, len, out);
    else
        strbuf_add(out, data, len);
}

/* It fails only by a bug: the parameters are ours and so is the memory. */
static void compress(
    struct pack_writer *writer, const void *data, size_t len, ZSTD_EndDirective mode, struct strbuf *out)
{
    ZSTD_inBuffer in = {.src = data, .size = len};
    size_t left;

    do {
        ZSTD_outBuffer piece = {.dst = writer->chunk, .size = writer->chunk_size};
        left = ZSTD_compressStream2(writer->zstd, &piece, &in, mode);
        set(left);
        put(writer, writer->chunk, piece.pos, out);
    } while (mode == ZSTD_e_end ? left > 0 : in.pos < in.size);
}

/* What was dropped would be missing in the middle of a backup. */
static void insist_on_room(const struct strbuf *out)
{
    if (out->overflowed)
        abort();
}

void pack_writer_add(struct pack_writer *writer, const void *data, size_t len, struct strbuf *out)
{
    if (writer->zstd)
        compress(writer, data, len, ZSTD_e_continue, out);
    else
        put(writer, data, len, out);
    insist_on_room(out);
}

void pack_writer_end(struct pack_writer *writer, struct strbuf *out)
{
    if (writer->zstd)
        compress(writer, "", 0, ZSTD_e_end, out);
    if (writer->seal)
        seal_writer_end(writer->seal, out);
    insist_on_room(out);
}

/* ---- the taking side ---- */

struct pack_reader {
    struct seal_reader *seal;
    ZSTD_DCtx *zstd;
    bool frame_ended;  /* zstd's */
    bool more;         /* zstd may hold output */
    size_t magic_seen; /* bytes of it */
    char head[18];     /* the frame's first bytes: a header is no longer (ZSTD_FRAMEHEADERSIZE_MAX) */
    size_t head_len;
    uint64_t bytes;      /* that came out of it */
    struct strbuf plain; /* opened, not given yet */
    size_t at;
};

static ZSTD_DCtx *decompressor_new(void)
{
    ZSTD_DCtx *zstd = ZSTD_createDCtx();

    if (!zstd)
        abort();
    set(ZSTD_DCtx_setParameter(zstd, ZSTD_d_windowLogMax, PACK_WINDOW_LOG_MAX));
    return zstd;
}

struct pack_reader *pack_reader_new(const struct pack_options *options)
{
    struct pack_reader *reader = xnew(struct pack_reader);

    if (options->key)
        reader->seal = seal_reader_new(options->key, options->salt);
    if (options->compression == BACKUP_COMPRESSION_ZSTD)
        reader->zstd = decompressor_new();
    strbuf_init(&reader->plain, PACK_FEED_MAX + SEAL_FRAME_MAX);
    return reader;
}

void pack_reader_free(struct pack_reader *reader)
{
    if (!reader)
        return;
    seal_reader_free(reader->seal);
    ZSTD_freeDCtx(reader->zstd);
    strbuf_release_secret(&reader->plain);
    free(reader);
}

static int on_plain(void *arg, const char *data, size_t len, struct error *err)
{
    struct pack_reader *reader = arg;

    strbuf_add(&reader->plain, data, len);
    return reader->plain.overflowed ? error_set(err, ERROR_INTERNAL, "more was fed than a reader takes") : 0;
}

int pack_reader_put(struct pack_reader *reader, const char *data, size_t len, struct error *err)
{
    if (reader->at == reader->plain.len) {
        strbuf_reset(&reader->plain);
        reader->at = 0;
    }
    return reader->seal ? seal_reader_feed(reader->seal, data, len, on_plain, reader, err)
                        : on_plain(reader, data, len, err);
}

static size_t copy(struct pack_reader *reader, char *buf, size_t size)
{
    size_t len = MIN_OF(size, reader->plain.len - reader->at);

    memcpy(buf, reader->plain.buf + reader->at, len);
    reader->at += len;
    return len;
}

/* zstd by itself would also skip what calls itself skippable, and read formats of old. */
static bool begins_well(struct pack_reader *reader)
{
    static const char magic[] = {'\x28', '\xb5', '\x2f', '\xfd'};
    size_t len = MIN_OF(sizeof(magic) - reader->magic_seen, reader->plain.len - reader->at);

    if (memcmp(reader->plain.buf + reader->at, magic + reader->magic_seen, len) != 0)
        return false;
    reader->magic_seen += len;
    return true;
}

/* Those that say how much comes out of the frame, if it says so. */
static void keep_head(struct pack_reader *reader, const char *data, size_t len)
{
    size_t more = MIN_OF(sizeof(reader->head) - reader->head_len, len);

    memcpy(reader->head + reader->head_len, data, more);
    reader->head_len += more;
}

/* zstd by itself does not look where the last block is empty and comes in pieces. */
static bool is_as_long_as_it_says(const struct pack_reader *reader)
{
    unsigned long long said = ZSTD_getFrameContentSize(reader->head, reader->head_len);

    return said == ZSTD_CONTENTSIZE_UNKNOWN || said == ZSTD_CONTENTSIZE_ERROR || said == reader->bytes;
}

/* One frame, and nothing behind it: zstd by itself would go on with a second one. */
static ssize_t decompress(struct pack_reader *reader, char *buf, size_t size, struct error *err)
{
    ZSTD_inBuffer in = {.src = reader->plain.buf, .size = reader->plain.len, .pos = reader->at};
    ZSTD_outBuffer out = {.dst = buf, .size = size};

    if (!begins_well(reader))
        return error_set(err, ERROR_PROTOCOL, "the compressed data does not begin as it must");
    while (!reader->frame_ended && out.pos < out.size && (in.pos < in.size || reader->more)) {
        size_t before = out.pos;
        size_t rc = ZSTD_decompressStream(reader->zstd, &out, &in);
        if (ZSTD_isError(rc))
            return error_set(err, ERROR_PROTOCOL, "the compressed data is damaged: %s", ZSTD_getErrorName(rc));
        reader->frame_ended = rc == 0;
        reader->more = rc > 0 && (out.pos == out.size || (in.pos < in.size && out.pos > before));
    }
    keep_head(reader, (const char *)in.src + reader->at, in.pos - reader->at);
    reader->bytes += out.pos;
    reader->at = in.pos;
    if (reader->frame_ended && in.pos < in.size)
        return error_set(err, ERROR_PROTOCOL, "the compressed data goes on behind its end");
    if (reader->frame_ended && !is_as_long_as_it_says(reader))
        return error_set(err, ERROR_PROTOCOL, "the compressed data is not as long as it says");
    return (ssize_t)out.pos;
}

ssize_t pack_reader_get(struct pack_reader *reader, char *buf, size_t size, struct error *err)
{
    return reader->zstd ? decompress(reader, buf, size, err) : (ssize_t)copy(reader, buf, size);
}

int pack_reader_end(struct pack_reader *reader, struct error *err)
{
    if (reader->seal && seal_reader_end(reader->seal, err) < 0)
        return -1;
    if (reader->zstd && !reader->frame_ended)
        return error_set(err, ERROR_PROTOCOL, "the compressed data breaks off");
    return 0;
}
