/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/status/cluster_report_rolled.h"

#include "common/clock.h"
#include "operator/api/condition_reason.h"
#include "operator/cluster/rollout/roll_target.h"
#include "operator/cluster/state/member_view.h"
#include "operator/cluster/status/cluster_trouble.h"

/* When the same is tried again; the rest stands in the next action. */
static void say_when(const struct cluster_roll_status *roll, char *out, size_t size)
{
    char at[CLOCK_RFC3339_SIZE];
    int64_t retry_at_ms = roll_retry_at_ms(roll);
    *out = '\0';
    if (retry_at_ms == 0)
        return;
    clock_format_rfc3339(retry_at_ms, at);
    snprintf(out, size, "; tried again at %s", at);
}

/* A condition must have one. */
static const char *name_of(enum roll_reason reason)
{
    return reason == ROLL_REASON_NONE ? reason_name(REASON_ROLLED_BACK) : roll_reason_name(reason);
}

void cluster_report_rolled(const struct cluster_snapshot *snapshot, struct cluster_status *status)
{
    const struct cluster_roll_status *roll = &status->roll;
    char when[64];
    say_when(roll, when, sizeof(when));
    if (roll->phase == ROLL_PHASE_ROLLED_BACK)
        kube_conditions_set(&status->conditions, CONDITION_ROLLED_BACK, KUBE_CONDITION_TRUE, name_of(roll->reason),
            snapshot->generation, snapshot->now_ms, "members run what they ran before%s; %s: %s", when, roll->member,
            roll->message);
    else if (roll->phase == ROLL_PHASE_FAILED)
        kube_conditions_set(&status->conditions, CONDITION_ROLLED_BACK, KUBE_CONDITION_FALSE, "CannotGoBack",
            snapshot->generation, snapshot->now_ms, "nothing goes back: %s; %s: %s: %s", roll->obstacle, roll->member,
            name_of(roll->reason), roll->message);
    else
        kube_conditions_remove(&status->conditions, CONDITION_ROLLED_BACK);
}

/* The other way out, where nothing goes back because of a member's data: "; or set the image back and …". */
static void say_way_back(const struct cluster_snapshot *snapshot, char *out, size_t size)
{
    const struct cluster_member *opened = snapshot->before_kept ? roll_find_opened_by_another(snapshot) : NULL;
    const struct cluster_member *primary = cluster_primary(snapshot);
    char copy[256];
    *out = '\0';
    if (opened && primary && !roll_opened_by_another(snapshot, primary) &&
        member_copy_remedy(snapshot, opened, copy, sizeof(copy)))
        snprintf(out, size, ", or set the image back and %s", copy);
}

bool roll_remedy(const struct cluster_snapshot *snapshot, const struct cluster_roll_status *roll, char *out, size_t size)
{
    char back[320];
    if (roll->phase == ROLL_PHASE_ROLLED_BACK)
        snprintf(out, size,
            "correct what was changed last (spec, its MysqlConfig, the operator), or set annotation " ANNOTATION_ROLL_AGAIN
            " to a new value to try the same again: %s: %s",
            roll->member, roll->message);
    else if (roll->phase == ROLL_PHASE_FAILED) {
        say_way_back(snapshot, back, sizeof(back));
        snprintf(out, size, "correct what was changed last%s; nothing goes back by itself (%s): %s: %s", back,
            roll->obstacle, roll->member, roll->message);
    } else
        return false;
    return true;
}
