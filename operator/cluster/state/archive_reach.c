/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/state/archive_reach.h"

#include "common/archive_task.h"
#include "common/json.h"
#include "operator/api/archive_status.h"
#include "operator/cluster/state/member_view.h"

static bool archive_is_on(const struct cluster_snapshot *snapshot)
{
    return json_path_bool(snapshot->cluster.document, "backup.binlogs.enabled", false);
}

/* NULL: it is not heard. */
static const struct agent_status *heard_primary(const struct cluster_snapshot *snapshot)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    return primary && member_speaks(primary) ? primary->agent : NULL;
}

/* NULL: no primary that archives is heard. */
static const struct archive_report *heard_report(const struct cluster_snapshot *snapshot)
{
    const struct agent_status *primary = heard_primary(snapshot);
    return primary && *primary->archive.task ? &primary->archive : NULL;
}

static int64_t known_until_ms(const struct cluster_snapshot *snapshot)
{
    const struct archive_report *report = heard_report(snapshot);
    int64_t until_ms = snapshot->last.archive.until_ms;
    return report && report->known ? MAX_OF(until_ms, report->until_ms) : until_ms;
}

/* A primary without a task has just become one, or its agent was started anew: it gets its task in a moment, but not
 * while the cluster is paused, nor while the status says that archiving cannot begin. */
static bool will_archive(const struct cluster_snapshot *snapshot)
{
    const struct archive_report *report = heard_report(snapshot);
    if (report)
        return !*report->error_reason;
    return !snapshot->cluster.paused && archive_reason_of(snapshot->last.archive.reason) != ARCHIVE_OTHER;
}

bool archive_reach_is_awaited(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    const struct agent_status *primary = heard_primary(snapshot);
    if (!archive_is_on(snapshot) || !primary || !member_speaks(member) || !will_archive(snapshot))
        return false;
    return archive_lacks(known_until_ms(snapshot), primary->binlogs_from_ms, member->agent->binlogs_from_ms);
}

int64_t archive_reach_patience_ms(const struct cluster_snapshot *snapshot)
{
    int64_t interval_s =
        json_path_int(snapshot->cluster.document, "backup.binlogs.intervalSeconds", ARCHIVE_INTERVAL_DEFAULT_S);
    return MIN_OF(
        MAX_OF(3000 * interval_s, (int64_t)ARCHIVE_REACH_PATIENCE_MIN_MS), (int64_t)ARCHIVE_REACH_PATIENCE_MAX_MS);
}

bool archive_reach_is_short(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    if (!archive_is_on(snapshot) || !member->agent)
        return false;
    return !archive_reaches(known_until_ms(snapshot), member->agent->binlogs_from_ms);
}
