/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy_close_status.h: MysqlCluster.status.closedForCopy as a value: when a primary was closed for writes for a copy
 * last, whose agent ever did it and whatever became of the copy (agent/role_decide.h: role_closed_for_copy).
 *
 * A zeroed struct is "not known of any". What is absent or malformed is read as empty.
 */
#ifndef KM_COPY_CLOSE_STATUS_H
#define KM_COPY_CLOSE_STATUS_H

#include "common/base.h"

#include <jansson.h>

#include "operator/api/names.h"

struct cluster_copy_close {
    char member[DERIVED_NAME_SIZE];   /* the primary that was closed; "" none */
    char receiver[DERIVED_NAME_SIZE]; /* for whose copy; "" not known */
    int64_t started_ms, finished_ms;  /* wall clock; finished 0: it is closed still */
};

/* NULL: none. */
json_t *cluster_copy_close_encode(const struct cluster_copy_close *close);
void cluster_copy_close_decode(const json_t *json, struct cluster_copy_close *ret);

#endif
