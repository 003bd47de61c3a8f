/* SPDX-License-Identifier: Apache-2.0 */
/*
 * room.h: a connection where the server has none left.
 *
 * Servers keep one connection beyond max_connections for administrators; the agent needs several. A session that exists
 * raises the limit until another one is in, and sets it back. Clients that try again and again may be quicker than we
 * are, so each attempt raises it by more.
 */
#ifndef KM_AGENT_MYSQL_ROOM_H
#define KM_AGENT_MYSQL_ROOM_H

#include "common/base.h"

#include "agent/mysql/session.h"
#include "common/error.h"

/* Of session_open: the server has no connection left. */
bool room_is_lacking(const struct error *err);

/* As session_open; inside: by which room is made, of no further use if it is broken afterwards. If it breaks, or the
 * agent dies, in the midst of this, the limit stays raised (by 512 at most) until the server starts anew. */
struct session *room_open(struct session *inside, const struct session_options *options, struct error *err);

#endif
