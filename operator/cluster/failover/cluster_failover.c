/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/failover/cluster_failover.h"

#include "common/alloc.h"
#include "common/gtid.h"
#include "common/json_fields.h"
#include "operator/cluster/failover/cluster_confirmed.h"
#include "operator/cluster/failover/failover_election.h"
#include "operator/cluster/failover/failover_facts.h"
#include "operator/cluster/failover/opening.h"
#include "operator/cluster/failover/reigns.h"
#include "operator/cluster/failover/write_gap_times.h"
#include "operator/cluster/state/in_place_state.h"
#include "operator/cluster/state/member_view.h"
#include "operator/cluster/state/stop_wish.h"

/* 0 for nobody. */
static uint64_t bit_of(const struct cluster_member *member)
{
    return member && member->ordinal < CLUSTER_ACKNOWLEDGERS_MAX ? UINT64_C(1) << (unsigned)member->ordinal : 0;
}

/* ---- beginning ---- */

/* Who was open before the one that is lost now, as far as the change that is given up tells. */
static void list_before(const struct cluster_snapshot *snapshot, struct cluster_transition *ret)
{
    const struct cluster_transition *last = &snapshot->last.roles.transition;
    if (!cluster_transition_is_set(last))
        return;
    if (str_eq(ret->from, last->from))
        memcpy(ret->before, last->before, sizeof(ret->before));
    else if (strlen(last->from) + 1 + strlen(last->before) < sizeof(ret->before))
        snprintf(
            ret->before, sizeof(ret->before), "%s%s%s", last->from, str_empty(last->before) ? "" : ",", last->before);
    else
        memcpy(ret->before, last->from, sizeof(last->from));
}

/* From the primary of the latest reign in `reigns`. */
static void begin(const struct cluster_snapshot *snapshot, const struct cluster_failure *failure,
    const struct cluster_reigns *reigns, struct cluster_intent *intent)
{
    const char *lost = reigns->list[0].primary;
    const struct cluster_member *from = cluster_member_named(snapshot, lost);
    struct cluster_transition *transition = &intent->roles.transition;
    struct cluster_transition before = snapshot->last.roles.transition;
    intent->roles.epoch = cluster_newest_epoch(snapshot) + 1;
    *transition =
        (struct cluster_transition){.failover = true, .started_ms = snapshot->now_ms, .epoch = intent->roles.epoch};
    if (from && !member_speaks(from) && from->silent_ms < INT64_MAX)
        transition->silent_ms = from->silent_ms;
    snprintf(transition->from, sizeof(transition->from), "%s", lost);
    list_before(snapshot, transition);
    /* We saw nobody open since. */
    if (cluster_transition_is_set(&before)) {
        write_gap_note_last_write(snapshot, &before);
        write_gap_renew_last_write(snapshot, &before);
    }
    transition->last_write_ms = before.last_write_ms;
    transition->last_write_span_ms = before.last_write_span_ms;
    transition->unseen_finished_ms = before.unseen_finished_ms;
    transition->unseen_blocked_ms = before.unseen_blocked_ms;
    write_gap_note_last_write(snapshot, transition); /* whoever goes on with this may not hear of it */
    if (!cluster_transition_is_set(&before))
        write_gap_go_on(snapshot, transition);
    transition->reason = failure->reason;
    snprintf(transition->evidence, sizeof(transition->evidence), "%s", failure->evidence);
    transition->position = reigns_floor(reigns);
    snprintf(intent->roles.current_primary, sizeof(intent->roles.current_primary), "%s", lost);
    intent->roles.reigns = *reigns;
    intent->again_ms = FAILOVER_HOLD_MS;
}

static void begin_in_force(
    const struct cluster_snapshot *snapshot, const struct cluster_failure *failure, struct cluster_intent *intent)
{
    struct cluster_reigns reigns;
    reigns_in_force(snapshot, &reigns);
    begin(snapshot, failure, &reigns, intent);
}

static void look_again_in(struct cluster_intent *intent, int64_t ms)
{
    if (ms > 0)
        intent->again_ms = intent->again_ms > 0 ? MIN_OF(intent->again_ms, ms) : ms;
}

void failover_consider(const struct cluster_snapshot *snapshot, struct cluster_intent *intent)
{
    struct cluster_failure failure;
    const char *primary = snapshot->last.roles.current_primary;
    if (!snapshot->last.roles.initialized)
        return;
    cluster_find_failure(snapshot, primary, &failure);
    look_again_in(intent, failure.again_ms);
    if (failure.reason == TRANSITION_NO_REASON) {
        if (!str_empty(failure.doubt))
            cluster_intent_say(intent, "no failover from %s: %s", primary, failure.doubt);
    } else if (!snapshot->cluster.failover.enabled)
        cluster_intent_say(
            intent, "a failover from %s (%s): not done, as spec.failover.enabled is false", primary, failure.evidence);
    else
        begin_in_force(snapshot, &failure, intent);
}

