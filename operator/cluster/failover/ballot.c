/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/failover/ballot.h"

#include <limits.h>

#include "common/alloc.h"
#include "operator/cluster/failover/ballot_votes.h"
#include "operator/cluster/failover/ballot_without_reigns.h"
#include "operator/cluster/failover/candidate.h"
#include "operator/cluster/failover/failover_facts.h"
#include "operator/cluster/failover/reigns.h"
#include "operator/cluster/state/member_view.h"

/* ---- how many must answer ---- */

/* MariaDB waits for one, whatever is wished; so does who has said nothing yet, as far as we know. */
static int acks_in_force(const struct cluster_snapshot *snapshot)
{
    enum agent_flavour flavour = cluster_flavour(snapshot);
    bool waits_for_one = flavour == AGENT_FLAVOUR_MARIADB || flavour == AGENT_FLAVOUR_UNKNOWN;
    return waits_for_one ? 1 : cluster_confirmed_acks(snapshot);
}

int ballot_answers_needed(const struct cluster_snapshot *snapshot, const char *primary, bool whole_floor)
{
    bool is_known = !str_empty(primary);
    int acknowledgers = 0, acks = acks_in_force(snapshot);
    for (int ordinal = 0; ordinal < CLUSTER_ACKNOWLEDGERS_MAX; ordinal++)
        acknowledgers +=
            ordinal != names_ordinal(primary) && (snapshot->last.roles.acknowledgers >> (unsigned)ordinal & 1) != 0;
    /* A primary that is not known is one of them, and holds each commit as well. */
    if (cluster_confirmed_acks(snapshot) < 1)
        return is_known || acknowledgers == 0 ? INT_MAX : acknowledgers;
    acks += !is_known;
    if (acknowledgers < acks)
        return whole_floor ? 0 : INT_MAX;
    return acknowledgers - acks + 1;
}

bool ballot_is_proof(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    return member_acknowledges(snapshot, member) && member->agent->replication.caught_up;
}

bool ballot_counts(const struct cluster_snapshot *snapshot, const char *primary, const struct cluster_member *member)
{
    bool all_are_asked = str_empty(primary) && cluster_confirmed_acks(snapshot) < 1; /* the primary itself among them */
    return !str_eq(member->name, primary) &&
        (ballot_is_proof(snapshot, member) || (all_are_asked && member_acknowledges(snapshot, member)));
}

void ballot_join_unknown(struct cluster_reigns *reigns, struct cluster_reigns *ret)
{
    bool all_known = true;
    for (int i = 0; i < reigns->count; i++)
        all_known &= !str_empty(reigns->list[i].origin);
    *ret = (struct cluster_reigns){.count = 0};
    if (reigns->count < 2 || all_known)
        return;
    *ret = *reigns;
    reigns->list[0] = reigns->list[reigns->count - 1];
    reigns->list[0].primary[0] = reigns->list[0].origin[0] = '\0';
    reigns->list[0].floor_is_partial = true;
    reigns->list[0].opened = false;
    reigns->count = 1;
}

/* ---- in which order ---- */

/* Who is to follow a primary that has answered is opened when it has all that this one had when it was closed, or all
 * of its binary logs. */
static bool lacks_some_of_before(const struct ballot *ballot, int i, const struct vote *own)
{
    const struct vote *older = ballot_older_than(ballot, i, own);
    if (!older)
        return false;
    if (older->member->agent->flavour == AGENT_FLAVOUR_MARIADB)
        return member_history_is_behind(own->member->agent->gtid_executed, older->member->agent->gtid_executed);
    return ballot_lacks_some_written_by(own, older, ballot->reigns.list[i + 1].origin);
}

/* MariaDB. What was received and not applied is in no log yet: then numbers alone tell. */
static bool shows_that_it_lacks(const struct cluster_member *member, const struct cluster_member *older)
{
    const char *position = failover_position_of(member), *theirs = failover_position_of(older);
    return member_history_is_behind(position, theirs) ||
        (position_same(position, member->agent->gtid_executed) &&
            member_history_state_lacks(member->agent->gtid_state, theirs));
}

/* Binary logs are received in order. So what somebody holds of a reign was written in it if that one also holds all
 * that the primary before had, which has answered. Else somebody wrote by hand: on the one that was chosen and not
 * opened, and it came to a member that follows that one of old; or on the primary before, after it was closed. */
