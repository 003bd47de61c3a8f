/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/kube/tests/kube_world.h"

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/log.h"
#include "common/tests/clock_util.h"

#define WAIT_MS 20000

int world_set_up(void **state)
{
    struct world *world = xnew(struct world);
    log_setup(getenv("V") ? LOG_DEBUG : LOG_ERROR, LOG_FORMAT_TEXT, 2);
    clock_stand_still();
    world->loop = loop_new();
    world->api = kube_api_double_new(world->loop);
    world->http = http_client_new(world->loop);
    kube_api_double_config(world->api, &world->config);
    world->maps = (struct kube_resource){.kind = &kube_kind_config_map, .version = "v1"};
    world_new_client(world, NULL);
    *state = world;
    return world->client ? 0 : -1;
}

int world_tear_down(void **state)
{
    struct world *world = *state;
    informer_free(world->informer);
    kube_client_free(world->client);
    http_client_free(world->http);
    kube_api_double_free(world->api);
    kube_config_release(&world->config);
    loop_free(world->loop);
    free(world);
    return 0;
}

void world_new_client(struct world *world, const struct kube_client_options *options)
{
    struct error err = ERROR_INIT;
    informer_free(steal_ptr(world->informer));
    kube_client_free(world->client);
    world->client = kube_client_new(world->loop, world->http, &world->config, options, &err);
}

bool world_run(
    struct world *world, bool (*check)(const struct world *world, const void *arg), const void *arg, int64_t timeout_ms)
{
    int64_t deadline_ms = clock_monotonic_ms() + timeout_ms;
    while (!check(world, arg)) {
        if (clock_monotonic_ms() >= deadline_ms)
            return false;
        loop_run_once(world->loop, 20);
    }
    return true;
}

static bool never(const struct world *world, const void *arg)
{
    UNUSED(world);
    UNUSED(arg);
    return false;
}

void world_run_for(struct world *world, int64_t ms)
{
    world_run(world, never, NULL, ms);
}

/* ---- requests ---- */

void kube_outcome_done(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct kube_outcome *outcome = arg;
    outcome->count++;
    outcome->err = (struct error)ERROR_INIT;
    if (err)
        outcome->err = *err;
    outcome->status = answer->status;
    outcome->object = json_deep_copy(answer->object);
    outcome->raw = xstrndup(answer->raw.data, answer->raw.len);
}

static bool is_done(const struct world *world, const void *arg)
{
    UNUSED(world);
    return ((const struct kube_outcome *)arg)->count > 0;
}

enum error_kind world_settle(struct world *world, struct kube_outcome *outcome)
{
    if (!world_run(world, is_done, outcome, WAIT_MS))
        return ERROR_KIND_COUNT;
    return outcome->err.kind;
}

void kube_outcome_release(struct kube_outcome *outcome)
{
    json_decref(outcome->object);
    free(outcome->raw);
    *outcome = (struct kube_outcome){.count = 0};
}

/* ---- objects ---- */

json_t *world_map(const char *name, const char *value)
{
    return json_build("{s:s,s:s,s:{s:s,s:s,s:{s:s}},s:{s:s}}", "apiVersion", "v1", "kind", "ConfigMap", "metadata",
        "name", name, "namespace", WORLD_NS, "labels", "app", "test", "data", "key", value);
}

static char *path_of(const char *name)
{
    return xasprintf("%s/%s", WORLD_MAPS_IN_NS, name);
}

void world_put(struct world *world, const char *name, const char *value)
{
    _cleanup_(freep) char *path = path_of(name);
    _cleanup_(json_decrefp) json_t *object = world_map(name, value);
    kube_api_double_put(world->api, path, object);
}

void world_remove(struct world *world, const char *name)
{
    _cleanup_(freep) char *path = path_of(name);
    kube_api_double_remove(world->api, path);
}

/* ---- informer ---- */

static void on_change(void *arg, const struct kube_object *old_object, const struct kube_object *new_object)
{
    struct world *world = arg;
    world->added += old_object == NULL;
    world->deleted += new_object == NULL;
    world->changed += old_object && new_object;
}

static void on_synced(void *arg)
{
    ((struct world *)arg)->synced = true;
}

void world_start_informer(struct world *world, const struct informer_options *options)
{
    world->informer = informer_new(world->loop, world->client, &world->maps, &kube_projection_child, options);
    informer_add_handler(world->informer, on_change, world);
    informer_on_sync(world->informer, on_synced, world);
    informer_start(world->informer);
}

struct kube_object *world_stored(const struct world *world, const char *name)
{
    _cleanup_(freep) char *key = kube_key(WORLD_NS, name);
    return store_get(informer_store(world->informer), key);
}

bool world_in_step(const struct world *world, const void *unused)
{
    UNUSED(unused);
    const struct store *store = informer_store(world->informer);
    if (!world->synced || store_count(store) != kube_api_double_count(world->api, WORLD_MAPS))
        return false;
    struct kube_object *object;
    for (size_t cursor = 0; (object = store_next(store, &cursor));) {
        char ns[KUBE_LABEL_MAX + 1];
        char name[KUBE_NAME_MAX + 1];
        if (kube_key_split(object->key, ns, name) < 0)
            return false;
        _cleanup_(freep) char *path = path_of(name);
        const json_t *live = kube_api_double_get(world->api, path);
        if (!live || !str_eq(json_path_str(live, "metadata.resourceVersion", ""), object->resource_version))
            return false;
    }
    return true;
}
