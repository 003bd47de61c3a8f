/* SPDX-License-Identifier: Apache-2.0 */
/* What an agent does to its server: agent/role_lane.c, agent/mysql/role_change.c and role_close.c, in the order of
 * their statements. */
#include "common/base.h"

#include "agent/healing.h"
#include "agent/mysql/role_change.h"
#include "agent/relay_recover.h"
#include "agent/role_decide.h"
#include "agent/role_status.h"
#include "common/gtid.h"
#include "e2e/simulation/agent.h"
#include "e2e/simulation/check.h"
#include "e2e/simulation/server.h"

/* ---- looking: replication_facts.c ---- */

static uint64_t beat_epoch(const struct sim *sim, int member)
{
    const struct txn_log *log = &sim->members[member].disk.log;
    for (int i = log->committed - 1; i >= 0; i--) {
        const struct txn *txn = &sim->txns.all[log->entries[i]];
        if (txn->kind == TXN_BEAT)
            return txn->epoch;
    }
    return 0;
}

static int64_t beat_age_ms(const struct sim *sim, int member)
{
    const struct txn_log *log = &sim->members[member].disk.log;
    for (int i = log->committed - 1; i >= 0; i--) {
        const struct txn *txn = &sim->txns.all[log->entries[i]];
        if (txn->kind == TXN_BEAT)
            return sim->now_ms - txn->made_ms;
    }
    return 0;
}

/* gtid_binlog_state */
static const char *binlog_state(struct sim *sim, const struct sim_member *at)
{
    char text[TXN_SOURCES_MAX * 32];
    char *end = text;
    *end = '\0';
    const uint32_t *upto = at->disk.log.all.upto;
    for (int i = 0; i < sim->txns.sources; i++) {
        const struct txn txn = {.source = (uint8_t)i, .number = upto[i]};
        if (upto[i] == 0)
            continue;
        if (end != text)
            *end++ = ',';
        txn_gtid(&txn, true, end, sizeof(text) - (size_t)(end - text));
        end += strlen(end);
    }
    return position_take(sim->positions, text);
}

/* A copy ends between commits, so it waits for those that wait. */
static bool copy_waits(const struct sim *sim, int member)
{
    for (int i = 0; i < sim->member_count; i++) {
        if (agent_init_waits_for(sim, i, member))
            return true;
    }
    return false;
}

