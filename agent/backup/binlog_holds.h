/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binlog_holds.h: whether the binary logs of a MariaDB server, which may run, hold very transactions.
 *
 * MariaDB's positions name the last transaction of a domain: 0-2-110 does not tell whether 0-1-105 is in that history.
 * So each transaction is looked for by domain, server and number. Each log begins with the last transaction of every
 * domain and server before it, and their numbers only grow, so one log is read for each, from its newest on.
 * Blocking: for a worker's thread.
 */
#ifndef KM_AGENT_BACKUP_BINLOG_HOLDS_H
#define KM_AGENT_BACKUP_BINLOG_HOLDS_H

#include "common/base.h"

#include "common/error.h"

/* gtids: "0-1-105", one a line, at least one. *ret: every one of them was found. What was purged is not found. -1: the
 * text is no such list (ERROR_INVALID), or the logs cannot be read; one may have been purged meanwhile. */
int binlog_holds(const char *data_dir, const char *gtids, bool *ret, struct error *err) KM_MUST_CHECK;

#endif
