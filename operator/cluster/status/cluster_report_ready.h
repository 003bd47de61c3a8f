/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_report_ready.h: Ready, Reconciling, Stalled (ready_conditions.h) and Degraded of a MysqlCluster. Pure.
 *
 * Ready: the primary takes writes, by its own word, and this generation is applied: its objects are as wanted, and its
 * roll has gone through. A later roll, for another agent image or MysqlConfig, changes nothing about that. Whether it
 * has gone through members say themselves: an operator that has just begun to lead waits for their word, up to
 * CLUSTER_READY_HEAR_MS, and goes by that of the others after that. A hibernated
 * cluster is Ready; a paused one as long as its primary takes writes. One that has never served says why its spec is
 * not accepted, if it is not: nothing else was ever in force. While the primary's agent is not heard, or an epoch is
 * being written, it stays as it was.
 *
 * What is not Ready is either Stalled, where nothing goes on before somebody changes something, or Reconciling. Only a
 * paused cluster is neither: nothing is done about it, by wish.
 *
 * Degraded: True wherever the state (cluster_state.h) is Degraded, so that the two never contradict each other; and
 * where the state says something else (Cloning), but the cluster is Ready and another condition says that something is
 * missing. It has that one's reason and message.
 */
#ifndef KM_CLUSTER_REPORT_READY_H
#define KM_CLUSTER_REPORT_READY_H

#include "operator/cluster/rollout/cluster_decide.h"
#include "operator/cluster/state/cluster_snapshot.h"

/* Somebody who is silent for longer does not keep the others' work from being called done. */
#define CLUSTER_READY_HEAR_MS 10000

/* After all other conditions: it reads Accepted, Progressing, Healthy and ChildConflict from *status, and
 * appliedGeneration. */
void cluster_report_ready(
    const struct cluster_snapshot *snapshot, const struct cluster_decision *decision, struct cluster_status *status);

/* When that is to be looked at again although nothing happens: the time for a member's word is over then; 0: never. */
int64_t cluster_report_ready_again_ms(const struct cluster_snapshot *snapshot, const struct cluster_status *status);

/* After that. A state of Healthy becomes Degraded, too, where a condition says that something is missing. */
void cluster_report_degraded(const struct cluster_snapshot *snapshot, struct cluster_status *status);

#endif
