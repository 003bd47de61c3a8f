/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tail_donor.h: GET /v1/binlogs/tail?after=GTIDS: what this member's dead server has executed beyond a position, for
 * the member that is to take its place. POST has the position in its body.
 *
 * The body is a framed stream (frame_stream.h) whose data is one relay log (binlog_tail.h); the trailer's gtid is the
 * set of its transactions. Only whole transactions are in it: what the crash tore off was never acknowledged
 * (binlog_file.h).
 *
 *   403  neither a member nor the operator            405, 400  not such a request
 *   409  the server runs or starts: its logs are not final; or the histories differ
 *   410  the logs do not reach back to the position   503       another one is served       500  the logs cannot be
 *   read
 *
 * A server that comes back in the middle ends the stream with a bad trailer. One stream at a time; files are read by a
 * thread of its own, and only read.
 */
#ifndef KM_AGENT_TAIL_DONOR_H
#define KM_AGENT_TAIL_DONOR_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "common/agent_api.h"
#include "common/http_server.h"
#include "common/loop.h"

/* Both sides: more than that is not taken over but cloned. */
#define TAIL_MAX_BYTES ((uint64_t)(1024 * KM_MIB))

struct tail_donor;

/* executed: what the server that is gone said last that it had executed, "" or NULL; it may change at any time. */
struct tail_donor *tail_donor_new(struct loop *loop, const struct agent_paths *paths, const char *const *executed);
/* Before the server whose exchanges it holds. NULL is fine. */
void tail_donor_free(struct tail_donor *donor);
void tail_donor_handle(struct tail_donor *donor, struct http_exchange *exchange);

#endif
