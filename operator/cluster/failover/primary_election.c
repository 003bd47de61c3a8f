/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/failover/primary_election.h"

#include <strings.h>

#include "common/gtid.h"
#include "operator/cluster/failover/reigns.h"
#include "operator/cluster/state/archive_reach.h"
#include "operator/cluster/state/member_view.h"
#include "operator/cluster/state/problem_effects.h"

/* ---- the first primary ---- */

/* Nothing can be on a volume that no node has ever had. */
static bool is_surely_empty(const struct cluster_member *member)
{
    return !member_has_volume(member);
}

/* Also one beyond spec.replicas may hold what is newest, as after a cluster was deleted and made anew with fewer
 * members. */
static bool is_asked(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    return member_is_wanted(snapshot, member) || member_has_volume(member);
}

static bool holds_data(const struct cluster_member *member)
{
    return member_speaks(member) && !member_is_empty(member);
}

/* What a mark says is out of date neither counts nor is waited for: it is replaced by a copy. */
static bool holds_trusted_data(const struct cluster_member *member)
{
    return holds_data(member) && !member_data_is_stale(member);
}

/* It may still acknowledge: it takes writes, or has an older order to open. It is told to be nothing under the epoch of
 * the status. */
static bool may_write(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    const struct agent_status *agent = member->agent;
    bool is_told = agent->role == AGENT_ROLE_PRIMARY && (int64_t)agent->epoch < snapshot->last.roles.epoch;
    return is_told || agent_takes_writes(agent);
}

/* It still applies what it has received, which may be on nobody else, and which an opening would drop. What was
 * received includes what was executed (agent_api.h). */
static bool is_applying(const struct cluster_member *member)
{
    const struct agent_status *agent = member->agent;
    enum gtid_flavour flavour = member_gtid_flavour(member);
    _cleanup_(gtid_set_freep) struct gtid_set *received = position_parse(flavour, agent->gtid_received);
    _cleanup_(gtid_set_freep) struct gtid_set *executed = position_parse(flavour, agent->gtid_executed);
    return agent->replication.applier == AGENT_THREAD_RUNNING && !str_empty(agent->gtid_received) && received &&
        executed && gtid_set_compare(executed, received) == GTID_SUBSET;
}

/* What must happen before positions can be compared; "" nothing. */
static void awaited(const struct cluster_snapshot *snapshot, const struct cluster_member *member, char *why, size_t size)
{
    if (!is_asked(snapshot, member))
        return;
    if (!member_speaks(member)) {
        if (!is_surely_empty(member))
            snprintf(why, size, "wait to hear from %s whether its volume holds data", member->name);
    } else if (holds_trusted_data(member) && !member_runs(member))
        snprintf(why, size, "wait until the server of %s runs, to learn what it holds", member->name);
    else if (holds_trusted_data(member) && may_write(snapshot, member))
        snprintf(why, size, "wait until %s has stopped writes, to learn what it holds", member->name);
    else if (holds_trusted_data(member) && is_applying(member))
        snprintf(why, size, "wait until %s has applied what it has received", member->name);
}

static enum gtid_relation compare(const struct cluster_member *a, const struct cluster_member *b)
{
    enum gtid_flavour flavour = member_gtid_flavour(a);
    _cleanup_(gtid_set_freep) struct gtid_set *of_a = position_parse(flavour, a->agent->gtid_executed);
    _cleanup_(gtid_set_freep) struct gtid_set *of_b = position_parse(flavour, b->agent->gtid_executed);
    return of_a && of_b ? gtid_set_compare(of_a, of_b) : GTID_DIVERGED;
}

/* Of the latest reign that it has a trace of: its server was opened in it, or has executed a heartbeat of it. 0:
 * none. */
static uint64_t latest_reign(const struct cluster_member *member)
{
    return MAX_OF(member->agent->opened_epoch, member->agent->replication.applied_epoch);
}

/* Whoever was opened had all that was acknowledged until then, and so has everybody who has a trace of its reign. What
 * others hold beyond that was acknowledged by nobody, whatever its numbers. Volumes without a trace may be of another
 * origin: they are compared. */