/* Under the transition's epoch it was told to open: it speaks, and says so. */
static bool was_told_to_open(const struct cluster_transition *transition, const struct cluster_member *to)
{
    return to && member_speaks(to) && to->agent->role == AGENT_ROLE_PRIMARY &&
        to->agent->epoch >= (uint64_t)transition->epoch;
}

static void begin_instead(const struct cluster_snapshot *snapshot, const struct cluster_failure *failure,
    const struct cluster_member *from, const struct cluster_member *to, struct cluster_intent *intent)
{
    struct cluster_reigns reigns;
    reigns_to_judge(snapshot, &reigns);
    if (str_eq(reigns.list[0].primary, snapshot->last.roles.transition.to)) /* each may have acknowledged the other */
        intent->roles.acknowledgers |= bit_of(from) | bit_of(to);
    begin(snapshot, failure, &reigns, intent);
}

/* Clients wait for a switchover's target, which runs: it never will be open, or has not been for too long. */
static void judge_opening(const struct cluster_snapshot *snapshot, const struct cluster_member *to, int64_t since_ms,
    struct cluster_failure *ret)
{
    int64_t waited_ms = MAX_OF(0, snapshot->now_ms - since_ms);
    if (!to || !member_runs(to))
        return;
    if (to->agent->replication.applier_errno != 0) {
        ret->reason = TRANSITION_CANNOT_APPLY;
        snprintf(ret->evidence, sizeof(ret->evidence), "%s cannot apply what it has received: %.150s", to->name,
            to->agent->replication.applier_error);
    } else if (waited_ms >= CLUSTER_OPEN_MAX_MS) {
        ret->reason = TRANSITION_CANNOT_OPEN;
        snprintf(ret->evidence, sizeof(ret->evidence), "%s has not opened within %lld s", to->name,
            (long long)(waited_ms / 1000));
    } else
        ret->again_ms = CLUSTER_OPEN_MAX_MS - waited_ms;
}

/* By the old one's last word, which it gave when it was fenced: nothing more is needed of it. */
static bool has_final_position(
    const struct cluster_snapshot *snapshot, const struct cluster_member *from, const struct cluster_member *to)
{
    const struct agent_status *last = from ? from->agent : NULL;
    return last && last->epoch == (uint64_t)snapshot->last.roles.transition.epoch && last->role == AGENT_ROLE_NONE &&
        last->order_done && !last->writable && position_is_whole(last->gtid_executed) &&
        failover_has_received(to, last->gtid_executed);
}

/* The target was told to open, and nobody can ask the old one what the target waits for: if that is lost, it may wait
 * for ever. Nobody is stopped for a failover that could not end: the target may still open. */
static void judge_told(const struct cluster_snapshot *snapshot, const struct cluster_member *from,
    const struct cluster_member *to, struct cluster_failure *ret)
{
    const struct cluster_transition *transition = &snapshot->last.roles.transition;
    int64_t since_ms = snapshot->fenced_since_ms > 0 ? snapshot->fenced_since_ms : transition->started_ms;
    judge_opening(snapshot, to, since_ms, ret);
    if (ret->reason == TRANSITION_NO_REASON && !has_final_position(snapshot, from, to)) {
        struct cluster_failure lost;
        cluster_target_is_lost(snapshot, transition->from, &lost);
        ret->again_ms = lost.again_ms > 0 ? lost.again_ms : ret->again_ms;
        ret->reason = lost.reason;
        snprintf(ret->evidence, sizeof(ret->evidence), "%s was lost before %s was seen open for writes",
            transition->from, transition->to);
    }
    char why[256];
    if (ret->reason == TRANSITION_NO_REASON || failover_can_succeed(snapshot, transition->to, true, why, sizeof(why)))
        return;
    ret->reason = TRANSITION_NO_REASON;
    snprintf(ret->doubt, sizeof(ret->doubt), "%.120s; %.120s", ret->evidence, why);
}

/* The old primary was closed by us, for one that has no data any more: somebody has to be opened again. That is no
 * failover which a person may not want; but the target may have been open unheard, so all are asked as in one. */
static bool must_take_back(const struct cluster_snapshot *snapshot, const struct cluster_member *from,
    const struct cluster_member *to, struct cluster_failure *ret)
{
    if (!from || !member_is_fenced(snapshot, from) || !to || !member_is_empty(to))
        return false;
    *ret = (struct cluster_failure){.reason = TRANSITION_TARGET_EMPTIED};
    snprintf(ret->evidence, sizeof(ret->evidence),
        "%s has lost its data, "
        "before it was seen open for writes",
        to->name);
    return true;
}

