/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_controller.h: the controller of ConfigMapSync: copies of a ConfigMap in other namespaces, kept equal to it.
 *
 * Three caches: the ConfigMapSyncs' own, the copies (by their label), and of all other ConfigMaps only those that are a
 * source, each as a digest of its content. So what is held grows with the ConfigMapSyncs, not with the cluster. A round
 * reads the source, compares digests, and reads and writes only the copies that differ. A source's change wakes its
 * ConfigMapSyncs at once, a change of a namespace those that may mean it.
 *
 * What stands there without our label and annotation is somebody else's and is left alone. A finalizer makes sure that
 * the copies go first.
 */
#ifndef KM_SYNC_CONTROLLER_H
#define KM_SYNC_CONTROLLER_H

#include "common/strvec.h"
#include "operator/runtime/manager.h"

struct sync_controller_options {
    const struct strvec *watch_namespaces; /* of ConfigMapSyncs; empty or NULL: all */
    bool without_consent;
    const char *own_namespace;  /* gets no copies; NULL: unknown. Outlives the controller */
    int64_t blocked_recheck_ms; /* 0: 20 s */
};

void sync_controller_use_kinds(struct manager *manager);
void sync_controller_setup(struct manager *manager, const struct sync_controller_options *options);

#endif
