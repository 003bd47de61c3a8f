/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/state/cluster_turn.h"

#include "operator/api/ready_conditions.h"
#include "operator/cluster/state/in_place_state.h"
#include "operator/cluster/state/member_view.h"
#include "operator/cluster/state/roll_before.h"

static bool was_ready(const struct cluster_snapshot *snapshot)
{
    return kube_conditions_is_true(&snapshot->last.conditions, CONDITION_READY);
}

static bool has_the_image(const struct cluster_snapshot *snapshot)
{
    const struct stateful_set_object *set = snapshot->stateful_set;
    return snapshot->config.image_agent || str_empty(set->agent_image) ||
        str_eq(set->agent_image, snapshot->default_agent_image);
}

static bool all_have_the_template(const struct cluster_snapshot *snapshot)
{
    if (snapshot->stateful_set->observed_generation < snapshot->stateful_set->object.generation)
        return false;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (member->pod && !member_has_newest_template(snapshot, member))
            return false;
    }
    return true;
}

/* ---- who has to ask ---- */

/* Not all members were ready yet with what is in force. Of a status or a StatefulSet that an earlier version wrote that
 * is not known. */
static bool is_rolling(const struct cluster_snapshot *snapshot)
{
    char live[17];
    const char *proven = snapshot->last.roll.proven;
    roll_live_hash(snapshot, live);
    return !all_have_the_template(snapshot) || (*live && !str_empty(proven) && !str_eq(live, proven));
}

/* One that went back had its turn, and stops the others. One that is paused, or restored in place, changes nothing
 * now: it would keep others waiting for nothing. */
static bool has_nothing_else_to_do(const struct cluster_snapshot *snapshot)
{
    if (!snapshot->usable || !snapshot->stateful_set || snapshot->before || snapshot->before_held ||
        snapshot->cluster.paused || in_place_is_under_way(snapshot))
        return false;
    return snapshot->stateful_set->replicas > 0 && snapshot->last.applied_generation == snapshot->generation &&
        !is_rolling(snapshot);
}

static bool has_new_wish(const struct cluster_snapshot *snapshot)
{
    char live[17];
    roll_live_hash(snapshot, live);
    return *live && !str_empty(snapshot->last.roll.proven) && !str_eq(live, snapshot->roll_wanted);
}

enum cluster_turn_cause cluster_turn_cause(const struct cluster_snapshot *snapshot)
{
    if (!has_nothing_else_to_do(snapshot))
        return CLUSTER_TURN_NONE;
    if (!has_the_image(snapshot))
        return CLUSTER_TURN_AGENT;
    if (!has_new_wish(snapshot) || !was_ready(snapshot))
        return CLUSTER_TURN_NONE;
    return snapshot->cluster.config_name ? CLUSTER_TURN_CONFIG : CLUSTER_TURN_OPERATOR;
}

/* ---- whose turn is over ---- */

static bool all_serve_with_it(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->scale.effective; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (!cluster_member_is_ready(member) || !member_has_wanted_mycnf(snapshot, member))
            return false;
    }
    return all_have_the_template(snapshot);
}

/* By the status, too: what comes next waits until it stands there that this went well. */
static bool is_over(const struct cluster_snapshot *snapshot)
{
    char live[17];
    if (snapshot->scale.effective == 0) /* hibernated */
        return true;
    roll_live_hash(snapshot, live);
    return str_eq(live, snapshot->roll_wanted) && str_eq(live, snapshot->last.roll.proven) && was_ready(snapshot) &&
        all_serve_with_it(snapshot);
}

void cluster_turn_decide(struct cluster_snapshot *snapshot, const char *waits_for)
{
    const struct stateful_set_object *set = snapshot->stateful_set;
    enum cluster_turn_cause cause = cluster_turn_cause(snapshot);
    bool goes_on = set && !str_empty(set->turn) && !is_over(snapshot);
    snapshot->turn = (struct cluster_turn){.cause = cause, .marked = goes_on};
    if (cause != CLUSTER_TURN_NONE && waits_for)
        snprintf(snapshot->turn.waits_for, sizeof(snapshot->turn.waits_for), "%s", waits_for);
    else if (cause != CLUSTER_TURN_NONE)
        snapshot->turn.marked |= was_ready(snapshot);
}