bool failover_instead(const struct cluster_snapshot *snapshot, struct cluster_intent *intent)
{
    struct cluster_failure failure;
    const struct cluster_transition *transition = &snapshot->last.roles.transition;
    const struct cluster_member *from = cluster_member_named(snapshot, transition->from);
    const struct cluster_member *to = cluster_member_named(snapshot, transition->to);
    if (must_take_back(snapshot, from, to, &failure)) {
        begin_instead(snapshot, &failure, from, to, intent);
        return true;
    }
    if (!snapshot->cluster.failover.enabled)
        return false;
    bool fenced = from && member_is_fenced(snapshot, from), told = was_told_to_open(transition, to);
    if (fenced || told)
        cluster_target_is_lost(snapshot, transition->to, &failure);
    else
        cluster_find_failure(snapshot, transition->from, &failure);
    if (fenced && failure.reason == TRANSITION_NO_REASON)
        judge_opening(
            snapshot, to, snapshot->fenced_since_ms > 0 ? snapshot->fenced_since_ms : snapshot->now_ms, &failure);
    else if (told && failure.reason == TRANSITION_NO_REASON)
        judge_told(snapshot, from, to, &failure);
    look_again_in(intent, failure.again_ms);
    if (failure.reason == TRANSITION_NO_REASON) {
        if (told && !fenced)
            cluster_intent_say(intent, "move the primary from %s to %s; waits until %s has applied everything%s%s",
                transition->from, transition->to, transition->to, str_empty(failure.doubt) ? "" : ": ", failure.doubt);
        return false;
    }
    begin_instead(snapshot, &failure, from, to, intent);
    return true;
}

/* ---- a status of the past ---- */

static bool is_primary_now(const struct cluster_member *member)
{
    return member->agent->role == AGENT_ROLE_PRIMARY || agent_takes_writes(member->agent);
}

/* The epoch under which it was opened last, as far as its volume tells; 0: none. Only where nobody takes writes: a
 * volume of another life brings such a note along, too. */
static uint64_t noted_epoch(const struct cluster_member *member, bool anybody_open)
{
    bool is_noted = !anybody_open && !member_is_empty(member) && !member_data_is_stale(member);
    return is_noted ? member->agent->opened_epoch : 0;
}

/* The latest epoch under which it is primary, or takes writes, or was opened as far as its volume tells; 0: none. */
static uint64_t primary_epoch(const struct cluster_member *member, bool anybody_open)
{
    const struct agent_status *agent = member->agent;
    if (!member_speaks(member))
        return 0;
    uint64_t now = !is_primary_now(member) ? 0 : agent_is_closing(agent) ? agent->opened_epoch : agent->epoch;
    return MAX_OF(now, noted_epoch(member, anybody_open));
}

/* Under the epoch of the status nobody but its primary is opened. So the status was of an earlier epoch, and this one
 * was begun a second time. */
static bool shows_second_use(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    const char *primary = snapshot->last.roles.current_primary;
    uint64_t epoch = (uint64_t)snapshot->last.roles.epoch;
    if (str_empty(primary) || !member_speaks(member) || str_eq(member->name, primary))
        return false;
    uint64_t noted = noted_epoch(member, cluster_anybody_writes(snapshot));
    bool is_primary = member->agent->role == AGENT_ROLE_PRIMARY && member->agent->epoch == epoch;
    return is_primary || (noted > 0 && noted == epoch);
}

/* The epoch was used a second time, for the status' primary, which is open under it; the other one, `first`, takes
 * writes no more, and whatever is acknowledged now is here. */
static bool is_second_that_writes(const struct cluster_snapshot *snapshot, const struct cluster_member *first)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    return primary && first != primary && cluster_writes_last(snapshot, primary) &&
        (int64_t)primary->agent->epoch == snapshot->last.roles.epoch && !cluster_writes_last(snapshot, first);
}

/* The one that was primary last, as far as is heard; NULL unless another one than the status' has been since. */
static const struct cluster_member *find_later_primary(const struct cluster_snapshot *snapshot, uint64_t *ret_epoch)
{
    const struct cluster_member *last = NULL;
    bool is_another = false, anybody_open = cluster_anybody_writes(snapshot);
    *ret_epoch = (uint64_t)snapshot->last.roles.epoch;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        uint64_t epoch = primary_epoch(member, anybody_open);
        if (epoch <= (uint64_t)snapshot->last.roles.epoch && !shows_second_use(snapshot, member))
            continue;
        is_another |= !str_eq(member->name, snapshot->last.roles.current_primary);
        if (epoch > *ret_epoch || !last)
            last = member;
        *ret_epoch = MAX_OF(*ret_epoch, epoch);
    }
    if (is_another && *ret_epoch == (uint64_t)snapshot->last.roles.epoch && is_second_that_writes(snapshot, last))
        last = cluster_primary(snapshot);
    return is_another ? last : NULL;
}