static bool is_out_of_order(const struct ballot *ballot, int i, const struct vote *vote)
{
    const struct vote *older = ballot_older_than(ballot, i, vote);
    if (!older || !vote->history.readable || vote->history.reign != i || ballot->reigns.list[i].opened)
        return false;
    if (older->member->agent->flavour == AGENT_FLAVOUR_MARIADB)
        return shows_that_it_lacks(vote->member, older->member);
    return ballot_lacks_some_written_by(vote, older, ballot->reigns.list[i + 1].origin);
}

/* What others than its primary hold of the reign is out of order with all of them: it does not show whether the reign
 * began. */
static bool is_disputed(const struct ballot *ballot, int i)
{
    const struct vote *own = ballot_vote_of(ballot, &ballot->reigns.list[i]);
    bool any = false;
    for (int v = 0; v < ballot->count; v++) {
        const struct vote *vote = &ballot->votes[v];
        if (vote == own || !vote->history.readable || vote->history.reign != i)
            continue;
        if (!is_out_of_order(ballot, i, vote))
            return false;
        any = true;
    }
    return any;
}

/* Others than its primary hold something that was written in it. */
static bool is_marked(const struct ballot *ballot, int i, const struct vote *own)
{
    bool any = false;
    for (int v = 0; v < ballot->count; v++) {
        const struct vote *vote = &ballot->votes[v];
        any |=
            vote != own && vote->history.readable && vote->history.reign == i && !ballot_may_be_older(ballot, i, vote);
    }
    return any && !is_disputed(ballot, i);
}

/* ---- reign by reign ---- */

/* What cannot be read, or is hidden behind something of its own, may be acknowledged, so that is no answer. */
static int count_answers(const struct cluster_snapshot *snapshot, const struct ballot *ballot, const char *primary)
{
    int answers = 0;
    for (int i = 0; i < ballot->count; i++) {
        const struct vote *vote = &ballot->votes[i];
        answers += ballot_counts(snapshot, primary, vote->member) && vote->history.readable && !vote->history.hides;
    }
    return answers;
}

/* Each of them may have been primary last: those that are not asked as acknowledgers must have answered as well. */
static bool joined_have_answered(const struct cluster_snapshot *snapshot, const struct ballot *ballot)
{
    for (int r = 0; r < ballot->joined.count; r++) {
        const struct cluster_member *primary = cluster_member_named(snapshot, ballot->joined.list[r].primary);
        bool answers = primary && (member_acknowledges(snapshot, primary) || member_is_held(snapshot, primary));
        if (!answers)
            return false;
    }
    return true;
}

/* Somebody has seen its primary open, or that one says so, or holds a heartbeat of it, or another one holds something
 * of it. Where it is not known under which epoch it began, the primary cannot say so. Else what bears its origin may be
 * older: a tail of an earlier reign of the same member, or what somebody wrote there while it was a replica. */
static bool has_begun(const struct ballot *ballot, int i, const struct vote *own)
{
    const struct cluster_reign *reign = &ballot->reigns.list[i];
    const struct agent_status *agent = own->member->agent;
    uint64_t latest = MAX_OF(agent->opened_epoch, agent->replication.applied_epoch);
    return reign->opened || (reign->epoch > 0 && latest >= (uint64_t)reign->epoch) || is_marked(ballot, i, own);
}

/* Another member has received more of the reign than its primary holds. So the primary's volume went back in time, and
 * what it holds is not everything. */
static bool is_behind(const struct ballot *ballot, int reign, const struct vote *own)
{
    for (int i = 0; i < ballot->count && own->history.readable; i++) {
        const struct vote *vote = &ballot->votes[i];
        if (vote != own && vote->history.readable && !vote->history.hides && vote->history.reign == reign &&
            member_history_compare(&vote->history, &own->history) == GTID_SUPERSET)
            return true;
    }
    return false;
}

/* Its primary wrote in it, and has kept all that anybody holds of that. In a status without reigns what it holds of a
 * later one may be older: MySQL's GTIDs tell then as well, as each names who wrote it. */
