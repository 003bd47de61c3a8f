/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binlog_keeper.h: binary logs that go for their size (binlog_limit.h), PUT /v1/binlogs/purge, and from when on there
 * are any (binlogs_from_ms of the status).
 *
 * Nothing goes that anybody lacks, and that is not known here: so the status names the log that would be the oldest
 * (purge_until) and the position at which it begins, and the operator, who knows what the archive, the other members
 * and copies have, grants that very wish.
 *
 *   PUT /v1/binlogs/purge   operator only. Body: {"wish": ID}, purge_wish of the status. 200: granted, also when it was
 *                           before. 409: another is wished, or none.
 *
 * The server itself keeps what it sends to anybody, be it a replica outside the cluster: PURGE BINARY LOGS stops before
 * a log that a dump thread reads. No wish while a copy of this member's data is being made.
 *
 * A thread of its own looks at the files and speaks with the server, which may hang in either.
 */
#ifndef KM_AGENT_BINLOG_KEEPER_H
#define KM_AGENT_BINLOG_KEEPER_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "agent/instance_state.h"
#include "common/agent_api.h"
#include "common/http_server.h"
#include "common/loop.h"

struct binlog_keeper;

/* paths and state must outlive it; changed: the wish is another. */
struct binlog_keeper *binlog_keeper_new(struct loop *loop, const struct agent_paths *paths, const char *user,
    const struct instance_state *state, void (*changed)(void *arg), void *arg);
/* NULL is fine. */
void binlog_keeper_free(struct binlog_keeper *keeper);
/* As often as one likes, before binlog_keeper_fill: a look begins when one is due and none is under way. */
void binlog_keeper_turn(struct binlog_keeper *keeper, enum agent_phase phase, int64_t now_ms);
/* A look is under way. */
bool binlog_keeper_is_busy(const struct binlog_keeper *keeper);
/* False: another is wished, or none. */
bool binlog_keeper_grant(struct binlog_keeper *keeper, const char *id);
/* Likewise, by a request. Who asks was checked. */
void binlog_keeper_put(struct binlog_keeper *keeper, struct http_exchange *exchange);
void binlog_keeper_fill(const struct binlog_keeper *keeper, struct agent_status *ret);

#endif
