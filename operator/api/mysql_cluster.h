/*
 * mysql_cluster.h: MysqlCluster.spec, read, checked, with defaults; and the effective configuration.
 *
 * Life cycle: mysql_cluster_parse fills a struct (zeroed is valid and empty), mysql_cluster_release drops it. Strings and json_t
 * pointers are owned by `document`, to which the struct holds a reference. Meant for the length of one reconcile.
 * When parse reports problems the struct still holds what could be read, but nothing may be applied from it.
 */
#ifndef KM_MYSQL_CLUSTER_H
#define KM_MYSQL_CLUSTER_H

#include "common/base.h"

#include <jansson.h>

#include "operator/api/api_problems.h"
#include "operator/api/mysql_config.h"
#include "operator/api/names.h"

#define CLUSTER_REPLICAS_MAX 9

#define CLUSTER_MAX_LAG_SECONDS_DEFAULT 60
#define CLUSTER_DRAIN_SECONDS_DEFAULT 10
#define CLUSTER_PRIMARY_ANY (-1)

/* How members follow their primary. Without effect in a cluster of one. */
struct cluster_replication {
    bool semi_sync;      /* a commit waits until another member has it (the default); else async */
    int max_lag_seconds; /* a replica that lags more is not ready; never 0 */
    int primary;         /* ordinal of the member that should be primary; CLUSTER_PRIMARY_ANY: the operator chooses */
    int drain_seconds;   /* planned switchover: how long running transactions may go on before they are killed */
};

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
    struct cluster_storage storage;
    struct cluster_replication replication;
    const json_t *mycnf;                                    /* over the configuration's mycnf; NULL: none */
    const char *database;                                   /* NULL: none */
    const char *username;                                   /* NULL: none; needs database */
    const char *password;                                   /* NULL unless given in the clear. Secret: never log */
    const char *password_secret_name, *password_secret_key; /* NULL: none; key has a default */
    /* username without password and passwordSecret: the operator generates one into NAME-mysql-accounts. */
    bool has_terminal;
    const json_t *terminal_pod_template; /* NULL: none */
    enum deletion_volumes deletion_volumes;
    const json_t *pod_template; /* over the configuration's pod template; NULL: none */
    struct cluster_service_options service_primary, service_replicas;
    bool paused; /* the operator changes nothing, status is still written */
};

/* spec may be NULL (an object without one): that is a problem. Returns 0, or -1 with problems. `ns` and `name` must outlive ret. */
int mysql_cluster_parse(
    const char *ns, const char *name, json_t *spec, struct mysql_cluster *ret, struct api_problems *problems);
void mysql_cluster_release(struct mysql_cluster *cluster);

/* The effective configuration: named_spec (MysqlConfig.spec, NULL if the cluster names none) with the inline spec over it, the cluster's
 * mycnf over mycnf, its podTemplate over podTemplate. Problems carry the path where the person finds them. The document of *ret is what
 * status.configSpec shows. Returns 0, or -1 with problems and *ret untouched. */
int mysql_cluster_resolve(const struct mysql_cluster *cluster, const json_t *named_spec, struct mysql_config_spec *ret,
    struct api_problems *problems);

/* What cannot be changed once volumes exist: between claims and volumeSource, to another storageClassName, to a smaller size.
 * old_storage is spec.storage as it was last in force (status.storage); NULL: nothing is. Returns 0 or -1. */
int mysql_cluster_check_change(
    const struct mysql_cluster *cluster, const json_t *old_storage, struct api_problems *problems);

#endif
