/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy_close.h: a primary that closes itself for writes because a copy of its data waits for commits, and those wait
 * for acknowledgements that nobody gives (agent/role_decide.h: role_closed_for_copy). Its agent decides that, and
 * knows of itself alone. What is remembered here, in status.closedForCopy, holds for all agents and operators: once in
 * AGENT_COPY_CLOSE_AGAIN_MS (agent_order.h: stays_open). Pure.
 */
#ifndef KM_COPY_CLOSE_H
#define KM_COPY_CLOSE_H

#include "operator/cluster/state/cluster_snapshot.h"

/* By its agent's word the primary is closed for a copy now. */
bool copy_close_is_under_way(const struct cluster_snapshot *snapshot);
/* Who is being copied from the primary; NULL: nobody. */
const struct cluster_member *copy_close_receiver(const struct cluster_snapshot *snapshot);
/* For how long no primary is closed for a copy any more, by what the status remembers. 0: one may be. */
int64_t copy_close_rest_ms(const struct cluster_snapshot *snapshot);
/* What the status is to remember. */
void copy_close_record(const struct cluster_snapshot *snapshot, struct cluster_copy_close *ret);

#endif
