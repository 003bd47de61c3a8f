/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/reconcile/cluster_notes.h"

#include "common/alloc.h"
#include "operator/cluster/desired/desired.h"
#include "operator/cluster/failover/cluster_confirmed.h"
#include "operator/cluster/failover/cluster_failover.h"
#include "operator/cluster/failover/failover_election.h"
#include "operator/cluster/failover/failover_facts.h"
#include "operator/cluster/roles/outage.h"
#include "operator/cluster/state/member_view.h"

/* ---- orders ---- */

/* Since when the old primary of a switchover is out of service: what its clients feel. */
static void note_fence(
    struct cluster_memory *memory, const struct cluster_snapshot *snapshot, const struct cluster_orders *orders)
{
    if (!cluster_transition_is_set(&snapshot->last.roles.transition)) {
        memory->fenced_since_ms = 0;
        return;
    }
    for (int i = 0; i < snapshot->member_count; i++) {
        bool told = orders->given[i] && orders->orders[i].role == AGENT_ROLE_NONE;
        if (told && str_eq(snapshot->members[i].name, snapshot->last.roles.transition.from) &&
            memory->fenced_since_ms == 0)
            memory->fenced_since_ms = snapshot->now_ms;
    }
}

static bool anybody_is_held(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        if (member_is_held(snapshot, &snapshot->members[i]))
            return true;
    }
    return false;
}

static void note_stopped(struct cluster_memory *memory, const struct cluster_snapshot *snapshot, int64_t monotonic_ms)
{
    for (int i = 0; i < snapshot->member_count; i++)
        cluster_memory_note_stopped(memory, snapshot->members[i].ordinal,
            acknowledgers_has_stopped(snapshot, &snapshot->members[i]), monotonic_ms);
}

/* One that is silent for a moment has it still. */
static void note_gtids_lost(struct cluster_memory *memory, const struct cluster_snapshot *snapshot, int64_t monotonic_ms)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (member_speaks(member))
            cluster_memory_note_gtids_lost(
                memory, member->ordinal, member_has_problem(member, AGENT_PROBLEM_GTIDS_LOST), monotonic_ms);
    }
}

static void note_unheard(struct cluster_memory *memory, const struct cluster_snapshot *snapshot, int64_t monotonic_ms)
{
    for (int i = 0; i < snapshot->member_count; i++)
        cluster_memory_note_unheard(
            memory, snapshot->members[i].ordinal, !member_speaks(&snapshot->members[i]), monotonic_ms);
}

static void note_times(struct cluster_memory *memory, const struct cluster_snapshot *snapshot)
{
    const struct cluster_transition *transition = &snapshot->last.roles.transition;
    if (!transition->failover) {
        memory->failover_times = (struct failover_times){0};
        return;
    }
    if (memory->failover_times.written_ms == 0 && str_empty(transition->to))
        memory->failover_times.written_ms = snapshot->now_ms;
    if (str_empty(transition->to)) /* not yet, or not any more: the next one is given its own time to open */
        memory->failover_times.chosen_ms = 0;
    else if (memory->failover_times.chosen_ms == 0)
        memory->failover_times.chosen_ms = snapshot->now_ms;
}

void cluster_notes_orders(struct cluster_memory *memory, const struct cluster_snapshot *snapshot,
    const struct cluster_orders *orders, int64_t monotonic_ms)
{
    const struct cluster_transition *transition = &snapshot->last.roles.transition;
    const struct cluster_member *primary = cluster_primary(snapshot);
    memory->heard_epoch = cluster_newest_heard_epoch(snapshot);
    memory->seen_epoch = MAX_OF(snapshot->seen_epoch, snapshot->last.roles.epoch);
    note_fence(memory, snapshot, orders);
    note_stopped(memory, snapshot, monotonic_ms);
    note_gtids_lost(memory, snapshot, monotonic_ms);
    note_unheard(memory, snapshot, monotonic_ms);
    bool is_hibernated = snapshot->scale.effective == 0; /* the time to come up begins with the waking */
    if (is_hibernated || (primary && member_is_open(snapshot, primary)))
        memory->lost_since_ms = 0;
    else if (memory->lost_since_ms == 0)
        memory->lost_since_ms = snapshot->now_ms;
    cluster_memory_note_held(
        memory, transition->failover ? transition->epoch : 0, anybody_is_held(snapshot), monotonic_ms);
    note_times(memory, snapshot);
    outage_look(snapshot, &memory->outage);
    if (snapshot->scale.effective > 0) /* the primary is ordered to open again */
        memory->closing_epoch = 0;
}

/* ---- the status ---- */

static void note_apply(
    struct cluster_memory *memory, const struct cluster_snapshot *snapshot, const struct cluster_intent *intent)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    int64_t epoch = snapshot->last.roles.epoch;
    if (!intent->waits_to_apply || !primary || !primary->agent) {
        memory->apply_since_ms = 0;
        str_replace(&memory->apply_position, NULL);
        return;
    }
    if (memory->apply_since_ms > 0 && memory->apply_epoch == epoch)
        return;
    memory->apply_since_ms = snapshot->now_ms;
    memory->apply_epoch = epoch;
    str_replace(&memory->apply_position, primary->agent->gtid_executed);
}

