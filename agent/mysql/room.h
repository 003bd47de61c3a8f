/* SPDX-License-Identifier: Apache-2.0 */
/*
 * room.h: a connection where the server has none left.
 *
 * Servers keep one connection beyond max_connections for administrators; the agent needs several. A session that exists
 * raises the limit until another one is in, and sets it back. Clients that try again and again may be quicker than we
 * are, so each attempt raises it by more.
 *
 * Replicas need one, too. While commits wait for an acknowledgement, clients that give up and connect again fill the
 * server with sessions that wait, and the replica whose acknowledgement would end that is refused: nothing gets out of
 * this by itself. The account replication may use the connection for administrators (dialect.h, replication_grants).
 * Where somebody else has that one, say an application that connects as root, or a copy takes it (CLONE needs several),
 * the limit grows by some with each look, until the acknowledgements are there; it is set back as soon as the
 * connections fit into it again.
 */
#ifndef KM_AGENT_MYSQL_ROOM_H
#define KM_AGENT_MYSQL_ROOM_H

#include "common/base.h"

#include "agent/mysql/replication_facts.h"
#include "agent/mysql/session.h"
#include "common/error.h"

/* Of session_open: the server has no connection left. */
bool room_is_lacking(const struct error *err);

/* As session_open; inside: by which room is made, of no further use if it is broken afterwards. If it breaks, or the
 * agent dies, in the midst of this, the limit stays raised (by 512 at most) until the server starts anew. */
struct session *room_open(struct session *inside, const struct session_options *options, struct error *err);

/* By how much the limit grows for replicas with each look, and in all. */
#define REPLICA_ROOM_STEP 4
#define REPLICA_ROOM_MAX 64

/* What has been done to the limit; zeroed when the server is another one. */
struct replica_room {
    uint32_t allowed; /* the limit before it was raised; 0: it is not */
    uint32_t raised;  /* what it was raised to */
};
/* The limit that is to be set now, 0: it stays. Pure. lacking: commits wait for acknowledgements that no connection can
 * give; used, limit: connections that there are, and max_connections. One that is not what we have set is somebody's. */
uint32_t replica_room_decide(struct replica_room *room, bool lacking, uint32_t used, uint32_t limit);
/* Looks, and sets it; asks the server nothing while there is nothing to be done. What fails is tried at the next
 * look. */
void replica_room_tend(struct session *session, const struct replication_facts *facts, struct replica_room *room);

#endif
