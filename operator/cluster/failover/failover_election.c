/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/failover/failover_election.h"

#include <limits.h>

#include "operator/cluster/failover/ballot.h"
#include "operator/cluster/failover/ballot_fork.h"
#include "operator/cluster/failover/candidate.h"
#include "operator/cluster/failover/cluster_failure.h"
#include "operator/cluster/failover/failover_facts.h"
#include "operator/cluster/failover/reigns.h"
#include "operator/cluster/state/member_view.h"

/* ---- members ---- */

/* A server that runs and has not answered yet soon will, unless it is cut off. */
static bool may_answer_soon(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    return member_runs(member) && failover_asks(snapshot, member) && !member_is_held(snapshot, member);
}

/* ---- the choice ---- */

static void KM_PRINTF(2, 3) wait_for(struct failover_choice *ret, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(ret->waits, sizeof(ret->waits), fmt, ap);
    va_end(ap);
    if (ret->again_ms == 0)
        ret->again_ms = 1000;
}

/* Of the reign at which it is decided, or not yet. */
static bool is_decisive(const struct ballot *ballot, const struct cluster_member *member)
{
    return ballot->decisive < ballot->reigns.count &&
        str_eq(ballot->reigns.list[ballot->decisive].primary, member->name);
}

/* A primary tells of its reign if it was open, an acknowledger if it has kept what it had received. */
static bool has_told(
    const struct cluster_snapshot *snapshot, const struct ballot *ballot, const struct cluster_member *member)
{
    if (!member_is_held(snapshot, member))
        return false;
    if (is_decisive(ballot, member))
        return ballot->old;
    return !member_acknowledges(snapshot, member) || ballot_is_proof(snapshot, member);
}

static const char *why_missing(
    const struct cluster_snapshot *snapshot, const struct ballot *ballot, const struct cluster_member *member)
{
    if (!member->pod)
        return "there is no pod";
    if (!member_speaks(member))
        return "its agent does not answer";
    if (!member_runs(member))
        return "its server does not run";
    if (!member_is_held(snapshot, member))
        return str_empty(member->order_error) ? "it has not stopped receiving yet" : member->order_error;
    if (is_decisive(ballot, member))
        return "it answers, but nothing shows that it was open";
    return "it was started anew and may have dropped what it had acknowledged";
}

/* Text that grows until there is no room. */
struct name_list {
    char *text;
    size_t size, len;
};

static void KM_PRINTF(2, 3) add_name(struct name_list *list, const char *fmt, ...)
{
    va_list ap;
    if (list->len >= list->size)
        return;
    if (list->len > 0)
        list->len += (size_t)snprintf(list->text + list->len, list->size - list->len, ", ");
    if (list->len >= list->size)
        return;
    va_start(ap, fmt);
    list->len += (size_t)vsnprintf(list->text + list->len, list->size - list->len, fmt, ap);
    va_end(ap);
}

/* Who may have been primary last, as far as the status tells, and is no member any more. */
static void name_missing_joined(
    const struct cluster_snapshot *snapshot, const struct ballot *ballot, struct name_list *list)
{
    for (int i = 0; i < ballot->joined.count; i++) {
        const char *primary = ballot->joined.list[i].primary;
        if (!cluster_member_named(snapshot, primary))
            add_name(list, "%s (may have been primary last, and is no member any more)",
                str_empty(primary) ? "one that is not known" : primary);
    }
}

/* "db-mysql-1 (its agent does not answer), db-mysql-2 (its server does not run)": of those that may hold an
 * acknowledged commit. */
static void name_missing(const struct cluster_snapshot *snapshot, const struct ballot *ballot, char *out, size_t size)
{
    struct name_list list = {.text = out, .size = size};
    *out = '\0';
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        bool is_joined = reigns_index(&ballot->joined, member->name) >= 0;
        bool is_primary = reigns_index(&ballot->reigns, member->name) >= 0;
        bool is_asked = is_primary || is_joined || member_acknowledges(snapshot, member);
        if (is_asked && !has_told(snapshot, ballot, member))
            add_name(&list, "%s (%s%s)", member->name, is_joined ? "may have been primary last: " : "",
                why_missing(snapshot, ballot, member));
    }
    name_missing_joined(snapshot, ballot, &list);
}

/* A server that was only started anew goes on where it was, as does one that nothing ails; one that hung, or was cut
 * off from its replicas, may do so again. */
