/* SPDX-License-Identifier: Apache-2.0 */
/*
 * in_place_state.h: where a restore in place stands (status.restoreInPlace; cluster_in_place.h has its steps). Pure.
 */
#ifndef KM_IN_PLACE_STATE_H
#define KM_IN_PLACE_STATE_H

#include "operator/cluster/state/cluster_snapshot.h"

/* Nobody is to serve, or only who takes the restored data: Restoring and Taking. */
bool in_place_holds(const struct cluster_snapshot *snapshot);
/* That, or a wanted member that has a pod is stale: no failover, switchover or roll. */
bool in_place_is_under_way(const struct cluster_snapshot *snapshot);
/* What its volume holds is of the time before the restore. */
bool in_place_is_stale(const struct cluster_snapshot *snapshot, const struct cluster_member *member);
/* No route leads to the primary. */
bool in_place_closes_route(const struct cluster_snapshot *snapshot);

#endif
