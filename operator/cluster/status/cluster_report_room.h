/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_report_room.h: data volumes that run out of room: the condition VolumeFull, and what the user has to do.
 * Pure.
 */
#ifndef KM_CLUSTER_REPORT_ROOM_H
#define KM_CLUSTER_REPORT_ROOM_H

#include "operator/cluster/state/cluster_snapshot.h"

/* VolumeFull: absent where every member that speaks has enough room. */
void cluster_report_room(const struct cluster_snapshot *snapshot, struct cluster_status *status);
/* The primary is closed for writes and opens again by itself within a minute: the volume was filled too fast. */
bool cluster_room_passes(const struct cluster_snapshot *snapshot);
/* With field and value. False: nothing. */
bool cluster_room_remedy(const struct cluster_snapshot *snapshot, char *out, size_t size);

#endif
