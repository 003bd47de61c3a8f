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

/* Has the server killed: it sends no client an answer, and its next start recovers as after a crash.
 *
 * The server is process 1 of its container, which gets no signal from inside but those that it handles
 * (pid_namespaces(7)). SIGABRT does not end a MariaDB that is process 1: its handler cannot end the process either, and
 * as poll() of the main thread was interrupted an orderly shutdown begins, which lets commits go that wait for
 * acknowledgements. So the server's limit of CPU time is set to 0 (prlimit(2), RLIMIT_CPU): the SIGKILL that the kernel
 * itself sends for that reaches process 1, too. It comes with the next tick of the clock that finds the server running;
 * the connections by which this function looks whether the server still listens make it run. A server that hangs is
 * killed when it goes on. Where prlimit is not allowed, SIGABRT is sent: MySQL's handler ends the server.
 *
 * The caller is in the server's container, as its user, and ends with it if it is process 1. Returns 0 once nobody
 * listens any more; -1 and `err` where nobody does, the process is of another pid namespace, may not be killed, or has
 * not ended within timeout_ms. Blocks for so long. */
int server_socket_kill(const char *path, int64_t timeout_ms, struct error *err) KM_MUST_CHECK;

#endif
