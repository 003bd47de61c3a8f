/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml_json.h: one YAML document as a jansson tree (libyaml). Private to kube_config.
 *
 * Plain null, true and false become what they are in JSON, every other scalar a string: a kubeconfig has no numbers,
 * and a token or name of digits stays what was written. Anchors and aliases work within bounds (nodes and depth), so a
 * small text cannot grow into a large tree.
 */
#ifndef KM_YAML_JSON_H
#define KM_YAML_JSON_H

#include "common/base.h"

#include <jansson.h>

#include "common/error.h"

#define YAML_NODES_MAX 20000
#define YAML_DEPTH_MAX 32

/* New tree, or NULL: ERROR_INVALID with the line; never quotes content (it may be secret). An empty text is an
 * error. */
json_t *yaml_to_json(const char *yaml, size_t len, struct error *err);

#endif
