/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_lock.h: a planned move that waits for a session with a lock on all tables of the primary (FLUSH TABLES WITH READ
 * LOCK, a backup): pure.
 *
 * Whoever holds that lock loses it with the move, and a backup that rests upon it is worth nothing. So it is waited for
 * while nothing has begun: it is that session which holds writers up then. Not for ever, as it may be one that was
 * forgotten; nor by who leaves anyway. Since when it is waited for stands in the status (roles.lock_awaited_ms), so the
 * next operator to lead does not give a session its minute (CLUSTER_MOVE_LOCK_PATIENCE_MS) anew.
 */
#ifndef KM_TABLE_LOCK_H
#define KM_TABLE_LOCK_H

#include "operator/cluster/state/cluster_roles.h"

/* 0: nobody waits. */
int64_t table_lock_waited_ms(const struct cluster_snapshot *snapshot);
/* The wish to move `primary` away waits for the lock; then *intent says so, and when to look again. */
bool table_lock_holds_up(const struct cluster_snapshot *snapshot, enum transition_reason reason,
    const struct cluster_member *primary, struct cluster_intent *intent);
/* Of the whole intent: begins to count, or forgets. */
void table_lock_note(const struct cluster_snapshot *snapshot, struct cluster_intent *intent);

#endif