static bool is_of_earlier_reign(const struct cluster_member *member, uint64_t latest)
{
    return latest_reign(member) > 0 && latest_reign(member) < latest;
}

static uint64_t find_latest_reign(const struct cluster_snapshot *snapshot)
{
    uint64_t latest = 0;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (is_asked(snapshot, member) && holds_trusted_data(member))
            latest = MAX_OF(latest, latest_reign(member));
    }
    return latest;
}

static const struct cluster_member *wished(const struct cluster_snapshot *snapshot)
{
    int ordinal = snapshot->cluster.replication.primary;
    return ordinal >= 0 && ordinal < snapshot->member_count ? &snapshot->members[ordinal] : NULL;
}

static bool holds_all_of(const struct cluster_member *member, const char *source, const struct gtid_set *set)
{
    _cleanup_(gtid_set_freep) struct gtid_set *executed = position_parse(GTID_MYSQL, member->agent->gtid_executed);
    _cleanup_(gtid_set_freep) struct gtid_set *of_source = gtid_set_of_source(set, source);
    enum gtid_relation relation = executed ? gtid_set_compare(of_source, executed) : GTID_DIVERGED;
    return relation == GTID_SUBSET || relation == GTID_EQUAL;
}

/* That server answers, notes that it was opened in earlier reigns alone, and holds all that it wrote: its volume did not
 * go back to before a later one. */
static bool is_known_as_earlier(
    const struct cluster_snapshot *snapshot, const char *source, const struct gtid_set *set, uint64_t latest)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (is_asked(snapshot, member) && holds_trusted_data(member) &&
            strcasecmp(member->agent->server_uuid, source) == 0)
            return member->agent->opened_epoch > 0 && member->agent->opened_epoch < latest &&
                holds_all_of(member, source, set);
    }
    return false;
}

/* All that it holds and `known` does not was written by servers that `known` holds something of, or that are known not
 * to have been opened in a later reign. */
static bool has_no_other_source(
    const struct cluster_snapshot *snapshot, const struct gtid_set *set, const struct gtid_set *known, uint64_t latest)
{
    _cleanup_(gtid_set_freep) struct gtid_set *beyond = gtid_set_subtract(set, known);
    struct gtid_one one;
    for (size_t i = 0; gtid_set_first_of(beyond, i, &one); i++) {
        _cleanup_(gtid_set_freep) struct gtid_set *written = gtid_set_of_source(known, one.source);
        if (gtid_set_is_empty(written) && !is_known_as_earlier(snapshot, one.source, set, latest))
            return false;
    }
    return true;
}

/* A MySQL server that was opened last has all that it wrote, and had all else that counts: what others hold beyond that
 * is a tail of an earlier reign. Unless its volume went back: then they hold more of its own transactions than it does.
 * And what a server wrote that it holds nothing of may be of a later reign that has left no other trace. */
static bool was_opened_last(const struct cluster_snapshot *snapshot, const struct cluster_member *member,
    const struct cluster_member *other, uint64_t latest)
{
    const struct agent_status *agent = member->agent;
    if (agent->flavour == AGENT_FLAVOUR_MARIADB || latest == 0 || agent->opened_epoch != latest)
        return false;
    _cleanup_(gtid_set_freep) struct gtid_set *mine = position_parse(GTID_MYSQL, agent->gtid_executed);
    _cleanup_(gtid_set_freep) struct gtid_set *theirs = position_parse(GTID_MYSQL, other->agent->gtid_executed);
    if (!mine || !theirs)
        return false;
    _cleanup_(gtid_set_freep) struct gtid_set *own = gtid_set_of_source(mine, agent->server_uuid);
    return !gtid_set_is_empty(own) && holds_all_of(member, agent->server_uuid, theirs) &&
        has_no_other_source(snapshot, theirs, mine, latest);
}

static bool is_candidate(const struct cluster_snapshot *snapshot, const struct cluster_member *member, uint64_t latest)
{
    return is_asked(snapshot, member) && holds_trusted_data(member) && !is_of_earlier_reign(member, latest);
}

