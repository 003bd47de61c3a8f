/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "e2e/simulation/faults.h"

#include "e2e/simulation/agent.h"
#include "e2e/simulation/kube.h"
#include "e2e/simulation/operator.h"
#include "e2e/simulation/server.h"

/* ---- whom it meets ---- */

static int open_server(const struct sim *sim)
{
    for (int i = 0; i < SIM_MEMBERS_MAX; i++) {
        if (server_runs(&sim->members[i].server) && !sim->members[i].server.read_only)
            return i;
    }
    return -1;
}

static int find_target(const struct sim *sim, const struct fault *fault)
{
    const struct cluster_status *status = &sim->api.status;
    int primary = sim_member_of_host(status->roles.current_primary);
    int found = fault->target;
    primary = primary < 0 ? 0 : primary;
    if (fault->target == TARGET_PRIMARY)
        found = primary;
    else if (fault->target == TARGET_TO)
        found = sim_member_of_host(status->roles.transition.to);
    else if (fault->target == TARGET_FROM)
        found = sim_member_of_host(status->roles.transition.from);
    else if (fault->target == TARGET_REPLICA)
        found = primary == 0 ? 1 : 0;
    else if (fault->target == TARGET_OPEN)
        found = open_server(sim);
    return found < 0 ? primary : found;
}

static bool is_joining(const struct sim *sim)
{
    for (int i = 0; i < SIM_MEMBERS_MAX; i++) {
        const struct sim_server *server = &sim->members[i].server;
        bool counts = sim->api.status.roles.acknowledgers >> i & 1;
        if (server_runs(server) && server->receiver == AGENT_THREAD_RUNNING && !counts)
            return true;
    }
    return false;
}

static bool has_come(const struct sim *sim, enum fault_when when)
{
    const struct cluster_transition *transition = &sim->api.status.roles.transition;
    switch (when) {
    case WHEN_TRANSITION:
        return cluster_transition_is_set(transition);
    case WHEN_NOBODY_CHOSEN:
        return cluster_transition_is_set(transition) && str_empty(transition->to);
    case WHEN_CHOSEN:
        return !str_empty(transition->to);
    case WHEN_SALVAGE:
        return transition->salvage;
    case WHEN_OPENED:
        return sim->opened_ms > 0 && sim->now_ms - sim->opened_ms < 500;
    case WHEN_LET_GO:
        return sim->let_go_ms > 0 && sim->now_ms - sim->let_go_ms < 1000;
    case WHEN_JOINING:
        return is_joining(sim);
    default:
        return true;
    }
}

/* ---- kinds ---- */

static void cut(struct sim *sim, int from, int to, int64_t for_ms)
{
    sim->cut_until_ms[from][to] = MAX_OF(sim->cut_until_ms[from][to], sim->now_ms + for_ms);
}

static void cut_member(struct sim *sim, int member, bool members_only, int64_t for_ms)
{
    for (int i = 0; i < SIM_PLACES; i++) {
        if (i == member || (members_only && i >= SIM_MEMBERS_MAX))
            continue;
        cut(sim, i, member, for_ms);
        cut(sim, member, i, for_ms);
    }
}

static void freeze(int64_t *until_ms, int64_t now_ms, int64_t for_ms)
{
    *until_ms = MAX_OF(*until_ms, now_ms + for_ms);
}

/* MariaDB: behind a tail that was cut off, and before its own transactions have come back, the server would give a
 * number anew that others hold. No product can tell that from the history of positions
 * (docs/simulation-findings.md). */
static bool would_be_a_twin(const struct sim *sim, int member)
{
    const struct txn_log *log = &sim->members[member].disk.log;
    int last = txn_log_last(log);
    uint32_t next = last < 0 ? 1 : sim->txns.all[last].number + 1;
    for (int i = 0; i < sim->txns.count && sim->mariadb; i++) {
        const struct txn *txn = &sim->txns.all[i];
        if (txn->source == sim->members[member].disk.own_source && txn->number >= next)
            return true;
    }
    return false;
}

