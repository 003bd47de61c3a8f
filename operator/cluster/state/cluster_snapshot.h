/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_snapshot.h: everything a decision about one cluster may look at, at one moment.
 *
 * Filled by cluster_gather from caches and memory, read by the pure functions of this folder. "Now" is part of it. What
 * is parsed from the spec is owned by the snapshot; pointers into caches, agents and TLS are valid until the next turn
 * of the loop. Who waits in between looks again (cluster_gather_again).
 */
#ifndef KM_CLUSTER_SNAPSHOT_H
#define KM_CLUSTER_SNAPSHOT_H

#include "common/base.h"

#include "common/agent_api.h"
#include "operator/api/cluster_status.h"
#include "operator/api/in_place_wish.h"
#include "operator/api/mysql_backup.h"
#include "operator/api/mysql_cluster.h"
#include "operator/api/mysql_config.h"
#include "operator/api/names.h"
#include "operator/api/projections.h"
#include "operator/cluster/state/binding_facts.h"
#include "operator/cluster/state/secrets_facts.h"
#include "operator/instance/mycnf_sender.h"
#include "operator/plan/plan.h"

/* Of texts that become conditions: longer than those, so that where they are cut is decided in one place. */
#define CHECK_ROLE_SIZE 32 /* of a check pod's label kubemysql.dev/role */
#define CLUSTER_MESSAGE_MAX ((size_t)(2 * KUBE_CONDITION_MESSAGE_MAX))

/* The objects that we apply for every cluster, in the order of creation. Secrets are made by cluster_secrets. */
enum cluster_child {
    CHILD_SERVICE_ACCOUNT,
    CHILD_CONFIG_MAP,
    CHILD_SERVICE,         /* headless, publishes not-ready addresses */
    CHILD_SERVICE_PRIMARY, /* without a selector */
    CHILD_SERVICE_REPLICAS,
    CHILD_ENDPOINT_SLICE, /* of the primary Service: ours to write */
    CHILD_DISRUPTION_BUDGET,
    CHILD_STATEFUL_SET,
    CHILD_COUNT,
};

/* There are as many as a selector makes; more are deleted when these are gone. */
#define CLUSTER_FOREIGN_SLICES_MAX 8

/* What we wrote last and how the object looked right after: the proof that nobody has changed it since. Zero:
 * unknown. */
struct cluster_child_memory {
    uint64_t desired; /* hash of the manifest that we applied */
    uint64_t digest;  /* kube_object.digest of the answer */
};

struct cluster_member {
    char name[DERIVED_NAME_SIZE];
    int ordinal;
    const struct pod_object *pod;     /* NULL: there is none, or another one of this name lives still (departed) */
    const struct pvc_object *claim;   /* NULL: there is none */
    const struct agent_status *agent; /* the last word, NULL: never heard */
    bool agent_connected;             /* that word is from a standing stream */
    int64_t silent_ms; /* since its last word, or since we began to listen; INT64_MAX: there is no agent to listen to */
    /* there should be an agent, and nobody has tried to speak with it yet: a restart of ours, a new pod */
    bool agent_awaited;
    /* Its pod was deleted by force, and `agent` is the word of that pod's agent: kubelet gives it about a second. While
     * that speaks, the pod that takes its place is left out; later that one's word is awaited, and silent_ms is
     * INT64_MAX. */
    bool departed;
    int64_t stopped_ms;               /* for how long it has been seen to acknowledge nothing more; 0: it may */
    int64_t gtids_lost_ms;            /* for how long it has been seen to have the problem GtidsLost; 0: it has not */
    int64_t unheard_ms;               /* for how long no stream to it stood, as far as we saw; 0: one does */
    const char *agent_error;          /* why not connected; never NULL */
    char order_error[160];            /* why it could not be given its order last time; "" it was, or nobody tried */
    enum mycnf_verdict mycnf_verdict; /* on the wanted my.cnf */
    const char *mycnf_text;           /* see mycnf_sender_verdict; never NULL */
    enum mycnf_verdict mycnf_preview; /* on whether it could take that up while it runs, before it is told to */
    const char *refused; /* what the API server says against its missing pod (pod_refusal.h); NULL or "": nothing */
    bool refusal_stays;  /* that does not end when other pods do */
    bool class_missing;  /* the StorageClass that its claim waits for does not exist (storage_class.h) */
};

