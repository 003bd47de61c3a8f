/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/backup/backup_controller.h"

#include "common/alloc.h"
#include "operator/api/api_kinds.h"
#include "operator/api/projections.h"
#include "operator/backup/backup_metrics.h"
#include "operator/backup/backup_visit.h"

/* ---- reconcile ---- */

static void forget(struct backup_controller *controller, const char *key)
{
    const struct backup_memory *memory = backup_memories_find(&controller->memories, key);
    if (memory && *memory->donor && memory->cluster) {
        _cleanup_(freep) char *cluster = kube_key(memory->ns, memory->cluster);
        struct backup_sender *sender = agent_fleet_backup(controller->sources.fleet, cluster, memory->donor);
        if (sender)
            backup_sender_want(sender, key, NULL);
    }
    backup_memories_forget(&controller->memories, key);
}

static void reconcile(void *arg, const char *key, struct reconcile *run)
{
    struct backup_controller *controller = arg;
    const struct custom_object *object =
        (const struct custom_object *)store_get(informer_store(controller->sources.backups), key);
    if (!object || !namespace_is_watched(controller->options.watch_namespaces, object->ns)) {
        forget(controller, key);
        reconcile_finish(run, NULL, 0);
        return;
    }
    backup_memories_get(&controller->memories, key, object->uid, controller);
    backup_visit_start(controller, object, run);
}

/* ---- watches ---- */

struct of_cluster {
    const struct backup_controller *controller;
    const char *ns, *cluster;
};

static bool is_open(const struct custom_object *backup)
{
    return backup->has_backup_finalizer || backup->object.deleting || !backup_phase_is_final(backup->backup_phase);
}

/* All backups of a cluster that are not over. */
static void each_of_cluster(const struct of_cluster *of, controller_emit_fn emit, void *emit_arg)
{
    const struct store *backups = informer_store(of->controller->sources.backups);
    size_t cursor = 0;
    for (const struct kube_object *each; (each = store_next(backups, &cursor));) {
        const struct custom_object *backup = (const struct custom_object *)each;
        if (is_open(backup) && str_eq(backup->cluster_name, of->cluster) && str_eq(backup->ns, of->ns))
            emit(emit_arg, each->key);
    }
}

static void map_cluster(void *arg, const struct kube_object *object, controller_emit_fn emit, void *emit_arg)
{
    const struct custom_object *cluster = (const struct custom_object *)object;
    const struct of_cluster of = {arg, cluster->ns, cluster->name};
    each_of_cluster(&of, emit, emit_arg);
}

static void map_pod(void *arg, const struct kube_object *object, controller_emit_fn emit, void *emit_arg)
{
    const struct pod_object *pod = (const struct pod_object *)object;
    const struct of_cluster of = {arg, pod->ns, pod->cluster};
    if (!str_empty(pod->cluster))
        each_of_cluster(&of, emit, emit_arg);
}

/* What a backup takes from a cluster: that it is there, its spec, its image; who is closed, if it waits for its last
 * one. Members speak for themselves. */
static bool cluster_matters(const struct kube_object *old_object, const struct kube_object *new_object)
{
    if (!old_object || !new_object || new_object->deleting ||
        predicate_generation_or_digest_changed(old_object, new_object))
        return true;
    const struct custom_object *before = (const struct custom_object *)old_object;
    return before->config_digest != ((const struct custom_object *)new_object)->config_digest;
}

static void enqueue(void *arg, const char *key)
{
    const struct backup_controller *controller = arg;
    controller_enqueue(controller->runtime, key);
}

static void on_agent_news(void *arg, const char *cluster_key)
{
    char ns[KUBE_LABEL_MAX + 1], name[KUBE_NAME_MAX + 1];
    const struct of_cluster of = {arg, ns, name};
    if (kube_key_split(cluster_key, ns, name) == 0)
        each_of_cluster(&of, enqueue, arg);
}

/* ---- set-up ---- */

void backup_controller_use_kinds(struct manager *manager)
{
    manager_use_kind(manager, &kube_kind_mysql_backup);
    manager_use_kind(manager, &kube_kind_secret);
    manager_use_kind(manager, &kube_kind_config_map);
    manager_use_kind(manager, &kube_kind_pod);
}

static void backup_controller_free(void *arg)
{
    struct backup_controller *controller = arg;
    backup_memories_release(&controller->memories);
    backup_metrics_free(controller->metrics);
    free(controller);
}

void backup_controller_setup(struct manager *manager, const struct backup_controller_options *options)
{
    struct backup_controller *controller = xnew(struct backup_controller);
    const struct reconciler reconciler = {"mysqlbackup", reconcile, controller};
    const struct controller_options runtime_options = {.concurrency = 8};
    controller->manager = manager;
    controller->loop = manager_loop(manager);
    controller->client = manager_client(manager);
    controller->options = *options;
    if (controller->options.secrets_fresh_ms == 0)
        controller->options.secrets_fresh_ms = BACKUP_SECRETS_FRESH_MS;
    if (controller->options.blocked_recheck_ms == 0)
        controller->options.blocked_recheck_ms = STORE_REFUSED_RECHECK_MS;
    controller->resource = manager_use_kind(manager, &kube_kind_mysql_backup);
    controller->config_maps = manager_use_kind(manager, &kube_kind_config_map);
    controller->sources = (struct backup_sources){
        options->backups, options->clusters, options->pods, options->fleet, options->agent_image};
    controller->targets.client = controller->client;
    controller->targets.kinds[PLAN_POD].resource = manager_use_kind(manager, &kube_kind_pod);
    controller->targets.kinds[PLAN_POD].informer = options->pods;
    controller->targets.kinds[PLAN_SECRET].resource = manager_use_kind(manager, &kube_kind_secret);
    controller->targets.kinds[PLAN_VOLUME_CLAIM].resource =
        manager_use_kind(manager, &kube_kind_persistent_volume_claim);
    backup_memories_init(&controller->memories);
    controller->metrics = backup_metrics_new(manager_metrics(manager), &controller->memories);
    controller->runtime = manager_controller(manager, &reconciler, &runtime_options);
    controller_watch(
        controller->runtime, options->backups, predicate_generation_or_digest_changed, controller_map_self, NULL);
    controller_watch(controller->runtime, options->clusters, cluster_matters, map_cluster, controller);
    controller_watch(controller->runtime, options->pods, NULL, map_pod, controller);
    agent_fleet_listen(options->fleet, on_agent_news, controller);
    manager_defer(manager, backup_controller_free, controller);
}
