/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seed_clone.h: the copying part of an attempt to clone: the donor's data comes into data.new and is made consistent
 * there.
 *
 * MariaDB: clone_stream (GET /v1/backup into mbstream; or, where the donor says so, statements into load_mysql), then
 * mariadb-backup --prepare, then one start of the server (clone_finish.h). MySQL: clone_mysql; where CLONE cannot serve
 * (seed_path.h), a dump by clone_stream into load_mysql.
 */
#ifndef KM_AGENT_SEED_CLONE_H
#define KM_AGENT_SEED_CLONE_H

#include "common/base.h"

#include "agent/bootstrap/init.h"
#include "common/agent_api.h"
#include "common/loop.h"
#include "common/worker.h"

struct seed_clone;

struct seed_clone_options {
    struct loop *loop;
    struct worker *worker; /* idle whenever seed_clone_copy is called */
    const struct agent_paths *paths;
    const struct init_prepared *prepared;
    const struct agent_order *order; /* outlives the clone */
    /* Once per seed_clone_copy, from the loop: data.new holds a complete copy, or why not (CANCELLED after
     * seed_clone_cancel). */
    void (*copied)(void *arg, const struct error *err);
    void *arg;
};

struct seed_clone *seed_clone_new(const struct seed_clone_options *options);
/* Ends what runs without `copied`; the worker must be gone or idle. NULL is fine. */
void seed_clone_free(struct seed_clone *clone);
/* data.new is empty. */
void seed_clone_copy(struct seed_clone *clone);
/* `copied` follows. */
void seed_clone_cancel(struct seed_clone *clone);
/* After `copied` without an error: data.new becomes data. Blocking, for the worker's thread. */
int seed_clone_finish(struct seed_clone *clone, struct error *err) KM_MUST_CHECK;
void seed_clone_progress(const struct seed_clone *clone, struct agent_status *status);

#endif
