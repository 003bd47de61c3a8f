/* SPDX-License-Identifier: Apache-2.0 */
/*
 * in_place_state.h: where a restore in place stands (status.restoreInPlace; cluster_in_place.h has its steps). Pure.
 */
#ifndef KM_IN_PLACE_STATE_H
#define KM_IN_PLACE_STATE_H

#include "operator/cluster/state/cluster_snapshot.h"

/* Nobody is to serve, or only who takes the restored data: Restoring and Taking. */
bool in_place_holds(const struct cluster_snapshot *snapshot);
/* It has failed, as its status was of the past: who is stale is known less surely, and stands in nobody's way. */
bool in_place_is_outdated(const struct cluster_snapshot *snapshot);
/* in_place_holds, or a wanted member that has a pod is stale: no failover, switchover or roll. */
bool in_place_is_under_way(const struct cluster_snapshot *snapshot);
/* The epoch that began when the restored data was taken, or a later one if an operator of 0.1.0 wrote the status; 0:
 * none was. */
int64_t in_place_taken_epoch(const struct cluster_snapshot *snapshot);
/* The latest epoch under which it was opened, or which wrote something that it has applied; 0: not known. */
int64_t in_place_latest_epoch(const struct cluster_member *member);
/* What its volume holds is of the time before the restore: so the status says, and the member says nothing that shows
 * that it has been seeded, and perhaps been primary, since that was written. */
bool in_place_is_stale(const struct cluster_snapshot *snapshot, const struct cluster_member *member);
/* The largest number that a member's data bears, or what lies beside it: of this cluster, or of one that had these
 * volumes before. */
int64_t in_place_heard_number(const struct cluster_snapshot *snapshot);
/* Who goes on being stale. By its own word there is nothing left to be afraid of: no data, or data that it will not
 * keep, or that is of a later time. Or there is neither pod nor volume. */
uint64_t in_place_still_stale(const struct cluster_snapshot *snapshot);
/* No route leads to the primary. */
bool in_place_closes_route(const struct cluster_snapshot *snapshot);

#endif
