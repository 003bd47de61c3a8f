/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backup_task.h: what an agent is told about a backup or a restore, and what it says of it. JSON; secrets are in it
 * (keys of a bucket, of the encryption): it travels over mutual TLS and through pipes only, is never logged, never in a
 * status, and wiped after use (I9).
 *
 *   POST   /v1/backups        operator only. Body: a task. 202 it runs, or is over (the status tells): the same id
 *                             again changes only keys (credentials were rotated). 409 another one runs. 400 names the
 *                             member that is wrong.
 *   DELETE /v1/backups/ID     ends it: the tool is killed, the upload aborted, what was stored of it removed as far as
 *                             the store answers. 200, also when it is not known.
 *   PUT    /v1/restore        operator only, door of `init`. Body: a task: what an order with seed "restore" and that
 *                             id is about.
 *
 * A task is known to an agent for as long as it lives: after a restart the operator finds its id nowhere and begins
 * anew, under another one.
 */
#ifndef KM_COMMON_BACKUP_TASK_H
#define KM_COMMON_BACKUP_TASK_H

#include "common/base.h"

#include <jansson.h>

#include "common/backup_manifest.h"
#include "common/backup_store.h"
#include "common/error.h"
#include "common/position.h"
#include "common/strbuf.h"

/* A position, and the rest. */
#define BACKUP_TASK_MAX (128 * KM_KIB)

struct backup_task {
    char id[BACKUP_ID_SIZE];
    struct backup_store store;
    char *folder; /* NAMESPACE/CLUSTER/backups/ID */
    char ns[64], cluster[64], cluster_uid[64];
    enum backup_method method;
    enum backup_compression compression;
    bool sealed;
    unsigned char key[BACKUP_KEY_BYTES]; /* secret */
    uint64_t rate_limit;                 /* bytes a second of the stored stream; 0: none */
    /* restore only */
    char digest[65];      /* manifest's; "": any */
    char *binlogs_folder; /* NAMESPACE/CLUSTER/binlogs/UID: replayed on top (binlog_segment.h); NULL: no */
    char *until_gtid;     /* NULL or "": none */
    int64_t until_ms;     /* 0: all there is */
};
void backup_task_release(struct backup_task *task);
/* Whoever holds the text wipes it (OPENSSL_cleanse). */
void backup_task_encode(const struct backup_task *task, struct strbuf *out);
/* ERROR_INVALID names the member that is wrong, never its value. */
int backup_task_decode(const char *text, size_t len, struct backup_task *ret, struct error *err) KM_MUST_CHECK;

/* ---- what the agent says of it, part of its status ("backup") ---- */
enum backup_state {
    BACKUP_STATE_NONE, /* this process knows of none */
    BACKUP_STATE_RUNNING,
    BACKUP_STATE_COMPLETED, /* the manifest is written */
    BACKUP_STATE_FAILED,    /* nothing that looks like a backup is left */
    BACKUP_STATE_COUNT,
};
extern const char *const backup_state_names[BACKUP_STATE_COUNT]; /* "", "Running", "Completed", "Failed" */

struct backup_report {
    char id[BACKUP_ID_SIZE];
    enum backup_state state;
    int64_t started_ms, completed_ms;
    uint64_t raw_bytes, stored_bytes, estimate_bytes, bytes_per_second;
    char gtid[POSITION_TOLD_SIZE]; /* told (position.h) */
    char digest[65];
    /* CamelCase: ToolFailed, StoreRefused, StoreUnavailable, ServerLost, Cancelled, KeyInvalid */
    char error_reason[48];
    char message[384]; /* of a failure; the tool's own last words are part of it */
};
/* As the member "backup" of a status. NULL when there is nothing to say. */
json_t *backup_report_encode(const struct backup_report *report);
int backup_report_decode(const json_t *object, struct backup_report *ret, struct error *err) KM_MUST_CHECK;
/* Equal but for progress. */
bool backup_report_same(const struct backup_report *a, const struct backup_report *b);
uint64_t backup_report_digest(const struct backup_report *report);
/* Fills error_reason and message from why a store, a server or a person ended it. */
void backup_report_fail(struct backup_report *report, const char *reason, const char *message);

#endif
