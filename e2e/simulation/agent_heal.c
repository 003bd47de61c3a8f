/* agent/healing.c and agent/source_watch.c: what an agent asks of other agents, and the notes that it keeps on its
 * volume. */
#include "common/base.h"

#include "agent/bootstrap/start_mode.h"
#include "agent/role_decide.h"
#include "agent/source_watch.h"
#include "common/gtid.h"
#include "e2e/simulation/agent.h"
#include "e2e/simulation/server.h"

/* ---- the mark of a semi-sync primary: keep_mark ---- */

static bool is_semi_sync_primary(const struct instance_state *state)
{
    const struct role_state *role = &state->role;
    const struct replication_facts *facts = &state->replication;
    return state->observed.version.flavour == AGENT_FLAVOUR_MARIADB && role->has_order && role->opened &&
        role->order.role == AGENT_ROLE_PRIMARY && role->order.semi_sync && facts->seen && !facts->read_only &&
        facts->semi_sync_source && facts->acknowledged > 0;
}

static bool is_none(const struct instance_state *state)
{
    const struct role_state *role = &state->role;
    if (!role->has_order)
        return false;
    if (role->order.role == AGENT_ROLE_PRIMARY)
        return !role->order.semi_sync;
    return state->replication.seen && state->replication.read_only && !role->was_open;
}

void agent_keep_mark(struct sim *sim, int member)
{
    struct sim_member *at = &sim->members[member];
    uint64_t wanted = 0;
    if (is_semi_sync_primary(&at->agent.state))
        wanted = at->agent.state.role.order.epoch;
    else if (!is_none(&at->agent.state))
        return;
    at->agent.marked = at->disk.semi_primary = wanted;
}

bool agent_holds_opening(const struct sim *sim, int member)
{
    const struct sim_agent *agent = &sim->members[member].agent;
    if (agent->state.role.order.role != AGENT_ROLE_PRIMARY)
        return false;
    if (!agent->state.role.order.semi_sync && agent->marked)
        return true;
    return agent->state.healing.salvage == SALVAGE_FETCHING;
}

/* healing_ordered, run_filing */
void agent_heal_ordered(struct sim *sim, int member, const struct agent_order *order, bool renewed)
{
    struct sim_member *at = &sim->members[member];
    struct instance_state *state = &at->agent.state;
    struct agent_order *known = &state->role.order;
    struct start_mode mode;
    bool other_donor = renewed && !str_eq(known->salvage_host, order->salvage_host) && !state->role.opened;
    if (other_donor) {
        memcpy(known->salvage_host, order->salvage_host, sizeof(known->salvage_host));
        known->salvage_agent_port = order->salvage_agent_port;
        state->role.retry_ms = 0;
    }
    if (!renewed || other_donor) {
        state->healing.salvaged[0] = '\0';
        state->healing.salvage = order->role == AGENT_ROLE_PRIMARY && *order->salvage_host ? SALVAGE_ASK : SALVAGE_NONE;
    }
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
        struct gtid_one one = {.server = (uint32_t)(TXN_SERVER_ID_BASE + txn->server), .number = txn->number};
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
    struct healing_state *state = &agent->state.healing;
    int from = sim_member_of_host(agent->state.role.order.salvage_host);
    int count = -1;
    bool readable = from >= 0 && agent_answers(sim, from) && !sim->members[from].agent.in_init &&
        sim_is_linked(sim, from, member) && sim->members[from].server.phase != SERVER_RUNS &&
        sim->members[from].server.phase != SERVER_STARTS && sim->members[from].disk.has_data;
    if (readable)
        count = list_tail(sim, from, after, agent->fetched, ARRAY_LEN(agent->fetched));
    if (count < 0) {
        agent->state.role.retry_ms = sim->now_ms + ROLE_RETRY_MS;
        return;
    }
    agent->fetched_count = count;
    state->fetched = "transactions of the lost one";
    state->salvage = SALVAGE_FETCHED;
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
    struct source_view fresh = {0};
    if (source < 0 && order->role != AGENT_ROLE_PRIMARY)
        memcpy(fresh.errant, state->source.errant, sizeof(fresh.errant));
    state->source = fresh;
    agent->watch = (struct sim_watch){.member = source, .due_ms = sim->now_ms};
    if (source >= 0)
        catch_up_other_source(&state->catch_up);
}

static void judge(struct sim *sim, int member, const struct agent_status *theirs)
{
    struct sim_agent *agent = &sim->members[member].agent;
    struct source_view *view = &agent->state.source;
    struct sim_watch *watch = &agent->watch;
    catch_up_heard(&agent->state.catch_up, theirs, NULL, sim->now_ms);
    view->known = true;
    view->clock_ms = theirs->clock_ms;
    view->offset_us = 0;
    view->epoch = theirs->epoch;
    view->is_primary = theirs->role == AGENT_ROLE_PRIMARY;
    view->is_open = view->is_primary && theirs->order_done && theirs->writable;
    if (!source_watch_is_calm(theirs) || role_awaits_source(&agent->state))
        watch->own = "";
    if (str_empty(watch->own) || !source_watch_proves(theirs, sim->now_ms, watch->own_ms))
        return;
    source_watch_errant(
        agent->state.observed.version.flavour, watch->own, theirs->gtid_executed, view->errant, sizeof(view->errant));
    watch->own = "";
}

static int64_t pause_ms(const struct instance_state *state)
{
    bool told = state->source.is_primary && state->source.epoch >= state->role.order.epoch;
    if (role_awaits_source(state))
        return told ? SOURCE_ASK_OPENING_MS : SOURCE_ASK_BEFORE_MS;
    return state->catch_up.up ? SOURCE_ASK_MS : SOURCE_ASK_SOON_MS;
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
        if (*theirs->boot_id)
            judge(sim, member, theirs);
    }
    if (str_empty(watch->own)) {
        watch->own = agent->state.replication.gtid_executed;
        watch->own_ms = sim->now_ms;
    }
    watch->due_ms = sim->now_ms + pause_ms(&agent->state);
    agent->dirty |= agent->state.source.is_open != was_open || agent->state.source.is_primary;
}
