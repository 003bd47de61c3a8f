/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/roles/reseed.h"

#include "operator/cluster/failover/cluster_failover.h"
#include "operator/cluster/failover/failover_facts.h"
#include "operator/cluster/failover/member_history.h"
#include "operator/cluster/failover/reigns.h"
#include "operator/cluster/state/member_view.h"
#include "operator/cluster/state/stop_wish.h"

#define ER_FATAL_READING_BINLOG 1236 /* the source refuses where its replica wants to go on from */

/* What it needs is gone for good: by its own word, under this epoch, of this primary. What it says of a source that it
 * is about to leave does not count. */
static bool is_behind_binlogs(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, const struct cluster_member *member)
{
    char host[AGENT_HOST_SIZE];
    cluster_member_host(snapshot, primary, host);
    return !snapshot->cluster.paused && member_has_problem(member, AGENT_PROBLEM_BINLOGS_PURGED) &&
        str_empty(member->agent->errant) && member->agent->epoch == (uint64_t)snapshot->last.roles.epoch &&
        str_eq(member->agent->replication.source_host, host) && member_is_open(snapshot, primary);
}

/* By the answer of the primary, which it follows; or by its domain, which no other server has. */
static bool is_errant_beside(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, const struct cluster_member *member)
{
    char host[AGENT_HOST_SIZE];
    cluster_member_host(snapshot, primary, host);
    if (!member_runs(member) || str_empty(member->agent->errant) || !member_is_open(snapshot, primary) ||
        member->agent->epoch != (uint64_t)snapshot->last.roles.epoch)
        return false;
    bool has_asked = member->agent->order_done && str_eq(member->agent->replication.source_host, host);
    return has_asked || str_starts_with(member->agent->errant, AGENT_START_DOMAIN "-");
}

static bool holds_less(const struct cluster_member *a, const struct cluster_member *b)
{
    return failover_has_received(b, failover_position_of(a)) && !failover_has_received(a, failover_position_of(b));
}

/* MariaDB: its source has refused it, which it asks to go on from the last that is executed: so nothing lies in its relay
 * logs, not even under the number of what it wrote itself, and it has acknowledged nothing of the reign in force, of
 * which it has executed nothing. */
static bool is_refused_with_all_applied(const struct cluster_member *member)
{
    const struct agent_status *agent = member->agent;
    return agent->replication.receiver_errno == ER_FATAL_READING_BINLOG && agent->replication.applier_errno == 0 &&
        position_same(failover_position_of(member), agent->gtid_executed);
}

/* Another errant replica has received all that this one has: what this one acknowledged is not lost with its data. Each
 * may hold something that somebody wrote by hand; then the other one must have all that this one can have
 * acknowledged, which is of the time before the reign in force. */
static bool is_held_by_another(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, const struct cluster_member *member)
{
    bool is_refused = is_refused_with_all_applied(member);
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *other = &snapshot->members[i];
        if (other != primary && other != member && is_errant_beside(snapshot, primary, other) &&
            (failover_has_received(other, failover_position_of(member)) ||
                (is_refused && reigns_holds_all_before(snapshot, primary, other))))
            return true;
    }
    return false;
}

/* MariaDB: it has logged something that the primary wrote, in each domain. So its log did not begin anew, as that of a
 * copy does, behind what it has acknowledged. */
static bool has_logged_of(const struct cluster_member *member, const struct cluster_member *primary)
{
    struct gtid_one one;
    _cleanup_(gtid_set_freep) struct gtid_set *all = position_parse(GTID_MARIADB, primary->agent->gtid_executed);
    bool has = all && !gtid_set_is_empty(all);
    for (size_t i = 0; has && gtid_set_position(all, i, &one); i++) {
        one.server = primary->agent->server_id;
        has = member_history_state_number(str_or_empty(member->agent->gtid_state), &one) > 0;
    }
    return has;
}

/* MariaDB: by its log, another errant replica has all that this one has logged but what it wrote itself. */
static bool is_logged_by_another(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, const struct cluster_member *member)
{
    if (member_gtid_flavour(primary) != GTID_MARIADB || !is_refused_with_all_applied(member) ||
        !has_logged_of(member, primary))
        return false;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *other = &snapshot->members[i];
        if (other != primary && other != member && is_errant_beside(snapshot, primary, other) &&
            member_history_state_holds_state(
                other->agent->gtid_state, member->agent->gtid_state, member->agent->server_id))
            return true;
    }
    return false;
}

/* Asynchronous replication: what the primary has is all that counts. */
static bool commits_wait_for_nobody(const struct cluster_snapshot *snapshot)
{
    return !snapshot->last.roles.semi_sync && snapshot->last.roles.acks == 0;
}

/* Semi-synchronous replication is to begin once enough replicas follow: until then the open primary alone holds what it
 * commits, and nobody is opened without its word. */
