/* SPDX-License-Identifier: Apache-2.0 */
/*
 * in_place_check.h: what speaks against a restore in place, as far as can be said while the cluster still serves. Pure.
 * The member's agent checks all of it again, and the key, by the manifest itself, before anything is written.
 *
 * Of the archive, what the primary's agent says counts: it tells of each segment as soon as that is stored. What is
 * known of another archive (of another cluster, of an earlier history, in another place) is that it does not reach into
 * the future. A time is one of a member's clock, as those in binary logs are; other clocks may differ by
 * IN_PLACE_CLOCKS_MS.
 */
#ifndef KM_IN_PLACE_CHECK_H
#define KM_IN_PLACE_CHECK_H

#include "common/restore_reason.h"
#include "operator/cluster/restore/cluster_restore.h"

/* Free on the volume beyond the backup's data. */
#define IN_PLACE_ROOM_MARGIN ((uint64_t)(128 * KM_MIB))
#define IN_PLACE_CLOCKS_MS ((int64_t)60 * 1000)
/* So long the archive may take to reach a moment that has passed: a round at the usual interval, and its upload. */
#define IN_PLACE_ARCHIVE_MS ((int64_t)90 * 1000)

/* The reason, why says more; NONE: nothing. What is not known speaks against nothing. */
enum restore_reason in_place_check(const struct cluster_snapshot *snapshot, const struct restore_answer *answer,
    const struct agent_status *primary, char *why, size_t size);
/* It is not archived yet how far the restore is to go, and may be in a moment. */
bool in_place_awaits_archive(
    const struct cluster_snapshot *snapshot, const struct restore_answer *answer, const struct agent_status *primary);
/* The lookup's words without the field of spec.restoreFrom that they begin with. */
const char *in_place_message(const char *message);

#endif
