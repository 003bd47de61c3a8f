/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_reconcile.h: one reconcile of a MysqlCluster under way. Private to the controller.
 *
 *   cluster_reconcile.c           begins, ends, and the table of the phases
 *   cluster_reconcile_context.c   what all phases use: the look, the memory, the write of a status
 *   cluster_reconcile_agents.c    what agents are told
 *   cluster_reconcile_PHASE.c     the others: secrets, roles, children, status
 *
 *   Secrets, if they were never made → roles, until the status says what is decided → children → agents
 *   → Secrets, if they are due → what applications connect with → status → finalizers and last backup
 *
 * The snapshot is parsed once and gathered again after every wait; it holds the cluster's UID, so a reconcile never
 * goes on with another cluster of the same name. What waits is a phase (operator/runtime/phases.h).
 */
#ifndef KM_CLUSTER_RECONCILE_H
#define KM_CLUSTER_RECONCILE_H

#include "operator/cluster/deletion/final_backup.h"
#include "operator/cluster/deletion/volume_hold.h"
#include "operator/cluster/reconcile/cluster_controller.h"
#include "operator/cluster/reconcile/cluster_gather.h"
#include "operator/cluster/reconcile/cluster_memory.h"
#include "operator/cluster/rollout/cluster_decide.h"
#include "operator/cluster/status/cluster_events.h"
#include "operator/plan/plan_executor.h"
#include "operator/runtime/reconcile_context.h"

struct cluster_controller {
    struct manager *manager;
    struct loop *loop;
    struct kube_client *client;
    struct cluster_controller_options options;
    const struct kube_resource *cluster_resource, *backup_resource, *storage_class_resource;
    struct cluster_sources sources;
    struct cluster_turns turns;
    struct plan_targets targets;
    struct controller *runtime;
    struct cluster_memories memories;
    uint64_t random_state;
};

enum cluster_phase {
    CLUSTER_PHASE_DONE = RECONCILE_DONE, /* the end, with the first error if there was one */
    CLUSTER_PHASE_SECRETS, /* made, completed, renewed. Then roles, or the status if the roles are settled */
    /* The decision. Who is primary stands in the status, under the version that was read, before anybody is told (I2):
     * then the same phase comes again. */
    CLUSTER_PHASE_ROLES,
    CLUSTER_PHASE_INTENDED,     /* the status says it: it is told */
    CLUSTER_PHASE_CHILDREN,     /* the plan is executed */
    CLUSTER_PHASE_AGENTS,       /* told by the snapshot after the plan */
    CLUSTER_PHASE_BINDING,      /* what applications connect with, after a look at the Secrets */
    CLUSTER_PHASE_STATUS,       /* the report, written if it changed */
    CLUSTER_PHASE_CLAIMS,       /* of a cluster that is let go: whether any is left without an owner */
    CLUSTER_PHASE_VOLUME_HOLD,  /* the finalizer that waits for their owners */
    CLUSTER_PHASE_FINAL_BACKUP, /* the last thing, so that one that fails holds up nothing else */
    CLUSTER_PHASE_ABANDONED,    /* the cluster was deleted meanwhile, or made again: that event brings its key back */
    CLUSTER_PHASE_COUNT,
};

struct cluster_reconcile {
    struct reconcile_context context;
    struct cluster_controller *controller;
    struct cluster_snapshot snapshot;
    struct cluster_decision decision;
    bool planned;                 /* roles were decided */
    int64_t decided_generation;   /* of the spec that the plan is for; 0: there is no plan yet */
    char *decided_config_version; /* of its MysqlConfig; owned */
    bool executed;                /* there was a plan */
    bool recheck_soon;
    char *user_password, *ca_pem; /* of the last look at the Secrets, for what applications connect with; NULL: none */
    int intents;                  /* written so far */
    struct cluster_news *news;    /* of the intent that is being written; owned */
    int news_count;
    bool template_asked;                   /* the StatefulSet was read before it is applied */
    json_t *template_before;               /* its pod template then; owned; NULL: there was none */
    char template_from[KUBE_NAME_MAX + 1]; /* its update revision then */
    char *route_cleared;                   /* what the plan has taken away from the route; owned; NULL: nothing */
    bool names_looked;                     /* all that are somebody else's have been looked for */
    enum final_backup_act final_act;       /* after the status */
    enum volume_hold_act hold_act;         /* before that */
    bool asks_claims;                      /* before both */
    enum plan_kind error_kind;             /* of the context's error; PLAN_KIND_COUNT: of nothing that is planned */
    enum cluster_child error_child;        /* whose apply that was; CHILD_COUNT: of no child */
};

/* The cluster of that key and UID stands in the cache. key and uid are copied. It ends with reconcile_finish. */
void cluster_reconcile_start(
    struct cluster_controller *controller, const char *key, const char *uid, struct reconcile *run);

/* Phases (phase_fn); arg is the reconcile. */
int cluster_phase_secrets(void *arg);
int cluster_phase_roles(void *arg);
int cluster_phase_intended(void *arg);
int cluster_phase_children(void *arg);
int cluster_phase_agents(void *arg);
int cluster_phase_binding(void *arg);
int cluster_phase_status(void *arg);
int cluster_phase_claims(void *arg);
int cluster_phase_volume_hold(void *arg);
int cluster_phase_final_backup(void *arg);

/* ---- cluster_reconcile_context.c ---- */

/* arg: the controller. Something came of that cluster which no cache shows. */
void cluster_controller_wake(void *arg, const char *cluster_key);
/* What is remembered of the cluster; valid until the cluster is forgotten. */
struct cluster_memory *cluster_reconcile_memory(const struct cluster_reconcile *reconcile);
/* After a wait. False if the cluster is not there any more: then the reconcile can only be abandoned. */
bool cluster_reconcile_look_again(struct cluster_reconcile *reconcile);
/* The phase after a wait: `next`; or the end, if the cluster is not there any more, or if what it is to be has changed
 * since the plan was decided. That event brings its key back. Until then no agent is given a my.cnf and no status says
 * to be in force what nobody has tried. */
int cluster_reconcile_go_on(struct cluster_reconcile *reconcile, int next);
/* Any event is an occasion to look whether Secrets are still there, unless the last look is fresh: nobody tells us of
 * them. */
bool cluster_reconcile_wants_secrets(const struct cluster_reconcile *reconcile);
/* Under the version that was read: a newer spec is reported by the reconcile that it brings. next: the phase after it;
 * after an error it is CLUSTER_PHASE_DONE. */
void cluster_reconcile_write_status(struct cluster_reconcile *reconcile, const struct cluster_status *status, int next);

/* ---- cluster_reconcile_deletion.c ---- */

/* What is to be written after the status, by the snapshot that the status is of. */
void cluster_reconcile_choose_acts(struct cluster_reconcile *reconcile);

/* ---- cluster_reconcile_agents.c: all of it at once, nothing waits ---- */

/* Whom the fleet listens to: the members that have an agent. */
void cluster_reconcile_sync_agents(struct cluster_reconcile *reconcile);
/* What each of them must be, by the status as it is written, and the decision of the same snapshot. */
void cluster_reconcile_send_orders(struct cluster_reconcile *reconcile);
/* Both for a later snapshot, as after the plan: roles are decided anew, and nothing is written for it. */
void cluster_reconcile_look_at_agents(struct cluster_reconcile *reconcile);
/* What else agents are told, by the snapshot after the plan: my.cnf, a restore. */
void cluster_reconcile_tell_agents(struct cluster_reconcile *reconcile);

#endif
