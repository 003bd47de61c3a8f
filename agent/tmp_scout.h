/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tmp_scout.h: the process that sees what the server's temporary files take.
 *
 * Servers unlink a temporary file as soon as it is made, or make it without a name (O_TMPFILE). So no look into the
 * folder finds it, the file system that it lies on is the node's and full of others', and what a process has open only
 * the same user in the same PID namespace may see: not the agent, which is another container. So the program that
 * becomes the server leaves this child behind, in the server's container. It looks through /proc/PID/fd of its parent,
 * with MySQL also through what that has mapped, since MySQL closes the files of temporary tables that it maps; and it
 * leaves the sum in run_dir/tmp-look, with what the server's threads wrote (tmp_look.h).
 *
 * Counted is what the server has open now directly in AGENT_TMP_DIR, as the disk counts it: not a file that a statement
 * has left there (SELECT … INTO OUTFILE).
 *
 * The child has no descriptor of its parent's but standard output and error: the server's lock is free when the server
 * is gone (server_exec.h). It ends with its parent.
 */
#ifndef KM_AGENT_TMP_SCOUT_H
#define KM_AGENT_TMP_SCOUT_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "agent/tmp_look.h"
#include "common/error.h"

/* A look is written when it differs from the one before, and once in TMP_SCOUT_KEPT_MS. */
#define TMP_SCOUT_INTERVAL_MS 1000
#define TMP_SCOUT_BUSY_MS 250
#define TMP_SCOUT_KEPT_MS 5000

/* Called by a process of one thread just before it becomes the server. Without the child the server is started all the
 * same, and the agent says that it does not know. */
void tmp_scout_start(const struct agent_paths *paths, bool maps_files);

/* One look at another process; also its parts for tests. */
int tmp_scout_bytes(pid_t pid, const char *folder, bool maps_files, uint64_t *ret, struct error *err) KM_MUST_CHECK;
/* Its threads, with what they have written; the caller frees. 0, and NULL: the kernel does not tell. */
size_t tmp_scout_threads(pid_t pid, struct tmp_thread **ret);

#endif
