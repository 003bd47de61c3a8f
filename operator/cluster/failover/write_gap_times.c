/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/failover/write_gap_times.h"

#include "operator/cluster/state/member_view.h"

#define UPTIME_SLACK_S 2 /* it is rounded to seconds */

static int64_t middle_of(const struct agent_moment *moment)
{
    return moment->at_ms + moment->span_ms / 2;
}

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

/* A server that was started anew, and not opened since, has written nothing: what replicas receive from it they only
 * catch up on. From when on that is so, less what its uptime is rounded by; INT64_MAX: it is not. */
static int64_t find_catching_up(const struct cluster_snapshot *snapshot)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    struct agent_moment open = {.at_ms = 0};
    if (!primary || !member_runs(primary) || agent_takes_writes(primary->agent) || primary->silent_ms == INT64_MAX)
        return INT64_MAX;
    int64_t started_ms = snapshot->now_ms - primary->silent_ms - (primary->agent->uptime_s + UPTIME_SLACK_S) * 1000;
    take_later(snapshot, primary, &primary->agent->took_writes, &open);
    take_later(snapshot, primary, &primary->agent->opening, &open);
    return open.at_ms >= started_ms ? INT64_MAX : started_ms;
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
    struct agent_moment newest = {.at_ms = 0}, received;
    int64_t catching_up_ms = find_catching_up(snapshot);
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (!member->agent)
            continue;
        take_later(snapshot, member, &member->agent->took_writes, &newest);
        if (place(snapshot, member, &member->agent->event_received, &received) && received.at_ms < catching_up_ms)
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

int64_t write_gap_last_write_ms(const struct cluster_transition *transition)
{
    return transition->last_write_ms > 0 ? transition->last_write_ms + transition->last_write_span_ms / 2 : 0;
}

struct first_commit_told {
    struct agent_moment done;
    int64_t idle_ms; /* agent_api.h */
};

/* No client's commit was seen after the opening. */
static bool is_open_ended(const struct write_gap *gap)
{
    return gap->until == WRITE_GAP_UNTIL_OPENING || gap->until == WRITE_GAP_UNTIL_NOT_SEEN;
}

/* Where nobody was seen to wait, the end is at any time between the opening and the commit. */
static void complete(
    const struct first_commit_told *first, int64_t finished_ms, struct write_gap *gap, int64_t *blocked_ms)
{
    int64_t idle_ms = first->idle_ms > WRITE_GAP_IDLE_MS ? first->idle_ms : 0;
    int64_t committed_ms = middle_of(&first->done) - idle_ms / 2;
    gap->until = WRITE_GAP_UNTIL_FIRST_COMMIT;
    gap->uncertainty_ms += (first->done.span_ms + 1) / 2 + (idle_ms + 1) / 2;
    gap->route_ms = MAX_OF(0, committed_ms - finished_ms);
    *blocked_ms = MAX_OF(0, gap->opened_ms + committed_ms - finished_ms);
}

static bool find_first_commit(const struct cluster_snapshot *snapshot, const struct cluster_member *primary,
    int64_t epoch, struct first_commit_told *ret)
{
    const struct agent_status *agent = primary->agent;
    if (!agent || epoch <= 0 || agent->first_commit_epoch != (uint64_t)epoch ||
        !place(snapshot, primary, &agent->first_commit, &ret->done))
        return false;
    ret->idle_ms = MAX_OF(0, agent->first_commit_idle_ms);
    return true;
}

/* Likewise, and it was by a client that waited for the opening, or may have. */
static bool find_end(const struct cluster_snapshot *snapshot, const struct cluster_member *primary, int64_t epoch,
    struct first_commit_told *ret)
{
    return find_first_commit(snapshot, primary, epoch, ret) && ret->idle_ms <= WRITE_GAP_IDLE_MAX_MS;
}

/* Its agent tells of the opening under that epoch: it is looking for the first commit, or has looked long enough. */
static bool tells_opening(const struct cluster_member *primary, int64_t epoch)
{
    return epoch > 0 && primary->agent->opening_epoch == (uint64_t)epoch;
}

/* Where nobody has seen it closed before, and its agent does not tell, it may have been at any time of the change. It
 * was open when somebody committed there. */
