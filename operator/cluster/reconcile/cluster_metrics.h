/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_metrics.h: the figures of all clusters for Prometheus, written from the memories at each scrape.
 *
 *   kubemysql_cluster_ready_members{namespace,name}
 *   kubemysql_cluster_wanted_members{namespace,name}
 *   kubemysql_cluster_condition{namespace,name,type}
 *       1: True, 0: False; an absent condition has no sample
 *   kubemysql_cluster_certificate_expiry_timestamp_seconds{namespace,name}
 *       the certificate that ends first
 *   kubemysql_cluster_epoch{namespace,name}
 *       grows with every change of the primary
 *   kubemysql_cluster_state{namespace,name,state}
 *       1 for the state that it is in
 *   kubemysql_cluster_primary{namespace,name,pod}
 *       1 for the primary
 *   kubemysql_cluster_switchover_writes_blocked_seconds{namespace,name}
 *       of the last one
 *   kubemysql_cluster_failovers_total{namespace,name,reason}
 *       whose end this process has seen
 *   kubemysql_cluster_failover_write_outage_seconds{namespace,name}
 *       histogram: for how long nobody took writes, of the same
 *   kubemysql_cluster_switchover_write_outage_seconds{namespace,name}
 *       likewise, of planned switchovers
 *   kubemysql_cluster_last_failover_timestamp_seconds{namespace,name}
 *       when it ended
 *   kubemysql_cluster_replica_lag_seconds{namespace,name,pod}
 *       none while it is unknown
 *   kubemysql_cluster_seed_bytes, _seed_total_bytes{namespace,name,pod}
 *       while a member copies its data; total once it is known
 * A cluster that is forgotten has none of them.
 */
#ifndef KM_CLUSTER_METRICS_H
#define KM_CLUSTER_METRICS_H

#include "common/metrics.h"
#include "operator/cluster/reconcile/cluster_memory.h"

/* Upper bounds in milliseconds of the histograms' buckets. */
extern const int cluster_outage_bounds_ms[CLUSTER_OUTAGE_BUCKETS];

/* memories must outlive the renderings. */
void cluster_metrics_register(struct metrics *metrics, const struct cluster_memories *memories);
/* A failover or switchover that ended since the last call for these figures is counted; what had ended before the first
 * call is not. */
void cluster_figures_set(
    struct cluster_figures *figures, const struct cluster_snapshot *snapshot, const struct cluster_status *status);

#endif
