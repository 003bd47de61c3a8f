/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "e2e/simulation/agent.h"

#include "agent/agent_decide.h"
#include "agent/healing.h"
#include "agent/heartbeat_lane.h"
#include "agent/readiness.h"
#include "agent/role_decide.h"
#include "agent/role_status.h"
#include "agent/source_watch.h"
#include "common/hashmap.h"
#include "e2e/simulation/server.h"
#include "operator/instance/agent_watch.h"

#define TURN_MS 200

bool agent_answers(const struct sim *sim, int member)
{
    const struct sim_agent *agent = &sim->members[member].agent;
    return agent->alive && agent->frozen_until_ms <= sim->now_ms;
}

/* ---- life ---- */

static void fill_identity(struct sim *sim, int member)
{
    static const char mysql[] = "9.7.0", mariadb[] = "10.11.6-MariaDB";
    struct instance_state *state = &sim->members[member].agent.state;
    state->instance = sim_member_name(member);
    state->observed.version.flavour = sim->mariadb ? AGENT_FLAVOUR_MARIADB : AGENT_FLAVOUR_MYSQL;
    memcpy(state->observed.version.text, sim->mariadb ? mariadb : mysql, sim->mariadb ? sizeof(mariadb) : sizeof(mysql));
    state->observed.server_id = txn_server_id(sim->members[member].disk.own_source);
    if (!sim->mariadb)
        txn_uuid(sim->members[member].disk.own_source, state->observed.server_uuid);
    state->accounts_once = true;
    state->accounts_wanted = state->accounts_applied = 1; /* they are no matter of the simulation */
    state->accounts_scope = ACCOUNTS_LOGGED;
}

static const char *server_run(const struct sim *sim, int member)
{
    static const char nobody[SERVER_RUN_SIZE] = "";
    const struct sim_server *server = &sim->members[member].server;
    return server->phase == SERVER_RUNS || server->phase == SERVER_STARTS ? server->run_text : nobody;
}

/* catch_up_note_init */
static void read_note(struct sim *sim, int member)
{
    const struct sim_member *at = &sim->members[member];
    struct catch_up_note *note = &sim->members[member].agent.note;
    snprintf(note->boot, sizeof(note->boot), "%d", at->boots);
    note->is_there = at->run_dir.has_note;
    if (note->is_there)
        note->found = note->last = at->run_dir.note;
    snprintf(note->server, sizeof(note->server), "%s", server_run(sim, member));
}

/* epoch_file.h: noted_since_begin */
static uint64_t note_since(struct sim *sim, int member)
{
    struct sim_member *at = &sim->members[member];
    struct sim_disk *disk = &at->disk;
    bool stands = disk->noted_since > 0 && disk->noted_boots == at->boots && disk->noted_pod == at->pod.uid;
    if (stands)
        return disk->noted_since;
    disk->noted_since = server_is_full(sim, member) ? 0 : disk->epoch + 1;
    disk->noted_boots = at->boots;
    disk->noted_pod = at->pod.uid;
    return disk->noted_since;
}

void agent_start(struct sim *sim, int member, bool in_init)
{
    struct sim_member *at = &sim->members[member];
    struct sim_agent *agent = &at->agent;
    int crashes = agent->crashes;
    catch_up_gap(&agent->state.catch_up, 0); /* what it owns */
    memset(agent, 0, sizeof(*agent));
    agent->alive = true;
    agent->crashes = crashes;
    agent->in_init = in_init;
    agent->beat_txn = -1;
    agent->watch.member = -1;
    agent->boot = sim_new_id(sim);
    snprintf(agent->boot_id, sizeof(agent->boot_id), "%llx", (unsigned long long)agent->boot);
    if (in_init) {
        agent_init_start(sim, member);
        return;
    }
    /* role_keeper_new */
    struct instance_state *state = &agent->state;
    state->instance = sim_member_name(member);
    state->accounts_once = true;
    state->role.epoch = at->disk.epoch;
    state->role.opened_epoch = at->disk.opened_epoch;
    state->role.noted_since = note_since(sim, member);
    state->role.mark = at->disk.mark;
    state->role.started_ms = sim->now_ms;
    state->role.fence = at->run_dir.fence;
    catch_up_gap(&state->catch_up, sim->now_ms);
    read_note(sim, member);
    agent->marked = at->disk.semi_primary;
    agent->dirty = true;
}

