/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backup_snapshot.h: everything a decision about one MysqlBackup may look at, at one moment.
 *
 * Filled by backup_gather from caches, agents' words and the controller's memory, read by the pure functions of this
 * folder. "Now" is part of it. Owns its texts: it may be kept over turns of the loop, though it gets old.
 */
#ifndef KM_BACKUP_SNAPSHOT_H
#define KM_BACKUP_SNAPSHOT_H

#include "common/base.h"

#include "common/agent_api.h"
#include "common/backup_task.h"
#include "operator/api/mysql_backup.h"
#include "operator/api/mysql_cluster.h"
#include "operator/backup/store_answer.h"

/* A member of the cluster: there is a pod of its name. */
struct backup_member {
    char name[DERIVED_NAME_SIZE];
    bool pod_ready; /* and not on its way out */
    bool heard;     /* its stream stands; else what follows is old, or nothing */
    int64_t silent_ms;
    char process[40]; /* agent_status.boot_id */
    enum agent_phase phase;
    bool is_primary; /* the cluster's; it is open for writes */
    bool is_replica; /* follows its source, both threads run */
    bool is_held;    /* told to follow nobody, or to be nothing */
    /* the primary of a cluster that is being deleted, which takes no writes any more (final_backup.h) */
    bool is_closed;
    bool has_data, seeding;
    bool is_outdated; /* its agent does not understand the pod in front of a volume */
    bool lag_known;
    int64_t lag_ms;
    uint32_t serving; /* copies that it gives to other members now */
    bool taken;       /* another MysqlBackup runs there */
    struct backup_report report;
    bool impossible;      /* it does not take our task: its image lacks what the method takes */
    bool refused;         /* it does not take our task; why: */
    char send_error[256]; /* "": it was given, or not tried yet */
};

/* Work in the store that takes longer than a turn of the loop (backup_job.h). */
enum backup_job_kind {
    BACKUP_JOB_NONE,
    BACKUP_JOB_CHECK,  /* is all there that the manifest names */
    BACKUP_JOB_REMOVE, /* the folder, manifest first */
};
enum backup_job_result {
    BACKUP_JOB_RUNNING,
    BACKUP_JOB_GOOD,
    BACKUP_JOB_BAD,         /* the store has answered: it is not so */
    BACKUP_JOB_UNAVAILABLE, /* the store has not, or does not let us */
};

struct backup_job_view {
    enum backup_job_kind kind; /* the last one of this process; NONE: there was none */
    char id[BACKUP_ID_SIZE];
    enum backup_job_result result;
    int64_t ended_ms;  /* wall clock */
    char message[256]; /* BAD, UNAVAILABLE */
    /* CHECK, GOOD: of the manifest */
    uint64_t raw_bytes, stored_bytes, data_bytes;
    char gtid[POSITION_TOLD_SIZE]; /* told */
    char server_version[64], flavour[16], digest[65], key_id[17];
    int64_t completed_ms;
};

struct backup_snapshot {
    char *ns, *name, *uid, *version; /* of the MysqlBackup; version: the resourceVersion that was read */
    int64_t generation;
    int64_t now_ms, created_ms; /* wall clock */
    bool deleting;
    int64_t deleted_ms;
    bool has_finalizer;
    bool skip_data_deletion; /* the annotation */
    bool namespace_ends;     /* known to be being deleted; false: it is not, or nobody has asked */

    struct mysql_backup backup;             /* with what it inherits; with what it was begun with, once it was */
    char reason[KUBE_CONDITION_REASON_MAX]; /* of a spec that can never be carried out; "" it can */
    char message[KUBE_CONDITION_MESSAGE_MAX];

    bool cluster_exists;
    bool is_final;                     /* the last one of a cluster that is being deleted */
    bool is_made_by_cluster;           /* by its schedule, or as its last one: not before there was a cluster */
    char cluster_uid[64], history[64]; /* history: "" before any restore in place */
    struct backup_member members[CLUSTER_REPLICAS_MAX + 1];
    int member_count;

    bool secrets_known;                             /* they were read; else what follows says nothing */
    char secrets_reason[KUBE_CONDITION_REASON_MAX]; /* "": they are good */
    char secrets_message[KUBE_CONDITION_MESSAGE_MAX];
    char key_id[17];                                   /* of the key that seals; "" none */
    char secrets_version[BACKUP_SECRETS_VERSION_SIZE]; /* another one: a Secret was changed */

    bool store_ready;         /* volumes: the pod in front of it serves. S3: always true */
    bool store_gone;          /* volumes: there is no such pod, or it is being deleted */
    bool claim_missing;       /* volumes: there is no such claim, and nobody but a person makes one */
    bool store_refused;       /* volumes: the API server refuses that pod, or its claim: store_message */
    bool store_refusal_stays; /* until somebody changes something */
    char store_message[STORE_ANSWER_TEXT_SIZE]; /* what it waits for */

    struct backup_job_view job;
    struct backup_status last; /* as last written */
};

void backup_snapshot_release(struct backup_snapshot *snapshot);
const struct backup_member *backup_member_find(const struct backup_snapshot *snapshot, const char *name);

#endif
