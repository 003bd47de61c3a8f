/* SPDX-License-Identifier: Apache-2.0 */
/* One reconcile: operator/cluster/cluster_reconcile_*.c. */
#include "common/base.h"

#include "common/alloc.h"
#include "e2e/simulation/check.h"
#include "e2e/simulation/kube.h"
#include "e2e/simulation/operator.h"
#include "operator/cluster/failover/cluster_confirmed.h"
#include "operator/cluster/reconcile/cluster_notes.h"
#include "operator/cluster/rollout/cluster_decide.h"
#include "operator/cluster/rollout/cluster_roll.h"
#include "operator/cluster/state/member_view.h"
#include "operator/cluster/status/cluster_report_roles.h"

static bool api_answers(const struct sim *sim, int op)
{
    return sim->api.away_until_ms <= sim->now_ms && sim_is_linked(sim, sim_operator_place(op), SIM_API);
}

static void again_in(struct sim *sim, struct sim_operator *o, int64_t ms)
{
    if (ms > 0)
        o->round_ms = MIN_OF(o->round_ms, sim->now_ms + ms);
}

static void send_orders(struct sim *sim, int op, const struct cluster_intent *intent)
{
    struct sim_operator *o = &sim->operators[op];
    struct cluster_orders *orders = &o->orders;
    cluster_order(&o->snapshot, intent, orders);
    o->primary_obeys = cluster_primary_obeys(&o->snapshot, orders);
    for (int i = 0; i < o->snapshot.member_count && i < SIM_MEMBERS_MAX; i++) {
        if (o->streams[i].uid == 0)
            continue;
        if (orders->given[i])
            stream_want(sim, &o->streams[i], &orders->orders[i]);
        if (orders->repeat[i] && !o->streams[i].repeat)
            o->streams[i].repeat_ms = sim->now_ms;
        o->streams[i].repeat = orders->repeat[i];
    }
    cluster_notes_orders(&o->memory, &o->snapshot, orders, sim->now_ms);
    again_in(sim, o, orders->again_ms);
}

/* ---- writes of the status ---- */

/* By whose words on their commits an operator decides, and how old each is; 0: not by that of this member. As
 * cluster_confirmed.c. */
static void look_of_writers(const struct sim_operator *o, int64_t ret_looked_ms[SIM_MEMBERS_MAX])
{
    const struct cluster_snapshot *snapshot = &o->snapshot;
    const struct cluster_transition *transition = &snapshot->last.roles.transition;
    bool is_moving = cluster_transition_is_set(transition);
    char name[DERIVED_NAME_SIZE];
    snprintf(name, sizeof(name), "%s", is_moving ? transition->from : snapshot->last.roles.current_primary);
    memset(ret_looked_ms, 0, SIM_MEMBERS_MAX * sizeof(ret_looked_ms[0]));
    for (int n = 0; !str_empty(name); n++) {
        const struct cluster_member *member = cluster_member_named(snapshot, name);
        if (member && member_speaks(member))
            ret_looked_ms[member->ordinal] = member->agent->looked_ms;
        cluster_transition_before(transition, n, name);
    }
}

static void hear(struct sim *sim, const int64_t looked_ms[SIM_MEMBERS_MAX])
{
    for (int member = 0; member < SIM_MEMBERS_MAX; member++) {
        if (looked_ms[member] > 0)
            check_heard(sim, member, looked_ms[member]);
    }
}

static void begin_write(struct sim *sim, int op, struct cluster_status *status)
{
    struct sim_operator *o = &sim->operators[op];
    bool slow = sim->api.slow_until_ms > sim->now_ms;
    o->write = status;
    o->writing = true;
    o->landed = o->failed = false;
    o->write_version = o->version;
    look_of_writers(o, o->write_looked_ms);
    o->land_ms = sim->now_ms + (slow ? sim_between(sim, op, 71, 300, 3000) : sim_between(sim, op, 71, 10, 30));
    o->answer_ms = o->land_ms + (slow ? sim_between(sim, op, 72, 100, 1500) : sim_between(sim, op, 72, 10, 20));
}

