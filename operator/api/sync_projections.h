/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_projections.h: what the caches keep for ConfigMapSync (see kube_object.h for the rule).
 *
 * Of a ConfigMap it is a digest of its content, never the content: that of source and copy are equal if data and
 * binaryData are, so nothing has to be read to know that nothing is to be done. Strings point into the block of their
 * object and are never NULL ("" if absent).
 */
#ifndef KM_SYNC_PROJECTIONS_H
#define KM_SYNC_PROJECTIONS_H

#include "common/base.h"

#include <jansson.h>

#include "operator/kube/kube_object.h"

struct sync_object { /* a ConfigMapSync */
    struct kube_object object;
    const char *ns, *name, *uid;
    const char *source_key;    /* "NAMESPACE/NAME" of the source; "" unless both are texts */
    const char *spec, *status; /* JSON texts; "" if absent */
    bool has_finalizer;        /* FINALIZER_SYNC */
};
/* New trees (caller drops them), NULL if absent or malformed. */
json_t *sync_object_spec(const struct sync_object *object);
json_t *sync_object_status(const struct sync_object *object);

struct config_map_object {
    struct kube_object object; /* its digest is that of the content alone */
    const char *ns, *name, *uid;
    const char *sync_of; /* annotation ANNOTATION_SYNC_OF */
};

struct namespace_object {
    struct kube_object object;
    const char *name;
    const char *sync_from; /* annotation ANNOTATION_SYNC_FROM, at most SYNC_CONSENT_MAX bytes */
    const char *labels;    /* JSON text; "" if there are none */
};
json_t *namespace_object_labels(const struct namespace_object *object); /* new tree or NULL */

/* Of data and binaryData; nothing in them is as if they were not there. */
uint64_t config_map_content_digest(struct json_slice object);

extern const struct kube_projection projection_config_map_sync, projection_config_map, projection_namespace;

#endif