static bool commits_do_not_wait_yet(const struct cluster_snapshot *snapshot)
{
    return !snapshot->last.roles.semi_sync && snapshot->last.roles.acks > 0;
}

/* All replicas have something of their own, so nobody follows until one of them is copied anew, and commits would wait
 * for ever. What is that one's own must belong to no reign that can have acknowledged it: the primary has all the rest.
 * While earlier reigns are listed, the rest must lie on another one as well: the primary's volume may be lost during the
 * copy. Of several it is the one that holds least: what the others acknowledged stays on two volumes for longest. NULL:
 * there is none. */
static const struct cluster_member *first_of_errant(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary)
{
    const struct cluster_member *first = NULL;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (member == primary || !member_is_wanted(snapshot, member))
            continue;
        if (!is_errant_beside(snapshot, primary, member))
            return NULL;
        bool is_by_hand = reigns_is_written_by_others(snapshot, primary, member);
        bool spare = commits_wait_for_nobody(snapshot) || reigns_is_beside(snapshot, member) ||
            (is_by_hand && (commits_do_not_wait_yet(snapshot) || is_logged_by_another(snapshot, primary, member))) ||
            (reigns_is_left_behind(snapshot, primary, member) && is_held_by_another(snapshot, primary, member));
        if (spare && (!first || holds_less(member, first)))
            first = member;
    }
    return first;
}

/* By its own word, against its source's; and the cluster is whole enough without it to be sure of its history. */
static bool must_leave_errant_behind(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, const struct cluster_member *member)
{
    if (!snapshot->cluster.failover.reseed || !snapshot->usable || snapshot->cluster.paused)
        return false;
    return is_errant_beside(snapshot, primary, member) &&
        (acknowledgers_spare(snapshot, primary, member) || snapshot->scale.effective == 2 ||
            str_eq(member->name, snapshot->last.roles.last_failover.from) ||
            member == first_of_errant(snapshot, primary));
}

/* From mysqld_error.h: the applier met data that is not as its source's was. Full disks, locks and lost connections are
 * none of these. */
static bool is_divergence(uint32_t number)
{
    static const uint32_t numbers[] = {1007 /* database exists */, 1008 /* there is no such database */,
        1032 /* no such row */, 1049 /* unknown database */, 1050 /* table exists */, 1051 /* unknown table */,
        1054 /* unknown column */, 1060 /* column exists */, 1061 /* key exists */, 1062 /* duplicate key */,
        1091 /* cannot drop key */, 1146 /* no such table */, 1304 /* routine exists */, 1305 /* no such routine */,
        1359 /* trigger exists */, 1360 /* no such trigger */, 1396 /* account exists, or does not */,
        1677 /* column types differ */,
        1950 /* MariaDB: a number that it has already, as after a DDL statement that it completed by itself */};
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        if (numbers[i] == number)
            return true;
    }
    return false;
}

/* Beside the primary and this one; those whose position is in doubt do not count. */
static bool others_follow(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, const struct cluster_member *member)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *other = &snapshot->members[i];
        if (other != primary && other != member && member_is_wanted(snapshot, other) &&
            member_follows(snapshot, other) && !member_has_problem(other, AGENT_PROBLEM_GTIDS_LOST))
            return true;
    }
    return false;
}

/* Where no replica follows they are copied one by one: the primary's volume may be lost during a copy. */
static bool is_first_of_diverged(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, const struct cluster_member *member)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *other = &snapshot->members[i];
        if (other == primary || other == member || !member_is_wanted(snapshot, other))
            continue;
        bool comes_first = other->ordinal < member->ordinal && member_runs(other) &&
            is_divergence(other->agent->replication.applier_errno);
        if (comes_first || member_is_seeding(other))
            return false;
    }
    return true;
}

static bool follows_open_primary(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, const struct cluster_member *member)
{
    char host[AGENT_HOST_SIZE];
    cluster_member_host(snapshot, primary, host);
    return member->agent->epoch == (uint64_t)snapshot->last.roles.epoch &&
        str_eq(member->agent->replication.source_host, host) && member_is_open(snapshot, primary);
}

static bool is_allowed(const struct cluster_snapshot *snapshot)
{
    return snapshot->cluster.failover.reseed && snapshot->usable && !snapshot->cluster.paused;
}

/* What its source sent cannot be applied to what it has: no later attempt will mend that. A person who is quicker may.
 * *ret_rest_ms: how long that is given. */
static bool has_diverged(const struct cluster_snapshot *snapshot, const struct cluster_member *primary,
    const struct cluster_member *member, int64_t *ret_rest_ms)
{
    if (!is_allowed(snapshot) || !is_divergence(member->agent->replication.applier_errno) ||
        member->agent->replication.stopped_ms == 0)
        return false;
    *ret_rest_ms = MAX_OF(CLUSTER_DIVERGED_MS - member->agent->replication.stopped_ms, 0);
    return follows_open_primary(snapshot, primary, member) &&
        (others_follow(snapshot, primary, member) || snapshot->scale.effective == 2 ||
            (commits_wait_for_nobody(snapshot) && is_first_of_diverged(snapshot, primary, member)));
}

