/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_history.h: the last changes of a cluster's primary, MysqlCluster.status.history. Pure.
 *
 * For people: nothing is decided by it. An entry is added in the write that ends the change, so it is there once and
 * outlives the operator. Latest first. Owns nothing, and is copied by assignment.
 */
#ifndef KM_CLUSTER_HISTORY_H
#define KM_CLUSTER_HISTORY_H

#include "common/base.h"

#include <jansson.h>

#include "operator/api/cluster_role_status.h"

#define CLUSTER_HISTORY_MAX 10

enum cluster_change_kind {
    CLUSTER_CHANGE_UNKNOWN,  /* of a version that knows more */
    CLUSTER_CHANGE_ELECTION, /* the first primary, or one chosen where nobody was open */
    CLUSTER_CHANGE_SWITCHOVER,
    CLUSTER_CHANGE_FAILOVER,
    CLUSTER_CHANGE_OUTAGE, /* none: the same primary was opened again after it had taken no writes (roles/outage.h) */
    CLUSTER_CHANGE_COUNT
};

struct cluster_change {
    enum cluster_change_kind kind;
    char from[DERIVED_NAME_SIZE]; /* pod; "" there was none */
    char to[DERIVED_NAME_SIZE];   /* pod; the same as `from`: that one was opened again, which the JSON says in words */
    enum transition_reason reason;
    char evidence[160];        /* failover: what was seen of the loss, cut */
    int64_t epoch;             /* under which `to` was opened; 0: not known */
    int64_t started_ms;        /* wall clock; 0: not known */
    int64_t finished_ms;       /* wall clock; 0: nobody has seen it end */
    int64_t writes_blocked_ms; /* as of the change (cluster_role_status.h); -1: not known */
    bool may_have_lost;        /* failover.dataLoss: allow */
};

struct cluster_history {
    int count;
    struct cluster_change list[CLUSTER_HISTORY_MAX];
};

/* What ended between the two, if anything: it is added to *history, and the oldest makes room. Also a failover that
 * nobody has seen the end of: by the status lines of members its new primary had been open when it was lost. For how
 * long it held writes up is told with it if a client had committed there, else with the one that comes out of it. What
 * is told of the others may be completed later (write_gap.h). */
void cluster_history_note(struct cluster_history *history, const struct cluster_role_status *before,
    const struct cluster_role_status *now, int64_t now_ms);

/* NULL: there is nothing. */
json_t *cluster_history_encode(const struct cluster_history *history);
/* Without an array, as of an earlier version: the last switchover and failover of `roles`. */
void cluster_history_decode(const json_t *array, const struct cluster_role_status *roles, struct cluster_history *ret);

#endif
