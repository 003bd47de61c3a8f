/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.h: what the objects of a cluster or terminal are called; labels, annotations, finalizers.
 *
 * The longest cluster name is 46 characters: the StatefulSet controller labels pods with `controller-revision-hash:
 * NAME-mysql-HASH` (HASH up to 10 characters), and a label value holds 63. Services are RFC 1035 labels: they begin
 * with a letter and hold no dots, so a cluster's name does too. All other derived names then fit: NAME-mysql-replicas
 * (61), data-NAME-mysql-9 (59). https://kubernetes.io/docs/concepts/overview/working-with-objects/names/
 */
#ifndef KM_NAMES_H
#define KM_NAMES_H

#include "common/base.h"

#include <jansson.h>

#include "operator/api/api_problems.h"

#define CLUSTER_NAME_MAX 46
#define TERMINAL_NAME_MAX 54 /* NAME-terminal is a host name: 63 */
#define DERIVED_NAME_SIZE 64 /* every derived name with its NUL */

/* ---- labels ---- */
#define LABEL_NAME "app.kubernetes.io/name"             /* LABEL_NAME_MYSQL */
#define LABEL_INSTANCE "app.kubernetes.io/instance"     /* cluster or terminal name */
#define LABEL_COMPONENT "app.kubernetes.io/component"   /* LABEL_COMPONENT_* */
#define LABEL_MANAGED_BY "app.kubernetes.io/managed-by" /* LABEL_MANAGED_BY_US */
#define LABEL_VERSION "app.kubernetes.io/version"       /* of the operator; on a cluster's children, nothing else */
#define LABEL_CLUSTER "kubemysql.dev/cluster"           /* cluster name: on everything of a cluster; selectors use it */
#define LABEL_TERMINAL "kubemysql.dev/terminal"         /* terminal name */
#define LABEL_SCHEDULED "kubemysql.dev/scheduled"       /* MysqlBackup: "true": made by its cluster's schedule */
#define LABEL_FINAL_BACKUP "kubemysql.dev/final-backup" /* MysqlBackup: "true": the last one of a cluster that goes */
#define LABEL_BACKUP_CLAIM "kubemysql.dev/backup-claim" /* PersistentVolumeClaim made for backups: of which cluster */
#define LABEL_STORE_CLAIM "kubemysql.dev/store-claim"   /* pod in front of a volume: hash of the claim's name */
#define LABEL_DRILL "kubemysql.dev/drill" /* MysqlCluster: made for a restore drill of the cluster of that name */
#define LABEL_ROLE "kubemysql.dev/role"   /* on database pods: LABEL_ROLE_* */

/* Kubernetes' own, on an EndpointSlice: whose addresses it tells, and who writes it. */
#define LABEL_SERVICE_NAME "kubernetes.io/service-name"
#define LABEL_SLICE_MANAGER "endpointslice.kubernetes.io/managed-by"

#define LABEL_APP "kubemysql.dev/app"            /* on everything of an App: its name */
#define LABEL_SYNC "kubemysql.dev/configmapsync" /* ConfigMap: a copy; the namespace of its ConfigMapSync */

#define LABEL_NAME_MYSQL "mysql"
#define LABEL_MANAGED_BY_US "kube-mysql"
#define LABEL_COMPONENT_DATABASE "database"
#define LABEL_COMPONENT_TERMINAL "terminal"
#define LABEL_COMPONENT_BACKUP_STORE "backup-store"
#define LABEL_ROLE_PRIMARY "primary"
#define LABEL_ROLE_REPLICA "replica"

/* Watches of children are narrowed to this. */
#define SELECTOR_MANAGED LABEL_MANAGED_BY "=" LABEL_MANAGED_BY_US

/* ---- annotations ---- */
#define ANNOTATION_PREFIX "kubemysql.dev/"
#define ANNOTATION_APPLIED_HASH "kubemysql.dev/applied-hash" /* children: hash of what we applied */
/* StatefulSet: its members are changed, in turn with other clusters (operator/cluster/state/cluster_turn.h), for this
 * agent image, "MysqlConfig NAME", or "operator". */
