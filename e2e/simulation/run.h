/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.h: one schedule from a new cluster to its end.
 */
#ifndef KM_SIMULATION_RUN_H
#define KM_SIMULATION_RUN_H

#include "e2e/simulation/sim.h"

struct run_result {
    enum violation kind;
    char text[512];
    int64_t virtual_ms, epoch;
    int acked;
    uint64_t digest; /* of all that happened: the same of two builds if they do the same */
    bool beyond;     /* nobody holds everything any more: more was lost than the promise bears, and nobody was opened */
};

/* Free with free(). */
struct sim *run_new_sim(void);

/* sim is large (a MiB) and needs no preparation but for digests_story; story: where it is told, or NULL. */
void run_schedule(struct sim *sim, const struct schedule *schedule, FILE *story, struct run_result *ret);
void run_release(struct sim *sim);

/* Takes faults away as long as the same kind of violation remains. Returns the runs that it took. */
int run_shrink(struct sim *sim, struct schedule *schedule, enum violation kind);

#endif
