/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_rules.h: what must hold whatever the operator orders, held against the status as the API server has it (the
 * invariants I1 to I8). For agent_model.c only; what is broken is told by agent_model_fail.
 */
#ifndef KM_AGENT_RULES_H
#define KM_AGENT_RULES_H

#include "operator/tests/agent_model.h"

/* ---- an order comes ---- */
void agent_rules_check_order(const struct agent_double *agent, const struct agent_order *order);
void agent_rules_check_acks(const struct agent_double *agent, const struct agent_order *order);

/* ---- it is about to be carried out ---- */
void agent_rules_check_opening(const struct agent_double *agent);
void agent_rules_check_initialise(const struct agent_double *agent);
void agent_rules_check_taking(const struct agent_double *agent);
void agent_rules_check_restore(const struct agent_double *agent);
void agent_rules_check_copy(const struct agent_double *agent, const struct agent_double *donor);

/* How many acknowledge its commits now. */
unsigned agent_rules_acknowledgers(const struct agent_double *primary);
/* Its clients are told that a commit is done. */
bool agent_rules_can_commit(const struct agent_double *primary);

#endif
