/*
 * cluster_report_roles.h: the part of a status that is about replication: pure. Used by cluster_report alone.
 */
#ifndef KM_CLUSTER_REPORT_ROLES_H
#define KM_CLUSTER_REPORT_ROLES_H

#include "operator/cluster/cluster_snapshot.h"

/* Epoch, primary, a switchover under way and the last one, as they were written; the state; claims beyond spec.replicas. */
void cluster_report_roles(const struct cluster_snapshot *snapshot, struct cluster_status *status);
/* Role, lag, seeding and errant transactions of one member. */
void cluster_report_replication(const struct cluster_member *member, struct cluster_instance *instance);
/* Replicated, WritesBlocked, Lagging. */
void cluster_report_replication_conditions(const struct cluster_snapshot *snapshot, struct cluster_status *status);

#endif