void agent_look(struct sim *sim, int member, struct replication_facts *ret)
{
    const struct sim_member *at = &sim->members[member];
    const struct sim_server *server = &at->server;
    *ret = (struct replication_facts){.seen = true,
        .begun_ms = sim->now_ms,
        .read_only = server->read_only,
        .configured = at->disk.configured,
        .relay_logs_last = !sim->mariadb,
        .relay_logs_kept = server->relay_kept,
        .semi_sync_source = server->semi_source,
        .semi_sync_replica = server->semi_replica,
        .semi_sync_waits = server->semi_source && !server->semi_gave_up,
        .semi_sync_altered = server->semi_timeout_ms > 0,
        .semi_sync_gives = server->gives,
        .acknowledged = server->acknowledged,
        .unacknowledged = server->unacknowledged,
        .unacknowledged_known = true,
        .semi_sync_acks = sim->mariadb ? 0 : (uint32_t)MAX_OF(1, server->semi_acks),
        .waiting_commits = (uint32_t)server_waiting(at),
        .long_transactions = server->long_until_ms > sim->now_ms,
        .beat_locked = server_is_locked(sim, member) && role_beat_is_late(&at->agent.state, sim->now_ms),
        .copy_waits = copy_waits(sim, member),
        .system_tables_seen = true,
        .accounts_present = true,
        .events_listed = true};
    char position[SIM_POSITION_SIZE];
    server_executed(sim, member, position, sizeof(position));
    ret->gtid_executed = position_take(sim->positions, position);
    server_received(sim, member, position, sizeof(position));
    ret->gtid_received = position_take(sim->positions, position);
    ret->drops_received = server_drops_received(sim, member);
    if (sim->mariadb)
        ret->gtid_state = binlog_state(sim, at);
    if (at->disk.self_written)
        snprintf(ret->self_written, sizeof(ret->self_written), AGENT_START_DOMAIN "-%u-1",
            txn_server_id(at->disk.own_source));
    if (server->semi_source)
        ret->semi_sync_clients = server_acknowledgers(sim, member);
    ret->beat_epoch = beat_epoch(sim, member);
    ret->has_beat = ret->beat_epoch > 0;
    ret->beat_read_us = sim_wall_ms(sim) * 1000;
    ret->beat_us = ret->beat_read_us - beat_age_ms(sim, member) * 1000;
    if (!at->disk.configured)
        return;
    snprintf(ret->source_host, sizeof(ret->source_host), "%s.db-mysql.ns.svc", sim_member_name(at->disk.source));
    ret->source_port = MYSQL_PORT;
    ret->source_tls = true;
    ret->source_beat_ms = SOURCE_BEAT_MS;
    ret->receiver = server->receiver;
    ret->applier = server->applier;
    ret->stream_signature = server->signature;
    ret->source_beats = server->beats;
    ret->stream_position = (uint64_t)server->stream_at;
    ret->all_applied = server_has_applied_all(at);
    ret->receiver_errno = server->receiver_errno;
    ret->applier_errno = server->applier_errno;
    snprintf(ret->receiver_error, sizeof(ret->receiver_error), "%s", server->receiver_error);
    snprintf(ret->applier_error, sizeof(ret->applier_error), "%s", server->applier_error);
}

/* ---- open: role_open ---- */

static void fail(struct role_result *out, const char *why)
{
    error_set(&out->error, ERROR_CONFLICT, "%s", why);
}

static enum gtid_flavour flavour_of(const struct sim *sim)
{
    return sim->mariadb ? GTID_MARIADB : GTID_MYSQL;
}

static bool text_holds(const struct sim *sim, const char *all, const char *wanted)
{
    _cleanup_(gtid_set_freep) struct gtid_set *a = gtid_set_parse(flavour_of(sim), all, NULL);
    _cleanup_(gtid_set_freep) struct gtid_set *b = gtid_set_parse(flavour_of(sim), wanted, NULL);
    if (!a || !b)
        return false;
    enum gtid_relation relation = gtid_set_compare(a, b);
    return relation == GTID_EQUAL || relation == GTID_SUPERSET;
}

/* is_executed: not by the number alone. */
static bool has_executed(struct sim *sim, int member, const char *wanted)
{
    char executed[SIM_POSITION_SIZE];
    server_executed(sim, member, executed, sizeof(executed));
    if (str_empty(wanted))
        return true;
    if (!text_holds(sim, executed, wanted))
        return false;
    _cleanup_(gtid_set_freep) struct gtid_set *set = sim->mariadb ? gtid_set_parse(GTID_MARIADB, wanted, NULL) : NULL;
    return !set || !gtid_state_lacks(binlog_state(sim, &sim->members[member]), set);
}

/* is_received: what is missing lies in the relay logs. */
static bool is_received(const struct sim *sim, int member, const char *wanted)
{
    const struct sim_member *at = &sim->members[member];
    char received[SIM_POSITION_SIZE];
    if (!at->disk.configured || (sim->mariadb && at->server.applier == AGENT_THREAD_OFF))
        return false;
    server_received(sim, member, received, sizeof(received));
    return str_empty(wanted) || text_holds(sim, received, wanted);
}

static void repair(struct sim *sim, int member, bool restart)
{
    struct sim_server *server = &sim->members[member].server;
    if (server->receiver == AGENT_THREAD_OFF && (!server->receiver_errno || restart))
        server_start_receiver(sim, member);
    if (server->applier == AGENT_THREAD_OFF && (!server->applier_errno || restart))
        server_start_applier(sim, member);
}

