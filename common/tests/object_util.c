/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/tests/object_util.h"

#include <openssl/sha.h>
#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/backoff.h"
#include "common/clock.h"

void object_result_init(struct object_result *result, struct loop *loop)
{
    *result = (struct object_result){.loop = loop};
    strbuf_init(&result->body, 64 * KM_MIB);
    strvec_init(&result->names);
}

void object_result_release(struct object_result *result)
{
    strbuf_release(&result->body);
    strvec_release(&result->names);
}

void object_result_clear(struct object_result *result)
{
    strbuf_reset(&result->body);
    strvec_release(&result->names);
    strvec_init(&result->names);
    result->bytes = 0;
    result->modified_min = INT64_MAX;
    result->stop_after = 0;
}

void object_result_expect(struct object_result *result, enum error_kind kind)
{
    const int64_t end_ms = clock_monotonic_ms() + 60000;
    while (result->done == 0 && clock_monotonic_ms() < end_ms)
        loop_run_once(result->loop, 20);
    if (result->done != 1)
        fail_msg("done came %d times", result->done);
    if (result->err.kind != kind)
        fail_msg("wanted %s, got %s: %s", error_kind_name(kind), error_kind_name(result->err.kind), result->err.message);
    result->done = 0;
}

void object_result_done(void *arg, const struct error *err)
{
    struct object_result *result = arg;
    result->done++;
    if (err)
        result->err = *err;
    else
        error_clear(&result->err);
}

void object_result_got(void *arg, const struct object_got *got, const struct error *err)
{
    struct object_result *result = arg;
    assert_true(!got == !!err);
    strbuf_reset(&result->body);
    if (got)
        strbuf_add(&result->body, got->body, got->len);
    object_result_done(arg, err);
}

int object_result_data(void *arg, const char *data, size_t len)
{
    struct object_result *result = arg;
    strbuf_add(&result->body, data, len);
    return result->stop_after && result->body.len >= result->stop_after ? -1 : 0;
}

int object_result_each(void *arg, const struct object_entry *entry)
{
    struct object_result *result = arg;
    strvec_push(&result->names, entry->name);
    result->bytes += entry->bytes;
    if (entry->modified_ms > 0)
        result->modified_min = MIN_OF(result->modified_min, entry->modified_ms);
    return result->stop_after && result->names.n >= result->stop_after ? -1 : 0;
}

char *object_noise(size_t len, uint64_t seed)
{
    char *data = xmalloc(len + 8);
    uint64_t state = seed + 1;
    for (size_t i = 0; i < len; i += 8) {
        const uint64_t word = random_next(&state);
        memcpy(data + i, &word, 8);
    }
    return data;
}

void object_part_expect(struct object_upload *upload, int number, const char *data, size_t len,
    struct object_result *result, enum error_kind kind)
{
    unsigned char sha256[32];
    SHA256((const unsigned char *)data, len, sha256);
    object_upload_part(upload, number, data, len, sha256, object_result_done, result);
    object_result_expect(result, kind);
}
