/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ballot_fork.h: whether a status of the past has led to two histories: pure.
 *
 * An API server that was restored names an earlier primary again. If nobody is heard who knows who was opened since, that
 * one takes writes on, and others acknowledge them. Once the later one is heard, each of both may hold what clients were
 * told of and the other one has not: that its reign is the later one proves nothing of what was written beside it.
 */
#ifndef KM_BALLOT_FORK_H
#define KM_BALLOT_FORK_H

#include "operator/cluster/failover/ballot.h"

/* The status was of the past, and as many members as a commit waits for have received from the primary of an earlier
 * reign what `chosen` has not: one of them; NULL: that is not so. chosen: holds most of the reign at which it is decided;
 * NULL: nobody does. MariaDB: as far as the logs tell (gtid_binlog_state). */
const struct vote *ballot_find_fork(
    const struct cluster_snapshot *snapshot, const struct ballot *ballot, const struct vote *chosen);

#endif
