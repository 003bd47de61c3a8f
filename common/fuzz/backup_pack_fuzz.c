/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stored bytes of anybody: bounded memory, the same verdict and the same output however they were split; and whatever
 * is packed comes back. The first byte chooses: compressed, sealed, or the way back.
 */
#include "common/base.h"

#include "common/backup_pack.h"

#include "common/alloc.h"
#include "common/sha256.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define OUT_MAX ((size_t)(4 * KM_MIB)) /* of what a small input may unpack to here */

static const unsigned char key[BACKUP_KEY_BYTES] = {1};
static const unsigned char salt[BACKUP_SALT_BYTES] = {2};

struct verdict {
    int rc;
    uint64_t bytes;
    char sha256[65];
};

static int drain(struct pack_reader *reader, size_t size, struct sha256 *sha, uint64_t *bytes)
{
    _cleanup_(freep) char *buf = xmalloc(size);
    ssize_t n;

    while ((n = pack_reader_get(reader, buf, size, NULL)) > 0 && *bytes < OUT_MAX) {
        sha256_add(sha, buf, (size_t)n);
        *bytes += (uint64_t)n;
    }
    return n < 0 ? -1 : 0;
}

static struct verdict unpack(const struct pack_options *options, const char *data, size_t len, size_t step, size_t size)
{
    struct verdict verdict = {0};
    struct sha256 sha;
    struct pack_reader *reader = pack_reader_new(options);

    sha256_init(&sha);
    for (size_t at = 0; at < len && verdict.rc == 0 && verdict.bytes < OUT_MAX; at += step) {
        _cleanup_(freep) char *piece = xmemdup(data + at, MIN_OF(step, len - at));
        verdict.rc = pack_reader_put(reader, piece, MIN_OF(step, len - at), NULL);
        if (verdict.rc == 0)
            verdict.rc = drain(reader, size, &sha, &verdict.bytes);
    }
    if (verdict.rc == 0)
        verdict.rc = pack_reader_end(reader, NULL);
    sha256_hex(&sha, verdict.sha256);
    sha256_release(&sha);
    pack_reader_free(reader);
    return verdict;
}

static void there_and_back(const struct pack_options *options, const char *data, size_t len)
{
    struct pack_writer *writer = pack_writer_new(options);
    _cleanup_(strbuf_release) struct strbuf out;

    strbuf_init(&out, PACK_OUT_MAX);
    pack_writer_add(writer, data, MIN_OF(len, PACK_FEED_MAX), &out);
    pack_writer_end(writer, &out);
    pack_writer_free(writer);
    struct verdict verdict = unpack(options, out.buf, out.len, PACK_FEED_MAX, 5000);
    if (verdict.rc < 0 || verdict.bytes != MIN_OF(len, PACK_FEED_MAX))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct pack_options options = {
        .compression = *data & 1 ? BACKUP_COMPRESSION_ZSTD : BACKUP_COMPRESSION_NONE,
        .key = *data & 2 ? key : NULL,
        .salt = salt,
    };
    const char *stored = (const char *)data + 1;

    if (*data & 4) {
        there_and_back(&options, stored, size - 1);
        return 0;
    }
    struct verdict whole = unpack(&options, stored, size - 1, PACK_FEED_MAX, PACK_FEED_MAX);
    struct verdict split = unpack(&options, stored, size - 1, 1 + *data / 8, 1 + size % 977);
    if (whole.bytes >= OUT_MAX || split.bytes >= OUT_MAX)
        return 0;
    if (whole.rc != split.rc || (whole.rc == 0 && strcmp(whole.sha256, split.sha256) != 0))
        abort();
    if (whole.rc == 0 && options.key)
        abort(); /* a forgery */
    return 0;
}
