/* One reconcile: cluster_round.c, cluster_round_agents.c, cluster_round_report.c. */
#include "common/base.h"

#include "common/alloc.h"
#include "e2e/simulation/check.h"
#include "e2e/simulation/kube.h"
#include "e2e/simulation/operator.h"
#include "operator/cluster/cluster_confirmed.h"
#include "operator/cluster/cluster_failover.h"
#include "operator/cluster/cluster_report_roles.h"
#include "operator/cluster/cluster_roll.h"
#include "operator/cluster/failover_election.h"
#include "operator/cluster/member_view.h"

#define INTENTS_MAX 4
#define CONFIRM_MS 200 /* CLUSTER_CONFIRM_MS */

static bool api_answers(const struct sim *sim, int op)
{
    return sim->api.away_until_ms <= sim->now_ms && sim_is_linked(sim, sim_operator_place(op), SIM_API);
}

static void again_in(struct sim *sim, struct sim_operator *o, int64_t ms)
{
    if (ms > 0)
        o->round_ms = MIN_OF(o->round_ms, sim->now_ms + ms);
}

/* ---- cluster_round_agents.c ---- */

static void note_fence(struct sim_operator *o, const struct cluster_orders *orders)
{
    const struct cluster_snapshot *snapshot = &o->snapshot;
    if (!cluster_transition_is_set(&snapshot->last.transition)) {
        o->fenced_since_ms = 0;
        return;
    }
    for (int i = 0; i < snapshot->member_count; i++) {
        bool told = orders->given[i] && orders->orders[i].role == AGENT_ROLE_NONE;
        if (told && str_eq(snapshot->members[i].name, snapshot->last.transition.from) && o->fenced_since_ms == 0)
            o->fenced_since_ms = snapshot->now_ms;
    }
}