static bool wrote_and_kept(const struct ballot *ballot, int i, const struct vote *own)
{
    const struct cluster_reign *reign = &ballot->reigns.list[i];
    if (own->history.reign == i)
        return !is_behind(ballot, i, own);
    if (own->history.reign > i || reign->epoch > 0 || own->member->agent->flavour == AGENT_FLAVOUR_MARIADB)
        return false;
    _cleanup_(gtid_set_freep) struct gtid_set *written = gtid_set_of_source(own->history.known, reign->origin);
    _cleanup_(gtid_set_freep) struct gtid_set *floor = position_parse(GTID_MYSQL, reign->floor);
    _cleanup_(gtid_set_freep) struct gtid_set *beyond = floor ? gtid_set_subtract(written, floor) : NULL;
    bool kept = beyond && !gtid_set_is_empty(beyond);
    for (int v = 0; v < ballot->count && kept; v++)
        kept = ballot->votes[v].history.readable && !ballot_lacks_some_written_by(own, &ballot->votes[v], reign->origin);
    return kept;
}

/* It holds all that the primary of the reign before holds, which has answered and wrote in it: so all that was ever
 * acknowledged before its own. Whether it was open then or not, nothing else was acknowledged. So it is if that primary
 * is itself. */
static bool holds_all_of_before(const struct ballot *ballot, int i, const struct vote *own)
{
    int at = ballot_find_before(ballot, i);
    const struct cluster_reign *before = &ballot->reigns.list[at];
    const struct vote *older = ballot_vote_of(ballot, before);
    if (older == own)
        return ballot_has_earlier_floor(ballot, i) && at == ballot->reigns.count - 1;
    if (!older || !older->history.readable || str_empty(before->origin) || ballot->joined.count > 0 ||
        !has_begun(ballot, at, older) || !wrote_and_kept(ballot, at, older))
        return false;
    if (older->member->agent->flavour == AGENT_FLAVOUR_MARIADB)
        return !older->history.hides &&
            member_history_state_holds(own->member->agent->gtid_state, failover_position_of(older->member));
    enum gtid_relation relation = gtid_set_compare(own->history.known, older->history.known);
    return relation == GTID_EQUAL || relation == GTID_SUPERSET;
}

/* After a status of the past reigns may lack between those that are listed: what the primary of this one had of them
 * when it was opened counts, and no earlier one that is listed decides. */
static bool holds_unlisted(const struct ballot *ballot, int i, const struct vote *own)
{
    const struct cluster_reign *reign = &ballot->reigns.list[i];
    return reign->opened && reign->floor_is_partial && own->history.reign > i && own->history.has_extra;
}

/* False: it is empty, and the one before it decides. What its primary lacks and others hold is a transaction that it has
 * lost, or of no reign: if it is disputed, nobody can be compared by it. */
static bool judge_reign(const struct cluster_snapshot *snapshot, int i, struct ballot *ballot)
{
    const struct cluster_reign *reign = &ballot->reigns.list[i];
    const struct vote *primary = ballot_vote_of(ballot, reign);
    const struct vote *own = primary; /* as long as it tells what it wrote in this reign */
    bool is_last_word = i == ballot->reigns.count - 1 && reign->floor_is_partial;
    bool found = ballot_anybody_holds(ballot, i, NULL);
    ballot->decisive = i;
    ballot->answers = count_answers(snapshot, ballot, reign->primary);
    ballot->needed = reign->closed ? 0 : ballot_answers_needed(snapshot, reign->primary, !reign->floor_is_partial);
    bool enough = ballot->answers >= ballot->needed && joined_have_answered(snapshot, ballot);
    if (own && !own->history.readable)
        own = reign->opened ? own : NULL;
    else if (own && own->history.reign > i) {
        bool is_unlisted = holds_unlisted(ballot, i, own);
        if (!is_last_word && !is_unlisted && !is_disputed(ballot, i))
            return false;
        /* nobody took writes after it, and it had everything when it was opened */
        own = (is_last_word || is_unlisted) && reign->opened ? own : NULL;
    } else if (own && i + 1 < ballot->reigns.count && !has_begun(ballot, i, own) && !holds_all_of_before(ballot, i, own))
        own = NULL;
    if (own && is_behind(ballot, i, own))
        own = NULL;
    ballot->old = own;
    /* What only its primary holds of it proves nothing of those before, unless its floor is all of them. Nor does what
     * may be older, while the primary before is silent. */
    bool is_silent = ballot_has_earlier_floor(ballot, i) && !ballot_older_than(ballot, i, NULL);
    bool counts = (ballot_anybody_holds(ballot, i, primary) && !is_silent) || (own && !reign->floor_is_partial);
    ballot->is_disputed = !own && is_disputed(ballot, i);
    ballot->is_marked = is_marked(ballot, i, primary);
    ballot->is_proven = enough && (counts || is_last_word) && !ballot->is_disputed;
    return own || found || !enough || is_last_word;
}

