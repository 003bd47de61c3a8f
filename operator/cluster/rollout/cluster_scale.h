/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_scale.h: how many members a cluster has: pure.
 *
 * The spec says how many are wanted. The cluster is led as one of another size
 *  - while its spec is not accepted: as many as its StatefulSet has, or as the last accepted spec asked for;
 *  - while it is paused: as many as it was led with before;
 *  - while it is hibernated and a last backup is due: up to its primary, whose volume only a server can read;
 *  - before it grows: roll first, then grow. A copy is made ready by the series that it was taken from only, so members
 *    that were made together with a new image could not be seeded by those that have the old one, and the roll would
 *    wait for them for ever. Until all pods have the newest template the cluster has the size of its StatefulSet,
 *    acknowledgements included.
 */
#ifndef KM_CLUSTER_SCALE_H
#define KM_CLUSTER_SCALE_H

#include "operator/cluster/state/cluster_snapshot.h"

/* Of a snapshot whose spec, status, children and members' pods were gathered; its own scale is not looked at. */
struct cluster_scale cluster_scale(const struct cluster_snapshot *snapshot);

#endif
