/* SPDX-License-Identifier: Apache-2.0 */
/*
 * controller_metrics.h: what one controller tells Prometheus; see controller.h for the names.
 *
 * A value inside the controller. Without a registry every call does nothing.
 */
#ifndef KM_CONTROLLER_METRICS_H
#define KM_CONTROLLER_METRICS_H

#include "common/base.h"

#include "common/metrics.h"

enum reconcile_result {
    RECONCILE_SUCCESS,
    RECONCILE_ERROR,
    RECONCILE_CONFLICT,
    RECONCILE_REQUEUE_AFTER,
    RECONCILE_RESULT_COUNT
};

struct controller_metrics {
    struct metric *total[RECONCILE_RESULT_COUNT];
    struct metric *errors;
    struct metric *seconds;
    struct metric *active;
    struct metric *depth;
    struct metric *adds;
    struct metric *retries;
};

/* name is the controller's; metrics may be NULL. */
void controller_metrics_init(struct controller_metrics *cm, struct metrics *metrics, const char *name, int concurrency);
void controller_metrics_added(struct controller_metrics *cm);
void controller_metrics_retried(struct controller_metrics *cm);
void controller_metrics_finished(struct controller_metrics *cm, enum reconcile_result result, int64_t took_us);
/* Gauges, after anything moved. */
void controller_metrics_set(struct controller_metrics *cm, size_t depth, size_t active);

#endif
