/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/runtime/phases.h"

static void run(struct phases *phases, int phase)
{
    phases->running = true;
    while (phase != PHASES_WAIT) {
        phases->resumed = PHASES_WAIT;
        phase = phases->table[phase](phases->arg);
        if (phase == PHASES_END)
            return;
        if (phase == PHASES_WAIT)
            phase = phases->resumed;
    }
    phases->running = false;
}

void phases_start(struct phases *phases, const phase_fn *table, void *arg, int first)
{
    *phases = (struct phases){.table = table, .arg = arg};
    run(phases, first);
}

void phases_go_on(struct phases *phases, int next)
{
    if (phases->running)
        phases->resumed = next;
    else
        run(phases, next);
}
