/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/state/cluster_roles.h"

#include <stdarg.h>
#include <stdio.h>

#include "operator/cluster/state/member_view.h"

void cluster_intent_say(struct cluster_intent *intent, const char *fmt, ...)
{
    va_list ap;
    if (!str_empty(intent->next_action)) /* the first reason stands */
        return;
    va_start(ap, fmt);
    vsnprintf(intent->next_action, sizeof(intent->next_action), fmt, ap);
    va_end(ap);
}

int64_t cluster_newest_heard_epoch(const struct cluster_snapshot *snapshot)
{
    int64_t newest = MAX_OF(MAX_OF(snapshot->heard_epoch, snapshot->seen_epoch), snapshot->last.roles.heard_epoch);
    for (int i = 0; i < snapshot->member_count; i++) {
        if (member_speaks(&snapshot->members[i]))
            newest = MAX_OF(newest, (int64_t)snapshot->members[i].agent->epoch);
    }
    return newest;
}

int64_t cluster_newest_epoch(const struct cluster_snapshot *snapshot)
{
    return MAX_OF(snapshot->last.roles.epoch, cluster_newest_heard_epoch(snapshot));
}

/* It receives nothing: a failover held it. Its server names the source that it had before, also after it was ordered to
 * follow another one, until it has applied all that it had received. A volume of another life that has had no order yet
 * is no sign of a failover, unless the status had a later epoch before. */
static bool was_held(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    bool is_ordered = member->agent->role == AGENT_ROLE_REPLICA || snapshot->seen_epoch > snapshot->last.roles.epoch;
    return is_ordered && member->agent->replication.receiver == AGENT_THREAD_OFF;
}

/* All who know a later epoch than this one receive from it, and hold no heartbeat of a later reign; and one of them
 * knows the newest. */
static bool is_followed_still(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    char host[AGENT_HOST_SIZE];
    bool knows_newest = false;
    cluster_member_host(snapshot, member, host);
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *other = &snapshot->members[i];
        if (!member_speaks(other) || other->agent->epoch <= member->agent->epoch)
            continue;
        if (!str_eq(other->agent->replication.source_host, host) ||
            other->agent->replication.applied_epoch > member->agent->epoch || was_held(snapshot, other))
            return false;
        knows_newest |= (int64_t)other->agent->epoch == cluster_newest_epoch(snapshot);
    }
    return knows_newest;
}

bool cluster_writes_last(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    int64_t newest = cluster_newest_epoch(snapshot);
    if (!member_speaks(member) || !agent_takes_writes(member->agent) || agent_is_closing(member->agent))
        return false;
    return (int64_t)member->agent->epoch >= newest || newest == snapshot->last.roles.epoch ||
        is_followed_still(snapshot, member);
}

bool cluster_anybody_writes(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        if (cluster_writes_last(snapshot, &snapshot->members[i]))
            return true;
    }
    return false;
}