static void fault_server(struct sim *sim, const struct fault *fault, int member)
{
    struct sim_member *at = &sim->members[member];
    switch (fault->kind) {
    case FAULT_SERVER_KILLED:
        server_kill(sim, member, false);
        break;
    case FAULT_DDL_KILLED: /* only one that writes runs a DDL statement */
        at->disk.ddl = sim->mariadb && server_runs(&at->server) && !at->server.read_only;
        server_kill(sim, member, false);
        break;
    case FAULT_ALL_SERVERS_KILLED:
        for (int i = 0; i < SIM_MEMBERS_MAX; i++)
            server_kill(sim, i, false);
        break;
    case FAULT_SERVER_FROZEN:
        freeze(&at->server.frozen_until_ms, sim->now_ms, fault->for_ms);
        break;
    case FAULT_APPLIER_STUCK:
        freeze(&at->server.applier_stuck_until_ms, sim->now_ms, fault->for_ms);
        break;
    default: /* FAULT_ERRANT: somebody with all rights */
        if (server_answers(sim, member) && at->server.read_only && !would_be_a_twin(sim, member)) {
            at->server.read_only = false;
            (void)(server_write(sim, member, TXN_ERRANT, 0) >= 0);
            txn_log_commit(&sim->txns, &at->disk.log, at->disk.log.count);
            at->server.read_only = true;
        }
    }
}

/* A client, or somebody who takes a backup. */
static void fault_lock(struct sim *sim, const struct fault *fault)
{
    int member = open_server(sim);
    if (member < 0 || !server_answers(sim, member))
        return;
    struct sim_server *server = &sim->members[member].server;
    freeze(fault->kind == FAULT_TABLES_LOCKED ? &server->locked_until_ms : &server->long_until_ms, sim->now_ms,
        fault->for_ms);
}

/* Somebody with all rights at the server that takes writes. */
static void fault_semi_sync(struct sim *sim, const struct fault *fault)
{
    int member = open_server(sim);
    bool odd = fault->number & 1;
    if (member < 0 || !server_answers(sim, member) || !sim->members[member].server.semi_source)
        return;
    struct sim_server *server = &sim->members[member].server;
    if (fault->kind == FAULT_SEMI_SYNC_TIMEOUT)
        server->semi_timeout_ms = 100 * (1 + fault->number);
    else if (fault->kind == FAULT_COMMITS_KILLED) {
        server->kill_until_ms = sim->now_ms + 2000;
        server->kill_softly = odd;
    } else if (odd && server->semi_acks > 1)
        server->semi_acks = 1;
    else {
        server_release_waiting(sim, member);
        server->semi_source = false;
    }
}

static void fault_pod(struct sim *sim, const struct fault *fault, int member)
{
    struct sim_member *at = &sim->members[member];
    switch (fault->kind) {
    case FAULT_AGENT_KILLED:
        agent_kill(sim, member);
        break;
    case FAULT_AGENT_FROZEN:
        freeze(&at->agent.frozen_until_ms, sim->now_ms, fault->for_ms);
        break;
    case FAULT_MEMBER_FROZEN:
        freeze(&at->agent.frozen_until_ms, sim->now_ms, fault->for_ms);
        freeze(&at->server.frozen_until_ms, sim->now_ms, fault->for_ms);
        break;
    case FAULT_VOLUME_FILLS:
        for (int i = 0; i < SIM_MEMBERS_MAX; i++) {
            if (i == member || fault->number == 5)
                freeze(&sim->members[i].short_until_ms, sim->now_ms, fault->for_ms);
        }
        break;
    case FAULT_VOLUME_FULL:
        for (int i = 0; i < SIM_MEMBERS_MAX; i++) {
            if (i == member || fault->number == 5)
                freeze(&sim->members[i].full_until_ms, sim->now_ms, fault->for_ms);
            sim->members[i].full_of_tables = fault->number & 1;
        }
        break;
    case FAULT_NODE_LOST:
        kube_lose_node(sim, member, fault->for_ms);
        break;
    case FAULT_POD_DELETED:
        kube_delete_pod(sim, member);
        break;
    case FAULT_POD_FORCED:
        kube_force_pod(sim, member);
        break;
    default:
        kube_lose_volume(sim, member);
    }
}

static void fault_network(struct sim *sim, const struct fault *fault, int member)
{
    int other = fault->other;
    if (other == member)
        other = (member + 1) % sim->schedule->members;
    switch (fault->kind) {
    case FAULT_LINK_CUT:
        cut(sim, other, member, fault->for_ms);
        cut(sim, member, other, fault->for_ms);
        break;
    case FAULT_LINK_ONE_WAY:
        cut(sim, member, other, fault->for_ms);
        break;
    case FAULT_MEMBER_CUT:
        cut_member(sim, member, false, fault->for_ms);
        break;
    default:
        cut_member(sim, member, true, fault->for_ms);
    }
}

