/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/reconcile/cluster_binding.h"

#include "common/alloc.h"
#include "common/json.h"
#include "operator/plan/ownership.h"

enum object_id { OBJECT_SECRET, OBJECT_BUNDLE, OBJECT_COUNT };

struct pass;

/* One of the two: read → made, changed, removed or left. */
struct object {
    struct pass *pass;
    const struct kube_resource *resource;
    const char *kind, *type; /* of what is made; type NULL: it has none */
    char *name;
    json_t *wanted; /* `data`; NULL: it should not be there */
    bool keep;      /* left as it is */
    bool is_there;  /* and ours */
};

struct pass {
    struct kube_client *client;
    cluster_binding_done_fn done;
    void *arg;
    char *ns;
    json_t *metadata;
    struct object objects[OBJECT_COUNT];
    int pending;
    struct cluster_binding_facts facts;
    struct error first_error;
};

static void pass_end(struct pass *pass)
{
    pass->facts.known = !pass->first_error.kind;
    pass->facts.has_secret = pass->objects[OBJECT_SECRET].is_there;
    pass->done(pass->arg, &pass->facts, pass->first_error.kind ? &pass->first_error : NULL);
    for (int i = 0; i < OBJECT_COUNT; i++) {
        free(pass->objects[i].name);
        json_decref(pass->objects[i].wanted);
    }
    json_decref(pass->metadata);
    free(pass->ns);
    free(pass);
}

static void object_end(struct object *object, const struct error *err)
{
    struct pass *pass = object->pass;
    if (err && !pass->first_error.kind) {
        pass->first_error = *err;
        error_prefix(&pass->first_error, "%s %s", object->kind, object->name);
    }
    if (--pass->pending == 0)
        pass_end(pass);
}

static void on_written(void *arg, const struct kube_answer *answer, const struct error *err)
{
    UNUSED(answer);
    struct object *object = arg;
    struct error again = ERROR_INIT;
    if (err && err->kind == ERROR_EXISTS) { /* made since we looked: whose it is shows the next look */
        again = *err;
        again.kind = ERROR_CONFLICT;
        err = &again;
    }
    if (!err)
        object->is_there = object->wanted != NULL;
    object_end(object, err);
}

static void on_deleted(void *arg, const struct kube_answer *answer, const struct error *err)
{
    on_written(arg, answer, err && err->kind == ERROR_NOT_FOUND ? NULL : err);
}

static void create(struct object *object)
{
    struct pass *pass = object->pass;
    json_t *metadata = json_deep_copy(pass->metadata);
    json_put_str(metadata, "name", object->name);
    json_put_str(metadata, "namespace", pass->ns);
    json_t *body = json_build(
        "{s:s, s:s, s:o, s:O}", "apiVersion", "v1", "kind", object->kind, "metadata", metadata, "data", object->wanted);
    if (object->type)
        json_put_str(body, "type", object->type);
    kube_create(pass->client, object->resource, pass->ns, body, on_written, object);
    json_decref(body);
}

/* Keys that do not belong there are null. */
static json_t *changes(const json_t *held, const json_t *wanted)
{
    json_t *patch = json_object();
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)wanted, key, value) {
        if (!json_equal(json_object_get(held, key), value))
            json_object_set(patch, key, value);
    }
    json_object_foreach((json_t *)held, key, value) {
        if (!json_object_get(wanted, key))
            json_object_set_new(patch, key, json_null());
    }
    return patch;
}

/* adoption: metadata that makes it ours; NULL: it is. */
static void change(struct object *object, const json_t *live, json_t *adoption)
{
    struct pass *pass = object->pass;
    const char *uid = json_path_str(live, "metadata.uid", NULL);
    _cleanup_(json_decrefp) json_t *data = changes(json_object_get(live, "data"), object->wanted);
    if (json_object_size(data) == 0 && !adoption) {
        object->is_there = true;
        object_end(object, NULL);
        return;
    }
    json_t *patch = json_build("{s:O}", "data", data);
    json_put(patch, "metadata", adoption ? json_incref(adoption) : json_build("{s:s}", "uid", uid));
    kube_patch(
        pass->client, object->resource, pass->ns, object->name, NULL, KUBE_PATCH_MERGE, patch, on_written, object);
    json_decref(patch);
}

static void drop(struct object *object, const json_t *live)
{
    struct pass *pass = object->pass;
    const struct kube_delete_options options = {.uid = json_path_str(live, "metadata.uid", NULL), .grace_seconds = -1};
    kube_delete(pass->client, object->resource, pass->ns, object->name, &options, on_deleted, object);
}

/* One that is in nobody's way is not told of. */
static void meet_other(struct object *object, const struct error *whose)
{
    struct cluster_binding_facts *facts = &object->pass->facts;
    bool is_missed = object->wanted && !object->keep;
    if (is_missed && whose->kind == ERROR_EXISTS && str_empty(facts->conflict))
        snprintf(facts->conflict, sizeof(facts->conflict), "%s %s: %s", object->kind, object->name, whose->message);
    object_end(object, is_missed && whose->kind != ERROR_EXISTS ? whose : NULL);
}

static bool is_orphan(const struct object *object, const json_t *live)
{
    return ownership_is_orphan(live, object->pass->metadata, kube_client_field_manager(object->pass->client));
}

static void on_read(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct object *object = arg;
    struct error whose = ERROR_INIT;
    if (err && err->kind == ERROR_NOT_FOUND && object->wanted && !object->keep)
        create(object);
    else if (err)
        object_end(object, err->kind == ERROR_NOT_FOUND ? NULL : err);
    else if (object->wanted && !object->keep && is_orphan(object, answer->object)) {
        _cleanup_(json_decrefp) json_t *adoption = ownership_adoption(answer->object, object->pass->metadata);
        change(object, answer->object, adoption);
    } else if (ownership_check(answer->object, object->pass->metadata, &whose) < 0)
        meet_other(object, &whose);
    else if (object->keep || object->wanted == NULL) {
        object->is_there = object->keep;
        if (object->keep)
            object_end(object, NULL);
        else
            drop(object, answer->object);
    } else
        change(object, answer->object, NULL);
}

void cluster_binding_ensure(struct kube_client *client, const struct kube_resource *secrets,
    const struct kube_resource *config_maps, const struct cluster_binding_request *request,
    cluster_binding_done_fn done, void *arg)
{
    struct pass *pass = xnew(struct pass);
    pass->client = client;
    pass->done = done;
    pass->arg = arg;
    pass->ns = xstrdup(request->ns);
    pass->metadata = json_deep_copy(request->metadata);
    pass->objects[OBJECT_SECRET] = (struct object){
        .resource = secrets,
        .kind = "Secret",
        .type = BINDING_SECRET_TYPE,
        .name = xstrdup(request->secret_name),
        .wanted = request->wish == BINDING_WANTED ? binding_secret_data(&request->binding) : NULL,
        .keep = request->wish == BINDING_KEEP,
    };
    pass->objects[OBJECT_BUNDLE] = (struct object){
        .resource = config_maps,
        .kind = "ConfigMap",
        .name = xstrdup(request->bundle_name),
        .wanted = binding_bundle_data(request->binding.ca_pem),
    };
    pass->pending = OBJECT_COUNT;
    for (int i = 0; i < OBJECT_COUNT; i++) {
        pass->objects[i].pass = pass;
        kube_get(client, pass->objects[i].resource, pass->ns, pass->objects[i].name, on_read, &pass->objects[i]);
    }
}
