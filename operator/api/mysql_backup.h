/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mysql_backup.h: MysqlBackup.spec, read and checked; its status as a value.
 *
 * Same life cycle as mysql_cluster.h: pointers are owned by `document` (or borrowed from the caller: ns, name).
 * A backup without a destination takes that of its cluster's spec.backup, and with it what else it leaves out:
 * mysql_backup_inherit.
 */
#ifndef KM_MYSQL_BACKUP_H
#define KM_MYSQL_BACKUP_H

#include "common/base.h"

#include <jansson.h>

#include "common/backup_manifest.h"
#include "operator/api/api_problems.h"
#include "operator/api/backup_destination.h"
#include "operator/api/names.h"
#include "operator/kube/kube_condition.h"

#define BACKUP_NAME_MAX 63
#define BACKUP_SECRETS_VERSION_SIZE 96
/* How often one is begun before it has failed. */
#define BACKUP_ATTEMPTS_MAX 5

enum backup_deletion { BACKUP_DELETION_RETAIN, BACKUP_DELETION_DELETE };

struct mysql_backup {
    json_t *document; /* the spec, what was inherited included */
    const char *ns, *name;
    const char *cluster; /* never NULL after a successful parse */
    struct backup_destination destination;
    struct backup_encryption encryption;
    enum backup_method method;
    enum backup_compression compression;
    int64_t deadline_seconds;
    enum backup_deletion deletion_policy;
    const char *donor;   /* NULL: no wish */
    uint64_t rate_limit; /* bytes a second; 0: none */
};

/* spec may be NULL: that is a problem. Returns 0, or -1 with problems. */
int mysql_backup_parse(
    const char *ns, const char *name, json_t *spec, struct mysql_backup *ret, struct api_problems *problems);
/* cluster_backup: spec.backup of the cluster, NULL is fine. Nothing if the backup has a destination of its own. */
void mysql_backup_inherit(struct mysql_backup *backup, const json_t *cluster_backup);
/* What a backup that runs, or ran, was begun with stands in its status: from there, whatever others have become
 * since. */
void mysql_backup_take_used(struct mysql_backup *backup, const json_t *destination, const json_t *encryption);
void mysql_backup_release(struct mysql_backup *backup);

/* ---- status ---- */

#define CONDITION_BACKUP_ACCEPTED "Accepted" /* all that it needs is there; False: message has the field's path */
#define CONDITION_BACKUP_COMPLETE "Complete" /* the backup exists */
#define CONDITION_BACKUP_FAILED "Failed"     /* there will be none */
#define CONDITION_BACKUP_CLEAN \
    "Clean" /* False: leftovers of attempts, or the data of a deleted backup, could not be removed yet */

enum backup_phase {
    BACKUP_PHASE_NONE, /* never looked at */
    BACKUP_PHASE_PENDING,
    BACKUP_PHASE_RUNNING,
    BACKUP_PHASE_COMPLETED,
    BACKUP_PHASE_FAILED,
    BACKUP_PHASE_COUNT,
};
extern const char *const backup_phase_names[BACKUP_PHASE_COUNT]; /* "", "Pending", ... */

/* status.verified.result: what the last drill with it found. */
enum backup_verdict {
    BACKUP_VERIFIED_NEVER, /* there was none */
    BACKUP_VERIFIED_PASSED,
    BACKUP_VERIFIED_FAILED,
    BACKUP_VERDICT_COUNT,
};
extern const char *const backup_verdict_names[BACKUP_VERDICT_COUNT]; /* "", "Passed", "Failed" */

/* One that did not succeed. */
struct backup_attempt {
    char id[BACKUP_ID_SIZE];
    char donor[DERIVED_NAME_SIZE];
    char reason[48]; /* CamelCase */
    char message[256];
    bool cleaned;     /* nothing of it is left in the store */
    int64_t swept_ms; /* its folder was removed then, but its donor may write again; 0: not yet */
};

/* Large (10 KiB): not for recursion. A zeroed one is valid and empty. */
struct backup_status {
    int64_t observed_generation;
    enum backup_phase phase;
    char message[512];
    char donor[DERIVED_NAME_SIZE];
    char donor_process[40]; /* agent_status.boot_id: another one knows nothing of this attempt */
    int attempt;            /* 1 is the first; 0: none was begun */
    char id[BACKUP_ID_SIZE];
    bool received;                             /* the donor has shown the id */
    int64_t start_ms, completion_ms, retry_ms; /* wall clock; 0: not set */
    uint64_t raw_bytes, stored_bytes, data_bytes, bytes_per_second;
    uint64_t estimated_bytes;      /* while it runs: what raw_bytes will be in the end, about; 0: not known */
    char gtid[POSITION_TOLD_SIZE]; /* told (position.h): what is longer is in the manifest */
    char server_version[64];
    char flavour[16];
    char method[16], compression[16];
    bool encrypted;
    char key_id[17];
    char secrets_version[BACKUP_SECRETS_VERSION_SIZE]; /* resourceVersions of the Secrets that the attempt was given */
    char digest[65];
    char location[640];
    char cluster_uid[64];
    char history[64];                 /* of the cluster then (cluster_history_name); "": its UID */
    json_t *destination, *encryption; /* owned; as in the spec; NULL: not chosen yet, none */
    int64_t verified_ms;
    enum backup_verdict verified;
    char verified_message[512];
    struct backup_attempt failures[BACKUP_ATTEMPTS_MAX]; /* earlier attempts */
    int failure_count;
    struct kube_conditions conditions;
};

/* What binary logs that go on from it are filed under; "" unknown. */
const char *backup_status_history(const struct backup_status *status);
bool backup_phase_is_final(enum backup_phase phase);
json_t *backup_status_encode(const struct backup_status *status);
/* Absent or malformed members get zero values. NULL is fine. *ret is overwritten (not released). */
void backup_status_decode(const json_t *json, struct backup_status *ret);
void backup_status_copy(const struct backup_status *from, struct backup_status *ret);
void backup_status_release(struct backup_status *status);
bool backup_status_same(const struct backup_status *a, const struct backup_status *b);
/* "1.5 GiB" */
void backup_size_text(uint64_t bytes, char out[static 16]);
/* Of one that runs: "1.2 GiB of about 3.0 GiB (40 %), 80.0 MiB/s, about 23 s left"; else, and before anything was read,
 * nothing is appended. */
void backup_progress_text(const struct backup_status *status, struct strbuf *out);

#endif
