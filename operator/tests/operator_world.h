/*
 * operator_world.h: the whole operator (manager, controllers) against a kube_api_double, all on one loop, driven by a script.
 *
 * A script is a list of steps. A step looks at the world, may change it (as people, the StatefulSet controller and kubelet would), and says
 * true when it is through; it is asked again every few milliseconds until then. After the last step the operator is told to stop by SIGTERM.
 */
#ifndef KM_OPERATOR_WORLD_H
#define KM_OPERATOR_WORLD_H

#include "common/base.h"

#include "operator/runtime/manager.h"
#include "operator/tests/kube_api_double.h"

#define WORLD_NAMESPACE "ns1"
#define WORLD_CLUSTER "shop"
#define PATH_CLUSTER "/apis/kubemysql.dev/v1alpha1/namespaces/ns1/mysqlclusters/shop"
#define PATH_TERMINAL "/apis/kubemysql.dev/v1alpha1/namespaces/ns1/mysqlterminals/shop"
#define PATH_STATEFUL_SET "/apis/apps/v1/namespaces/ns1/statefulsets/shop-mysql"
#define PATH_SLICE "/apis/discovery.k8s.io/v1beta1/namespaces/ns1/endpointslices/shop-mysql-primary"
#define PATH_BUDGET "/apis/policy/v1beta1/namespaces/ns1/poddisruptionbudgets/shop-mysql"
#define PATH_CORE "/api/v1/namespaces/ns1/"

struct operator_world;
typedef bool (*world_step_fn)(struct operator_world *world);

struct operator_world {
    struct loop *loop;
    struct kube_api_double *api;
    struct manager *manager;
    const world_step_fn *steps; /* NULL at the end */
    int step;
    int64_t step_until_ms;
    int64_t secrets_fresh_ms; /* as in cluster_controller_options */
    struct loop_timer timer;
    char failure[256]; /* "" while all is well */
    /* For steps to remember something. */
    size_t writes;
    int64_t quiet_since_ms;
    char text[256];
};

struct operator_world *operator_world_new(void);
void operator_world_free(struct operator_world *world);
/* Runs the operator until the steps are through; a step that does not get through in time fails the test. Once in a world's life. */
void operator_world_run(struct operator_world *world, const world_step_fn *steps);

/* Text in single quotes; new tree. */
json_t *world_json(const char *text);
void world_put_json(struct operator_world *world, const char *path, const char *text);
void world_edit_json(struct operator_world *world, const char *path, const char *text);
/* The usual cluster: inline configuration, claims. `more` are further members of spec, as JSON: "'replicas': 3". */
void world_put_cluster(struct operator_world *world, const char *more);
/* String at a path inside an object, "" if either is absent. */
const char *world_str(const struct operator_world *world, const char *path, const char *member);
int64_t world_int(const struct operator_world *world, const char *path, const char *member);
/* "True/Reason" of a condition of the cluster, "" if it is absent. Valid until the next call. */
const char *world_condition(struct operator_world *world, const char *type);

/* All that a settled cluster has; the name of the first one missing, or NULL. */
const char *world_missing_child(const struct operator_world *world);
/* As the StatefulSet controller: takes the set's generation as observed, with this revision. */
void world_play_set(struct operator_world *world, const char *revision);
/* As the StatefulSet controller and kubelet: pod NAME-mysql-ORDINAL of a revision, running and ready or not. */
void world_play_pod(struct operator_world *world, int ordinal, const char *revision, bool ready);
/* True after `ms` in which nothing was written (events aside). */
bool world_is_quiet(struct operator_world *world, int64_t ms);

#endif