void agent_kill(struct sim *sim, int member)
{
    struct sim_agent *agent = &sim->members[member].agent;
    if (!agent->alive)
        return;
    agent->alive = false;
    agent->crashes++;
    agent->again_ms = sim->now_ms + sim_between(sim, member, 21, 300, 2500);
}

/* ---- the server is gone: role_keeper_server_gone, agent.c: forget_server ---- */

static void server_gone(struct sim *sim, int member)
{
    struct sim_agent *agent = &sim->members[member].agent;
    struct instance_state *state = &agent->state;
    state->last_answer_ms = state->last_status_ms = state->last_probe_ms = state->unanswered_since_ms = 0;
    error_clear(&state->probe_error);
    state->probe_started_ms = 0;
    agent->beat_txn = -1;
    agent->beat_hangs = false;
    agent->beat_rest = (struct beat_rest){0};
    state->beat = (struct beat_state){.wanted = false};
    agent->marked = 0;
    role_note_server_gone(state, sim->now_ms);
    catch_up_note_server_gone(&agent->note);
    agent->dirty = true;
}

static void look_from_outside(struct sim *sim, int member)
{
    struct sim_member *at = &sim->members[member];
    struct instance_state *state = &at->agent.state;
    bool was_there = state->server_there || state->socket_accepts;
    bool is_there = at->server.phase == SERVER_RUNS || at->server.phase == SERVER_STARTS;
    state->server_there = is_there;
    state->socket_accepts = at->server.phase == SERVER_RUNS;
    if (!state->socket_accepts)
        state->accepts_since_ms = 0;
    else if (!state->accepts_since_ms)
        state->accepts_since_ms = sim->now_ms;
    state->seen_gone |= !is_there;
    /* A restart between two turns: it is seen by the pid of the lock (server_run_id). */
    bool another =
        was_there && at->agent.state.replication.seen && !str_eq(at->agent.note.server, server_run(sim, member));
    if ((was_there && !is_there) || another)
        server_gone(sim, member);
}

/* ---- probes ---- */

/* role_keeper.c: take_facts */
void agent_take_facts(struct sim *sim, int member, const struct replication_facts *facts, int64_t started_ms)
{
    struct sim_agent *agent = &sim->members[member].agent;
    struct instance_state *state = &agent->state;
    enum agent_flavour flavour = state->observed.version.flavour;
    if (!role_takes_facts(state, facts))
        return;
    catch_up_look(&state->catch_up, flavour, state->replication.gtid_received, facts->gtid_received,
        facts->drops_received, sim->now_ms);
    catch_up_note_look_at(
        &agent->note, server_run(sim, member), &state->catch_up, flavour, facts->gtid_received, sim->now_ms);
    catch_up_executed(&state->catch_up, flavour, facts->gtid_executed);
    if (!state->replication.seen) {
        role_note_relay_logs(&state->role, facts, false);
        if (state->role.relay != RELAY_PENDING)
            catch_up_note_spend(&agent->note);
    }
    state->replication = *facts;
    state->replication_ms = started_ms;
    state->role.unseen = false;
    role_note_beat(state, facts, started_ms);
    role_note_stream(state, facts, started_ms);
    role_note_lag(state, sim->now_ms);
}

/* role_keeper.c: keep_note */
void agent_keep_note(struct sim *sim, int member)
{
    struct sim_run_dir *run_dir = &sim->members[member].run_dir;
    const struct instance_state *state = &sim->members[member].agent.state;
    struct catch_up_note *note = &sim->members[member].agent.note;
    bool calm = state->role.running == ROLE_ACTION_NONE && !state->role.unseen;
    const char *received = state->replication.gtid_received;
    switch (catch_up_note_decide(note, state->catch_up.up && calm, received)) {
    case CATCH_UP_NOTE_WRITTEN:
        note->last = (struct caught_up){.received = received};
        memcpy(note->last.server, note->server, sizeof(note->last.server));
        memcpy(note->last.boot, note->boot, sizeof(note->last.boot));
        run_dir->note = note->last;
        run_dir->has_note = note->is_there = true;
        break;
    case CATCH_UP_NOTE_REMOVED:
        note->found = note->last = (struct caught_up){0};
        run_dir->has_note = note->is_there = false;
        break;
    default:
        break;
    }
}

