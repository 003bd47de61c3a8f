/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/alloc.h"
#include "common/json.h"
#include "operator/kube/kube_client.h"
#include "operator/kube/kube_client_private.h"

#define TYPE_JSON "application/json"
#define TYPE_APPLY "application/apply-patch+yaml" /* every JSON text is YAML */

/* A path is bounded by its parts (limits.h: names and labels), each of which may triple by percent-encoding. */
#define PATH_MAX_BYTES (4 * KM_KIB)

static char *make_path(const struct kube_resource *resource, const char *ns, const char *name, const char *subresource)
{
    struct strbuf path;
    strbuf_init(&path, PATH_MAX_BYTES);
    kube_resource_path(resource, ns, name, subresource, &path);
    return strbuf_detach(&path, NULL);
}

/* Path of a write: with our name, so that managedFields tell who wrote. */
static char *make_write_path(const struct kube_client *client, const struct kube_resource *resource, const char *ns,
    const char *name, const char *subresource, bool force)
{
    struct strbuf path;
    strbuf_init(&path, PATH_MAX_BYTES);
    kube_resource_path(resource, ns, name, subresource, &path);
    strbuf_adds(&path, "?fieldManager=");
    strbuf_add_urlencoded(&path, kube_client_field_manager(client));
    if (force)
        strbuf_adds(&path, "&force=true");
    return strbuf_detach(&path, NULL);
}

static const char *object_namespace(const struct kube_resource *resource, const json_t *object)
{
    return resource->kind->namespaced ? json_path_str(object, "metadata.namespace", "default") : NULL;
}

static const char *object_name(const json_t *object)
{
    return json_path_str(object, "metadata.name", "");
}

struct kube_request *kube_get(struct kube_client *client, const struct kube_resource *resource, const char *ns,
    const char *name, kube_done_fn done, void *arg)
{
    const struct kube_call call = {
        .verb = "get",
        .resource = resource->kind->plural,
        .http_method = "GET",
        .path = make_path(resource, ns, name, NULL),
        .repeatable = true,
    };
    return kube_submit(client, &call, done, arg);
}

struct kube_request *kube_get_path(struct kube_client *client, const char *path, kube_done_fn done, void *arg)
{
    const struct kube_call call = {
        .verb = "get", .resource = "", .http_method = "GET", .path = xstrdup(path), .repeatable = true};
    return kube_submit(client, &call, done, arg);
}

static struct kube_request *create(struct kube_client *client, const struct kube_resource *resource, char *path,
    const json_t *object, bool repeatable, kube_done_fn done, void *arg)
{
    const struct kube_call call = {
        .verb = "create",
        .resource = resource->kind->plural,
        .http_method = "POST",
        .content_type = TYPE_JSON,
        .path = path,
        .body = json_text(object),
        .repeatable = repeatable,
    };
    return kube_submit(client, &call, done, arg);
}

struct kube_request *kube_create(struct kube_client *client, const struct kube_resource *resource, const char *ns,
    const json_t *object, kube_done_fn done, void *arg)
{
    return create(client, resource, make_write_path(client, resource, ns, NULL, NULL, false), object, false, done, arg);
}

struct kube_request *kube_create_strictly(struct kube_client *client, const struct kube_resource *resource,
    const char *ns, const json_t *object, kube_done_fn done, void *arg)
{
    _cleanup_(freep) char *path = make_write_path(client, resource, ns, NULL, NULL, false);
    return create(client, resource, xasprintf("%s&fieldValidation=Strict", path), object, false, done, arg);
}

struct kube_request *kube_try_create(struct kube_client *client, const struct kube_resource *resource, const char *ns,
    const json_t *object, kube_done_fn done, void *arg)
{
    _cleanup_(freep) char *path = make_write_path(client, resource, ns, NULL, NULL, false);
    return create(client, resource, xasprintf("%s&dryRun=All&fieldValidation=Strict", path), object, true, done, arg);
}

json_t *kube_namespace_probe(const char *ns)
{
    return json_build("{s:s, s:s, s:{s:s, s:s}}", "apiVersion", "v1", "kind", "ConfigMap", "metadata", "generateName",
        "kube-mysql-", "namespace", ns);
}

static struct kube_request *apply(struct kube_client *client, const struct kube_resource *resource,
    const char *subresource, const json_t *object, kube_done_fn done, void *arg)
{
    const char *ns = object_namespace(resource, object);
    const struct kube_call call = {
        .verb = subresource ? "apply_status" : "apply",
        .resource = resource->kind->plural,
        .http_method = "PATCH",
        .content_type = TYPE_APPLY,
        .path = make_write_path(client, resource, ns, object_name(object), subresource, true),
        .body = json_text(object),
        .repeatable = true,
    };
    return kube_submit(client, &call, done, arg);
}

