/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_volumes.h: the volume claims of a cluster: growth in place, and their owner (volume_owner.h): pure. Claims
 * are never deleted here, and never shrunk.
 */
#ifndef KM_CLUSTER_VOLUMES_H
#define KM_CLUSTER_VOLUMES_H

#include "operator/cluster/state/cluster_snapshot.h"

void cluster_volumes_decide(const struct cluster_snapshot *snapshot, struct plan *plan);
/* A claim is smaller than wanted or its file system is still being grown; text (may be NULL) says which. */
bool cluster_volumes_growing(const struct cluster_snapshot *snapshot, char *text, size_t size);
/* The terminal of spec.terminal has the wanted spec. */
bool cluster_terminal_is_as_wanted(const struct cluster_snapshot *snapshot);

#endif
