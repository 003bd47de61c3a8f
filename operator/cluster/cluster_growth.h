/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_growth.h: when a cluster may get more members: pure.
 *
 * Roll first, then grow. A copy is made ready by the series that it was taken from only, so members that were made together with a new image
 * could not be seeded by those that have the old one, and the roll would wait for them for ever. Until all pods have the newest template the
 * cluster is led as one of the size that it has, acknowledgements included.
 */
#ifndef KM_CLUSTER_GROWTH_H
#define KM_CLUSTER_GROWTH_H

#include "operator/cluster/cluster_snapshot.h"

/* The size that an accepted spec asks for, or that of the StatefulSet while more would be too early. Members must have been gathered. */
int cluster_growth_replicas(const struct cluster_snapshot *snapshot);

#endif
