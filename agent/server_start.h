/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_start.h: `kube-mysql-agent server`, the container "mysql": decides how the server is started, then becomes it
 * (server_exec.h).
 *
 * Usually at once and plainly. A MariaDB that ended as a semi-sync primary (start_mode.h) waits
 * SERVER_START_PATIENCE_MS for the operator's word, for as long as the agent beside it lives: when another primary has
 * taken over, what nobody acknowledged is set aside and cut off, so that this one can follow without a new copy of the
 * data; unless that primary had all of it when it was chosen. What it had of it is taken back (put_back.h). Where not
 * all that may be cut off can be set aside (set_aside_tail.h), nothing is: the start is a plain one, what nobody else
 * has is found as errant, and a copy replaces the data. The mark is used up then, so no later order cuts it off.
 * Without an order it is started plainly: read-only, nothing cut off. A start that cuts off is tried once; the next one
 * is plain, and if nobody was connected in between it marks the data as to be replaced (start_mode.h: start-cut).
 */
#ifndef KM_AGENT_SERVER_START_H
#define KM_AGENT_SERVER_START_H

#include "common/base.h"

#include "agent/options.h"
#include "common/error.h"

#define SERVER_START_PATIENCE_MS 3000

/* Returns only if it fails. */
int server_start(const struct agent_options *options, struct error *err);

#endif