/* MariaDB: a reign is empty, by the word of its primary, whose floor is not all known. What another one holds of that
 * server its primary has logged before the last that it holds, so it is older: that vote counts without the reign. */
static void read_older_again(struct ballot *ballot, int i)
{
    const struct vote *primary = ballot_vote_of(ballot, &ballot->reigns.list[i]);
    struct cluster_reigns others = ballot->reigns;
    if (!primary || !primary->history.readable || primary->member->agent->flavour != AGENT_FLAVOUR_MARIADB)
        return;
    others.count--;
    memmove(&others.list[i], &others.list[i + 1], (size_t)(others.count - i) * sizeof(others.list[0]));
    for (int v = 0; v < ballot->count; v++) {
        struct vote *vote = &ballot->votes[v];
        const char *position = failover_position_of(vote->member);
        if (vote == primary || !vote->history.readable || vote->history.reign != i ||
            !member_history_state_holds(primary->member->agent->gtid_state, position))
            continue;
        member_history_release(&vote->history);
        member_history_read(&others, GTID_MARIADB, position, &vote->history);
        vote->history.reign += vote->history.reign >= i;
        vote->history.hides &= !member_history_shows_none(&others, vote->member->agent->gtid_state);
    }
}

static void judge(const struct cluster_snapshot *snapshot, struct ballot *ballot)
{
    for (int i = 0; i < ballot->reigns.count - ballot->oldest_is_void; i++) {
        if (judge_reign(snapshot, i, ballot))
            return;
        read_older_again(ballot, i);
    }
    ballot->decisive = ballot->reigns.count;
    ballot->is_proven = true;
}

/* ---- everybody ---- */

/* names: with commas between them; "" are none */
static bool have_answered(const struct ballot *ballot, const char *names)
{
    while (*names) {
        size_t len = strcspn(names, ",");
        bool found = false;
        for (int i = 0; i < ballot->count && !found; i++) {
            const char *name = ballot->votes[i].member->name;
            found = strlen(name) == len && strncmp(name, names, len) == 0;
        }
        if (!found)
            return false;
        names += len + (names[len] == ',');
    }
    return true;
}

/* Whoever the status names as a primary, too, be it no member any more. */
static bool primaries_have_answered(const struct cluster_snapshot *snapshot, const struct ballot *ballot)
{
    const struct cluster_role_status *roles = &snapshot->last.roles;
    const struct cluster_transition *transition = &roles->transition;
    bool have = have_answered(ballot, roles->current_primary) && have_answered(ballot, transition->from) &&
        have_answered(ballot, transition->to) && have_answered(ballot, transition->before);
    for (int i = 0; i < roles->reigns.count; i++)
        have &= have_answered(ballot, roles->reigns.list[i].primary);
    return have;
}

static bool everybody_has_answered(const struct cluster_snapshot *snapshot, const struct ballot *ballot)
{
    uint64_t members = snapshot->member_count < 64 ? (1ULL << (unsigned)snapshot->member_count) - 1 : UINT64_MAX;
    return ballot->count > 0 && ballot->count == snapshot->member_count && ballot->count >= snapshot->scale.effective &&
        (snapshot->last.roles.acknowledgers & ~members) == 0 && primaries_have_answered(snapshot, ballot);
}

/* Its server was opened in it, or has executed a heartbeat of it. 0: of none. */
static uint64_t latest_trace(const struct vote *vote)
{
    const struct agent_status *agent = vote->member->agent;
    return MAX_OF(agent->opened_epoch, agent->replication.applied_epoch);
}

/* Nothing is known of the only reign, and everybody has answered: so the latest reign that anybody has a trace of was
 * the last. Whoever was opened in it had all that was acknowledged until then, and so has everybody who follows it.
 * Where two have not followed, one of them may have acknowledged what the other one wrote since (ballot_fork.h). */
