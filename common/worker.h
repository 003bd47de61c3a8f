/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker.h: one thread for blocking work (a MySQL session, a long tool), one queue, results back on the loop.
 *
 * Ownership moves with the message: job->arg belongs to the thread from submit until `done` runs on the loop. Jobs run
 * one at a time, in order. Nothing else is shared.
 */
#ifndef KM_COMMON_WORKER_H
#define KM_COMMON_WORKER_H

#include "common/base.h"

#include "common/loop.h"

struct worker;

struct worker_job {
    void (*run)(void *arg); /* on the thread; may block */
    void (*done)(
        void *arg); /* on the loop, after run, may be NULL; also called (without run) for jobs dropped by worker_free */
    void *arg;
};

/* name: at most 15 bytes, shown by the kernel (/proc/PID/task/TID/comm). */
struct worker *worker_new(struct loop *loop, const char *name);
/* -1 when WORKER_QUEUE_MAX jobs wait already: the job was not taken. */
int worker_submit(struct worker *worker, const struct worker_job *job) KM_MUST_CHECK;
/* Jobs waiting or running, or whose `done` has not run yet. */
size_t worker_pending(const struct worker *worker);
/* Monotonic ms since when the running job runs, 0 if idle: hang detection from the loop. */
int64_t worker_busy_since_ms(const struct worker *worker);
/* Waits for the running job, drops the queued ones, runs all `done`s in order (they cannot submit any more), joins.
 * Fine from inside a `done`. NULL is fine. */
void worker_free(struct worker *worker);

#endif
