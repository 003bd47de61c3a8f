/* SPDX-License-Identifier: Apache-2.0 */
/*
 * donor.h: GET /v1/backup: this member's data for another member. One stream at a time; a second asker is told when to
 * come again.
 *
 * MariaDB: mariadb-backup of this image, by the socket as the operating system's user, xbstream in frames
 * (frame_stream.h). While nobody acknowledges, that tool would wait for commits which may wait for the copy
 * (role_decide.h): who can take statements as well is told to ask for them (AGENT_COPY_BY_STATEMENTS), where those are
 * of one moment (statements_fit.h) and the data has at most DONOR_STATEMENTS_MAX. mariadb-dump reads one snapshot,
 * which holds what was acknowledged, and waits for accounts alone that are being made.
 * MySQL: mysqldump of this image, for members that cannot use CLONE (dump_command.h); the others ask the server itself
 * (clone_mysql.h).
 *
 * All work is the tool's, held back by the receiver's pace: probes and status go on as ever.
 */
#ifndef KM_AGENT_DONOR_H
#define KM_AGENT_DONOR_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "common/agent_api.h"
#include "common/http_server.h"
#include "common/loop.h"

#define DONOR_STREAMS_MAX 1
/* Statements take several times as long as files, and commits wait until the copy is there. */
#define DONOR_STATEMENTS_MAX (UINT64_C(16) << 30)

struct donor;

/* status: the agent's, read when somebody asks. user: the account of the socket. */
struct donor *donor_new(
    struct loop *loop, const struct agent_paths *paths, const char *user, const struct agent_status *status);
/* Ends what runs. Before the server whose exchanges it holds. NULL is fine. */
void donor_free(struct donor *donor);
/* Answers, now or as a stream; checks who asks. */
void donor_handle(struct donor *donor, struct http_exchange *exchange);
uint32_t donor_serving(const struct donor *donor);
/* Its statements have not come any further for DONOR_STALL_MS, and the receiver takes what comes: their tool waits for
 * something on the server. */
#define DONOR_STALL_MS 5000
bool donor_stalls(const struct donor *donor);

#endif
