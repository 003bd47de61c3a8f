/* SPDX-License-Identifier: Apache-2.0 */
/* `init`, before there is a server: agent/seed.c. */
#include "common/base.h"

#include "agent/bootstrap/seed_decide.h"
#include "agent/bootstrap/start_mode.h"
#include "e2e/simulation/agent.h"
#include "e2e/simulation/check.h"
#include "e2e/simulation/kube.h"
#include "e2e/simulation/server.h"

static void look_at_volume(struct sim *sim, int member)
{
    struct sim_member *at = &sim->members[member];
    at->agent.status.mark = at->disk.mark;
    at->agent.status.opened_epoch = at->disk.opened_epoch;
    at->agent.status.data = at->disk.has_data ? AGENT_DATA_DATABASE : AGENT_DATA_EMPTY;
}

void agent_init_start(struct sim *sim, int member)
{
    struct sim_member *at = &sim->members[member];
    struct agent_status *status = &at->agent.status;
    *status = (struct agent_status){.phase = AGENT_PHASE_SEEDING,
        .epoch = at->disk.epoch,
        .flavour = sim->mariadb ? AGENT_FLAVOUR_MARIADB : AGENT_FLAVOUR_MYSQL};
    memcpy(status->boot_id, at->agent.boot_id, sizeof(status->boot_id));
    snprintf(status->instance, sizeof(status->instance), "%s", sim_member_name(member));
    status->seed.step = AGENT_SEED_STEP_WAITING;
    look_at_volume(sim, member);
    at->agent.dirty = true;
}

/* on_order */
bool agent_init_order(struct sim *sim, int member, const struct agent_order *order)
{
    struct sim_member *at = &sim->members[member];
    struct agent_status *status = &at->agent.status;
    char hash[17];
    if (order->epoch < status->epoch)
        return false;
    at->disk.epoch = MAX_OF(at->disk.epoch, order->epoch);
    status->epoch = order->epoch;
    agent_order_hash(order, hash);
    if (at->agent.seed.has_order && str_eq(hash, status->order_hash))
        return true;
    at->agent.seed.order = *order;
    at->agent.seed.has_order = true;
    at->agent.seed.retry_ms = 0;
    memcpy(status->order_hash, hash, sizeof(hash));
    status->role = order->role;
    at->agent.dirty = true;
    return true;
}

static bool order_stands(const struct sim_seed *seed)
{
    return seed->works_on.seed == seed->order.seed && seed->works_on.replace == seed->order.replace &&
        str_eq(seed->works_on.donor_host, seed->order.donor_host);
}

/* note_start, finish: the server container comes next. */
static void finish(struct sim *sim, int member)
{
    struct sim_member *at = &sim->members[member];
    struct sim_seed *seed = &at->agent.seed;
    struct start_mode mode;
    bool kept = seed->works_on.seed == AGENT_SEED_KEEP;
    at->run_dir.has_mode = false;
    if (!kept)
        at->disk.semi_primary = 0;
    if (kept && start_mode_decide(&seed->order, at->disk.semi_primary, &mode)) {
        at->run_dir.mode = mode;
        at->run_dir.has_mode = true;
    }
    seed->done = true;
    kube_init_done(sim, member);
}

static bool donor_answers(const struct sim *sim, int member, int donor)
{
    return donor >= 0 && server_answers(sim, donor) && agent_answers(sim, donor) && sim_is_linked(sim, donor, member);
}

static bool copies_from(const struct sim *sim, int member, int donor)
{
    const struct sim_agent *agent = &sim->members[member].agent;
    const struct sim_seed *seed = &agent->seed;
    return agent->in_init && agent->alive && seed->end_ms && seed->works_on.seed == AGENT_SEED_CLONE &&
        sim_member_of_host(seed->works_on.donor_host) == donor;
}

bool agent_init_waits_for(const struct sim *sim, int member, int donor)
{
    const struct sim_seed *seed = &sim->members[member].agent.seed;
    return copies_from(sim, member, donor) && !seed->statements && sim->now_ms >= seed->end_ms &&
        server_waiting(&sim->members[donor]) > 0;
}

int agent_init_count_copies(const struct sim *sim, int donor)
{
    int count = 0;
    for (int i = 0; i < sim->member_count; i++)
        count += copies_from(sim, i, donor);
    return count;
}

