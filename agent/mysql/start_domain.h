/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start_domain.h: what a MariaDB server writes by itself at its start.
 *
 * From 10.6 on (atomic DDL) a server that died in the midst of a DDL statement completes it at its next start and logs
 * it: its own server id, the next number, timestamp 0, before anybody can connect, also read-only. Where the start has
 * cut off the end of the binary log (bootstrap/start_mode.h), that number is the one of the transaction that was cut
 * off, which others hold: one GTID, two transactions, and no position tells. Seen with 10.11.19 and 11.8.9: DROP TABLE,
 * DROP DATABASE, ALTER, DROP TRIGGER.
 *
 * So a start that cuts off is made under a GTID domain of its own. It lasts until the first change of role, which sets
 * the domain back, and ends the sessions that took it over. A transaction of that domain in gtid_binlog_pos stays there
 * for as long as the data does, whatever dies in between: such a member has something that nobody else has, and is
 * copied anew (agent_status.errant). Positions are told without that domain.
 */
#ifndef KM_AGENT_MYSQL_START_DOMAIN_H
#define KM_AGENT_MYSQL_START_DOMAIN_H

#include "agent/mysql/dialect.h"
#include "agent/mysql/session.h"
#include "common/agent_api.h"

#define START_DOMAIN AGENT_START_DOMAIN
#define START_DOMAIN_OPTION "--gtid-domain-id=" START_DOMAIN

/* Sets the domain back to the cluster's. Nothing to do if it is that already, and for MySQL. */
int start_domain_leave(struct session *session, const struct dialect *dialect, struct error *err) KM_MUST_CHECK;
/* The position of that domain, "" if nothing was written in it. */
int start_domain_look(
    struct session *session, const struct dialect *dialect, char *ret, size_t size, struct error *err) KM_MUST_CHECK;

#endif
