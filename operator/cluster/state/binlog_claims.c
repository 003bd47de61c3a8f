/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/state/binlog_claims.h"

#include "common/json.h"
#include "operator/cluster/state/member_view.h"

static bool holds(const struct gtid_set *executed, const struct gtid_set *wanted)
{
    enum gtid_relation relation = gtid_set_compare(wanted, executed);
    return relation == GTID_EQUAL || relation == GTID_SUBSET;
}

static bool has_executed(enum gtid_flavour flavour, const char *executed, const struct gtid_set *wanted)
{
    _cleanup_(gtid_set_freep) struct gtid_set *set = position_parse(flavour, executed);
    return set && holds(set, wanted);
}

/* NULL: it lacks nothing. */
static const char *why_lacking(
    const struct cluster_member *other, enum gtid_flavour flavour, const struct gtid_set *wanted)
{
    const struct agent_status *agent = other->agent;
    if (!agent)
        return "has not been heard";
    if (member_is_seeding(other) || member_is_empty(other) || member_is_being_cloned(other))
        return "is being copied";
    if (str_empty(agent->gtid_executed))
        return "has not said what it has executed";
    return has_executed(flavour, agent->gtid_executed, wanted) ? NULL : "lacks some of them";
}

static bool has_lapsed(const struct cluster_member *member, const struct cluster_member *other)
{
    return member->agent->purge_for_room && !member_speaks(other) && other->unheard_ms >= BINLOG_CLAIM_MS;
}

/* By the open primary's own word: it alone archives. */
static bool archive_lacks(
    const struct cluster_snapshot *snapshot, enum gtid_flavour flavour, const struct gtid_set *wanted)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    if (!json_path_bool(snapshot->cluster.document, "backup.binlogs.enabled", false) && !*snapshot->last.archive.reason)
        return false;
    if (!primary || !member_speaks(primary) || !*primary->agent->archive.task || !primary->agent->archive.known)
        return true;
    return !has_executed(flavour, primary->agent->archive.until_gtid, wanted);
}

static bool is_claimed(const struct cluster_snapshot *snapshot, const struct cluster_member *member,
    const struct gtid_set *wanted, struct binlog_claims *ret)
{
    enum gtid_flavour flavour = member_gtid_flavour(member);
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *other = &snapshot->members[i];
        const char *why =
            other == member || !member_is_wanted(snapshot, other) ? NULL : why_lacking(other, flavour, wanted);
        if (why && has_lapsed(member, other)) {
            ret->lapsed = ret->lapsed ? ret->lapsed : other;
        } else if (why) {
            snprintf(ret->why, sizeof(ret->why), "%s %s", other->name, why);
            return true;
        }
    }
    if (!archive_lacks(snapshot, flavour, wanted))
        return false;
    snprintf(ret->why, sizeof(ret->why), "they are not archived yet");
    return true;
}

void binlog_claims_look(
    const struct cluster_snapshot *snapshot, const struct cluster_member *member, struct binlog_claims *ret)
{
    *ret = (struct binlog_claims){.is_wished = false};
    if (!member_speaks(member) || !*member->agent->purge_wish)
        return;
    ret->is_wished = true;
    if (!cluster_in_place_is_over(&snapshot->last.in_place)) {
        snprintf(ret->why, sizeof(ret->why), "the cluster is being restored");
        return;
    }
    _cleanup_(gtid_set_freep) struct gtid_set *wanted =
        position_parse(member_gtid_flavour(member), member->agent->purge_after);
    if (!wanted)
        snprintf(ret->why, sizeof(ret->why), "it cannot be told what is in them");
    else
        ret->is_free = !is_claimed(snapshot, member, wanted, ret);
    if (!ret->is_free)
        ret->lapsed = NULL;
}
