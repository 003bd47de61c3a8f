/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backup_metrics.h: figures of the backups of each cluster, labels namespace and name (the cluster's):
 *   kubemysql_backup_last_success_timestamp_seconds, _age_seconds, _size_bytes, _duration_seconds
 *       of the newest one that is there
 *   kubemysql_backup_failures_total
 *       that this process has seen fail for good
 *   kubemysql_backup_running
 *       that are taken now
 */
#ifndef KM_BACKUP_METRICS_H
#define KM_BACKUP_METRICS_H

#include "common/metrics.h"
#include "operator/backup/backup_memory.h"

struct backup_metrics;

/* memories is borrowed until free. */
struct backup_metrics *backup_metrics_new(struct metrics *metrics, const struct backup_memories *memories);
void backup_metrics_free(struct backup_metrics *metrics);
/* A status was written. */
void backup_metrics_note(
    struct backup_metrics *metrics, const struct backup_snapshot *snapshot, const struct backup_status *written);

#endif
