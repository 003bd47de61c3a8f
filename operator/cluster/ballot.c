#include "common/base.h"

#include "operator/cluster/ballot.h"

#include <limits.h>

#include "common/alloc.h"
#include "operator/cluster/candidate.h"
#include "operator/cluster/cluster_confirmed.h"
#include "operator/cluster/failover_election.h"
#include "operator/cluster/member_view.h"
#include "operator/cluster/reigns.h"

/* ---- how many must answer ---- */

/* MariaDB waits for one, whatever is wished; so does who has said nothing yet, as far as we know. */
static int acks_in_force(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct agent_status *agent = snapshot->members[i].agent;
        if (agent && agent->flavour != AGENT_FLAVOUR_UNKNOWN)
            return agent->flavour == AGENT_FLAVOUR_MARIADB ? 1 : cluster_confirmed_acks(snapshot);
    }
    return 1;
}

int ballot_answers_needed(const struct cluster_snapshot *snapshot, const char *primary, bool whole_floor)
{
    bool is_known = !str_empty(primary);
    int acknowledgers = 0, acks = acks_in_force(snapshot);
    for (int ordinal = 0; ordinal < CLUSTER_ACKNOWLEDGERS_MAX; ordinal++)
        acknowledgers +=
            ordinal != names_ordinal(primary) && (snapshot->last.acknowledgers >> (unsigned)ordinal & 1) != 0;
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

/* ---- votes ---- */

static void add_vote(const struct cluster_snapshot *snapshot, const struct cluster_member *member, struct ballot *ballot)
{
    struct vote *vote = &ballot->votes[ballot->count++];
    enum gtid_flavour flavour = member->agent->flavour == AGENT_FLAVOUR_MARIADB ? GTID_MARIADB : GTID_MYSQL;
    *vote = (struct vote){.member = member, .unfit = candidate_why_unfit(snapshot, member)};
    member_history_read(&ballot->reigns, flavour, failover_position_of(member), &vote->history);
}

static const struct vote *vote_of(const struct ballot *ballot, const struct cluster_reign *reign)
{
    for (int i = 0; i < ballot->count; i++) {
        if (reigns_is_primary(reign, ballot->votes[i].member))
            return &ballot->votes[i];
    }
    return NULL;
}

/* ---- reign by reign ---- */

static bool anybody_holds(const struct ballot *ballot, int reign)
{
    for (int i = 0; i < ballot->count; i++) {
        if (ballot->votes[i].history.readable && ballot->votes[i].history.reign == reign)
            return true;
    }
    return false;
}

/* What is hidden behind something of its own may be acknowledged, so that is no answer. */
static int count_answers(const struct cluster_snapshot *snapshot, const struct ballot *ballot, const char *primary)
{
    int answers = 0;
    bool all_are_asked = str_empty(primary) && cluster_confirmed_acks(snapshot) < 1; /* the primary itself among them */
    for (int i = 0; i < ballot->count; i++) {
        const struct cluster_member *member = ballot->votes[i].member;
        bool counts = ballot_is_proof(snapshot, member) || (all_are_asked && member_acknowledges(snapshot, member));
        answers += !str_eq(member->name, primary) && counts && !ballot->votes[i].history.hides;
    }
    return answers;
}

/* False: it is empty, and the one before it decides. */
static bool judge_reign(const struct cluster_snapshot *snapshot, int i, struct ballot *ballot)
{
    const struct cluster_reign *reign = &ballot->reigns.list[i];
    const struct vote *own = vote_of(ballot, reign);
    bool is_last_word = i == ballot->reigns.count - 1 && reign->floor_is_partial;
    bool found = anybody_holds(ballot, i);
    ballot->decisive = i;
    ballot->answers = count_answers(snapshot, ballot, reign->primary);
    ballot->needed = ballot_answers_needed(snapshot, reign->primary, !reign->floor_is_partial);
    bool enough = ballot->answers >= ballot->needed;
    if (own && !own->history.readable)
        own = reign->opened ? own : NULL;
    else if (own && own->history.reign > i) {
        if (!is_last_word)
            return false;
        own = reign->opened ? own : NULL; /* nobody took writes after it, and it had everything when it was opened */
    }
    ballot->old = own;
    ballot->is_proven = enough && (own || found || is_last_word);
    return own || found || !enough || is_last_word;
}

static void judge(const struct cluster_snapshot *snapshot, struct ballot *ballot)
{
    for (int i = 0; i < ballot->reigns.count; i++) {
        if (judge_reign(snapshot, i, ballot))
            return;
    }
    ballot->decisive = ballot->reigns.count;
    ballot->is_proven = true;
}

/* ---- who holds most ---- */

/* Where a reign has written something, what belongs to no reign is in its way: nobody acknowledged it, and it may bear the number of something that was. */
static void note_extra(struct ballot *ballot)
{
    for (int i = 0; i < ballot->count && ballot->decisive < ballot->reigns.count; i++) {
        struct vote *vote = &ballot->votes[i];
        if (vote != ballot->old && vote->history.has_extra && str_empty(vote->unfit) &&
            anybody_holds(ballot, ballot->decisive))
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
            enum gtid_relation relation = member_history_compare(&vote->history, &ballot->best->history);
            if (relation == GTID_SUPERSET || (relation == GTID_EQUAL && is_better_equal(snapshot, vote, ballot->best)))
                ballot->best = vote;
        }
    }
}

static void compare_with_best(struct ballot *ballot)
{
    for (int i = 0; i < ballot->count && ballot->best; i++) {
        const struct vote *vote = &ballot->votes[i];
        if (vote == ballot->best || vote == ballot->old)
            continue;
        enum gtid_relation relation = vote->history.readable
            ? member_history_compare(&vote->history, &ballot->best->history)
            : GTID_SUPERSET; /* for all that is known */
        if (relation == GTID_DIVERGED)
            ballot->diverged = vote;
        else if (relation == GTID_SUPERSET)
            ballot->ahead = vote;
    }
}

/* Whose transactions they are cannot be told, as a version without reigns left it: any of the members may have been primary last. */
static void join_unknown(struct cluster_reigns *reigns)
{
    bool all_known = true;
    for (int i = 0; i < reigns->count; i++)
        all_known &= !str_empty(reigns->list[i].origin);
    if (reigns->count < 2 || all_known)
        return;
    reigns->list[0] = reigns->list[reigns->count - 1];
    reigns->list[0].primary[0] = reigns->list[0].origin[0] = '\0';
    reigns->list[0].floor_is_partial = true;
    reigns->list[0].opened = false;
    reigns->count = 1;
}

struct ballot *ballot_new(const struct cluster_snapshot *snapshot)
{
    struct ballot *ballot = xnew(struct ballot);
    reigns_in_force(snapshot, &ballot->reigns);
    join_unknown(&ballot->reigns);
    for (int i = 0; i < snapshot->member_count; i++) {
        if (member_is_held(snapshot, &snapshot->members[i]))
            add_vote(snapshot, &snapshot->members[i], ballot);
    }
    judge(snapshot, ballot);
    note_extra(ballot);
    find_best(snapshot, ballot);
    compare_with_best(ballot);
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
