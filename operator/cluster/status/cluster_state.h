/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_state.h: the one word that says how a cluster is (status.state). Pure.
 */
#ifndef KM_CLUSTER_STATE_H
#define KM_CLUSTER_STATE_H

#include "operator/cluster/state/cluster_snapshot.h"

/* After that a server whose agent is still not heard is not one that only starts. */
#define CLUSTER_STATE_START_MS (3 * 60 * 1000)

enum cluster_state cluster_state_decide(const struct cluster_snapshot *snapshot);
/* When time alone may change it; 0: never. */
int64_t cluster_state_again_ms(const struct cluster_snapshot *snapshot, enum cluster_state state);

/* A database was made, and by all members' own words nobody has it any more, as after the eviction of the only member
 * on an emptyDir: nothing of that comes back, and nothing new is made in its place (I8). */
bool cluster_data_is_lost(const struct cluster_snapshot *snapshot);

#endif
