/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/kube/store.h"
#include "operator/runtime/controller.h"

void controller_map_self(void *arg, const struct kube_object *object, controller_emit_fn emit, void *emit_arg)
{
    UNUSED(arg);
    emit(emit_arg, object->key);
}

/* An owner that is not there (yet, or any more) gets no key: when it appears, its own event brings it. */
void controller_map_owner(void *arg, const struct kube_object *object, controller_emit_fn emit, void *emit_arg)
{
    const struct informer *owners = arg;
    if (kube_uid_is_zero(object->owner))
        return;
    const struct kube_object *owner = store_get_by_uid(informer_store(owners), object->owner);
    if (owner)
        emit(emit_arg, owner->key);
}

bool predicate_generation_or_digest_changed(const struct kube_object *old_object, const struct kube_object *new_object)
{
    if (!old_object || !new_object)
        return true;
    if (old_object->generation != new_object->generation || old_object->digest != new_object->digest ||
        old_object->deleting != new_object->deleting || !kube_uid_eq(old_object->uid, new_object->uid))
        return true;
    /* A projection that keeps neither tells us nothing: any change may matter. */
    bool blind = new_object->generation == 0 && new_object->digest == 0;
    return blind && !str_eq(old_object->resource_version, new_object->resource_version);
}

bool namespace_is_watched(const struct strvec *watched, const char *ns)
{
    return !watched || watched->n == 0 || strvec_contains(watched, ns);
}
