/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workqueue.h: keys waiting to be reconciled: de-duplicated, delayed, backed off per key. After client-go's workqueue.
 *
 * A key that is added while it is being processed comes again after workqueue_done. Adding a waiting key changes
 * nothing, except that the earlier time wins. Pure but for the time passed in: no timers, no threads.
 */
#ifndef KM_WORKQUEUE_H
#define KM_WORKQUEUE_H

#include "common/base.h"

#include "common/backoff.h"

struct workqueue;

struct workqueue *workqueue_new(const struct backoff_policy *policy, uint64_t seed);
void workqueue_free(struct workqueue *queue);
void workqueue_add(struct workqueue *queue, const char *key, int64_t now_ms);
void workqueue_add_after(struct workqueue *queue, const char *key, int64_t now_ms, int64_t delay_ms);
/* After the key's next back-off delay (which it counts), or at_least_ms if larger. Returns the delay chosen. */
int64_t workqueue_add_rate_limited(struct workqueue *queue, const char *key, int64_t now_ms, int64_t at_least_ms);
void workqueue_forget(struct workqueue *queue, const char *key); /* resets the back-off */
/* The next key that is due, marked as processing; NULL if none. Valid until workqueue_done for it. */
const char *workqueue_get(struct workqueue *queue, int64_t now_ms);
void workqueue_done(struct workqueue *queue, const char *key, int64_t now_ms);
/* When the earliest waiting key is due (it may lie in the past); INT64_MAX if none waits. */
int64_t workqueue_next_due_ms(const struct workqueue *queue);
size_t workqueue_depth(const struct workqueue *queue); /* waiting, due or not */
size_t workqueue_processing(const struct workqueue *queue);
size_t workqueue_remembered(const struct workqueue *queue); /* keys known: waiting, processing or backed off */
uint32_t workqueue_failures(const struct workqueue *queue, const char *key);

#endif
