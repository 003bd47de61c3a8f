/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seed_settle.h: MySQL's files that were unpacked into data.new (agent/backup/clone_local.h) are started once by this
 * image's server, without network and binary log: it rolls the copy forward and back, and proves that it can be started
 * before anything else relies on it.
 *
 * The server says which transactions the copy holds: at least those that the backup tells, and perhaps a moment more.
 * It forgets whom the donor replicated from: the copy has that, too, but not the relay logs. Lives on the loop.
 */
#ifndef KM_AGENT_SEED_SETTLE_H
#define KM_AGENT_SEED_SETTLE_H

#include "common/base.h"

#include "agent/bootstrap/init.h"
#include "common/error.h"
#include "common/loop.h"
#include "common/worker.h"

struct seed_settle;

struct seed_settle_options {
    struct loop *loop;
    struct worker *worker; /* idle */
    const struct agent_paths *paths;
    const struct init_prepared *prepared;
    const char *gtid; /* the backup's; outlives it */
    /* Once, from the loop, not after seed_settle_free. err: NULL when the server has ended cleanly; INVALID: it ended
     * by itself, PROTOCOL: the copy holds less than it should. The owner frees, not from inside it. */
    void (*done)(void *arg, const struct error *err);
    void *arg;
};

struct seed_settle *seed_settle_start(const struct seed_settle_options *options);
/* Kills the server; `done` follows. */
void seed_settle_cancel(struct seed_settle *settle);
/* Kills what runs. The worker must be idle or gone. NULL is fine. */
void seed_settle_free(struct seed_settle *settle);
/* After `done` without an error: what the copy holds. */
const char *seed_settle_gtid(const struct seed_settle *settle);

#endif
