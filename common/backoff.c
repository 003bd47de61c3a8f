/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/backoff.h"

#include <sys/random.h>
#include <time.h>
#include <unistd.h>

uint32_t backoff_next_ms(struct backoff *backoff, const struct backoff_policy *policy)
{
    unsigned shift = MIN_OF(backoff->attempts, 32u); /* 2^32 * base_ms fits 64 bits */
    uint64_t delay_ms = MIN_OF((uint64_t)policy->base_ms << shift, (uint64_t)policy->max_ms);
    if (backoff->attempts < UINT32_MAX)
        backoff->attempts++;
    uint64_t spread_ms = delay_ms * MIN_OF(policy->jitter_percent, 100u) / 100;
    return (uint32_t)(delay_ms - random_next(&backoff->random_state) % (spread_ms + 1));
}

void backoff_reset(struct backoff *backoff)
{
    backoff->attempts = 0;
}

/* Marsaglia's xorshift with Vigna's multiplier: https://arxiv.org/abs/1402.6246 */
uint64_t random_next(uint64_t *state)
{
    uint64_t x = *state ? *state : 0x9e3779b97f4a7c15ULL;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * 0x2545f4914f6cdd1dULL;
}

uint64_t random_seed(void)
{
    uint64_t seed = 0;
    if (getrandom(&seed, sizeof(seed), 0) != (ssize_t)sizeof(seed)) {
        struct timespec now; /* old kernels in sandboxes: still differs between processes */
        clock_gettime(CLOCK_MONOTONIC, &now);
        seed = (uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec ^ (uint64_t)getpid() << 16;
    }
    return seed ? seed : 1;
}
