/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seed_retry.h: when a member's data is asked for again after an attempt that failed. Pure.
 *
 * What depends on others, a donor that is away or busy, a connection, passes: it is tried again within seconds, half a
 * minute at most. An attempt that failed by itself, a tool or a server that ended with an error, a disk, and in the
 * same words as the one before, will go on failing: each costs a whole copy, so pauses grow to SEED_RETRY_OWN_MAX_MS,
 * and from the third on it is said. Any other failure begins anew.
 */
#ifndef KM_SEED_RETRY_H
#define KM_SEED_RETRY_H

#include "common/base.h"

#include "common/backoff.h"
#include "common/error.h"

#define SEED_RETRY_OWN_MS 30000
#define SEED_RETRY_OWN_MAX_MS 600000
#define SEED_RETRY_HOPELESS 3

struct seed_retry {
    struct backoff backoff;
    uint64_t words; /* digest of the last failure's, without numbers; 0: it was no failure of its own */
    unsigned alike; /* failures in a row with these */
};

/* In how many milliseconds to try again; counts the failure. */
int64_t seed_retry_in_ms(struct seed_retry *retry, const struct error *err);
/* It fails in the same way again and again. */
bool seed_retry_is_hopeless(const struct seed_retry *retry);
/* An attempt with another order, or one that succeeded. */
void seed_retry_reset(struct seed_retry *retry);

#endif
