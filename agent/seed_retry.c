/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/seed_retry.h"

#include "common/hashmap.h"

static const struct backoff_policy others_policy = {.base_ms = 1000, .max_ms = 30000, .jitter_percent = 20};

/* Times, addresses and process ids differ from one attempt to the next. */
static uint64_t digest_of(const char *text)
{
    uint64_t digest = HASH64_INIT;

    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            digest = hash64(digest, text, 1);
    }
    return digest ? digest : 1;
}

/* Programs and disks of this pod. Not a volume that is too small (ERROR_TOO_LARGE): it may grow at any moment. */
static bool is_own(const struct error *err)
{
    return err->kind == ERROR_IO;
}

int64_t seed_retry_in_ms(struct seed_retry *retry, const struct error *err)
{
    uint64_t words = is_own(err) ? digest_of(err->message) : 0;

    retry->alike = words && words == retry->words ? retry->alike + 1 : 1;
    retry->words = words;
    if (!words || retry->alike == 1)
        return backoff_next_ms(&retry->backoff, &others_policy);
    int64_t pause_ms = SEED_RETRY_OWN_MS;
    for (unsigned i = 2; i < retry->alike && pause_ms < SEED_RETRY_OWN_MAX_MS; i++)
        pause_ms *= 2;
    return MIN_OF(pause_ms, (int64_t)SEED_RETRY_OWN_MAX_MS);
}

bool seed_retry_is_hopeless(const struct seed_retry *retry)
{
    return retry->words && retry->alike >= SEED_RETRY_HOPELESS;
}

void seed_retry_reset(struct seed_retry *retry)
{
    backoff_reset(&retry->backoff);
    retry->words = 0;
    retry->alike = 0;
}
