/*
 * epoch_file.h: the largest epoch this member has accepted an order of, kept on its volume (state_dir/epoch, a decimal number with zeros before it).
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
/* On the disk when it returns, also of a full volume that has one already (fs_write_note). Makes state_dir if need be. */
int epoch_file_write(const struct agent_paths *paths, uint64_t epoch, struct error *err) KM_MUST_CHECK;

#endif