static bool may_go_on(const struct cluster_snapshot *snapshot, const struct vote *old)
{
    enum transition_reason reason = snapshot->last.roles.transition.reason;
    return !str_eq(old->member->name, snapshot->last.roles.transition.from) || reason == TRANSITION_SERVER_DOWN ||
        reason == TRANSITION_MEMBER_LOST || reason == TRANSITION_STATUS_OUTDATED;
}

/* What it cannot be compared with it has if it was seen open. */
static const struct vote *usable_old(const struct ballot *ballot)
{
    const struct vote *old = ballot->old;
    bool usable = old && str_empty(old->unfit) && (!old->history.readable || old->history.reaches_floor);
    return usable ? old : NULL;
}

/* It was closed for a switchover that cannot end, so nothing ails it. */
static bool is_taken_back(const struct cluster_snapshot *snapshot)
{
    return snapshot->last.roles.transition.reason == TRANSITION_TARGET_EMPTIED;
}

/* Nothing that was acknowledged is lost with it; NULL: that cannot be said of anybody. */
static const struct vote *find_safe(const struct cluster_snapshot *snapshot, const struct ballot *ballot)
{
    const struct vote *old = usable_old(ballot);
    bool safe = ballot_best_is_safe(ballot);
    if (safe && old && may_go_on(snapshot, old) && (is_taken_back(snapshot) || !ballot_best_has_all(ballot)))
        return old;
    return safe ? ballot->best : old;
}

static bool has_logs(const struct cluster_member *primary)
{
    return primary && member_speaks(primary) && primary->agent->phase == AGENT_PHASE_DOWN;
}

/* It was seen, or somebody holds what it wrote. */
static bool was_open(const struct ballot *ballot, const struct cluster_reign *reign)
{
    return reign->opened || ballot->is_marked;
}

/* The server of the reign's primary is dead, its agent reads its binary logs: they hold everything that was ever
 * acknowledged, if it was open. What one that never was had received is in its relay logs. */
static bool can_salvage(const struct cluster_snapshot *snapshot, const struct ballot *ballot)
{
    if (!ballot->best || ballot->ahead || ballot->is_disputed || !ballot->best->history.reaches_floor ||
        ballot->decisive == ballot->reigns.count)
        return false;
    int in_force = ballot->reigns.count + ballot->skipped.count;
    if (in_force - ballot->listed[ballot->decisive] >= CLUSTER_REIGNS_MAX) /* it stays until its logs are read */
        return false;
    const struct cluster_reign *reign = &ballot->reigns.list[ballot->decisive];
    return was_open(ballot, reign) && has_logs(cluster_member_named(snapshot, reign->primary));
}

/* The old primary closes itself when it is cut off: as it was told while it was heard, or a person says that it is
 * gone. */
static bool may_lose(const struct cluster_snapshot *snapshot)
{
    return cluster_confirmed_lease(snapshot) || str_eq(snapshot->confirmed_lost, snapshot->last.roles.transition.from);
}

/* Whatever a person says of it: its agent is heard, its server is there, though it may hang, and has not followed the
 * order to receive from nobody, which closes it. */
static bool may_still_write(const struct cluster_snapshot *snapshot)
{
    const struct cluster_member *from = cluster_member_named(snapshot, snapshot->last.roles.transition.from);
    bool is_there = from && member_speaks(from) &&
        (from->agent->phase == AGENT_PHASE_RUNNING || from->agent->phase == AGENT_PHASE_HUNG);
    return is_there && !member_is_held(snapshot, from);
}

static bool fence_time_is_over(const struct cluster_snapshot *snapshot, struct failover_choice *ret)
{
    int64_t rest_ms = cluster_confirmed_fence_ms(snapshot) + FAILOVER_FENCE_MARGIN_MS - snapshot->held_ms;
    bool is_gone = str_eq(snapshot->confirmed_lost, snapshot->last.roles.transition.from) && !may_still_write(snapshot);
    if (is_gone || (snapshot->held_ms > 0 && rest_ms <= 0))
        return true;
    ret->again_ms = snapshot->held_ms > 0 ? rest_ms : 100;
    return false;
}

/* All that it has received becomes part of the history. The old primary goes on with what it has: should it be lost
 * once more, what it alone has need not be reached. */
