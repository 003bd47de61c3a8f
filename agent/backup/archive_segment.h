/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive_segment.h: one segment on its way from a server's binary logs into the archive: first which bytes
 * (archive_segment_add, as transactions are met), then all of it read again, packed and stored: the log, then the
 * description that makes it a segment (archive_segment_write).
 *
 * Memory: two parts and what packing takes, whatever the size.
 */
#ifndef KM_AGENT_BACKUP_ARCHIVE_SEGMENT_H
#define KM_AGENT_BACKUP_ARCHIVE_SEGMENT_H

#include "common/base.h"

#include "agent/backup/archive_store.h"
#include "agent/backup/binlog_file.h"
#include "common/archive_task.h"

/* From so many files at most. */
#define ARCHIVE_SEGMENT_PIECES_MAX 256

struct archive_piece {
    char *path;
    struct strbuf description;
    uint64_t from, to;
};

struct archive_segment {
    struct archive_piece *pieces;
    size_t piece_count;
    uint64_t bytes, count; /* of transactions */
    int64_t first_s, last_s;
};

/* Whether the transaction still fits in. The first one always does. */
bool archive_segment_has_room(const struct archive_segment *segment, const struct binlog_transaction *transaction);
void archive_segment_add(struct archive_segment *segment, const char *path, const struct binlog_head *head,
    const struct binlog_transaction *transaction);
void archive_segment_reset(struct archive_segment *segment); /* empty again */

/* described: everything but sizes, times, digest and seal, which are filled in. logs_failed: it was not the store.
 * ret_digest: of the .json. */
int archive_segment_write(const struct archive_segment *segment, struct archive_store *store,
    const struct archive_task *task, struct binlog_segment *described, char ret_digest[static 65],
    bool *ret_logs_failed, struct error *err) KM_MUST_CHECK;

#endif
