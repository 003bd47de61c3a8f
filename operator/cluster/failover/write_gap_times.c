/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/failover/write_gap_times.h"

/* By our clock; false: not known. */
static bool place(const struct cluster_snapshot *snapshot, const struct cluster_member *member,
    const struct agent_moment *moment, struct agent_moment *ret)
{
    const struct agent_status *agent = member->agent;
    if (moment->at_ms <= 0 || moment->at_ms > agent->clock_ms || member->silent_ms == INT64_MAX)
        return false;
    *ret = (struct agent_moment){.at_ms = snapshot->now_ms - member->silent_ms - (agent->clock_ms - moment->at_ms),
        .span_ms = MAX_OF(0, moment->span_ms)};
    return true;
}

static void take_later(const struct cluster_snapshot *snapshot, const struct cluster_member *member,
    const struct agent_moment *moment, struct agent_moment *ret)
{
    struct agent_moment placed;
    if (place(snapshot, member, moment, &placed) && placed.at_ms > ret->at_ms)
        *ret = placed;
}

/* It was lost, or left, before that was noticed. */
static void end_before(int64_t end_ms, struct agent_moment *moment)
{
    moment->at_ms = MIN_OF(moment->at_ms, end_ms);
    moment->span_ms = MIN_OF(moment->span_ms, end_ms - moment->at_ms);
}

void write_gap_note_last_write(const struct cluster_snapshot *snapshot, struct cluster_transition *transition)
{
    struct agent_moment last = {.at_ms = 0};
    if (transition->last_write_ms > 0)
        return;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        /* After a switchover the new one is open, and others may follow it. */
        bool is_old = transition->failover || str_eq(member->name, transition->from);
        bool is_witness = transition->failover || str_eq(member->name, transition->to);
        if (member->agent && is_old)
            take_later(snapshot, member, &member->agent->took_writes, &last);
        if (member->agent && is_witness)
            take_later(snapshot, member, &member->agent->event_received, &last);
    }
    if (last.at_ms <= 0)
        return;
    end_before(transition->failover ? transition->started_ms : snapshot->now_ms, &last);
    transition->last_write_ms = last.at_ms;
    transition->last_write_span_ms = last.span_ms;
}

int64_t write_gap_last_write_ms(const struct cluster_transition *transition)
{
    return transition->last_write_ms > 0 ? transition->last_write_ms + transition->last_write_span_ms / 2 : 0;
}

struct write_gap write_gap_opened(const struct cluster_snapshot *snapshot, const struct cluster_transition *transition)
{
    int64_t last_ms = write_gap_last_write_ms(transition);
    if (last_ms == 0)
        return (struct write_gap){.until = WRITE_GAP_UNTIL_UNKNOWN};
    return (struct write_gap){.opened_ms = MAX_OF(0, snapshot->now_ms - last_ms),
        .uncertainty_ms = (transition->last_write_span_ms + 1) / 2 + WRITE_GAP_SLACK_MS,
        .until = WRITE_GAP_UNTIL_OPENING};
}

static void complete(const struct agent_moment *first, int64_t finished_ms, struct write_gap *gap, int64_t *blocked_ms)
{
    int64_t committed_ms = first->at_ms + first->span_ms / 2;
    if (gap->until != WRITE_GAP_UNTIL_OPENING)
        return;
    gap->until = WRITE_GAP_UNTIL_FIRST_COMMIT;
    gap->uncertainty_ms += (first->span_ms + 1) / 2;
    gap->route_ms = MAX_OF(0, committed_ms - finished_ms);
    *blocked_ms = MAX_OF(0, gap->opened_ms + committed_ms - finished_ms);
}

void write_gap_complete(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, struct cluster_role_status *roles)
{
    struct cluster_failover *failover = &roles->last_failover;
    struct cluster_switchover *switchover = &roles->last_switchover;
    const struct agent_status *agent = primary->agent;
    struct agent_moment first;
    if (agent->first_commit_epoch == 0 || !place(snapshot, primary, &agent->first_commit, &first))
        return;
    if (str_eq(failover->to, primary->name) && agent->first_commit_epoch == (uint64_t)failover->epoch &&
        snapshot->now_ms - failover->finished_ms < WRITE_GAP_COMPLETE_MS)
        complete(&first, failover->finished_ms, &failover->gap, &failover->writes_blocked_ms);
    if (str_eq(switchover->to, primary->name) && agent->first_commit_epoch == (uint64_t)switchover->epoch &&
        snapshot->now_ms - switchover->finished_ms < WRITE_GAP_COMPLETE_MS)
        complete(&first, switchover->finished_ms, &switchover->gap, &switchover->writes_blocked_ms);
}
