/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binlog_double.h: a data folder with binary logs in it, written by the test: index, files with descriptions, lists of
 * GTIDs, transactions of one statement.
 */
#ifndef KM_AGENT_BACKUP_TESTS_BINLOG_DOUBLE_H
#define KM_AGENT_BACKUP_TESTS_BINLOG_DOUBLE_H

#include "common/base.h"

#include "common/gtid.h"

struct binlog_double {
    char *dir;
    enum gtid_flavour flavour;
    unsigned oldest, newest; /* numbers of files; newest 0: none */
    uint32_t created;        /* in their descriptions */
};

void binlog_double_init(struct binlog_double *logs, enum gtid_flavour flavour);
void binlog_double_release(struct binlog_double *logs); /* removes the folder */
/* Another file. before: "0-1-5,0-2-7" (of each domain and server), or "UUID:1-5,UUID:1-3"; "" nothing. */
void binlog_double_rotate(struct binlog_double *logs, const char *before);
/* A transaction, in the newest file. gtid: "0-1-5" or "UUID:5"; bytes: of its statement. */
void binlog_double_add(struct binlog_double *logs, const char *gtid, uint32_t at_s, size_t bytes);
/* One of these statements, an event each; NULL ends them. */
void binlog_double_add_statements(
    struct binlog_double *logs, const char *gtid, const char *const *statements, size_t count);
/* 0-SERVER-FIRST to 0-SERVER-LAST. */
void binlog_double_add_range(struct binlog_double *logs, unsigned server, unsigned first, unsigned last);
/* The first bytes of what binlog_double_add would write. */
void binlog_double_add_part(struct binlog_double *logs, const char *gtid, size_t bytes);
/* MariaDB: a recovery begins at the log of that number. */
void binlog_double_checkpoint(struct binlog_double *logs, unsigned log);
/* The newest file goes on as the next of several that were joined (binlog_tail.h). */
void binlog_double_describe(struct binlog_double *logs);
/* The oldest file goes. */
void binlog_double_purge(struct binlog_double *logs);
/* A folder without files again; names are used again. */
void binlog_double_reset(struct binlog_double *logs);

#endif