static void fault_control(struct sim *sim, const struct fault *fault)
{
    int op = (fault->number & 1) ? 1 - MAX_OF(sim->api.lease_holder, 0) : MAX_OF(sim->api.lease_holder, 0);
    switch (fault->kind) {
    case FAULT_OPERATOR_KILLED:
        operator_kill(sim, op);
        break;
    case FAULT_OPERATORS_KILLED:
        for (int i = 0; i < SIM_OPERATORS; i++)
            operator_kill(sim, i);
        break;
    case FAULT_OPERATOR_FROZEN:
        freeze(&sim->operators[op].frozen_until_ms, sim->now_ms, fault->for_ms);
        break;
    case FAULT_CACHE_OLD:
        for (int i = 0; i < SIM_OPERATORS; i++)
            freeze(&sim->operators[i].cache_lag_until_ms, sim->now_ms, fault->for_ms);
        break;
    case FAULT_API_AWAY:
        freeze(&sim->api.away_until_ms, sim->now_ms, fault->for_ms);
        break;
    case FAULT_STATUS_PAST:
        kube_restore_past(sim, 1);
        break;
    case FAULT_STATUS_OLD:
        kube_restore_past(sim, fault->number);
        break;
    case FAULT_STATUS_UNLISTED:
        sim->api.status.roles.reigns = (struct cluster_reigns){.count = 0};
        sim->api.version++;
        break;
    default:
        freeze(&sim->api.slow_until_ms, sim->now_ms, fault->for_ms);
    }
}

static void fault_person(struct sim *sim, const struct fault *fault, int member)
{
    struct sim_api *api = &sim->api;
    switch (fault->kind) {
    case FAULT_SWITCHOVER:
        snprintf(api->switchover_to, sizeof(api->switchover_to), "%d", member);
        break;
    case FAULT_SCALE:
        api->replicas = MIN_OF(MAX_OF(fault->number, 1), SIM_MEMBERS_MAX);
        break;
    case FAULT_HIBERNATE: /* and back, by faults_heal_wishes */
        api->replicas = 0;
        break;
    case FAULT_ROLL:
        api->revision++;
        break;
    case FAULT_RECREATE:
        kube_recreate(sim, fault->number > 0 ? fault->number : MAX_OF(api->replicas, 1));
        break;
    case FAULT_LOSS_ALLOWED:
        api->allow_loss = true;
        break;
    case FAULT_PAUSED:
        api->paused_replicas = api->paused ? api->paused_replicas : api->replicas;
        api->paused = true;
        if (fault->number & 1) {
            sim->stop_threads_ms = sim->now_ms + 1500;
            sim->stop_threads_of = member;
            sim->stop_threads = fault->number;
        }
        break;
    case FAULT_FAILOVER_OFF:
        api->failover_off = true;
        break;
    case FAULT_SPEC_REFUSED:
        api->spec_refused = true;
        break;
    case FAULT_PRIMARY_WISHED:
        api->primary_wish = member;
        sim->wished_ms[member] = sim->now_ms;
        break;
    default:
        snprintf(api->confirmed_lost, sizeof(api->confirmed_lost), "%s", sim_member_name(member));
        sim->confirmed_lost_ms = sim->now_ms;
    }
    api->version++;
}

static void strike(struct sim *sim, const struct fault *fault)
{
    char text[160];
    int member = find_target(sim, fault);
    schedule_describe_fault(fault, text, sizeof(text));
    sim_tell(sim, "FAULT: %s (%s)", text, sim_member_name(member));
    switch (fault->kind) {
    case FAULT_SERVER_KILLED:
    case FAULT_DDL_KILLED:
    case FAULT_ALL_SERVERS_KILLED:
    case FAULT_SERVER_FROZEN:
    case FAULT_APPLIER_STUCK:
    case FAULT_ERRANT:
        fault_server(sim, fault, member);
        break;
    case FAULT_AGENT_KILLED:
    case FAULT_AGENT_FROZEN:
    case FAULT_MEMBER_FROZEN:
    case FAULT_NODE_LOST:
    case FAULT_POD_DELETED:
    case FAULT_POD_FORCED:
    case FAULT_VOLUME_LOST:
    case FAULT_VOLUME_FILLS:
    case FAULT_VOLUME_FULL:
        fault_pod(sim, fault, member);
        break;
    case FAULT_SEMI_SYNC_OFF:
    case FAULT_SEMI_SYNC_TIMEOUT:
    case FAULT_COMMITS_KILLED:
        fault_semi_sync(sim, fault);
        break;
    case FAULT_TABLES_LOCKED:
    case FAULT_LONG_TRANSACTION:
        fault_lock(sim, fault);
        break;
    case FAULT_LINK_CUT:
    case FAULT_LINK_ONE_WAY:
    case FAULT_MEMBER_CUT:
    case FAULT_REPLICATION_CUT:
        fault_network(sim, fault, member);
        break;
    case FAULT_OPERATOR_KILLED:
    case FAULT_OPERATOR_FROZEN:
    case FAULT_OPERATORS_KILLED:
    case FAULT_CACHE_OLD:
    case FAULT_API_AWAY:
    case FAULT_API_SLOW:
    case FAULT_STATUS_OLD:
    case FAULT_STATUS_PAST:
    case FAULT_STATUS_UNLISTED:
        fault_control(sim, fault);
        break;
    default:
        fault_person(sim, fault, member);
    }
}

