/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_socket.h: whether anybody listens on the server's socket, without saying a word. Never blocks.
 */
#ifndef KM_AGENT_SERVER_SOCKET_H
#define KM_AGENT_SERVER_SOCKET_H

#include "common/base.h"

/* True also when the queue of connections is full: somebody listens, but does not get on. */
bool server_socket_accepts(const char *path);

#endif
