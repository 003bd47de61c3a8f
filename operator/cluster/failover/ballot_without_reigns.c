/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/failover/ballot_without_reigns.h"

#include "operator/cluster/failover/ballot_votes.h"
#include "operator/cluster/failover/failover_facts.h"
#include "operator/cluster/failover/reigns.h"
#include "operator/cluster/state/member_view.h"

bool ballot_has_earlier_floor(const struct ballot *ballot, int i)
{
    return i + 1 < ballot->reigns.count && ballot->reigns.list[i + 1].epoch == 0 &&
        ballot->reigns.list[i].floor_is_partial;
}

bool ballot_may_be_older(const struct ballot *ballot, int i, const struct vote *vote)
{
    if (!ballot_has_earlier_floor(ballot, i))
        return false;
    const struct vote *older = ballot_older_than(ballot, i, vote);
    if (!older)
        return true;
    if (older->member->agent->flavour == AGENT_FLAVOUR_MARIADB)
        return !member_history_is_behind(failover_position_of(older->member), failover_position_of(vote->member));
    return !ballot_lacks_some_written_by(older, vote, ballot->reigns.list[i].origin);
}

/* Its primary has answered, and nobody holds anything of it. */
static bool is_empty(const struct ballot *ballot, int i)
{
    const struct cluster_reigns only = {.count = 1, .list = {ballot->reigns.list[i]}};
    bool nobody = ballot_vote_of(ballot, &only.list[0]) && !str_empty(only.list[0].origin);
    for (int v = 0; v < ballot->count && nobody; v++) {
        struct member_history history;
        const struct cluster_member *member = ballot->votes[v].member;
        enum gtid_flavour flavour = member_gtid_flavour(member);
        member_history_read(&only, flavour, failover_position_of(member), &history);
        nobody = history.readable && history.reign > 0 &&
            (flavour == GTID_MYSQL || member_history_shows_none(&only, member->agent->gtid_state));
        member_history_release(&history);
    }
    return nobody;
}

int ballot_find_before(const struct ballot *ballot, int i)
{
    int before = i + 1;
    while (ballot_has_earlier_floor(ballot, before) && is_empty(ballot, before))
        before++;
    return before;
}

bool ballot_has_only_followed(const struct ballot *ballot, int i, const struct vote *own)
{
    const struct vote *older = ballot_older_than(ballot, i, own);
    const struct agent_status *agent = own->member->agent;
    uint64_t before = older ? older->member->agent->opened_epoch : 0;
    if (ballot->reigns.list[i].epoch > 0 && before >= (uint64_t)ballot->reigns.list[i].epoch)
        return false;
    return before > 0 && agent->noted_since > 0 && agent->noted_since <= before && agent->opened_epoch < before &&
        agent->replication.applied_epoch == before;
}

bool ballot_wrote_nothing(const struct ballot *ballot, int i, const struct vote *own)
{
    const struct cluster_reign *reign = &ballot->reigns.list[i];
    if (own->member->agent->flavour != AGENT_FLAVOUR_MARIADB || reign->opened || !str_empty(reign->floor) ||
        own->history.reign <= i)
        return false;
    for (int v = 0; v < ballot->count; v++) {
        const struct vote *vote = &ballot->votes[v];
        if (vote != own && vote->history.readable && vote->history.reign == i &&
            !member_history_is_behind(failover_position_of(vote->member), failover_position_of(own->member)))
            return false;
    }
    return true;
}
