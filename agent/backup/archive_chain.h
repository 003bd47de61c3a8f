/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive_chain.h: what the names of an archive's objects alone tell (common/binlog_segment.h): where it ends, how far
 * back from there nothing is missing, what nobody needs. Pure.
 */
#ifndef KM_AGENT_BACKUP_ARCHIVE_CHAIN_H
#define KM_AGENT_BACKUP_ARCHIVE_CHAIN_H

#include "common/base.h"

#include "agent/backup/segment_list.h"

/* A log whose description is missing so long after: whoever wrote it is gone (ARCHIVE_WRITE_MAX_MS). */
#define ARCHIVE_ORPHAN_MS ((int64_t)24 * 3600 * 1000)
/* A description is not written later than this after its log was named. */
#define ARCHIVE_WRITE_MAX_MS ((int64_t)12 * 3600 * 1000)

/* The segments that were written for the newest place: *ret_first to *ret_end - 1, those without a description among
 * them. False: the archive is empty. */
bool archive_chain_newest(const struct segment_list *chain, size_t *ret_first, size_t *ret_end);
/* The oldest segment with a description from which on up to entry `newest` no sequence number is missing and no epoch's
 * first one, but not one before `from`. */
size_t archive_chain_begin(const struct segment_list *chain, size_t newest, const struct binlog_segment_name *from);
/* A log alone, old enough. */
bool archive_entry_is_orphan(const struct segment_entry *entry, int64_t now_ms);

/* The next name after `newest` (sequence 0: none) in `epoch`: not before now, and not before or at after_ms. */
struct binlog_segment_name archive_name_next(
    const struct binlog_segment_name *newest, uint64_t epoch, int64_t now_ms, int64_t after_ms);

#endif
