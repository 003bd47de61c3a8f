/* SPDX-License-Identifier: Apache-2.0 */
/*
 * faults.h: what goes wrong, and what people do.
 */
#ifndef KM_SIMULATION_FAULTS_H
#define KM_SIMULATION_FAULTS_H

#include "e2e/simulation/sim.h"

/* Those that are due. True: none is left, and what lasts is over. */
bool faults_step(struct sim *sim, int64_t begun_ms);
/* All that still lasts ends. */
void faults_heal(struct sim *sim);

#endif