/* drain_relay_log, forget_source. False: not yet. */
static bool drain(struct sim *sim, int member, struct role_result *out)
{
    struct sim_member *at = &sim->members[member];
    at->server.semi_replica = false;
    server_stop_receiver(sim, member);
    if (at->server.applier == AGENT_THREAD_OFF) {
        if (at->server.applier_errno) {
            fail(out, "what was received cannot be applied");
            return false;
        }
        server_start_applier(sim, member);
    }
    if (!server_has_applied_all(at))
        return false;
    at->server.applier = AGENT_THREAD_OFF;
    at->disk.configured = false;
    txn_queue_clear(&at->disk.relay);
    return true;
}

static bool salvage(struct sim *sim, int member, struct role_result *out)
{
    struct sim_agent *agent = &sim->members[member].agent;
    if (agent->job.salvage == SALVAGE_FETCHED) {
        for (int i = 0; i < agent->fetched_count && !sim->members[member].server.applier_errno; i++)
            server_apply(sim, member, agent->fetched[i]);
        if (sim->members[member].server.applier_errno) {
            sim->members[member].server.applier_errno = 0;
            fail(out, "what was salvaged cannot be applied");
            return false;
        }
        out->salvage_applied = true;
    }
    if (agent->job.salvage != SALVAGE_ASK)
        return true;
    char after[SIM_POSITION_SIZE];
    server_executed(sim, member, after, sizeof(after));
    out->salvage_after = position_take(sim->positions, after);
    out->salvage_asked = position_is_whole(out->salvage_after);
    return false;
}

static void open_server(struct sim *sim, int member, struct role_result *out)
{
    struct sim_member *at = &sim->members[member];
    const struct sim_job *job = &at->agent.job;
    if (!at->server.read_only) {
        agent_look(sim, member, &out->look.facts);
        out->look.taken = true;
    }
    bool there = is_received(sim, member, job->order.wait_for) || has_executed(sim, member, job->order.wait_for);
    if (!there && !at->disk.configured)
        fail(out, "not all that is waited for is here");
    else if (!there && at->server.applier == AGENT_THREAD_OFF && at->server.applier_errno)
        fail(out, "what was received cannot be applied");
    else if (!there) {
        at->server.semi_replica |= sim->mariadb && at->server.receiver == AGENT_THREAD_OFF;
        repair(sim, member, false);
    }
    if (server_is_full(sim, member) && at->full_of_tables) /* RESET REPLICA writes to some */
        return;
    if (!there || (at->disk.configured && !drain(sim, member, out)) || !salvage(sim, member, out) || job->superseded)
        return;
    if (!server_is_full(sim, member)) {
        at->disk.opened_epoch = out->noted_epoch = job->order.epoch; /* before it is opened */
        at->disk.opened_ms = sim->now_ms;
    } else {
        at->disk.noted_since = 0;
        out->is_uncertain = true;
    }
    at->server.opened_epoch = job->order.epoch;
    at->server.opened_ms = sim->now_ms;
    at->server.given_up = false;
    at->server.semi_replica = false;
    at->server.semi_source = job->order.semi_sync;
    at->server.semi_acks = (int)MAX_OF(job->order.acks, 1U);
    at->server.ordered_acks = !job->order.semi_sync ? 0 : sim->mariadb ? 1 : at->server.semi_acks;
    at->server.semi_timeout_ms = 0;
    at->server.semi_gave_up = false;
    at->server.closing = false;
    if (job->stays_closed) {
        out->done = true;
        return;
    }
    bool was_closed = at->server.read_only;
    at->server.read_only = false;
    if (was_closed)
        check_opened(sim, member);
    out->done = true;
}

/* ---- close: role_close ---- */

static void close_clients(struct sim *sim, int member)
{
    for (int i = 0; i < SIM_CLIENTS; i++) {
        if (sim->clients[i].member != member)
            continue;
        sim->clients[i].member = sim->clients[i].txn = -1;
        sim->clients[i].due_ms = sim->now_ms + 50;
    }
}