/* The others are compared with it first, whatever their order. */
static const struct cluster_member *find_opened_last(const struct cluster_snapshot *snapshot, uint64_t latest)
{
    for (int i = 0; i < snapshot->member_count && latest > 0; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (is_candidate(snapshot, member, latest) && member->agent->opened_epoch == latest)
            return member;
    }
    return NULL;
}

static enum gtid_relation relate(const struct cluster_snapshot *snapshot, const struct cluster_member *member,
    const struct cluster_member *best, uint64_t latest)
{
    enum gtid_relation relation = best ? compare(member, best) : GTID_SUPERSET;
    if (relation == GTID_DIVERGED && was_opened_last(snapshot, member, best, latest))
        return GTID_SUPERSET;
    return relation == GTID_DIVERGED && was_opened_last(snapshot, best, member, latest) ? GTID_SUBSET : relation;
}

/* Two that hold different data, each of them only a tail beside what the one that was opened last holds. */
static bool both_have_tails(const struct cluster_snapshot *snapshot, const struct cluster_member *opened,
    const struct cluster_member *a, const struct cluster_member *b, uint64_t latest)
{
    return opened && was_opened_last(snapshot, opened, a, latest) && was_opened_last(snapshot, opened, b, latest);
}

static const struct cluster_member *most_advanced(
    const struct cluster_snapshot *snapshot, uint64_t latest, char *why, size_t size)
{
    const struct cluster_member *opened = find_opened_last(snapshot, latest);
    const struct cluster_member *best = opened;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (!is_candidate(snapshot, member, latest))
            continue;
        enum gtid_relation relation = relate(snapshot, member, best, latest);
        if (relation == GTID_DIVERGED && both_have_tails(snapshot, opened, best, member, latest)) {
            best = opened;
        } else if (relation == GTID_DIVERGED) {
            snprintf(why, size,
                "nothing: %s and %s hold different data; spec.replication.primary must say whose is to be kept",
                best->name, member->name);
            return NULL;
        }
        if (relation == GTID_SUPERSET)
            best = member;
    }
    return best;
}

static const struct cluster_member *first_empty(const struct cluster_snapshot *snapshot)
{
    const struct cluster_member *wish = wished(snapshot);
    if (wish && member_speaks(wish))
        return wish;
    for (int i = 0; i < snapshot->member_count; i++) {
        if (member_is_wanted(snapshot, &snapshot->members[i]) && member_speaks(&snapshot->members[i]))
            return &snapshot->members[i];
    }
    return NULL;
}

/* Volumes that are marked hold the only data there is: whether it is good enough only a person can say. */
static const struct cluster_member *wished_despite_mark(const struct cluster_snapshot *snapshot, char *why, size_t size)
{
    const struct cluster_member *wish = wished(snapshot);
    if (wish && holds_data(wish))
        return wish;
    snprintf(why, size,
        "nothing: only volumes that were marked as out of date hold data; spec.replication.primary must say whose is to be kept");
    return NULL;
}

/* An opening makes a server forget whom it followed. So one that follows was not opened since: whom it follows was to
 * be primary after it, and may have taken writes of which nothing came here. holds: what counts as having data. */
static bool follows_one_without_data(const struct cluster_snapshot *snapshot, const struct cluster_member *member,
    bool (*holds)(const struct cluster_member *member))
{
    char host[AGENT_HOST_SIZE];
    const char *source = member->agent->replication.source_host;
    if (str_empty(source))
        return false;
    for (int i = 0; i < snapshot->member_count; i++) {
        cluster_member_host(snapshot, &snapshot->members[i], host);
        if (str_eq(source, host))
            return !holds(&snapshot->members[i]);
    }
    return true;
}

/* Asynchronous replication: what the primary alone held may have been acknowledged; nobody else can show that it holds
 * all of it. dataLoss: allow opens who has most. */
static bool counts_without_replicas(const struct cluster_snapshot *snapshot)
{
    return !snapshot->cluster.replication.semi_sync && !snapshot->cluster.failover.allow_data_loss;
}

