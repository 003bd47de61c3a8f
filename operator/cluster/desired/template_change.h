/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template_change.h: what differs between two pod templates, for people: "resources.limits.memory 1Gi -> 2Gi (init,
 * mysql); image a:1 -> a:2 (inject)". Pure.
 *
 * Both as the API server stores them, with its defaults. Values are shown of numbers and of fields that name a
 * resource, an image or a place; of others, as of environment variables, arguments and annotations, only that they
 * changed: they may be secret (I9).
 */
#ifndef KM_TEMPLATE_CHANGE_H
#define KM_TEMPLATE_CHANGE_H

#include "common/base.h"

#include <jansson.h>

#define TEMPLATE_CHANGE_SIZE 224

/* "": nothing differs, or one is NULL. Cut between changes: "...; 3 more". */
void template_change_text(const json_t *before, const json_t *now, char out[static TEMPLATE_CHANGE_SIZE]);

#endif
