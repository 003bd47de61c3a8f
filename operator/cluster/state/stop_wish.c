/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/state/stop_wish.h"

#include "operator/api/names.h"
#include "operator/cluster/state/member_view.h"

const struct cluster_member *cluster_member_meant(const struct cluster_snapshot *snapshot, const char *value)
{
    for (int i = 0; i < snapshot->member_count && !str_empty(value); i++) {
        char ordinal[16];
        snprintf(ordinal, sizeof(ordinal), "%d", snapshot->members[i].ordinal);
        if (str_eq(value, snapshot->members[i].name) || str_eq(value, ordinal))
            return &snapshot->members[i];
    }
    return NULL;
}

bool member_is_stopped(const struct cluster_member *member)
{
    return member_speaks(member) && member->agent->keeps_stopped && !member_is_seeding(member) &&
        member->agent->phase == AGENT_PHASE_DOWN;
}

static int followers_without(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    return cluster_follower_count(snapshot) - member_follows(snapshot, member);
}

/* Of one whose server runs. NULL: nothing speaks against it. */
static const char *why_not_yet(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    int needed = snapshot->last.roles.semi_sync ? snapshot->last.roles.acks : 0;
    if (!primary || !member_is_open(snapshot, primary))
        return "no primary is open for writes, and it may hold commits that only the last one has";
    if (followers_without(snapshot, member) < needed)
        return "without it commits would wait for acknowledgements: too few other replicas follow";
    if (member_speaks(member) && member->agent->serving_backups > 0)
        return "it gives a copy of its data, which has to end before";
    return NULL;
}

static const char *why_never(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    const struct cluster_transition *transition = &snapshot->last.roles.transition;
    if (member == cluster_primary(snapshot))
        return "it is the primary: move that to another member first (annotation " ANNOTATION_SWITCHOVER_TO ")";
    if (str_eq(member->name, transition->from) || str_eq(member->name, transition->to))
        return "the primary is being moved";
    if (!member_is_wanted(snapshot, member))
        return "it is leaving the cluster";
    return NULL;
}

void stop_wish_read(const struct cluster_snapshot *snapshot, struct stop_wish *ret)
{
    *ret = (struct stop_wish){.member = cluster_member_meant(snapshot, snapshot->stop_server)};
    const struct cluster_member *member = ret->member;
    const char *why = NULL;
    if (str_empty(snapshot->stop_server))
        return;
    if (!member) {
        snprintf(ret->why, sizeof(ret->why), "there is no member \"%.60s\"", snapshot->stop_server);
        return;
    }
    why = why_never(snapshot, member);
    if (!why && !member_is_stopped(member))
        why = why_not_yet(snapshot, member);
    ret->granted = !why;
    snprintf(ret->why, sizeof(ret->why), "%s", why ? why : "");
}

bool member_is_to_stop(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    struct stop_wish wish;
    stop_wish_read(snapshot, &wish);
    return wish.granted && wish.member == member;
}
