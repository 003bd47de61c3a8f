/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/configmapsync/sync_controller.h"

#include "common/alloc.h"
#include "common/clock.h"
#include "common/hashmap.h"
#include "common/json.h"
#include "operator/api/api_kinds.h"
#include "operator/api/names.h"
#include "operator/api/sync_projections.h"
#include "operator/configmapsync/sync_visit.h"

/* ---- which ConfigMaps are sources ---- */

struct source {
    char *key;
    size_t count; /* ConfigMapSyncs that name it */
};

static const char *source_key(const void *entry)
{
    return ((const struct source *)entry)->key;
}

static void free_source(void *entry)
{
    struct source *source = entry;
    free(source->key);
    free(source);
}

static void count_source(struct sync_controller *controller, const struct kube_object *object, bool is_new)
{
    const char *key = object ? ((const struct sync_object *)object)->source_key : "";
    struct source *source = hashmap_get(&controller->sources, key);
    if (!*key || (!source && !is_new))
        return;
    if (!source) {
        source = xnew(struct source);
        source->key = xstrdup(key);
        hashmap_put(&controller->sources, source);
    }
    source->count += is_new ? 1 : (size_t)-1;
    if (source->count == 0)
        free_source(hashmap_remove(&controller->sources, key));
}

static void on_sync_changed(void *arg, const struct kube_object *old_object, const struct kube_object *new_object)
{
    count_source(arg, new_object, true);
    count_source(arg, old_object, false);
}

static bool is_source(void *arg, const char *key)
{
    const struct sync_controller *controller = arg;
    return hashmap_get(&controller->sources, key) != NULL;
}

/* ---- who is woken ---- */

/* The object may be a header alone (informer.h). */
static void map_source(void *arg, const struct kube_object *object, controller_emit_fn emit, void *emit_arg)
{
    const struct sync_controller *controller = arg;
    size_t cursor = 0;
    for (const struct kube_object *each; (each = store_next(informer_store(controller->syncs), &cursor));)
        if (str_eq(((const struct sync_object *)each)->source_key, object->key))
            emit(emit_arg, each->key);
}

static void map_copy(void *arg, const struct kube_object *object, controller_emit_fn emit, void *emit_arg)
{
    UNUSED(arg);
    const char *key = ((const struct config_map_object *)object)->sync_of;
    char ns[KUBE_LABEL_MAX + 1], name[KUBE_NAME_MAX + 1];
    if (strchr(key, '/') && kube_key_split(key, ns, name) == 0)
        emit(emit_arg, key);
}

/* A selector may find it; else the spec holds its name. */
static void map_namespace(void *arg, const struct kube_object *object, controller_emit_fn emit, void *emit_arg)
{
    const struct sync_controller *controller = arg;
    char quoted[KUBE_NAME_MAX + 3];
    size_t cursor = 0;
    snprintf(quoted, sizeof(quoted), "\"%s\"", object->key);
    for (const struct kube_object *each; (each = store_next(informer_store(controller->syncs), &cursor));) {
        const char *spec = ((const struct sync_object *)each)->spec;
        if (strstr(spec, "\"namespaceSelector\"") || strstr(spec, quoted))
            emit(emit_arg, each->key);
    }
}

static bool namespace_matters(const struct kube_object *old_object, const struct kube_object *new_object)
{
    return !old_object || !new_object || old_object->digest != new_object->digest ||
        old_object->deleting != new_object->deleting || !kube_uid_eq(old_object->uid, new_object->uid);
}

/* ---- reconcile ---- */

static void reconcile(void *arg, const char *key, struct reconcile *run)
{
    struct sync_controller *controller = arg;
    const struct sync_object *object = (const struct sync_object *)store_get(informer_store(controller->syncs), key);
    if (!object || (object->object.deleting && !object->has_finalizer) ||
        !namespace_is_watched(controller->options.watch_namespaces, object->ns)) {
        reconcile_finish(run, NULL, 0);
        return;
    }
    sync_visit_start(controller, object, run);
}

/* ---- set-up ---- */

void sync_controller_use_kinds(struct manager *manager)
{
    manager_use_kind(manager, &kube_kind_config_map_sync);
    manager_use_kind(manager, &kube_kind_config_map);
    manager_use_kind(manager, &kube_kind_namespace);
}

static void sync_controller_free(void *arg)
{
    struct sync_controller *controller = arg;
    hashmap_release(&controller->sources, free_source);
    free(controller);
}

static void make_informers(struct sync_controller *controller, struct manager *manager)
{
    const struct informer_options all = {.ns = NULL};
    const struct informer_options copies = {.label_selector = LABEL_SYNC};
    const struct informer_options sources = {.wanted = is_source, .wanted_arg = controller};
    controller->syncs = manager_informer(manager, controller->sync_resource, &projection_config_map_sync, &all);
    controller->copies = manager_informer(manager, controller->map_resource, &projection_config_map, &copies);
    controller->originals = manager_informer(manager, controller->map_resource, &projection_config_map, &sources);
    controller->namespaces =
        manager_informer(manager, manager_use_kind(manager, &kube_kind_namespace), &projection_namespace, &all);
}

void sync_controller_setup(struct manager *manager, const struct sync_controller_options *options)
{
    struct sync_controller *controller = xnew(struct sync_controller);
    controller->client = manager_client(manager);
    controller->options = *options;
    controller->sync_resource = manager_use_kind(manager, &kube_kind_config_map_sync);
    controller->map_resource = manager_use_kind(manager, &kube_kind_config_map);
    hashmap_init(&controller->sources, source_key);
    make_informers(controller, manager);
    informer_add_handler(controller->syncs, on_sync_changed, controller);
    const struct reconciler reconciler = {"configmapsync", reconcile, controller};
    const struct controller_options runtime_options = {.concurrency = 2};
    struct controller *runtime = manager_controller(manager, &reconciler, &runtime_options);
    controller_watch(runtime, controller->syncs, predicate_generation_or_digest_changed, controller_map_self, NULL);
    controller_watch(runtime, controller->copies, NULL, map_copy, NULL);
    controller_watch(runtime, controller->originals, NULL, map_source, controller);
    controller_watch(runtime, controller->namespaces, namespace_matters, map_namespace, controller);
    const struct informer *needed[] = {
        controller->syncs, controller->copies, controller->originals, controller->namespaces};
    for (size_t i = 0; i < ARRAY_LEN(needed); i++)
        manager_let_wait(manager, runtime, needed[i]);
    manager_defer(manager, sync_controller_free, controller);
}