struct kube_request *kube_apply(struct kube_client *client, const struct kube_resource *resource, const json_t *object,
    kube_done_fn done, void *arg)
{
    return apply(client, resource, NULL, object, done, arg);
}

struct kube_request *kube_apply_status(struct kube_client *client, const struct kube_resource *resource,
    const json_t *object, kube_done_fn done, void *arg)
{
    return apply(client, resource, "status", object, done, arg);
}

struct kube_request *kube_patch(struct kube_client *client, const struct kube_resource *resource, const char *ns,
    const char *name, const char *subresource, enum kube_patch_type type, const json_t *patch, kube_done_fn done,
    void *arg)
{
    static const char *const types[] = {
        [KUBE_PATCH_MERGE] = "application/merge-patch+json",
        [KUBE_PATCH_JSON] = "application/json-patch+json",
        [KUBE_PATCH_STRATEGIC] = "application/strategic-merge-patch+json",
    };
    const struct kube_call call = {
        .verb = "patch",
        .resource = resource->kind->plural,
        .http_method = "PATCH",
        .content_type = types[type],
        .path = make_write_path(client, resource, ns, name, subresource, false),
        .body = json_text(patch),
    };
    return kube_submit(client, &call, done, arg);
}

struct kube_request *kube_update(struct kube_client *client, const struct kube_resource *resource,
    const char *subresource, const json_t *object, kube_done_fn done, void *arg)
{
    const char *ns = object_namespace(resource, object);
    const struct kube_call call = {
        .verb = "update",
        .resource = resource->kind->plural,
        .http_method = "PUT",
        .content_type = TYPE_JSON,
        .path = make_write_path(client, resource, ns, object_name(object), subresource, false),
        .body = json_text(object),
    };
    return kube_submit(client, &call, done, arg);
}

static char *delete_body(const struct kube_delete_options *options)
{
    _cleanup_(json_decrefp) json_t *body = json_object();
    json_put_str(body, "apiVersion", "v1");
    json_put_str(body, "kind", "DeleteOptions");
    json_put_str(body, "propagationPolicy", options->propagation ? options->propagation : "Background");
    if (options->grace_seconds >= 0)
        json_put_int(body, "gracePeriodSeconds", options->grace_seconds);
    if (options->uid || options->resource_version) {
        json_t *preconditions = json_object();
        json_put_str(preconditions, "uid", options->uid);
        json_put_str(preconditions, "resourceVersion", options->resource_version);
        json_put(body, "preconditions", preconditions);
    }
    return json_text(body);
}

struct kube_request *kube_delete(struct kube_client *client, const struct kube_resource *resource, const char *ns,
    const char *name, const struct kube_delete_options *options, kube_done_fn done, void *arg)
{
    static const struct kube_delete_options defaults = {.grace_seconds = -1};
    options = options ? options : &defaults;
    const struct kube_call call = {
        .verb = "delete",
        .resource = resource->kind->plural,
        .http_method = "DELETE",
        .content_type = TYPE_JSON,
        .path = make_path(resource, ns, name, NULL),
        .body = delete_body(options),
        .repeatable = options->uid != NULL,
    };
    return kube_submit(client, &call, done, arg);
}

/* ---- discovery ---- */

struct discovery {
    const struct kube_kind *const *kinds;
    size_t count;
    struct kube_resource *resources;
    void (*done)(void *arg, const struct error *err);
    void *arg;
};

static void on_groups(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct discovery *discovery = arg;
    struct error choose_err = ERROR_INIT;
    for (size_t i = 0; !err && i < discovery->count; i++) {
        if (kube_resource_choose(
                discovery->kinds[i], answer->raw.data, answer->raw.len, &discovery->resources[i], &choose_err) < 0)
            err = &choose_err;
    }
    discovery->done(discovery->arg, err);
}

void kube_discover(struct kube_client *client, const struct kube_kind *const *kinds, size_t count,
    struct kube_resource *ret_resources, void (*done)(void *arg, const struct error *err), void *arg)
{
    struct discovery *discovery = xnew(struct discovery);
    *discovery =
        (struct discovery){.kinds = kinds, .count = count, .resources = ret_resources, .done = done, .arg = arg};
    const struct kube_call call = {.verb = "get",
        .resource = "",
        .http_method = "GET",
        .path = xstrdup("/apis"),
        .repeatable = true,
        .free_arg = free};
    kube_submit(client, &call, on_groups, discovery);
}