static void end_close(struct sim *sim, int member)
{
    struct sim_member *at = &sim->members[member];
    if (server_waiting(at) > 0) {
        server_let_go(sim, member);
        if (!sim->mariadb)
            at->server.semi_source = false;
    }
    if (!at->server.read_only)
        sim_tell(sim, "%s is closed", sim_member_name(member));
    at->server.read_only = true;
    at->server.closing = false;
}

void agent_hook_close(struct sim *sim, int member)
{
    const struct sim_server *server = &sim->members[member].server;
    if (server->read_only && !server->semi_source)
        return;
    close_clients(sim, member);
    end_close(sim, member);
}

/* In steps, between which a server may die: writes are shut out; clients are gone; semi-sync is off, and what waits is
 * let go. */
static bool close_server(struct sim *sim, int member, struct semi_sync_look *look)
{
    struct sim_member *at = &sim->members[member];
    struct sim_job *job = &at->agent.job;
    switch (job->stage++) {
    case 0:
        at->server.closing = true;
        at->server.long_until_ms = at->server.locked_until_ms = 0; /* who holds them is killed */
        job->due_ms =
            sim->now_ms + (job->order.drain_ms && server_waiting(at) ? (int64_t)job->order.drain_ms : SIM_TICK_MS);
        return false;
    case 1:
        close_clients(sim, member);
        job->due_ms = sim->now_ms + SIM_TICK_MS;
        return false;
    default:
        agent_look(sim, member, &look->facts);
        look->taken = true;
        end_close(sim, member);
        return true;
    }
}

/* ---- suspend: role_suspend ---- */

/* What runs and what waits for acknowledgements holds it up; nobody begins to write meanwhile. */
static bool suspend(struct sim *sim, int member, struct role_result *out)
{
    struct sim_member *at = &sim->members[member];
    struct sim_job *job = &at->agent.job;
    at->server.closing = !job->superseded;
    if (job->superseded)
        return true;
    if (server_waiting(at) > 0 || server_is_locked(sim, member) || at->server.long_until_ms > sim->now_ms) {
        job->due_ms = sim->now_ms + SIM_TICK_MS;
        return false;
    }
    at->server.closing = false;
    at->server.read_only = out->done = true;
    sim_tell(sim, "%s takes no writes for want of room", sim_member_name(member));
    return true;
}

/* ---- follow: role_follow ---- */

static void turn_to(struct sim *sim, int member, int source, bool prepare, struct role_result *out)
{
    struct sim_member *at = &sim->members[member];
    const struct sim_job *job = &at->agent.job;
    bool lost_by_start = sim->mariadb && at->disk.configured && at->server.receiver == AGENT_THREAD_OFF &&
        at->server.applier == AGENT_THREAD_OFF;
    bool stands = (at->server.applier == AGENT_THREAD_OFF && at->server.applier_errno) || lost_by_start;
    bool wait = job->drain && !stands;
    if (!sim->mariadb && at->disk.configured && at->server.applier != AGENT_THREAD_OFF) {
        server_follow(sim, member, source); /* change_receiver: the applier goes on */
        if (!prepare)
            server_start_receiver(sim, member);
        out->done = true;
        return;
    }
    if (at->disk.configured) {
        if (!stands && at->server.applier == AGENT_THREAD_OFF && !at->server.applier_errno)
            server_start_applier(sim, member);
        server_stop_receiver(sim, member);
    }
    bool there = !at->disk.configured || server_has_applied_all(at);
    if (!there && stands && prepare) {
        fail(out, "what was received is not applied, and would be dropped");
        return;
    }
    if (!there && (wait || prepare))
        return;
    if (at->disk.self_written) { /* agent_api.h: AGENT_START_DOMAIN */
        fail(out, "server error 1948: Specified value for @@gtid_slave_pos contains no value for replication domain");
        return;
    }
    out->dropped = !there;
    at->server.applier = AGENT_THREAD_OFF;
    at->server.applier_errno = 0;
    server_drop_relay(sim, member);
    server_follow(sim, member, source);
    if (!prepare) {
        server_start_receiver(sim, member);
        server_start_applier(sim, member);
    }
    out->done = true;
}

