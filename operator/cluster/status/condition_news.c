/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/status/condition_news.h"

#include "operator/api/condition_reason.h"
#include "operator/api/final_backup_status.h"
#include "operator/api/in_place_status.h"
#include "operator/api/ready_conditions.h"
#include "operator/api/restore_status.h"
#include "operator/cluster/state/cluster_roles.h"
#include "operator/cluster/state/member_view.h"
#include "operator/cluster/status/cluster_trouble.h"

/* Conditions whose good state is False. */
static bool good_when_false(const char *type)
{
    return str_eq(type, CONDITION_PROGRESSING) || str_eq(type, CONDITION_CHILD_CONFLICT) ||
        str_eq(type, CONDITION_CERTIFICATE_EXPIRING) || str_eq(type, CONDITION_WRITES_BLOCKED) ||
        str_eq(type, CONDITION_LAGGING) || str_eq(type, CONDITION_VOLUME_FULL) ||
        str_eq(type, CONDITION_PASSWORD_SUSPECT) || str_eq(type, CONDITION_ACCOUNTS_LEFT);
}

/* Their reasons are phases, as long as they go on. */
static bool is_of_phase_under_way(const struct kube_condition *condition)
{
    if (str_eq(condition->type, CONDITION_RESTORED)) {
        enum restore_phase phase = restore_phase_of(condition->reason);
        return phase == RESTORE_PHASE_RESOLVING || phase == RESTORE_PHASE_RESTORING;
    }
    if (str_eq(condition->type, CONDITION_FINAL_BACKUP)) {
        enum final_backup_phase phase = final_backup_phase_of(condition->reason);
        return phase == FINAL_BACKUP_CLOSING || phase == FINAL_BACKUP_RUNNING;
    }
    return str_eq(condition->type, CONDITION_RESTORED_IN_PLACE) && in_place_phase_is_step(condition->reason);
}

/* Work in progress is news, but nothing to warn of. */
static bool is_bad(const struct kube_condition *condition)
{
    static const struct {
        const char *type;
        enum condition_reason reason;
    } work[] = {
        {CONDITION_STORAGE_RESIZED, REASON_GROWING},
        {CONDITION_AVAILABLE, REASON_HIBERNATED},
        {CONDITION_ACCOUNTS_LEFT, REASON_NOT_APPLIED_YET},
        {CONDITION_ACCOUNTS_LEFT, REASON_LOCKED},
        {CONDITION_ACCOUNTS_LEFT, REASON_DATABASES_LEFT},
    };
    enum condition_reason reason = reason_of(condition);
    if (str_eq(condition->type, CONDITION_PROGRESSING))
        return reason == REASON_RETRYING || reason == REASON_DATA_LOST;
    for (size_t i = 0; i < ARRAY_LEN(work); i++) {
        if (str_eq(condition->type, work[i].type) && reason == work[i].reason)
            return false;
    }
    if (is_of_phase_under_way(condition))
        return false;
    if (str_eq(condition->type, CONDITION_ROLLED_BACK))
        return true;
    return condition->status == (good_when_false(condition->type) ? KUBE_CONDITION_TRUE : KUBE_CONDITION_FALSE);
}

/* Steps on the way that are over in a moment; and what other conditions say already. */
static bool is_small_talk(const struct kube_condition *condition)
{
    static const char *const summaries[] = {
        CONDITION_READY, CONDITION_RECONCILING, CONDITION_STALLED, CONDITION_DEGRADED};
    for (size_t i = 0; i < ARRAY_LEN(summaries); i++) {
        if (str_eq(condition->type, summaries[i]))
            return true;
    }
    enum condition_reason reason = reason_of(condition);
    return str_eq(condition->type, CONDITION_PROGRESSING) &&
        (reason == REASON_APPLYING || reason == REASON_STARTING || reason == REASON_SETTLED ||
            reason == REASON_POD_REFUSED); /* Healthy says it */
}

/* ---- members that come and go ---- */

/* Its pod is being replaced or starts, and nothing is known to be wrong. */
static bool is_on_its_way(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    const struct pod_object *pod = member->pod;
    bool has_lost_all =
        snapshot->last.roles.initialized && member == cluster_primary(snapshot) && member_is_empty(member);
    if (member_trouble_rank(member) > TROUBLE_STARTING || has_lost_all)
        return false;
    if (!pod || pod->object.deleting || member_is_seeding(member))
        return true;
    return pod->created_ms > 0 && snapshot->now_ms - pod->created_ms < CONDITION_NEWS_START_MS;
}

static bool is_as_wanted(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    return cluster_member_is_ready(member) && (member == primary || (primary && member_follows(snapshot, member)));
}

/* In the course of a switchover the primary is closed, and replicas turn to the other one. */
static bool is_moving(const struct cluster_snapshot *snapshot)
{
    const struct cluster_transition *transition = &snapshot->last.roles.transition;
    return cluster_transition_is_set(transition) && !transition->failover;
}

/* All that is missing comes by itself. */
static bool comes_by_itself(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        bool waits = member_is_wanted(snapshot, member) && !is_as_wanted(snapshot, member);
        if (waits && !is_on_its_way(snapshot, member) && !(is_moving(snapshot) && cluster_member_is_ready(member)))
            return false;
    }
    return true;
}

/* It says that members are missing, and nothing worse. */
static bool is_of_missing_members(const struct kube_condition *condition)
{
    static const struct {
        const char *type;
        enum condition_reason reason;
    } missing[] = {
        {CONDITION_AVAILABLE, REASON_NO_PRIMARY},
        {CONDITION_AVAILABLE, REASON_PRIMARY_NOT_READY},
        {CONDITION_HEALTHY, REASON_NO_PRIMARY},
        {CONDITION_HEALTHY, REASON_MEMBER_NOT_READY},
        {CONDITION_REPLICATED, REASON_NO_PRIMARY},
        {CONDITION_REPLICATED, REASON_REPLICA_NOT_FOLLOWING},
    };
    for (size_t i = 0; i < ARRAY_LEN(missing); i++) {
        if (str_eq(condition->type, missing[i].type) && reason_of(condition) == missing[i].reason)
            return true;
    }
    return false;
}

enum condition_news condition_news_of(const struct cluster_snapshot *snapshot, const struct kube_condition *now)
{
    const struct kube_condition *before = kube_conditions_find(&snapshot->last.conditions, now->type);
    bool is_of_members = is_of_missing_members(now);
    if (kube_condition_stays(before, now) || is_small_talk(now))
        return CONDITION_NEWS_NONE;
    if (!before && is_of_members && snapshot->last.observed_generation == 0)
        return CONDITION_NEWS_NONE; /* a cluster that was just made is neither available nor healthy */
    if (!is_bad(now) || (is_of_members && comes_by_itself(snapshot)))
        return CONDITION_NEWS_NORMAL;
    return CONDITION_NEWS_WARNING;
}
