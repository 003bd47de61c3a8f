/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seed_position.h: which transactions a copy holds, as the tool that made it says; told to the server once, before it
 * replicates or is written to.
 *
 * A copy of MariaDB has the donor's tables but not its binary log, so the server does not know by itself where to go
 * on. The position lies in the data folder (data/kube-mysql-seed.json): it arrives with the data by one rename and can
 * never be another folder's. MySQL keeps its executed GTIDs in a table that is copied: there is no such file.
 *
 * Facts, tried on MariaDB 10.11.19: mariadb-backup writes xtrabackup_binlog_info (newer: mariadb_backup_binlog_info),
 * three words: file, offset, and @@gtid_current_pos under the backup's commit lock. That is the greater of
 * gtid_slave_pos and of what the server wrote itself, per domain; so it is right on a primary, on a replica, on a
 * promoted replica, and on a copy whose binary log is still empty (if its own position had been applied). With no
 * transaction ever, the third word is missing. On a replica that applies it can be a transaction too old, so the donor
 * tells better (agent/backup/copy_position.h).
 */
#ifndef KM_AGENT_BOOTSTRAP_SEED_POSITION_H
#define KM_AGENT_BOOTSTRAP_SEED_POSITION_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "agent/mysql/session.h"
#include "common/agent_order.h"
#include "common/error.h"

#define SEED_POSITION_FILE "kube-mysql-seed.json"

struct seed_position {
    const char *gtid; /* NULL or "": no transaction yet */
    char donor[AGENT_HOST_SIZE];
    int64_t at_ms; /* wall clock */
};

/* dir: the data folder, or the one that becomes it. */
int seed_position_write(const char *dir, const struct seed_position *position, struct error *err) KM_MUST_CHECK;
/* Whether there is a position that was not applied yet. Cheap. */
bool seed_position_pending(const struct agent_paths *paths);

/* Tells the server and removes the file. Nothing to do without a file. Replication must be stopped; to be called before
 * anything is replicated or written. Can be repeated after a crash at any point. Blocking. */
int seed_position_apply(const struct agent_paths *paths, struct session *session, struct error *err) KM_MUST_CHECK;

/* Pure: the third word of a *_binlog_info file; *ret is replaced. ERROR_PROTOCOL if it is no GTID position. */
int seed_position_parse_binlog_info(const char *text, char **ret, struct error *err) KM_MUST_CHECK;
/* From the files that mariadb-backup left in dir; likewise. ERROR_NOT_FOUND: none. */
int seed_position_find(const char *dir, char **ret, struct error *err) KM_MUST_CHECK;

#endif
