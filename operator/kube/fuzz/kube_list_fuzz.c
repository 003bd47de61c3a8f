/* SPDX-License-Identifier: Apache-2.0 */
/* A list as the reflector reads it: cut, every object projected. Whole and in chunks must give the same. */
#include "common/base.h"

#include "common/hashmap.h"
#include "common/json_scan.h"
#include "operator/kube/kube_object.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int on_element(void *arg, struct json_slice element, struct error *err)
{
    UNUSED(err);
    uint64_t *hash = arg;
    struct error project_err = ERROR_INIT;
    struct kube_object *object = kube_projection_child.project(element, &project_err);
    *hash = hash64(*hash, element.data, element.len);
    if (!object)
        return 0;
    *hash = hash64(*hash, object->key, strlen(object->key));
    *hash = hash64(*hash, object->resource_version, strlen(object->resource_version));
    free(object);
    return 0;
}

static int on_member(void *arg, struct json_slice key, struct json_slice value, struct error *err)
{
    UNUSED(err);
    uint64_t *hash = arg;
    *hash = hash64(*hash, key.data, key.len);
    char *version = json_slice_strdup(json_slice_member(value, "resourceVersion"));
    if (version)
        *hash = hash64(*hash, version, strlen(version));
    free(version);
    return 0;
}

static int cut(const uint8_t *data, size_t size, size_t chunk, uint64_t *ret_hash)
{
    static const struct json_cutter_ops ops = {.element = on_element, .member = on_member};
    *ret_hash = HASH64_INIT;
    struct json_cutter *cutter = json_cutter_new("items", KUBE_OBJECT_MAX, &ops, ret_hash);
    struct error err = ERROR_INIT;
    int rc = 0;
    for (size_t at = 0; rc == 0 && at < size; at += chunk)
        rc = json_cutter_feed(cutter, data + at, MIN_OF(chunk, size - at), &err);
    if (rc == 0)
        rc = json_cutter_finish(cutter, &err);
    json_cutter_free(cutter);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t whole;
    uint64_t pieces;
    int whole_rc = cut(data, size, MAX_OF(size, 1U), &whole);
    int pieces_rc = cut(data, size, 1 + size % 13, &pieces);
    if (whole_rc != pieces_rc || whole != pieces)
        abort();
    return 0;
}
