/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_report_waits.h: for how long commits waited for acknowledgements, and that they will: pure.
 */
#ifndef KM_CLUSTER_REPORT_WAITS_H
#define KM_CLUSTER_REPORT_WAITS_H

#include "operator/cluster/state/cluster_snapshot.h"

/* status.lastCommitWait, by the primary's word. */
void cluster_report_waits(const struct cluster_snapshot *snapshot, struct cluster_commit_wait *ret);

#endif
