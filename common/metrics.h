/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics.h: a registry of counters, gauges and histograms, rendered in the Prometheus text format 0.0.4
 * (https://prometheus.io/docs/instrumenting/exposition_formats/).
 *
 * A registry belongs to one thread (the loop). A family is declared once; a series is a family plus label values. Label
 * values come from small closed sets or from our own objects, never from a peer's free text, and a family refuses more
 * than METRICS_SERIES_MAX series: further ones are counted in kubemysql_metrics_dropped_series_total.
 */
#ifndef KM_COMMON_METRICS_H
#define KM_COMMON_METRICS_H

#include "common/base.h"

#include "common/strbuf.h"

#define METRICS_LABELS_MAX 4
#define METRICS_SERIES_MAX 20000
#define METRICS_BUCKETS_MAX 20

/* METRIC_UNTYPED: a value of somebody else under the name that its users know, whatever the conventions ask of a
 * counter. */
enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM, METRIC_UNTYPED };

struct metrics;       /* the registry */
struct metric_family; /* owned by the registry */
struct metric;        /* one series, owned by its family, valid until it is removed */

struct metric_desc {
    const char *name; /* kubemysql_..., base units, _total for counters */
    const char *help;
    enum metric_type type;
    const char *labels[METRICS_LABELS_MAX]; /* names, NULL-terminated if fewer */
    double buckets[METRICS_BUCKETS_MAX];    /* upper bounds, ascending, 0-terminated; histograms only; no +Inf */
};

struct metrics *metrics_new(void);
void metrics_free(struct metrics *metrics);

/* desc is static. Declaring the same name again returns the same family. */
struct metric_family *metrics_declare(struct metrics *metrics, const struct metric_desc *desc);
/* The series with these label values (as many as the family has labels); made on first use. Never NULL: when the
 * family is full, a shared series that is not rendered. */
struct metric *metric_with(struct metric_family *family, const char *const *label_values);
/* Shorthands for families without a label, with one, with two. */
struct metric *metric_of(struct metric_family *family);
struct metric *metric_of1(struct metric_family *family, const char *value);
struct metric *metric_of2(struct metric_family *family, const char *value1, const char *value2);
/* Forgets the series whose label number `label` has this value (an object was deleted). */
void metric_remove_matching(struct metric_family *family, unsigned label, const char *value);

void metric_set(struct metric *metric, double value); /* gauges; counters copied from elsewhere (mysqld) */
void metric_unset(struct metric *metric);             /* it is not known: not rendered until it is set */
void metric_add(struct metric *metric, double delta); /* counters: delta >= 0 */
void metric_inc(struct metric *metric);
void metric_observe(struct metric *metric, double value); /* histograms */
double metric_value(const struct metric *metric);

/* Called before each rendering, in order of registration: for gauges that are read rather than counted. */
void metrics_on_collect(struct metrics *metrics, void (*collect)(void *arg), void *arg);
void metrics_render(struct metrics *metrics, struct strbuf *out);

/* Figures of many objects that keep their own: a renderer writes them after the families, so that no series is held
 * between scrapes. It writes a family's head once and all its samples right behind it. label_values: as many as desc
 * names labels. */
void metrics_on_render(struct metrics *metrics, void (*render)(void *arg, struct strbuf *out), void *arg);
void metrics_write_head(struct strbuf *out, const struct metric_desc *desc);
void metrics_write_sample(
    struct strbuf *out, const struct metric_desc *desc, const char *const *label_values, double value);

/* process_resident_memory_bytes, process_cpu_seconds_total, process_open_fds, process_start_time_seconds,
 * kubemysql_build_info. */
void metrics_add_process(struct metrics *metrics);

#endif
