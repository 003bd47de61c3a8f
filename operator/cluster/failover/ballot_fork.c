/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/failover/ballot_fork.h"

#include "operator/cluster/failover/ballot_votes.h"
#include "operator/cluster/failover/failover_facts.h"
#include "operator/cluster/state/member_view.h"

/* MariaDB. The last number of that server that the member has received in the domain; 0: it does not tell. */
static uint64_t last_number(const struct cluster_member *member, const struct gtid_one *one)
{
    struct gtid_one last;
    uint64_t number = member_history_state_number(str_or_empty(member->agent->gtid_state), one);
    _cleanup_(gtid_set_freep) struct gtid_set *received = position_parse(GTID_MARIADB, failover_position_of(member));
    for (size_t i = 0; received && gtid_set_position(received, i, &last); i++) {
        if (last.domain == one->domain && last.server == one->server)
            number = MAX_OF(number, last.number);
    }
    return number;
}

/* MariaDB. In a domain of which `primary` has logged something. A copy begins with an empty log: what that does not name
 * is no proof. */
static bool has_more_of(
    const struct cluster_member *primary, const struct cluster_member *member, const struct cluster_member *chosen)
{
    struct gtid_one last;
    _cleanup_(gtid_set_freep) struct gtid_set *all =
        position_parse(GTID_MARIADB, str_or_empty(primary->agent->gtid_executed));
    for (size_t i = 0; all && gtid_set_position(all, i, &last); i++) {
        last.server = primary->agent->server_id;
        uint64_t has = last_number(chosen, &last);
        if (has > 0 && last_number(member, &last) > has)
            return true;
    }
    return false;
}

/* Something that the reign's primary wrote, and `chosen` has not. */
static bool went_on(const struct ballot *ballot, int i, const struct vote *vote, const struct vote *chosen)
{
    const struct vote *primary = ballot_vote_of(ballot, &ballot->reigns.list[i]);
    if (vote == chosen || vote == primary || !vote->history.readable || !chosen->history.readable)
        return false;
    if (member_gtid_flavour(vote->member) == GTID_MYSQL)
        return ballot_lacks_some_written_by(chosen, vote, ballot->reigns.list[i].origin);
    return primary && has_more_of(primary->member, vote->member, chosen->member);
}

const struct vote *ballot_find_fork(
    const struct cluster_snapshot *snapshot, const struct ballot *ballot, const struct vote *chosen)
{
    bool waits_for_one = cluster_flavour(snapshot) == AGENT_FLAVOUR_MARIADB;
    int needed = waits_for_one ? 1 : snapshot->last.roles.acks;
    if (!chosen || snapshot->last.roles.transition.reason != TRANSITION_STATUS_OUTDATED || snapshot->last.roles.acks < 1)
        return NULL;
    for (int i = ballot->decisive + 1; i < ballot->reigns.count; i++) {
        int count = 0;
        for (int v = 0; v < ballot->count && !str_empty(ballot->reigns.list[i].origin); v++) {
            count += went_on(ballot, i, &ballot->votes[v], chosen);
            if (count >= needed)
                return &ballot->votes[v];
        }
    }
    return NULL;
}
