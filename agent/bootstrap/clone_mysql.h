/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clone_mysql.h: MySQL copies itself: a scratch server of this image runs CLONE INSTANCE FROM the donor into data.new
 * (8.0.22 and later). https://dev.mysql.com/doc/refman/8.0/en/clone-plugin-remote.html
 *
 * The scratch server has a data folder of its own (state_dir/scratch), no network, and this member's my.cnf, because
 * donor and recipient must have the same plugins and page size. With DATA DIRECTORY the copy is complete when the
 * statement ends, and nothing has to be started again (no error 3707). GTIDs come along (mysql.gtid_executed),
 * server_uuid does not (auto.cnf): tried on 9.7.4.
 *
 * Lives on the loop; statements run on the given worker and a second one of its own, which asks how far it is.
 */
#ifndef KM_AGENT_BOOTSTRAP_CLONE_MYSQL_H
#define KM_AGENT_BOOTSTRAP_CLONE_MYSQL_H

#include "common/base.h"

#include "agent/bootstrap/init.h"
#include "agent/bootstrap/paths.h"
#include "common/agent_order.h"
#include "common/error.h"
#include "common/loop.h"
#include "common/worker.h"

struct clone_mysql;

struct clone_mysql_options {
    struct loop *loop;
    struct worker *worker; /* idle */
    const struct agent_paths *paths;
    const struct init_prepared *prepared;
    const struct agent_order *order; /* outlives the clone */
    /* Once, from the loop. err: NULL when data.new holds the copy; CANCELLED after clone_mysql_cancel. */
    void (*done)(void *arg, const struct error *err);
    void *arg;
};

struct clone_mysql *clone_mysql_start(const struct clone_mysql_options *options);
/* Kills the scratch server; `done` follows when the worker has noticed. */
void clone_mysql_cancel(struct clone_mysql *clone);
/* The worker must be idle or gone. NULL is fine. */
void clone_mysql_free(struct clone_mysql *clone);
/* Of all stages. Total 0: not known yet. */
void clone_mysql_progress(const struct clone_mysql *clone, uint64_t *ret_bytes, uint64_t *ret_total);

/* Pure: the statement. Secret. */
void clone_mysql_statement(
    const struct agent_order *order, const char *password, const char *directory, struct strbuf *out);

#endif
