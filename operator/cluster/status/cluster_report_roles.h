/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_report_roles.h: the part of a status that is about replication: pure. Used by cluster_report alone.
 */
#ifndef KM_CLUSTER_REPORT_ROLES_H
#define KM_CLUSTER_REPORT_ROLES_H

#include "operator/cluster/state/cluster_snapshot.h"

/* A new epoch for the same primary is on its way to the members for at most so long: what was known of them stays
 * meanwhile. */
#define CLUSTER_EPOCH_SPREAD_MS 1000

/* As after a restart of ours, for a moment: what was known stays. */
bool cluster_nobody_speaks(const struct cluster_snapshot *snapshot);
bool cluster_epoch_spreads(const struct cluster_snapshot *snapshot);
/* Epoch, primary, a switchover under way and the last one, as they were written; the state; claims beyond
 * spec.replicas. */
void cluster_report_roles(const struct cluster_snapshot *snapshot, bool primary_obeys, struct cluster_status *status);
/* Role, lag, seeding, errant transactions and those set aside of one member. */
void cluster_report_replication(
    const struct cluster_snapshot *snapshot, const struct cluster_member *member, struct cluster_instance *instance);
/* Replicated, WritesBlocked, Lagging. */
void cluster_report_replication_conditions(const struct cluster_snapshot *snapshot, struct cluster_status *status);

#endif
