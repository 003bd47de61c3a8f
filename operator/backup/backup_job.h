/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backup_job.h: work in the store that takes longer than a turn of the loop: whether a backup is whole, and its
 * removal.
 *
 * CHECK reads manifest.json, its digest, with a key also its seal, and the list of the folder: all pieces must be there
 * in their sizes. Their bytes were checked when they were written and are again when they are read. REMOVE deletes the
 * folder, manifest first. Either ends within BACKUP_JOB_MAX_MS.
 */
#ifndef KM_BACKUP_JOB_H
#define KM_BACKUP_JOB_H

#include "common/base.h"

#include "common/backup_task.h"
#include "common/http_client.h"
#include "common/loop.h"
#include "operator/backup/backup_snapshot.h"

#define BACKUP_JOB_MAX_MS (10 * 60 * 1000)

struct backup_job;

struct backup_job_request {
    enum backup_job_kind kind;
    const char *id, *folder;          /* NAMESPACE/CLUSTER/backups/ID */
    const struct backup_store *store; /* copied as far as it is needed */
    struct http_tls *tls;             /* NULL: the system's certificates */
    const unsigned char *user_key; /* BACKUP_KEY_BYTES, CHECK of a sealed one; NULL: none. Copied, wiped at the end */
};

/* `done` runs once, from the loop; the job is freed after it returns. The view is valid during the call. */
struct backup_job *backup_job_start(struct loop *loop, const struct backup_job_request *request,
    void (*done)(void *arg, const struct backup_job_view *view), void *arg);
/* No callback follows. NULL is fine. */
void backup_job_cancel(struct backup_job *job);

#endif
