/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reconcile.h: what a controller asks of us: make the world fit for one key.
 *
 * Level-triggered: a request is a key, no code learns which event came. Asynchronous: reconcile() starts and returns;
 * it ends by reconcile_finish(), now or from a later callback, exactly once. One key is never reconciled twice at the
 * same time.
 */
#ifndef KM_RECONCILE_H
#define KM_RECONCILE_H

#include "common/base.h"

#include "common/error.h"

struct reconcile; /* one run; owned by the controller, valid until finished */

struct reconciler {
    const char *name; /* "mysqlcluster": metrics, logs; static */
    void (*reconcile)(void *arg, const char *key, struct reconcile *run);
    void *arg;
};

/* err NULL or ERROR_NONE: success, the key's back-off is forgotten. Otherwise the key comes again after back-off
 * (err->retry_after_ms if larger); CONFLICT comes again at once the first time. requeue_after_ms > 0: comes again after
 * that time at the latest even on success. `run` is invalid afterwards. */
void reconcile_finish(struct reconcile *run, const struct error *err, int64_t requeue_after_ms);
const char *reconcile_key(const struct reconcile *run);

#endif
