/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_process.h: `kube-mysql-agent replay`: the archived transactions that a restore wants on top of its backup, as
 * relay logs on the member's volume (replay_plan.h, replay_fetch.h), told and heard as replay_word.h says.
 *
 * First without a folder, before anything of the backup is fetched: only whether it can be done. Then with one: at most
 * REPLAY_BATCHES_AHEAD batches lie there that were not applied yet. Ends 0 when it has said so, and only then.
 */
#ifndef KM_AGENT_BACKUP_REPLAY_PROCESS_H
#define KM_AGENT_BACKUP_REPLAY_PROCESS_H

#include "common/base.h"

#include "agent/backup/backup_child.h"

/* One is applied while the next one is made. */
#define REPLAY_BATCHES_AHEAD 2

int replay_process_run(const struct backup_child_options *options, struct error *err) KM_MUST_CHECK;

#endif
