/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/backup/backup_maps.h"

#include "common/alloc.h"
#include "operator/api/projections.h"

void backup_map_cluster(void *arg, const struct kube_object *object, controller_emit_fn emit, void *emit_arg)
{
    UNUSED(arg);
    const struct custom_object *backup = (const struct custom_object *)object;
    _cleanup_(freep) char *key = str_empty(backup->cluster_name) ? NULL : kube_key(backup->ns, backup->cluster_name);
    if (key)
        emit(emit_arg, key);
}

bool backup_phase_changed(const struct kube_object *old_object, const struct kube_object *new_object)
{
    if (!old_object || !new_object || old_object->deleting != new_object->deleting)
        return true;
    const struct custom_object *before = (const struct custom_object *)old_object;
    const struct custom_object *now = (const struct custom_object *)new_object;
    return before->backup_phase != now->backup_phase || before->refusal_digest != now->refusal_digest;
}
