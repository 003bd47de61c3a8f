/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_in_place.h: an existing cluster gets the data of a stored backup (annotation restore-in-place). Pure.
 *
 *   1. status: Resolving. A lookup (restore_lookup.h) finds the backup; what can be said against it is said while the
 *      cluster serves. Of one on a volume the status then says where it is, so that the pod in front of it is made
 *      (restore_store.h): nothing goes on before that serves
 *   2. status: Restoring, epoch + 1. All are told to be nothing, and that nobody takes over; the primary's pod is
 *      replaced, once, and its `init` restores the backup beside the data, which stays
 *   3. it is there, and all others say that they follow nobody. Status: Taking, epoch + 1, the others' data is stale.
 *      `init` makes it the data and keeps the old as data.before; it becomes primary
 *   4. it is open. Status: Reseeding. The others mark their volumes, lose their pods, and are seeded by copies
 *   5. all follow. Status: Completed; data.before is removed
 * Until 3 nothing is lost: what fails, and a wish that is taken back, ends in Failed, epoch + 1, and the old data
 * serves. From 3 on there is no way back.
 * Who is stale stands in the status with 3: such a member never serves, follows, or keeps its data, whenever it comes
 * back. No failover, switchover or roll happens in 2 and 3, and none while a pod of a wanted member is stale.
 * A status that is older than the members ends it (in_place_past.h).
 * A wish is carried out once: another value is another wish; taking it away makes room for the same one again.
 */
#ifndef KM_CLUSTER_IN_PLACE_H
#define KM_CLUSTER_IN_PLACE_H

#include "operator/cluster/state/cluster_roles.h"
#include "operator/cluster/state/in_place_state.h"

/* How often a member may fail with what may pass, like a store that does not answer, before the old data serves
 * again. */
#define IN_PLACE_ATTEMPTS_MAX 5

/* While it holds: all that there is to intend. */
void in_place_intend(const struct cluster_snapshot *snapshot, struct cluster_intent *intent);
/* Otherwise: after everything else. */
void in_place_consider(const struct cluster_snapshot *snapshot, struct cluster_intent *intent);
void in_place_apply(
    const struct cluster_snapshot *snapshot, const struct cluster_intent *intent, struct cluster_status *status);

/* Whether the lookup is to go on. */
bool in_place_is_looked_for(const struct cluster_snapshot *snapshot);
/* The member that must be told how to do the restore; NULL: nobody. */
const struct cluster_member *in_place_receiver(const struct cluster_snapshot *snapshot);
enum in_place_order {
    IN_PLACE_ORDER_USUAL,   /* as ever */
    IN_PLACE_ORDER_GIVEN,   /* as it stands in *order now */
    IN_PLACE_ORDER_PRIMARY, /* that, and to be primary */
};
enum in_place_order in_place_order(
    const struct cluster_snapshot *snapshot, const struct cluster_member *member, struct agent_order *order);
/* The pod that must go, so that `init` can do its work; NULL: none. */
const struct cluster_member *in_place_leaver(const struct cluster_snapshot *snapshot);

/* For status.restoreInPlace, the condition RestoredInPlace and nextAction. */
void in_place_report(const struct cluster_snapshot *snapshot, struct cluster_status *status);
/* The next action where the wish cannot be read, or has failed and still stands. False: neither. */
bool in_place_remedy(const struct cluster_snapshot *snapshot, char *out, size_t size);

#endif
