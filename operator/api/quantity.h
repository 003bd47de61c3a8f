/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantity.h: Kubernetes resource quantities ("10Gi", "500m", "1e9") as bytes.
 *
 * https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
 */
#ifndef KM_QUANTITY_H
#define KM_QUANTITY_H

#include "common/base.h"

#include <jansson.h>

/* Rounds up to whole units. -1 if it is no quantity, negative or beyond 2^62. */
int quantity_parse(const char *text, int64_t *ret_value);
/* A JSON string or number; absent (NULL) is -1. */
int quantity_from_json(const json_t *value, int64_t *ret_value);

#define QUANTITY_TEXT_SIZE 24
/* As a person would write it: the largest binary suffix, else the largest decimal one, that leaves a whole number.
 * Never negative. */
void quantity_print(int64_t value, char out[static QUANTITY_TEXT_SIZE]);

#endif
