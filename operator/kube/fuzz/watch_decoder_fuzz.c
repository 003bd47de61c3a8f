/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/kube/watch_decoder.h"

#include "common/hashmap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int on_event(void *arg, enum watch_event_type type, struct json_slice object, struct error *err)
{
    UNUSED(err);
    uint64_t *hash = arg;
    *hash = hash64(*hash, &type, sizeof(type));
    *hash = hash64(*hash, object.data, object.len); /* every byte must be readable */
    return 0;
}

/* Whole, and in chunks: both must see the same. */
static int decode(const uint8_t *data, size_t size, size_t chunk, uint64_t *ret_hash)
{
    *ret_hash = HASH64_INIT;
    struct watch_decoder *decoder = watch_decoder_new(on_event, ret_hash);
    struct error err = ERROR_INIT;
    int rc = 0;
    for (size_t at = 0; rc == 0 && at < size; at += chunk)
        rc = watch_decoder_feed(decoder, (const char *)data + at, MIN_OF(chunk, size - at), &err);
    if (rc == 0)
        rc = watch_decoder_finish(decoder, &err);
    watch_decoder_free(decoder);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t whole;
    uint64_t pieces;
    int whole_rc = decode(data, size, MAX_OF(size, 1U), &whole);
    int pieces_rc = decode(data, size, 1 + size % 13, &pieces);
    if (whole_rc != pieces_rc || whole != pieces)
        abort();
    return 0;
}