static struct agent_moment find_opening(const struct cluster_snapshot *snapshot, const struct write_gap_change *change)
{
    const struct agent_status *agent = change->to->agent;
    struct agent_moment told;
    struct first_commit_told first;
    if (agent && tells_opening(change->to, change->epoch) && place(snapshot, change->to, &agent->opening, &told)) {
        int64_t at_ms = MAX_OF(told.at_ms + told.span_ms, change->started_ms);
        return (struct agent_moment){.at_ms = MIN_OF(at_ms, snapshot->now_ms)};
    }
    if (change->seen_closed || change->last_write.at_ms <= 0)
        return (struct agent_moment){.at_ms = snapshot->now_ms};
    bool committed = find_first_commit(snapshot, change->to, change->epoch, &first);
    int64_t end_ms = committed ? MIN_OF(snapshot->now_ms, first.done.at_ms + first.done.span_ms) : snapshot->now_ms;
    int64_t at_ms = MIN_OF(MAX_OF(change->started_ms, change->last_write.at_ms), end_ms);
    return (struct agent_moment){.at_ms = at_ms, .span_ms = end_ms - at_ms};
}

struct write_gap_end write_gap_end(const struct cluster_snapshot *snapshot, const struct write_gap_change *change)
{
    const struct agent_moment opening = find_opening(snapshot, change);
    const struct agent_moment *last = &change->last_write;
    struct write_gap_end end = {.finished_ms = middle_of(&opening), .blocked_ms = -1};
    struct first_commit_told first;
    if (last->at_ms <= 0)
        return end;
    end.blocked_ms = MAX_OF(0, end.finished_ms - middle_of(last));
    end.gap = (struct write_gap){.opened_ms = end.blocked_ms,
        .uncertainty_ms = (last->span_ms + 1) / 2 + WRITE_GAP_SLACK_MS,
        .until = WRITE_GAP_UNTIL_OPENING};
    /* Else it comes later, if it comes. */
    if (!change->seen_closed && find_end(snapshot, change->to, change->epoch, &first))
        complete(&first, end.finished_ms, &end.gap, &end.blocked_ms);
    else
        end.gap.uncertainty_ms += (opening.span_ms + 1) / 2;
    return end;
}

/* An agent that was restarted, or has opened its server anew, will never tell of that opening's first commit: then for
 * how long clients waited is not known. */
static void look_for_end(const struct cluster_snapshot *snapshot, const struct cluster_member *primary, int64_t epoch,
    int64_t finished_ms, struct write_gap *gap, int64_t *blocked_ms)
{
    struct first_commit_told first;
    if (!is_open_ended(gap) || finished_ms <= snapshot->now_ms - WRITE_GAP_COMPLETE_MS)
        return;
    if (find_end(snapshot, primary, epoch, &first))
        complete(&first, finished_ms, gap, blocked_ms);
    else if (member_speaks(primary)) {
        bool is_looked_for = tells_opening(primary, epoch);
        gap->until = is_looked_for ? WRITE_GAP_UNTIL_OPENING : WRITE_GAP_UNTIL_NOT_SEEN;
        *blocked_ms = is_looked_for ? gap->opened_ms : -1;
    }
}

void write_gap_complete(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, struct cluster_role_status *roles)
{
    struct cluster_failover *failover = &roles->last_failover;
    struct cluster_switchover *switchover = &roles->last_switchover;
    struct cluster_outage *outage = &roles->last_outage;
    if (str_eq(failover->to, primary->name))
        look_for_end(
            snapshot, primary, failover->epoch, failover->finished_ms, &failover->gap, &failover->writes_blocked_ms);
    if (str_eq(switchover->to, primary->name))
        look_for_end(snapshot, primary, switchover->epoch, switchover->finished_ms, &switchover->gap,
            &switchover->writes_blocked_ms);
    if (str_eq(outage->primary, primary->name))
        look_for_end(snapshot, primary, outage->epoch, outage->finished_ms, &outage->gap, &outage->writes_blocked_ms);
}

/* ---- a change out of another one ---- */

/* The last write is at any time from `at_ms` on, until the newest sign of one. */
static void widen_last_write(struct cluster_transition *transition, int64_t at_ms, const struct agent_moment *newest)
{
    transition->last_write_ms = at_ms;
    transition->last_write_span_ms = MAX_OF(0, newest->at_ms + newest->span_ms - at_ms);
}

