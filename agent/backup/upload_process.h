/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upload_process.h: `kube-mysql-agent upload`: a tool's bytes from standard input into an object store (upload.h), told
 * as backup_child.h says; progress on standard output.
 *
 * Ends 0 when the manifest is written, and only then. Standard input must be a pipe.
 */
#ifndef KM_AGENT_BACKUP_UPLOAD_PROCESS_H
#define KM_AGENT_BACKUP_UPLOAD_PROCESS_H

#include "common/base.h"

#include "agent/backup/backup_child.h"

int upload_process_run(const struct backup_child_options *options, struct error *err) KM_MUST_CHECK;

#endif
