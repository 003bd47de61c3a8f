/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/failover/opening.h"

#include "common/gtid.h"
#include "operator/cluster/failover/ballot.h"
#include "operator/cluster/failover/failover_facts.h"
#include "operator/cluster/failover/member_history.h"
#include "operator/cluster/failover/reigns.h"
#include "operator/cluster/state/member_view.h"

static bool can_be_compared(const struct cluster_member *member)
{
    return member_runs(member) && !str_empty(member->agent->gtid_executed) &&
        position_is_whole(failover_position_of(member)) && position_is_whole(member->agent->gtid_executed);
}

static bool is_asked(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, const struct cluster_member *member)
{
    return member != primary && member_acknowledges(snapshot, member);
}

/* MySQL, of what one server wrote: b lacks some of what a holds. */
static bool holds_more_of(const char *origin, const struct member_history *a, const struct member_history *b)
{
    _cleanup_(gtid_set_freep) struct gtid_set *of_a = gtid_set_of_source(a->known, origin);
    _cleanup_(gtid_set_freep) struct gtid_set *of_b = gtid_set_of_source(b->known, origin);
    _cleanup_(gtid_set_freep) struct gtid_set *more = gtid_set_subtract(of_a, of_b);
    return !gtid_set_is_empty(more);
}

/* Its primary was seen open in the latest reign, and has kept some of what it wrote in it. So it has kept all that was
 * acknowledged before as well, and only what it wrote itself can be lacking. */
static bool has_only_its_own_to_lose(
    const struct cluster_reigns *reigns, enum gtid_flavour flavour, const struct member_history *of_primary)
{
    return flavour == GTID_MYSQL && reigns->count > 0 && of_primary->reign == 0 && reigns->list[0].opened &&
        !str_empty(reigns->list[0].origin);
}

/* Its volume is not from before it was opened in the latest reign, as that is noted on it. Then it had all that had
 * been acknowledged in earlier ones. */
static bool has_kept_its_opening(const struct cluster_reigns *reigns, const struct cluster_member *primary)
{
    const struct cluster_reign *latest = &reigns->list[0];
    return reigns->count > 0 && latest->opened && latest->epoch > 0 && reigns_is_primary(latest, primary) &&
        primary->agent->opened_epoch >= (uint64_t)latest->epoch;
}

/* Something of a reign that is in force, and all that the primary holds of it. What is of no reign nobody
 * acknowledged. */
static bool holds_more(const struct cluster_reigns *reigns, const struct cluster_member *primary,
    const struct cluster_member *member, const struct member_history *of_primary)
{
    enum gtid_flavour flavour = member_gtid_flavour(member);
    struct member_history history;
    member_history_read(reigns, flavour, failover_position_of(member), &history);
    bool more = history.readable && history.reign < reigns->count && !history.hides &&
        member_history_compare(&history, of_primary) == GTID_SUPERSET;
    if (history.reign > 0 && has_kept_its_opening(reigns, primary))
        more = false;
    if (more && has_only_its_own_to_lose(reigns, flavour, of_primary))
        more = holds_more_of(reigns->list[0].origin, &history, of_primary);
    member_history_release(&history);
    return more;
}

static const struct cluster_member *find_ahead(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary)
{
    enum gtid_flavour flavour = member_gtid_flavour(primary);
    const struct cluster_member *ahead = NULL;
    struct cluster_reigns reigns;
    struct member_history history;
    reigns_in_force(snapshot, &reigns);
    member_history_read(&reigns, flavour, primary->agent->gtid_executed, &history);
    for (int i = 0; i < snapshot->member_count && history.readable && !ahead; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (member != primary && can_be_compared(member) && !member_data_is_stale(member) &&
            holds_more(&reigns, primary, member, &history))
            ahead = member;
    }
    member_history_release(&history);
    return ahead;
}

struct view {
    int asked, answers;                    /* members that acknowledge, without the primary; of them those that run */
    int covering;                          /* of them those that hold all that the primary holds */
    const struct cluster_member *receives; /* is connected to it, and does not yet, but can */
    const struct cluster_member *silent;   /* has not answered */
};

/* MariaDB: its position has the numbers of all that the primary has, by somebody who wrote on it. So whatever it still
 * receives, its position does not show that. */
static bool has_used_the_numbers(const struct cluster_member *member, const struct cluster_member *primary)
{
    enum gtid_flavour flavour = member_gtid_flavour(primary);
    _cleanup_(gtid_set_freep) struct gtid_set *its = position_parse(flavour, failover_position_of(member));
    _cleanup_(gtid_set_freep) struct gtid_set *of_primary = position_parse(flavour, primary->agent->gtid_executed);
    struct gtid_one one;
    if (flavour != GTID_MARIADB || !its || !of_primary)
        return false;
    for (size_t i = 0; gtid_set_position(of_primary, i, &one); i++) {
        if (!gtid_set_contains(its, &one))
            return false;
    }
    return true;
}