static void choose(const struct ballot *ballot, const struct vote *vote, const char *why, struct failover_choice *ret)
{
    const struct cluster_member *member = vote->member;
    bool goes_on = vote == ballot->old;
    const struct cluster_reign *reign = &ballot->reigns.list[MIN_OF(ballot->decisive, ballot->reigns.count - 1)];
    const char *position = goes_on ? reign->floor : failover_position_of(member);
    ret->candidate = member;
    ret->goes_on = goes_on;
    ret->first_reign = goes_on ? ballot->listed[ballot->decisive] : CLUSTER_REIGNS_MAX;
    ret->position = position;
    snprintf(ret->why, sizeof(ret->why), "%s %s: received up to %.80s, executed up to %.80s", member->name, why,
        failover_position_of(member), member->agent->gtid_executed);
}

static void choose_salvage(const struct ballot *ballot, struct failover_choice *ret)
{
    choose(ballot, ballot->best, "has received most, and takes over the rest from the lost one's binary logs", ret);
    ret->salvage = true;
    ret->first_reign = ballot->listed[ballot->decisive];
}

static void choose_despite_loss(
    const struct cluster_snapshot *snapshot, const struct ballot *ballot, struct failover_choice *ret)
{
    char missing[256];
    name_missing(snapshot, ballot, missing, sizeof(missing));
    if (!fence_time_is_over(snapshot, ret)) {
        wait_for(ret, "waits until %s must have closed itself (selfFenceMilliseconds), as not enough members answer: %s",
            snapshot->last.roles.transition.from, missing);
        return;
    }
    choose(ballot, ballot->best, "has received most of those that answer", ret);
    snprintf(ret->may_be_lost, sizeof(ret->may_be_lost), "what only these had beyond %.100s: %.120s%s%s", ret->position,
        missing, ballot->ahead ? " and " : "", ballot->ahead ? ballot->ahead->member->name : "");
}

/* Most of those that are awaited answer within seconds: nobody should give up data for that. */
static const char *loss_hint(const struct cluster_snapshot *snapshot)
{
    int64_t waited_ms = snapshot->now_ms - snapshot->last.roles.transition.started_ms;
    return waited_ms < FAILOVER_LOSS_HINT_MS ? "" : ". spec.failover.dataLoss: allow would go on without it";
}

static void say_what_is_missing(
    const struct cluster_snapshot *snapshot, const struct ballot *ballot, struct failover_choice *ret)
{
    char missing[256];
    const struct vote *best = ballot->best;
    name_missing(snapshot, ballot, missing, sizeof(missing));
    if (str_empty(missing))
        snprintf(missing, sizeof(missing), "a person to decide, as everybody has answered%s",
            snapshot->cluster.failover.allow_data_loss ? "" : " (spec.failover.dataLoss: allow opens who has most)");
    if (!best && ballot->unfit)
        wait_for(
            ret, "%s has answered, but %s; waits for %s", ballot->unfit->member->name, ballot->unfit->unfit, missing);
    else if (best && !best->history.reaches_floor)
        wait_for(ret, "%s lacks what another one had received; waits for %s", best->member->name, missing);
    else if (ballot->ahead)
        wait_for(ret, "%s has received more than %s, but %s", ballot->ahead->member->name, best->member->name,
            ballot->ahead->unfit);
    else if (snapshot->cluster.failover.allow_data_loss && !may_lose(snapshot))
        wait_for(ret,
            "dataLoss: allow was set when %s was already lost, which may still serve clients elsewhere; waits for %s, or for the "
            "annotation " ANNOTATION_CONFIRMED_LOST "=%s of somebody who made sure that it is gone",
            snapshot->last.roles.transition.from, missing, snapshot->last.roles.transition.from);
    else if (ballot->needed == INT_MAX)
        wait_for(ret, "only %s can tell what it acknowledged (commits did not wait for replicas); waits for it: %s%s",
            snapshot->last.roles.transition.from, missing, loss_hint(snapshot));
    else if (ballot->answers < ballot->needed)
        wait_for(ret, "%d of the %d answers that prove that nothing acknowledged is lost; waits for %s%s",
            ballot->answers, ballot->needed, missing, loss_hint(snapshot));
    else
        wait_for(ret, "the answers so far do not prove that nothing acknowledged is lost; waits for %s%s", missing,
            loss_hint(snapshot));
}

/* For how long yet somebody who may answer soon is waited for. */
static int64_t patience_ms(
    const struct cluster_snapshot *snapshot, const struct ballot *ballot, const struct vote *safe, bool is_awaited)
{
    bool would_be_lost_again = safe && safe == ballot->old && !may_go_on(snapshot, safe);
    int64_t limit_ms = would_be_lost_again ? FAILOVER_HOLD_OTHERS_MS : FAILOVER_HOLD_MS;
    int64_t rest_ms = snapshot->last.roles.transition.started_ms + limit_ms - snapshot->now_ms;
    return is_awaited && rest_ms <= limit_ms ? rest_ms : 0;
}

