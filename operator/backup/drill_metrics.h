/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drill_metrics.h: how each cluster's restore drills stand, for Prometheus, written from memory at each scrape.
 *
 *   kubemysql_cluster_last_verified_restore_timestamp_seconds{namespace,name}
 *       when a restore was tried last and went well; none before the first one
 *   kubemysql_cluster_last_restore_drill_failure_timestamp_seconds{namespace,name}
 *       when one failed last; none if none did
 *   kubemysql_cluster_restore_drill_failures_total{namespace,name}
 *       drills that failed, as the status counts them
 *   kubemysql_cluster_restore_drill_running{namespace,name}
 *       1: one is under way
 * A cluster without drills has none of them.
 */
#ifndef KM_DRILL_METRICS_H
#define KM_DRILL_METRICS_H

#include "common/base.h"

#include "common/hashmap.h"
#include "common/metrics.h"
#include "operator/api/drill_status.h"

struct drill_memory {
    struct hashmap figures; /* by the cluster's key */
};

void drill_memory_init(struct drill_memory *memory);
void drill_memory_release(struct drill_memory *memory);
void drill_memory_set(struct drill_memory *memory, const char *key, const struct drill_summary *summary);
void drill_memory_forget(struct drill_memory *memory, const char *key);
/* memory must outlive the renderings. */
void drill_metrics_register(struct metrics *metrics, struct drill_memory *memory);

#endif
