/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operator_world.h: the whole operator (manager, controllers) against doubles of the API server, of what Kubernetes
 * does with the objects (kubernetes_double.h) and of the agents in the pods (agent_double.h), all on one loop, driven
 * by a script.
 *
 * A script is a list of steps. A step looks at the world, may change it (as people would), and says true when it is
 * through; it is asked again every few milliseconds until then. After the last step the operator is told to stop by
 * SIGTERM.
 *
 * An operator can be killed after any of its writes and orders (`kill_after`): from then on nothing that it does has an
 * effect, and a new one starts that knows nothing.
 */
#ifndef KM_OPERATOR_WORLD_H
#define KM_OPERATOR_WORLD_H

#include "common/base.h"

#include "operator/runtime/manager.h"
#include "operator/tests/agent_double.h"
#include "operator/tests/kube_api_double.h"
#include "operator/tests/kubernetes_double.h"
#include "operator/tests/world_copy.h"

#define WORLD_NAMESPACE "ns1"
#define WORLD_CLUSTER "shop"
#define WORLD_OTHERS_MAX 2
#define PATH_CLUSTERS "/apis/kubemysql.dev/v1alpha1/namespaces/ns1/mysqlclusters/"
#define PATH_CLUSTER PATH_CLUSTERS WORLD_CLUSTER
#define PATH_TERMINAL "/apis/kubemysql.dev/v1alpha1/namespaces/ns1/mysqlterminals/shop"
#define PATH_STATEFUL_SETS "/apis/apps/v1/namespaces/ns1/statefulsets/"
#define PATH_STATEFUL_SET PATH_STATEFUL_SETS WORLD_CLUSTER "-mysql"
#define PATH_SLICE "/apis/discovery.k8s.io/v1/namespaces/ns1/endpointslices/shop-mysql-primary"
#define PATH_BUDGET "/apis/policy/v1/namespaces/ns1/poddisruptionbudgets/shop-mysql"
#define PATH_CORE "/api/v1/namespaces/ns1/"

struct operator_world;
typedef bool (*world_step_fn)(struct operator_world *world);

struct operator_world {
    struct loop *loop;
    struct kube_api_double *api;
    struct agent_doubles *agents;
    struct kubernetes_double kubernetes;
    struct world_other {
        struct agent_doubles *agents;
        struct kubernetes_double kubernetes;
    } others[WORLD_OTHERS_MAX]; /* of clusters beside WORLD_CLUSTER (world_add_other) */
    int other_count;
    struct manager *manager;
    const world_step_fn *steps; /* NULL at the end */
    int step;
    int64_t step_until_ms;
    int64_t secrets_fresh_ms;                        /* as in cluster_controller_options */
    int64_t sweep_ms;                                /* as in archive_controller_options */
    int64_t terminal_recheck_ms;                     /* blocked_recheck_ms of terminal_controller_options */
    int64_t backup_recheck_ms;                       /* likewise of backup_controller_options */
    bool app, config_map_sync, sync_without_consent; /* as in operator_options */
    const char *version;                             /* as in cluster_controller_options */
    const char *agent_image;                         /* likewise */
    int turns;                                       /* likewise */
    /* The clock of schedules, and theirs alone, stands still: it shows the time at which the world began, and so much
     * more. */
    int64_t schedule_base_ms, schedule_ahead_ms;
    void (*after_act)(struct operator_world *world); /* may change the world, as people would; NULL: nothing is done */
    size_t acts;                                     /* writes that were carried out and orders, of all operators */
    size_t acts_before;                              /* those before step `kill_after_step` */
    int kill_after_step;
    size_t kill_after; /* the operator is killed right after this one since that step began; 0: never */
    /* if set, it is killed after each act since that step began, in a copy (world_copy.h) */
    struct world_copies *copies;
    bool is_dead; /* killed, and the next one has not started yet */
    struct loop_timer timer;
    char failure[768]; /* "" while all is well */
    /* For steps to remember something. */
    size_t writes, writes_before, looks_before;
    char uid[40];
    int64_t numbers[4];
    int64_t quiet_since_ms;
    char text[256];
};

struct operator_world *operator_world_new(void);
void operator_world_free(struct operator_world *world);
/* Runs the operator until the steps are through; a step that does not get through in time fails the test. Once in a
 * world's life. */
void operator_world_run(struct operator_world *world, const world_step_fn *steps);
/* For steps: the operator is killed now. */
void world_kill_operator(struct operator_world *world);

/* Text in single quotes; new tree. */
json_t *world_json(const char *text);
void world_put_json(struct operator_world *world, const char *path, const char *text);
void world_edit_json(struct operator_world *world, const char *path, const char *text);
/* The usual cluster: inline configuration, claims. `more` are further members of spec, as JSON: "'replicas': 3". */
void world_put_cluster(struct operator_world *world, const char *more);
/* Members of another MysqlCluster, in the same namespace: agents, pods and volumes. The cluster itself is the test's to
 * put. Before operator_world_run. */
struct world_other *world_add_other(struct operator_world *world, const char *name);
/* String at a path inside an object, "" if either is absent. */
const char *world_str(const struct operator_world *world, const char *path, const char *member);
int64_t world_int(const struct operator_world *world, const char *path, const char *member);
/* "True/Reason" of a condition of the cluster, "" if it is absent. Valid until the next call. */
const char *world_condition(struct operator_world *world, const char *type);
const char *world_condition_of(struct operator_world *world, const char *path, const char *type);

/* All that a settled cluster has; the name of the first one missing, or NULL. */
const char *world_missing_child(const struct operator_world *world);
/* The agent of a member. */
struct agent_double *world_agent(const struct operator_world *world, int ordinal);
/* Of the pod of a member; "" if there is none. */
const char *world_pod_str(const struct operator_world *world, int ordinal, const char *member);
/* All but Secrets, Events and the cluster itself, without what depends on time, chance, addresses or the way it went.
 * Caller frees. */
char *world_children(const struct operator_world *world);
/* The cluster's agents told it of: "" unless nothing is under way, all members of the spec are there and do what they
 * should. */
bool world_is_settled(struct operator_world *world);
/* A step: the check pod is there; its server takes everything. */
bool world_check_passes(struct operator_world *world);
/* True after `ms` in which nothing was written (events aside). */
bool world_is_quiet(struct operator_world *world, int64_t ms);

#endif
