/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clone_space.h: whether a copy fits on the volume, before its first byte is taken. Pure.
 */
#ifndef KM_AGENT_BOOTSTRAP_CLONE_SPACE_H
#define KM_AGENT_BOOTSTRAP_CLONE_SPACE_H

#include "common/base.h"

#include "common/error.h"

/* Growth of the donor while it is copied, the copied redo log, and room to start: a tenth, at least this. */
#define CLONE_SPACE_MARGIN_MIN (128 * KM_MIB)

enum clone_fit {
    CLONE_FITS,          /* beside what is there */
    CLONE_FITS_IF_EMPTY, /* when the data that is to be replaced goes first */
    CLONE_DOES_NOT_FIT,
};

struct clone_space {
    uint64_t estimate_bytes; /* 0: not known, then only the margin is asked for */
    uint64_t redo_bytes;
    uint64_t free_bytes;
    uint64_t old_bytes; /* of data that may be removed; 0: none */
};

uint64_t clone_space_needed(const struct clone_space *space);
/* ERROR_TOO_LARGE with both numbers if the result is CLONE_DOES_NOT_FIT. */
enum clone_fit clone_space_check(const struct clone_space *space, struct error *err);

/* For mariadb-backup --prepare --use-memory: half of the container's memory limit within sane bounds. limit 0: none. */
uint64_t clone_prepare_memory(uint64_t limit_bytes);

#endif
