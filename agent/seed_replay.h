/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seed_replay.h: archived binary logs are executed on a restored backup in data.new, up to the moment that was asked
 * for.
 *
 *   check    before anything of the backup is fetched: the child `replay` reads the archive's descriptions and says
 *            whether it can be done
 *   server   of this image on data.new, without network and binary log (load_mysql.h). MariaDB is told the backup's
 *            position, MySQL has it
 *   batches  the child puts relay logs into data.new (agent/backup/replay_process.h), the server's applier executes one
 *            after the other (relay_apply.h)
 * What is reached in the end the server says. All of it lies in data.new: after a crash at any point the next attempt
 * begins anew. Lives on the loop.
 */
#ifndef KM_AGENT_SEED_REPLAY_H
#define KM_AGENT_SEED_REPLAY_H

#include "common/base.h"

#include "agent/bootstrap/init.h"
#include "agent/bootstrap/restore_check.h"
#include "common/agent_api.h"
#include "common/loop.h"
#include "common/worker.h"

struct seed_replay;

struct seed_replay_options {
    struct loop *loop;
    struct worker *worker; /* idle */
    const struct agent_paths *paths;
    const struct init_prepared *prepared;
    const char *task; /* encoded; outlives it. Secret */
    size_t task_len;
    const char *gtid;  /* the backup's position; copied */
    int64_t backup_ms; /* when it was begun */
    bool only_check;
    /* Once, from the loop; the worker is idle, nothing runs any more. err NULL: data.new holds what was asked for, or
     * that is possible. The owner frees, not from inside. */
    void (*done)(void *arg, const struct error *err, struct restore_failure failure);
    void *arg;
};

struct seed_replay *seed_replay_start(const struct seed_replay_options *options);
void seed_replay_cancel(struct seed_replay *replay); /* `done` follows */
/* Kills what runs. The worker must be idle or gone. NULL is fine. */
void seed_replay_free(struct seed_replay *replay);
const char *seed_replay_reached(const struct seed_replay *replay); /* GTIDs; after `done` */
void seed_replay_progress(const struct seed_replay *replay, struct agent_status *status);

#endif
