/* SPDX-License-Identifier: Apache-2.0 */
/*
 * first_logged.h: where a server's binary logs begin, from its data folder: its own statements (SHOW BINLOG EVENTS)
 * wait behind a write to the log, which a full volume holds up.
 */
#ifndef KM_AGENT_FIRST_LOGGED_H
#define KM_AGENT_FIRST_LOGGED_H

#include "common/base.h"

#include "agent/mysql/replication_facts.h"
#include "common/gtid.h"

/* facts: oldest_log and first_logged. Blocking, and short: it reads up to the first transaction. */
void first_logged_look(const char *data_dir, enum gtid_flavour flavour, struct replication_facts *facts);

#endif