bool failover_status_is_old(const struct cluster_snapshot *snapshot)
{
    if (cluster_newest_epoch(snapshot) > snapshot->last.roles.epoch)
        return true;
    for (int i = 0; i < snapshot->member_count; i++) {
        if (shows_second_use(snapshot, &snapshot->members[i]))
            return true;
    }
    return false;
}

/* Nobody is open, and nothing shows that the status' primary was the last one: who was may have lost its volume. Then
 * that primary stands for anybody. */
static const struct cluster_member *find_unknown_primary(const struct cluster_snapshot *snapshot, uint64_t *ret_epoch)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    *ret_epoch = (uint64_t)cluster_newest_epoch(snapshot);
    bool is_last = primary && primary_epoch(primary, false) == *ret_epoch;
    return is_last || cluster_anybody_writes(snapshot) || *ret_epoch <= (uint64_t)snapshot->last.roles.epoch ? NULL
                                                                                                             : primary;
}

/* It is open, and nobody was opened since; or nobody knows a later epoch than the one under which it was. */
static bool was_surely_last(const struct cluster_snapshot *snapshot, const struct cluster_member *last, uint64_t epoch)
{
    if (!member_speaks(last))
        return false;
    return cluster_writes_last(snapshot, last) ||
        (epoch == (uint64_t)cluster_newest_epoch(snapshot) && last->agent->opened_epoch == epoch);
}

/* Of this reign nothing is known but who was primary under it. Else anybody may have been primary last. What the status
 * knows of those before still holds: which part of a tail nobody acknowledged. */
static void begin_later_reign(const struct cluster_snapshot *snapshot, const struct cluster_member *last,
    uint64_t epoch, const struct cluster_failure *why, struct cluster_intent *intent)
{
    struct cluster_reigns reigns = snapshot->last.roles.reigns;
    int first = 0;
    while (first < reigns.count && reigns.list[first].epoch >= (int64_t)epoch)
        first++;
    reigns_begin(last, (int64_t)epoch, "", first, &reigns);
    reigns.list[0].floor_is_partial = reigns.list[0].opened = true;
    begin(snapshot, why, &reigns, intent);
    if (!was_surely_last(snapshot, last, epoch))
        intent->roles.reigns.list[0].primary[0] = intent->roles.reigns.list[0].origin[0] = '\0';
}

/* Who acknowledged since is not known: whoever has not left may have. Nor is it known whether all commits waited: that
 * they wait now, as the last primary may say, tells nothing of those that somebody let go before. So that primary has
 * to be heard. While somebody is silent, that one may have been primary later still. One whose volume has just been
 * lost may have been it as well: where it is not known who was, its answer is missing, too. */
bool failover_from_later(const struct cluster_snapshot *snapshot, struct cluster_intent *intent)
{
    struct cluster_failure why = {.reason = TRANSITION_STATUS_OUTDATED};
    uint64_t epoch = 0;
    const struct cluster_member *last = find_later_primary(snapshot, &epoch);
    const char *shows = last && is_primary_now(last) ? "is primary under" : "was primary under";
    bool anybody_silent = false;
    if (!last) {
        last = find_unknown_primary(snapshot, &epoch);
        shows = "may not have been primary last: a member knows";
    }
    if (!last)
        return false;
    snprintf(why.evidence, sizeof(why.evidence), "%s %s epoch %lld, and the status was of epoch %lld", last->name,
        shows, (long long)epoch, (long long)snapshot->last.roles.epoch);
    begin_later_reign(snapshot, last, epoch, &why, intent);
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (!member->pod && !member_is_wanted(snapshot, member))
            continue;
        anybody_silent |= !member_speaks(member) && (member->pod || member->claim);
        intent->roles.acknowledgers |= bit_of(member);
    }
    if (anybody_silent)
        intent->roles.reigns.list[0].primary[0] = intent->roles.reigns.list[0].origin[0] = '\0';
    intent->roles.initialized = true;
    intent->roles.confirmed.semi_sync = false;
    intent->roles.confirmed.acks = 0;
    return true;
}

/* ---- the end ---- */

static int64_t since(int64_t base_ms, int64_t when_ms)
{
    return when_ms > 0 ? MAX_OF(0, when_ms - base_ms) : -1;
}

