/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/state/final_backup_state.h"

#include "operator/cluster/state/member_view.h"

/* As far as can be told: nobody has looked yet, or its server has been started, counts as data. */
static bool may_have_data(const struct cluster_member *member)
{
    if (member->agent_awaited)
        return true;
    if (member_speaks(member))
        return member_runs(member) || member->agent->data == AGENT_DATA_DATABASE;
    return member->pod && (member->pod->initialized || member->pod->mysql_running);
}

/* Of a cluster that the status says was never open: clients never had a route to it, but its volumes may be of an
 * earlier life. */
static bool is_empty(const struct cluster_snapshot *snapshot)
{
    if (snapshot->last.roles.initialized || snapshot->last.roles.final_backup.phase != FINAL_BACKUP_NONE)
        return false;
    for (int i = 0; i < snapshot->member_count; i++) {
        if (may_have_data(&snapshot->members[i]))
            return false;
    }
    return true;
}

enum final_backup_end final_backup_end(const struct cluster_snapshot *snapshot)
{
    const struct final_backup_facts *final = &snapshot->final;
    if (snapshot->last.roles.final_backup.phase == FINAL_BACKUP_COMPLETED)
        return FINAL_BACKUP_END_COMPLETED;
    if (final->skip)
        return FINAL_BACKUP_END_SKIPPED;
    if (!final->wanted)
        return FINAL_BACKUP_END_NOT_WANTED;
    if (final->orphan)
        return FINAL_BACKUP_END_MEMBERS_STAY;
    return is_empty(snapshot) ? FINAL_BACKUP_END_NO_DATA : FINAL_BACKUP_END_NONE;
}

bool final_backup_is_due(const struct cluster_snapshot *snapshot)
{
    return snapshot->final.deleting && snapshot->final.has_finalizer &&
        final_backup_end(snapshot) == FINAL_BACKUP_END_NONE;
}

bool final_backup_is_over(const struct cluster_snapshot *snapshot)
{
    return snapshot->final.deleting && snapshot->final.has_finalizer &&
        final_backup_end(snapshot) != FINAL_BACKUP_END_NONE;
}

bool cluster_is_let_go(const struct cluster_snapshot *snapshot)
{
    const struct final_backup_facts *final = &snapshot->final;
    return final->deleting && (final->has_finalizer || final->holds_volumes) && !final_backup_is_due(snapshot);
}

bool final_backup_is_closed(const struct cluster_snapshot *snapshot)
{
    return snapshot->last.roles.final_backup.phase != FINAL_BACKUP_NONE;
}

bool final_backup_holds_volumes(const struct cluster_snapshot *snapshot)
{
    const struct final_backup_facts *final = &snapshot->final;
    if (final->deleting)
        return final_backup_is_due(snapshot) || final->orphan;
    return final->has_finalizer || snapshot->cluster.final_backup;
}

int final_backup_wakes(const struct cluster_snapshot *snapshot)
{
    return final_backup_is_due(snapshot) ? names_ordinal(snapshot->last.roles.current_primary) + 1 : 0;
}
