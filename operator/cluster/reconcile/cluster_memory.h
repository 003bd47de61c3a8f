/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_memory.h: what the controller remembers of each cluster between reconciles. Losing it costs a few reads and
 * writes that change nothing, never correctness.
 *
 * A memory belongs to one UID: a cluster that was deleted and made again under its old name starts with an empty one.
 */
#ifndef KM_CLUSTER_MEMORY_H
#define KM_CLUSTER_MEMORY_H

#include "common/hashmap.h"
#include "common/list.h"
#include "operator/cluster/restore/restore_lookup.h"
#include "operator/cluster/state/cluster_snapshot.h"
#include "operator/cluster/state/roll_before.h"

/* Changes of the primary that this process has seen the end of. */
#define CLUSTER_OUTAGE_BUCKETS 12

struct cluster_outages {
    uint32_t buckets[CLUSTER_OUTAGE_BUCKETS + 1]; /* not cumulative; the last one holds what is beyond all bounds */
    int64_t sum_ms;
};

struct cluster_changes {
    uint32_t failovers[TRANSITION_REASON_COUNT]; /* by reason */
    struct cluster_outages failover_outages, switchover_outages;
};

/* What is shown as metrics, from the last report. */
struct cluster_figures {
    bool known;
    int ready, wanted;
    int64_t certificate_not_after_ms;        /* 0: unknown */
    uint8_t conditions[KUBE_CONDITIONS_MAX]; /* enum kube_condition_status by position in cluster_condition_types */
    int64_t epoch;
    enum cluster_state state;
    char primary[DERIVED_NAME_SIZE]; /* "" none */
    int64_t writes_blocked_ms;       /* of the last switchover; -1: there was none */
    int64_t failover_ended_ms;       /* wall clock, of the last failover; 0: there was none */
    int64_t switchover_ended_ms;
    struct cluster_changes *changes; /* owned; NULL: none in our life */
    struct cluster_member_figures {
        int64_t lag_ms; /* -1: unknown, or no replica */
        bool seeding;
        uint64_t seed_bytes, seed_total_bytes; /* total 0: unknown */
    } members[CLUSTER_REPLICAS_MAX + 1];       /* by ordinal */
    int member_count;
};

/* A member without a pod, and what the API server says of it (pod_question.h). Zero: there is none. */
struct pod_question_memory {
    int64_t since_ms; /* monotonic; it was first seen then */
    int ordinal;
    int64_t asked_ms; /* monotonic, 0: never */
    bool is_asked;    /* the answer is not there yet */
    bool is_answered; /* once at least: what an operator before us was told does not count any more */
    uint64_t serial;  /* of the question that is awaited */
    char *refusal;    /* owned; NULL: nothing is said against it */
    bool stays;       /* that does not end when other pods do */
};

/* The StorageClass that a member's claim waits for (storage_class_question.h). Zero: none does. */
struct storage_class_memory {
    char *name;       /* owned; "": it has none, as there is no default one */
    int64_t since_ms; /* monotonic; a claim was first seen to wait for it then */
    int64_t asked_ms; /* monotonic, 0: never */
    bool is_asked;    /* the answer is not there yet */
    bool is_missing;  /* as the API server said */
};

struct cluster_memory {
    char *key;
    char *uid;
    struct cluster_child_memory children[CHILD_COUNT];
    bool children_known;                           /* at least seeded */
    struct cluster_secrets_facts secrets;          /* client_tls is owned */
    uint64_t applied_accounts[ACCOUNT_KIND_COUNT]; /* see cluster_snapshot.h */
    int64_t secrets_checked_ms;                    /* monotonic, 0: never */
    int64_t secrets_generation;                    /* of the spec they were made for */
    struct cluster_binding_facts binding;
    bool binding_due; /* after a look at the Secrets, until that at what applications connect with */
    struct cluster_figures figures;
    int64_t drain_since_ms, fenced_since_ms, epoch_since_ms; /* wall clock, see cluster_snapshot.h; 0: not so */
    int64_t lost_since_ms;                                   /* likewise */
    int64_t closing_epoch, heard_epoch, seen_epoch;          /* see cluster_snapshot.h */
    int64_t held_since_ms;                                   /* monotonic, 0: nobody is held */
    int64_t held_epoch;                                      /* of that failover */
    int64_t stopped_since_ms[CLUSTER_ACKNOWLEDGERS_MAX];     /* by ordinal; monotonic, 0: it may acknowledge */
    int64_t gtids_lost_since_ms[CLUSTER_REPLICAS_MAX + 1];   /* by ordinal; monotonic, 0: it has not */
    int64_t unheard_since_ms[CLUSTER_REPLICAS_MAX + 1];      /* by ordinal; monotonic, 0: it is heard */
    struct failover_times failover_times;
    struct outage_watch outage;
    char awaited_hash[17]; /* see cluster_snapshot.h */
    uint64_t awaited_lapses;
    char awaited_boot_id[40];
    char *awaited_position;
    int64_t apply_since_ms, apply_epoch; /* see cluster_snapshot.h; of that epoch */
    char *apply_position;
    int64_t archive_since_ms, archive_epoch; /* likewise */
    struct restore_lookup *restore;          /* owned; NULL: nothing is being restored */
    char *final_error;      /* why the last backup's object could not be made; NULL: it could, or nobody tried */
    int64_t final_tried_ms; /* monotonic; then; 0: never */
    int64_t conflict_since_ms, conflict_ms; /* monotonic, of label writes: the first and the last; 0: never */
    int conflicts;                          /* reconciles in a row that ended with one */
    struct template_answer template_answer; /* template_question.h */
    int64_t template_asked_ms;              /* monotonic, 0: never */
    char started[17];                       /* see cluster_snapshot.h */
    bool namespace_ends;                    /* namespace_end.h */
    int64_t namespace_asked_ms;             /* monotonic, 0: never */
    struct pod_question_memory pod_question;
    struct storage_class_memory storage_class;
    char *template_change, *template_from; /* owned; see cluster_snapshot.h */
    struct roll_before *before;            /* owned; what is stored (roll_keeper.h); NULL: nothing, or not known */
    char before_of[17];                    /* status.roll.proven for which it was looked for; "" it was not */
    char *before_error;                    /* owned; why that failed last time; NULL: it did not */
    int64_t before_asked_ms;               /* monotonic, 0: never */
    bool before_asked;                     /* it is under way */
    int64_t route_cleared_ms;              /* monotonic, 0: never; cluster_memory_note_cleared */
    int64_t route_rest_ms;
};