/* Since when a wish waits, which counts under one epoch only. */
static void note_wait(const struct cluster_snapshot *snapshot, bool waits, int64_t *since_ms, int64_t *since_epoch)
{
    int64_t epoch = snapshot->last.roles.epoch;
    if (!waits)
        *since_ms = 0;
    else if (*since_ms == 0 || *since_epoch != epoch)
        *since_ms = snapshot->now_ms;
    *since_epoch = epoch;
}

void cluster_notes_drain(
    struct cluster_memory *memory, const struct cluster_snapshot *snapshot, const struct cluster_intent *intent)
{
    if (!intent->waits_for_drain)
        memory->drain_since_ms = 0;
    else if (memory->drain_since_ms == 0)
        memory->drain_since_ms = snapshot->now_ms;
    note_apply(memory, snapshot, intent);
    note_wait(snapshot, intent->waits_to_archive, &memory->archive_since_ms, &memory->archive_epoch);
}

bool cluster_notes_check(struct cluster_memory *memory, const struct cluster_snapshot *snapshot)
{
    char role[CHECK_ROLE_SIZE], runtime[17];
    const struct pod_object *pod = snapshot->check_pod;
    if (!snapshot->usable || !pod || pod->phase != POD_PHASE_SUCCEEDED)
        return false;
    desired_check_pod_role(snapshot, CHECK_START, role);
    desired_runtime_hash(snapshot, runtime);
    if (!str_eq(pod->role, role) || str_eq(snapshot->started, runtime))
        return false;
    memcpy(memory->started, runtime, sizeof(runtime));
    return true;
}

void cluster_notes_intent(
    struct cluster_memory *memory, const struct cluster_snapshot *snapshot, const struct cluster_intent *intent)
{
    bool same_primary = str_eq(intent->roles.current_primary, snapshot->last.roles.current_primary);
    if (same_primary && intent->roles.epoch != snapshot->last.roles.epoch)
        memory->epoch_since_ms = snapshot->now_ms;
    if (snapshot->scale.effective == 0 && intent->roles.epoch != snapshot->last.roles.epoch)
        memory->closing_epoch = intent->roles.epoch;
}

bool cluster_notes_report(struct cluster_memory *memory, const struct cluster_snapshot *snapshot, bool primary_obeys)
{
    bool is_awaited = cluster_confirmed_is_awaited(snapshot, primary_obeys);
    cluster_memory_note_awaited(memory, is_awaited ? cluster_primary(snapshot)->agent : NULL);
    return is_awaited;
}

/* ---- the next snapshot ---- */

void cluster_notes_show(const struct cluster_memory *memory, int64_t monotonic_ms, struct cluster_snapshot *snapshot)
{
    snapshot->drain_since_ms = memory->drain_since_ms;
    bool applies = memory->apply_since_ms > 0 && memory->apply_epoch == snapshot->last.roles.epoch;
    snapshot->apply_since_ms = applies ? memory->apply_since_ms : 0;
    snapshot->apply_position = applies ? memory->apply_position : NULL;
    snapshot->archive_since_ms = memory->archive_epoch == snapshot->last.roles.epoch ? memory->archive_since_ms : 0;
    snapshot->fenced_since_ms = memory->fenced_since_ms;
    snapshot->lost_since_ms = memory->lost_since_ms;
    snapshot->held_ms = cluster_memory_held_ms(memory, snapshot->last.roles.transition.epoch, monotonic_ms);
    for (int i = 0; i < snapshot->member_count; i++) {
        struct cluster_member *member = &snapshot->members[i];
        member->stopped_ms = cluster_memory_stopped_ms(memory, member->ordinal, monotonic_ms);
        member->gtids_lost_ms = cluster_memory_gtids_lost_ms(memory, member->ordinal, monotonic_ms);
        member->unheard_ms = cluster_memory_unheard_ms(memory, member->ordinal, monotonic_ms);
    }
    snapshot->failover_times = memory->failover_times;
    snapshot->outage = memory->outage;
    snapshot->awaited_hash = memory->awaited_hash;
    snapshot->awaited_position = memory->awaited_position;
    snapshot->awaited_lapses = memory->awaited_lapses;
    snapshot->awaited_boot_id = memory->awaited_boot_id;
    snapshot->epoch_since_ms = memory->epoch_since_ms;
    snapshot->closing_epoch = memory->closing_epoch;
    snapshot->heard_epoch = memory->heard_epoch;
    snapshot->seen_epoch = memory->seen_epoch;
    snapshot->route_rest_ms = cluster_memory_route_rest_ms(memory, monotonic_ms);
}

/* ---- what is left for later ---- */

bool cluster_failover_is_swift(const struct cluster_snapshot *snapshot)
{
    const struct cluster_transition *transition = &snapshot->last.roles.transition;
    int64_t age_ms = snapshot->now_ms - transition->started_ms;
    return transition->failover && str_empty(transition->to) && age_ms >= 0 && age_ms < FAILOVER_HOLD_MS;
}

bool cluster_primary_is_about_to_change(const struct cluster_snapshot *snapshot)
{
    const struct cluster_transition *transition = &snapshot->last.roles.transition;
    int64_t limit_ms = CLUSTER_FAILOVER_REPORT_MS + (transition->failover ? 0 : CLUSTER_ROUTE_LEAD_MS);
    int64_t age_ms = snapshot->now_ms - transition->started_ms;
    return cluster_transition_is_set(transition) && age_ms >= 0 && age_ms < limit_ms;
}
