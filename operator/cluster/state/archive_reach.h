/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive_reach.h: whether the archive of binary logs (spec.backup.binlogs) would have a gap if a member became the
 * primary. Pure.
 *
 * The binary logs of a member that was copied begin with the copy. What was committed before, and is not archived yet,
 * is in those of other members alone, and only a primary archives: no restore would go over that moment. The primary
 * archives at once when there is such a member (backup/archive_turn.h), also while the cluster is paused, so a planned
 * change of primaries waits a moment for it. Not for ever: a primary may write faster than its archive takes it. A
 * failover waits for nothing; of equals it takes another one.
 */
#ifndef KM_ARCHIVE_REACH_H
#define KM_ARCHIVE_REACH_H

#include "operator/cluster/state/cluster_snapshot.h"

/* For how long a planned change of primaries waits for the archive at most: three intervals
 * (spec.backup.binlogs.intervalSeconds), but at least a minute and at most ten. */
#define ARCHIVE_REACH_PATIENCE_MIN_MS 60000
#define ARCHIVE_REACH_PATIENCE_MAX_MS 600000
int64_t archive_reach_patience_ms(const struct cluster_snapshot *snapshot);
/* The primary has yet to archive what the member's binary logs lack and its own may hold, and is about to: its last
 * round did not fail, or it is about to get its task. */
bool archive_reach_is_awaited(const struct cluster_snapshot *snapshot, const struct cluster_member *member);
/* As far as is known, now or by the status, something would be missing. */
bool archive_reach_is_short(const struct cluster_snapshot *snapshot, const struct cluster_member *member);

#endif
