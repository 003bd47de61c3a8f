/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_maps.h: which cluster is looked at when something of it changes that it does not own.
 */
#ifndef KM_CLUSTER_MAPS_H
#define KM_CLUSTER_MAPS_H

#include "operator/runtime/controller.h"

/* By the label. */
void cluster_map_pod(void *arg, const struct kube_object *object, controller_emit_fn emit, void *emit_arg);
void cluster_map_claim(void *arg, const struct kube_object *object, controller_emit_fn emit, void *emit_arg);
/* The last backup of a cluster that goes, and no other. */
void cluster_map_backup(void *arg, const struct kube_object *object, controller_emit_fn emit, void *emit_arg);

/* An EndpointSlice that is not ours, of a primary Service. */
void cluster_map_foreign_slice(void *arg, const struct kube_object *object, controller_emit_fn emit, void *emit_arg);
/* Whether an EndpointSlice of that key may be one: it is named after its Service, by Kubernetes' controllers. */
bool cluster_foreign_slice_is_wanted(void *arg, const char *key);

/* Which change of a cluster wakes it: of all but its status, and of what the controller of archives has written there,
 * which becomes a condition. */
bool cluster_map_matters(const struct kube_object *old_object, const struct kube_object *new_object);

#endif