static void note_the_one_of_before(const struct cluster_snapshot *snapshot, struct ballot *ballot)
{
    uint64_t latest = 0;
    struct vote *before = NULL;
    if (ballot->reigns.count != 1 || !str_empty(ballot->reigns.list[0].origin) || ballot->joined.count > 0 ||
        !everybody_has_answered(snapshot, ballot))
        return;
    for (int i = 0; i < ballot->count; i++)
        latest = MAX_OF(latest, latest_trace(&ballot->votes[i]));
    for (int i = 0; i < ballot->count; i++) {
        struct vote *vote = &ballot->votes[i];
        if (latest_trace(vote) == latest)
            continue;
        if (before || latest_trace(vote) == 0)
            return;
        before = vote;
    }
    if (!before || before == ballot->old)
        return;
    before->is_of_before = true;
    if (str_empty(before->unfit))
        before->unfit = "it has no trace of the last reign";
}

/* ---- reigns that are not listed ---- */

/* MariaDB: by the last transaction of each domain, which both have, or which its log names. */
static bool holds_all_of(const struct vote *vote, const struct vote *other)
{
    enum gtid_flavour flavour = member_gtid_flavour(vote->member);
    const char *position = failover_position_of(other->member);
    _cleanup_(gtid_set_freep) struct gtid_set *ours = position_parse(flavour, failover_position_of(vote->member));
    _cleanup_(gtid_set_freep) struct gtid_set *theirs = position_parse(flavour, position);
    if (!ours || !theirs || member_gtid_flavour(other->member) != flavour)
        return false;
    enum gtid_relation relation = gtid_set_compare(ours, theirs);
    if (relation == GTID_EQUAL || flavour == GTID_MYSQL)
        return relation == GTID_EQUAL || relation == GTID_SUPERSET;
    return member_history_state_holds(vote->member->agent->gtid_state, position);
}

/* Who has less than a primary had when it was opened, in whatever reign that was written, cannot take its place. */
static void note_who_lacks_unlisted(struct ballot *ballot)
{
    const struct vote *old = ballot->decisive < ballot->reigns.count ? ballot->old : NULL;
    for (int i = 0; i < ballot->count && old && holds_unlisted(ballot, ballot->decisive, old); i++) {
        struct vote *vote = &ballot->votes[i];
        if (vote == old || holds_all_of(vote, old))
            continue;
        vote->is_of_before = true;
        if (str_empty(vote->unfit))
            vote->unfit = "it lacks what the last primary had when it was opened";
    }
}

/* ---- who holds most ---- */

/* Where a reign has written something, what belongs to no reign is in its way: nobody acknowledged it, and it may bear
 * the number of something that was. */
static void note_extra(struct ballot *ballot)
{
    for (int i = 0; i < ballot->count && ballot->decisive < ballot->reigns.count; i++) {
        struct vote *vote = &ballot->votes[i];
        if (vote != ballot->old && vote->history.has_extra && str_empty(vote->unfit) &&
            ballot_anybody_holds(ballot, ballot->decisive, NULL))
            vote->unfit = "it holds transactions that the lost primary had not";
    }
    for (int i = 0; i < ballot->count; i++) {
        struct vote *vote = &ballot->votes[i];
        if (!vote->history.readable && vote != ballot->old && str_empty(vote->unfit))
            vote->unfit = "its GTID set is too long";
    }
}

static bool is_better_equal(const struct cluster_snapshot *snapshot, const struct vote *a, const struct vote *b)
{
    if (a->history.has_extra != b->history.has_extra)
        return b->history.has_extra;
    return candidate_is_better_equal(snapshot, a->member, b->member);
}

/* Where it is not known who wrote in the reign that decides, nothing but the numbers would show who holds more. */
static enum gtid_relation relate(const struct ballot *ballot, const struct vote *a, const struct vote *b)
{
    enum gtid_relation relation = member_history_compare(&a->history, &b->history);
    bool is_known = ballot->decisive == ballot->reigns.count || !str_empty(ballot->reigns.list[ballot->decisive].origin);
    if (is_known || member_gtid_flavour(a->member) != GTID_MARIADB)
        return relation;
    bool a_lacks = member_history_state_lacks(a->member->agent->gtid_state, failover_position_of(b->member));
    bool b_lacks = member_history_state_lacks(b->member->agent->gtid_state, failover_position_of(a->member));
    if ((relation == GTID_SUPERSET && a_lacks) || (relation == GTID_SUBSET && b_lacks) ||
        (relation == GTID_EQUAL && (a_lacks || b_lacks)))
        return GTID_DIVERGED;
    return relation;
}

