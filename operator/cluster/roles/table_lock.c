/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/roles/table_lock.h"

#include "operator/cluster/state/member_view.h"

/* A time ahead of our clock is of another operator's, or of before ours was set back. */
int64_t table_lock_waited_ms(const struct cluster_snapshot *snapshot)
{
    int64_t since_ms = snapshot->last.roles.lock_awaited_ms;
    return since_ms > 0 ? MAX_OF(0, snapshot->now_ms - since_ms) : 0;
}

bool table_lock_holds_up(const struct cluster_snapshot *snapshot, enum transition_reason reason,
    const struct cluster_member *primary, struct cluster_intent *intent)
{
    int64_t left_ms = CLUSTER_MOVE_LOCK_PATIENCE_MS - table_lock_waited_ms(snapshot);
    if (reason == TRANSITION_POD_DELETED || member_is_closed_for_room(snapshot, primary) || left_ms <= 0 ||
        !member_is_locked(primary))
        return false;
    const char *holder = primary->agent->lock_holder;
    intent->waits_to_unlock = true;
    intent->again_ms = MIN_OF(left_ms, 1000);
    cluster_intent_say(intent,
        "move the primary away from %s (%s); waits up to %lld s for %s, which holds a lock on all tables (FLUSH TABLES "
        "WITH READ LOCK, a backup) and is ended then",
        primary->name, transition_reason_name(reason), (long long)((left_ms + 999) / 1000),
        str_empty(holder) ? "a session" : holder);
    return true;
}

static bool all_are_heard(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (cluster_member_has_agent(member) && !member_speaks(member))
            return false;
    }
    return true;
}

/* Nobody waits for the lock any more: it has gone, or the wish has. Who has just begun to lead sees no wish of a roll
 * before it has heard all members. A wish that comes back soon is the same one. */
static bool forgets_lock(const struct cluster_snapshot *snapshot, const struct cluster_intent *intent)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    if (!str_eq(intent->roles.current_primary, snapshot->last.roles.current_primary) || !primary)
        return true;
    bool is_long = table_lock_waited_ms(snapshot) >= 2LL * CLUSTER_MOVE_LOCK_PATIENCE_MS;
    return member_speaks(primary) && (!member_is_locked(primary) || (is_long && all_are_heard(snapshot)));
}

void table_lock_note(const struct cluster_snapshot *snapshot, struct cluster_intent *intent)
{
    int64_t *since_ms = &intent->roles.lock_awaited_ms;
    if (intent->waits_to_unlock && (*since_ms == 0 || *since_ms > snapshot->now_ms))
        *since_ms = snapshot->now_ms;
    else if (!intent->waits_to_unlock && *since_ms > 0 && forgets_lock(snapshot, intent))
        *since_ms = 0;
}
