/* SPDX-License-Identifier: Apache-2.0 */
/*
 * salvage.h: the new primary takes over what only the dead one's binary logs hold (after MHA): the receiving side of
 * GET /v1/binlogs/tail.
 *
 * The whole stream is spooled to the volume (state_dir/salvage.binlog, bounded); only when its trailer is good is
 * anything of it used. Then it becomes the relay log of a replication channel of its own (relay_apply.h). What was
 * applied stays: the next attempt asks for what comes after it.
 *
 * Safe because the donor's server process is gone (server_exec.h), the logs continue this member's own position without
 * a gap, and the order's epoch keeps the old primary closed when it comes back.
 */
#ifndef KM_AGENT_SALVAGE_H
#define KM_AGENT_SALVAGE_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "agent/mysql/dialect.h"
#include "agent/mysql/session.h"
#include "common/agent_order.h"
#include "common/error.h"
#include "common/http_client.h"
#include "common/loop.h"

/* ---- fetch: on the loop ---- */

struct salvage_fetch;

struct salvage_fetch_options {
    struct loop *loop;
    const struct agent_paths *paths; /* outlives it */
    struct http_tls *tls;            /* a reference is taken */
    const char *host;
    uint32_t port;
    const char *after; /* GTIDs executed here */
    /* Once; the fetch must not be freed in it. gtids: of what lies in the spool, "" nothing; NULL with an error. */
    void (*done)(void *arg, const char *gtids, const struct error *err);
    void *arg;
};

struct salvage_fetch *salvage_fetch_start(const struct salvage_fetch_options *options);
/* Cancels. NULL is fine. */
void salvage_fetch_free(struct salvage_fetch *fetch);

/* ---- apply: blocking, bounded by SALVAGE_APPLY_MS ---- */

#define SALVAGE_APPLY_MS 20000

struct salvage_apply {
    const struct agent_paths *paths;
    const struct dialect *dialect;
    const char *gtids; /* that must be executed in the end */
};

/* Executes the spool, which goes then. The server stays read-only. */
int salvage_apply(const struct salvage_apply *what, struct session *session, struct error *err) KM_MUST_CHECK;
/* Removes a channel that an agent left behind which died in the middle: once per session. */
void salvage_forget(const struct agent_paths *paths, const struct dialect *dialect, struct session *session);

#endif