static void find_best(const struct cluster_snapshot *snapshot, struct ballot *ballot)
{
    for (int i = 0; i < ballot->count; i++) {
        const struct vote *vote = &ballot->votes[i];
        if (!str_empty(vote->unfit))
            ballot->unfit = vote;
        else if (vote == ballot->old)
            continue;
        else if (!ballot->best)
            ballot->best = vote;
        else {
            enum gtid_relation relation = relate(ballot, vote, ballot->best);
            if (relation == GTID_SUPERSET || (relation == GTID_EQUAL && is_better_equal(snapshot, vote, ballot->best)))
                ballot->best = vote;
        }
    }
}

static void compare_with_best(struct ballot *ballot)
{
    for (int i = 0; i < ballot->count && ballot->best; i++) {
        const struct vote *vote = &ballot->votes[i];
        if (vote == ballot->best || vote == ballot->old || vote->is_of_before)
            continue;
        enum gtid_relation relation =
            vote->history.readable ? relate(ballot, vote, ballot->best) : GTID_SUPERSET; /* for all that is known */
        if (relation == GTID_DIVERGED)
            ballot->diverged = vote;
        else if (relation == GTID_SUPERSET)
            ballot->ahead = vote;
    }
}

/* By the notes on its primary's volume: each opening since it began is noted, and none is. That the last one noted is
 * of before the reign that is listed before it shows that the epoch is the one that it began with, and not a later one
 * under which it went on. */
static bool is_noted_as_unopened(const struct ballot *ballot, int i, const struct vote *own)
{
    const struct cluster_reign *reign = &ballot->reigns.list[i], *before = &ballot->reigns.list[i + 1];
    const struct agent_status *agent = own->member->agent;
    if (!reign->opened && before->epoch < 1)
        return ballot_has_only_followed(ballot, i, own);
    if (reign->opened || reign->epoch < 1)
        return false;
    return agent->noted_since > 0 && agent->noted_since <= (uint64_t)reign->epoch &&
        agent->opened_epoch < (uint64_t)MIN_OF(reign->epoch, before->epoch) &&
        agent->replication.applied_epoch < (uint64_t)reign->epoch;
}

/* Its primary's volume shows that it cannot have been opened, or the one before it does, or enough others hold nothing
 * of it. What bears its origin all the same is older, whoever holds it. */
static bool never_began(const struct cluster_snapshot *snapshot, const struct ballot *ballot, int i)
{
    const struct cluster_reign *reign = &ballot->reigns.list[i];
    const struct vote *own = ballot_vote_of(ballot, reign);
    if (!own || !own->history.readable || ballot_anybody_holds_later(ballot, i))
        return false;
    if (is_noted_as_unopened(ballot, i, own) || ballot_wrote_nothing(ballot, i, own))
        return true;
    if (has_begun(ballot, i, own) || is_disputed(ballot, i))
        return false;
    return lacks_some_of_before(ballot, i, own) ||
        (!ballot_anybody_holds(ballot, i, own) &&
            count_answers(snapshot, ballot, reign->primary) >=
                ballot_answers_needed(snapshot, reign->primary, !reign->floor_is_partial));
}

static void skip(const struct cluster_snapshot *snapshot, int i, struct ballot *ballot)
{
    struct cluster_reigns *reigns = &ballot->reigns;
    int later = reigns->count - i - 1;
    ballot->skipped.list[ballot->skipped.count++] = reigns->list[i];
    memmove(&reigns->list[i], &reigns->list[i + 1], (size_t)later * sizeof(reigns->list[0]));
    memmove(&ballot->listed[i], &ballot->listed[i + 1], (size_t)later * sizeof(ballot->listed[0]));
    reigns->count--;
    ballot_read_votes(snapshot, ballot);
}

/* From the latest on, again after each: who wrote in one that is left out holds nothing of it any more. The oldest
 * stays. */