static void end(const struct cluster_snapshot *snapshot, const struct cluster_member *to, struct cluster_intent *intent)
{
    const struct cluster_transition *transition = &snapshot->last.roles.transition;
    const struct failover_times *times = &snapshot->failover_times;
    int64_t told_ms = write_gap_last_write_ms(transition);
    int64_t base_ms = told_ms > 0 ? told_ms : transition->started_ms - transition->silent_ms;
    const struct write_gap_change change = {.to = to,
        .epoch = transition->epoch,
        .started_ms = transition->started_ms,
        .last_write = {.at_ms = transition->last_write_ms, .span_ms = transition->last_write_span_ms},
        .seen_closed = times->chosen_ms > 0};
    const struct write_gap_end told = write_gap_end(snapshot, &change);
    struct cluster_failover *done = &intent->roles.last_failover;
    *done = (struct cluster_failover){.epoch = transition->epoch,
        .started_ms = transition->started_ms,
        .finished_ms = told.finished_ms,
        .detected_ms = since(base_ms, transition->started_ms),
        .decided_ms = since(base_ms, times->written_ms),
        .fenced_ms = since(base_ms, times->chosen_ms),
        .drained_ms = since(base_ms, told.finished_ms),
        .published_ms = since(base_ms, times->published_ms),
        .writes_blocked_ms = told.blocked_ms,
        .gap = told.gap};
    memcpy(done->from, transition->from, sizeof(done->from));
    memcpy(done->to, transition->to, sizeof(done->to));
    if (str_eq(done->from, done->to)) /* chosen, given up and chosen again: in place of whom it was chosen first */
        cluster_transition_origin(transition, done->from);
    done->reason = transition->reason;
    memcpy(done->evidence, transition->evidence, sizeof(done->evidence));
    memcpy(done->candidate_why, transition->candidate_why, sizeof(done->candidate_why));
    memcpy(done->may_be_lost, transition->may_be_lost, sizeof(done->may_be_lost));
    memcpy(done->salvaged, to->agent->salvaged, sizeof(done->salvaged));
    /* If the old one goes on, what it alone has is nothing that anybody must reach. */
    done->position = transition->position;
    intent->roles.transition = (struct cluster_transition){.from = ""};
    reigns_in_force(snapshot, &intent->roles.reigns);
    intent->roles.reigns.list[0].opened = true;
}

/* ---- on the way ---- */

/* Who is held receives from nobody: what it acknowledged is in the floor of the new reign. Who has not answered may go
 * on acknowledging whomever it follows, the new primary perhaps. If the reigns before still count, so do all who
 * acknowledged them. */
static uint64_t unheard_acknowledgers(const struct cluster_snapshot *snapshot, const struct failover_choice *choice)
{
    uint64_t acknowledgers = snapshot->last.roles.acknowledgers;
    bool is_in_floor = !choice->salvage && !choice->goes_on;
    for (int i = 0; i < snapshot->member_count && is_in_floor; i++) {
        if (member_is_held(snapshot, &snapshot->members[i]))
            acknowledgers &= ~bit_of(&snapshot->members[i]);
    }
    return acknowledgers;
}

static void take_choice(
    const struct cluster_snapshot *snapshot, const struct failover_choice *choice, struct cluster_intent *intent)
{
    struct cluster_transition *transition = &intent->roles.transition;
    snprintf(transition->to, sizeof(transition->to), "%s", choice->candidate->name);
    transition->position = cluster_take_position(snapshot, choice->position);
    snprintf(transition->candidate_why, sizeof(transition->candidate_why), "%s", choice->why);
    if (!str_empty(choice->may_be_lost)) /* what an unfinished one may have lost stays lost */
        snprintf(transition->may_be_lost, sizeof(transition->may_be_lost), "%s", choice->may_be_lost);
    transition->waits_for[0] = '\0';
    transition->salvage = choice->salvage;
    write_gap_note_last_write(snapshot, transition);
    snprintf(intent->roles.current_primary, sizeof(intent->roles.current_primary), "%s", choice->candidate->name);
    reigns_in_force(snapshot, &intent->roles.reigns);
    if (choice->goes_on) {
        reigns_continue(transition->epoch, choice->first_reign, &intent->roles.reigns);
        intent->roles.confirmed.semi_sync &= !opening_is_unconfirmed(snapshot, choice->candidate);
    } else
        reigns_begin(
            choice->candidate, transition->epoch, transition->position, choice->first_reign, &intent->roles.reigns);
    intent->roles.reigns.list[0].floor_is_partial |= choice->salvage;
    intent->roles.acknowledgers =
        acknowledgers_of(snapshot, choice->candidate) | unheard_acknowledgers(snapshot, choice);
}

/* The lost one has told since that commits did not wait as the status says. An election counts on what the status says:
 * that is written first (cluster_confirmed_weaken, at the end of the intent), and the next round elects by it. */
