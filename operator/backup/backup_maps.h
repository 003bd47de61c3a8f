/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backup_maps.h: which cluster is looked at when a MysqlBackup of it changes.
 */
#ifndef KM_BACKUP_MAPS_H
#define KM_BACKUP_MAPS_H

#include "operator/runtime/controller.h"

/* Map: the cluster that it names. */
void backup_map_cluster(void *arg, const struct kube_object *object, controller_emit_fn emit, void *emit_arg);
/* Predicate: it came, goes, has another phase, or its pod is refused in other words. Progress of one that runs is no
 * news. */
bool backup_phase_changed(const struct kube_object *old_object, const struct kube_object *new_object);

#endif
