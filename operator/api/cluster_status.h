/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_status.h: MysqlCluster.status as a value.
 *
 * The controller decodes the last written status, changes a copy and writes it only if cluster_status_same says no:
 * status that has not changed is not written. encode leaves out what is empty; decode(encode(x)) is same as x. What
 * moves all the time is told coarsely: lag in whole seconds, and only news when it moved by a second and by a tenth; a
 * seed's progress in steps of five percent. Positions that move with every transaction are in the agents' metrics, not
 * here. Release with cluster_status_release; a zeroed struct is valid and empty. Large (50 KiB): not for recursion.
 * A position that is put into one is taken into its pool (position.h): so `roles` can be copied by assignment, into
 * copies of the status as well.
 */
#ifndef KM_CLUSTER_STATUS_H
#define KM_CLUSTER_STATUS_H

#include "common/base.h"

#include <jansson.h>

#include "common/agent_api.h"
#include "common/agent_problem.h"
#include "common/position.h"
#include "operator/api/account_status.h"
#include "operator/api/cluster_history.h"
#include "operator/api/cluster_role_status.h"
#include "operator/api/commit_wait_status.h"
#include "operator/api/copy_close_status.h"
#include "operator/api/in_place_status.h"
#include "operator/api/mysql_cluster.h"
#include "operator/api/names.h"
#include "operator/api/restore_status.h"
#include "operator/api/roll_status.h"
#include "operator/kube/kube_condition.h"

/* Conditions of MysqlCluster (and the first and third of MysqlTerminal). */
#define CONDITION_ACCEPTED "Accepted"       /* the spec is good and in force; False: message has the field's path */
#define CONDITION_PROGRESSING "Progressing" /* something is being changed: creation, roll, growth */
#define CONDITION_AVAILABLE "Available"     /* the primary answers and is ready */
#define CONDITION_HEALTHY "Healthy"         /* all members are as wanted */
#define CONDITION_REPLICATED "Replicated"   /* all replicas follow the primary */
#define CONDITION_WRITES_BLOCKED \
    "WritesBlocked"                 /* True: commits wait for acknowledgements (semiSync); message: of whom */
#define CONDITION_LAGGING "Lagging" /* True: a replica lags more than maxLagSeconds; message: which */
#define CONDITION_VOLUME_FULL \
    "VolumeFull" /* True: a data volume has little room, or the primary is closed for writes for it; message: whose */
#define CONDITION_CHILD_CONFLICT "ChildConflict"   /* True: an object of a name that we need belongs to somebody else */
#define CONDITION_STORAGE_RESIZED "StorageResized" /* False: growth pending or refused */
#define CONDITION_RESTORED \
    "Restored" /* spec.restoreFrom: the cluster has its data; False: reason and message say why not yet */
#define CONDITION_RESTORED_IN_PLACE \
    "RestoredInPlace" /* the annotation restore-in-place was carried out; False: reason and message say why not, or not yet */
#define CONDITION_FINAL_BACKUP \
    "FinalBackup" /* being deleted: the cluster may go; False: reason and message say what it waits for */
#define CONDITION_BINLOGS_ARCHIVED \
    "BinlogsArchived" /* spec.backup.binlogs: what is committed is archived; False: reason and message say why not */
#define CONDITION_RESTORE_VERIFIED \
    "RestoreVerified" /* spec.backup.drill: the last drill went well; False: reason and message say what did not */
#define CONDITION_CERTIFICATE_EXPIRING "CertificateExpiring" /* True: renewal keeps failing and little time is left */
#define CONDITION_ROLLED_BACK \
    "RolledBack" /* a roll failed; True: members run what they ran before; False: nothing goes back; message: why */
#define CONDITION_DEGRADED "Degraded"                /* True: the primary takes writes, but not all is as wanted */
#define CONDITION_PASSWORD_SUSPECT "PasswordSuspect" /* True: the password given ends with a newline; message: where */
#define CONDITION_ACCOUNTS_LEFT \
    "AccountsLeft" /* True: spec.username or spec.database named others before, or are not applied yet; message: which */
/* And those of ready_conditions.h. */
extern const char *const cluster_condition_types[]; /* NULL-terminated, for kube_conditions_decode */

/* For people: what one word says of a cluster. */
enum cluster_state {
    CLUSTER_STATE_UNKNOWN, /* or of a version that knows more */
    CLUSTER_STATE_OFFLINE, /* replicas: 0 */
    CLUSTER_STATE_CLONING, /* a member gets its data */
    CLUSTER_STATE_RESTORING,
    CLUSTER_STATE_HEALTHY,
    CLUSTER_STATE_DEGRADED,   /* it takes writes, or soon will, but not all is as wanted */
    CLUSTER_STATE_FAILED,     /* members are heard, and none takes writes */
    CLUSTER_STATE_LOST,       /* no member is heard, or none has the data any more */
    CLUSTER_STATE_INCOMPLETE, /* servers run, and the primary's agent is not heard; or it has not begun yet */
    CLUSTER_STATE_COUNT
};
extern const char *const cluster_state_names[CLUSTER_STATE_COUNT]; /* "", "Offline", ... */

enum instance_phase {
    INSTANCE_PHASE_NONE, /* nothing is told of it, or by a version that knows more */
    INSTANCE_PHASE_PENDING,
    INSTANCE_PHASE_INITIALIZING,
    INSTANCE_PHASE_SEEDING,
    INSTANCE_PHASE_STARTING,
    INSTANCE_PHASE_RUNNING,
    INSTANCE_PHASE_HUNG,
    INSTANCE_PHASE_DOWN,
    INSTANCE_PHASE_TERMINATING,
    INSTANCE_PHASE_FAILED,
    INSTANCE_PHASE_UNKNOWN,
    INSTANCE_PHASE_COUNT
};