static bool counts_on_too_much(const struct cluster_snapshot *snapshot, const struct cluster_intent *intent)
{
    struct cluster_intent weaker = *intent;
    cluster_confirmed_weaken(snapshot, &weaker);
    return weaker.roles.confirmed.semi_sync != snapshot->last.roles.confirmed.semi_sync ||
        weaker.roles.confirmed.acks < snapshot->last.roles.confirmed.acks;
}

static void elect(const struct cluster_snapshot *snapshot, struct cluster_intent *intent)
{
    struct failover_choice choice;
    int64_t age_ms = snapshot->now_ms - snapshot->last.roles.transition.started_ms;
    if (counts_on_too_much(snapshot, intent)) {
        cluster_intent_say(intent, "fail over from %s, whose commits did not all wait as they were to",
            snapshot->last.roles.transition.from);
        return;
    }
    failover_choose(snapshot, &choice);
    look_again_in(intent, choice.again_ms);
    if (choice.candidate) {
        take_choice(snapshot, &choice, intent);
        return;
    }
    cluster_intent_say(intent, "fail over from %s; %s", snapshot->last.roles.transition.from, choice.waits);
    if (age_ms > FAILOVER_HOLD_MS || age_ms < 0)
        json_copy_text(intent->roles.transition.waits_for, sizeof(intent->roles.transition.waits_for), choice.waits);
}

/* A chosen one that is lost may have been open, unheard: its reign stays, and is found empty if it wrote nothing. */
static void begin_again(
    const struct cluster_snapshot *snapshot, const struct cluster_failure *failure, struct cluster_intent *intent)
{
    const struct cluster_transition *transition = &snapshot->last.roles.transition;
    struct cluster_reigns reigns;
    reigns_in_force(snapshot, &reigns);
    begin(snapshot, failure, &reigns, intent);
    memcpy(intent->roles.transition.may_be_lost, transition->may_be_lost, sizeof(transition->may_be_lost));
}

/* Its binary logs can no longer be read, but it may say itself what it has, or it is gone. */
static bool has_no_logs_any_more(const struct cluster_snapshot *snapshot, const struct cluster_member *from)
{
    if (!from)
        return true;
    if (member_speaks(from))
        return member_is_held(snapshot, from);
    return !from->agent_awaited && from->silent_ms >= failover_silence_ms(snapshot);
}

/* By its own word, under the order to open: it never will. */
static bool cannot_open(const struct cluster_snapshot *snapshot, const struct cluster_member *to)
{
    const struct agent_status *agent = to->agent;
    if (!member_runs(to) || agent->role != AGENT_ROLE_PRIMARY || agent->epoch != (uint64_t)snapshot->last.roles.epoch)
        return false;
    return agent->replication.applier_errno != 0 || !failover_has_received(to, snapshot->last.roles.transition.position);
}

/* What was to be taken over from binary logs must be asked for in another way; or the new one cannot apply what it has,
 * while somebody else may. */
static bool must_choose_again(const struct cluster_snapshot *snapshot, struct cluster_intent *intent)
{
    struct cluster_failure why = {.reason = TRANSITION_NO_REASON};
    const struct cluster_transition *transition = &snapshot->last.roles.transition;
    const struct cluster_member *from = transition->salvage ? reigns_salvaged(snapshot) : NULL;
    const struct cluster_member *to = cluster_member_named(snapshot, transition->to);
    if (transition->salvage && from != to && has_no_logs_any_more(snapshot, from)) {
        bool is_back = from && member_speaks(from);
        why.reason = is_back ? TRANSITION_SERVER_DOWN : TRANSITION_MEMBER_LOST;
        snprintf(why.evidence, sizeof(why.evidence), "%s %s before its binary logs were read",
            from ? from->name : "a member that is not known", is_back ? "has come back" : "was lost altogether");
        begin_again(snapshot, &why, intent);
        return true;
    }
    if (!to || !cannot_open(snapshot, to))
        return false;
    why.reason = TRANSITION_CANNOT_APPLY;
    snprintf(why.evidence, sizeof(why.evidence), "%s cannot apply what it has received: %.150s", to->name,
        to->agent->replication.applier_error);
    begin_again(snapshot, &why, intent);
    return true;
}

/* How long the chosen one has had to open, as far as we saw. */
static int64_t chosen_for_ms(const struct cluster_snapshot *snapshot)
{
    int64_t chosen_ms = snapshot->failover_times.chosen_ms;
    return chosen_ms > 0 ? MAX_OF(0, snapshot->now_ms - chosen_ms) : 0;
}

/* What is waited for once somebody is chosen. The one that was lost may be chosen itself, and so may one that was chosen
 * before. */
