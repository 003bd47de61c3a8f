/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.h: database servers as they behave (docs/simulation.md has where each fact comes from): starting, crash
 * recovery, binary logs, replication, semi-sync with AFTER_SYNC and without a time-out.
 */
#ifndef KM_SIMULATION_SERVER_H
#define KM_SIMULATION_SERVER_H

#include "e2e/simulation/sim.h"

bool server_runs(const struct sim_server *server);
bool server_answers(const struct sim *sim, int member); /* it runs and is not frozen */
/* The container is started: it may wait for the operator's word (agent/server_start.c). */
void server_launch(struct sim *sim, int member);
/* kill -9, or `power`: what was not synced is gone as well. */
void server_kill(struct sim *sim, int member, bool power);
/* SIGTERM. MySQL tells clients whose commits wait that they are done. */
void server_end(struct sim *sim, int member);
/* The same by somebody who had the pod deleted by force: what MySQL's clients are told then was let go by hand. */
void server_end_by_hand(struct sim *sim, int member);
void server_step(struct sim *sim, int member);
void servers_replicate(struct sim *sim);

/* A transaction of its own; -1: it takes none. */
int server_write(struct sim *sim, int member, enum txn_kind kind, uint64_t epoch);
/* It was written here, and is committed: who waits for it is answered. */
bool server_has_committed(const struct sim *sim, int member, int txn);
/* Commits wait for acknowledgements. */
int server_waiting(const struct sim_member *at);
/* Whether a commit here would be acknowledged to a client now. */
bool server_can_acknowledge(const struct sim *sim, int member);
/* Semi-sync goes off: all that wait are committed, nobody was told. */
void server_let_go(struct sim *sim, int member);

/* Somebody else's doing: they are told that their commits are done. */
void server_release_waiting(struct sim *sim, int member);
bool server_is_full(const struct sim *sim, int member);   /* its volume */
bool server_is_locked(const struct sim *sim, int member); /* all of its tables */

/* GTIDs as the server tells them. */
void server_executed(const struct sim *sim, int member, char *out, size_t size);
/* replication_facts.h: drops_received. */
bool server_drops_received(const struct sim *sim, int member);
void server_received(const struct sim *sim, int member, char *out, size_t size);
bool server_has_applied_all(const struct sim_member *at);
/* What waits to be applied is gone. */
void server_drop_relay(struct sim *sim, int member);
void server_stop_receiver(struct sim *sim, int member);
/* relay_recover.h: MariaDB applies what it has kept, some of it at each call. True: no more is to be done;
 * applier_errno: not all of it can be had. */
bool server_recover_relay(struct sim *sim, int member);
void server_start_receiver(struct sim *sim, int member);
/* MariaDB drops what was received when both threads were off. */
void server_start_applier(struct sim *sim, int member);
void server_follow(struct sim *sim, int member, int source);

/* Appends what another's binary log holds, as a replica's applier does. */
void server_apply(struct sim *sim, int member, int txn);
/* Replicas that are connected to it and acknowledge. */
uint32_t server_acknowledgers(const struct sim *sim, int member);
/* A copy of the donor's first transactions; those that are committed there have no other order later. */
void server_copy(struct sim *sim, int donor, int member, int count);
void server_initialise(struct sim *sim, int member);
/* All that lies on the volume goes. */
void disk_clear(struct sim *sim, int member);

#endif
