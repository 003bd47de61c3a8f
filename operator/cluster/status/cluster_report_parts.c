/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/status/cluster_report_parts.h"

#include "common/json.h"
#include "operator/api/pod_answer.h"
#include "operator/cluster/desired/cluster_volumes.h"
#include "operator/cluster/state/member_view.h"
#include "operator/cluster/state/problem_effects.h"
#include "operator/cluster/status/cluster_trouble.h"

void report_put_text(char *out, size_t size, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int len = vsnprintf(out, size, fmt, ap);
    va_end(ap);
    if (len < (int)size)
        return;
    size_t end = size - sizeof("...");
    while (end > 0 && ((unsigned char)out[end] & 0xc0) == 0x80)
        end--;
    memcpy(out + end, "...", sizeof("..."));
}

void report_instance_message(const struct cluster_member *member, char *out, size_t size)
{
    char text[2 * KUBE_CONDITION_MESSAGE_MAX];
    member_trouble_text(member, text, sizeof(text));
    report_put_text(out, size, "%s", text);
}

bool report_wants(const struct report *report, const struct cluster_member *member)
{
    return member->ordinal < report->wanted;
}

bool report_set_is_unobserved(const struct cluster_snapshot *snapshot)
{
    const struct stateful_set_object *set = snapshot->stateful_set;
    return set && set->observed_generation < set->object.generation;
}

static const char *backup_problem_of(const struct cluster_snapshot *snapshot)
{
    return json_path(snapshot->cluster.document, "backup") ? snapshot->last.backup_problem : "";
}

const char *report_backup_problem(const struct cluster_snapshot *snapshot)
{
    const char *problem = backup_problem_of(snapshot);
    return pod_refusal_told(problem) ? "" : problem;
}

const char *report_backup_refusal(const struct cluster_snapshot *snapshot)
{
    return pod_refusal_told(backup_problem_of(snapshot));
}

bool report_is_of_claims(const struct cluster_outcome *outcome)
{
    return outcome->error && outcome->error_kind == PLAN_VOLUME_CLAIM;
}

bool report_growth_is_refused(const struct report *report)
{
    const struct cluster_outcome *outcome = report->outcome;
    return report_is_of_claims(outcome) && cluster_volumes_are_refused(report->snapshot, outcome->error);
}

/* An agent says it until its server restarts. It is over once the primary's replicas have what was committed then
 * (cluster_confirmed.h), or once the member follows another primary: what nobody else has would be errant. */
bool report_problem_is_over(
    const struct report *report, const struct cluster_member *member, enum agent_problem_kind problem)
{
    if (problem != AGENT_PROBLEM_UNACKNOWLEDGED_COMMITS)
        return false;
    return member == cluster_primary(report->snapshot) ? report->status->roles.confirmed.semi_sync
                                                       : member_follows(report->snapshot, member);
}

const struct cluster_member *report_find_ailing(const struct report *report, const struct agent_problem **ret)
{
    const struct cluster_member *found = NULL;
    for (int i = 0; i < report->snapshot->member_count; i++) {
        const struct cluster_member *member = &report->snapshot->members[i];
        int count = report_wants(report, member) && member->agent ? member->agent->problem_count : 0;
        for (int k = 0; k < count; k++) {
            const struct agent_problem *problem = &member->agent->problems[k];
            if (report_problem_is_over(report, member, problem->kind) ||
                (found && problem_need_of(problem->kind) <= problem_need_of((*ret)->kind)))
                continue;
            *ret = problem;
            found = member;
        }
    }
    return found;
}

const struct cluster_member *report_find_cause(const struct report *report, const struct agent_problem **ret)
{
    const struct cluster_member *unready = cluster_worst_member(report->snapshot, report->wanted);
    const struct cluster_member *ailing = report_find_ailing(report, ret);
    if (!ailing || !unready || ailing == unready || member_trouble_rank(unready) > TROUBLE_TOLD)
        return NULL;
    return problem_need_of((*ret)->kind) == PROBLEM_CAUSE && member_need(unready) != PROBLEM_CAUSE ? ailing : NULL;
}

const struct cluster_member *report_find_locked(const struct report *report, const struct agent_problem **ret)
{
    const struct cluster_member *primary = cluster_primary(report->snapshot);
    if (!primary || !cluster_member_is_ready(primary) || !member_has_problem(primary, AGENT_PROBLEM_WRITES_LOCKED))
        return NULL;
    for (int i = 0; i < primary->agent->problem_count; i++) {
        *ret = &primary->agent->problems[i];
        if ((*ret)->kind == AGENT_PROBLEM_WRITES_LOCKED)
            return primary;
    }
    return NULL;
}
