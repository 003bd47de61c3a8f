/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roll_target.h: whether members are made of what the spec asks for, or, after a roll of it that failed, of what they
 * ran before; when it failed, and when it is tried again: pure.
 *
 * What runs is stored before a roll changes the StatefulSet (roll_must_be_kept, roll_before.h). A pair of template and
 * my.cnf counts as proven once all members were ready with it (status.roll.proven); only that one is gone back to.
 *
 * A roll fails when a container of a member that it has replaced has ended three times and the member is not ready, or
 * when for five minutes that member's pod could not be made, placed, or its image pulled. Crash recovery, upgrades and
 * copies end no container, so they have all the time that they need.
 *
 * A member whose data another version of the server may have opened is not started on it by the old one: then nothing
 * goes back. Versions are compared as agents tell them; of a member that tells none, images are, unless none of its
 * containers has started.
 *
 * Which try failed stands in the status before anything goes back, so an operator that is restarted goes on with the
 * same decision. It ends when what is wanted is another one (the spec, its MysqlConfig, the operator), or the
 * annotation ANNOTATION_ROLL_AGAIN has another value; for what was not made, placed or pulled also by itself, after
 * pauses that grow from ROLL_RETRY_MS to ROLL_RETRY_MAX_MS; where somebody else killed the server (SIGKILL, not for
 * want of memory) from ROLL_RETRY_KILLED_MS on.
 */
#ifndef KM_ROLL_TARGET_H
#define KM_ROLL_TARGET_H

#include "operator/cluster/rollout/cluster_decide.h"
#include "operator/cluster/state/roll_before.h"

#define ROLL_ENDS_MAX 3
#define ROLL_BLOCKED_MS (5LL * 60 * 1000)
#define ROLL_RETRY_MS (10LL * 60 * 1000)
#define ROLL_RETRY_KILLED_MS (60LL * 1000)
#define ROLL_RETRY_MAX_MS (6LL * 60 * 60 * 1000)

enum roll_target {
    ROLL_TARGET_WANTED,
    ROLL_TARGET_BEFORE,
    ROLL_TARGET_HELD, /* the latter, and what that was has to be read, or stored anew, first */
};
/* roll_wanted, before_kept and before_known of the snapshot are set, its StatefulSet and last status as well. */
enum roll_target roll_target(const struct cluster_snapshot *snapshot);

/* What is stored must be known before more is decided. */
bool roll_needs_before(const struct cluster_snapshot *snapshot);
/* What is in force has been proven, something else is wanted, and it is not stored yet. */
bool roll_must_be_kept(const struct cluster_snapshot *snapshot);

/* Another version of the server than what is stored may have opened the member's data. before_kept is set. */
bool roll_opened_by_another(const struct cluster_snapshot *snapshot, const struct cluster_member *member);
/* The first one of which that may be so, of those that this roll has replaced. NULL: of none. */
const struct cluster_member *roll_find_opened_by_another(const struct cluster_snapshot *snapshot);

/* status.roll as this decision leaves it. */
void roll_record(
    const struct cluster_snapshot *snapshot, const struct cluster_decision *decision, struct cluster_roll_status *ret);
/* When time alone changes it; 0: never. */
int64_t roll_again_in_ms(const struct cluster_roll_status *roll, int64_t now_ms);
/* When it is tried again by itself, wall clock; 0: not by itself. */
int64_t roll_retry_at_ms(const struct cluster_roll_status *roll);

#endif
