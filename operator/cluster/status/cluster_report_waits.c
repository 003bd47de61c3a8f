/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/status/cluster_report_waits.h"

#include "operator/cluster/state/member_view.h"

/* A primary that is silent says neither that they wait nor that they do not. */
void cluster_report_waits(const struct cluster_snapshot *snapshot, struct cluster_commit_wait *ret)
{
    const struct cluster_commit_wait *last = &snapshot->last.commit_wait;
    const struct cluster_member *primary = cluster_primary(snapshot);
    bool is_same = primary && str_eq(primary->name, last->member);
    bool goes_on = *last->member && last->finished_ms == 0;
    *ret = *last;
    if (goes_on && is_same && (!member_speaks(primary) || member_commits_wait(primary)))
        return;
    if (goes_on)
        ret->finished_ms = snapshot->now_ms;
    if (!primary || !member_commits_wait(primary))
        return;
    *ret = (struct cluster_commit_wait){.started_ms = snapshot->now_ms - primary->agent->writes_blocked_ms};
    snprintf(ret->member, sizeof(ret->member), "%s", primary->name);
}