static void answered(struct sim *sim, int member)
{
    struct instance_state *state = &sim->members[member].agent.state;
    struct error none = ERROR_INIT;
    struct replication_facts facts;
    agent_note_answer(state, &none);
    fill_identity(sim, member);
    state->last_answer_ms = state->probe_started_ms;
    int64_t started_ms = state->probe_started_ms;
    state->probe_started_ms = 0;
    if (!role_takes_look(&state->role, started_ms))
        return;
    agent_look(sim, member, &facts);
    facts.connection = 1; /* whatever server it is: a restart must be seen */
    role_note_look(state, &facts, started_ms);
    if (state->loss.lost.is_lost)
        sim_fail(sim, VIOLATION_GTIDS, "%s is said to have lost %s", sim_member_name(member), state->loss.lost.lacking);
    agent_take_facts(sim, member, &facts, started_ms);
    agent_keep_note(sim, member);
    if (!state->replication.read_only)
        state->role.was_open = true;
}

static void probe(struct sim *sim, int member)
{
    struct sim_agent *agent = &sim->members[member].agent;
    struct instance_state *state = &agent->state;
    if (!state->server_there)
        return;
    if (!state->probe_started_ms && (sim->now_ms >= agent->probe_ms || !state->last_probe_ms)) {
        agent->probe_ms = sim->now_ms + (state->last_answer_ms ? PROBE_INTERVAL_MS : PROBE_STARTING_INTERVAL_MS);
        if (sim->members[member].disk.mark == AGENT_MARK_RESEED)
            state->role.mark = AGENT_MARK_RESEED; /* agent.c: on_probe */
        agent_note_probe(state, sim->now_ms);
        agent->dirty = true;
    }
    if (!state->probe_started_ms)
        return;
    if (server_answers(sim, member) && sim->now_ms > state->probe_started_ms)
        answered(sim, member);
    else if (!server_runs(&sim->members[member].server)) {
        struct error refused = ERROR_INIT;
        error_set(&refused, ERROR_UNAVAILABLE, "no connection");
        state->probe_error = refused;
        state->probe_started_ms = 0;
    }
    if (!state->probe_started_ms)
        agent->dirty = true;
}

/* ---- the heartbeat: heartbeat_lane.c ---- */

static void stop_beat(struct sim_agent *agent)
{
    agent->beat_txn = -1;
    agent->beat_hangs = false;
    agent->beat_rest = (struct beat_rest){0};
    agent->state.beat = (struct beat_state){.wanted = false};
}

/* A commit that waits has begun, and is among MariaDB's position. */
static struct beat_look look_at_log(const struct sim *sim, int member)
{
    const struct txn_log *log = &sim->members[member].disk.log;
    return (struct beat_look){.known = true,
        .position = (uint64_t)(sim->mariadb ? log->count : log->committed),
        .prepares = (uint64_t)log->count};
}

/* The file on the volume takes every write: no disk hangs here, and a full one has the file already. */
static bool wants_row(struct sim *sim, int member)
{
    struct sim_agent *agent = &sim->members[member].agent;
    uint64_t epoch = agent->state.role.order.epoch;
    if (agent->beat_epoch != epoch)
        agent->beat_rest = (struct beat_rest){0};
    agent->beat_epoch = epoch;
    agent->beat_look = look_at_log(sim, member);
    return beat_rest_wants_row(&agent->beat_rest, &agent->beat_look, agent->beat_may_rest, sim->now_ms);
}

static void note_row(struct sim *sim, int member)
{
    struct sim_agent *agent = &sim->members[member].agent;
    struct beat_look after = look_at_log(sim, member);
    beat_rest_note_row(&agent->beat_rest, &agent->beat_look, &after, agent->state.beat.started_ms);
    agent->beat_txn = -1;
    agent->state.beat.started_ms = agent->state.beat.blocked_since_ms = 0;
    agent->dirty = true;
}

static void beat(struct sim *sim, int member)
{
    struct sim_agent *agent = &sim->members[member].agent;
    struct beat_state *state = &agent->state.beat;
    if (!state->wanted) {
        agent->beat_txn = -1;
        agent->beat_hangs = false;
        return;
    }
    if (agent->beat_hangs && !server_is_full(sim, member) && !server_is_locked(sim, member)) {
        agent->beat_hangs = false;
        state->started_ms = 0;
    }
    if (agent->beat_txn >= 0 && server_has_committed(sim, member, agent->beat_txn))
        note_row(sim, member);
    bool may_rest = role_may_rest(&agent->state, sim->now_ms);
    if (agent->beat_may_rest && !may_rest)
        agent->beat_ms = sim->now_ms;
    agent->beat_may_rest = may_rest;
    if (agent->beat_txn >= 0 || agent->beat_hangs || sim->now_ms < agent->beat_ms || !server_answers(sim, member))
        return;
    agent->beat_ms = sim->now_ms + HEARTBEAT_INTERVAL_MS;
    if (!wants_row(sim, member)) {
        agent->state.beat.blocked_since_ms = 0;
        return;
    }
    int txn = server_write(sim, member, TXN_BEAT, agent->state.role.order.epoch);
    agent->beat_hangs = txn < 0 && (server_is_full(sim, member) || server_is_locked(sim, member));
    if (txn < 0 && !agent->beat_hangs)
        return;
    agent->beat_txn = txn;
    state->started_ms = sim->now_ms;
    if (!state->blocked_since_ms)
        state->blocked_since_ms = sim->now_ms;
}

