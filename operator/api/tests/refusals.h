/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refusals.h: the table of bad objects and bad updates (refusals.json), for the two that judge it: operator/api
 * (refusals_test.c) and an API server with the CRDs (refusals_itest.c).
 *
 * The table is JSON: {"bases": {KIND: spec}, "places": {NAME: [{"kind", "path", "with"}]}, "rows": [row]}. A row:
 *   at     "KIND PATH", or "{PLACE}REST": the same in every one of those places
 *   bad    values of that field, each refused;  good: their neighbours, each accepted. null: the field is left out
 *   with   merge patch of the whole object, before the value is set
 *   old    merge patch that makes the object as it was before: then bad and good are updates of that one
 *   field  where the refusal has to point, if not to the field itself; operator_field: the operator's, if that is
 *          another. ".x": below the place
 *   rule   message of the CEL rule that refuses
 *   only   "server" or "operator": the other one accepts it; why: the reason
 * Behind a name in a path "[]" is the first element of an array and "{}" the key "memory" of a map.
 * Values may be made: {"$repeat": [TEXT, n]}, {"$elements": [TEXT, n]} and {"$keys": [TEXT, n]} (TEXT0, TEXT1, …),
 * {"$named": [TEXT, n]} (objects of such names), {"$expressions": [TEXT, n]} (of a selector, with such keys),
 * {"$ports": [TEXT, n]}.
 */
#ifndef KM_API_TESTS_REFUSALS_H
#define KM_API_TESTS_REFUSALS_H

#include "common/base.h"

#include <jansson.h>

#define REFUSALS_FILE "operator/api/tests/refusals.json"
#define REFUSALS_PATH_MAX 256

struct refusal {
    const json_t *row;
    char kind[32];
    char schema_path[REFUSALS_PATH_MAX]; /* "spec.config.spec.images.imagePullSecrets[].name" */
    char field[REFUSALS_PATH_MAX];       /* where the API server points: "...imagePullSecrets[0].name" */
    char operator_field[REFUSALS_PATH_MAX];
    const json_t *value; /* as in the table */
    bool bad;            /* else it is to be accepted */
    bool by_server, by_operator;
    json_t *old;    /* owned; NULL: the object is new */
    json_t *object; /* owned */
    size_t number;
};

json_t *refusals_load(void);
/* What a value of the table stands for; owned by the caller. */
json_t *refusals_value(const json_t *value);
/* Calls `judge` for each value of each row in each place; the case is released after it. Returns how many bad ones
 * there were. */
size_t refusals_each(const json_t *table, void (*judge)(void *arg, const struct refusal *refusal), void *arg);

#endif