struct cluster_memories {
    struct hashmap by_key;
    struct list_node questions; /* dry runs that have no answer yet (api_question.h) */
    struct list_node looks;     /* of roll_keeper.h, under way */
};

void cluster_memories_init(struct cluster_memories *memories);
void cluster_memories_release(struct cluster_memories *memories);
/* NULL if there is none. */
struct cluster_memory *cluster_memories_find(const struct cluster_memories *memories, const char *key);
/* Made on first use; one of another UID is replaced by an empty one. */
struct cluster_memory *cluster_memories_get(struct cluster_memories *memories, const char *key, const char *uid);
void cluster_memories_forget(struct cluster_memories *memories, const char *key);

/* Takes the facts over (client_tls included). An unchanged client certificate keeps the TLS object that open streams
 * use. */
void cluster_memory_take_secrets(struct cluster_memory *memory, const struct cluster_secrets_facts *facts);

/* What others must have before it is believed that its commits wait for them. Later ones do wait: so the first position
 * under an order stands, until the primary tells of another lapse. NULL: nothing is awaited. */
void cluster_memory_note_awaited(struct cluster_memory *memory, const struct agent_status *primary);

/* A pod was not labelled or deleted, as it had changed since it was read: the kubelet writes the status of one that
 * starts several times a second. The event of that change brings the next try. True once it has been so for
 * CLUSTER_CONFLICT_NEWS_MS. */
#define CLUSTER_CONFLICT_RETRY_MS 1000
#define CLUSTER_CONFLICT_NEWS_MS 10000
bool cluster_memory_note_conflict(struct cluster_memory *memory, int64_t monotonic_ms);

/* What others have put beside the route is deleted (route_clear.h). What is back within twice the rest before the next
 * time is put there by somebody who goes on: the rest is doubled then, so that two controllers do not write in turn. */
#define CLUSTER_ROUTE_REST_MS 1000
#define CLUSTER_ROUTE_REST_MAX_MS 60000
void cluster_memory_note_cleared(struct cluster_memory *memory, int64_t monotonic_ms);
/* In how many milliseconds that may be done again; 0: now. */
int64_t cluster_memory_route_rest_ms(const struct cluster_memory *memory, int64_t monotonic_ms);

/* How a reconcile ended; ERROR_NONE: well. True: people are told. A write of what has changed since it was read is
 * refused, and the next reconcile, which begins at once, reads it anew: so a conflict is told when it has come
 * CLUSTER_CONFLICTS_TOLD times in a row. */
#define CLUSTER_CONFLICTS_TOLD 3
bool cluster_memory_note_end(struct cluster_memory *memory, enum error_kind kind);

/* What a write was answered (namespace_end.h); NULL: it went well. */
void cluster_memory_note_write(struct cluster_memory *memory, const struct error *err);

/* Whether somebody is held in the failover of that epoch (0: there is none). By the monotonic clock: one that jumps
 * would shorten the time that a lost primary is given to close itself. */
void cluster_memory_note_held(struct cluster_memory *memory, int64_t epoch, bool held, int64_t monotonic_ms);
/* For how long; 0: nobody is held. */
int64_t cluster_memory_held_ms(const struct cluster_memory *memory, int64_t epoch, int64_t monotonic_ms);
/* Since when a member has been seen to acknowledge nothing more (acknowledgers_has_stopped), and for how long; 0: it
 * may. */
void cluster_memory_note_stopped(struct cluster_memory *memory, int ordinal, bool stopped, int64_t monotonic_ms);
int64_t cluster_memory_stopped_ms(const struct cluster_memory *memory, int ordinal, int64_t monotonic_ms);
/* Likewise, since when it has had the problem GtidsLost. */
void cluster_memory_note_gtids_lost(struct cluster_memory *memory, int ordinal, bool lost, int64_t monotonic_ms);
int64_t cluster_memory_gtids_lost_ms(const struct cluster_memory *memory, int ordinal, int64_t monotonic_ms);
/* Likewise, since when no stream to its agent has stood. */
void cluster_memory_note_unheard(struct cluster_memory *memory, int ordinal, bool unheard, int64_t monotonic_ms);
int64_t cluster_memory_unheard_ms(const struct cluster_memory *memory, int ordinal, int64_t monotonic_ms);

#endif
