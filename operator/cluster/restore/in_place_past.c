/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/restore/in_place_past.h"

#include "operator/cluster/failover/reigns.h"
#include "operator/cluster/state/in_place_state.h"
#include "operator/cluster/state/member_view.h"

#define SET_AGAIN "take the annotation away and set it again if it is still wished"

static const struct cluster_in_place *last_of(const struct cluster_snapshot *snapshot)
{
    return &snapshot->last.in_place;
}

/* ---- whether it goes on ---- */

static bool is_where_it_was_left(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    const struct agent_status *agent = member->agent;
    uint64_t number = (uint64_t)last_of(snapshot)->number;
    if (!member_speaks(member) || agent->epoch > (uint64_t)snapshot->last.roles.epoch)
        return false;
    return agent->restored_number == number || (member_is_seeding(member) && agent->beside_number == number);
}

/* Since the restored data was taken: under that epoch nobody but the member that takes it is opened. */
static bool has_moved_on(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    int64_t taken = in_place_taken_epoch(snapshot);
    bool is_open = agent_takes_writes(member->agent) || member->agent->role == AGENT_ROLE_PRIMARY;
    return in_place_latest_epoch(member) >= taken || (is_open && (int64_t)member->agent->epoch >= taken);
}

bool in_place_goes_on(const struct cluster_snapshot *snapshot)
{
    const struct cluster_member *taker = cluster_member_named(snapshot, last_of(snapshot)->member);
    if (last_of(snapshot)->phase != IN_PLACE_PHASE_TAKING || !taker || !is_where_it_was_left(snapshot, taker))
        return false;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        bool speaks = member_speaks(member), is_silent = !speaks && (member->pod || member->agent);
        if (is_silent || (member != taker && speaks && has_moved_on(snapshot, member)))
            return false;
    }
    return true;
}

/* ---- how it ends ---- */

static void refuse(struct cluster_intent *intent, enum in_place_refusal why, const char *message)
{
    snprintf(intent->in_place_message, sizeof(intent->in_place_message), "%s; " SET_AGAIN, message);
    snprintf(intent->in_place_reason, sizeof(intent->in_place_reason), "%s", in_place_refusal_names[why]);
    intent->in_place_step = IN_PLACE_STEP_REFUSE;
}

static bool has_new_wish(const struct cluster_snapshot *snapshot)
{
    const struct in_place_wish *wish = &snapshot->in_place_wish;
    return wish->document && !str_eq(wish->text, last_of(snapshot)->wish);
}

/* It had been taken, though the status was of a time before that. What it says of reigns is of the old data, whose
 * positions look like those of the new. */
static void forget_old_reigns(const struct cluster_snapshot *snapshot, struct cluster_intent *intent)
{
    const struct cluster_in_place *last = last_of(snapshot);
    if (last->phase != IN_PLACE_PHASE_RESTORING || in_place_heard_number(snapshot) < last->number)
        return;
    intent->roles.last_failover.position = "";
    if (!intent->roles.transition.failover) {
        intent->roles.reigns.count = 0;
        return;
    }
    intent->roles.reigns.count = 1;
    intent->roles.transition.position = reigns_floor(&intent->roles.reigns);
}

void in_place_end_past(const struct cluster_snapshot *snapshot, struct cluster_intent *intent)
{
    if (!cluster_in_place_is_over(last_of(snapshot)))
        refuse(intent, IN_PLACE_REFUSAL_OUTDATED,
            "the status was older than the members, so what became of the restore is not known, and the cluster keeps "
            "the data that it has");
    else if (has_new_wish(snapshot))
        refuse(intent, IN_PLACE_REFUSAL_OUTDATED,
            "the status was older than the members, and the restore may have been carried out since");
    else
        return;
    intent->stale = in_place_still_stale(snapshot);
    forget_old_reigns(snapshot, intent);
    in_place_leave_out_stale(snapshot, intent);
}

void in_place_refuse_old_wish(const struct cluster_snapshot *snapshot, struct cluster_intent *intent)
{
    bool has_data = false;
    for (int i = 0; i < snapshot->member_count; i++)
        has_data |= member_speaks(&snapshot->members[i]) && !member_is_empty(&snapshot->members[i]);
    if (has_data && has_new_wish(snapshot))
        refuse(intent, IN_PLACE_REFUSAL_OLD_WISH,
            "the annotation was there before the cluster took over the data that its volumes hold, which may be newer "
            "than the restore");
}

void in_place_leave_out_stale(const struct cluster_snapshot *snapshot, struct cluster_intent *intent)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (member_runs(member) && in_place_latest_epoch(member) > 0 && in_place_is_stale(snapshot, member))
            intent->roles.acknowledgers &= ~(UINT64_C(1) << member->ordinal);
    }
}