static void follow(struct sim *sim, int member, struct role_result *out)
{
    struct sim_member *at = &sim->members[member];
    const struct sim_job *job = &at->agent.job;
    bool prepare = job->action == ROLE_ACTION_PREPARE;
    int source = sim_member_of_host(job->order.source_host);
    bool right = at->disk.configured && at->disk.source == source && !job->reconfigure;
    if (at->server.semi_replica != job->order.semi_sync) {
        at->server.semi_replica = job->order.semi_sync;
        if (right && at->server.receiver != AGENT_THREAD_OFF) { /* it counts from the next connection on */
            server_stop_receiver(sim, member);
            server_start_receiver(sim, member);
        }
    }
    at->server.closing = false;
    if (right && prepare) {
        out->done = true;
        return;
    }
    if (!right)
        turn_to(sim, member, source, prepare, out);
    else {
        bool lost = sim->mariadb && at->server.receiver == AGENT_THREAD_OFF && at->server.applier == AGENT_THREAD_OFF;
        out->dropped = lost && !server_has_applied_all(at);
        repair(sim, member, job->restart);
        out->done = true;
    }
    if (out->done && !prepare) { /* role_release */
        server_let_go(sim, member);
        at->server.semi_source = false;
    }
}

static void hold(struct sim *sim, int member)
{
    struct sim_server *server = &sim->members[member].server;
    bool keeps_logs = server->receiver != AGENT_THREAD_OFF || !sim->mariadb;
    if (sim->members[member].disk.configured && server->applier == AGENT_THREAD_OFF && !server->applier_errno &&
        keeps_logs)
        server_start_applier(sim, member);
    server_stop_receiver(sim, member);
}

/* ---- recover: relay_recover.c ---- */

static void recover(struct sim *sim, int member, struct role_result *out)
{
    struct sim_server *server = &sim->members[member].server;
    if (sim->members[member].agent.job.relay == RELAY_DROP) {
        server_drop_relay(sim, member);
        server->applier_errno = 0;
        out->done = out->dropped = true;
        return;
    }
    bool over = server_recover_relay(sim, member);
    out->relay = !over ? RELAY_NOT_YET : server->applier_errno ? RELAY_BROKEN : RELAY_WHOLE;
    snprintf(out->relay_why, sizeof(out->relay_why), "what it had received cannot be applied");
    out->done = over;
}

/* ---- the lane: role_keeper.c: begin, on_result ---- */

void agent_begin_job(struct sim *sim, int member, const struct role_decision *decision)
{
    struct sim_member *at = &sim->members[member];
    struct sim_agent *agent = &at->agent;
    struct role_state *role = &agent->state.role;
    agent->job = (struct sim_job){.action = decision->action,
        .order = role->order,
        .reconfigure = decision->reconfigure,
        .restart = decision->restart,
        .relay = role->relay,
        .drain = role_drains(role, sim->now_ms),
        .salvage = agent->state.healing.salvage,
        .stays_closed = decision->stays_closed,
        .run = at->server.run,
        .begun = role_begun_of(role, decision->reconfigure),
        .began_ms = sim->now_ms,
        .due_ms = sim->now_ms + sim_between(sim, member, 31, 10, 60)};
    if (decision->urgent)
        agent->job.order.drain_ms = 0;
    if (role_may_drop(&agent->state, decision->action))
        catch_up_note_spend(&agent->note);
    role_note_begin(role, decision, sim->now_ms);
    sim_note(sim, SIM_EVENT_BEGUN, member, (uint64_t)decision->action);
    at->disk.cut = false; /* it is connected to: leave_start_domain */
    agent_keep_note(sim, member);
}

