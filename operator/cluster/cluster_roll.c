#include "common/base.h"

#include "operator/cluster/cluster_roll.h"

#include "operator/cluster/member_view.h"

static bool is_outdated(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    return member->pod && member->ordinal < snapshot->cluster.replicas &&
        !str_eq(member->pod->revision, snapshot->stateful_set->update_revision);
}

static const struct cluster_member *find_leaving(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (member->ordinal < snapshot->cluster.replicas && member->pod && member->pod->object.deleting)
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

/* A wanted member that is up to date (or missing) and not serving: the roll waits for it. */
static const struct cluster_member *find_unfinished(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (member->ordinal >= snapshot->cluster.replicas)
            continue;
        if (!member->pod)
            return member;
        if (!is_outdated(snapshot, member) && !is_serving(snapshot, member))
            return member;
    }
    return NULL;
}

/* Highest ordinal first; a primary that serves is not among them unless it is alone. */
static const struct cluster_member *find_outdated(const struct cluster_snapshot *snapshot, bool ready)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    for (int i = snapshot->member_count - 1; i >= 0; i--) {
        const struct cluster_member *member = &snapshot->members[i];
        if (ready && member == primary && snapshot->cluster.replicas > 1)
            continue;
        if (is_outdated(snapshot, member) && is_serving(snapshot, member) == ready)
            return member;
    }
    return NULL;
}

static int count_outdated(const struct cluster_snapshot *snapshot)
{
    int count = 0;
    for (int i = 0; i < snapshot->member_count; i++)
        count += is_outdated(snapshot, &snapshot->members[i]);
    return count;
}

static bool any_pod(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++)
        if (snapshot->members[i].pod)
            return true;
    return false;
}

static void roll_wait(struct roll *roll, const char *text, const char *name)
{
    roll->step = ROLL_WAIT;
    snprintf(roll->text, sizeof(roll->text), "%s%s", text, name);
}

static void roll_delete(struct roll *roll, const struct cluster_member *member, const char *why)
{
    roll->step = ROLL_DELETE;
    roll->member = member;
    snprintf(roll->text, sizeof(roll->text), "replace %s: %s", member->name, why);
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
        roll_wait(ret, "wait for the StatefulSet controller to take up the new template", "");
        return;
    }
    ret->outdated = count_outdated(snapshot);
    if (ret->outdated == 0)
        return;
    const struct cluster_member *leaving = find_leaving(snapshot);
    const struct cluster_member *broken = find_outdated(snapshot, false);
    const struct cluster_member *unfinished = find_unfinished(snapshot);
    const struct cluster_member *next = find_outdated(snapshot, true);
    if (leaving)
        roll_wait(ret, "wait until the old pod is gone: ", leaving->name);
    else if (broken)
        roll_delete(ret, broken, "it has an older template and is not ready");
    else if (unfinished)
        roll_wait(ret, "wait until it is ready before the next pod is replaced: ", unfinished->name);
    else if (cluster_transition_is_set(&snapshot->last.transition))
        roll_wait(ret, "wait until the switchover is over: ", snapshot->last.transition.to);
    else if (next)
        roll_delete(ret, next, "it has an older template");
    else {
        ret->step = ROLL_SWITCHOVER;
        snprintf(ret->text, sizeof(ret->text), "move the primary away from %s, which has an older template",
            snapshot->last.current_primary);
    }
}