static void take_last_write(struct cluster_transition *transition, const struct agent_moment *newest)
{
    transition->last_write_ms = newest->at_ms;
    transition->last_write_span_ms = newest->span_ms;
}

/* When `to` was open is not told where its agent is silent: then it may have been just before the newest sign of it. */
static bool may_have_had_no_client(const struct cluster_snapshot *snapshot, const struct cluster_transition *transition,
    const struct cluster_member *to, const struct agent_moment *newest)
{
    struct agent_moment opening;
    bool is_told =
        to->agent && tells_opening(to, transition->epoch) && place(snapshot, to, &to->agent->opening, &opening);
    int64_t since_ms = is_told ? opening.at_ms : transition->started_ms;
    return newest->at_ms - since_ms <= (is_told ? WRITE_GAP_SOON_MS : WRITE_GAP_COMPLETE_MS);
}

static void note_unseen_end(
    const struct cluster_snapshot *snapshot, const struct cluster_member *to, struct cluster_transition *transition)
{
    const struct write_gap_change change = {.to = to,
        .epoch = transition->epoch,
        .started_ms = transition->started_ms,
        .last_write = {.at_ms = transition->last_write_ms, .span_ms = transition->last_write_span_ms}};
    const struct write_gap_end end = write_gap_end(snapshot, &change);
    transition->unseen_finished_ms = end.finished_ms;
    transition->unseen_blocked_ms = end.blocked_ms;
}

void write_gap_renew_last_write(const struct cluster_snapshot *snapshot, struct cluster_transition *transition)
{
    struct agent_moment last = write_gap_newest(snapshot, snapshot->now_ms);
    if (last.at_ms <= transition->last_write_ms || !was_opened(snapshot, transition))
        return;
    const struct cluster_member *to = cluster_member_named(snapshot, transition->to);
    struct first_commit_told first;
    if (find_first_commit(snapshot, to, transition->epoch, &first)) {
        note_unseen_end(snapshot, to, transition);
        take_last_write(transition, &last);
    } else if (transition->last_write_ms > 0 && may_have_had_no_client(snapshot, transition, to, &last))
        widen_last_write(transition, transition->last_write_ms, &last);
    else
        take_last_write(transition, &last);
}

/* The last write before a change that has just ended; 0: a client has committed since, or may well have. */
static int64_t find_write_before(const struct cluster_snapshot *snapshot, const char *from, const char *to,
    int64_t finished_ms, const struct write_gap *gap, int64_t newest_ms)
{
    if (!str_eq(from, to) || !is_open_ended(gap) || finished_ms <= snapshot->now_ms - WRITE_GAP_COMPLETE_MS ||
        newest_ms - finished_ms > WRITE_GAP_SOON_MS)
        return 0;
    return finished_ms - gap->opened_ms - gap->uncertainty_ms;
}

void write_gap_go_on(const struct cluster_snapshot *snapshot, struct cluster_transition *transition)
{
    const struct cluster_role_status *roles = &snapshot->last.roles;
    const struct cluster_failover *failover = &roles->last_failover;
    const struct cluster_switchover *switchover = &roles->last_switchover;
    const struct cluster_outage *outage = &roles->last_outage;
    const struct cluster_member *from = cluster_member_named(snapshot, transition->from);
    const struct agent_moment last = {.at_ms = transition->last_write_ms, .span_ms = transition->last_write_span_ms};
    struct first_commit_told first;
    int64_t epoch = MAX_OF(failover->epoch, MAX_OF(switchover->epoch, outage->epoch));
    if (last.at_ms <= 0 || (from && find_first_commit(snapshot, from, epoch, &first)))
        return;
    const int64_t before_ms[] = {
        find_write_before(snapshot, transition->from, failover->to, failover->finished_ms, &failover->gap, last.at_ms),
        find_write_before(
            snapshot, transition->from, switchover->to, switchover->finished_ms, &switchover->gap, last.at_ms),
        find_write_before(snapshot, transition->from, outage->primary, outage->finished_ms, &outage->gap, last.at_ms),
    };
    for (size_t i = 0; i < ARRAY_LEN(before_ms); i++) {
        if (before_ms[i] > 0 && before_ms[i] < transition->last_write_ms)
            widen_last_write(transition, before_ms[i], &last);
    }
}