/* The newest epoch that was given before the status was lost, if somebody who holds no data, and has no mark either,
 * may have been opened under it; else 0. A status that was begun since has a later one. A primary notes each epoch
 * under which it goes on; so somebody else was opened after all that is noted, or was to be. Where commits wait a
 * single epoch is most often that of a failover which had chosen nobody, and who acknowledged in it has a trace of
 * it: it counts for nothing. */
static uint64_t newest_before(const struct cluster_snapshot *snapshot)
{
    int64_t begun = snapshot->last.roles.epoch;
    int64_t newest = begun > 0 ? begun - 1 : cluster_newest_epoch(snapshot);
    bool any_is_empty = false;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        any_is_empty |= is_asked(snapshot, member) && !holds_data(member) && !member_data_is_stale(member);
    }
    if (snapshot->cluster.replication.semi_sync)
        newest--;
    return any_is_empty && newest > 0 ? (uint64_t)newest : 0;
}

/* Nobody who holds data notes that it was opened in that reign, and somebody holds none: that one was its primary. Or
 * somebody follows one who holds none, and who may have been primary after all that is noted. One that is marked is not
 * meant: a mark is made under a later primary. What was acknowledged since is on others alone then, unless they dropped
 * it when their pods were made anew, or lost it as well; in asynchronous mode it may be on nobody. */
static bool is_in_doubt(const struct cluster_snapshot *snapshot, uint64_t latest)
{
    int lacking = 0;
    uint64_t last = MAX_OF(latest, newest_before(snapshot));
    bool all_are_proof = true, is_noted = false, is_followed = false;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (!is_asked(snapshot, member))
            continue;
        if (!holds_trusted_data(member)) {
            lacking++;
            continue;
        }
        bool was_opened =
            member->agent->opened_epoch >= last && !follows_one_without_data(snapshot, member, holds_trusted_data);
        is_followed |= follows_one_without_data(snapshot, member, holds_data);
        is_noted |= was_opened;
        all_are_proof &= was_opened || member->agent->replication.caught_up;
    }
    all_are_proof &= !counts_without_replicas(snapshot);
    return latest > 0 && (!is_noted || is_followed) && (lacking > 1 || (lacking == 1 && !all_are_proof));
}

/* Somebody holds all that it does, and more; NULL: nobody. */
static const struct cluster_member *find_holder_of_more(
    const struct cluster_snapshot *snapshot, const struct cluster_member *member, uint64_t latest)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *other = &snapshot->members[i];
        if (other != member && is_candidate(snapshot, other, latest) && compare(other, member) == GTID_SUPERSET)
            return other;
    }
    return NULL;
}

/* A wish decides between equals and between different histories of the latest reign, and where nobody can tell what was
 * acknowledged; it does not throw away what others hold beyond it. */
static const struct cluster_member *first_with_data(const struct cluster_snapshot *snapshot, char *why, size_t size)
{
    const struct cluster_member *wish = wished(snapshot);
    uint64_t latest = find_latest_reign(snapshot);
    const struct cluster_member *found = most_advanced(snapshot, latest, why, size);
    bool may_be_wished = wish && holds_trusted_data(wish) && !is_of_earlier_reign(wish, latest);
    const struct cluster_member *more = may_be_wished ? find_holder_of_more(snapshot, wish, latest) : NULL;
    if (may_be_wished && !more && (!found || compare(wish, found) == GTID_EQUAL)) {
        *why = '\0';
        return wish;
    }
    if (!found && more) {
        size_t length = strlen(why);
        snprintf(
            why + length, size - length, "; not %s, as %s holds all that it does, and more", wish->name, more->name);
    }
    if (found && is_in_doubt(snapshot, latest)) {
        snprintf(why, size,
            "nothing: the data of the last primary is gone, and %s holds most, but may %s; spec.replication.primary must "
            "say whose is to be kept",
            found->name,
            counts_without_replicas(snapshot) ? "not have received the last commits (spec.replication.mode is async)"
                                              : "have dropped what it had acknowledged");
        return NULL;
    }
    return found;
}

