/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_role_status.h: what MysqlCluster.status says of roles: who is primary and under which epoch, how commits are
 * acknowledged, and what is being changed of that. Decided as one value (cluster_roles.h), and written before any agent
 * is told (I2), so that whoever comes next goes on with it.
 *
 * Its members stand beside the others in the status. A zeroed struct is valid: a cluster that nobody leads yet. It owns
 * nothing and is copied by assignment: positions belong to the pool of the status (position.h). Times are wall clock in
 * milliseconds.
 */
#ifndef KM_CLUSTER_ROLE_STATUS_H
#define KM_CLUSTER_ROLE_STATUS_H

#include "common/base.h"

#include <jansson.h>

#include "common/position.h"
#include "operator/api/final_backup_status.h"
#include "operator/api/mysql_cluster.h"
#include "operator/api/names.h"
#include "operator/api/transition_reason.h"
#include "operator/api/write_gap.h"

#define CLUSTER_ACKNOWLEDGERS_MAX 64 /* ordinals below this have a bit */

/* A primary that is being changed. Written before any agent is told (I2), so that whoever comes next goes on with
 * it. */
struct cluster_transition {
    char from[DERIVED_NAME_SIZE]; /* pod; "" when there was no primary */
    char to[DERIVED_NAME_SIZE];   /* pod; "" while it is not chosen. Both empty: nothing is being changed */
    enum transition_reason reason;
    const char *position; /* what `to` must have executed before it is opened; "" not known yet */
    int64_t started_ms;   /* wall clock */
    int64_t epoch;        /* of the order that opens `to` */
    bool failover;        /* `from` was lost; else a planned switchover */
    bool salvage;         /* failover: `to` takes over what the binary logs of `from` hold before it is opened */
    /* Failover out of another change: who was to be primary before `from`, latest first: "a-mysql-1,a-mysql-0". */
    char before[256];
    int64_t silent_ms; /* failover: from the last sign of life until the loss was certain */
    /* Failover: the last write that anybody told of (write_gap_times.h), by our wall clock, and how
     * much later it may have been; 0: not known. */
    int64_t last_write_ms, last_write_span_ms;
    /* Of the failover that this one came out of, where a client committed on `from` before that was lost: when it was
     * open, and for how long writes had waited. For the history; not in the status. */
    int64_t unseen_finished_ms, unseen_blocked_ms;
    /* Failover only, for people: */
    char evidence[256];      /* what was seen of the loss */
    char waits_for[256];     /* whom the choice of `to` waits for, and what would let it go on; "" nobody */
    char candidate_why[256]; /* why `to` and no other */
    char may_be_lost[256];   /* see cluster_failover: here, so that whoever finishes this tells it */
};

#define CLUSTER_REIGNS_MAX 4
#define CLUSTER_ORIGIN_SIZE 40

/* The time in which one member is primary, or is to become it. Written before that member is ordered to open, so
 * whoever may have acknowledged a commit is listed. */
struct cluster_reign {
    int64_t epoch;                   /* it began with */
    char primary[DERIVED_NAME_SIZE]; /* pod; "" not known */
    /* Who wrote its transactions: server UUID (MySQL), server id (MariaDB); "" not known. */
    char origin[CLUSTER_ORIGIN_SIZE];
    const char *floor; /* transactions that may have been acknowledged before it began; "" none, or not known */
    /* Those are not all of them: while its primary was to open, the one before it still took writes. */
    bool floor_is_partial;
    bool opened; /* its primary was seen open for writes under it */
    bool closed; /* its primary was closed for good: all that it wrote is in the floor (hibernation.h) */
    /* MariaDB, while `origin` is not known: server ids of others (reigns.c). Not in the status. */
    uint32_t others[CLUSTER_REPLICAS_MAX + 1];
    int other_count;
};

/* Latest first. An earlier one is listed until as many members as a commit waits for hold a transaction of a later one:
 * only then can nobody lead who lacks what the earlier one acknowledged. */
struct cluster_reigns {
    int count;
    struct cluster_reign list[CLUSTER_REIGNS_MAX];
};

/* The last planned switchover that ended. */
struct cluster_switchover {
    char from[DERIVED_NAME_SIZE], to[DERIVED_NAME_SIZE]; /* both empty: there was none */
    enum transition_reason reason;
    int64_t started_ms, finished_ms; /* wall clock */
    int64_t writes_blocked_ms;       /* how long no commit of a client was done; -1: not known */
    int64_t epoch;                   /* under which `to` was opened; 0: not known */
    struct write_gap gap;
};

