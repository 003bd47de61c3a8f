/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mysql_cluster.h: MysqlCluster.spec, read, checked, with defaults; and the effective configuration.
 *
 * Life cycle: mysql_cluster_parse fills a struct (zeroed is valid and empty), mysql_cluster_release drops it. Strings
 * and json_t pointers are owned by `document`, to which the struct holds a reference. Meant for the length of one
 * reconcile.
 * When parse reports problems the struct still holds what could be read, but nothing may be applied from it.
 */
#ifndef KM_MYSQL_CLUSTER_H
#define KM_MYSQL_CLUSTER_H

#include "common/base.h"

#include <jansson.h>

#include "operator/api/api_problems.h"
#include "operator/api/mysql_config.h"
#include "operator/api/names.h"
#include "operator/api/restore_spec.h"

#define CLUSTER_REPLICAS_MAX 9
#define CLUSTER_VOLUME_SOURCE_FIELD "spec.storage.volumeSource"
#define CLUSTER_STORAGE_SIZE_FIELD "spec.storage.resources.requests.storage"
#define CLUSTER_STORAGE_DEFAULT "1Gi"
/* No server starts on less: its redo log and tables of its own. */
#define CLUSTER_STORAGE_MIN (64 * KM_MIB)

#define CLUSTER_MAX_LAG_SECONDS_DEFAULT 60
#define CLUSTER_LONG_QUERY_MS_DEFAULT 1000
#define CLUSTER_LONG_QUERY_MS_MAX (24 * 60 * 60 * 1000)
#define CLUSTER_DRAIN_SECONDS_DEFAULT 10
#define CLUSTER_PRIMARY_ANY (-1)

/* How members follow their primary. Without effect in a cluster of one. */
struct cluster_replication {
    bool semi_sync;      /* a commit waits until another member has it (the default); else async */
    int max_lag_seconds; /* a replica that lags more is not ready; never 0 */
    int primary;         /* ordinal of the member that should be primary; CLUSTER_PRIMARY_ANY: the operator chooses */
    int drain_seconds;   /* planned switchover: how long running transactions may go on before they are killed */
};

#define CLUSTER_SILENCE_MS_DEFAULT 1500
#define CLUSTER_HUNG_MS_DEFAULT 2000
#define CLUSTER_WRITES_BLOCKED_MS_DEFAULT 2000
#define CLUSTER_STALLED_MS_DEFAULT 5000
#define CLUSTER_START_MS_DEFAULT 20000
#define CLUSTER_SELF_FENCE_MS_DEFAULT 4000
/* Agents speak at least every 500 ms: one report that is late is not yet silence. */
#define CLUSTER_HEARD_MS_MIN 1000
#define CLUSTER_FAILOVER_MS_MAX 3600000
/* A primary is told of once a second, by the operator and by each member: one sign of life may be lost. */
#define CLUSTER_SELF_FENCE_MS_MIN 2000
#define CLUSTER_SELF_FENCE_MS_MAX 60000

/* How the loss of a primary is noticed, and what may be done about it. Without effect in a cluster of one. */
struct cluster_failover_spec {
    bool enabled; /* false: a lost primary waits for a person */
    /* async: another member may take over though the lost primary may have had more (the default: never) */
    bool allow_data_loss;
    int64_t silence_ms; /* a member that its source or the operator has not heard of for so long is lost */
    int64_t hung_ms;    /* a server that answers no probe for so long is hung */
    /* a primary whose commits get no acknowledgement for so long, while its replicas have lost it */
    int64_t writes_blocked_ms;
    int64_t stalled_ms;    /* a primary whose storage takes no write for so long */
    int64_t start_ms;      /* when all servers have just started: patience with the old primary */
    int64_t self_fence_ms; /* async: a primary that hears of nobody for so long closes itself (I6); never 0 */
    bool reseed;           /* a member with transactions that its primary has not: set them aside and clone it anew */
};

#define CLUSTER_FINAL_BACKUP_SECONDS_DEFAULT 3600
#define CLUSTER_BINLOG_MAX_MIN (16LL * KM_MIB)

enum deletion_volumes { DELETION_VOLUMES_RETAIN, DELETION_VOLUMES_DELETE };

struct cluster_storage {
    const json_t *volume_source;    /* a core/v1 VolumeSource (one member: emptyDir, hostPath, ...); NULL: claims */
    const char *storage_class_name; /* claims: NULL: the default class; "": no class (pre-made volumes) */
    const json_t *resources;        /* claims: {requests{storage}, limits?}; NULL with volume_source */
    int64_t size_bytes;             /* claims: resources.requests.storage */
};

