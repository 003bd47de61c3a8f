/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_exec.h: the container "mysql": the agent's program becomes the server.
 *
 * Before it does, it takes a lock (an open-file-description lock on run_dir/server.lock) whose descriptor the server
 * inherits: it is free again exactly when that process is gone, which other containers of the pod can see. That is the
 * proof that mysqld is down (I5), where a silent socket is none. In the file stands a name for that process, which no
 * other one ever has: by it an agent that is started anew knows whether the server is the one that was there before.
 */
#ifndef KM_AGENT_BOOTSTRAP_SERVER_EXEC_H
#define KM_AGENT_BOOTSTRAP_SERVER_EXEC_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "common/error.h"

#define SERVER_RUN_SIZE 25

/* extra: further options of the server, NULL-terminated, may be NULL. Returns only if it fails. */
int server_exec(const struct agent_paths *paths, const char *const *extra, struct error *err);

/* The pod is being stopped: the server will be, once a primary has handed over. It begins to follow nobody any more: a
 * MySQL 9.7 that gets SIGTERM while its replication starts does not end (seen: until it was killed, two minutes later).
 * Stands until the next server is started in this pod. */
int server_mark_leaving(const struct agent_paths *paths, struct error *err) KM_MUST_CHECK;
bool server_is_leaving(const struct agent_paths *paths); /* cheap */
/* The server is about to be sent SIGTERM: a primary is closed before, because a MySQL that shuts down tells clients
 * whose commits wait for acknowledgements that they are done (I3). Stands until the next server is started in this
 * pod. */
int server_mark_stopping(const struct agent_paths *paths, struct error *err) KM_MUST_CHECK;
bool server_is_stopping(const struct agent_paths *paths); /* cheap */

/* Somebody works on the files of this member (agent_order.h: keep_stopped): no server is started before the mark is
 * gone. On the data volume, as the pod may be made anew meanwhile. Taking one away that is not there is fine. */
int server_keep_stopped(const struct agent_paths *paths, bool stopped, struct error *err) KM_MUST_CHECK;
bool server_is_kept_stopped(const struct agent_paths *paths);
/* Returns 0 once there is no such mark; -1 with ERROR_CANCELLED when this process gets SIGTERM or SIGINT meanwhile. */
int server_wait_for_leave(const struct agent_paths *paths, struct error *err) KM_MUST_CHECK;

/* The name of the server process that took the lock last; "" not known. Cheap. */
void server_run_id(const struct agent_paths *paths, char ret[static SERVER_RUN_SIZE]);
/* Whether a server process holds the lock now. Cheap; never blocks. */
bool server_is_there(const struct agent_paths *paths);

#endif