/* on_result, note_recovery */
static void note_success(struct sim *sim, int member, const struct role_result *out)
{
    struct sim_agent *agent = &sim->members[member].agent;
    struct instance_state *state = &agent->state;
    enum agent_flavour flavour = state->observed.version.flavour;
    if (state->role.running == ROLE_ACTION_RECOVER && role_note_recovery(state, out, sim->now_ms)) {
        catch_up_note_relay_logs_kept(&agent->note, &state->catch_up, flavour, state->replication.gtid_received);
        catch_up_executed(&state->catch_up, flavour, state->replication.gtid_executed);
    }
    role_note_success(state, out, &agent->job.begun, sim->now_ms);
}

static void note_salvage(struct sim *sim, int member, const struct role_result *out)
{
    struct sim_agent *agent = &sim->members[member].agent;
    if (healing_note_opened(&agent->state, out))
        agent_fetch(sim, member, out->salvage_after);
    if (out->salvage_applied && agent->state.healing.salvage == SALVAGE_DONE)
        sim_tell(sim, "%s takes over %d transactions from the lost one's binary logs", sim_member_name(member),
            agent->fetched_count);
}

static void finish_job(struct sim *sim, int member, const struct role_result *out, bool same_server)
{
    struct sim_agent *agent = &sim->members[member].agent;
    struct role_state *role = &agent->state.role;
    struct role_result seen = *out;
    role_note_opening(role, out);
    if (same_server) {
        role->unseen = false;
        if (out->dropped)
            catch_up_gap(&agent->state.catch_up, sim->now_ms);
        agent_look(sim, member, &seen.facts);
        seen.has_facts = true;
        role_note_result(&agent->state, &seen);
        agent_take_facts(sim, member, &seen.facts, agent->job.began_ms);
        if (role->running == ROLE_ACTION_OPEN)
            note_salvage(sim, member, out);
        if (out->error.kind == ERROR_NONE)
            note_success(sim, member, out);
        else {
            role->error = out->error;
            role->retry_ms = sim->now_ms + ROLE_RETRY_MS;
        }
    }
    role->running = ROLE_ACTION_NONE;
    role->finished_ms = sim->now_ms;
    sim_note(sim, SIM_EVENT_DONE, member, (uint64_t)out->done << 1 | (uint64_t)same_server);
    agent_keep_note(sim, member);
    agent->dirty = true;
}

static void do_job(struct sim *sim, int member, bool same)
{
    struct sim_member *at = &sim->members[member];
    const struct sim_job *job = &at->agent.job;
    struct role_result out = {.error = ERROR_INIT};
    if (same && job->action == ROLE_ACTION_CLOSE) {
        if (!close_server(sim, member, &out.look))
            return;
        out.done = true;
    } else if (same && job->action == ROLE_ACTION_SUSPEND) {
        if (!suspend(sim, member, &out))
            return;
    } else if (same && job->action == ROLE_ACTION_OPEN)
        open_server(sim, member, &out);
    else if (same && (job->action == ROLE_ACTION_FOLLOW || job->action == ROLE_ACTION_PREPARE))
        follow(sim, member, &out);
    else if (same && job->action == ROLE_ACTION_RECOVER)
        recover(sim, member, &out);
    else if (same && job->action == ROLE_ACTION_HOLD) {
        hold(sim, member);
        out.done = true;
    } else if (same && job->action == ROLE_ACTION_STOP) {
        server_stop_receiver(sim, member);
        at->server.applier = AGENT_THREAD_OFF;
        out.done = true;
    }
    finish_job(sim, member, &out, same);
}

void agent_job_step(struct sim *sim, int member)
{
    const struct sim_member *at = &sim->members[member];
    const struct sim_job *job = &at->agent.job;
    if (at->agent.state.role.running == ROLE_ACTION_NONE || sim->now_ms < job->due_ms)
        return;
    bool same = at->server.run == job->run && server_runs(&at->server);
    if (!same || server_answers(sim, member))
        do_job(sim, member, same);
}
