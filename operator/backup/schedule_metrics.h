/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schedule_metrics.h: how each cluster's backups stand, for Prometheus, written from memory at each scrape.
 *
 *   kubemysql_cluster_last_backup_timestamp_seconds{namespace,name}
 *       when the newest backup was completed; none without one
 *   kubemysql_cluster_last_backup_failure_timestamp_seconds{namespace,name}
 *       when the newest one that failed did; none without one
 *   kubemysql_cluster_next_backup_timestamp_seconds{namespace,name}
 *       of the schedule; none without one
 *   kubemysql_cluster_backup_problem{namespace,name}
 *       1: there is a schedule and it cannot be kept, or the API server refuses the pod of its backup; only with
 *       spec.backup
 *   kubemysql_cluster_backups_skipped_total{namespace,name}
 *       runs left out because the one before was not over, seen by this process
 * A cluster that is forgotten has none of them.
 */
#ifndef KM_SCHEDULE_METRICS_H
#define KM_SCHEDULE_METRICS_H

#include "common/base.h"

#include "common/hashmap.h"
#include "common/metrics.h"
#include "operator/api/backup_spec.h"

struct schedule_figures {
    char *key;                            /* of the cluster */
    int64_t last_ms, failure_ms, next_ms; /* wall clock, 0: none */
    bool has_spec, has_problem;
    uint64_t skipped;
};

struct schedule_memory {
    struct hashmap figures; /* by key */
};

void schedule_memory_init(struct schedule_memory *memory);
void schedule_memory_release(struct schedule_memory *memory);
/* memory must outlive the renderings. */
void schedule_metrics_register(struct metrics *metrics, struct schedule_memory *memory);
void schedule_memory_set(
    struct schedule_memory *memory, const char *key, bool has_spec, const struct backup_summary *summary);
void schedule_memory_note_skipped(struct schedule_memory *memory, const char *key);
void schedule_memory_forget(struct schedule_memory *memory, const char *key);

#endif
