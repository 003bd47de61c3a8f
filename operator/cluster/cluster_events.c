#include "common/base.h"

#include "operator/cluster/cluster_events.h"

/* Conditions whose good state is False. */
static bool good_when_false(const char *type)
{
    return str_eq(type, CONDITION_PROGRESSING) || str_eq(type, CONDITION_CHILD_CONFLICT) ||
        str_eq(type, CONDITION_CERTIFICATE_EXPIRING) || str_eq(type, CONDITION_WRITES_BLOCKED) ||
        str_eq(type, CONDITION_LAGGING);
}

/* Work in progress is news, but nothing to warn of. */
static bool is_bad(const struct kube_condition *condition)
{
    if (str_eq(condition->type, CONDITION_PROGRESSING))
        return condition->status == KUBE_CONDITION_TRUE && str_eq(condition->reason, "Retrying");
    if (str_eq(condition->type, CONDITION_STORAGE_RESIZED) && str_eq(condition->reason, "Growing"))
        return false;
    return condition->status == (good_when_false(condition->type) ? KUBE_CONDITION_TRUE : KUBE_CONDITION_FALSE);
}

/* Steps on the way that are over in a moment. */
static bool is_small_talk(const struct kube_condition *condition)
{
    return str_eq(condition->type, CONDITION_PROGRESSING) &&
        (str_eq(condition->reason, "Applying") || str_eq(condition->reason, "Starting") ||
            str_eq(condition->reason, "Settled"));
}

void cluster_events_record(struct event_recorder *recorder, const struct kube_resource *resource,
    const struct cluster_snapshot *snapshot, const struct cluster_status *status)
{
    const struct event_target target = {
        .resource = resource, .ns = snapshot->ns, .name = snapshot->name, .uid = snapshot->uid};
    for (int i = 0; i < status->conditions.count; i++) {
        const struct kube_condition *now = &status->conditions.items[i];
        const struct kube_condition *before = kube_conditions_find(&snapshot->last.conditions, now->type);
        if (before && before->status == now->status && str_eq(before->reason, now->reason))
            continue;
        if (is_small_talk(now))
            continue;
        bool serves = str_eq(now->type, CONDITION_AVAILABLE) || str_eq(now->type, CONDITION_HEALTHY);
        if (!before && is_bad(now) && serves && snapshot->last.observed_generation == 0)
            continue; /* a cluster that was just made is neither available nor healthy: no news */
        event_record(recorder, &target, is_bad(now) ? EVENT_WARNING : EVENT_NORMAL, now->reason, "%s: %s", now->type,
            now->message);
    }
}

void cluster_events_intent(struct event_recorder *recorder, const struct kube_resource *resource,
    const struct cluster_snapshot *snapshot, const struct cluster_intent *intent)
{
    const struct event_target target = {
        .resource = resource, .ns = snapshot->ns, .name = snapshot->name, .uid = snapshot->uid};
    const struct cluster_transition *before = &snapshot->last.transition, *now = &intent->transition;
    bool was_set = cluster_transition_is_set(before), is_set = cluster_transition_is_set(now);
    if (!was_set && is_set)
        event_record(recorder, &target, EVENT_NORMAL, "SwitchoverStarted",
            "the primary moves from %s to %s (%s), epoch %lld", now->from, now->to, now->reason, (long long)now->epoch);
    else if (was_set && !is_set && intent->epoch == snapshot->last.epoch)
        event_record(recorder, &target, EVENT_NORMAL, "SwitchoverDone", "%s is primary; writes waited for %lld ms",
            before->to, (long long)intent->last_switchover.writes_blocked_ms);
    else if (was_set && !is_set)
        event_record(recorder, &target, EVENT_WARNING, "SwitchoverUndone",
            "%s did not answer and was never opened; %s stays primary, epoch %lld", before->to, intent->primary,
            (long long)intent->epoch);
    else if (!str_eq(intent->primary, snapshot->last.current_primary))
        event_record(recorder, &target, EVENT_NORMAL, "PrimaryChosen", "%s is the first primary, epoch %lld",
            intent->primary, (long long)intent->epoch);
    if (intent->semi_sync != snapshot->last.semi_sync)
        event_record(recorder, &target, EVENT_NORMAL, intent->semi_sync ? "SemiSyncOn" : "SemiSyncOff",
            intent->semi_sync ? "enough replicas have joined: from now on commits wait for acknowledgements"
                              : "commits no longer wait for acknowledgements");
}

void cluster_events_pod_replaced(struct event_recorder *recorder, const struct kube_resource *resource,
    const struct cluster_snapshot *snapshot, const char *why)
{
    const struct event_target target = {
        .resource = resource, .ns = snapshot->ns, .name = snapshot->name, .uid = snapshot->uid};
    event_record(recorder, &target, EVENT_NORMAL, "PodReplaced", "%s", why);
}
