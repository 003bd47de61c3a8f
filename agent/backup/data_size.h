/* SPDX-License-Identifier: Apache-2.0 */
/*
 * data_size.h: how large a copy of a data folder will be.
 */
#ifndef KM_AGENT_BACKUP_DATA_SIZE_H
#define KM_AGENT_BACKUP_DATA_SIZE_H

#include "common/base.h"

#include "common/error.h"

struct data_size {
    uint64_t bytes;      /* what a copy holds */
    uint64_t redo_bytes; /* redo logs: a server on the copy makes its own of this size */
};

/* Sums the files below dir, but for those that no copy holds: binary and relay logs (top-level names that end in a
 * number of six digits), temporary tablespaces. Blocking: a stat per file. Files that vanish meanwhile count
 * nothing. */
int data_size_estimate(const char *dir, struct data_size *ret, struct error *err) KM_MUST_CHECK;

#endif
