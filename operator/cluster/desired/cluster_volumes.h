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
/* The growth of a claim is refused for good, by the API server's answer to the patch of one: its StorageClass cannot
 * expand volumes, a LimitRange, a webhook. A quota that others use up, or our own rights, may be another tomorrow. */
bool cluster_volumes_are_refused(const struct cluster_snapshot *snapshot, const struct error *error);
/* The next action where the growth is refused: the field, both sizes, the message of the API server. False: no claim is
 * to grow. */
bool cluster_volumes_remedy(const struct cluster_snapshot *snapshot, const struct error *error, char *out, size_t size);
/* The terminal of spec.terminal has the wanted spec. */
bool cluster_terminal_is_as_wanted(const struct cluster_snapshot *snapshot);

#endif
