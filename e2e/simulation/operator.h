/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operator.h: two operators, of which one leads. What they decide is decided by operator/cluster; rounds, streams,
 * orders on their way, caches, the lease and writes that conflict are modelled here after cluster_reconcile_*.c,
 * agent_watch.c and order_sender.c.
 */
#ifndef KM_SIMULATION_OPERATOR_H
#define KM_SIMULATION_OPERATOR_H

#include "e2e/simulation/sim.h"

void operator_start(struct sim *sim, int op);
void operator_kill(struct sim *sim, int op);
void operator_step(struct sim *sim, int op);
void operator_release(struct sim_operator *op);

/* snapshot.c: the narrow place between simulation and product. From caches, streams and memory. */
void snapshot_init(struct sim *sim, int op);
void snapshot_update(struct sim *sim, int op);
void snapshot_take_status(struct sim *sim, int op, const struct cluster_status *status);

/* streams.c */
/* As cluster_gather.c: has_departed. */
bool stream_has_departed(const struct sim *sim, int op, int member);
void streams_step(struct sim *sim, int op);
void stream_want(struct sim *sim, struct sim_stream *stream, const struct agent_order *order);
void orders_step(struct sim *sim);

/* round.c */
void round_run(struct sim *sim, int op);
void round_write_step(struct sim *sim, int op);

#endif
