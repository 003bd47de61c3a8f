/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/ready_conditions.h"

static void set_one(struct kube_conditions *conditions, const char *type, const struct ready_reason *what,
    int64_t observed_generation, int64_t now_ms)
{
    kube_conditions_set(conditions, type, what->holds ? KUBE_CONDITION_TRUE : KUBE_CONDITION_FALSE, what->reason,
        observed_generation, now_ms, "%s", what->message);
}

void ready_conditions_set(
    struct kube_conditions *conditions, const struct ready_view *view, int64_t observed_generation, int64_t now_ms)
{
    struct ready_reason reconciling = view->reconciling;
    if (view->stalled.holds)
        reconciling = (struct ready_reason){false, view->stalled.reason, view->stalled.message};
    set_one(conditions, CONDITION_READY, &view->ready, observed_generation, now_ms);
    set_one(conditions, CONDITION_RECONCILING, &reconciling, observed_generation, now_ms);
    set_one(conditions, CONDITION_STALLED, &view->stalled, observed_generation, now_ms);
}

struct ready_reason ready_reason_of(
    const struct kube_conditions *conditions, const char *type, struct ready_reason instead)
{
    const struct kube_condition *condition = kube_conditions_find(conditions, type);
    if (!condition)
        return instead;
    return (struct ready_reason){condition->status == KUBE_CONDITION_TRUE, condition->reason, condition->message};
}
