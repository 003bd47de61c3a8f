/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive_task.h: what a primary's agent is told about the archive of binary logs (binlog_segment.h), and what it says
 * of it. JSON; secrets as in backup_task.h.
 *
 *   PUT    /v1/archive   operator only. Body: a task. 200: in force, also when it was. Another word of it changes keys,
 *                        interval or destination. 400 names what is wrong.
 *   DELETE /v1/archive   nothing is archived any more; what is on its way ends. 200, also when there was none.
 *
 * Idempotent and standing: the operator repeats it until the status shows the task's digest, and after a restart of the
 * agent (another boot_id). An agent archives only while it is the open primary of the epoch that its order names; at
 * any other time it keeps the task and rests. Each round is a child of its own (`kube-mysql-agent archive`) that finds
 * out from the store where the archive ends: nothing is remembered that could be wrong after a crash.
 */
#ifndef KM_COMMON_ARCHIVE_TASK_H
#define KM_COMMON_ARCHIVE_TASK_H

#include "common/base.h"

#include <jansson.h>

#include "common/backup_task.h"
#include "common/binlog_segment.h"
#include "common/error.h"
#include "common/position.h"
#include "common/strbuf.h"

#define ARCHIVE_TASK_MAX BACKUP_TASK_MAX
#define ARCHIVE_INTERVAL_MIN_S 1
#define ARCHIVE_INTERVAL_MAX_S 3600
#define ARCHIVE_INTERVAL_DEFAULT_S 60

struct archive_task {
    struct backup_store store;
    char *folder; /* NAMESPACE/CLUSTER/binlogs/UID; owned */
    char ns[64], cluster[64], cluster_uid[64];
    uint32_t interval_s;
    enum backup_compression compression;
    bool sealed;
    unsigned char key[BACKUP_KEY_BYTES]; /* secret */
};
void archive_task_release(struct archive_task *task); /* wipes */
/* Whoever holds the text wipes it. */
void archive_task_encode(const struct archive_task *task, struct strbuf *out);
int archive_task_decode(const char *text, size_t len, struct archive_task *ret, struct error *err) KM_MUST_CHECK;
/* 16 hex digits and a NUL: of everything in it, keys by a hash only. */
void archive_task_digest(const struct archive_task *task, char out[static 17]);
/* Of the task that is the same but for its interval. */
void archive_task_digest_at(const struct archive_task *task, uint32_t interval_s, char out[static 17]);

/* Part of an agent's status ("archive"). Of the chain that ends with the newest segment, has no gap in it, and that the
 * task's key opens: with another key a chain begins, though nothing is missing. */
struct archive_report {
    char task[17];                       /* digest of the task in force; "" none */
    bool known;                          /* what follows was read from the store in the life of this agent as primary */
    uint64_t epoch, sequence;            /* of the newest segment; 0: there is none */
    char from_gtid[POSITION_TOLD_SIZE];  /* where the chain begins: `after` of its first segment; told (position.h) */
    uint64_t from_epoch, from_sequence;  /* of that one; 0: an earlier version does not say, or there is none yet */
    int64_t from_ms;                     /* when that one was archived */
    char until_gtid[POSITION_TOLD_SIZE]; /* all that is archived; told */
    /* everything that had been committed by then is archived: when the last round that found nothing more to archive
     * began */
    int64_t until_ms;
    /* when the last archived transaction was committed (whole seconds); no restore is sure to reach a later time. 0:
     * not told */
    int64_t newest_ms;
    int64_t gap_ms; /* when the last gap was noticed: on its other side the chain begins; 0: none known */
    uint64_t segments, stored_bytes; /* by this agent since it is primary */
    /* of the last round: StoreRefused, StoreUnavailable, ArchiveDamaged, BinlogsUnreadable, ArchiveFailed (the process
     * ended without a word); "" it went well */
    char error_reason[48];
    char message[256];
};
json_t *archive_report_encode(const struct archive_report *report); /* NULL when there is no task */
int archive_report_decode(const json_t *object, struct archive_report *ret, struct error *err) KM_MUST_CHECK;
/* Equal but for what moves with every round that goes well within an interval (until_ms). */
bool archive_report_same(const struct archive_report *a, const struct archive_report *b);
uint64_t archive_report_digest(const struct archive_report *report);

#endif