#define ANNOTATION_AGENT_TURN "kubemysql.dev/agent-turn"
/* StatefulSet: hash of its pod template. */
#define ANNOTATION_APPLIED_TEMPLATE "kubemysql.dev/applied-template"
/* StatefulSet: pods of its predecessor that are leaving, and whose names it needs
 * (operator/cluster/desired/desired.h). */
#define ANNOTATION_AWAITED_PODS "kubemysql.dev/awaited-pods"
/* On pods: when what they mount was changed last. A kubelet brings new content at once to a pod that has changed
 * itself. */
#define ANNOTATION_MOUNTS_CHANGED "kubemysql.dev/mounts-changed"
#define ANNOTATION_PASSWORD_HASH "kubemysql.dev/accounts-hash" /* Secret NAME-mysql-accounts */
/* MysqlCluster, set by people: the pod of a lost primary, by somebody who has made sure that it serves nobody any
 * more. */
/* Names of folders, separated by commas: what was set aside there (I7) is known to somebody, and no longer named. */
#define ANNOTATION_SET_ASIDE_SEEN "kubemysql.dev/set-aside-seen"
#define SET_ASIDE_SEEN_MAX 1024
#define ANNOTATION_CONFIRMED_LOST "kubemysql.dev/confirmed-lost"
/* MysqlCluster, set by people: one switchover to this member, named by ordinal or pod. */
#define ANNOTATION_SWITCHOVER_TO "kubemysql.dev/switchover-to"

/* MysqlCluster, set by people: the server of this member, named by ordinal or pod, is stopped, and its pod kept. */
#define ANNOTATION_STOP_SERVER "kubemysql.dev/stop-server"

/* MysqlCluster, set by people: "true" locks accounts that were made for spec.username, and which it no longer names
 * (cluster_report_left.h). Taking it away unlocks nothing. */
#define ANNOTATION_LOCK_LEFT_ACCOUNTS "kubemysql.dev/lock-left-accounts"

/* MysqlCluster, set by people: a time, at most ten minutes ahead, until which root may write on a primary that is
 * closed for writes for want of room (root_wish.h). */
#define ANNOTATION_OPEN_FOR_ROOT_UNTIL "kubemysql.dev/open-for-root-until"

/* MysqlCluster, set by people: an existing cluster gets the data of a stored backup (in_place_wish.h). */
#define ANNOTATION_RESTORE_IN_PLACE "kubemysql.dev/restore-in-place"

/* MysqlCluster, set by people: another value than it had when a roll failed tries that roll again. */
#define ANNOTATION_ROLL_AGAIN "kubemysql.dev/roll-again"

/* MysqlCluster, set by people: "true" lets a cluster that is being deleted go without its final backup. */
#define ANNOTATION_SKIP_FINAL_BACKUP "kubemysql.dev/skip-final-backup"

/* MysqlBackup, set by people: "true" gives up on removing the stored data of one that is being deleted. */
#define ANNOTATION_SKIP_DATA_DELETION "kubemysql.dev/skip-data-deletion"

/* ConfigMap: "NAMESPACE/NAME" of the ConfigMapSync whose copy it is. */
#define ANNOTATION_SYNC_OF "kubemysql.dev/configmapsync-of"
/* ConfigMap, set by people: the namespaces that copies of it may go to, "a, b" or "*". */
#define ANNOTATION_SYNC_TO "kubemysql.dev/configmapsync-to"
/* Namespace, set by people: the namespaces that copies may come from, "a, b" or "*". */
#define ANNOTATION_SYNC_FROM "kubemysql.dev/configmapsync-from"

/* ---- finalizers ---- */
#define FINALIZER_SYNC "kubemysql.dev/configmapsync" /* ConfigMapSync: its copies go first */
#define FINALIZER_BACKUP "kubemysql.dev/backup"      /* MysqlBackup that runs, or whose data goes with it */
#define FINALIZER_VOLUMES "kubemysql.dev/volumes"    /* MysqlCluster whose claims go with it, while one has no owner */
#define FINALIZER_FINAL_BACKUP "kubemysql.dev/final-backup" /* MysqlCluster with deletion.finalBackup */
/* Kubernetes' own, set with a deletion: dependents go first; dependents stay. */
#define FINALIZER_FOREGROUND "foregroundDeletion"
#define FINALIZER_ORPHAN "orphan"

