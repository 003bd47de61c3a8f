/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/state/agent_turn.h"

#include "operator/api/ready_conditions.h"
#include "operator/cluster/state/member_view.h"

static bool was_ready(const struct cluster_snapshot *snapshot)
{
    return kube_conditions_is_true(&snapshot->last.conditions, CONDITION_READY);
}

static bool has_the_image(const struct cluster_snapshot *snapshot)
{
    const struct stateful_set_object *set = snapshot->stateful_set;
    return !set || str_empty(set->agent_image) || str_eq(set->agent_image, snapshot->default_agent_image);
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

bool agent_turn_is_due(const struct cluster_snapshot *snapshot)
{
    if (snapshot->before || snapshot->before_held) /* it had its turn, went back, and stops the others */
        return false;
    return snapshot->usable && !snapshot->config.image_agent && !has_the_image(snapshot) &&
        snapshot->stateful_set->replicas > 0 && snapshot->last.applied_generation == snapshot->generation &&
        all_have_the_template(snapshot);
}

static bool is_over(const struct cluster_snapshot *snapshot)
{
    if (!has_the_image(snapshot) || !was_ready(snapshot) || !all_have_the_template(snapshot))
        return false;
    for (int i = 0; i < snapshot->scale.effective; i++) {
        if (!cluster_member_is_ready(&snapshot->members[i]))
            return false;
    }
    return true;
}

void agent_turn_decide(struct cluster_snapshot *snapshot, const char *waits_for)
{
    const struct stateful_set_object *set = snapshot->stateful_set;
    bool is_due = agent_turn_is_due(snapshot);
    bool goes_on = set && !str_empty(set->agent_turn) && !snapshot->config.image_agent && !is_over(snapshot);
    snapshot->agent_turn = (struct agent_turn){.marked = goes_on};
    if (is_due && waits_for)
        snprintf(snapshot->agent_turn.waits_for, sizeof(snapshot->agent_turn.waits_for), "%s", waits_for);
    else if (is_due)
        snapshot->agent_turn.marked |= was_ready(snapshot);
}
