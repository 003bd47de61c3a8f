/* SPDX-License-Identifier: Apache-2.0 */
/*
 * put_back.h: a start that cuts off the end of the binary log (bootstrap/start_mode.h) takes off whatever the engine
 * had not committed for good, also what was acknowledged and what the next primary had when it was chosen. That one
 * sends it again; but if its volume is lost in these seconds, nobody else may have it. So this member takes it back by
 * itself, first of all, from the copy that was set aside before the cut (set_aside.h).
 *
 * state_dir/put-back.json, on the disk before such a start: the folder of the copy, and how far it is to be taken back:
 * the last transaction of each domain that the next primary had. Removed when all of that is executed. While it is
 * there any change of role waits for it; where it cannot be taken back, or the copy does not hold all of it, the data
 * is marked to be replaced (volume_mark.h), and state_dir/put-back-failed says why, for as long as that mark stands.
 *
 * Facts, tried on MariaDB 10.11.19 and 11.8.9: the transactions are executed as a relay log (relay_apply.h) and keep
 * their GTIDs. An applier leaves out what bears the server's own id (replicate_same_server_id is read only), and these
 * do; server_id is dynamic, so it is another one for as long as this takes. The note holds the right one meanwhile, for
 * the agent after one that dies.
 */
#ifndef KM_AGENT_PUT_BACK_H
#define KM_AGENT_PUT_BACK_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "agent/mysql/dialect.h"
#include "agent/mysql/session.h"
#include "common/error.h"

/* Before the start. set_aside: as set_aside_make says it; up_to: a position. On the disk when it returns. */
int put_back_note(
    const struct agent_paths *paths, const char *set_aside, const char *up_to, struct error *err) KM_MUST_CHECK;
bool put_back_is_due(const struct agent_paths *paths); /* cheap */
/* Why the data was marked; ERROR_NONE: it was not, by this. */
void put_back_failure(const struct agent_paths *paths, struct error *ret);
/* Of data that is gone. */
void put_back_forget(const struct agent_paths *paths);
/* The server runs, read-only, and neither thread of its replication does. 0: there is nothing to take back any more, or
 * the data is marked. -1: to be called again. Blocking, for PUT_BACK_MS at most. */
#define PUT_BACK_MS 20000
int put_back_run(const struct agent_paths *paths, const struct dialect *dialect, struct session *session,
    struct error *err) KM_MUST_CHECK;

#endif