static void look_at(const struct cluster_snapshot *snapshot, const struct cluster_member *primary, struct view *ret)
{
    char host[AGENT_HOST_SIZE];
    cluster_member_host(snapshot, primary, host);
    *ret = (struct view){.asked = 0};
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (!is_asked(snapshot, primary, member))
            continue;
        ret->asked++;
        if (!can_be_compared(member)) {
            ret->silent = member;
            continue;
        }
        ret->answers++;
        if (failover_has_received(member, primary->agent->gtid_executed))
            ret->covering++;
        else if (member->agent->replication.receiver == AGENT_THREAD_RUNNING &&
            str_eq(member->agent->replication.source_host, host) && !has_used_the_numbers(member, primary))
            ret->receives = member;
    }
}

/* As many hold all of it as a commit waits for. MariaDB waits for one. */
static bool is_confirmed(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, const struct view *view)
{
    int needed = primary->agent->flavour == AGENT_FLAVOUR_MARIADB ? 1 : cluster_confirmed_acks(snapshot);
    return view->covering >= needed;
}

bool opening_is_unconfirmed(const struct cluster_snapshot *snapshot, const struct cluster_member *primary)
{
    struct view view;
    look_at(snapshot, primary, &view);
    return !is_confirmed(snapshot, primary, &view);
}

static enum opening wait_for_others(const struct cluster_snapshot *snapshot, const struct cluster_member *primary,
    char *why, size_t size, int64_t *ret_again_ms)
{
    struct view view;
    look_at(snapshot, primary, &view);
    int needed = ballot_answers_needed(snapshot, primary->name, true) - 1; /* the primary itself is one */
    int64_t since_ms = snapshot->lost_since_ms > 0 ? snapshot->lost_since_ms : snapshot->now_ms;
    int64_t rest_ms = since_ms + failover_start_ms(snapshot) - snapshot->now_ms;
    bool enough = view.answers >= needed || rest_ms <= 0;
    if (view.asked == 0 || (enough && view.covering > 0) || (rest_ms <= 0 && !view.receives))
        return is_confirmed(snapshot, primary, &view) ? OPENING_NOW : OPENING_UNCONFIRMED;
    *ret_again_ms = 1000;
    if (view.receives && view.covering == 0)
        snprintf(why, size, "until %s has received the last transactions of %s, which are on no other member",
            view.receives->name, primary->name);
    else
        snprintf(why, size, "up to %lld s for %s, to learn whether it holds what %s holds",
            (long long)((rest_ms + 999) / 1000),
            view.silent         ? view.silent->name
                : view.receives ? view.receives->name
                                : "a member that acknowledges",
            primary->name);
    return OPENING_WAITS;
}

/* Before it was stopped it had all of the floor of a closed reign. */
static bool lacks_closed_floor(const struct cluster_snapshot *snapshot, const struct cluster_member *primary)
{
    const struct cluster_reign *latest = &snapshot->last.roles.reigns.list[0];
    return snapshot->last.roles.reigns.count > 0 && latest->closed && !failover_has_received(primary, latest->floor);
}

/* An agent forgets that when its server ends. One that closed its server, as it heard nobody, awaits another order. */
static bool was_told(const struct cluster_snapshot *snapshot, const struct cluster_member *primary)
{
    return primary->agent->role == AGENT_ROLE_PRIMARY && !primary->agent->isolated &&
        primary->agent->epoch == (uint64_t)snapshot->last.roles.epoch;
}

enum opening opening_decide(const struct cluster_snapshot *snapshot, const struct cluster_member *primary, char *why,
    size_t size, int64_t *ret_again_ms)
{
    *why = '\0';
    *ret_again_ms = 0;
    if (!snapshot->last.roles.initialized || agent_takes_writes(primary->agent) || was_told(snapshot, primary) ||
        !can_be_compared(primary))
        return OPENING_NOW;
    if (lacks_closed_floor(snapshot, primary)) {
        snprintf(why, size, "%s was started with less than it had when all members were stopped", primary->name);
        return OPENING_BEHIND;
    }
    const struct cluster_member *ahead = find_ahead(snapshot, primary);
    if (ahead) {
        snprintf(why, size, "%s was started with less than %s has received of it", primary->name, ahead->name);
        return OPENING_BEHIND;
    }
    if (!snapshot->last.roles.semi_sync || cluster_confirmed_acks(snapshot) < 1)
        return OPENING_NOW;
    return wait_for_others(snapshot, primary, why, size, ret_again_ms);
}

bool opening_holds_alone(const struct cluster_snapshot *snapshot, const struct cluster_member *primary)
{
    struct view view;
    if (!snapshot->last.roles.semi_sync || !member_is_open(snapshot, primary) || !can_be_compared(primary) ||
        cluster_follower_count(snapshot) > 0)
        return false;
    look_at(snapshot, primary, &view);
    return view.asked > 0 && view.covering == 0;
}
