/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock_waits.h: whether sessions that write wait for a lock that somebody holds on all tables (FLUSH TABLES WITH READ
 * LOCK, a backup). Where a heartbeat is written, that one tells (replication_beat_locked); a single member has none.
 */
#ifndef KM_AGENT_LOCK_WAITS_H
#define KM_AGENT_LOCK_WAITS_H

#include "common/base.h"

#include "agent/mysql/session.h"

/* Pure: by one row of SHOW FULL PROCESSLIST. Statements that change tables themselves (ALTER …) are left out: a backup
 * holds these up, and rows can be written meanwhile. */
bool lock_waits_row(const char *state, const char *info);
/* For how many seconds the one has waited that waits for longest; 0: nobody does. The session must be idle. */
int lock_waits_look(struct session *session, int64_t *ret_s, struct error *err) KM_MUST_CHECK;

/* Who holds a lock on all tables: "thread 17 of app@10.1.2.3"; "": nobody, or the server does not tell (MariaDB without
 * performance_schema and its instrument wait/lock/metadata/sql/mdl). The session must be idle. */
int lock_holder_look(struct session *session, char *out, size_t size, struct error *err) KM_MUST_CHECK;

#endif
