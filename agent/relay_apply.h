/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_apply.h: a relay log that was not received but brought as a file is executed by the server's own applier: as on
 * a replica, with its GTIDs, each transaction whole or not at all. A replication channel of its own, which has no
 * receiver; nothing is left of it. Blocking.
 *
 * Facts, tried: statements as mysqlbinlog prints them are no substitute. MariaDB 10.11.19 gives CREATE TABLE ... SELECT
 * one GTID; its client executes it as two transactions, of which the second takes the next one's GTID, and that one is
 * lost without an error. A relay log without the event that names the source's log ends MariaDB's server (signal 11 in
 * compare_log_name). What bears the server's own number is left out, also without an error.
 */
#ifndef KM_AGENT_RELAY_APPLY_H
#define KM_AGENT_RELAY_APPLY_H

#include "common/base.h"

#include "agent/mysql/dialect.h"
#include "agent/mysql/session.h"
#include "common/error.h"

struct relay_apply {
    const char *data_dir; /* of the server */
    const struct dialect *dialect;
    const char *channel;          /* a word; nobody else's */
    const char *log;              /* whole path, on the same file system; it goes */
    const char *gtids;            /* that must be executed in the end */
    int64_t limit_ms;             /* 0: none, as long as the applier has no error */
    bool (*cancelled)(void *arg); /* may be NULL */
    void *arg;
};

/* ERROR_DATABASE: the applier's own words; ERROR_TIMEOUT, ERROR_CANCELLED: what was applied stays. */
int relay_apply_run(const struct relay_apply *what, struct session *session, struct error *err) KM_MUST_CHECK;
/* Removes a channel that was left behind by somebody who died in the middle. Needs data_dir, dialect and channel. */
void relay_apply_forget(const struct relay_apply *what, struct session *session);

#endif
