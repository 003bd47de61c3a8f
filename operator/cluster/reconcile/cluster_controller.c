/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/reconcile/cluster_controller.h"

#include "common/alloc.h"
#include "common/backoff.h"
#include "common/strbuf.h"
#include "operator/api/api_kinds.h"
#include "operator/cluster/reconcile/api_question.h"
#include "operator/cluster/reconcile/cluster_maps.h"
#include "operator/cluster/reconcile/cluster_metrics.h"
#include "operator/cluster/reconcile/cluster_reconcile.h"
#include "operator/cluster/reconcile/cluster_secrets.h"
#include "operator/cluster/reconcile/roll_keeper.h"

/* ---- reconcile ---- */

/* Those that nobody owns, so that nobody removes them with the cluster. */
static void list_kept_claims(
    const struct cluster_controller *controller, const char *ns, const char *name, struct strbuf *out)
{
    size_t cursor = 0;
    const struct store *claims = informer_store(controller->sources.claims);
    for (const struct kube_object *object; (object = store_next(claims, &cursor));) {
        const struct pvc_object *claim = (const struct pvc_object *)object;
        if (str_eq(claim->ns, ns) && str_eq(claim->cluster, name) && !object->deleting &&
            kube_uid_is_zero(object->owner))
            strbuf_addf(out, "%s%s", out->len ? " " : "", claim->name);
    }
}

static void tell_of_kept_claims(struct cluster_controller *controller, const char *key)
{
    const struct cluster_memory *memory = cluster_memories_find(&controller->memories, key);
    char ns[KUBE_LABEL_MAX + 1], name[KUBE_NAME_MAX + 1];
    _cleanup_(strbuf_release) struct strbuf claims;
    strbuf_init(&claims, 4 * KM_KIB);
    if (!memory || memory->namespace_ends || kube_key_split(key, ns, name) < 0)
        return;
    list_kept_claims(controller, ns, name, &claims);
    const struct event_target target = {
        .resource = controller->cluster_resource, .ns = ns, .name = name, .uid = memory->uid};
    if (claims.len > 0)
        cluster_events_claims_kept(manager_events(controller->manager), &target, claims.buf);
}

static void cluster_forget(struct cluster_controller *controller, const char *key)
{
    agent_fleet_sync(controller->sources.fleet, key, NULL, 0);
    cluster_memories_forget(&controller->memories, key);
}

static void reconcile(void *arg, const char *key, struct reconcile *run)
{
    struct cluster_controller *controller = arg;
    const struct custom_object *object =
        (const struct custom_object *)store_get(informer_store(controller->sources.clusters), key);
    if (!object || custom_object_is_going(object) ||
        !namespace_is_watched(controller->options.watch_namespaces, object->ns)) {
        if (!object || custom_object_is_going(object))
            tell_of_kept_claims(controller, key);
        cluster_forget(controller, key);
        reconcile_finish(run, NULL, 0);
        return;
    }
    cluster_reconcile_start(controller, key, object->uid, run);
}

/* ---- watches ---- */

/* A MysqlConfig wakes every cluster that names it. */
static void map_config(void *arg, const struct kube_object *object, controller_emit_fn emit, void *emit_arg)
{
    const struct cluster_controller *controller = arg;
    const struct store *clusters = informer_store(controller->sources.clusters);
    size_t cursor = 0;
    for (const struct kube_object *cluster; (cluster = store_next(clusters, &cursor));)
        if (str_eq(((const struct custom_object *)cluster)->config_name, object->key))
            emit(emit_arg, cluster->key);
}

/* ---- set-up ---- */

static const struct kube_kind *const kinds_of_plan[PLAN_KIND_COUNT] = {
    [PLAN_SERVICE_ACCOUNT] = &kube_kind_service_account,
    [PLAN_CONFIG_MAP] = &kube_kind_config_map,
    [PLAN_SECRET] = &kube_kind_secret,
    [PLAN_SERVICE] = &kube_kind_service,
    [PLAN_ENDPOINT_SLICE] = &kube_kind_endpoint_slice,
    [PLAN_ENDPOINTS] = &kube_kind_endpoints,
    [PLAN_POD_DISRUPTION_BUDGET] = &kube_kind_pod_disruption_budget,
    [PLAN_STATEFUL_SET] = &kube_kind_stateful_set,
    [PLAN_POD] = &kube_kind_pod,
    [PLAN_VOLUME_CLAIM] = &kube_kind_persistent_volume_claim,
    [PLAN_TERMINAL] = &kube_kind_mysql_terminal,
};

void cluster_controller_use_kinds(struct manager *manager)
{
    for (int kind = 0; kind < PLAN_KIND_COUNT; kind++)
        manager_use_kind(manager, kinds_of_plan[kind]);
    manager_use_kind(manager, &kube_kind_mysql_cluster);
    manager_use_kind(manager, &kube_kind_mysql_backup);
    manager_use_kind(manager, &kube_kind_storage_class);
}

static struct informer *make_informer(
    struct cluster_controller *controller, enum plan_kind kind, const struct kube_projection *projection)
{
    /* Our own slices only: the endpoint controllers copy a Service's labels onto theirs. */
    const struct informer_options options = {
        .label_selector = kind == PLAN_ENDPOINT_SLICE ? SELECTOR_MANAGED "," LABEL_SLICE_MANAGER
                                                                         "=" DESIRED_SLICE_MANAGER
                                                      : SELECTOR_MANAGED,
    };
    struct informer *informer =
        manager_informer(controller->manager, controller->targets.kinds[kind].resource, projection, &options);
    controller->targets.kinds[kind].informer = informer;
    return informer;
}