/* Its data is being replaced, or soon is. */
static bool is_being_replaced(const struct cluster_member *member)
{
    return !member->pod || member->pod->object.deleting || !member->pod->initialized || member_is_seeding(member) ||
        (member_speaks(member) && member->agent->mark == AGENT_MARK_RESEED);
}

/* Where no replica follows they are copied one by one, as above. */
static bool is_first_that_lost_gtids(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, const struct cluster_member *member)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *other = &snapshot->members[i];
        if (other == primary || other == member || !member_is_wanted(snapshot, other))
            continue;
        bool comes_first = other->ordinal < member->ordinal && member_has_problem(other, AGENT_PROBLEM_GTIDS_LOST) &&
            !member_is_to_stop(snapshot, other);
        if (comes_first || is_being_replaced(other))
            return false;
    }
    return true;
}

/* One that was primary before need not have been set up to follow. */
static bool is_replica_of_open_primary(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, const struct cluster_member *member)
{
    return member_runs(member) && member->agent->role == AGENT_ROLE_REPLICA &&
        member->agent->epoch == (uint64_t)snapshot->last.roles.epoch && member_is_open(snapshot, primary) &&
        (str_empty(member->agent->replication.source_host) || follows_open_primary(snapshot, primary, member));
}

/* Somebody has set back its GTID position, so it is not that of its data: it acknowledges nothing more, and nobody
 * can go on from it. What it acknowledged before is on the open primary, which is who committed it, or was opened with
 * it; unless that one's position has gone back as well. A person who is quicker may. *ret_rest_ms: how long that is
 * given. */
static bool has_lost_gtids(const struct cluster_snapshot *snapshot, const struct cluster_member *primary,
    const struct cluster_member *member, int64_t *ret_rest_ms)
{
    if (!is_allowed(snapshot) || !member_has_problem(member, AGENT_PROBLEM_GTIDS_LOST) ||
        member_has_problem(primary, AGENT_PROBLEM_GTIDS_LOST) || !is_replica_of_open_primary(snapshot, primary, member))
        return false;
    *ret_rest_ms = MAX_OF(CLUSTER_DIVERGED_MS - member->gtids_lost_ms, 0);
    return others_follow(snapshot, primary, member) || snapshot->scale.effective == 2 ||
        is_first_that_lost_gtids(snapshot, primary, member);
}

bool reseed_is_due(const struct cluster_snapshot *snapshot, const struct cluster_member *primary,
    const struct cluster_member *member, int64_t *ret_rest_ms)
{
    int64_t rest_ms = 0, lost_rest_ms = 0;
    *ret_rest_ms = 0;
    if (acknowledgers_need(snapshot, primary, member)) {
        *ret_rest_ms = CLUSTER_NEEDED_MS + snapshot->now_ms % CLUSTER_NEEDED_MS;
        return false;
    }
    bool diverged = has_diverged(snapshot, primary, member, &rest_ms);
    bool lost = has_lost_gtids(snapshot, primary, member, &lost_rest_ms);
    if (diverged)
        *ret_rest_ms = rest_ms;
    if (lost && (!diverged || lost_rest_ms < rest_ms))
        *ret_rest_ms = lost_rest_ms;
    return is_behind_binlogs(snapshot, primary, member) || must_leave_errant_behind(snapshot, primary, member) ||
        (diverged && rest_ms == 0) || (lost && lost_rest_ms == 0);
}

/* ---- for the report ---- */

static bool cannot_go_on(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, const struct cluster_member *member)
{
    if (!is_replica_of_open_primary(snapshot, primary, member))
        return false;
    return member_has_problem(member, AGENT_PROBLEM_GTIDS_LOST) ||
        (is_divergence(member->agent->replication.applier_errno) && member->agent->replication.stopped_ms > 0);
}

static bool is_soon_copied(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, const struct cluster_member *member)
{
    int64_t rest_ms = 0;
    if (is_being_replaced(member))
        return true;
    return member_speaks(member) && (reseed_is_due(snapshot, primary, member, &rest_ms) || rest_ms > 0);
}

enum reseed_outlook reseed_outlook(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    if (!primary || member == primary || snapshot->cluster.paused || !cannot_go_on(snapshot, primary, member))
        return RESEED_NOT_KNOWN;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *other = &snapshot->members[i];
        if (other != primary && member_is_wanted(snapshot, other) && is_soon_copied(snapshot, primary, other))
            return snapshot->cluster.failover.reseed || other == member ? RESEED_SOON : RESEED_LEFT;
    }
    return RESEED_LEFT;
}
