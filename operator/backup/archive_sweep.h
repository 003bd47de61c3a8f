/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive_sweep.h: removes from a store the segments of archived binary logs that no stored backup needs any more
 * (archive_retention.h). Asynchronous.
 *
 * What counts is what is stored: every backup of the cluster (its UID) whose manifest is there, be there a MysqlBackup
 * of it or not, and those that the caller knows of. A store that does not answer, or a manifest that cannot be read,
 * ends it before anything is removed. So does one that is missing of a backup whose position is too long to be told.
 * The .json of a segment goes before its .log.
 */
#ifndef KM_ARCHIVE_SWEEP_H
#define KM_ARCHIVE_SWEEP_H

#include "common/base.h"

#include "common/backup_task.h"
#include "common/http_client.h"
#include "common/loop.h"
#include "operator/backup/archive_decide.h"

#define ARCHIVE_SWEEP_MAX_MS (10 * 60 * 1000)

struct archive_sweep;

struct archive_sweep_request {
    const char *ns, *cluster, *uid;
    const struct backup_store *store;     /* copied as far as it is needed */
    struct http_tls *tls;                 /* NULL: the system's certificates */
    const struct archive_backup *backups; /* that the caller knows of; copied */
    size_t backup_count;
    struct binlog_segment_name chain; /* whose link is looked for on the way; sequence 0: none */
    int64_t now_ms;                   /* wall clock */
};

struct archive_sweep_result {
    struct archive_link link; /* among the backups that the caller knows of; known, whatever failed after that */
    size_t removed;
    bool more;         /* it should be done again soon */
    char failure[256]; /* "": it went well */
};

/* `done` runs once, from the loop; the sweep is freed after it returns. */
struct archive_sweep *archive_sweep_start(struct loop *loop, const struct archive_sweep_request *request,
    void (*done)(void *arg, const struct archive_sweep_result *result), void *arg);
/* No callback follows. NULL is fine. */
void archive_sweep_cancel(struct archive_sweep *sweep);

#endif
