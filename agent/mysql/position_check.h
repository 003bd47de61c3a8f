/* SPDX-License-Identifier: Apache-2.0 */
/*
 * position_check.h: whether a server that was restored has all that its backup stood for.
 *
 * MySQL: gtid_executed says it. MariaDB counts per domain, and this server has written on since (accounts, heartbeats),
 * under a number of its own: what it wrote itself says nothing of what it was given. So of gtid_binlog_state, which has
 * the last one of every server, its own are left out, unless the wanted position names that number.
 */
#ifndef KM_AGENT_MYSQL_POSITION_CHECK_H
#define KM_AGENT_MYSQL_POSITION_CHECK_H

#include "common/base.h"

#include "agent/mysql/dialect.h"
#include "agent/mysql/session.h"
#include "common/error.h"
#include "common/position.h"
#include "common/strbuf.h"

/* ret_executed: all that is executed, told (position.h), in any case but an error of the server. -1: ERROR_INVALID:
 * some of `wanted` is missing, and err says what. Blocking. */
int position_check(struct session *session, const struct dialect *dialect, const char *wanted,
    char ret_executed[static POSITION_TOLD_SIZE], struct error *err) KM_MUST_CHECK;

/* Pure. Of a MariaDB's positions those that another server wrote; all of them if `wanted` names this server's number.
 * Appends. */
void position_of_others(const char *positions, uint32_t server_id, const char *wanted, struct strbuf *out);

#endif
