/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clients.h: clients that write, one transaction at a time, and note what they were told.
 */
#ifndef KM_SIMULATION_CLIENTS_H
#define KM_SIMULATION_CLIENTS_H

#include "e2e/simulation/sim.h"

void clients_step(struct sim *sim);

#endif
