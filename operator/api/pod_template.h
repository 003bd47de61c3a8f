/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_template.h: what people may change about our pods, and how templates are laid over each other.
 *
 * A podTemplate is {metadata{labels, annotations}, spec}: spec is a core/v1 PodSpec or any part of it. Merging is by
 * key; arrays whose elements all have a unique `name` (containers, volumes, env, imagePullSecrets) merge by name,
 * volumeMounts by `mountPath`, all other arrays are replaced. null removes a key. So `spec.containers: [{name: mysql,
 * resources: ...}]` changes our container and `[{name: exporter, image: ...}]` adds one.
 */
#ifndef KM_POD_TEMPLATE_H
#define KM_POD_TEMPLATE_H

#include "common/base.h"

#include <jansson.h>

#include "operator/api/api_problems.h"

/* Lays over onto base in place. over NULL: nothing. */
void pod_template_merge(json_t *base, const json_t *over);
/* Adds problems for what the operator must own: image, command and args of our containers (images are spec.images),
 * restartPolicy, hostname, subdomain, our labels and annotations, our volumes; containers without a name. */
void pod_template_check(const json_t *pod_template, const char *prefix, struct api_problems *problems);
/* Adds problems for labels and annotations of {labels, annotations} that are ours. NULL is fine. */
void metadata_check(const json_t *metadata, const char *prefix, struct api_problems *problems);

#endif
