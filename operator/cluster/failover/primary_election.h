/* SPDX-License-Identifier: Apache-2.0 */
/*
 * primary_election.h: who should be primary: pure.
 *
 * Two questions: who is the first primary of a cluster (nothing is known but what lies on the volumes), and who takes
 * over in a planned switchover. Either answers with a member, or with NULL and the reason in words (it becomes
 * status.nextAction).
 */
#ifndef KM_PRIMARY_ELECTION_H
#define KM_PRIMARY_ELECTION_H

#include "operator/cluster/state/cluster_snapshot.h"

/* A replica that lags more is not asked to take over: clients would wait for it. */
#define ELECTION_LAG_MAX_MS 5000
/* Of a reason: it may name a member in three commands. */
#define ELECTION_WHY_SIZE 384

/*
 * Every member whose volume may hold data must have spoken, and servers with data must run (read-only), so that their
 * positions can be compared: the one that holds the most wins. All empty: the wished one, else the lowest ordinal that
 * has spoken. Different histories are never joined: then spec.replication.primary must say whose is right.
 */
const struct cluster_member *election_first(const struct cluster_snapshot *snapshot, char *why, size_t size);

/* May this member take over from the primary now? why: "" or what is missing. */
bool election_can_take_over(
    const struct cluster_snapshot *snapshot, const struct cluster_member *member, char *why, size_t size);
/* The best replica: the wished one, then one of the newest template, then the smallest lag, then the lowest ordinal. */
const struct cluster_member *election_successor(const struct cluster_snapshot *snapshot, char *why, size_t size);

#endif
