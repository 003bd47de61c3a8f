/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "e2e/simulation/run.h"

static bool still_fails(struct sim *sim, const struct schedule *schedule, enum violation kind, int *runs)
{
    struct run_result result;
    (*runs)++;
    run_schedule(sim, schedule, NULL, &result);
    return result.kind == kind;
}

static void without(const struct schedule *schedule, int from, int count, struct schedule *ret)
{
    *ret = *schedule;
    ret->fault_count = 0;
    for (int i = 0; i < schedule->fault_count; i++) {
        if (i < from || i >= from + count)
            ret->faults[ret->fault_count++] = schedule->faults[i];
    }
}

/* Halves first, then one by one. */
static bool drop_some(struct sim *sim, struct schedule *schedule, enum violation kind, int *runs)
{
    bool any = false;
    for (int size = MAX_OF(schedule->fault_count / 2, 1); size > 0; size /= 2) {
        for (int from = schedule->fault_count - size; from >= 0; from -= size) {
            struct schedule fewer;
            without(schedule, from, size, &fewer);
            if (!still_fails(sim, &fewer, kind, runs))
                continue;
            *schedule = fewer;
            any = true;
        }
    }
    return any;
}

static void simplify(struct sim *sim, struct schedule *schedule, enum violation kind, int *runs)
{
    struct schedule other = *schedule;
    other.slow = false;
    if (schedule->slow && still_fails(sim, &other, kind, runs))
        *schedule = other;
    other = *schedule;
    other.idle = false;
    if (schedule->idle && still_fails(sim, &other, kind, runs))
        *schedule = other;
    other = *schedule;
    other.impatient = false;
    if (schedule->impatient && still_fails(sim, &other, kind, runs))
        *schedule = other;
    for (int i = 0; i < schedule->fault_count; i++) {
        other = *schedule;
        other.faults[i].when = WHEN_AT_ONCE;
        other.faults[i].after_ms = 0;
        if (schedule->faults[i].when != WHEN_AT_ONCE && still_fails(sim, &other, kind, runs))
            *schedule = other;
    }
}

int run_shrink(struct sim *sim, struct schedule *schedule, enum violation kind)
{
    int runs = 0;
    while (drop_some(sim, schedule, kind, &runs) && runs < 600)
        ;
    simplify(sim, schedule, kind, &runs);
    return runs;
}