struct cluster_instance {
    char name[DERIVED_NAME_SIZE]; /* pod */
    int ordinal;
    enum instance_phase phase;
    bool ready;
    char role[16];    /* primary, replica, "" */
    char flavour[16]; /* mysql, mariadb, percona, "" until known */
    char version[64];
    char node[KUBE_NAME_MAX + 1];
    char message[AGENT_PROBLEM_MESSAGE_SIZE + 64]; /* why it is not ready; as of a problem, its reason before it */
    bool lag_known;                                /* replicas only */
    int64_t lag_ms;
    char errant[256];                   /* transactions that its source has not, cut with "..."; "" none */
    char problem[48];                   /* reason (agent_api.h) of what a person should look at first; "" none */
    enum agent_seed_step seed_step;     /* AGENT_SEED_STEP_NONE unless it is being seeded */
    char seed_donor[DERIVED_NAME_SIZE]; /* pod; "" if none */
    int seed_percent;                   /* 0..100; 0 also if unknown */
    uint64_t seed_bytes, seed_total_bytes, seed_bytes_per_second; /* 0: none yet, unknown */
    /* what its volume holds of transactions that the cluster has not, without what was acknowledged by annotation */
    struct agent_set_asides set_aside;
};

/* Of all positions of a status and of what is decided from it. */
#define CLUSTER_POSITIONS_MAX ((size_t)(1 * KM_MIB))

struct cluster_status {
    int64_t observed_generation;
    struct position_pool *positions; /* holds those of the members below; shared with copies; a reference is owned */
    json_t *config_spec;             /* merged; owned */
    json_t *accepted_spec; /* what of the last accepted spec roles are decided by (mysql_cluster_roles_of); owned */
    json_t *storage_volume_source; /* owned; NULL with claims */
    json_t *storage;               /* spec.storage in force (last accepted); owned */
    char stateful_set[DERIVED_NAME_SIZE];
    char service[DERIVED_NAME_SIZE];
    char service_primary[DERIVED_NAME_SIZE];
    char service_replicas[DERIVED_NAME_SIZE];
    char binding[DERIVED_NAME_SIZE]; /* Secret with what an application connects with; "" there is none */
    int port;                        /* of the Services of primary and replicas; 0: nothing was accepted yet */
    char selector[256];              /* scale subresource */
    enum cluster_state state;
    struct cluster_role_status roles; /* written before any agent is told of it (I2) */
    struct cluster_history history;   /* the last changes of the primary */
    struct cluster_accounts accounts;
    struct cluster_restore restore;   /* owns documents */
    struct cluster_in_place in_place; /* likewise */
    struct cluster_roll_status roll;
    struct cluster_copy_close copy_close;
    struct cluster_commit_wait commit_wait;
    int replicas;
    int ready_replicas;
    int updated_replicas;      /* pods of the newest template */
    char next_action[512];     /* what the operator would do next and what blocks it; "" if nothing is to do */
    char operator_version[64]; /* of who wrote it, with the commit: "0.2.0+b4fa498c0ffe"; "" not known */
    /* VERSION() of the server that ran on the primary's data last, also while none runs; "" unknown */
    char data_version[64];
    char mycnf_adjusted[272];   /* at least what a projection keeps: values of the my.cnf in force that the server has
                                   changed, in its words; "" none */
    char applied_hash[17];      /* hash of the children that were last applied and answered well, "" if not all */
    int64_t applied_generation; /* generation whose spec is in force */
    struct cluster_instance instances[CLUSTER_REPLICAS_MAX + 1];
    int instance_count;
    char volumes[CLUSTER_REPLICAS_MAX + 1][DERIVED_NAME_SIZE]; /* names of claims that exist */
    int volume_count;
    char retained_volumes[CLUSTER_REPLICAS_MAX + 1][DERIVED_NAME_SIZE]; /* those of `volumes` beyond replicas */
    int retained_volume_count;
    struct kube_conditions conditions;
    /* What the controller of archives has written: read, and left out when this one is written or compared. */
    struct {
        char reason[48]; /* "": nothing is archived */
        char message[KUBE_CONDITION_MESSAGE_MAX];
        int64_t until_ms; /* all that had been committed by then is archived; 0: nothing is */
        int64_t gap_ms;   /* what was committed before then, and was not archived, never will be; 0: there is no gap */
    } archive;
    /* Likewise the controller of drills. */
    struct {
        char reason[48]; /* "": there are none */
        char message[KUBE_CONDITION_MESSAGE_MAX];
    } drill;
    char last_backup[KUBE_NAME_MAX + 1]; /* likewise the newest good MysqlBackup; "" none */
    char backup_problem[512]; /* and the controller of schedules: why spec.backup cannot be kept to; "": it can */
};

json_t *cluster_status_encode(const struct cluster_status *status);
/* Absent or malformed members get zero values. NULL is fine. *ret is overwritten (not released), and has a pool in any
 * case. */
void cluster_status_decode(const json_t *json, struct cluster_status *ret);
/* Has a pool in any case. */
void cluster_status_copy(const struct cluster_status *from, struct cluster_status *ret);
void cluster_status_release(struct cluster_status *status);
/* Whether a lag is another one, as far as people care: by a second and by a tenth. */
bool cluster_lag_moved(int64_t a_ms, int64_t b_ms);
bool cluster_status_same(const struct cluster_status *a, const struct cluster_status *b);
/* Adds one, or NULL when full. Keep them in order of ordinals. */
struct cluster_instance *cluster_status_add_instance(struct cluster_status *status, const char *name, int ordinal);

#endif
