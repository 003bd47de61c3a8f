/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/state/copy_close.h"

#include "operator/cluster/state/member_view.h"

bool copy_close_is_under_way(const struct cluster_snapshot *snapshot)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    return primary && member_runs(primary) && member_has_problem(primary, AGENT_PROBLEM_CLOSED_FOR_COPY);
}

const struct cluster_member *copy_close_receiver(const struct cluster_snapshot *snapshot)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    char host[AGENT_HOST_SIZE];
    if (!primary)
        return NULL;
    cluster_member_host(snapshot, primary, host);
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (member_is_being_cloned(member) && str_eq(member->agent->seed.donor, host))
            return member;
    }
    return NULL;
}

/* A clock that was set back makes nobody wait for longer. */
int64_t copy_close_rest_ms(const struct cluster_snapshot *snapshot)
{
    const struct cluster_copy_close *last = &snapshot->last.copy_close;
    int64_t age_ms = snapshot->now_ms - last->started_ms;
    return last->started_ms == 0 || age_ms < 0 ? 0 : MAX_OF(0, AGENT_COPY_CLOSE_AGAIN_MS - age_ms);
}

void copy_close_record(const struct cluster_snapshot *snapshot, struct cluster_copy_close *ret)
{
    const struct cluster_copy_close *last = &snapshot->last.copy_close;
    const struct cluster_member *primary = cluster_primary(snapshot), *receiver = copy_close_receiver(snapshot);
    bool goes_on = *last->member && last->finished_ms == 0;
    *ret = *last;
    if (goes_on && primary && str_eq(primary->name, last->member) && !member_speaks(primary))
        return;
    if (!copy_close_is_under_way(snapshot)) {
        ret->finished_ms = goes_on ? snapshot->now_ms : last->finished_ms;
        return;
    }
    if (!goes_on || !str_eq(primary->name, last->member)) {
        *ret = (struct cluster_copy_close){.started_ms = snapshot->now_ms};
        snprintf(ret->member, sizeof(ret->member), "%s", primary->name);
    }
    if (receiver)
        snprintf(ret->receiver, sizeof(ret->receiver), "%s", receiver->name);
}
