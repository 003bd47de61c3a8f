/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load_mysql.h: a server of this image that takes a dump, a donor's or a stored one: made empty in data.new, without
 * network and binary log, with this member's my.cnf. A client of the image reads the statements from its standard input
 * (clone_stream.h, restore_stream.h) and gives them to it.
 *
 * After a clean shutdown data.new is a whole database with the accounts of the dump. MySQL's knows the GTIDs as its own
 * (the dump sets gtid_purged), MariaDB's has to be told them (seed_position.h).
 *
 * The same server also executes what is archived on top of a restored database (`existing`, agent/seed_replay.h): also
 * without a binary log, so that nothing gets a GTID that it had not before, and as a server number that no member has,
 * because an applier leaves out what bears its own.
 *
 * Lives on the loop; what blocks runs on the given worker.
 */
#ifndef KM_AGENT_BOOTSTRAP_LOAD_MYSQL_H
#define KM_AGENT_BOOTSTRAP_LOAD_MYSQL_H

#include "common/base.h"

#include "agent/bootstrap/init.h"
#include "common/error.h"
#include "common/loop.h"
#include "common/strvec.h"
#include "common/worker.h"

struct load_mysql;

struct load_mysql_options {
    struct loop *loop;
    struct worker *worker; /* idle */
    const struct init_prepared *prepared;
    const struct agent_paths *paths; /* data.new is empty, but for `existing` */
    bool existing;                   /* data.new holds a database */
    bool replace;                    /* where there is no room to begin, the data that is there goes first */
    /* Once: it takes statements, or why not (CANCELLED after load_mysql_cancel; INVALID: it has ended by itself, its
     * own words are in the message). */
    void (*ready)(void *arg, const struct error *err);
    /* Once, after load_mysql_stop: data.new holds what was loaded. INVALID as above. */
    void (*stopped)(void *arg, const struct error *err);
    void *arg;
};

struct load_mysql *load_mysql_start(const struct load_mysql_options *options);
/* Reads statements from its standard input. ERROR_NOT_FOUND: the image has no client. */
int load_mysql_command(const struct load_mysql *load, struct strvec *argv, struct error *err) KM_MUST_CHECK;
const char *load_mysql_socket(const struct load_mysql *load);
void load_mysql_stop(struct load_mysql *load);   /* cleanly; `stopped` follows */
void load_mysql_cancel(struct load_mysql *load); /* before `ready`, which follows */
/* Kills the server. The worker must be idle or gone. NULL is fine. */
void load_mysql_free(struct load_mysql *load);

#endif
