/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binlog_tail.h: some of the transactions in the binary logs of a server that does not run, as one binary log that
 * mysqlbinlog and mariadb-binlog read.
 *
 * First the plan: which bytes of which files, all of it read and checked. Then the bytes, in pieces. Nothing is written
 * to the data folder. Blocking: for a worker's thread.
 */
#ifndef KM_AGENT_BACKUP_BINLOG_TAIL_H
#define KM_AGENT_BACKUP_BINLOG_TAIL_H

#include "common/base.h"

#include "common/error.h"
#include "common/gtid.h"

enum binlog_choice {
    /* Everything beyond the position, without a gap: what a member that has executed `gtids` lacks. */
    BINLOG_BEYOND,
    /* The newest of those that are in `gtids`. MariaDB, whose positions do not tell what is in between: the newest of
     * the servers named there; "" of all. */
    BINLOG_NEWEST,
};

struct binlog_wish {
    const char *data_dir;
    enum gtid_flavour flavour;
    enum binlog_choice choice;
    const char *gtids;
    const struct gtid_set *behind; /* BINLOG_NEWEST: what is in it is not wished for; NULL: nothing is */
    uint64_t max_bytes;
    /* MySQL: what the server said last that it had executed; NULL or not readable: not known. The logs of a member that
     * was made by a copy do not tell what it had before. */
    const char *executed;
    bool relay; /* to be applied as a relay log, which names the log it comes from (MariaDB 10.11 crashes without) */
};

struct binlog_tail;

/* NULL on failure. Of BINLOG_BEYOND: ERROR_NOT_FOUND the logs do not reach back so far; ERROR_CONFLICT the position
 * holds what these logs do not; ERROR_TOO_LARGE more than max_bytes. BINLOG_NEWEST leaves the oldest out instead.
 * ERROR_INVALID, ERROR_PROTOCOL: see binlog_file.h. */
struct binlog_tail *binlog_tail_plan(const struct binlog_wish *wish, struct error *err);
void binlog_tail_free(struct binlog_tail *tail);
static inline void binlog_tail_freep(struct binlog_tail **p)
{
    binlog_tail_free(*p);
}

const struct gtid_set *binlog_tail_set(const struct binlog_tail *tail); /* of what it holds */
uint64_t binlog_tail_count(const struct binlog_tail *tail);             /* transactions */
uint64_t binlog_tail_bytes(const struct binlog_tail *tail);
uint64_t binlog_tail_left_out(
    const struct binlog_tail *tail); /* transactions for which there was no room, as far as was looked */
/* The next bytes, at most size; 0 at the end, -1 with *err: a file has changed. */
ssize_t binlog_tail_read(struct binlog_tail *tail, void *buffer, size_t size, struct error *err) KM_MUST_CHECK;
/* Of each transaction, oldest first. */
void binlog_tail_each(const struct binlog_tail *tail, void (*fn)(void *arg, const struct gtid_one *gtid), void *arg);

/* Names of the binary logs, oldest first, as the index file lists them; whole paths. */
struct strvec;
int binlog_tail_files(const char *data_dir, struct strvec *ret, struct error *err) KM_MUST_CHECK;

#endif