/* ---- a turn: role_keeper_turn ---- */

/* volume_watch.c: a volume of 100 GiB. */
static void look_at_volume(struct sim *sim, int member)
{
    const struct sim_member *at = &sim->members[member];
    struct volume_room *room = &sim->members[member].agent.state.room;
    uint64_t some = at->short_until_ms > sim->now_ms ? VOLUME_FLOOR_MIN : UINT64_C(50) << 30;
    (void)volume_room_look(room, server_is_full(sim, member) ? 0 : some, UINT64_C(100) << 30, 0, sim->now_ms);
}

static void turn(struct sim *sim, int member)
{
    struct sim_member *at = &sim->members[member];
    struct sim_agent *agent = &at->agent;
    struct instance_state *state = &agent->state;
    agent_note_turn(state, sim->now_ms);
    state->serving_copies = (uint32_t)agent_init_count_copies(sim, member);
    role_note_copy(state, sim->now_ms);
    look_at_volume(sim, member);
    if (role_note_room(state, sim->now_ms))
        sim_tell(sim, "%s: %s", sim_member_name(member),
            state->role.closed_for_room     ? "too little room for writes"
                : state->role.held_for_room ? "too little room to receive"
                                            : "there is room again");
    if (role_note_isolation(state, sim->now_ms))
        sim_tell(sim, "%s closes itself: it hears nobody", sim_member_name(member));
    state->role.stopping = at->run_dir.stopping;
    state->role.leaving = at->run_dir.leaving;
    agent->job.superseded |= role_ends_suspension(state);
    agent_keep_mark(sim, member);
    agent_set_source(sim, member);
    enum agent_phase phase = agent_phase_of(state, sim->now_ms);
    struct role_decision decision = role_decide(state, phase, sim->now_ms);
    if (role_beats(state))
        state->beat.wanted = true;
    else if (state->beat.wanted)
        stop_beat(agent);
    if (decision.action == ROLE_ACTION_NONE)
        return;
    if (decision.action == ROLE_ACTION_OPEN && healing_must_wait(state, agent->marked))
        return;
    if (role_waits_for_beat(state, &decision, agent->accepted_ms, sim->now_ms))
        return;
    agent_begin_job(sim, member, &decision);
}

#define SAID_SIZE offsetof(struct agent_status, backup)

void agent_status_say(const struct agent_status *from, struct agent_status *to)
{
    memcpy(to, from, SAID_SIZE);
    to->problem_count = from->problem_count;
    memcpy(to->problems, from->problems, (size_t)from->problem_count * sizeof(from->problems[0]));
}

static void publish(struct sim *sim, int member)
{
    struct sim_member *at = &sim->members[member];
    struct sim_agent *agent = &at->agent;
    struct agent_status *status = &agent->status;
    if (!agent->in_init) {
        uint64_t sequence = status->sequence;
        memset(status, 0, SAID_SIZE);
        status->problem_count = 0;
        status->sequence = sequence + 1;
        memcpy(status->boot_id, agent->boot_id, sizeof(status->boot_id));
        memcpy(status->instance, sim_member_name(member), sizeof("db-mysql-0"));
        readiness_fill_status(&agent->state, sim->now_ms, status);
    }
    status->clock_ms = sim->now_ms;
    status->now_ms = sim_wall_ms(sim);
    agent_status_say(status, &sim->news);
    agent->digest = agent_watch_digest(&sim->news);
    agent->publish_ms = sim->now_ms + AGENT_STATUS_INTERVAL_MS;
    sim_note(sim, SIM_EVENT_PUBLISHED, member, agent->digest);
    at->pod.ready = status->ready && !at->agent.in_init;
}

