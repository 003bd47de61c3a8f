/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_socket.h: who listens on the server's socket. Sends nothing to the server.
 */
#ifndef KM_AGENT_SERVER_SOCKET_H
#define KM_AGENT_SERVER_SOCKET_H

#include "common/base.h"

#include "common/error.h"

/* Never blocks. True also when the queue of connections is full: somebody listens, but does not get on. */
bool server_socket_accepts(const char *path);

/* Ends the server by SIGABRT: it sends no client an answer, and its next start recovers as after a crash. Not SIGKILL:
 * the server is process 1 of its container, and the kernel gives that one only signals that it handles
 * (pid_namespaces(7)); both families handle SIGABRT, print a stack trace and end. The caller is in the server's
 * container, as its user. Returns 0 once nobody listens any more; -1 and `err` where nobody does, the process is of
 * another pid namespace, may not be signalled, or has not ended within timeout_ms. Blocks for so long. */
int server_socket_abort(const char *path, int64_t timeout_ms, struct error *err) KM_MUST_CHECK;

#endif
