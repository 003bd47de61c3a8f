/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive_retention.h: which segments of an archive of binary logs nobody needs any more (binlog_segment.h). Pure.
 *
 * A restore replays from the position of its backup. So a segment is where all restores may begin when what it is
 * behind (`after`) is held by every backup that is left; what is older than that segment nobody needs: not even the end
 * of an epoch that a failover left behind, which no later position ever holds. No clock takes part in this. On top of
 * it what was archived in the last hour stays, so that nothing is removed under somebody who looks at it.
 */
#ifndef KM_ARCHIVE_RETENTION_H
#define KM_ARCHIVE_RETENTION_H

#include "common/base.h"

#include "common/binlog_segment.h"
#include "operator/backup/archive_decide.h"

#define ARCHIVE_KEEP_MS (60 * 60 * 1000)
/* Of the oldest ones so many are looked at in one go. */
#define ARCHIVE_BATCH 1000

/* What is stored of one segment. */
struct archive_entry {
    struct binlog_segment_name name;
    bool has_meta, has_log;
};

/* Entries in the order of their names, as a list of the folder gives them. */
struct archive_batch {
    struct archive_entry entries[ARCHIVE_BATCH];
    size_t count;
    bool more; /* there are others behind them */
};
/* name: the last part of an object's name. False: it is full, and `more` is set. What is no segment is left alone. */
bool archive_batch_add(struct archive_batch *batch, const char *name);

/* What all backups hold. All zero to begin with. */
struct archive_held {
    struct gtid_set *set; /* NULL: of no backup */
    bool mariadb;
    bool unreadable; /* one of them does not say */
};
void archive_held_release(struct archive_held *held);
void archive_held_add(struct archive_held *held, bool mariadb, const char *gtid);
/* Whether whoever restores any of the backups may begin with this segment. Without a backup: false. */
bool archive_may_begin_at(const struct binlog_segment *segment, const struct archive_held *held);
/* So many of the first entries go when all restores may begin with entry `at`. */
size_t archive_cut(const struct archive_batch *batch, size_t at, int64_t now_ms);

/* Finds, by looking at few, a late entry with which all may begin. Begin with {0, count}; false: `low` is the answer,
 * 0: none was found. */
struct archive_search {
    size_t low, high;
};
bool archive_search_next(const struct archive_search *search, size_t *ret_probe);
void archive_search_take(struct archive_search *search, size_t probe, bool may_begin);

#endif
