/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_visit.h: one round of one ConfigMapSync: finalizer, source, decision, its steps (at most SYNC_STEPS_AT_ONCE at a
 * time), status. Private to the controller.
 */
#ifndef KM_SYNC_VISIT_H
#define KM_SYNC_VISIT_H

#include "common/base.h"

#include "common/hashmap.h"
#include "operator/api/sync_projections.h"
#include "operator/configmapsync/sync_controller.h"
#include "operator/configmapsync/sync_decide.h"

#define SYNC_STEPS_AT_ONCE 4 /* each may hold 1 MiB of a ConfigMap */

struct sync_controller {
    struct kube_client *client;
    struct sync_controller_options options;
    const struct kube_resource *sync_resource, *map_resource;
    struct informer *syncs, *copies, *namespaces;
    struct informer *originals; /* ConfigMaps that are a source */
    struct hashmap sources;     /* their keys, by which `originals` chooses */
};

/* Ends by reconcile_finish: after an error with back-off, else again after a while, sooner where something that is not
 * watched has to change first. The object is only looked at during the call. */
void sync_visit_start(struct sync_controller *controller, const struct sync_object *object, struct reconcile *run);

#endif
