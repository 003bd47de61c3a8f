/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/rollout/cluster_roll.h"

#include "operator/api/names.h"
#include "operator/cluster/rollout/roll_target.h"
#include "operator/cluster/state/member_view.h"
#include "operator/cluster/state/server_series.h"
#include "operator/cluster/state/stop_wish.h"

static const struct cluster_member *find_leaving(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (member->ordinal < snapshot->scale.effective && member->pod && member->pod->object.deleting)
            return member;
    }
    return NULL;
}

/* Ready for Kubernetes, and for its agent where that one can be asked. */
static bool is_serving(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    if (!cluster_member_is_ready(member))
        return false;
    return !member_speaks(member) || member_is_open(snapshot, member) || member_follows(snapshot, member);
}

/* A copy that arrives is not thrown away: hours perhaps, and a server of another series could not have it from the same
 * donor. */
static bool is_being_copied(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    return snapshot->last.roles.initialized && member != cluster_primary(snapshot) && member_is_being_cloned(member);
}

/* Only a copy that is taken after more members were replaced is of use to it. */
static bool awaits_donor(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    if (!member_is_seeding(member) || (member->agent->data != AGENT_DATA_EMPTY && !member_data_is_stale(member)) ||
        member_is_being_cloned(member) || member == cluster_primary(snapshot) || str_empty(member->agent->version))
        return false;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *other = &snapshot->members[i];
        if (member_is_outdated(snapshot, other) && member_runs(other) && !str_empty(other->agent->version) &&
            other->agent->flavour == member->agent->flavour &&
            !server_series_same(other->agent->version, member->agent->version))
            return true;
    }
    return false;
}

static const struct cluster_member *find_awaiting(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (member_is_wanted(snapshot, member) && member_has_newest_template(snapshot, member) &&
            awaits_donor(snapshot, member))
            return member;
    }
    return NULL;
}

/* A wanted member that is not serving, and up to date, missing or about to have data: the roll waits for it. */
static const struct cluster_member *find_unfinished(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (member->ordinal >= snapshot->scale.effective)
            continue;
        if (!member->pod)
            return member;
        if (is_being_copied(snapshot, member))
            return member;
        if (!member_is_outdated(snapshot, member) && !is_serving(snapshot, member) && !awaits_donor(snapshot, member))
            return member;
    }
    return NULL;
}

enum health {
    HEALTH_BROKEN,  /* no server of it runs: replacing it can only help */
    HEALTH_LIMPING, /* it runs, and yet does not serve */
    HEALTH_SERVING,
};

static enum health health_of(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    if (is_serving(snapshot, member))
        return HEALTH_SERVING;
    return member_runs(member) ? HEALTH_LIMPING : HEALTH_BROKEN;
}

/* On its way back it would start an older server on what a newer one has opened. */
static bool must_stay_ahead(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    return snapshot->before && member_is_outdated(snapshot, member) && roll_opened_by_another(snapshot, member);
}

static const struct cluster_member *find_ahead(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        if (must_stay_ahead(snapshot, &snapshot->members[i]))
            return &snapshot->members[i];
    }
    return NULL;
}

/* Highest ordinal first; a primary that runs is not among them unless it is alone. */
static const struct cluster_member *find_outdated(const struct cluster_snapshot *snapshot, enum health health)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    for (int i = snapshot->member_count - 1; i >= 0; i--) {
        const struct cluster_member *member = &snapshot->members[i];
        if (health != HEALTH_BROKEN && member == primary && snapshot->scale.effective > 1)
            continue;
        if (is_being_copied(snapshot, member) || must_stay_ahead(snapshot, member))
            continue;
        if (member_is_outdated(snapshot, member) && health_of(snapshot, member) == health)
            return member;
    }
    return NULL;
}

static int count_outdated(const struct cluster_snapshot *snapshot)
{
    int count = 0;
    for (int i = 0; i < snapshot->member_count; i++)
        count += member_is_outdated(snapshot, &snapshot->members[i]);
    return count;
}

static bool any_pod(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++)
        if (snapshot->members[i].pod)
            return true;
    return false;
}

