/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of a donor: the reader never reads outside of its input, never hands out more than came, and gives the same
 * verdict however the input was split.
 */
#include "common/base.h"

#include "common/frame_stream.h"

#include "common/alloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
    size_t bytes;
    unsigned headers;
};

static int on_header(void *arg, const struct stream_header *header, struct error *err)
{
    struct seen *seen = arg;

    seen->headers++;
    return header->estimate_bytes == 77 ? error_set(err, ERROR_TOO_LARGE, "no room") : 0;
}

static int on_data(void *arg, const char *data, size_t len, struct error *err)
{
    struct seen *seen = arg;

    UNUSED(data);
    UNUSED(err);
    seen->bytes += len;
    return 0;
}

static int run(const uint8_t *data, size_t size, size_t step, struct seen *seen)
{
    static const struct frame_reader_ops ops = {.header = on_header, .data = on_data};
    struct frame_reader reader;
    struct stream_trailer trailer;
    int rc = 0;

    frame_reader_init(&reader, &ops, seen);
    for (size_t at = 0; at < size && rc == 0; at += step) {
        size_t len = MIN_OF(step, size - at);
        _cleanup_(freep) char *piece = xmemdup(data + at, len);
        rc = frame_reader_feed(&reader, piece, len, NULL);
    }
    if (rc == 0)
        rc = frame_reader_finish(&reader, &trailer, NULL);
    frame_reader_release(&reader);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct seen whole = {0};
    struct seen split = {0};
    size_t step = size > 0 ? 1 + data[size - 1] % 13 : 1;
    int verdict = run(data, size, MAX_OF(size, 1), &whole);

    if (verdict != run(data, size, step, &split) || whole.headers != split.headers)
        abort();
    if (whole.bytes > size || whole.headers > 1 || (verdict == 0 && whole.bytes != split.bytes))
        abort();
    return 0;
}
