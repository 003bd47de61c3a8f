/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restore_state.h: whether a new cluster waits for its data from a backup (status.restore; cluster_restore.h has the
 * steps). Pure.
 */
#ifndef KM_RESTORE_STATE_H
#define KM_RESTORE_STATE_H

#include "operator/cluster/state/cluster_snapshot.h"

/* A cluster that gets its data from a backup. */
bool restore_is_under_way(const struct cluster_snapshot *snapshot);

#endif
