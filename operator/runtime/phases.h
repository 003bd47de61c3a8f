/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phases.h: work on the loop as a table of phases. Each phase begins something and says which one comes next, or that
 * what it has begun will say so.
 *
 *     static const phase_fn phases[] = {[LOOK] = look, [WRITE] = write_it, [DONE] = done};
 *     phases_start(&work->phases, phases, work, LOOK);
 *
 * A phase that waits returns PHASES_WAIT; the callback of what it waits for calls phases_go_on once. A callback may
 * come while the phase still runs: the next phase begins when that one has returned. A phase that has freed the work
 * returns PHASES_END, and nothing is touched after it.
 */
#ifndef KM_PHASES_H
#define KM_PHASES_H

#include "common/base.h"

/* What a phase returns beside the index of the next one. */
#define PHASES_WAIT (-1)
#define PHASES_END (-2)

/* arg: the work. */
typedef int (*phase_fn)(void *arg);

/* Part of the work, which owns it. */
struct phases {
    const phase_fn *table;
    void *arg;
    bool running;
    int resumed; /* by a callback, while the phase that waits for it runs; PHASES_WAIT: not yet */
};

/* Runs phases until one waits or ends: the work may be gone afterwards. The table is borrowed. */
void phases_start(struct phases *phases, const phase_fn *table, void *arg, int first);
/* For callbacks: goes on with that phase. */
void phases_go_on(struct phases *phases, int next);

#endif
