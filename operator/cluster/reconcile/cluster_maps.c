/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/reconcile/cluster_maps.h"

#include "common/alloc.h"
#include "operator/api/projections.h"

void cluster_map_pod(void *arg, const struct kube_object *object, controller_emit_fn emit, void *emit_arg)
{
    UNUSED(arg);
    const struct pod_object *pod = (const struct pod_object *)object;
    _cleanup_(freep) char *key = str_empty(pod->cluster) ? NULL : kube_key(pod->ns, pod->cluster);
    if (key)
        emit(emit_arg, key);
}

void cluster_map_claim(void *arg, const struct kube_object *object, controller_emit_fn emit, void *emit_arg)
{
    UNUSED(arg);
    const struct pvc_object *claim = (const struct pvc_object *)object;
    _cleanup_(freep) char *key = str_empty(claim->cluster) ? NULL : kube_key(claim->ns, claim->cluster);
    if (key)
        emit(emit_arg, key);
}

void cluster_map_backup(void *arg, const struct kube_object *object, controller_emit_fn emit, void *emit_arg)
{
    UNUSED(arg);
    const struct custom_object *backup = (const struct custom_object *)object;
    bool matters = str_eq(backup->final, "true") && !str_empty(backup->cluster_name);
    _cleanup_(freep) char *key = matters ? kube_key(backup->ns, backup->cluster_name) : NULL;
    if (key)
        emit(emit_arg, key);
}

void cluster_map_foreign_slice(void *arg, const struct kube_object *object, controller_emit_fn emit, void *emit_arg)
{
    UNUSED(arg);
    const struct endpoint_slice_object *slice = (const struct endpoint_slice_object *)object;
    struct cluster_names names;
    cluster_names_init(&names, slice->cluster);
    if (!str_empty(slice->cluster) && str_eq(slice->service, names.service_primary)) {
        _cleanup_(freep) char *key = kube_key(slice->ns, slice->cluster);
        emit(emit_arg, key);
    }
}

/* generateName: the API server cuts what stands before the suffix to 58 characters, and CLUSTER_NAME_MAX leaves so many
 * of "-mysql-primary". https://github.com/kubernetes/apiserver/blob/master/pkg/storage/names/generate.go */
bool cluster_foreign_slice_is_wanted(void *arg, const char *key)
{
    UNUSED(arg);
    return strstr(key, "-mysql-prima") != NULL;
}

bool cluster_map_matters(const struct kube_object *old_object, const struct kube_object *new_object)
{
    return !old_object || !new_object || predicate_generation_or_digest_changed(old_object, new_object) ||
        ((const struct custom_object *)old_object)->archive_digest !=
        ((const struct custom_object *)new_object)->archive_digest;
}
