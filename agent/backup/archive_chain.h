/*
 * archive_chain.h: what the names of an archive's objects alone tell (common/binlog_segment.h): where it ends, how far back from there nothing is missing, what nobody needs. Pure.
 */
#ifndef KM_AGENT_BACKUP_ARCHIVE_CHAIN_H
#define KM_AGENT_BACKUP_ARCHIVE_CHAIN_H

#include "common/base.h"

#include "common/binlog_segment.h"
#include "common/error.h"

/* Two years of one a minute; 32 bytes each. */
#define ARCHIVE_NAMES_MAX ((size_t)1000 * 1000)
/* A log whose description is missing so long after: whoever wrote it is gone (ARCHIVE_WRITE_MAX_MS). */
#define ARCHIVE_ORPHAN_MS ((int64_t)24 * 3600 * 1000)
/* A description is not written later than this after its log was named. */
#define ARCHIVE_WRITE_MAX_MS ((int64_t)12 * 3600 * 1000)

struct archive_entry {
    struct binlog_segment_name name;
    bool has_meta, has_log;
};

struct archive_chain {
    struct archive_entry *entries; /* owned */
    size_t count, capacity;
};

void archive_chain_release(struct archive_chain *chain);
/* An object's name, with folders or without, in any order; others than segments' are ignored. ERROR_TOO_LARGE. */
int archive_chain_add(struct archive_chain *chain, const char *object, struct error *err) KM_MUST_CHECK;
/* After all names: one entry each, in their order. */
void archive_chain_sort(struct archive_chain *chain);

/* The segments that were written for the newest place: *ret_first to *ret_end - 1, those without a description among them. False: the archive is empty. */
bool archive_chain_newest(const struct archive_chain *chain, size_t *ret_first, size_t *ret_end);
/* The oldest segment with a description from which on up to entry `newest` no sequence number is missing and no epoch's first one, but not one before `from`. */
size_t archive_chain_begin(const struct archive_chain *chain, size_t newest, const struct binlog_segment_name *from);
/* A log alone, old enough. */
bool archive_entry_is_orphan(const struct archive_entry *entry, int64_t now_ms);

/* <0, 0, >0 as strcmp: epoch, sequence, time. */
int archive_name_compare(const struct binlog_segment_name *a, const struct binlog_segment_name *b);
/* Same epoch and sequence. */
bool archive_name_same_place(const struct binlog_segment_name *a, const struct binlog_segment_name *b);

/* The next name after `newest` (sequence 0: none) in `epoch`: not before now, and not before or at after_ms. */
struct binlog_segment_name archive_name_next(
    const struct binlog_segment_name *newest, uint64_t epoch, int64_t now_ms, int64_t after_ms);

#endif
