/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clone_finish.h: a complete copy in data.new becomes `data`. Blocking; for a worker's thread.
 */
#ifndef KM_AGENT_BOOTSTRAP_CLONE_FINISH_H
#define KM_AGENT_BOOTSTRAP_CLONE_FINISH_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "agent/bootstrap/server_binary.h"
#include "common/error.h"
#include "common/strvec.h"

/* mariadb-backup --prepare of data.new: what to run after it was unpacked. ERROR_NOT_FOUND: this image has no such
 * tool. */
int clone_prepare_command(const struct agent_paths *paths, struct strvec *argv, struct error *err) KM_MUST_CHECK;
/*
 * One start of this image's server on the prepared copy, without network and binary log; it ends by itself. Without
 * roll_back: with 0 if the copy can be started. With it the server rolls back what is prepared, and its status says
 * nothing: MariaDB 10.5 and 10.11 then go on and end with 0, 11.4 and 11.8 end with 1, having said "Please restart
 * without --tc-heuristic-recover" and "Can't init tc log".
 *
 * Facts, tried on MariaDB 10.5.23, 10.11.19, 11.8.9: a parallel applier's transactions that wait for their turn are
 * prepared in InnoDB and let go of the lock that a backup's last stage waits for (MDEV-36025). So they come along
 * prepared, --prepare leaves them alone, and a server that finds such without its binary log does not start. They are
 * never part of the copy's position: what is in the donor's binary log by then has been committed, and its engine log
 * flushed (InnoDB's own last binlog offset is the position's in every copy). So they are rolled back, and replication
 * brings them again. A client's own XA transactions stay. --prepare does not tell whether there are any; a start costs
 * half a second.
 */
void clone_settle_command(const struct agent_paths *paths, const char *server, bool roll_back, struct strvec *argv);
/* mbstream into data.new. */
int clone_unpack_command(const struct agent_paths *paths, struct strvec *argv, struct error *err) KM_MUST_CHECK;

struct clone_origin {
    const char *donor;
    const char *server_version; /* of the donor: whose system tables the copy holds */
    const char *gtid;           /* as the trailer says; not less than the copy's own files say */
    bool replace;               /* the database that is there goes */
    uint64_t beside;            /* not 0: it gets that number and waits beside the data (datadir_beside.h) */
};

/* What was loaded from a MariaDB's statements: the position goes into data.new, then it gets its name. The version is
 * there: the server made it. */
int clone_finish_loaded(
    const struct agent_paths *paths, const struct clone_origin *origin, struct error *err) KM_MUST_CHECK;
/* Position and version go into data.new, then it gets its name, or waits. */
int clone_finish_mariadb(
    const struct agent_paths *paths, const struct clone_origin *origin, struct error *err) KM_MUST_CHECK;

#endif
