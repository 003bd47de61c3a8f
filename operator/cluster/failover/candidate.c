/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/failover/candidate.h"

#include "common/gtid.h"
#include "operator/cluster/failover/failover_facts.h"
#include "operator/cluster/state/archive_reach.h"
#include "operator/cluster/state/member_view.h"
#include "operator/cluster/state/problem_effects.h"

/* It will have to be told the floor of a reign, or what it holds itself; "" it can be. */
static const char *why_not_told(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    static const char is_old[] = "its agent is of an earlier version and cannot be told so long a GTID set";
    const char *held = failover_position_of(member);
    for (int i = 0; i < snapshot->last.roles.reigns.count; i++) {
        const char *floor = snapshot->last.roles.reigns.list[i].floor;
        if (!position_is_whole(floor))
            return "the GTID set of a primary before is too long";
        if (!member_can_be_told(member, floor))
            return is_old;
    }
    return position_is_whole(held) && !member_can_be_told(member, held) ? is_old : "";
}

const char *candidate_why_unfit(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    if (!failover_asks(snapshot, member))
        return "it is beyond spec.replicas";
    if (!member->pod || member->pod->object.deleting)
        return "its pod is leaving";
    if (member->agent->replication.applier_errno != 0)
        return "it cannot apply what it has received";
    if (!str_empty(member->agent->errant))
        return "it holds transactions that the lost primary had not";
    return why_not_told(snapshot, member);
}

static const struct cluster_member *wished(const struct cluster_snapshot *snapshot)
{
    int ordinal = snapshot->cluster.replication.primary;
    return ordinal >= 0 && ordinal < snapshot->member_count ? &snapshot->members[ordinal] : NULL;
}

static bool shares_node(const struct cluster_member *a, const struct cluster_member *b)
{
    return a->pod && b && b->pod && !str_empty(a->pod->node_name) && str_eq(a->pod->node_name, b->pod->node_name);
}

/* The first of those before is the primary that was lost: nobody has tried that one yet. */
bool candidate_was_tried(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    const struct cluster_transition *transition = &snapshot->last.roles.transition;
    char name[DERIVED_NAME_SIZE], earlier[DERIVED_NAME_SIZE];
    if (str_eq(member->name, transition->from))
        return transition->reason == TRANSITION_CANNOT_OPEN || transition->reason == TRANSITION_CANNOT_APPLY;
    cluster_transition_before(transition, 0, name);
    for (int n = 1; !str_empty(name); n++) {
        cluster_transition_before(transition, n, earlier);
        if (str_eq(member->name, name) && !str_empty(earlier))
            return true;
        memcpy(name, earlier, sizeof(name));
    }
    return false;
}

static bool has_applied_more(const struct cluster_member *a, const struct cluster_member *b)
{
    enum gtid_flavour flavour = member_gtid_flavour(a);
    _cleanup_(gtid_set_freep) struct gtid_set *of_a = position_parse(flavour, a->agent->gtid_executed);
    _cleanup_(gtid_set_freep) struct gtid_set *of_b = position_parse(flavour, b->agent->gtid_executed);
    return of_a && of_b && gtid_set_compare(of_a, of_b) == GTID_SUPERSET;
}

bool candidate_is_better_equal(
    const struct cluster_snapshot *snapshot, const struct cluster_member *a, const struct cluster_member *b)
{
    const struct cluster_member *from = cluster_member_named(snapshot, snapshot->last.roles.transition.from);
    const struct cluster_member *wish = wished(snapshot);
    bool of_a[] = {member_is_wanted(snapshot, a), !candidate_was_tried(snapshot, a), !member_why_no_target(a),
        !member_has_problem(a, AGENT_PROBLEM_VOLUME_FULL), wish && a == wish, !member_is_outdated(snapshot, a),
        !archive_reach_is_short(snapshot, a), !shares_node(a, from)};
    bool of_b[] = {member_is_wanted(snapshot, b), !candidate_was_tried(snapshot, b), !member_why_no_target(b),
        !member_has_problem(b, AGENT_PROBLEM_VOLUME_FULL), wish && b == wish, !member_is_outdated(snapshot, b),
        !archive_reach_is_short(snapshot, b), !shares_node(b, from)};
    for (size_t i = 0; i < ARRAY_LEN(of_a); i++) {
        if (of_a[i] != of_b[i])
            return of_a[i];
    }
    return has_applied_more(a, b);
}
