/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_report.h: what a person reads in MysqlCluster.status: pure.
 */
#ifndef KM_CLUSTER_REPORT_H
#define KM_CLUSTER_REPORT_H

#include "operator/cluster/rollout/cluster_decide.h"
#include "operator/cluster/state/cluster_snapshot.h"

/* How the round went. */
struct cluster_outcome {
    const struct error *error; /* of the plan or the Secrets, NULL: all well */
    enum plan_kind error_kind; /* of the action that failed; PLAN_KIND_COUNT: not an action, or one that only creates */
    enum cluster_child error_child; /* whose apply that was; CHILD_COUNT: of no child */
};

/* Fills *ret (zeroed by this) from the snapshot taken after the plan. The caller releases it. */
void cluster_report(const struct cluster_snapshot *snapshot, const struct cluster_decision *decision,
    const struct cluster_outcome *outcome, struct cluster_status *ret);

#endif
