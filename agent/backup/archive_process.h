/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive_process.h: `kube-mysql-agent archive`: one round of archiving binary logs (archive_round.h), told as
 * archive_word.h says. Ends 0 when the round went well.
 */
#ifndef KM_AGENT_BACKUP_ARCHIVE_PROCESS_H
#define KM_AGENT_BACKUP_ARCHIVE_PROCESS_H

#include "common/base.h"

#include "agent/backup/backup_child.h"

int archive_process_run(
    const struct backup_child_options *options, const char *data_dir, struct error *err) KM_MUST_CHECK;

#endif
