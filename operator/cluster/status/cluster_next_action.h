/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_next_action.h: status.nextAction: what only a person can do comes first, with field and value; then what the
 * operator does next, and what is awaited of whom. Pure.
 */
#ifndef KM_CLUSTER_NEXT_ACTION_H
#define KM_CLUSTER_NEXT_ACTION_H

#include "operator/cluster/status/cluster_report_parts.h"

#define CLUSTER_UNKNOWN_SWITCHOVER_SIZE 256

/* After the instances and the conditions of members; the operator's own plan stands there already. */
void cluster_next_action(struct report *report);
/* What it says, whatever else comes next, of a wish to move the primary to a member that there is none of. False: there
 * is no such wish. */
bool cluster_unknown_switchover(const struct cluster_snapshot *snapshot, char *out, size_t size);

#endif