static void say_opening(const struct cluster_snapshot *snapshot, struct cluster_intent *intent, const char *why)
{
    char origin[DERIVED_NAME_SIZE];
    const struct cluster_transition *transition = &snapshot->last.roles.transition;
    const char *to = transition->to;
    cluster_transition_origin(transition, origin);
    const char *from = str_eq(transition->from, to) ? origin : transition->from;
    _cleanup_(freep) char *what =
        str_eq(origin, to) ? xasprintf("open %s again", to) : xasprintf("fail over from %s to %s", from, to);
    cluster_intent_say(intent, "%s; waits until %s has applied everything%s%s", what, to,
        transition->salvage ? ", what was salvaged included" : "", why);
}

/* It runs and met no error, but a full disk, perhaps, or a lock: somebody else has all that it must apply. */
static bool must_move_on(
    const struct cluster_snapshot *snapshot, const struct cluster_member *to, struct cluster_intent *intent)
{
    struct cluster_failure why = {.reason = TRANSITION_CANNOT_OPEN};
    const struct cluster_transition *transition = &snapshot->last.roles.transition;
    int64_t waited_ms = chosen_for_ms(snapshot);
    bool is_back = str_eq(transition->to, transition->from) && transition->reason == why.reason;
    if (waited_ms < CLUSTER_OPEN_MAX_MS || !to || !member_speaks(to))
        return false;
    const struct cluster_member *other = transition->salvage || is_back ? NULL : failover_substitute(snapshot, to);
    snprintf(
        why.evidence, sizeof(why.evidence), "%s has not opened within %lld s", to->name, (long long)(waited_ms / 1000));
    if (other)
        begin_again(snapshot, &why, intent);
    else {
        _cleanup_(freep) char *text = xasprintf(": %s, and nobody else could be opened instead", why.evidence);
        say_opening(snapshot, intent, text);
    }
    return other;
}

void failover_continue(const struct cluster_snapshot *snapshot, struct cluster_intent *intent)
{
    struct cluster_failure failure;
    const struct cluster_transition *transition = &snapshot->last.roles.transition;
    const struct cluster_member *to = cluster_member_named(snapshot, transition->to);
    if (str_empty(transition->to))
        elect(snapshot, intent);
    else if (to && member_is_open(snapshot, to))
        end(snapshot, to, intent);
    else if (cluster_target_is_lost(snapshot, transition->to, &failure))
        begin_again(snapshot, &failure, intent);
    else if (!must_choose_again(snapshot, intent) && !must_move_on(snapshot, to, intent)) {
        look_again_in(intent, failure.again_ms > 0 ? failure.again_ms : 1000);
        say_opening(snapshot, intent, "");
    }
}

/* ---- acknowledgers ---- */

/* It has data, and a server that may soon acknowledge. */
static bool may_acknowledge(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    if (!member_is_wanted(snapshot, member) || !member_speaks(member) || in_place_is_stale(snapshot, member) ||
        member_is_to_stop(snapshot, member))
        return false;
    return member->agent->phase == AGENT_PHASE_RUNNING || member->agent->phase == AGENT_PHASE_STARTING;
}

uint64_t acknowledgers_of(const struct cluster_snapshot *snapshot, const struct cluster_member *next)
{
    uint64_t acknowledgers = 0;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (member != next && may_acknowledge(snapshot, member))
            acknowledgers |= bit_of(member);
    }
    return acknowledgers;
}

/* By as many as a commit is to wait for: those of them that are fit to be opened, or any. wanted: NULL is by nobody. */
static bool is_held(const struct cluster_snapshot *snapshot, const struct cluster_member *primary,
    const struct gtid_set *wanted, const struct cluster_member *but, bool must_be_fit)
{
    enum gtid_flavour flavour = member_gtid_flavour(primary);
    int needed = flavour == GTID_MARIADB ? 1 : MAX_OF(1, snapshot->last.roles.acks);
    for (int i = 0; i < snapshot->member_count && wanted && needed > 0; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (member == primary || (but && member->ordinal == but->ordinal))
            continue;
        if (!member_speaks(member) || !member_acknowledges(snapshot, member))
            continue;
        if (must_be_fit && !member_follows(snapshot, member))
            continue;
        _cleanup_(gtid_set_freep) struct gtid_set *has = position_parse(flavour, member->agent->gtid_received);
        enum gtid_relation relation = has ? gtid_set_compare(has, wanted) : GTID_DIVERGED;
        if ((relation == GTID_EQUAL || relation == GTID_SUPERSET) &&
            !(must_be_fit && reigns_has_extra(snapshot, member)))
            needed--;
    }
    return wanted && needed == 0;
}

