/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/roles/outage.h"

#include "operator/cluster/deletion/hibernation.h"
#include "operator/cluster/failover/write_gap_times.h"
#include "operator/cluster/state/final_backup_state.h"
#include "operator/cluster/state/in_place_state.h"
#include "operator/cluster/state/member_view.h"
#include "operator/cluster/state/stop_wish.h"

/* By the status, and nothing is being changed. */
static bool should_be_open(const struct cluster_snapshot *snapshot, const struct cluster_member *primary)
{
    const struct cluster_role_status *roles = &snapshot->last.roles;
    return roles->initialized && snapshot->scale.effective > 0 && !cluster_transition_is_set(&roles->transition) &&
        !hibernation_is_waking(snapshot) && !in_place_is_under_way(snapshot) && !final_backup_is_closed(snapshot) &&
        !member_is_to_stop(snapshot, primary);
}

/* By its own word: a server that gives no answer may be open. */
static bool is_certainly_closed(const struct cluster_member *primary)
{
    return member_speaks(primary) && !agent_takes_writes(primary->agent) && primary->agent->phase != AGENT_PHASE_HUNG &&
        primary->agent->phase != AGENT_PHASE_UNKNOWN;
}

static bool is_told(const struct cluster_snapshot *snapshot, const struct outage_watch *watch)
{
    return snapshot->last.roles.last_outage.started_ms == watch->noticed_ms;
}

/* A replica may be heard later than the primary: the later word counts. */
static void note_last_write(const struct cluster_snapshot *snapshot, struct outage_watch *watch)
{
    struct agent_moment newest = write_gap_newest(snapshot, watch->noticed_ms);
    if (newest.at_ms > watch->last_write.at_ms)
        watch->last_write = newest;
}

void outage_look(const struct cluster_snapshot *snapshot, struct outage_watch *watch)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    if (watch->state == OUTAGE_NONE)
        return;
    if (!primary || !should_be_open(snapshot, primary)) {
        watch->state = OUTAGE_NONE;
        return;
    }
    if (is_certainly_closed(primary)) {
        if (watch->state == OUTAGE_NOT_KNOWN)
            *watch = (struct outage_watch){.state = OUTAGE_GOES_ON, .noticed_ms = snapshot->now_ms};
        note_last_write(snapshot, watch);
    } else if (member_speaks(primary) && agent_takes_writes(primary->agent) &&
        (watch->state == OUTAGE_NOT_KNOWN || is_told(snapshot, watch)))
        watch->state = OUTAGE_NONE;
}

void outage_end(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, struct cluster_role_status *roles)
{
    const struct outage_watch *watch = &snapshot->outage;
    if (watch->state != OUTAGE_GOES_ON || is_told(snapshot, watch))
        return;
    const struct write_gap_change change = {.to = primary,
        .epoch = snapshot->last.roles.epoch,
        .started_ms = watch->noticed_ms,
        .last_write = watch->last_write,
        .seen_closed = true};
    const struct write_gap_end end = write_gap_end(snapshot, &change);
    roles->last_outage = (struct cluster_outage){.epoch = change.epoch,
        .started_ms = watch->noticed_ms,
        .finished_ms = end.finished_ms,
        .writes_blocked_ms = end.blocked_ms,
        .gap = end.gap};
    memcpy(roles->last_outage.primary, primary->name, sizeof(roles->last_outage.primary));
}
