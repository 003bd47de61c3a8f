/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restore_tend.h: keeps the lookup of a cluster's restore and the task of its first primary as its status wants them.
 * Cheap; called in every round.
 */
#ifndef KM_RESTORE_TEND_H
#define KM_RESTORE_TEND_H

#include "operator/cluster/reconcile/cluster_memory.h"
#include "operator/cluster/restore/restore_lookup.h"
#include "operator/instance/agent_fleet.h"

/* options: ns and cluster are the snapshot's. fleet may be NULL. */
void restore_tend(const struct cluster_snapshot *snapshot, struct cluster_memory *memory,
    const struct restore_lookup_options *options, struct agent_fleet *fleet);

#endif
