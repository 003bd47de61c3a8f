/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_round.h: one reconcile of a MysqlCluster under way. Private to the controller; its other files are of no use elsewhere.
 *
 *   cluster_round.c          begins, plans, executes, ends: the order of things
 *   cluster_round_agents.c   what agents are told
 *   cluster_round_secrets.c  Secrets, if they are due
 *   cluster_round_report.c   writes of the status: intents about roles, the report; the last backup of one that goes
 *
 * A round is made by cluster_round_start and ends with one call of cluster_round_finish or cluster_round_abandon, which free it. Each step hands the
 * round on: after a call that may wait (plan, write_intent, ensure_secrets, report) the caller does not touch it any more.
 */
#ifndef KM_CLUSTER_ROUND_H
#define KM_CLUSTER_ROUND_H

#include "operator/cluster/cluster_controller.h"
#include "operator/cluster/cluster_decide.h"
#include "operator/cluster/cluster_events.h"
#include "operator/cluster/cluster_gather.h"
#include "operator/cluster/cluster_memory.h"
#include "operator/cluster/final_backup.h"
#include "operator/plan/plan_executor.h"

struct cluster_controller {
    struct manager *manager;
    struct loop *loop;
    struct kube_client *client;
    struct cluster_controller_options options;
    const struct kube_resource *cluster_resource, *backup_resource;
    struct cluster_sources sources;
    struct plan_targets targets;
    struct controller *runtime;
    struct cluster_memories memories;
    uint64_t random_state;
};

/* arg: the controller. Something came of that cluster which no cache shows. */
void cluster_controller_wake(void *arg, const char *cluster_key);

/*
 * Look, plan, Secrets if they are due, report. Secrets that were never made come before the plan. The snapshot is parsed once
 * and looked at again after every wait; it holds the cluster's UID, so a round never goes on with another cluster of the same name.
 */
struct cluster_round {
    struct cluster_controller *controller;
    struct reconcile *run;
    char *key;
    struct cluster_snapshot snapshot;
    struct cluster_decision decision;
    bool planned;
    bool recheck_soon;
    int intents;               /* written in this round */
    struct cluster_news *news; /* of the intent that is being written; owned */
    int news_count;
    int64_t again_ms;                /* look again then, 0: at the usual time */
    enum final_backup_act final_act; /* after the status */
    struct error error;              /* the first one; the round goes on to its report */
    enum plan_kind error_kind;       /* of what, PLAN_KIND_COUNT: of nothing that is planned */
};

/* ---- cluster_round.c ---- */

/* The cluster of that key and UID stands in the cache. key and uid are copied. */
void cluster_round_start(struct cluster_controller *controller, const char *key, const char *uid, struct reconcile *run);
/* What is remembered of the cluster; valid until the cluster is forgotten. */
struct cluster_memory *cluster_round_memory(const struct cluster_round *round);
/* After a wait. False if the cluster is not there any more: then the round can only be abandoned. */
bool cluster_round_look_again(struct cluster_round *round);
/* The earliest of all counts; 0 is none. */
void cluster_round_again_in(struct cluster_round *round, int64_t ms);
/* From the decision on. */
void cluster_round_plan(struct cluster_round *round);
/* The end, with the round's error if it has one. */
void cluster_round_finish(struct cluster_round *round);
/* It was deleted meanwhile, or made again: the event of that brings its key back. */
void cluster_round_abandon(struct cluster_round *round);

/* ---- cluster_round_agents.c: all of it at once, nothing waits ---- */

/* Whom the fleet listens to: the members that have an agent. */
void cluster_round_sync_agents(struct cluster_round *round);
/* What each of them must be, by the status as it is written. */
void cluster_round_send_orders(struct cluster_round *round);
/* All of what agents are told, by the snapshot after the plan: orders, my.cnf, a restore. */
void cluster_round_tell_agents(struct cluster_round *round);

/* ---- cluster_round_secrets.c ---- */

/* Any event is an occasion to look whether they are still there, unless the last look is fresh: nobody tells us of Secrets. */
bool cluster_round_wants_secrets(const struct cluster_round *round);
/* Goes on with the plan, or with the report if the plan was made. */
void cluster_round_ensure_secrets(struct cluster_round *round);

/* ---- cluster_round_report.c ---- */

/* Who is primary stands in the status, under the version that was read, before anybody is told (I2). The same round goes on with its plan. */
void cluster_round_write_intent(struct cluster_round *round);
/* The status, if it changed; then the last backup of one that goes; then the end. */
void cluster_round_report(struct cluster_round *round);

#endif