static void note_stopped(struct sim *sim, struct sim_operator *o)
{
    for (int i = 0; i < o->snapshot.member_count; i++) {
        const struct cluster_member *member = &o->snapshot.members[i];
        int64_t *since_ms = &o->stopped_since_ms[member->ordinal];
        if (!acknowledgers_has_stopped(&o->snapshot, member))
            *since_ms = 0;
        else if (*since_ms == 0)
            *since_ms = sim->now_ms;
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

static void note_loss(struct sim *sim, struct sim_operator *o)
{
    const struct cluster_snapshot *snapshot = &o->snapshot;
    const struct cluster_transition *transition = &snapshot->last.transition;
    const struct cluster_member *primary = cluster_primary(snapshot);
    int64_t epoch = transition->failover ? transition->epoch : 0;
    note_stopped(sim, o);
    if (primary && member_is_open(snapshot, primary))
        o->lost_since_ms = 0;
    else if (o->lost_since_ms == 0)
        o->lost_since_ms = snapshot->now_ms;
    if (o->held_epoch != epoch) /* cluster_memory_note_held */
        o->held_since_ms = 0;
    o->held_epoch = epoch;
    if (epoch != 0 && o->held_since_ms == 0 && anybody_is_held(snapshot))
        o->held_since_ms = sim->now_ms;
    if (!transition->failover) {
        o->times = (struct failover_times){0};
        return;
    }
    if (o->times.written_ms == 0 && str_empty(transition->to))
        o->times.written_ms = snapshot->now_ms;
    if (str_empty(transition->to))
        o->times.chosen_ms = 0;
    else if (o->times.chosen_ms == 0)
        o->times.chosen_ms = snapshot->now_ms;
}

static void send_orders(struct sim *sim, int op)
{
    struct sim_operator *o = &sim->operators[op];
    struct cluster_orders *orders = xmalloc(sizeof(*orders));
    cluster_order(&o->snapshot, orders);
    for (int i = 0; i < o->snapshot.member_count && i < SIM_MEMBERS_MAX; i++) {
        if (o->streams[i].uid == 0)
            continue;
        if (orders->given[i])
            stream_want(sim, &o->streams[i], &orders->orders[i]);
        if (orders->repeat[i] && !o->streams[i].repeat)
            o->streams[i].repeat_ms = sim->now_ms;
        o->streams[i].repeat = orders->repeat[i];
    }
    note_fence(o, orders);
    note_loss(sim, o);
    again_in(sim, o, orders->again_ms);
    free(orders);
}

/* ---- writes of the status ---- */

static void begin_write(struct sim *sim, int op, struct cluster_status *status)
{
    struct sim_operator *o = &sim->operators[op];
    bool slow = sim->api.slow_until_ms > sim->now_ms;
    o->write = status;
    o->writing = true;
    o->landed = o->failed = false;
    o->write_version = o->version;
    o->land_ms = sim->now_ms + (slow ? sim_between(sim, op, 71, 300, 3000) : sim_between(sim, op, 71, 10, 30));
    o->answer_ms = o->land_ms + (slow ? sim_between(sim, op, 72, 100, 1500) : sim_between(sim, op, 72, 10, 20));
}

static void write_intent(struct sim *sim, int op, const struct cluster_intent *intent)
{
    struct sim_operator *o = &sim->operators[op];
    struct cluster_status *status = xmalloc(sizeof(*status));
    bool same_primary = str_eq(intent->primary, o->snapshot.last.current_primary);
    if (same_primary && intent->epoch != o->snapshot.last.epoch)
        o->epoch_since_ms = o->snapshot.now_ms;
    o->intents++;
    cluster_status_copy(&o->snapshot.last, status);
    cluster_intent_apply(&o->snapshot, intent, status);
    begin_write(sim, op, status);
}

static void tell_status(struct sim *sim, const struct cluster_status *before, const struct cluster_status *after)
{
    const struct cluster_transition *t = &after->transition;
    if (!sim->story)
        return;
    if (after->epoch == before->epoch && str_eq(after->current_primary, before->current_primary) &&
        cluster_transition_same(t, &before->transition) && after->acknowledgers == before->acknowledgers &&
        after->confirmed.semi_sync == before->confirmed.semi_sync)
        return;
    sim_tell(sim, "status: epoch %lld, primary %s, acknowledgers 0x%llx, %s%s", (long long)after->epoch,
        after->current_primary, (unsigned long long)after->acknowledgers,
        after->semi_sync ? "semi-sync" : "no semi-sync", after->confirmed.semi_sync ? " (confirmed)" : "");
    if (cluster_transition_is_set(t))
        sim_tell(sim, "        %s from %s to %s%s, %s: %s; position %s", t->failover ? "failover" : "switchover",
            t->from, str_empty(t->to) ? "nobody yet" : t->to, t->salvage ? ", with its binary logs" : "", t->reason,
            str_empty(t->to) ? t->evidence : t->candidate_why, str_empty(t->position) ? "none" : t->position);
}

static void land(struct sim *sim, int op)
{
    struct sim_operator *o = &sim->operators[op];
    struct cluster_status read;
    o->landed = true;
    o->failed = !api_answers(sim, op) || !sim->api.exists || sim->api.version != o->write_version;
    if (o->failed)
        return;
    json_t *json = cluster_status_encode(o->write);
    cluster_status_decode(json, &read);
    json_decref(json);
    check_status(sim, &sim->api.status, &read);
    tell_status(sim, &sim->api.status, &read);
    if (read.epoch != sim->api.status.epoch)
        kube_keep_past(sim);
    cluster_status_release(&sim->api.status);
    memcpy(&sim->api.status, &read, sizeof(read));
    sim->api.version++;
    o->write_version = sim->api.version;
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

/* desired_services.c: is_route_open */
static bool is_route_open(const struct cluster_snapshot *snapshot, const struct cluster_member *primary)
{
    const struct cluster_transition *transition = &snapshot->last.transition;
    if (!primary || !primary->pod || !snapshot->last.initialized || (transition->failover && str_empty(transition->to)))
        return false;
    if (!member_speaks(primary))
        return cluster_member_is_ready(primary) || (primary->agent && primary->agent->writable);
    if (primary->agent->phase == AGENT_PHASE_UNKNOWN)
        return true;
    return primary->agent->writable || str_eq(primary->name, transition->to);
}

/* cluster_decide.c: decide_reseed, decide_roll */
static void decide_pods(struct sim *sim, struct sim_operator *o, const struct roll *roll)
{
    const struct cluster_snapshot *snapshot = &o->snapshot;
    const struct cluster_member *primary = cluster_primary(snapshot);
    if (roll->step == ROLL_DELETE && roll->member)
        kube_delete_pod(sim, roll->member->ordinal);
    if (!primary || !member_is_open(snapshot, primary))
        return;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (member == primary || !member_is_wanted(snapshot, member) || !member_runs(member) ||
            member->agent->mark != AGENT_MARK_RESEED || !member->pod || member->pod->object.deleting)
            continue;
        kube_delete_pod(sim, i);
        return;
    }
}

static void plan(struct sim *sim, int op, const struct roll *roll)
{
    struct sim_operator *o = &sim->operators[op];
    const struct cluster_snapshot *snapshot = &o->snapshot;
    const struct cluster_member *primary = cluster_primary(snapshot);
    int route = is_route_open(snapshot, primary) ? primary->ordinal : -1;
    if (!api_answers(sim, op)) {
        again_in(sim, o, 500);
        return;
    }
    if (route != sim->api.route) {
        sim->api.route_before = sim->api.route;
        sim->api.route = route;
        sim->api.route_ms = sim->now_ms;
    }
    int wanted = cluster_wanted_pods(snapshot);
    if (wanted != sim->api.set_replicas) {
        sim_tell(sim, "the StatefulSet has %d pods", wanted);
        sim->api.set_replicas = wanted;
    }
    decide_pods(sim, o, roll);
}

/* cluster_memory_note_awaited: after the report, which goes by what was noted before. */
static void note_awaited(struct sim *sim, struct sim_operator *o)
{
    if (!cluster_confirmed_is_awaited(&o->snapshot)) {
        o->awaited_hash[0] = '\0';
        return;
    }
    const struct agent_status *primary = cluster_primary(&o->snapshot)->agent;
    if (!str_eq(o->awaited_hash, primary->order_hash)) {
        memcpy(o->awaited_hash, primary->order_hash, sizeof(o->awaited_hash));
        o->awaited_position = primary->gtid_executed;
    }
    again_in(sim, o, CONFIRM_MS);
}

/* cluster_round_report: of a report what is said about roles; the rest no decision looks at. */
static void report(struct sim *sim, int op)
{
    struct sim_operator *o = &sim->operators[op];
    struct cluster_status *status = xmalloc(sizeof(*status));
    cluster_status_copy(&o->snapshot.last, status);
    status->retained_volume_count = 0;
    cluster_report_roles(&o->snapshot, status);
    note_awaited(sim, o);
    if (memcmp(status, &o->snapshot.last, sizeof(*status)) != 0 && !cluster_status_same(status, &o->snapshot.last)) {
        begin_write(sim, op, status);
        return;
    }
    cluster_status_release(status);
    free(status);
}

static bool failover_is_swift(const struct cluster_snapshot *snapshot)
{
    const struct cluster_transition *transition = &snapshot->last.transition;
    int64_t age_ms = snapshot->now_ms - transition->started_ms;
    return transition->failover && str_empty(transition->to) && age_ms >= 0 && age_ms < FAILOVER_HOLD_MS;
}

static bool has_old_pod(const struct sim *sim, const struct sim_operator *o)
{
    for (int i = 0; i < SIM_MEMBERS_MAX; i++) {
        if (o->seen[i].is_there && o->seen[i].revision != sim->api.revision)
            return true;
    }
    return false;
}

void round_run(struct sim *sim, int op)
{
    struct sim_operator *o = &sim->operators[op];
    struct cluster_intent *intent = xmalloc(sizeof(*intent));
    struct roll roll = {.step = ROLL_DONE};
    o->woken = false;
    o->round_ms = sim->now_ms + 5000;
    snapshot_update(sim, op);
    send_orders(sim, op);
    if (has_old_pod(sim, o))
        cluster_roll(&o->snapshot, &roll);
    cluster_intend(&o->snapshot, roll.step == ROLL_SWITCHOVER, intent);
    again_in(sim, o, intent->again_ms);
    if (intent->waits_for_drain)
        again_in(sim, o, 1000);
    if (intent->changed && o->intents < INTENTS_MAX)
        write_intent(sim, op, intent);
    else if (!failover_is_swift(&o->snapshot)) {
        o->intents = 0;
        plan(sim, op, &roll); /* orders are not given again: nothing has changed for them */
        report(sim, op);
    } else
        o->intents = 0;
    if (!str_eq(intent->next_action, o->said)) {
        snprintf(o->said, sizeof(o->said), "%s", intent->next_action);
        if (*o->said)
            sim_tell(sim, "operator-%d: next: %.300s", op, o->said);
    }
    free(intent);
}
