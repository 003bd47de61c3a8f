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

bool cluster_map_matters(const struct kube_object *old_object, const struct kube_object *new_object)
{
    return !old_object || !new_object || predicate_generation_or_digest_changed(old_object, new_object) ||
        ((const struct custom_object *)old_object)->archive_digest !=
        ((const struct custom_object *)new_object)->archive_digest;
}
