/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/kube/lease.h"

#include "common/alloc.h"
#include "common/clock.h"
#include "common/hashmap.h"
#include "common/json.h"
#include "common/strbuf.h"

static struct kube_object *lease_project(struct json_slice object, struct error *err)
{
    struct kube_meta meta;
    if (kube_meta_scan(object, &meta, err) < 0)
        return NULL;
    struct json_slice spec = json_slice_member(object, "spec");
    _cleanup_(freep) char *holder = json_slice_strdup(json_slice_member(spec, "holderIdentity"));
    size_t holder_size = strlen(str_or_empty(holder)) + 1;
    char *extra;
    struct kube_object *base = kube_object_new(sizeof(struct lease), &meta, holder_size, &extra);
    struct lease *lease = container_of(base, struct lease, object);
    memcpy(extra, str_or_empty(holder), holder_size);
    lease->holder = extra;
    lease->duration_ms = 1000 * json_slice_int(json_slice_member(spec, "leaseDurationSeconds"), 0);
    lease->transitions = json_slice_int(json_slice_member(spec, "leaseTransitions"), 0);
    lease->record = hash64(HASH64_INIT, spec.data ? spec.data : "", spec.len);
    return base;
}

const struct kube_projection lease_projection = {.project = lease_project};

json_t *lease_encode(const struct lease_write *write, const struct kube_resource *resource)
{
    char now[CLOCK_RFC3339_MICRO_SIZE];
    clock_format_rfc3339_micro(write->now_us, now);
    json_t *spec = json_object();
    json_put_str(spec, "holderIdentity", write->holder);
    json_put_int(spec, "leaseDurationSeconds", MAX_OF((write->duration_ms + 999) / 1000, 1));
    json_put_str(spec, "renewTime", now);
    json_put_int(spec, "leaseTransitions", write->transitions);
    if (write->acquired)
        json_put_str(spec, "acquireTime", now);
    json_t *metadata = json_object();
    json_put_str(metadata, "resourceVersion", write->resource_version);
    json_t *object = json_object();
    if (!write->resource_version) {
        _cleanup_(strbuf_release) struct strbuf version;
        strbuf_init(&version, KUBE_NAME_MAX);
        kube_resource_api_version(resource, &version);
        json_put_str(object, "apiVersion", version.buf);
        json_put_str(object, "kind", resource->kind->kind);
        json_put_str(metadata, "namespace", write->ns);
        json_put_str(metadata, "name", write->name);
    }
    json_put(object, "metadata", metadata);
    json_put(object, "spec", spec);
    return object;
}
