/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seed_attempt.h: one attempt to make what was ordered of the data folder: keep it, initialise it, clone or restore it,
 * take what was restored beside it. Lives on the loop; what blocks runs on a worker thread or is a process of its own.
 *
 * Where data is to be replaced (order->replace), first of all what it has beyond order->beyond is set aside on the
 * volume (set_aside.h, I7), whatever the reason and the mark. If that fails, the attempt does, and the data stays.
 *
 * When it ends well, `data` (of a restore beside it: `data.restored`) holds a complete database that is on the disk.
 * When it ends otherwise, `data` is what it was before (I8).
 */
#ifndef KM_AGENT_SEED_ATTEMPT_H
#define KM_AGENT_SEED_ATTEMPT_H

#include "common/base.h"

#include "agent/bootstrap/init.h"
#include "agent/bootstrap/restore_check.h"
#include "agent/bootstrap/seed_decide.h"
#include "common/agent_api.h"
#include "common/loop.h"
#include "common/worker.h"

struct seed_attempt;

struct seed_attempt_options {
    struct loop *loop;
    struct worker *worker; /* idle: one attempt at a time */
    const struct agent_paths *paths;
    const struct init_prepared *prepared;
    enum seed_act act;               /* all but WAIT and REFUSE */
    const struct agent_order *order; /* copied */
    const char *task;                /* RESTORE: as it came with PUT /v1/restore; copied. Secret */
    size_t task_len;
    /* What data had that is to be replaced, or why that could not be set aside; then `done` follows with the same
     * error. set_aside: what lies on the volume now, if that did not fail. From the loop, once for each attempt with
     * order->replace. */
    void (*aside)(void *arg, const struct agent_set_asides *set_aside, const struct error *err);
    /* Once, from the loop; frees the attempt. err: NULL when all is done; CANCELLED after seed_attempt_cancel. failure:
     * what is to follow; NULL unless a restore failed. */
    void (*done)(void *arg, const struct error *err, const struct restore_failure *failure);
    void *arg;
};

struct seed_attempt *seed_attempt_start(const struct seed_attempt_options *options);
/* `done` follows as soon as what blocks has ended. */
void seed_attempt_cancel(struct seed_attempt *attempt);
/* Ends it without `done`. The worker must be gone. NULL is fine. */
void seed_attempt_free(struct seed_attempt *attempt);
/* Step and bytes, as the status shows them. */
void seed_attempt_progress(const struct seed_attempt *attempt, struct agent_status *status);

#endif
