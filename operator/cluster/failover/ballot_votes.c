/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/failover/ballot_votes.h"

#include "operator/cluster/failover/candidate.h"
#include "operator/cluster/failover/failover_facts.h"
#include "operator/cluster/failover/reigns.h"
#include "operator/cluster/state/member_view.h"

/* What the primary of a reign that never began has written is in the way of what MariaDB would tell of it otherwise. */
static bool stands_in_the_way(const struct ballot *ballot, const struct vote *vote)
{
    bool was_to_be_primary = false;
    for (int i = 0; i < ballot->skipped.count; i++)
        was_to_be_primary |= reigns_is_primary(&ballot->skipped.list[i], vote->member);
    return was_to_be_primary && vote->history.has_extra && vote->member->agent->flavour == AGENT_FLAVOUR_MARIADB;
}

static void add_vote(struct ballot *ballot, const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    struct vote *vote = &ballot->votes[ballot->count++];
    enum gtid_flavour flavour = member_gtid_flavour(member);
    *vote = (struct vote){.member = member, .unfit = candidate_why_unfit(snapshot, member)};
    member_history_read(&ballot->reigns, flavour, failover_position_of(member), &vote->history);
    vote->history.hides &= !member_history_shows_none(&ballot->reigns, member->agent->gtid_state);
    vote->history.hides |= stands_in_the_way(ballot, vote);
}

void ballot_read_votes(const struct cluster_snapshot *snapshot, struct ballot *ballot)
{
    for (int i = 0; i < ballot->count; i++)
        member_history_release(&ballot->votes[i].history);
    ballot->count = 0;
    for (int i = 0; i < snapshot->member_count; i++) {
        if (member_is_held(snapshot, &snapshot->members[i]))
            add_vote(ballot, snapshot, &snapshot->members[i]);
    }
}

const struct vote *ballot_vote_of(const struct ballot *ballot, const struct cluster_reign *reign)
{
    for (int i = 0; i < ballot->count; i++) {
        if (reigns_is_primary(reign, ballot->votes[i].member))
            return &ballot->votes[i];
    }
    return NULL;
}

const struct vote *ballot_older_than(const struct ballot *ballot, int i, const struct vote *vote)
{
    if (i + 1 >= ballot->reigns.count || str_empty(ballot->reigns.list[i + 1].origin))
        return NULL;
    const struct vote *older = ballot_vote_of(ballot, &ballot->reigns.list[i + 1]);
    return older && older != vote && older->history.readable ? older : NULL;
}

bool ballot_lacks_some_written_by(const struct vote *vote, const struct vote *older, const char *origin)
{
    _cleanup_(gtid_set_freep) struct gtid_set *written = gtid_set_of_source(older->history.known, origin);
    _cleanup_(gtid_set_freep) struct gtid_set *lacking = gtid_set_subtract(written, vote->history.known);
    return !gtid_set_is_empty(lacking);
}

bool ballot_anybody_holds(const struct ballot *ballot, int reign, const struct vote *but)
{
    for (int i = 0; i < ballot->count; i++) {
        const struct vote *vote = &ballot->votes[i];
        if (vote != but && vote->history.readable && vote->history.reign == reign)
            return true;
    }
    return false;
}

bool ballot_anybody_holds_later(const struct ballot *ballot, int reign)
{
    for (int i = 0; i < reign; i++) {
        if (ballot_anybody_holds(ballot, i, NULL))
            return true;
    }
    return false;
}
