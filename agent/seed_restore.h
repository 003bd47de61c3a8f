/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seed_restore.h: the copying part of an attempt to restore: a stored backup comes into data.new and is made a database
 * there.
 *
 *   manifest   read from the store and checked: digest, mac (so: the key), family and series of the server, room on the
 *              volume. Nothing is touched before
 *   archive    if binary logs are to be replayed: whether they lead from the backup to the target (seed_replay.h).
 *              Likewise
 *   data       restore_stream into mbstream, into load_mysql's server, or into our own `unpack` (MySQL's files)
 *   prepare    seed_prepare (MariaDB's files), seed_settle (MySQL's)
 *   replay     seed_replay; the position that is taken over is the one that was reached
 * `data` (or `data.restored`, of a restore beside the data) gets its name last, by seed_restore_finish (I8). After a
 * crash at any point the next attempt begins anew.
 *
 * The task holds keys: it is kept encoded in memory that is wiped, and goes to `download` by a pipe (I9).
 */
#ifndef KM_AGENT_SEED_RESTORE_H
#define KM_AGENT_SEED_RESTORE_H

#include "common/base.h"

#include "agent/bootstrap/init.h"
#include "agent/bootstrap/restore_check.h"
#include "common/agent_api.h"
#include "common/backup_task.h"
#include "common/loop.h"
#include "common/worker.h"

struct seed_restore;

struct seed_restore_options {
    struct loop *loop;
    struct worker *worker; /* idle whenever seed_restore_copy is called */
    const struct agent_paths *paths;
    const struct init_prepared *prepared;
    const struct agent_order *order; /* outlives it */
    const char *task;                /* encoded, as it came (it was decoded once); copied. Secret */
    size_t task_len;
    /* Once per seed_restore_copy, from the loop: data.new holds a complete database, or why not (CANCELLED after
     * seed_restore_cancel). */
    void (*copied)(void *arg, const struct error *err);
    void *arg;
};

struct seed_restore *seed_restore_new(const struct seed_restore_options *options);
/* Ends what runs without `copied`; the worker must be gone or idle. Wipes the task. NULL is fine. */
void seed_restore_free(struct seed_restore *restore);
/* data.new is empty. */
void seed_restore_copy(struct seed_restore *restore);
/* `copied` follows. */
void seed_restore_cancel(struct seed_restore *restore);
/* After `copied` without an error: data.new becomes data, or data.restored. Blocking, for the worker's thread. */
int seed_restore_finish(struct seed_restore *restore, struct error *err) KM_MUST_CHECK;
void seed_restore_progress(const struct seed_restore *restore, struct agent_status *status);
/* After `copied` with an error. */
struct restore_failure seed_restore_failure(const struct seed_restore *restore);

#endif
