/* SPDX-License-Identifier: Apache-2.0 */
/* agent/healing.c and agent/source_watch.c: what an agent asks of other agents, and the notes that it keeps on its
 * volume. */
#include "common/base.h"

#include "agent/bootstrap/start_mode.h"
#include "agent/healing.h"
#include "agent/role_decide.h"
#include "agent/source_watch.h"
#include "common/gtid.h"
#include "e2e/simulation/agent.h"
#include "e2e/simulation/server.h"

/* ---- the mark of a semi-sync primary: keep_mark ---- */

void agent_keep_mark(struct sim *sim, int member)
{
    struct sim_member *at = &sim->members[member];
    uint64_t wanted;
    if (!server_is_full(sim, member) && healing_wants_mark(&at->agent.state, at->agent.marked, &wanted))
        at->agent.marked = at->disk.semi_primary = wanted;
}

/* healing_ordered, run_filing */
void agent_heal_ordered(struct sim *sim, int member, const struct agent_order *order, bool renewed)
{
    struct sim_member *at = &sim->members[member];
    struct instance_state *state = &at->agent.state;
    struct start_mode mode;
    healing_note_ordered(state, order, renewed);
    if (state->server_there)
        return;
    if (start_mode_decide(order, at->disk.semi_primary, &mode)) {
        at->run_dir.mode = mode;
        at->run_dir.has_mode = true;
    } else if (at->run_dir.has_mode && start_mode_is_withdrawn(order, &at->run_dir.mode))
        at->run_dir.has_mode = false;
}

/* ---- salvage: salvage.c ---- */

/* What lies behind that position in the log of a server that is down; -1: it cannot be told. */
static int list_tail(const struct sim *sim, int from, const char *after, int *out, int max)
{
    const struct txn_log *log = &sim->members[from].disk.log;
    _cleanup_(gtid_set_freep) struct gtid_set *have =
        gtid_set_parse(sim->mariadb ? GTID_MARIADB : GTID_MYSQL, after, NULL);
    int count = 0;
    bool found = gtid_set_is_empty(have);
    for (int i = 0; i < log->count && have; i++) {
        const struct txn *txn = &sim->txns.all[log->entries[i]];
        struct gtid_one one = {.server = txn_server_id(txn->source), .number = txn->number};
        if (!sim->mariadb)
            txn_uuid(txn->source, one.source);
        char gtid[64];
        txn_gtid(txn, sim->mariadb, gtid, sizeof(gtid));
        if (gtid_set_contains(have, &one)) {
            found |= !sim->mariadb || str_eq(gtid, after);
            continue;
        }
        if (i < log->base || count == max)
            return -1; /* no file of it holds that any more */
        out[count++] = log->entries[i];
    }
    return found || count == 0 ? count : -1;
}

void agent_fetch(struct sim *sim, int member, const char *after)
{
    struct sim_agent *agent = &sim->members[member].agent;
    struct error failure = ERROR_INIT;
    int from = sim_member_of_host(agent->state.role.order.salvage_host);
    int count = -1;
    bool readable = from >= 0 && agent_answers(sim, from) && !sim->members[from].agent.in_init &&
        sim_is_linked(sim, from, member) && sim->members[from].server.phase != SERVER_RUNS &&
        sim->members[from].server.phase != SERVER_STARTS && sim->members[from].disk.has_data;
    if (readable)
        count = list_tail(sim, from, after, agent->fetched, ARRAY_LEN(agent->fetched));
    if (count < 0)
        error_set(&failure, ERROR_UNAVAILABLE, "the lost one's binary logs cannot be read");
    agent->fetched_count = MAX_OF(count, 0);
    healing_note_fetched(&agent->state, "transactions of the lost one", count < 0 ? &failure : NULL, sim->now_ms);
}

/* ---- source_watch.c ---- */

void agent_set_source(struct sim *sim, int member)
{
    struct sim_agent *agent = &sim->members[member].agent;
    struct instance_state *state = &agent->state;
    const struct agent_order *order = &state->role.order;
    bool follows = state->role.has_order && order->role == AGENT_ROLE_REPLICA && order->source_agent_port;
    int source = follows ? sim_member_of_host(order->source_host) : -1;
    if (source == agent->watch.member)
        return;
    source_watch_forget(state, source < 0);
    agent->watch = (struct sim_watch){.member = source, .due_ms = sim->now_ms};
    if (source >= 0)
        catch_up_other_source(&state->catch_up);
}

void agent_watch_source(struct sim *sim, int member)
{
    struct sim_agent *agent = &sim->members[member].agent;
    struct sim_watch *watch = &agent->watch;
    int source = watch->member;
    if (source < 0 || sim->now_ms < watch->due_ms)
        return;
    bool was_open = agent->state.source.is_open;
    if (source != member && agent_answers(sim, source) && sim_is_linked(sim, source, member)) {
        int64_t clock_ms = agent->state.source.clock_ms;
        const struct agent_status *theirs = &sim->members[source].agent.status;
        agent_heard(sim, source, member, clock_ms);
        if (*theirs->boot_id &&
            source_watch_take(&agent->state, theirs, NULL, watch->own, watch->own_ms, sim->now_ms, 0))
            watch->own = "";
    }
    if (str_empty(watch->own)) {
        watch->own = agent->state.replication.gtid_executed;
        watch->own_ms = sim->now_ms;
    }
    watch->due_ms = sim->now_ms + source_watch_pause_ms(&agent->state);
    agent->dirty |= agent->state.source.is_open != was_open || agent->state.source.is_primary;
}