static void end_attempt(struct sim *sim, int member)
{
    struct sim_member *at = &sim->members[member];
    struct sim_seed *seed = &at->agent.seed;
    int donor = sim_member_of_host(seed->works_on.donor_host);
    seed->end_ms = 0;
    if (!order_stands(seed))
        return;
    if (seed->works_on.seed == AGENT_SEED_INITIALISE) {
        server_initialise(sim, member);
        sim_tell(sim, "%s: a new database is made", sim_member_name(member));
    } else if (seed->works_on.seed == AGENT_SEED_CLONE) {
        bool broke_off = seed->statements && sim->members[donor].server.run != seed->donor_run;
        if (broke_off || !donor_answers(sim, member, donor) || server_is_full(sim, member)) {
            at->agent.status.seed.step = AGENT_SEED_STEP_FAILED;
            seed->retry_ms = sim->now_ms + 1000;
            at->agent.dirty = true;
            return;
        }
        check_replaced(sim, member);
        server_copy(sim, donor, member, seed->statements ? seed->held : sim->members[donor].disk.log.committed);
        at->disk.mark = AGENT_MARK_NONE;
        sim_tell(sim, "%s: its data is a copy of %s's now", sim_member_name(member), sim_member_name(donor));
    }
    finish(sim, member);
}

/* donor.c: nobody_acknowledges */
static void begin_copy(struct sim *sim, int member)
{
    struct sim_seed *seed = &sim->members[member].agent.seed;
    int donor = sim_member_of_host(seed->works_on.donor_host);
    const struct sim_member *from = donor >= 0 ? &sim->members[donor] : NULL;
    seed->statements = from && sim->mariadb && donor_answers(sim, member, donor) &&
        from->agent.state.role.order.role == AGENT_ROLE_PRIMARY && from->server.semi_source &&
        server_acknowledgers(sim, donor) == 0;
    if (!seed->statements)
        return;
    seed->held = from->disk.log.committed;
    seed->donor_run = from->server.run;
}

static void begin_attempt(struct sim *sim, int member, enum seed_act act)
{
    struct sim_agent *agent = &sim->members[member].agent;
    int64_t takes_ms = act == SEED_ACT_KEEP ? 100 : sim_between(sim, member, 41, 600, 4000);
    agent->seed.works_on = agent->seed.order;
    agent->seed.end_ms = sim->now_ms + takes_ms;
    agent->seed.statements = false;
    if (act == SEED_ACT_CLONE)
        begin_copy(sim, member);
    agent->status.seed.step = act == SEED_ACT_CLONE ? AGENT_SEED_STEP_COPYING : AGENT_SEED_STEP_INITIALISING;
    snprintf(agent->status.seed.donor, sizeof(agent->status.seed.donor), "%s",
        act == SEED_ACT_CLONE ? agent->seed.order.donor_host : "");
    agent->dirty = true;
}

/* seed_turn, write_mark */
void agent_init_step(struct sim *sim, int member)
{
    struct sim_member *at = &sim->members[member];
    struct sim_seed *seed = &at->agent.seed;
    if (seed->done)
        return;
    if (seed->end_ms) {
        int donor = sim_member_of_host(seed->works_on.donor_host);
        bool broken = seed->works_on.seed == AGENT_SEED_CLONE && !donor_answers(sim, member, donor);
        bool over = sim->now_ms >= seed->end_ms && (donor < 0 || !agent_init_waits_for(sim, member, donor));
        if (over || broken || !order_stands(seed))
            end_attempt(sim, member);
        return;
    }
    if (sim->now_ms < seed->retry_ms || (!at->agent.dirty && sim->now_ms < at->agent.publish_ms))
        return;
    look_at_volume(sim, member);
    const struct agent_order *order = seed->has_order ? &seed->order : NULL;
    if (order && order->mark != AGENT_MARK_NONE && order->seed == AGENT_SEED_NONE && order->mark != at->disk.mark) {
        at->disk.mark = order->mark;
        look_at_volume(sim, member);
        at->agent.dirty = true;
    }
    const struct seed_facts facts = {.has_data = at->disk.has_data, .mark = at->disk.mark, .task = ""};
    struct seed_decision decision = seed_decide(order, &facts);
    if (decision.act == SEED_ACT_WAIT || decision.act == SEED_ACT_REFUSE) {
        enum agent_seed_step step = decision.act == SEED_ACT_WAIT ? AGENT_SEED_STEP_WAITING : AGENT_SEED_STEP_FAILED;
        at->agent.dirty |= at->agent.status.seed.step != step;
        at->agent.status.seed.step = step;
    } else
        begin_attempt(sim, member, decision.act);
}
