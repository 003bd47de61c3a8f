/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_recover.h: what a server had received before it was started anew, and kept (bootstrap/relay_keep.h), is looked
 * after before anything drops it. Neither thread runs.
 *
 * MySQL goes on with its relay logs by itself, whoever starts which thread. But one whose applier's file is gone says
 * that it runs and has read everything, and applies nothing, while it tells its source that it has what is missing
 * (tried: 9.7.4). So it is only looked whether all files are there.
 *
 * MariaDB drops its relay logs when a thread starts (MASTER_USE_GTID = slave_pos), and with CHANGE MASTER, unless that
 * names a file of them. Tried with 10.11.19 and 11.8.9: what relay-log.info names is of no use (error 1950); the first
 * transaction behind gtid_slave_pos is, with MASTER_USE_GTID = no; GTIDs stay, and gtid_slave_pos moves on.
 * slave_parallel_threads must be 0: else the server ends by signal 11 where no event that names the source's log comes
 * first, and stops far too early where the last event is torn off (error 1594). "Has read all relay log" is never
 * believed: gtid_slave_pos must have reached the last whole transaction.
 */
#ifndef KM_AGENT_RELAY_RECOVER_H
#define KM_AGENT_RELAY_RECOVER_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "agent/mysql/dialect.h"
#include "agent/mysql/session.h"
#include "common/error.h"
#include "common/gtid.h"

enum relay_outcome {
    RELAY_NOT_YET, /* it is being applied: call again */
    RELAY_WHOLE,   /* MySQL: it is all there. MariaDB: it is applied */
    RELAY_BROKEN,  /* not all of it can be had */
};

/* Between two calls. All zero to begin with. */
struct relay_recovery {
    struct gtid_set *wanted; /* the last whole transactions of the relay logs; NULL: nothing has been begun */
};

void relay_recovery_release(struct relay_recovery *recovery);
/* Waits for ROLE_WAIT_MS at most. ret_why: RELAY_BROKEN. An error: the session is broken; to be called again. An
 * applier that was stopped, or that met an error which passes, is started again at the next call. */
int relay_recover_step(struct relay_recovery *recovery, const struct agent_paths *paths, const struct dialect *dialect,
    struct session *session, enum relay_outcome *ret, char *ret_why, size_t size, struct error *err) KM_MUST_CHECK;
/* Drops it, and notes that (relay_keep_dropped). The source stays; a server without one has nothing to drop. */
int relay_recover_drop(struct relay_recovery *recovery, const struct agent_paths *paths, const struct dialect *dialect,
    struct session *session, struct error *err) KM_MUST_CHECK;

#endif
