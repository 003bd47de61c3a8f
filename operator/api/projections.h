/* SPDX-License-Identifier: Apache-2.0 */
/*
 * projections.h: what the caches keep of each kind that we watch (see kube_object.h for the rule).
 *
 * Every struct begins with struct kube_object and is one block: strings point into it, never NULL ("" if absent) unless
 * said so, and live as long as the object. Our own kinds keep spec and status as compressed JSON text, parsed for the
 * length of a reconcile.
 */
#ifndef KM_PROJECTIONS_H
#define KM_PROJECTIONS_H

#include "common/base.h"

#include <jansson.h>

#include "operator/api/mysql_backup.h"
#include "operator/kube/kube_object.h"

/* Messages of containers and conditions are cut to this many bytes. */
#define PROJECTION_MESSAGE_MAX 256

/* MysqlCluster, MysqlTerminal and MysqlBackup (namespaced), MysqlConfig (no status). */
struct custom_object {
    struct kube_object object;
    const char *packed; /* the JSON texts of spec and status, one behind the other (packed_text.h) */
    size_t packed_len;
    uint32_t spec_len, status_len; /* unpacked; 0 if absent */
    uint64_t config_digest;        /* MysqlCluster: of status.configSpec, status.port and status.accounts */
    bool archives;                 /* MysqlCluster: spec.backup.binlogs.enabled, or status.backup.archive is there */
    bool drills;                   /* MysqlCluster: spec.backup.drill or status.backup.drill is there */
    uint64_t archive_digest;       /* MysqlCluster: of the words of status.backup.archive, .drill and .problem */
    const char *uid;               /* as text, for owner references */
    const char *name;
    const char *ns;                 /* "" for cluster scope */
    const char *deletion_timestamp; /* "" unless deleting */
    bool has_volumes_finalizer;     /* FINALIZER_VOLUMES */
    bool has_final_finalizer;       /* FINALIZER_FINAL_BACKUP */
    bool is_foreground, is_orphan;  /* FINALIZER_FOREGROUND, FINALIZER_ORPHAN */
    bool has_other_finalizers;
    const char *config_name; /* MysqlCluster: spec.config.name, "" if none: which clusters to wake for a MysqlConfig */
    const char *cluster_name, *cluster_namespace; /* MysqlTerminal: spec.cluster, "" if none; MysqlBackup: its name */
    const char *stalled;             /* MysqlTerminal: the message of condition Stalled, where that is True; else "" */
    const char *password_secret;     /* MysqlCluster: spec.passwordSecret.name */
    const char *switchover_to;       /* MysqlCluster: annotation ANNOTATION_SWITCHOVER_TO, "" if none */
    const char *set_aside_seen;      /* likewise ANNOTATION_SET_ASIDE_SEEN, cut at SET_ASIDE_SEEN_MAX */
    const char *confirmed_lost;      /* likewise ANNOTATION_CONFIRMED_LOST */
    const char *open_for_root_until; /* likewise ANNOTATION_OPEN_FOR_ROOT_UNTIL */
    const char *lock_left;           /* likewise ANNOTATION_LOCK_LEFT_ACCOUNTS */
    const char *stop_server;         /* likewise ANNOTATION_STOP_SERVER */
    const char *roll_again;          /* likewise ANNOTATION_ROLL_AGAIN */
    const char *restore_in_place;    /* likewise ANNOTATION_RESTORE_IN_PLACE */
    const char *skip_final_backup;   /* likewise ANNOTATION_SKIP_FINAL_BACKUP */
    bool is_managed;                 /* MysqlTerminal: label LABEL_MANAGED_BY is ours */
    const char *drill_of;            /* MysqlCluster: label LABEL_DRILL, "" if none */
    enum backup_phase backup_phase;  /* MysqlBackup: status.phase */
    uint64_t refusal_digest; /* MysqlBackup: of the message of condition Accepted, if its reason is PodRefused */
    const char *donor;       /* MysqlBackup: status.donor */
    const char *claim;       /* MysqlBackup: claimName of the destination, the used one if it is known; "" if none */
    const char *skip_data_deletion; /* MysqlBackup: annotation ANNOTATION_SKIP_DATA_DELETION */
    const char *creation_timestamp;
    const char *scheduled;     /* MysqlBackup: label LABEL_SCHEDULED, "" if none */
    const char *final;         /* MysqlBackup: label LABEL_FINAL_BACKUP, "" if none */
    bool has_backup_finalizer; /* FINALIZER_BACKUP */
};
/* New trees (caller drops them), NULL if absent or malformed. */
json_t *custom_object_spec(const struct custom_object *object);
json_t *custom_object_status(const struct custom_object *object);
/* A cluster that nothing is to be done for any more: it is being deleted, and waits neither for a final backup nor for
 * the owners of its claims. */
