/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commit_wait_status.h: MysqlCluster.status.lastCommitWait as a value: when commits waited for acknowledgements last,
 * for longer than a hiccup takes (AGENT_WATCH_BLOCKED_MS), and for how long.
 *
 * A zeroed struct is "not known of any". What is absent or malformed is read as empty.
 */
#ifndef KM_COMMIT_WAIT_STATUS_H
#define KM_COMMIT_WAIT_STATUS_H

#include "common/base.h"

#include <jansson.h>

#include "operator/api/names.h"

struct cluster_commit_wait {
    char member[DERIVED_NAME_SIZE];  /* the primary; "" none */
    int64_t started_ms, finished_ms; /* wall clock; finished 0: they wait still */
};

/* 0 while they wait. */
int64_t cluster_commit_wait_ms(const struct cluster_commit_wait *wait);
/* NULL: none. */
json_t *cluster_commit_wait_encode(const struct cluster_commit_wait *wait);
void cluster_commit_wait_decode(const json_t *json, struct cluster_commit_wait *ret);

#endif