const struct cluster_member *election_first(const struct cluster_snapshot *snapshot, char *why, size_t size)
{
    bool any_data = false, any_trusted = false;
    *why = '\0';
    for (int i = 0; i < snapshot->member_count && str_empty(why); i++) {
        const struct cluster_member *member = &snapshot->members[i];
        any_data |= is_asked(snapshot, member) && holds_data(member);
        any_trusted |= is_asked(snapshot, member) && holds_trusted_data(member);
        awaited(snapshot, member, why, size);
    }
    if (!str_empty(why))
        return NULL;
    if (any_trusted)
        return first_with_data(snapshot, why, size);
    const struct cluster_member *found = any_data ? wished_despite_mark(snapshot, why, size) : first_empty(snapshot);
    if (!found && str_empty(why))
        snprintf(why, size, "wait for the first member's agent");
    return found;
}

/* ---- a successor ---- */

/* Clients would stand still on it soon, and do not where they are. */
static bool has_less_room(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    return member_has_problem(member, AGENT_PROBLEM_VOLUME_FULL) && primary &&
        !member_has_problem(primary, AGENT_PROBLEM_VOLUME_FULL);
}

bool election_can_take_over(
    const struct cluster_snapshot *snapshot, const struct cluster_member *member, char *why, size_t size)
{
    const char *not_following = member_why_not_following(snapshot, member);
    const struct agent_problem *problem = member_why_no_target(member);
    *why = '\0';
    if (!member_is_wanted(snapshot, member))
        snprintf(why, size, "%s is beyond spec.replicas", member->name);
    else if (!member->pod || member->pod->object.deleting)
        snprintf(why, size, "the pod of %s is leaving", member->name);
    else if (!str_empty(not_following))
        snprintf(why, size, "%s: %s", member->name, not_following);
    else if (member_has_problem(member, AGENT_PROBLEM_GTIDS_LOST)) /* it would never have what a move waits for */
        snprintf(why, size,
            "somebody has set back the GTID position of %s: have it copied anew (kubectl delete pvc data-%s --wait=false; "
            "kubectl delete pod %s)",
            member->name, member->name, member->name);
    else if (problem)
        snprintf(why, size, "%s: %s: %s", member->name, problem->reason, problem->message);
    else if (reigns_has_extra(snapshot, member))
        snprintf(why, size, "%s holds transactions that the primary has not", member->name);
    else if (has_less_room(snapshot, member))
        snprintf(why, size, "the volume of %s is full", member->name);
    else if (member->agent->replication.lag_known && member->agent->replication.lag_ms > ELECTION_LAG_MAX_MS)
        snprintf(why, size, "%s lags %lld s", member->name, (long long)(member->agent->replication.lag_ms / 1000));
    return str_empty(why);
}

/* Lags within a heartbeat are the same. */
static int64_t lag_class(const struct cluster_member *member)
{
    return member->agent->replication.lag_known ? member->agent->replication.lag_ms / 1000 : ELECTION_LAG_MAX_MS;
}

static bool is_better(
    const struct cluster_snapshot *snapshot, const struct cluster_member *a, const struct cluster_member *b)
{
    bool a_wished = a == wished(snapshot), b_wished = b == wished(snapshot);
    if (a_wished != b_wished)
        return a_wished;
    bool a_outdated = member_is_outdated(snapshot, a), b_outdated = member_is_outdated(snapshot, b);
    if (a_outdated != b_outdated)
        return b_outdated;
    bool a_short = archive_reach_is_short(snapshot, a), b_short = archive_reach_is_short(snapshot, b);
    if (a_short != b_short)
        return b_short;
    return lag_class(a) < lag_class(b);
}

const struct cluster_member *election_successor(const struct cluster_snapshot *snapshot, char *why, size_t size)
{
    const struct cluster_member *best = NULL;
    bool is_first = true;
    char reason[ELECTION_WHY_SIZE], first[ELECTION_WHY_SIZE] = "there is no other member";
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (member == cluster_primary(snapshot) || !member_is_wanted(snapshot, member))
            continue;
        bool can = election_can_take_over(snapshot, member, reason, sizeof(reason));
        if (can && (!best || is_better(snapshot, member, best)))
            best = member;
        if (!can && is_first) {
            snprintf(first, sizeof(first), "%s", reason);
            is_first = false;
        }
    }
    snprintf(why, size, "%s", best ? "" : first);
    return best;
}
