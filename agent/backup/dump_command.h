/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_command.h: how a MySQL that cannot CLONE gives its data, and what logical backups are: all of it as statements,
 * by the image's own mysqldump.
 *
 * Facts, tried on 9.7.4: the dump holds the accounts (as tables of the schema mysql), routines, events and triggers,
 * begins with SET GLOBAL gtid_purged and SET sql_log_bin = 0, and loads into a freshly initialised server of the same
 * version without a binary log; that one then has the donor's gtid_executed. The schema sys and the data dictionary are
 * not part of it: the new server has its own. --source-data (before 8.0.26: --master-data) makes mysqldump hold the
 * global read lock until the snapshot is open and the GTIDs are read, so that both fit in every version (8.0.32 and
 * later take it anyway); it is let go before the first row is read.
 */
#ifndef KM_AGENT_BACKUP_DUMP_COMMAND_H
#define KM_AGENT_BACKUP_DUMP_COMMAND_H

#include "common/base.h"

#include "agent/mysql/dialect.h"
#include "common/strvec.h"

/* Pure. tool: path of mysqldump. user: enters by the socket, without a password. */
void dump_command(
    const struct server_version *version, const char *tool, const char *socket, const char *user, struct strvec *argv);

/*
 * The same of a MariaDB, by mariadb-dump, for logical backups and for members whose image has no mariadb-backup. Facts,
 * tried on 10.11: --master-data=2 with --gtid writes "-- SET GLOBAL gtid_slave_pos='0-1-5';" (dump_position.h), asked
 * of the server at the binary log's offset while writes are held up, so it is exact on a replica too (copy_position.h);
 * it fails when the server has no binary log.
 */
void dump_command_mariadb(const char *tool, const char *socket, const char *user, struct strvec *argv);

#endif