/* Its server may yet take up the new my.cnf without a restart. */
static const struct cluster_member *find_taking_up(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        if (member_takes_up_mycnf(snapshot, &snapshot->members[i]))
            return &snapshot->members[i];
    }
    return NULL;
}

static void KM_PRINTF(3, 4) roll_set(struct roll *roll, enum roll_step step, const char *fmt, ...)
{
    va_list ap;
    roll->step = step;
    va_start(ap, fmt);
    vsnprintf(roll->text, sizeof(roll->text), fmt, ap);
    va_end(ap);
}

static void wait_for_mycnf(const struct cluster_member *member, struct roll *roll)
{
    bool failed = member->mycnf_verdict == MYCNF_FAILED;
    const char *what = member_runs(member) ? "has taken up the new my.cnf" : "runs and can take up the new my.cnf";
    roll_set(roll, ROLL_WAIT, "wait until the server of %s %s%s%s", member->name, what, failed ? ": " : "",
        failed ? member->mycnf_text : "");
}

/* What is wrong with an outdated member that serves. */
static const char *why_outdated(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    return member_has_newest_template(snapshot, member) ? member->mycnf_text : "it has an older template";
}

static const char *why_broken(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    if (!member_has_newest_template(snapshot, member))
        return "it has an older template and is not ready";
    return member_runs(member) ? member->mycnf_text : "its server is down and has an older my.cnf";
}

/* In what the newest template differs from the member's; "": not known. */
static const char *change_for(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    bool is_known = !member_has_newest_template(snapshot, member) && member->pod &&
        !str_empty(snapshot->template_from) && str_eq(member->pod->revision, snapshot->template_from);
    return is_known ? str_or_empty(snapshot->template_change) : "";
}

/* Who has no data cannot stand in for who is replaced. */
static bool others_acknowledge_without(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    int needed = snapshot->last.roles.semi_sync ? snapshot->last.roles.acks : 0;
    return cluster_follower_count(snapshot) - member_follows(snapshot, member) >= needed;
}

bool cluster_roll_stops_commits(const struct cluster_snapshot *snapshot)
{
    return snapshot->last.roles.semi_sync && snapshot->scale.effective > 1 &&
        snapshot->scale.effective - 2 < snapshot->last.roles.acks;
}

static void roll_delete(
    const struct cluster_snapshot *snapshot, struct roll *roll, const struct cluster_member *member, const char *why)
{
    const char *change = change_for(snapshot, member);
    roll->member = member;
    roll_set(roll, ROLL_DELETE, "replace %s: %s%s%s%s", member->name, why, *change ? ": " : "", change,
        others_acknowledge_without(snapshot, member) ? "" : "; commits wait until it follows again");
}

/* A new MySQL primary applies the accounts once more. While the commit of such a statement waits, nobody can log in
 * there, the replica that would acknowledge it included (agent/mysql/accounts.h). So the last replica that can
 * acknowledge stays until the accounts are applied. */
static bool awaits_accounts(const struct cluster_snapshot *snapshot, const struct cluster_member *goes)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    if (!goes || !primary || primary == goes || !member_is_open(snapshot, primary) ||
        primary->agent->flavour != AGENT_FLAVOUR_MYSQL || primary->agent->accounts_applied ||
        others_acknowledge_without(snapshot, goes))
        return false;
    return !member_has_problem(primary, AGENT_PROBLEM_ACCOUNTS_FAILED) &&
        !member_has_problem(primary, AGENT_PROBLEM_SECRET_MISSING);
}

static void roll_primary(const struct cluster_snapshot *snapshot, struct roll *roll)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    if (member_has_newest_template(snapshot, primary))
        roll_set(roll, ROLL_SWITCHOVER, "move the primary away from %s: %s", primary->name, primary->mycnf_text);
    else
        roll_set(roll, ROLL_SWITCHOVER, "move the primary away from %s, which has an older template%s%s", primary->name,
            *change_for(snapshot, primary) ? ": " : "", change_for(snapshot, primary));
}

