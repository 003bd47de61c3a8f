#include "common/base.h"

#include "operator/cluster/cluster_events.h"

/* Conditions whose good state is False. */
static bool good_when_false(const char *type)
{
    return str_eq(type, CONDITION_PROGRESSING) || str_eq(type, CONDITION_CHILD_CONFLICT) ||
        str_eq(type, CONDITION_CERTIFICATE_EXPIRING);
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