/* ---- time ---- */

/* A person takes back what was wished for a while. */
static void end_wishes(struct sim *sim, const struct fault *fault)
{
    struct sim_api *api = &sim->api;
    if (fault->kind == FAULT_SCALE || fault->kind == FAULT_HIBERNATE) {
        api->replicas = sim->schedule->members;
        sim_tell(sim, "a person wishes %d members again", api->replicas);
    } else if (fault->kind == FAULT_LOSS_ALLOWED)
        api->allow_loss = false;
    else if (fault->kind == FAULT_PAUSED) {
        api->paused = false;
        sim->stop_threads_ms = 0;
    }
    else if (fault->kind == FAULT_FAILOVER_OFF)
        api->failover_off = false;
    else if (fault->kind == FAULT_SPEC_REFUSED)
        api->spec_refused = false;
    else if (fault->kind == FAULT_PRIMARY_WISHED)
        api->primary_wish = CLUSTER_PRIMARY_ANY;
    else if (fault->kind == FAULT_CONFIRMED_LOST)
        api->confirmed_lost[0] = '\0';
    else
        return;
    api->version++;
}

/* STOP REPLICA, by hand: both threads (1), the receiver (3) or the applier (5). */
static void stop_threads(struct sim *sim)
{
    int member = sim->stop_threads_of;
    struct sim_server *server = &sim->members[member].server;
    if (sim->stop_threads_ms == 0 || sim->now_ms < sim->stop_threads_ms)
        return;
    sim->stop_threads_ms = 0;
    if (!server_answers(sim, member) || !server->read_only || !sim->members[member].disk.configured)
        return;
    sim_tell(sim, "a person stops %s of %s", sim->stop_threads == 1 ? "both threads" : "one thread",
        sim_member_name(member));
    if (sim->stop_threads != 5)
        server_stop_receiver(sim, member);
    if (sim->stop_threads != 3 && server->applier != AGENT_THREAD_OFF && !server->applier_errno)
        server->applier = AGENT_THREAD_OFF;
}

bool faults_step(struct sim *sim, int64_t begun_ms)
{
    bool all = true;
    stop_threads(sim);
    for (int i = 0; i < sim->schedule->fault_count; i++) {
        const struct fault *fault = &sim->schedule->faults[i];
        int64_t age_ms = sim->now_ms - begun_ms - fault->at_ms;
        if (sim->fired_ms[i] > 0) {
            if (!sim->ended[i] && sim->now_ms - sim->fired_ms[i] >= fault->for_ms) {
                sim->ended[i] = true;
                end_wishes(sim, fault);
            }
            all &= sim->ended[i];
            continue;
        }
        all = false;
        if (age_ms < 0)
            continue;
        if (sim->due_ms[i] == 0 && (has_come(sim, fault->when) || age_ms >= FAULT_WAIT_MS))
            sim->due_ms[i] = sim->now_ms + fault->after_ms;
        if (sim->due_ms[i] > 0 && sim->now_ms >= sim->due_ms[i]) {
            sim->fired_ms[i] = sim->now_ms;
            strike(sim, fault);
        }
    }
    return all;
}

void faults_heal(struct sim *sim)
{
    memset(sim->cut_until_ms, 0, sizeof(sim->cut_until_ms));
    sim->api.away_until_ms = sim->api.slow_until_ms = 0;
    for (int i = 0; i < SIM_MEMBERS_MAX; i++)
        sim->members[i].full_until_ms = sim->members[i].short_until_ms = 0;
    sim->api.allow_loss = sim->api.paused = sim->api.failover_off = sim->api.spec_refused = false;
    sim->stop_threads_ms = 0;
    sim->api.primary_wish = CLUSTER_PRIMARY_ANY;
    sim->api.confirmed_lost[0] = '\0';
    if (sim->api.exists && sim->api.replicas != sim->schedule->members)
        sim->api.replicas = sim->schedule->members;
    sim->api.recreate_replicas = sim->schedule->members;
    sim->api.version++;
}