static void wait_for_donor(const struct cluster_snapshot *snapshot, const struct cluster_member *awaiting,
    const struct cluster_member *next, struct roll *roll)
{
    static const char remedy[] = "the image before, or fewer members, would end this";
    const char *name = awaiting->name, *version = awaiting->agent->version;
    if (next)
        roll_set(roll, ROLL_WAIT,
            "wait: %s needs a copy, its server (%s) takes one of its own series only, and without %s too few members would "
            "acknowledge commits; %s",
            name, version, next->name, remedy);
    else if (cluster_follower_count(snapshot) == 0)
        roll_set(roll, ROLL_WAIT,
            "wait: %s needs a copy, its server (%s) takes one of its own series only, and nobody can take over from the primary; %s",
            name, version, remedy);
    else
        roll_set(roll, ROLL_WAIT, "wait until it is ready before the primary is replaced: %s", name);
}

/* Somebody works in its pod. */
static const struct cluster_member *find_stopped(const struct cluster_snapshot *snapshot)
{
    struct stop_wish wish;
    stop_wish_read(snapshot, &wish);
    return wish.granted ? wish.member : NULL;
}

static void choose_step(const struct cluster_snapshot *snapshot, struct roll *roll)
{
    const struct cluster_member *leaving = find_leaving(snapshot), *stopped = find_stopped(snapshot);
    const struct cluster_member *broken = find_outdated(snapshot, HEALTH_BROKEN);
    const struct cluster_member *limping = find_outdated(snapshot, HEALTH_LIMPING);
    const struct cluster_member *unfinished = find_unfinished(snapshot);
    const struct cluster_member *taking_up = find_taking_up(snapshot);
    const struct cluster_member *next = find_outdated(snapshot, HEALTH_SERVING);
    const struct cluster_member *awaiting = find_awaiting(snapshot), *goes = limping ? limping : next;
    if (cluster_transition_is_set(&snapshot->last.roles.transition)) /* whoever is fenced meanwhile is not broken */
        roll_set(roll, ROLL_WAIT, "wait until the switchover is over: %s", snapshot->last.roles.transition.to);
    else if (stopped)
        roll_set(roll, ROLL_WAIT, "wait until annotation " ANNOTATION_STOP_SERVER " no longer stops the server of %s",
            stopped->name);
    else if (leaving)
        roll_set(roll, ROLL_WAIT, "wait until the old pod is gone: %s", leaving->name);
    else if (broken)
        roll_delete(snapshot, roll, broken, why_broken(snapshot, broken));
    else if (unfinished)
        roll_set(roll, ROLL_WAIT, "wait until it is ready before the next pod is replaced: %s", unfinished->name);
    else if (taking_up)
        wait_for_mycnf(taking_up, roll);
    else if (awaiting && !(goes && others_acknowledge_without(snapshot, goes)))
        wait_for_donor(snapshot, awaiting, goes, roll);
    else if (limping)
        roll_delete(snapshot, roll, limping, why_broken(snapshot, limping));
    else if (awaits_accounts(snapshot, next))
        roll_set(roll, ROLL_WAIT, "wait until %s has applied the accounts before the next pod is replaced: %s",
            snapshot->last.roles.current_primary, next->name);
    else if (next)
        roll_delete(snapshot, roll, next, why_outdated(snapshot, next));
    else if (find_ahead(snapshot))
        roll_set(roll, ROLL_WAIT, "wait: %s stays as it is, another version than before may have opened its data",
            find_ahead(snapshot)->name);
    else
        roll_primary(snapshot, roll);
}

void cluster_roll(const struct cluster_snapshot *snapshot, struct roll *ret)
{
    *ret = (struct roll){.step = ROLL_DONE};
    const struct stateful_set_object *set = snapshot->stateful_set;
    if (!set)
        return;
    if (!any_pod(snapshot) || set->observed_generation == 0) /* just made: there is no older template */
        return;
    if (set->observed_generation < set->object.generation || str_empty(set->update_revision)) {
        roll_set(ret, ROLL_WAIT, "wait for the StatefulSet controller to take up the new template%s",
            cluster_roll_stops_commits(snapshot) ? "; " CLUSTER_ROLL_STOPS_COMMITS : "");
        return;
    }
    ret->outdated = count_outdated(snapshot);
    const struct cluster_member *taking_up = find_taking_up(snapshot);
    if (ret->outdated > 0)
        choose_step(snapshot, ret);
    else if (taking_up) {
        ret->taking_up = true;
        wait_for_mycnf(taking_up, ret);
    }
}
