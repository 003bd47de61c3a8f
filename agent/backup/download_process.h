/* SPDX-License-Identifier: Apache-2.0 */
/*
 * download_process.h: `kube-mysql-agent download`: a stored backup as the tool's own bytes on standard output
 * (download.h), told as backup_child.h says; progress on standard error, between the lines of the log (a line that has
 * "state" is a report).
 *
 * Ends 0 when everything was right to the last byte, and only then. Standard output must be a pipe.
 */
#ifndef KM_AGENT_BACKUP_DOWNLOAD_PROCESS_H
#define KM_AGENT_BACKUP_DOWNLOAD_PROCESS_H

#include "common/base.h"

#include "agent/backup/backup_child.h"

int download_process_run(const struct backup_child_options *options, struct error *err) KM_MUST_CHECK;

#endif