/* How many members the cluster has (cluster_scale.h). */
struct cluster_scale {
    int wanted; /* members, from 0 to CLUSTER_REPLICAS_MAX; 0: hibernated */
    /* Those that it is led with now. Less than wanted: it grows once all members have the new template. */
    int effective;
};

/* What the API server said of a pod of the members' template. */
enum template_verdict {
    TEMPLATE_UNKNOWN, /* not asked, or it could not answer */
    TEMPLATE_TAKEN,
    TEMPLATE_OVER_QUOTA, /* only beside the pods that are there */
    TEMPLATE_REFUSED,
};
struct template_answer {
    enum template_verdict verdict;
    char hash[17]; /* of the template (desired_template_hash) */
    char message[KUBE_CONDITION_MESSAGE_MAX];
};

/* Of the failover that goes on, as far as we saw it ourselves; wall clock, 0: not yet, or not by us. */
struct failover_times {
    int64_t written_ms;   /* the status tells of it */
    int64_t chosen_ms;    /* `to` was known: enough were held */
    int64_t published_ms; /* the Service names it */
};

/* Whether the primary was open when this operator began to lead (roles/outage.h). */
enum outage_state {
    OUTAGE_NOT_KNOWN, /* it has not said yet */
    OUTAGE_GOES_ON,
    OUTAGE_NONE, /* it was open, or is not to be; or the outage has ended, or become a failover's */
};
struct outage_watch {
    enum outage_state state;
    int64_t noticed_ms;             /* wall clock */
    struct agent_moment last_write; /* before that, by anybody's word (write_gap_times.h); at_ms 0: not known */
};

/* Of the cluster's deletion and its last backup (final_backup.h). */
struct final_backup_facts {
    bool deleting, has_finalizer, skip, wanted;
    bool holds_volumes;      /* FINALIZER_VOLUMES is on it (volume_hold.h) */
    bool foreground, orphan; /* Kubernetes was told to delete dependents first, or not at all */
    char problem[512];       /* why spec.backup cannot be followed; "" it can */
    bool onto_volume;        /* its destination */
    const char *make_error;  /* why the MysqlBackup could not be made; never NULL */
    /* The MysqlBackup that the status names. */
    bool is_there, is_ours;
    enum backup_phase phase;
    char donor[DERIVED_NAME_SIZE], cluster_uid[64], message[256];
    int64_t start_ms; /* of its last attempt, in whole seconds */
};

/* The cluster whose archived binary logs a new one is being made of, if it archives under another name now
 * (cluster_history_name). */
struct archive_origin {
    char cluster[2 * DERIVED_NAME_SIZE]; /* "namespace/name"; "": it does not, or is not known */
    char history[64];
    bool is_anew; /* another object of that name; else it was restored in place */
};

struct roll_before; /* roll_before.h */

/* cluster_turn.h */
enum cluster_turn_cause {
    CLUSTER_TURN_NONE,
    CLUSTER_TURN_AGENT,    /* the operator's agent image */
    CLUSTER_TURN_CONFIG,   /* the MysqlConfig that the cluster names */
    CLUSTER_TURN_OPERATOR, /* it names none: what this operator makes of the same spec */
};
struct cluster_turn {
    enum cluster_turn_cause cause;         /* what is asked for a turn for */
    char waits_for[2 * DERIVED_NAME_SIZE]; /* "namespace/name" of a cluster that is on its turn; "" nobody */
    bool marked;                           /* the StatefulSet is to bear the mark */
};

/* Of the pod template that the specs ask for (desired_note_template_hash). */
struct spec_template {
    char hash[17]; /* "" not worked out yet */
    bool has_init_port;
};