static void write_intent(struct sim *sim, int op, const struct cluster_intent *intent)
{
    struct sim_operator *o = &sim->operators[op];
    struct cluster_status *status = xmalloc(sizeof(*status));
    cluster_notes_intent(&o->memory, &o->snapshot, intent);
    o->intents++;
    cluster_status_copy(&o->snapshot.last, status);
    cluster_intent_apply(&o->snapshot, intent, status);
    begin_write(sim, op, status);
}

static void tell_status(struct sim *sim, const struct cluster_status *before, const struct cluster_status *after)
{
    const struct cluster_transition *t = &after->roles.transition;
    if (!sim->story)
        return;
    if (after->roles.epoch == before->roles.epoch &&
        str_eq(after->roles.current_primary, before->roles.current_primary) &&
        cluster_transition_same(t, &before->roles.transition) &&
        after->roles.acknowledgers == before->roles.acknowledgers &&
        after->roles.confirmed.semi_sync == before->roles.confirmed.semi_sync)
        return;
    sim_tell(sim, "status: epoch %lld, primary %s, acknowledgers 0x%llx, %s%s", (long long)after->roles.epoch,
        after->roles.current_primary, (unsigned long long)after->roles.acknowledgers,
        after->roles.semi_sync ? "semi-sync" : "no semi-sync", after->roles.confirmed.semi_sync ? " (confirmed)" : "");
    if (cluster_transition_is_set(t))
        sim_tell(sim, "        %s from %s to %s%s, %s: %s; position %s", t->failover ? "failover" : "switchover",
            t->from, str_empty(t->to) ? "nobody yet" : t->to, t->salvage ? ", with its binary logs" : "",
            transition_reason_name(t->reason), str_empty(t->to) ? t->evidence : t->candidate_why,
            str_empty(t->position) ? "none" : t->position);
}

static void land(struct sim *sim, int op)
{
    struct sim_operator *o = &sim->operators[op];
    struct cluster_status read;
    o->landed = true;
    o->failed = !api_answers(sim, op) || !sim->api.exists || sim->api.version != o->write_version;
    sim_note(sim, SIM_EVENT_LANDED, op, (uint64_t)o->failed);
    if (o->failed)
        return;
    json_t *json = cluster_status_encode(o->write);
    cluster_status_decode(json, &read);
    json_decref(json);
    check_status(sim, &sim->api.status, &read);
    tell_status(sim, &sim->api.status, &read);
    if (read.roles.epoch != sim->api.status.roles.epoch)
        kube_keep_past(sim);
    cluster_status_release(&sim->api.status);
    memcpy(&sim->api.status, &read, sizeof(read));
    sim->api.version++;
    o->write_version = sim->api.version;
    hear(sim, o->write_looked_ms);
}

static void end_write(struct sim *sim, int op)
{
    struct sim_operator *o = &sim->operators[op];
    if (!o->failed && o->write_version > o->version) { /* informer_observe_write */
        snapshot_take_status(sim, op, o->write);
        o->version = o->write_version;
    }
    o->writing = false;
    cluster_status_release(o->write);
    free(steal_ptr(o->write));
    o->woken = !o->failed;
    if (o->failed)
        again_in(sim, o, sim_between(sim, op, 73, 20, 400));
}

void round_write_step(struct sim *sim, int op)
{
    struct sim_operator *o = &sim->operators[op];
    if (!o->writing)
        return;
    if (!o->landed && sim->now_ms >= o->land_ms)
        land(sim, op);
    if (o->landed && sim->now_ms >= o->answer_ms && o->alive)
        end_write(sim, op);
}

/* ---- the plan ---- */

/* cluster_decide: a roll's next step, a member that is to be seeded again. */
static void decide_pods(struct sim *sim, struct sim_operator *o, const struct roll *roll)
{
    const struct cluster_member *member = cluster_next_reseed(&o->snapshot);
    if (roll->step == ROLL_DELETE && roll->member)
        kube_delete_pod(sim, roll->member->ordinal);
    if (member)
        kube_delete_pod(sim, member->ordinal);
}

