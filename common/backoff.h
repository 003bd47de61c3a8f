/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backoff.h: exponential back-off with jitter, as a value.
 */
#ifndef KM_COMMON_BACKOFF_H
#define KM_COMMON_BACKOFF_H

#include "common/base.h"

struct backoff_policy {
    uint32_t base_ms;        /* first delay */
    uint32_t max_ms;         /* no delay is longer */
    uint32_t jitter_percent; /* the delay is spread evenly over [d * (1 - j/100), d] */
};

struct backoff {
    uint32_t attempts;
    uint64_t random_state; /* any seed; equal seeds give equal sequences (tests) */
};

/* The delay before the next attempt; counts it. Doubles from base_ms to max_ms. */
uint32_t backoff_next_ms(struct backoff *backoff, const struct backoff_policy *policy);
void backoff_reset(struct backoff *backoff);
/* xorshift64*: jitter and seeds, never secrets. Zero state is replaced. */
uint64_t random_next(uint64_t *state);
/* A seed that differs between processes (getrandom). */
uint64_t random_seed(void);

#endif
