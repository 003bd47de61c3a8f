/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/failover/write_gap_times.h"

#include "operator/cluster/state/member_view.h"

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

/* By anybody's word. */
static struct agent_moment newest_of_all(const struct cluster_snapshot *snapshot)
{
    struct agent_moment newest = {.at_ms = 0};
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (!member->agent)
            continue;
        take_later(snapshot, member, &member->agent->took_writes, &newest);
        take_later(snapshot, member, &member->agent->event_received, &newest);
    }
    return newest;
}

/* After a switchover the new one is open, and others may follow it. */
static struct agent_moment newest_of_two(
    const struct cluster_snapshot *snapshot, const struct cluster_transition *transition)
{
    struct agent_moment newest = {.at_ms = 0};
    const struct cluster_member *from = cluster_member_named(snapshot, transition->from);
    const struct cluster_member *to = cluster_member_named(snapshot, transition->to);
    if (from && from->agent)
        take_later(snapshot, from, &from->agent->took_writes, &newest);
    if (to && to->agent)
        take_later(snapshot, to, &to->agent->event_received, &newest);
    return newest;
}

struct agent_moment write_gap_newest(const struct cluster_snapshot *snapshot, int64_t end_ms)
{
    struct agent_moment newest = newest_of_all(snapshot);
    if (newest.at_ms > 0)
        end_before(end_ms, &newest);
    return newest;
}

void write_gap_note_last_write(const struct cluster_snapshot *snapshot, struct cluster_transition *transition)
{
    struct agent_moment last = transition->failover ? newest_of_all(snapshot) : newest_of_two(snapshot, transition);
    bool is_of_another = transition->last_write_ms > 0 && !str_empty(transition->before);
    if (is_of_another || last.at_ms <= 0)
        return;
    end_before(transition->failover ? transition->started_ms : snapshot->now_ms, &last);
    if (last.at_ms <= transition->last_write_ms)
        return;
    transition->last_write_ms = last.at_ms;
    transition->last_write_span_ms = last.span_ms;
}

/* By its own word, or by a heartbeat of that epoch which somebody has applied. */
static bool was_opened(const struct cluster_snapshot *snapshot, const struct cluster_transition *transition)
{
    const struct cluster_member *to = cluster_member_named(snapshot, transition->to);
    struct agent_moment took;
    uint64_t epoch = (uint64_t)transition->epoch;
    if (!to || epoch == 0)
        return false;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct agent_status *agent = snapshot->members[i].agent;
        if (agent && agent->replication.applied_epoch >= epoch)
            return true;
    }
    return to->agent &&
        (to->agent->opening_epoch == epoch ||
            (place(snapshot, to, &to->agent->took_writes, &took) && took.at_ms > transition->started_ms));
}

void write_gap_renew_last_write(const struct cluster_snapshot *snapshot, struct cluster_transition *transition)
{
    struct agent_moment last = write_gap_newest(snapshot, snapshot->now_ms);
    if (last.at_ms <= transition->last_write_ms || !was_opened(snapshot, transition))
        return;
    transition->last_write_ms = last.at_ms;
    transition->last_write_span_ms = last.span_ms;
}

int64_t write_gap_last_write_ms(const struct cluster_transition *transition)
{
    return transition->last_write_ms > 0 ? transition->last_write_ms + transition->last_write_span_ms / 2 : 0;
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

static bool find_first_commit(const struct cluster_snapshot *snapshot, const struct cluster_member *primary,
    int64_t epoch, struct agent_moment *ret)
{
    const struct agent_status *agent = primary->agent;
    return agent && epoch > 0 && agent->first_commit_epoch == (uint64_t)epoch &&
        place(snapshot, primary, &agent->first_commit, ret);
}

/* Where nobody has seen it closed before, and its agent does not tell, it may have been at any time of the change. It
 * was open when somebody committed there. */
static struct agent_moment find_opening(const struct cluster_snapshot *snapshot, const struct write_gap_change *change)
{
    const struct agent_status *agent = change->to->agent;
    struct agent_moment told, first;
    if (agent && change->epoch > 0 && agent->opening_epoch == (uint64_t)change->epoch &&
        place(snapshot, change->to, &agent->opening, &told)) {
        int64_t at_ms = MAX_OF(told.at_ms + told.span_ms, change->started_ms);
        return (struct agent_moment){.at_ms = MIN_OF(at_ms, snapshot->now_ms)};
    }
    if (change->seen_closed || change->last_write.at_ms <= 0)
        return (struct agent_moment){.at_ms = snapshot->now_ms};
    bool committed = find_first_commit(snapshot, change->to, change->epoch, &first);
    int64_t end_ms = committed ? MIN_OF(snapshot->now_ms, first.at_ms + first.span_ms) : snapshot->now_ms;
    int64_t at_ms = MIN_OF(MAX_OF(change->started_ms, change->last_write.at_ms), end_ms);
    return (struct agent_moment){.at_ms = at_ms, .span_ms = end_ms - at_ms};
}

static int64_t middle_of(const struct agent_moment *moment)
{
    return moment->at_ms + moment->span_ms / 2;
}

struct write_gap_end write_gap_end(const struct cluster_snapshot *snapshot, const struct write_gap_change *change)
{
    const struct agent_moment opening = find_opening(snapshot, change);
    const struct agent_moment *last = &change->last_write;
    struct write_gap_end end = {.finished_ms = middle_of(&opening), .blocked_ms = -1};
    struct agent_moment first;
    if (last->at_ms <= 0)
        return end;
    end.blocked_ms = MAX_OF(0, end.finished_ms - middle_of(last));
    end.gap = (struct write_gap){.opened_ms = end.blocked_ms,
        .uncertainty_ms = (last->span_ms + 1) / 2 + WRITE_GAP_SLACK_MS,
        .until = WRITE_GAP_UNTIL_OPENING};
    /* Else it comes later, if it comes. */
    if (!change->seen_closed && find_first_commit(snapshot, change->to, change->epoch, &first))
        complete(&first, end.finished_ms, &end.gap, &end.blocked_ms);
    else
        end.gap.uncertainty_ms += (opening.span_ms + 1) / 2;
    return end;
}

void write_gap_complete(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, struct cluster_role_status *roles)
{
    struct cluster_failover *failover = &roles->last_failover;
    struct cluster_switchover *switchover = &roles->last_switchover;
    struct cluster_outage *outage = &roles->last_outage;
    int64_t since_ms = snapshot->now_ms - WRITE_GAP_COMPLETE_MS;
    struct agent_moment first;
    if (str_eq(failover->to, primary->name) && failover->finished_ms > since_ms &&
        find_first_commit(snapshot, primary, failover->epoch, &first))
        complete(&first, failover->finished_ms, &failover->gap, &failover->writes_blocked_ms);
    if (str_eq(switchover->to, primary->name) && switchover->finished_ms > since_ms &&
        find_first_commit(snapshot, primary, switchover->epoch, &first))
        complete(&first, switchover->finished_ms, &switchover->gap, &switchover->writes_blocked_ms);
    if (str_eq(outage->primary, primary->name) && outage->finished_ms > since_ms &&
        find_first_commit(snapshot, primary, outage->epoch, &first))
        complete(&first, outage->finished_ms, &outage->gap, &outage->writes_blocked_ms);
}