static void plan(struct sim *sim, int op, const struct roll *roll)
{
    struct sim_operator *o = &sim->operators[op];
    const struct cluster_snapshot *snapshot = &o->snapshot;
    const struct cluster_member *primary = cluster_primary(snapshot);
    int route = desired_route_is_open(snapshot, primary) ? primary->ordinal : -1;
    if (!api_answers(sim, op)) {
        again_in(sim, o, 500);
        return;
    }
    if (route != sim->api.route) {
        sim->api.route_before = sim->api.route;
        sim->api.route = route;
        sim->api.route_ms = sim->now_ms;
    }
    if (snapshot->cluster.paused || !snapshot->usable) /* cluster_decide: decide_route_only */
        return;
    int wanted = cluster_wanted_pods(snapshot);
    if (wanted != sim->api.set_replicas) {
        sim_tell(sim, "the StatefulSet has %d pods", wanted);
        sim->api.set_replicas = wanted;
    }
    decide_pods(sim, o, roll);
}

/* cluster_phase_status: of a report what is said about roles; the rest no decision looks at. */
static void report(struct sim *sim, int op)
{
    struct sim_operator *o = &sim->operators[op];
    struct cluster_status *status = &o->report;
    cluster_status_copy(&o->snapshot.last, status);
    status->retained_volume_count = 0;
    cluster_report_roles(&o->snapshot, o->primary_obeys, status);
    if (cluster_epoch_spreads(&o->snapshot))
        again_in(sim, o, CLUSTER_EPOCH_SPREAD_MS);
    if (cluster_notes_report(&o->memory, &o->snapshot, o->primary_obeys))
        again_in(sim, o, CLUSTER_CONFIRM_MS);
    /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): equal bytes are the same; else the members decide */
    if (memcmp(status, &o->snapshot.last, sizeof(*status)) != 0 && !cluster_status_same(status, &o->snapshot.last)) {
        begin_write(sim, op, xmemdup(status, sizeof(*status))); /* what it owns goes along */
        return;
    }
    cluster_status_release(status);
}

/* Orders are not given again: nothing has changed for them. */
static void plan_and_report(struct sim *sim, int op, const struct roll *roll)
{
    struct sim_operator *o = &sim->operators[op];
    plan(sim, op, roll);
    if (cluster_primary_is_about_to_change(&o->snapshot))
        again_in(sim, o, CLUSTER_FAILOVER_REPORT_MS);
    else
        report(sim, op);
}

static bool has_old_pod(const struct sim *sim, const struct sim_operator *o)
{
    for (int i = 0; i < SIM_MEMBERS_MAX; i++) {
        if (o->seen[i].is_there && o->seen[i].revision != sim->api.revision)
            return true;
    }
    return false;
}

/* What it has been told changes nothing. */
static void note_heard(struct sim *sim, int op)
{
    const struct sim_operator *o = &sim->operators[op];
    int64_t looked_ms[SIM_MEMBERS_MAX];
    look_of_writers(o, looked_ms);
    if (o->version == sim->api.version && sim->api.lease_holder == op)
        hear(sim, looked_ms);
}

void round_run(struct sim *sim, int op)
{
    struct sim_operator *o = &sim->operators[op];
    struct cluster_intent *intent = xmalloc(sizeof(*intent));
    struct roll roll = {.step = ROLL_DONE};
    o->woken = false;
    o->round_ms = sim->now_ms + 5000;
    snapshot_update(sim, op);
    if (has_old_pod(sim, o) && !o->snapshot.cluster.paused && o->snapshot.usable)
        cluster_roll(&o->snapshot, &roll);
    cluster_intend(&o->snapshot, roll.step == ROLL_SWITCHOVER, intent);
    send_orders(sim, op, intent);
    cluster_notes_drain(&o->memory, &o->snapshot, intent);
    again_in(sim, o, intent->again_ms);
    sim_note(sim, SIM_EVENT_ROUND, op, o->version << 1 | (uint64_t)intent->changed);
    if (intent->changed && o->intents < CLUSTER_INTENTS_MAX)
        write_intent(sim, op, intent);
    else {
        if (!intent->changed)
            note_heard(sim, op);
        o->intents = 0;
        if (!cluster_failover_is_swift(&o->snapshot))
            plan_and_report(sim, op, &roll);
    }
    if (!str_eq(intent->next_action, o->said)) {
        snprintf(o->said, sizeof(o->said), "%s", intent->next_action);
        if (*o->said)
            sim_tell(sim, "operator-%d: next: %.300s", op, o->said);
    }
    free(intent);
}