static void skip_unbegun(const struct cluster_snapshot *snapshot, struct ballot *ballot)
{
    for (int i = 0; i + 1 < ballot->reigns.count; i++) {
        if (never_began(snapshot, ballot, i)) {
            skip(snapshot, i, ballot);
            i = -1;
        }
    }
}

/* Its primary lacks some of what it had to have before it was opened, and has never had it: it was chosen, and lost what
 * it had received before that was applied. */
static bool lacks_its_floor(const struct ballot *ballot, int i, const struct vote *own)
{
    const struct cluster_reign *reign = &ballot->reigns.list[i];
    enum gtid_flavour flavour = member_gtid_flavour(own->member);
    const char *executed = own->member->agent->gtid_executed;
    if (reign->floor_is_partial || str_empty(reign->floor) || !own->history.readable || has_begun(ballot, i, own))
        return false;
    if (flavour == GTID_MARIADB)
        return member_history_is_behind(executed, reign->floor);
    _cleanup_(gtid_set_freep) struct gtid_set *floor = position_parse(flavour, reign->floor);
    _cleanup_(gtid_set_freep) struct gtid_set *has = position_parse(flavour, executed);
    enum gtid_relation relation = floor && has ? gtid_set_compare(floor, has) : GTID_EQUAL;
    return relation == GTID_SUPERSET || relation == GTID_DIVERGED;
}

/* What bears its origin all the same is older than it. */
static void look_at_oldest(const struct cluster_snapshot *snapshot, struct ballot *ballot)
{
    int oldest = ballot->reigns.count - 1;
    if (oldest < 0 || ballot->joined.count > 0 || ballot_anybody_holds_later(ballot, oldest))
        return;
    struct cluster_reign *reign = &ballot->reigns.list[oldest];
    const struct vote *own = ballot_vote_of(ballot, reign);
    if (!own || str_empty(reign->origin) || reign->epoch < 1 || !lacks_its_floor(ballot, oldest, own))
        return;
    snprintf(reign->origin, sizeof(reign->origin), "nobody");
    ballot->oldest_is_void = true;
    ballot_read_votes(snapshot, ballot);
}

/* ---- all that there is ---- */

static bool best_holds_all_there_is(const struct ballot *ballot)
{
    for (int i = 0; i < ballot->count; i++) {
        const struct vote *vote = &ballot->votes[i];
        if (vote != ballot->best && !vote->is_of_before && !holds_all_of(ballot->best, vote))
            return false;
    }
    return true;
}

struct ballot *ballot_new(const struct cluster_snapshot *snapshot)
{
    struct ballot *ballot = xnew(struct ballot);
    reigns_in_force(snapshot, &ballot->reigns);
    for (int i = 0; i < CLUSTER_REIGNS_MAX; i++)
        ballot->listed[i] = i;
    ballot_join_unknown(&ballot->reigns, &ballot->joined);
    ballot_read_votes(snapshot, ballot);
    skip_unbegun(snapshot, ballot);
    look_at_oldest(snapshot, ballot);
    judge(snapshot, ballot);
    note_the_one_of_before(snapshot, ballot);
    note_who_lacks_unlisted(ballot);
    note_extra(ballot);
    find_best(snapshot, ballot);
    compare_with_best(ballot);
    if (ballot->best && everybody_has_answered(snapshot, ballot) && best_holds_all_there_is(ballot))
        ballot->is_proven = true;
    return ballot;
}

void ballot_free(struct ballot *ballot)
{
    if (!ballot)
        return;
    for (int i = 0; i < ballot->count; i++)
        member_history_release(&ballot->votes[i].history);
    free(ballot);
}

/* ---- conclusions ---- */

bool ballot_best_has_all(const struct ballot *ballot)
{
    if (!ballot->best || !ballot->old || !ballot->old->history.readable)
        return false;
    enum gtid_relation relation = member_history_compare(&ballot->best->history, &ballot->old->history);
    return relation == GTID_EQUAL || relation == GTID_SUPERSET;
}

bool ballot_best_is_safe(const struct ballot *ballot)
{
    return ballot->best && !ballot->ahead && ballot->best->history.reaches_floor &&
        (ballot->is_proven || ballot_best_has_all(ballot));
}
