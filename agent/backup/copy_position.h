/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy_position.h: which transactions a copy by mariadb-backup holds, exactly.
 *
 * The tool says where the binary log ended under its lock, and @@gtid_current_pos there: "MySQL binlog position:
 * filename 'binlog.000001', position '23984779', GTID of the last change '0-1-42035'" (with no transaction ever, the
 * last part is missing).
 *
 * Facts, tried on MariaDB 10.11.19: a replica's gtid_slave_pos is updated after the commit, outside of that lock. So on
 * a replica that applies, the GTID is often one transaction too old (in 2 of the first 8 copies tried), and replicating
 * from it ends with a duplicate key. File and offset are right: what the binary log holds is what the tables hold. So
 * the donor's server is asked for the GTIDs at this offset (BINLOG_GTID_POS); what the tool said counts for domains
 * that the binary log does not know.
 */
#ifndef KM_AGENT_BACKUP_COPY_POSITION_H
#define KM_AGENT_BACKUP_COPY_POSITION_H

#include "common/base.h"

#include "common/error.h"
#include "common/position.h"

#define COPY_POSITION_FILE_SIZE 256

/* Our own tool's line (agent/copy_process.h): these words, and the GTIDs in quotes. MySQL; no other tool says it. */
#define COPY_POSITION_TOLD "the copy holds "

struct copy_position {
    char file[COPY_POSITION_FILE_SIZE]; /* "" : not said */
    uint64_t offset;
    char *gtid; /* owned; NULL: none */
};
/* Of a line of a tool. */
#define COPY_POSITION_LINE_MAX (POSITION_TEXT_MAX + (size_t)(4 * KM_KIB))

void copy_position_release(struct copy_position *position);
/* Pure. From a line of the tool's standard error, *ret is replaced; false if it is another line. */
bool copy_position_find(const char *line, struct copy_position *ret);
/* Pure. From the line of our own tool, *ret is replaced; false if it is another line. */
bool copy_position_told(const char *line, char **ret);
/* Pure. The further one of both for each domain; *ret is replaced. ERROR_TOO_LARGE, ERROR_INVALID. */
int copy_position_join(const char *told, const char *at_offset, char **ret, struct error *err) KM_MUST_CHECK;
/* Asks the server, blocking, and joins. */
int copy_position_ask(const char *socket, const char *user, const struct copy_position *position, char **ret,
    struct error *err) KM_MUST_CHECK;

#endif