/* The last failover that ended. */
struct cluster_failover {
    char from[DERIVED_NAME_SIZE], to[DERIVED_NAME_SIZE]; /* both empty: there was none */
    enum transition_reason reason;
    char evidence[256];      /* what was seen of the loss */
    char candidate_why[256]; /* why `to` and no other */
    int64_t epoch;
    int64_t started_ms, finished_ms; /* wall clock */
    /* Milliseconds from the last write that anybody told of, or from the last sign of life if nobody did, until: the
     * loss was certain, it was written to the status, the old primary could no longer commit, `to` was open for
     * writes, the Service named it. -1: unknown */
    int64_t detected_ms, decided_ms, fenced_ms, drained_ms, published_ms;
    int64_t writes_blocked_ms; /* how long no commit of a client was done; -1: not known */
    struct write_gap gap;
    const char *position;  /* what `to` had when it was opened: later primaries have it as well */
    char may_be_lost[256]; /* dataLoss: allow: what may be lost, in words; "" nothing */
    char salvaged[256];    /* transactions that were taken over from the lost one's binary logs; "" none */
};

/* The last outage that ended with the same primary, and of which the operator that ended it had not seen the beginning
 * (roles/outage.h). */
struct cluster_outage {
    char primary[DERIVED_NAME_SIZE]; /* pod; "" there was none */
    int64_t epoch;                   /* under which it was opened */
    int64_t started_ms;              /* wall clock: when an operator noticed that it was closed */
    int64_t finished_ms;             /* wall clock: when it was open */
    int64_t writes_blocked_ms;       /* for how long no commit of a client was done; -1: not known */
    struct write_gap gap;
};

/* What an open primary has shown to be so, of what it was told (cluster_confirmed.h): elections rely on nothing
 * else. */
struct cluster_confirmed {
    bool semi_sync; /* commits wait for acknowledgements, and those before are held by as many */
    int acks;       /* for how many; 0 without semi_sync */
    int64_t lapses; /* agent_api.h, semi_sync_lapses: those of the primary that are from before; 0 without semi_sync */
    char lapses_boot_id[40]; /* of the agent process that has counted them (agent_api.h, boot_id); "" without any */
    int self_fence_ms;       /* after how long it closes itself; 0: it does not */
    int self_fence_members;  /* when it hears fewer others than that */
};

struct cluster_role_status {
    int64_t epoch; /* the largest one that an order was given under (I2) */
    /* The largest one that was heard of, where that is later than `epoch`: this status is of the past, and nobody is
     * opened by it. Whoever knew it may be silent when another operator leads. 0: none is later. */
    int64_t heard_epoch;
    char current_primary[DERIVED_NAME_SIZE]; /* pod; "" none is chosen yet */
    bool initialized;                        /* a primary of this cluster has been open for writes at some time */
    /* Since when a wish to move the primary waits for a session that holds a lock on all its tables; 0: it does not. */
    int64_t lock_awaited_ms;
    struct cluster_transition transition;
    struct cluster_reigns reigns; /* none: written by a version that had no reigns (reigns.h reads what is known) */
    struct cluster_switchover last_switchover;
    struct cluster_failover last_failover;
    struct cluster_outage last_outage;
    /* Bit N: member N was told to acknowledge commits of the current primary. Only these may hold the only copy of a
     * commit beside it. */
    uint64_t acknowledgers;
    /* failover.dataLoss was allow while the primary was heard: it closes itself when it is cut off. */
    bool loss_allowed;
    bool semi_sync; /* commits wait for acknowledgements; from when enough replicas had joined */
    /* For how many (or will, once armed), as agents are told; 0: async. Changes with the epoch, as semi_sync does. */
    int acks;
    struct cluster_confirmed confirmed;
    struct cluster_final_backup final_backup;
    char switchover_done[KUBE_NAME_MAX + 1]; /* value of ANNOTATION_SWITCHOVER_TO that was carried out */
};

/* Puts its members into the object of a status. What is empty is left out. */
void cluster_role_status_encode(const struct cluster_role_status *roles, json_t *status);
/* Absent or malformed members get zero values. *ret is overwritten. Its positions are taken into the pool. */
void cluster_role_status_decode(const json_t *status, struct position_pool *positions, struct cluster_role_status *ret);
/* Of the durations of the last switchover, failover and outage only those are compared that are completed later
 * (write_gap.h). */
bool cluster_role_status_same(const struct cluster_role_status *a, const struct cluster_role_status *b);

/* Whether a transition is going on. */
bool cluster_transition_is_set(const struct cluster_transition *transition);
/* The nth (from 0) of those who were to be primary before `from`, latest first. "" there is none. */
void cluster_transition_before(const struct cluster_transition *transition, int n, char out[static DERIVED_NAME_SIZE]);
/* Who was open before all of it, as far as it tells: the last of those, or `from`. */
void cluster_transition_origin(const struct cluster_transition *transition, char out[static DERIVED_NAME_SIZE]);
bool cluster_transition_same(const struct cluster_transition *a, const struct cluster_transition *b);
bool cluster_reigns_same(const struct cluster_reigns *a, const struct cluster_reigns *b);
bool cluster_confirmed_same(const struct cluster_confirmed *a, const struct cluster_confirmed *b);

#endif
