/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/sync_projections.h"

#include "common/alloc.h"
#include "common/hashmap.h"
#include "common/json.h"
#include "operator/api/config_map_sync.h"
#include "operator/api/names.h"
#include "operator/api/object_pieces.h"

static json_t *parse(const char *text)
{
    return *text ? json_parse(text, strlen(text), NULL) : NULL;
}

/* ---- ConfigMapSync ---- */

static bool has_finalizer(struct json_slice object, const char *name)
{
    struct json_slice each;
    struct json_slice finalizers = json_slice_get(object, "metadata", "finalizers", NULL);
    for (const char *cursor = NULL; json_slice_next_element(finalizers, &cursor, &each);)
        if (json_slice_str_eq(each, name))
            return true;
    return false;
}

static char *source_key(struct json_slice spec)
{
    _cleanup_(freep) char *ns = json_slice_strdup(json_slice_member(spec, "sourceNamespace"));
    _cleanup_(freep) char *name = json_slice_strdup(json_slice_member(spec, "configMapName"));
    return ns && name ? xasprintf("%s/%s", ns, name) : NULL;
}

static struct kube_object *project_sync(struct json_slice object, struct error *err)
{
    struct kube_meta meta;
    struct pieces pieces = {.count = 0};
    if (kube_meta_scan(object, &meta, err) < 0)
        return NULL;
    struct json_slice spec = json_slice_member(object, "spec");
    pieces_add_string(&pieces, offsetof(struct sync_object, ns), meta.ns, KUBE_LABEL_MAX);
    pieces_add_string(&pieces, offsetof(struct sync_object, uid), meta.uid, KUBE_NAME_MAX);
    pieces_add(&pieces, offsetof(struct sync_object, source_key), source_key(spec));
    pieces_add_object(&pieces, offsetof(struct sync_object, spec), spec);
    pieces_add_object(&pieces, offsetof(struct sync_object, status), json_slice_member(object, "status"));
    struct sync_object *ret = pieces_build(&pieces, sizeof(*ret), &meta);
    ret->name = pieces_name(&ret->object);
    ret->object.digest = kube_object_digest(object);
    ret->has_finalizer = has_finalizer(object, FINALIZER_SYNC);
    return &ret->object;
}

json_t *sync_object_spec(const struct sync_object *object)
{
    return parse(object->spec);
}

json_t *sync_object_status(const struct sync_object *object)
{
    return parse(object->status);
}

const struct kube_projection projection_config_map_sync = {.project = project_sync};

/* ---- ConfigMap ---- */

/* The API server prints a map with sorted keys, so equal ones are equal texts. */
static uint64_t digest_map(uint64_t state, struct json_slice map, const char *name)
{
    struct json_slice key, value;
    for (const char *cursor = NULL; json_slice_next_member(map, &cursor, &key, &value);) {
        state = hash64(state, name, strlen(name));
        state = hash64(state, key.data, key.len);
        state = hash64(state, "", 1);
        state = hash64(state, value.data, value.len);
    }
    return state;
}

uint64_t config_map_content_digest(struct json_slice object)
{
    uint64_t state = digest_map(HASH64_INIT, json_slice_member(object, "data"), "data");
    return digest_map(state, json_slice_member(object, "binaryData"), "binaryData");
}

static struct kube_object *project_config_map(struct json_slice object, struct error *err)
{
    struct kube_meta meta;
    struct pieces pieces = {.count = 0};
    if (kube_meta_scan(object, &meta, err) < 0)
        return NULL;
    pieces_add_string(&pieces, offsetof(struct config_map_object, ns), meta.ns, KUBE_LABEL_MAX);
    pieces_add_string(&pieces, offsetof(struct config_map_object, uid), meta.uid, KUBE_NAME_MAX);
    pieces_add_string(&pieces, offsetof(struct config_map_object, sync_of),
        json_slice_member(meta.annotations, ANNOTATION_SYNC_OF), KUBE_KEY_MAX);
    struct config_map_object *ret = pieces_build(&pieces, sizeof(*ret), &meta);
    ret->name = pieces_name(&ret->object);
    ret->object.digest = config_map_content_digest(object);
    return &ret->object;
}

const struct kube_projection projection_config_map = {.project = project_config_map};

/* ---- Namespace ---- */

static struct kube_object *project_namespace(struct json_slice object, struct error *err)
{
    struct kube_meta meta;
    struct pieces pieces = {.count = 0};
    if (kube_meta_scan(object, &meta, err) < 0)
        return NULL;
    struct json_slice from = json_slice_member(meta.annotations, ANNOTATION_SYNC_FROM);
    pieces_add_string(&pieces, offsetof(struct namespace_object, sync_from), from, SYNC_CONSENT_MAX);
    pieces_add_object(&pieces, offsetof(struct namespace_object, labels), meta.labels);
    struct namespace_object *ret = pieces_build(&pieces, sizeof(*ret), &meta);
    ret->name = pieces_name(&ret->object);
    /* Nothing else of a namespace matters here, and others write its annotations often. */
    ret->object.digest = hash64(HASH64_INIT, meta.labels.data, meta.labels.len);
    ret->object.digest = hash64(ret->object.digest, from.data, from.len);
    return &ret->object;
}

json_t *namespace_object_labels(const struct namespace_object *object)
{
    return parse(object->labels);
}

const struct kube_projection projection_namespace = {.project = project_namespace};