struct cluster_snapshot {
    char *ns, *name, *uid;          /* of the MysqlCluster */
    char *version, *config_version; /* resourceVersions that were parsed; config_version "" without a MysqlConfig */
    int64_t generation;
    int64_t now_ms;         /* wall clock */
    int64_t drain_since_ms; /* since when a wish to move the primary waits for long transactions, 0: it does not */
    /* Since when a wish to move the primary waits for what the target applies, 0: it does not; and what the primary had
     * executed then, NULL: not noted. */
    int64_t apply_since_ms;
    const char *apply_position;
    int64_t archive_since_ms; /* since when it waits for what the primary has to archive, 0: it does not */
    int64_t fenced_since_ms;  /* since when the old primary of a switchover takes no writes, 0: it does */
    int64_t lost_since_ms;    /* since when the primary is not open for writes, 0: it is, or is hibernated */
    /* failover: for how long somebody has not received from the lost one, as far as we saw; 0: nobody */
    int64_t held_ms;
    struct failover_times failover_times;
    struct outage_watch outage;
    /* What the primary had committed when it was first seen to go by the order of that hash, after so many lapses,
     * while its word on acknowledgements is not believed yet. */
    const char *awaited_hash, *awaited_position; /* NULL: not noted */
    uint64_t awaited_lapses;
    const char *awaited_boot_id; /* of the agent process that counted them */
    int64_t epoch_since_ms;      /* when the epoch was raised for the same primary, 0: not in our life */
    /* The epoch under which this operator closes the primary because all members are to be stopped, and has told nobody
     * to open; 0: none. */
    int64_t closing_epoch;
    /* The largest epoch that any member has been heard to know, in our life: who said it may be silent now. */
    int64_t heard_epoch;
    /* The largest epoch that the status of this cluster has had, in our life: one with less is of the past. */
    int64_t seen_epoch;

    /* Parsed spec; storage is the one in force if a change was refused. With how many members the cluster is
     * led, scale says. */
    struct mysql_cluster cluster;
    struct cluster_scale scale;
    struct mysql_config_spec config;
    struct cluster_names names;
    char *mycnf; /* rendered; NULL unless accepted */
    char mycnf_hash[65];
    const char *default_agent_image;
    struct spec_template spec_template;
    struct cluster_turn turn;
    /* After a roll that failed (roll_target.h) members are made of what they ran before, and mycnf is that one's; the
     * spec's waits in wanted_mycnf meanwhile. */
    const struct roll_before *before;      /* NULL: members are made of the spec */
    const struct roll_before *before_kept; /* what is stored for that; NULL: nothing, or not known */
    bool before_known;                     /* it has been looked for */
    bool before_held;   /* members are to be made of it, and it is not read yet: their template is left as it is */
    char *wanted_mycnf; /* NULL unless `before` is set */
    char wanted_mycnf_hash[65];
    char roll_wanted[17];               /* roll_hash of what the spec asks for; "" unless usable */
    const char *before_error;           /* why it could not be stored or read last time; "" or NULL: it could */
    char *roll_again;                   /* annotation ANNOTATION_ROLL_AGAIN, "" if none */
    const char *operator_version;       /* NULL: its label is left out */
    bool ipv6;                          /* the cluster network's first family: an EndpointSlice cannot change its own */
    char *switchover_to;                /* annotation ANNOTATION_SWITCHOVER_TO, "" if none */
    char *set_aside_seen;               /* annotation ANNOTATION_SET_ASIDE_SEEN, "" if none */
    char *confirmed_lost;               /* annotation ANNOTATION_CONFIRMED_LOST, "" if none */
    char *stop_server;                  /* annotation ANNOTATION_STOP_SERVER, "" if none */
    bool lock_left;                     /* annotation ANNOTATION_LOCK_LEFT_ACCOUNTS */
    char *open_for_root_until;          /* annotation ANNOTATION_OPEN_FOR_ROOT_UNTIL, "" if none */
    struct in_place_wish in_place_wish; /* annotation ANNOTATION_RESTORE_IN_PLACE */