/* ---- container and volume names ---- */
#define CONTAINER_MYSQL "mysql"
#define CONTAINER_AGENT "agent"
#define CONTAINER_INJECT "inject"
#define CONTAINER_INIT "init"
#define CONTAINER_CHECK "check"
#define CONTAINER_TERMINAL "terminal"
#define CONTAINER_STORE "store"
#define VOLUME_DATA "data"

struct cluster_names {
    char stateful_set[DERIVED_NAME_SIZE];     /* NAME-mysql; also the headless Service and the PodDisruptionBudget */
    char service[DERIVED_NAME_SIZE];          /* NAME-mysql */
    char service_primary[DERIVED_NAME_SIZE];  /* NAME-mysql-primary; also its EndpointSlice */
    char service_replicas[DERIVED_NAME_SIZE]; /* NAME-mysql-replicas */
    char config_map[DERIVED_NAME_SIZE];       /* NAME-mysql-config */
    char accounts[DERIVED_NAME_SIZE];         /* NAME-mysql-accounts (Secret) */
    char tls[DERIVED_NAME_SIZE];              /* NAME-mysql-tls (Secret) */
    char ca[DERIVED_NAME_SIZE];  /* NAME-mysql-ca (Secret: the CA's key and the operator's own client certificate) */
    char app[DERIVED_NAME_SIZE]; /* NAME-mysql-app (Secret: what applications connect with) */
    char ca_bundle[DERIVED_NAME_SIZE];         /* NAME-mysql-ca-bundle (ConfigMap) */
    char service_account[DERIVED_NAME_SIZE];   /* NAME-mysql */
    char disruption_budget[DERIVED_NAME_SIZE]; /* NAME-mysql */
    char terminal[DERIVED_NAME_SIZE];          /* NAME: the MysqlTerminal of spec.terminal */
};

/* Cuts what does not fit: check the name first. */
void cluster_names_init(struct cluster_names *names, const char *cluster);
/* NAME-mysql-ORDINAL, data-NAME-mysql-ORDINAL */
void cluster_pod_name(char out[static DERIVED_NAME_SIZE], const char *cluster, int ordinal);
void cluster_claim_name(char out[static DERIVED_NAME_SIZE], const char *cluster, int ordinal);
/* "shops/shop" of "shops/shop-mysql", likewise without the namespace. What is no name of a StatefulSet of ours stays as
 * it is. */
void cluster_name_of_set(char *out, size_t size, const char *set);
/* The number at the end of a StatefulSet pod's or claim's name, -1 if there is none. */
int names_ordinal(const char *name);
/* Adds to problems ("metadata.name") if derived names would not be valid. Returns 0 or -1. */
int cluster_name_check(const char *name, struct api_problems *problems);

struct terminal_names {
    char pod[DERIVED_NAME_SIZE];    /* NAME-terminal */
    char secret[DERIVED_NAME_SIZE]; /* NAME-terminal */
};
void terminal_names_init(struct terminal_names *names, const char *terminal);
int terminal_name_check(const char *name, struct api_problems *problems);

/* New label objects. Selector labels never change in a cluster's life (a StatefulSet's selector is immutable). */
json_t *cluster_labels(const char *cluster);          /* for every child */
json_t *cluster_selector_labels(const char *cluster); /* selects the database pods */
json_t *terminal_labels(const char *terminal);
/* A version as the value of a label: cut, and what no label may hold is '-' ("1.2.3+ab" is "1.2.3-ab"). "" if
 * nothing is left. */
void label_value_of_version(char out[static KUBE_LABEL_MAX + 1], const char *version);
/* "kubemysql.dev/cluster=NAME,app.kubernetes.io/component=database": for status.selector. */
void cluster_selector_text(const char *cluster, struct strbuf *out);

#endif