/* The others that bear our labels: of each Service with a selector there is one at least, which is let go at once. */
static struct informer *make_foreign_slices(struct cluster_controller *controller)
{
    const struct informer_options options = {
        .label_selector = SELECTOR_MANAGED "," LABEL_SLICE_MANAGER "!=" DESIRED_SLICE_MANAGER,
        .wanted = cluster_foreign_slice_is_wanted,
    };
    const struct kube_resource *resource = controller->targets.kinds[PLAN_ENDPOINT_SLICE].resource;
    return manager_informer(controller->manager, resource, &projection_endpoint_slice, &options);
}

static void make_informers(struct cluster_controller *controller)
{
    struct cluster_sources *sources = &controller->sources;
    const struct cluster_controller_options *options = &controller->options;
    sources->clusters = options->clusters;
    sources->configs = options->configs;
    sources->terminals = options->terminals;
    sources->pods = options->pods;
    sources->backups = options->backups;
    controller->targets.kinds[PLAN_POD].informer = options->pods;
    controller->targets.kinds[PLAN_TERMINAL].informer = options->terminals;
    sources->claims = make_informer(controller, PLAN_VOLUME_CLAIM, &projection_pvc);
    make_informer(controller, PLAN_STATEFUL_SET, &projection_stateful_set);
    make_informer(controller, PLAN_SERVICE_ACCOUNT, &kube_projection_child);
    make_informer(controller, PLAN_CONFIG_MAP, &kube_projection_child);
    make_informer(controller, PLAN_SERVICE, &projection_service);
    make_informer(controller, PLAN_ENDPOINT_SLICE, &kube_projection_child);
    make_informer(controller, PLAN_POD_DISRUPTION_BUDGET, &kube_projection_child);
    sources->foreign_slices = make_foreign_slices(controller);
    for (int child = 0; child < CHILD_COUNT; child++)
        sources->children[child] = controller->targets.kinds[desired_child_kind((enum cluster_child)child)].informer;
}

static void make_watches(struct cluster_controller *controller)
{
    const struct reconciler reconciler = {"mysqlcluster", reconcile, controller};
    const struct controller_options options = {.concurrency = 16};
    const struct cluster_sources *sources = &controller->sources;
    static const enum plan_kind owned[] = {PLAN_SERVICE_ACCOUNT, PLAN_CONFIG_MAP, PLAN_SERVICE, PLAN_ENDPOINT_SLICE,
        PLAN_POD_DISRUPTION_BUDGET, PLAN_STATEFUL_SET, PLAN_TERMINAL};
    controller->runtime = manager_controller(controller->manager, &reconciler, &options);
    controller_watch(controller->runtime, sources->clusters, cluster_map_matters, controller_map_self, NULL);
    controller_watch(
        controller->runtime, sources->configs, predicate_generation_or_digest_changed, map_config, controller);
    controller_watch(controller->runtime, sources->pods, NULL, cluster_map_pod, NULL);
    controller_watch(controller->runtime, sources->claims, NULL, cluster_map_claim, NULL);
    controller_watch(controller->runtime, sources->backups, NULL, cluster_map_backup, NULL);
    controller_watch(controller->runtime, sources->foreign_slices, NULL, cluster_map_foreign_slice, NULL);
    for (size_t i = 0; i < ARRAY_LEN(owned); i++)
        controller_watch(controller->runtime, controller->targets.kinds[owned[i]].informer, NULL, controller_map_owner,
            sources->clusters);
}

static void cluster_controller_free(void *arg)
{
    struct cluster_controller *controller = arg;
    api_questions_forget(&controller->memories);
    roll_keeper_forget(&controller->memories);
    cluster_memories_release(&controller->memories);
    free(controller);
}

void cluster_controller_setup(struct manager *manager, const struct cluster_controller_options *options)
{
    struct cluster_controller *controller = xnew(struct cluster_controller);
    controller->manager = manager;
    controller->loop = manager_loop(manager);
    controller->client = manager_client(manager);
    controller->options = *options;
    if (controller->options.secrets_fresh_ms == 0)
        controller->options.secrets_fresh_ms = CLUSTER_SECRETS_FRESH_MS;
    controller->cluster_resource = manager_use_kind(manager, &kube_kind_mysql_cluster);
    controller->backup_resource = manager_use_kind(manager, &kube_kind_mysql_backup);
    controller->storage_class_resource = manager_use_kind(manager, &kube_kind_storage_class);
    controller->targets.client = controller->client;
    for (int kind = 0; kind < PLAN_KIND_COUNT; kind++)
        controller->targets.kinds[kind].resource = manager_use_kind(manager, kinds_of_plan[kind]);
    controller->random_state = random_seed();
    cluster_memories_init(&controller->memories);
    cluster_metrics_register(manager_metrics(manager), &controller->memories);
    controller->sources.default_agent_image = options->agent_image;
    controller->sources.operator_version = options->version;
    controller->sources.ipv6 = options->ipv6;
    controller->turns.max = options->turns;
    controller->sources.turns = options->turns > 0 ? &controller->turns : NULL;
    controller->sources.fleet = options->fleet;
    agent_fleet_listen(options->fleet, cluster_controller_wake, controller);
    make_informers(controller);
    make_watches(controller);
    manager_defer(manager, cluster_controller_free, controller);
}
