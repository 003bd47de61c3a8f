/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_report_rolled.h: what the status says of a roll that failed (roll_target.h): the condition RolledBack, and
 * what a person has to do. Pure.
 */
#ifndef KM_CLUSTER_REPORT_ROLLED_H
#define KM_CLUSTER_REPORT_ROLLED_H

#include "operator/cluster/state/cluster_snapshot.h"

/* By status->roll; without a failure the condition is taken out. */
void cluster_report_rolled(const struct cluster_snapshot *snapshot, struct cluster_status *status);
/* False: nothing is to do about a roll. */
bool roll_remedy(
    const struct cluster_snapshot *snapshot, const struct cluster_roll_status *roll, char *out, size_t size);

#endif
