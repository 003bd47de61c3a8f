/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.h: the command line of simulate.
 *
 * Everything behind the options is the name of a schedule's file (schedule.h). Without such names, schedules are made:
 * `count` of them, from seed, seed + 1 and so on (1000 by default); with `seconds` no more than begin within that time.
 */
#ifndef KM_SIMULATION_OPTIONS_H
#define KM_SIMULATION_OPTIONS_H

#include "e2e/simulation/schedule.h"

struct options {
    struct schedule_wish wish;
    uint64_t seed, count;
    uint64_t seconds; /* of real time, after which no schedule is begun any more; 0: no bound */
    bool story;       /* tells every schedule, not only one that fails */
    bool digests;     /* prints one for each schedule; two builds that print the same do the same */
    bool keep_going;  /* counts violations and does not stop at the first */
    unsigned ignore;  /* bits by enum violation: these are only counted */
    const char *save; /* where the schedule is written that failed, after it was shrunk; or NULL */
};

/* Reads argv; the names of files begin at optind (getopt_long). On a mistake says it on stderr and returns false. */
bool options_read(int argc, char **argv, struct options *ret);

#endif