bool custom_object_is_going(const struct custom_object *object);

enum pod_phase { POD_PHASE_UNKNOWN, POD_PHASE_PENDING, POD_PHASE_RUNNING, POD_PHASE_SUCCEEDED, POD_PHASE_FAILED };

struct pod_object {
    struct kube_object object;
    const char *name, *ns, *uid;
    int ordinal; /* -1 if the name has none */
    enum pod_phase phase;
    bool scheduled;
    bool initialized;        /* all init containers are done */
    bool ready;              /* condition Ready */
    bool mysql_running;      /* container mysql's state is running */
    bool init_declares_port; /* container "init" declares a port */
    const char *pod_ip;
    const char *node_name;
    const char *revision;       /* label controller-revision-hash */
    const char *role;           /* label kubemysql.dev/role */
    const char *cluster;        /* label kubemysql.dev/cluster */
    const char *terminal;       /* label kubemysql.dev/terminal */
    const char *app;            /* label kubemysql.dev/app */
    const char *mounts_changed; /* annotation; "" none */
    int restart_count;          /* sum of all containers */
    int most_ends;              /* how often that container has ended which ended most often */
    int64_t created_ms;         /* wall clock, in whole seconds; 0: unknown */
    /* Why it does not run, for people: not schedulable, image cannot be pulled, container's last words. "" if nothing
     * is known. */
    const char *check_words; /* of container "check" that ended well: what it has to say all the same */
    const char *problem_container;
    const char *problem_reason; /* Unschedulable, ImagePullBackOff, CrashLoopBackOff, Error, OOMKilled, ... */
    const char *problem_message;
    int problem_exit; /* exit code of that container's last end; 0: it has not ended, or none is told */
};

struct pvc_object {
    struct kube_object object;
    const char *name, *ns, *uid;
    int ordinal;
    const char *cluster;       /* label */
    bool is_bound;             /* phase Bound; else Pending, Lost, or not known yet */
    const char *storage_class; /* "" if none */
    const char *volume_name;
    int64_t requested_bytes, capacity_bytes; /* 0: unknown */
    bool resizing;                           /* condition Resizing */
    bool file_system_resize_pending;
    const char *message; /* of those conditions */
};

/* spec.resources.requests.storage of the claim, or its capacity where that is not known; 0: neither is. A capacity
 * beyond the request does not count: a provisioner has rounded it up, or the volume was made beforehand. */
int64_t pvc_asked_bytes(const struct pvc_object *claim);

struct stateful_set_object {
    struct kube_object object;
    const char *uid;
    int replicas; /* spec */
    int status_replicas, ready_replicas;
    int64_t observed_generation;
    const char *current_revision, *update_revision;
    int64_t claim_bytes;          /* requests.storage of the claim template "data"; 0: none */
    bool init_declares_port;      /* container "init" of the template declares a port */
    const char *applied_hash;     /* annotation ANNOTATION_APPLIED_HASH */
    const char *agent_image;      /* of container "inject" of the template; "" there is none */
    const char *turn;             /* annotation ANNOTATION_AGENT_TURN */
    const char *applied_template; /* annotation ANNOTATION_APPLIED_TEMPLATE; "" of one that an earlier version wrote */
};

struct service_object {
    struct kube_object object;
    bool has_selector;
};

struct endpoint_slice_object {
    struct kube_object object;
    const char *name, *ns;
    const char *service; /* label kubernetes.io/service-name */
    const char *cluster; /* label kubemysql.dev/cluster */
};

extern const struct kube_projection projection_mysql_cluster, projection_mysql_config, projection_mysql_terminal,
    projection_mysql_backup, projection_pod, projection_pvc, projection_stateful_set, projection_service,
    projection_endpoint_slice;

#endif