static const struct cluster_member *find_awaited(const struct cluster_snapshot *snapshot)
{
    const struct cluster_member *awaited = NULL;
    for (int i = 0; i < snapshot->member_count; i++) {
        if (may_answer_soon(snapshot, &snapshot->members[i]))
            awaited = &snapshot->members[i];
    }
    return awaited;
}

/* Who is not heard may tell which of the two is right. */
static void wait_for_difference(
    const struct cluster_snapshot *snapshot, const struct ballot *ballot, struct failover_choice *ret)
{
    char missing[256];
    name_missing(snapshot, ballot, missing, sizeof(missing));
    if (str_empty(missing))
        wait_for(ret, "%s and %s hold different transactions; a person must decide: remove one of them, or its data",
            ballot->best->member->name, ballot->diverged->member->name);
    else
        wait_for(ret,
            "%s and %s hold different transactions; waits for %s, which may tell which of them were acknowledged",
            ballot->best->member->name, ballot->diverged->member->name, missing);
}

/* Nothing shows which of two histories clients were told of. */
static void decide_fork(const struct cluster_snapshot *snapshot, const struct ballot *ballot, const struct vote *chosen,
    const struct vote *other, struct failover_choice *ret)
{
    if (snapshot->cluster.failover.allow_data_loss && may_lose(snapshot)) {
        choose(ballot, chosen, "was opened last", ret);
        snprintf(ret->may_be_lost, sizeof(ret->may_be_lost),
            "what an earlier primary wrote beside %s by a status of the past: %s has received it", chosen->member->name,
            other->member->name);
    } else
        wait_for(ret,
            "%s was opened last, but %s has received what an earlier primary wrote since then, by a status of the past; "
            "a person must decide which of the two is kept",
            chosen->member->name, other->member->name);
}

void failover_choose(const struct cluster_snapshot *snapshot, struct failover_choice *ret)
{
    _cleanup_(ballot_freep) struct ballot *ballot = ballot_new(snapshot);
    const struct vote *safe = find_safe(snapshot, ballot);
    const struct vote *chosen = ballot->diverged ? usable_old(ballot) : safe;
    const struct vote *fork = ballot_find_fork(snapshot, ballot, chosen);
    const struct cluster_member *awaited = find_awaited(snapshot);
    int64_t hold_ms = patience_ms(snapshot, ballot, safe, awaited != NULL);
    *ret = (struct failover_choice){.candidate = NULL};
    if (hold_ms > 0) {
        ret->again_ms = hold_ms;
        wait_for(ret, "waits until %s has stopped receiving", awaited->name);
    } else if (fork)
        decide_fork(snapshot, ballot, chosen, fork, ret);
    else if (ballot->diverged && usable_old(ballot))
        choose(ballot, ballot->old, "is back and has everything, and the others differ", ret);
    else if (ballot->diverged)
        wait_for_difference(snapshot, ballot, ret);
    else if (safe)
        choose(ballot, safe, safe == ballot->old ? "is back and has everything" : "has received most", ret);
    else if (can_salvage(snapshot, ballot))
        choose_salvage(ballot, ret);
    else if (ballot->best && snapshot->cluster.failover.allow_data_loss && may_lose(snapshot))
        choose_despite_loss(snapshot, ballot, ret);
    else
        say_what_is_missing(snapshot, ballot, ret);
}

const struct cluster_member *failover_substitute(
    const struct cluster_snapshot *snapshot, const struct cluster_member *chosen)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (member == chosen || !member_runs(member) || member->agent->writable ||
            member->agent->epoch != (uint64_t)snapshot->last.roles.epoch || candidate_was_tried(snapshot, member) ||
            !str_empty(candidate_why_unfit(snapshot, member)))
            continue;
        if (failover_has_received(member, snapshot->last.roles.transition.position) &&
            failover_has_executed(member, chosen->agent->gtid_executed))
            return member;
    }
    return NULL;
}

/* ---- before it begins ---- */

static bool could_be_held(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    return member_runs(member) && failover_asks(snapshot, member) && member->pod && !member->pod->object.deleting &&
        member->agent->data == AGENT_DATA_DATABASE;
}

