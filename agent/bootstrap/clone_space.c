/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/clone_space.h"

#define PREPARE_MEMORY_MIN ((uint64_t)(64 * KM_MIB))
#define PREPARE_MEMORY_MAX ((uint64_t)(1024 * KM_MIB))
#define PREPARE_MEMORY_UNLIMITED ((uint64_t)(256 * KM_MIB))

uint64_t clone_space_needed(const struct clone_space *space)
{
    uint64_t margin = MAX_OF(space->estimate_bytes / 10, (uint64_t)CLONE_SPACE_MARGIN_MIN);

    return space->estimate_bytes + space->redo_bytes + margin;
}

enum clone_fit clone_space_check(const struct clone_space *space, struct error *err)
{
    uint64_t needed = clone_space_needed(space);

    if (needed <= space->free_bytes)
        return CLONE_FITS;
    if (space->old_bytes > 0 && needed <= space->free_bytes + space->old_bytes)
        return CLONE_FITS_IF_EMPTY;
    error_set(err, ERROR_TOO_LARGE,
        "the data volume is too small: the copy needs %llu MiB (%llu MiB of data, redo logs and a margin), %llu MiB are free%s",
        (unsigned long long)(needed / KM_MIB), (unsigned long long)(space->estimate_bytes / KM_MIB),
        (unsigned long long)((space->free_bytes + space->old_bytes) / KM_MIB),
        space->old_bytes > 0 ? " without the old data" : "");
    return CLONE_DOES_NOT_FIT;
}

uint64_t clone_prepare_memory(uint64_t limit_bytes)
{
    if (limit_bytes == 0)
        return PREPARE_MEMORY_UNLIMITED;
    return MIN_OF(MAX_OF(limit_bytes / 2, PREPARE_MEMORY_MIN), PREPARE_MEMORY_MAX);
}