struct cluster_service_options {
    const char *type;                          /* ClusterIP (default), NodePort, LoadBalancer; never NULL */
    const json_t *labels;                      /* map, NULL: none */
    const json_t *annotations;                 /* map, NULL: none */
    const json_t *load_balancer_source_ranges; /* array of CIDRs, NULL: none */
};

struct mysql_cluster {
    json_t *document;          /* the spec */
    const char *ns;            /* borrowed from the caller of parse */
    const char *name;          /* borrowed from the caller of parse */
    const char *config_name;   /* spec.config.name, NULL: only the inline spec */
    const json_t *config_spec; /* spec.config.spec, NULL: none */
    int replicas;              /* 0..CLUSTER_REPLICAS_MAX */
    int port;                  /* of the Services of primary and replicas; servers listen on MYSQL_PORT in any case */
    struct cluster_storage storage;
    struct cluster_replication replication;
    struct cluster_failover_spec failover;
    const json_t *mycnf;  /* over the configuration's mycnf; NULL: none */
    const char *database; /* NULL: none */
    const char *username; /* NULL: none, or root, whose password is what is given then; needs database */
    const char *password; /* NULL unless given in the clear. Secret: never log */
    const char *password_secret_name, *password_secret_key; /* NULL: none; key has a default */
    /* username without password and passwordSecret: the operator generates one into NAME-mysql-accounts. */
    bool has_terminal;
    const json_t *terminal_pod_template; /* NULL: none */
    struct restore_spec restore;         /* source NONE: a new cluster begins empty */
    enum deletion_volumes deletion_volumes;
    bool final_backup;                     /* deletion.finalBackup */
    int64_t final_backup_deadline_seconds; /* from its begin; never 0 */
    const json_t *pod_template;            /* over the configuration's pod template; NULL: none */
    struct cluster_service_options service_primary, service_replicas;
    bool require_tls;         /* tls.mode is Required */
    int64_t binlog_max_bytes; /* binlogs.maxSize; 0: none */
    bool paused;              /* nothing is applied, rolled or copied; the members are led on */
};

/* spec may be NULL (an object without one): that is a problem. Returns 0, or -1 with problems. `ns` and `name` must
 * outlive ret. */
int mysql_cluster_parse(
    const char *ns, const char *name, json_t *spec, struct mysql_cluster *ret, struct api_problems *problems);
/* What of a spec roles and orders are made of: replication, failover, and the replicas that the cluster is led with.
 * Kept in the status while a spec is accepted (new object), and read again while a later one is not: members need their
 * orders all the same. accepted NULL: defaults, but replicas stay. */
json_t *mysql_cluster_roles_of(const struct mysql_cluster *cluster, int replicas);
/* While the cluster is paused replicas and replication stay what they were; of failover it is led by what is wished. */
json_t *mysql_cluster_roles_while_paused(const struct mysql_cluster *cluster, int replicas, const json_t *accepted);
void mysql_cluster_keep_replication(struct mysql_cluster *cluster, const json_t *accepted);
void mysql_cluster_keep_roles(struct mysql_cluster *cluster, const json_t *accepted);
void mysql_cluster_release(struct mysql_cluster *cluster);

/* The effective configuration: named_spec (MysqlConfig.spec, NULL if the cluster names none) with the inline spec over
 * it, the cluster's mycnf over mycnf, its podTemplate over podTemplate. Problems carry the path where the person finds
 * them. The document of *ret is what status.configSpec shows. Returns 0, or -1 with problems and *ret untouched. */
int mysql_cluster_resolve(const struct mysql_cluster *cluster, const json_t *named_spec, struct mysql_config_spec *ret,
    struct api_problems *problems);

/* Storage that was left out is what is in force, and a claim of CLUSTER_STORAGE_DEFAULT for a new cluster: no default
 * of the CRD, which would change clusters that exist together with it. in_force: NULL: none yet. */
void mysql_cluster_fill_storage(json_t *spec, const json_t *in_force);

/* Of a cluster without claims: a size below CLUSTER_STORAGE_MIN is one whose unit was forgotten. Returns 0 or -1. */
int mysql_cluster_check_new_size(const struct mysql_cluster *cluster, struct api_problems *problems);

/* What cannot be changed once volumes exist: between claims and volumeSource, to another storageClassName. old_storage
 * is spec.storage as it was last in force (status.storage); NULL: nothing is. Returns 0 or -1. */
int mysql_cluster_check_change(
    const struct mysql_cluster *cluster, const json_t *old_storage, struct api_problems *problems);
/* Nor to a smaller size, where a claim has grown beyond it: volumes never shrink. A growth that was refused is taken
 * back, though. claim: of all claims the one that asks for most, and for how much; NULL: there is none. */
int mysql_cluster_check_size(const struct mysql_cluster *cluster, const json_t *old_storage, const char *claim,
    int64_t claim_bytes, struct api_problems *problems);

#endif
