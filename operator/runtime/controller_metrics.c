/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/runtime/controller_metrics.h"

static const char *const result_names[RECONCILE_RESULT_COUNT] = {
    [RECONCILE_SUCCESS] = "success",
    [RECONCILE_ERROR] = "error",
    [RECONCILE_CONFLICT] = "conflict",
    [RECONCILE_REQUEUE_AFTER] = "requeue_after",
};

static const struct metric_desc desc_total = {
    .name = "kubemysql_reconcile_total",
    .help = "Reconciles that ended, by result.",
    .type = METRIC_COUNTER,
    .labels = {"controller", "result"},
};
static const struct metric_desc desc_errors = {
    .name = "kubemysql_reconcile_errors_total",
    .help = "Reconciles that ended with an error.",
    .type = METRIC_COUNTER,
    .labels = {"controller"},
};
static const struct metric_desc desc_seconds = {
    .name = "kubemysql_reconcile_time_seconds",
    .help = "Time of one reconcile, requests included.",
    .type = METRIC_HISTOGRAM,
    .labels = {"controller"},
    .buckets = {0.0001, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60},
};
static const struct metric_desc desc_active = {
    .name = "kubemysql_active_workers",
    .help = "Reconciles in work.",
    .type = METRIC_GAUGE,
    .labels = {"controller"},
};
static const struct metric_desc desc_max = {
    .name = "kubemysql_max_concurrent_reconciles",
    .help = "Reconciles that may be in work at once.",
    .type = METRIC_GAUGE,
    .labels = {"controller"},
};
static const struct metric_desc desc_depth = {
    .name = "kubemysql_workqueue_depth",
    .help = "Keys that wait in the queue, due or not.",
    .type = METRIC_GAUGE,
    .labels = {"controller"},
};
static const struct metric_desc desc_adds = {
    .name = "kubemysql_workqueue_adds_total",
    .help = "Keys added to the queue, repetitions included.",
    .type = METRIC_COUNTER,
    .labels = {"controller"},
};
static const struct metric_desc desc_retries = {
    .name = "kubemysql_workqueue_retries_total",
    .help = "Keys put back after a failure.",
    .type = METRIC_COUNTER,
    .labels = {"controller"},
};

static struct metric *series(struct metrics *metrics, const struct metric_desc *desc, const char *name)
{
    return metric_of1(metrics_declare(metrics, desc), name);
}

void controller_metrics_init(struct controller_metrics *cm, struct metrics *metrics, const char *name, int concurrency)
{
    *cm = (struct controller_metrics){.errors = NULL};
    if (!metrics)
        return;
    for (size_t i = 0; i < ARRAY_LEN(result_names); i++)
        cm->total[i] = metric_of2(metrics_declare(metrics, &desc_total), name, result_names[i]);
    cm->errors = series(metrics, &desc_errors, name);
    cm->seconds = series(metrics, &desc_seconds, name);
    cm->active = series(metrics, &desc_active, name);
    cm->depth = series(metrics, &desc_depth, name);
    cm->adds = series(metrics, &desc_adds, name);
    cm->retries = series(metrics, &desc_retries, name);
    metric_set(series(metrics, &desc_max, name), concurrency);
}

void controller_metrics_added(struct controller_metrics *cm)
{
    if (cm->adds)
        metric_inc(cm->adds);
}

void controller_metrics_retried(struct controller_metrics *cm)
{
    if (cm->retries)
        metric_inc(cm->retries);
}

void controller_metrics_finished(struct controller_metrics *cm, enum reconcile_result result, int64_t took_us)
{
    if (!cm->seconds)
        return;
    metric_inc(cm->total[result]);
    if (result == RECONCILE_ERROR)
        metric_inc(cm->errors);
    metric_observe(cm->seconds, (double)took_us / 1e6);
}

void controller_metrics_set(struct controller_metrics *cm, size_t depth, size_t active)
{
    if (!cm->depth)
        return;
    metric_set(cm->depth, (double)depth);
    metric_set(cm->active, (double)active);
}
