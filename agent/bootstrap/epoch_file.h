/* SPDX-License-Identifier: Apache-2.0 */
/*
 * epoch_file.h: the largest epoch this member has accepted an order of, kept on its volume (state_dir/epoch, a decimal
 * number with zeros before it).
 *
 * It survives `data`: a member that is seeded anew still refuses orders that are older than what it has seen (I2).
 */
#ifndef KM_AGENT_BOOTSTRAP_EPOCH_FILE_H
#define KM_AGENT_BOOTSTRAP_EPOCH_FILE_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "common/error.h"

/* 0 when there is no file. A file that holds no number is ERROR_INVALID: to guess could open a fenced member. */
int epoch_file_read(const struct agent_paths *paths, uint64_t *ret, struct error *err) KM_MUST_CHECK;
/* On the disk when it returns, also of a full volume that has one already (fs_write_note). Makes state_dir if need
 * be. */
int epoch_file_write(const struct agent_paths *paths, uint64_t epoch, struct error *err) KM_MUST_CHECK;

/* state_dir/opened, likewise: the epoch under which this server was opened last, written when everything that it had to
 * have is executed. 0: there is none, or it cannot be read. Clients wait while it is written, so it is handed to the
 * disk (sync_file_range), whose cache the server's own sync of its first transaction empties. Where file systems
 * overwrite in place, no transaction survives a power failure without it. Elsewhere the file may then hold an older
 * epoch, which proves nothing. */
uint64_t opened_file_read(const struct agent_paths *paths);
/* Makes it, and syncs it: what is overwritten later needs no room and no change of the file system's own data. Nothing
 * is done if it is there. */
int opened_file_make(const struct agent_paths *paths, struct error *err) KM_MUST_CHECK;
int opened_file_write(const struct agent_paths *paths, uint64_t epoch, struct error *err) KM_MUST_CHECK;
/* The data was replaced: its server was never opened. */
void opened_file_forget(const struct agent_paths *paths);

#endif
