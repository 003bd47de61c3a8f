/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent.h: the agent beside a server, as agent/agent.c, role_keeper.c, role_lane.c, source_watch.c and healing.c drive
 * it. What it decides and notes is decided and noted by the product's functions (role_decide, role_note_*,
 * role_fill_status, agent_phase_of, catch_up_*, hearing_*, healing_note_*, source_watch_take, start_mode_*,
 * seed_decide); what workers, lanes and files of the agent do around them is repeated here, by the names that it has
 * there.
 */
#ifndef KM_SIMULATION_AGENT_H
#define KM_SIMULATION_AGENT_H

#include "agent/role_decide.h"
#include "e2e/simulation/sim.h"

void agent_start(struct sim *sim, int member, bool in_init);
void agent_kill(struct sim *sim, int member);
void agent_step(struct sim *sim, int member);
bool agent_answers(const struct sim *sim, int member);
/* An order has arrived. False: refused, it has seen a larger epoch. */
bool agent_take_order(struct sim *sim, int member, const struct agent_order *order, int64_t as_of_ms);
/* Somebody heard of it (agent/hearing.h). other: -1 the operator. */
void agent_heard(struct sim *sim, int member, int other, int64_t as_of_ms);

/* agent_lane.c: role_lane.c, role_change.c, role_close.c */
/* agent/pre_stop.c: close_server, whatever the agent does. */
void agent_hook_close(struct sim *sim, int member);
void agent_begin_job(struct sim *sim, int member, const struct role_decision *decision);
void agent_job_step(struct sim *sim, int member);
void agent_look(struct sim *sim, int member, struct replication_facts *ret);
void agent_take_facts(struct sim *sim, int member, const struct replication_facts *facts, int64_t started_ms);
void agent_keep_note(struct sim *sim, int member);

/* agent_init.c: seed.c */
void agent_init_start(struct sim *sim, int member);
void agent_init_step(struct sim *sim, int member);
/* Its copy of the donor's data comes to no end because commits wait there. */
bool agent_init_waits_for(const struct sim *sim, int member, int donor);
int agent_init_count_copies(const struct sim *sim, int donor);
bool agent_init_order(struct sim *sim, int member, const struct agent_order *order);

/* agent_heal.c: healing.c, source_watch.c */
void agent_heal_ordered(struct sim *sim, int member, const struct agent_order *order, bool renewed);
void agent_keep_mark(struct sim *sim, int member);
void agent_fetch(struct sim *sim, int member, const char *after);
void agent_watch_source(struct sim *sim, int member);
void agent_set_source(struct sim *sim, int member);

/* A status as it is said. Of backups, archives and checks, three quarters of the struct, nothing is said here: they
 * stay as they are in `to`, empty. */
void agent_status_say(const struct agent_status *from, struct agent_status *to);

#endif