void agent_step(struct sim *sim, int member)
{
    struct sim_agent *agent = &sim->members[member].agent;
    if (!agent_answers(sim, member))
        return;
    if (agent->in_init) {
        agent_init_step(sim, member);
    } else {
        look_from_outside(sim, member);
        agent_job_step(sim, member);
        probe(sim, member);
        beat(sim, member);
        agent_watch_source(sim, member);
        if (agent->dirty || sim->now_ms >= agent->turn_ms) {
            agent->turn_ms = sim->now_ms + TURN_MS;
            turn(sim, member);
        }
    }
    if (agent->dirty || sim->now_ms >= agent->publish_ms)
        publish(sim, member);
    agent->dirty = false;
}

/* ---- orders: role_keeper.c: accept ---- */

static uint64_t identify_source(const struct agent_order *order)
{
    uint64_t hash = hash64(HASH64_INIT, order->source_host, strlen(order->source_host) + 1);
    return hash ? hash : 1;
}

static void set_aside(struct sim *sim, int member)
{
    sim_tell(sim, "%s: what it alone has is set aside, and its volume is marked", sim_member_name(member));
}

static void accept(struct sim *sim, int member, const struct agent_order *order)
{
    struct sim_member *at = &sim->members[member];
    struct sim_agent *agent = &at->agent;
    struct role_state *role = &agent->state.role;
    char hash[17];
    agent_order_hash(order, hash);
    bool renewed = role_note_epoch(&agent->state, order, hash, sim->now_ms);
    agent_heal_ordered(sim, member, order, renewed);
    if (renewed)
        return;
    agent->job.superseded = true;
    role_note_order(&agent->state, order, hash);
    role->source_wanted = identify_source(&role->order);
    agent->accepted_ms = sim->now_ms;
    if (order->role != AGENT_ROLE_PRIMARY)
        stop_beat(agent);
    agent->dirty = true;
    int source = sim_member_of_host(order->source_host);
    sim_tell(sim, "%s takes up: %s%s%s%s%s, epoch %llu", sim_member_name(member),
        order->role == AGENT_ROLE_NONE ? "nothing" : agent_role_name(order->role),
        order->role == AGENT_ROLE_REPLICA ? " of " : "",
        order->role == AGENT_ROLE_REPLICA ? (source >= 0 ? sim_member_name(source) : "nobody") : "",
        order->await_source ? " once that is open" : "",
        *order->salvage_host ? ", with the lost one's binary logs" : "", (unsigned long long)order->epoch);
}

bool agent_take_order(struct sim *sim, int member, const struct agent_order *order, int64_t as_of_ms)
{
    struct sim_member *at = &sim->members[member];
    sim_note(sim, SIM_EVENT_ORDERED, member, order->epoch << 16 | (uint64_t)order->role << 8 | (uint64_t)order->seed);
    agent_heard(sim, member, -1, as_of_ms);
    if (at->agent.in_init)
        return agent_init_order(sim, member, order);
    const struct role_state *role = &at->agent.state.role;
    if (order->epoch < role->epoch)
        return false;
    if (order->mark == AGENT_MARK_RESEED && order->set_aside && role->mark != AGENT_MARK_RESEED)
        set_aside(sim, member);
    if (order->mark != AGENT_MARK_NONE && server_is_full(sim, member))
        return true; /* it fails, and is tried again */
    /* begin_acceptance: on the volume before it counts; a full one takes the epoch, too (epoch_file.c). */
    at->disk.epoch = MAX_OF(at->disk.epoch, order->epoch);
    if (order->role == AGENT_ROLE_PRIMARY) /* else it stands until the server is closed */
        at->run_dir.fence = self_fence_of(order);
    enum agent_mark mark = role_mark_after(role, order);
    if (order->mark != AGENT_MARK_NONE || mark != role->mark)
        at->disk.mark = mark;
    accept(sim, member, order);
    return true;
}

void agent_heard(struct sim *sim, int member, int other, int64_t as_of_ms)
{
    struct sim_agent *agent = &sim->members[member].agent;
    if (agent->in_init)
        return;
    agent->dirty |= role_note_isolation(&agent->state, sim->now_ms);
    if (other < 0)
        hearing_operator(&agent->state.role.hearing, as_of_ms, sim->now_ms);
    else
        hearing_member(&agent->state.role.hearing, sim_member_name(other), as_of_ms, sim->now_ms);
    if (other < 0)
        return;
    const struct volume_room *theirs = &sim->members[other].agent.state.room;
    struct others_word word = {.is_short = theirs->is_short,
        .is_last = theirs->is_last,
        .pause_ms = (uint32_t)source_watch_pause_ms(&sim->members[other].agent.state)};
    others_room_note(&agent->state.others, sim_member_name(other), &word, sim->now_ms);
}
