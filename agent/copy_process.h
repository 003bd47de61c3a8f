/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy_process.h: `kube-mysql-agent copy-out` and `unpack`: the tools that a backup of MySQL's files goes out and comes
 * in by, where MariaDB's images have mariadb-backup and mbstream. One end is standard output or input, the other a
 * folder of the data volume. Words for people go to standard error, the last one says why it failed.
 *
 *   copy-out   state_dir/copy, made by the server (agent/backup/clone_local.h), as an archive
 *              (agent/backup/tar_stream.h); says "the copy holds 'GTIDS'". The folder goes file by file, and with
 *              whatever is left at the end; of a process that was killed the agent takes it away (backup_keeper.h)
 *   unpack     an archive, of at most --max-bytes, into data.new, which is empty
 */
#ifndef KM_AGENT_COPY_PROCESS_H
#define KM_AGENT_COPY_PROCESS_H

#include "common/base.h"

#include "agent/options.h"
#include "common/error.h"

/* As options->command says. */
int copy_process_run(const struct agent_options *options, struct error *err) KM_MUST_CHECK;

#endif