int failover_answers_needed(const struct cluster_snapshot *snapshot, const char *lost)
{
    return ballot_answers_needed(snapshot, lost, false);
}

/* As far as can be seen before anybody is held. */
struct prospect {
    const char *silent; /* is not counted; "" nobody */
    int others;         /* members that could be opened */
    int too_long;       /* of which the position cannot be compared */
    int answers, needed;
};

static bool will_answer(
    const struct cluster_snapshot *snapshot, const struct prospect *prospect, const struct cluster_member *member)
{
    return member && !str_eq(member->name, prospect->silent) && could_be_held(snapshot, member);
}

static void count_answers(const struct cluster_snapshot *snapshot, const char *primary, struct prospect *ret)
{
    ret->others = ret->too_long = ret->answers = 0;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (!will_answer(snapshot, ret, member))
            continue;
        if (!position_is_whole(failover_position_of(member))) {
            ret->too_long++;
            continue;
        }
        ret->others++;
        ret->answers += ballot_counts(snapshot, primary, member);
    }
}

/* Of reigns that count as one each primary must answer, or is asked as an acknowledger: so are those of a switchover
 * that a failover takes the place of. NULL: they will; else the name of one that will not. */
static const char *find_silent_joined(
    const struct cluster_snapshot *snapshot, const struct cluster_reigns *joined, const struct prospect *prospect)
{
    const struct cluster_transition *transition = &snapshot->last.roles.transition;
    for (int i = 0; i < joined->count; i++) {
        const char *name = joined->list[i].primary;
        const struct cluster_member *primary = cluster_member_named(snapshot, name);
        bool is_asked = primary &&
            (member_acknowledges(snapshot, primary) || str_eq(name, transition->from) || str_eq(name, transition->to));
        if (!is_asked && !will_answer(snapshot, prospect, primary))
            return str_empty(name) ? "one that is not known" : name;
    }
    return NULL;
}

/* False: nobody will be able to tell what it acknowledged. */
static bool will_be_judged(
    const struct cluster_snapshot *snapshot, const struct cluster_reign *reign, struct prospect *ret)
{
    const struct cluster_member *primary = cluster_member_named(snapshot, reign->primary);
    count_answers(snapshot, reign->primary, ret);
    ret->needed = reign->closed ? 0 : ballot_answers_needed(snapshot, reign->primary, !reign->floor_is_partial);
    return (reign->opened && has_logs(primary)) || will_answer(snapshot, ret, primary) || ret->answers >= ret->needed;
}

/* Whose answers would count, had their servers kept what they had received. */
static void add_dropped(const struct cluster_snapshot *snapshot, const char *lost, char *why, size_t size)
{
    int count = 0;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        bool dropped = member->agent && *member->agent->replication.dropped && !ballot_is_proof(snapshot, member);
        count += dropped && !str_eq(member->name, lost) && member_acknowledges(snapshot, member);
    }
    size_t used = strlen(why);
    if (count > 0)
        snprintf(why + used, size - used, "; %d %s started anew and dropped what %s had received", count,
            count > 1 ? "were" : "was", count > 1 ? "they" : "it");
}

bool failover_can_succeed(
    const struct cluster_snapshot *snapshot, const char *lost, bool may_answer, char *why, size_t size)
{
    struct cluster_reigns reigns, joined;
    struct prospect prospect = {.silent = may_answer ? "" : lost};
    bool judged = true;
    reigns_to_judge(snapshot, &reigns);
    ballot_join_unknown(&reigns, &joined);
    count_answers(snapshot, lost, &prospect);
    *why = '\0';
    for (int i = 0; i < reigns.count && judged; i++)
        judged = will_be_judged(snapshot, &reigns.list[i], &prospect);
    const char *silent = find_silent_joined(snapshot, &joined, &prospect);
    if (prospect.others == 0)
        snprintf(why, size,
            prospect.too_long ? "the GTID sets of the other members are too long to be compared"
                              : "no other member runs");
    else if (!judged && !snapshot->cluster.failover.allow_data_loss) {
        if (prospect.needed == INT_MAX)
            snprintf(why, size, "only %s can tell what it acknowledged; spec.failover.dataLoss is never", lost);
        else
            snprintf(why, size, "%d of %d members that may hold the only copy of a commit answer", prospect.answers,
                prospect.needed);
        add_dropped(snapshot, lost, why, size);
    } else if (silent && !snapshot->cluster.failover.allow_data_loss)
        snprintf(why, size, "%s does not answer, and may have been primary last", silent);
    return str_empty(why);
}
