/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.h: the event scheduler belongs to the primary. Events run with their definer's rights: if that is one who may
 * write while the server is read-only (MariaDB: READ ONLY ADMIN), those of a former primary would go on writing there.
 * So every server starts with the scheduler off, role_open turns it on, role_close off.
 *
 * A replica turns every event that reaches it into one disabled for replicas, whatever it was, and forgets whether it
 * was enabled (seen with MariaDB 10.11 and MySQL 9.7). So a primary keeps a list of those that are not, which
 * replicates; a new primary enables what is not on it.
 */
#ifndef KM_AGENT_MYSQL_EVENTS_H
#define KM_AGENT_MYSQL_EVENTS_H

#include "common/base.h"

#include "agent/mysql/session.h"
#include "common/error.h"

/* Pure. Whether the user's part of a composed my.cnf (bootstrap/run_mycnf.h) lets events run on a primary: unless it
 * says OFF or DISABLED. */
bool events_wished(const char *run_mycnf);
/* A scheduler that the command line has disabled stays so. */
int events_switch(struct session *session, bool on, struct error *err) KM_MUST_CHECK;

/* Whether the list of a primary is what its events say. */
int events_look(struct session *session, bool *ret_listed, struct error *err) KM_MUST_CHECK;
/* On a primary; written to the binary log. take_over: events that came from another server and are not on the list are
 * enabled, with the definer they have. Then the list is made right. One that cannot be enabled (its time has passed) is
 * logged and left. */
int events_tend(struct session *session, bool take_over, struct error *err) KM_MUST_CHECK;

#endif
