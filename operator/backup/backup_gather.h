/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backup_gather.h: fills a snapshot (backup_snapshot.h) from the caches, the agents' words and the memory. No I/O.
 */
#ifndef KM_BACKUP_GATHER_H
#define KM_BACKUP_GATHER_H

#include "operator/backup/backup_memory.h"
#include "operator/backup/store_pod.h"

/* False: there is no such object, or it is another one than the memory's. *ret must be released if true. */
bool backup_gather(const struct backup_sources *sources, const struct backup_memories *memories,
    const struct backup_memory *memory, int64_t now_ms, struct backup_snapshot *ret);

#endif
