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
 * disk (sync_file_range), whose cache the server's own sync of its first transaction empties. Fails also if the disk
 * says that it could not take it. Where file systems overwrite in place, no transaction survives a power failure
 * without it. Elsewhere the file may then hold an older epoch, which proves nothing. */
uint64_t opened_file_read(const struct agent_paths *paths);
/* Makes it, and syncs it: what is overwritten later needs no room and no change of the file system's own data. Nothing
 * is done if it is there. */
int opened_file_make(const struct agent_paths *paths, struct error *err) KM_MUST_CHECK;
int opened_file_write(const struct agent_paths *paths, uint64_t epoch, struct error *err) KM_MUST_CHECK;
/* The data was replaced: its server was never opened. Ends what noted_since says first. */
void opened_file_forget(const struct agent_paths *paths);

/* state_dir/noted-since, "1 EPOCH BOOT POD": from that epoch on every opening of the server whose data lies here was
 * noted in state_dir/opened, and the note is still there. So a server that is not noted was certainly not opened since.
 * It holds for one boot of the kernel, which has the note in its cache at least, and for one pod, in which all agents
 * are of one version: an agent that writes no notes, and comes in between, runs in another pod.
 *
 * boot, pod: relay_keep.h; "" not known. epoch: the largest one accepted here before this agent started: nothing was
 * opened under a later one. The file of this boot and pod stays, else a new one begins behind `epoch`. 0: nothing is
 * certain, also because it cannot be written. */
uint64_t noted_since_begin(const struct agent_paths *paths, const char *boot, const char *pod, uint64_t epoch);
/* Something is not noted, or will not be: nothing is certain any more. On the disk when it returns. Whoever cannot do
 * this must not open the server either. */
int noted_since_end(const struct agent_paths *paths, struct error *err) KM_MUST_CHECK;
/* What an agent that starts knows of openings: both of the above, read once. An opening that cannot be read is no proof
 * that there was none: then what is certain begins anew, behind `epoch`. A full volume does not keep the agent from
 * running. */
void openings_begin(const struct agent_paths *paths, const char *boot, const char *pod, uint64_t epoch,
    uint64_t *ret_opened, uint64_t *ret_since);

#endif
