/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/backup/backup_donor.h"

#include "common/strbuf.h"

/* What it has now is all that the cluster will ever have; it is not ready, as it serves nobody. */
static const char *hindrance_of_final(const struct backup_member *member)
{
    if (member->taken || member->report.state == BACKUP_STATE_RUNNING)
        return "another backup is taken from it";
    return member->is_closed ? NULL : "it is not the primary that was closed";
}

/* NULL: it can. */
static const char *hindrance(const struct backup_snapshot *snapshot, const struct backup_member *member)
{
    if (!member->heard)
        return "its agent is not heard";
    if (member->is_outdated && snapshot->backup.destination.kind == BACKUP_DESTINATION_VOLUME)
        return "its agent is of an earlier version";
    if (member->seeding || !member->has_data)
        return "it is being seeded";
    if (member->phase != AGENT_PHASE_RUNNING)
        return "its server does not run";
    if (snapshot->is_final)
        return hindrance_of_final(member);
    if (member->is_held)
        return "it is held";
    if (!member->pod_ready)
        return "its pod is not ready";
    if (member->taken || member->report.state == BACKUP_STATE_RUNNING)
        return "another backup is taken from it";
    if (!member->is_primary && !member->is_replica)
        return "it does not follow its primary";
    return NULL;
}

static int times_tried(const struct backup_snapshot *snapshot, const struct backup_member *member)
{
    int tried = 0;
    for (int i = 0; i < snapshot->last.failure_count; i++)
        tried += str_eq(snapshot->last.failures[i].donor, member->name);
    return tried;
}

#define RANKS 6
struct rank {
    int64_t values[RANKS]; /* smaller is better, the first difference counts */
};

static struct rank rank_of(const struct backup_snapshot *snapshot, const struct backup_member *member)
{
    bool lags = member->is_replica && (!member->lag_known || member->lag_ms > BACKUP_DONOR_LAG_MS);
    return (struct rank){{
        times_tried(snapshot, member),
        !str_eq(snapshot->backup.donor, member->name),
        lags,
        member->is_primary,
        member->serving > 0,
        member->lag_known ? member->lag_ms : INT64_MAX,
    }};
}

static bool is_better(const struct rank *a, const struct rank *b)
{
    for (int i = 0; i < RANKS; i++) {
        if (a->values[i] != b->values[i])
            return a->values[i] < b->values[i];
    }
    return false;
}

const struct backup_member *backup_donor_choose(const struct backup_snapshot *snapshot, char *why, size_t size)
{
    const struct backup_member *best = NULL;
    struct rank best_rank = {{0}};
    _cleanup_(strbuf_release) struct strbuf text;
    strbuf_init(&text, size - 1);
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct backup_member *member = &snapshot->members[i];
        const char *wrong = hindrance(snapshot, member);
        struct rank rank = rank_of(snapshot, member);
        if (wrong)
            strbuf_addf(&text, "%s%s: %s", text.len > 0 ? "; " : "", member->name, wrong);
        else if (!best || is_better(&rank, &best_rank)) {
            best = member;
            best_rank = rank;
        }
    }
    if (snapshot->member_count == 0)
        strbuf_adds(&text, "the cluster has no members");
    snprintf(why, size, "%s", text.buf);
    return best;
}