bool acknowledgers_cover(const struct cluster_snapshot *snapshot, const struct cluster_member *primary, const char *all,
    const struct cluster_member *but)
{
    enum gtid_flavour flavour = member_gtid_flavour(primary);
    _cleanup_(gtid_set_freep) struct gtid_set *wanted = position_parse(flavour, all);
    return is_held(snapshot, primary, wanted, but, true);
}

/* Or nothing is known that would keep it from that: it was held while there was no primary, and has yet to begin. */
static bool may_receive_from(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, const struct cluster_member *member)
{
    char host[AGENT_HOST_SIZE];
    if (!member_runs(member))
        return false;
    cluster_member_host(snapshot, primary, host);
    enum agent_thread receiver = member->agent->replication.receiver;
    return receiver == AGENT_THREAD_RUNNING
        ? str_eq(member->agent->replication.source_host, host)
        : receiver == AGENT_THREAD_OFF && member->agent->replication.receiver_errno == 0;
}

bool acknowledgers_spare(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, const struct cluster_member *member)
{
    bool any = cluster_follower_count(snapshot) > 0;
    bool receives = member->agent->replication.receiver == AGENT_THREAD_RUNNING;
    for (int i = 0; i < snapshot->member_count && !any && !receives; i++) {
        const struct cluster_member *other = &snapshot->members[i];
        any = other != primary && other != member && member_speaks(other) && member_acknowledges(snapshot, other) &&
            other->agent->replication.receiver == AGENT_THREAD_RUNNING && may_receive_from(snapshot, primary, other);
    }
    return any;
}

/* MySQL: what it has received without what is its own; NULL: it cannot be told. */
static struct gtid_set *received_from_others(const struct agent_status *agent)
{
    _cleanup_(gtid_set_freep) struct gtid_set *received = position_parse(GTID_MYSQL, agent->gtid_received);
    _cleanup_(gtid_set_freep) struct gtid_set *own = position_parse(GTID_MYSQL, agent->errant);
    return received && own ? gtid_set_subtract(received, own) : NULL;
}

/* MariaDB sends nothing to a member with transactions of its own. */
bool acknowledgers_need(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, const struct cluster_member *member)
{
    if (!member_is_open(snapshot, primary) || snapshot->scale.effective <= 2 || !member_acknowledges(snapshot, member) ||
        !may_receive_from(snapshot, primary, member) || member_gtid_flavour(member) == GTID_MARIADB ||
        str_empty(member->agent->errant) || !reigns_holds_latest(snapshot, member))
        return false;
    _cleanup_(gtid_set_freep) struct gtid_set *received = received_from_others(member->agent);
    return !is_held(snapshot, primary, received, member, false);
}

/* It can acknowledge nothing more of this primary's commits without an order of ours: by its own report it follows
 * nobody under the present epoch, or it has no server, and gets one only after its `init` has asked. */
bool acknowledgers_has_stopped(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    bool is_gone = !member->pod || !member->pod->initialized;
    if ((is_gone && !member->departed) || member_is_seeding(member))
        return true;
    return member_speaks(member) && member->agent->epoch == (uint64_t)snapshot->last.roles.epoch &&
        member->agent->role == AGENT_ROLE_NONE && member->agent->order_done;
}

/* What the primary has shown is compared with what the others have: it must be of a time when this one had stopped. */
static bool may_leave(const struct cluster_snapshot *snapshot, const struct cluster_member *primary,
    const struct cluster_member *member, struct cluster_intent *intent)
{
    if (!member_is_open(snapshot, primary) || !acknowledgers_has_stopped(snapshot, member))
        return false;
    look_again_in(intent, CLUSTER_STOPPED_MS - member->stopped_ms);
    return member->stopped_ms >= CLUSTER_STOPPED_MS &&
        acknowledgers_cover(snapshot, primary, primary->agent->gtid_executed, member);
}

/* Replicas give acknowledgements before commits wait for them: who is silent then may go on. */
void acknowledgers_keep(const struct cluster_snapshot *snapshot, struct cluster_intent *intent)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    uint64_t known = 0;
    if (intent->roles.acks == 0 || !primary) {
        intent->roles.acknowledgers = 0;
        return;
    }
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        known |= bit_of(member);
        bool may_already = snapshot->last.roles.acks == 0 && !acknowledgers_has_stopped(snapshot, member);
        if (member != primary && (may_already || may_acknowledge(snapshot, member)))
            intent->roles.acknowledgers |= bit_of(member);
        else if ((intent->roles.acknowledgers & bit_of(member)) && may_leave(snapshot, primary, member, intent))
            intent->roles.acknowledgers &= ~bit_of(member);
    }
    /* Members that there is no trace of any more. */
    if (member_is_open(snapshot, primary) && acknowledgers_cover(snapshot, primary, primary->agent->gtid_executed, NULL))
        intent->roles.acknowledgers &= known;
}