    /* Acceptance: reason "" means accepted. When not `usable`, nothing may be applied from the spec; what roles are
     * decided by (replicas, replication, failover) is that of the last one that was, and the cluster is led on with
     * it. */
    bool usable;
    char reason[KUBE_CONDITION_REASON_MAX];
    char message[CLUSTER_MESSAGE_MAX];

    const struct kube_object *children[CHILD_COUNT]; /* live, or NULL */
    /* Live ones of that name that nobody owns, as a cluster leaves them that was deleted with --cascade=orphan; or
     * NULL. */
    const struct kube_object *orphans[CHILD_COUNT];
    const struct stateful_set_object *stateful_set; /* the same as children[CHILD_STATEFUL_SET] */
    struct cluster_child_memory memory[CHILD_COUNT];
    /* EndpointSlices of the primary Service that are not ours (route_clear.h). */
    const struct endpoint_slice_object *foreign_slices[CLUSTER_FOREIGN_SLICES_MAX];
    int foreign_slice_count;
    int64_t route_rest_ms; /* they are left until then, as some have just been deleted; 0: they are not */
    struct cluster_member members[CLUSTER_REPLICAS_MAX + 1];
    int member_count;                   /* ordinals 0..count-1: wanted ones, those that still exist, the primary */
    const struct pod_object *check_pod; /* tries a new image, my.cnf or template before members are touched */
    struct template_answer template_answer;
    char started[17]; /* desired_runtime_hash of what a check pod last started a server with; "" not known */
    const struct pod_object
        *restore_store; /* serves a volume of backups while the cluster is restored from it; NULL: there is none */
    const struct custom_object *terminal; /* the MysqlTerminal of the cluster's own name, whoever owns it */
    struct cluster_secrets_facts secrets;
    /* Digests (secrets_facts.h) of the passwords that the server had when it had all; 0: not seen. */
    uint64_t applied_accounts[ACCOUNT_KIND_COUNT];
    struct cluster_binding_facts binding;
    bool namespace_ends;        /* it is being deleted: nothing is created in it any more (namespace_end.h) */
    bool secrets_failed;        /* they were never made or completed so far, and just could not be */
    struct cluster_status last; /* as last written */
    /* What the last change of the template was, as far as we made it (template_change.h), and of which revision. */
    const char *template_change, *template_from; /* NULL: not in our life */
    struct final_backup_facts final;
    const struct restore_answer *restore_answer; /* cluster_restore.h; NULL: none */
    struct archive_origin restore_source;
    const char *
        restore_task_error; /* why the first primary could not be told yet how to restore; "" or NULL: it was, or nobody tried */
};

/* To be put into a status, a transition or a reign that comes of this snapshot: as long as that one's pool lives. */
const char *cluster_take_position(const struct cluster_snapshot *snapshot, const char *position);

/* Releases what the snapshot owns: texts, wish, cluster, config, mycnf, last. Fine on a zeroed one. */
void cluster_snapshot_release(struct cluster_snapshot *snapshot);

/* There are orphans, and a StatefulSet among them: they are taken over (cluster_decide.h). */
bool cluster_takes_over(const struct cluster_snapshot *snapshot);
/* The object's controller is this cluster. */
bool cluster_owns(const struct cluster_snapshot *snapshot, const struct kube_object *object);
/* The member's server may take part: its pod is ready and not on its way out. */
bool cluster_member_is_ready(const struct cluster_member *member);
int cluster_snapshot_ready_count(const struct cluster_snapshot *snapshot);
bool cluster_snapshot_has_agents(const struct cluster_snapshot *snapshot);
/* A member is on a node, but not past its init containers: a missing Secret may be what it waits for. */
bool cluster_snapshot_has_mounting_pod(const struct cluster_snapshot *snapshot);
/* When the first certificate ends, by what was issued and by what the agents serve; 0: unknown. */
int64_t cluster_snapshot_certificate_end_ms(const struct cluster_snapshot *snapshot);
/* The pod has an address at which an agent answers, or soon will: `init` has one, too, and a pod that is leaving until
 * its end. */
bool cluster_member_has_agent(const struct cluster_member *member);

#endif
