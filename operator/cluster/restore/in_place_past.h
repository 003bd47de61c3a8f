/* SPDX-License-Identifier: Apache-2.0 */
/*
 * in_place_past.h: a restore in place by a status that is older than the members (failover_status_is_old), or by none.
 * What became of it since is not known: it may have ended, and days of rows may have been written on top. Pure.
 *
 * So it is not carried on. It ends in Failed, StatusOutdated, and who has the newest data is found out as ever
 * (cluster_failover.h). The wish counts as carried out. Who is stale by such a status is so only as long as the member
 * does not say something else (in_place_is_stale): data of before the restore must not be counted on, whatever else has
 * changed.
 */
#ifndef KM_IN_PLACE_PAST_H
#define KM_IN_PLACE_PAST_H

#include "operator/cluster/state/cluster_roles.h"

/* The data was being taken, and nobody has gone on from there: all are heard, the member that takes it was told nothing
 * later, and nobody else was opened, or has applied anything, since. Only the epoch is raised then. */
bool in_place_goes_on(const struct cluster_snapshot *snapshot);
/* After the roles have been decided on: what was under way, or is wished, has failed. */
void in_place_end_past(const struct cluster_snapshot *snapshot, struct cluster_intent *intent);
/* A first primary has been chosen, which holds data: a wish that is there already is as old as that, or older. */
void in_place_refuse_old_wish(const struct cluster_snapshot *snapshot, struct cluster_intent *intent);
/* Members that hold data of before the restore, by their own word, acknowledge nothing of what came after it: no
 * election waits for them. */
void in_place_leave_out_stale(const struct cluster_snapshot *snapshot, struct cluster_intent *intent);

#endif
