/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_report_left.h: accounts and databases that were made for spec.username and spec.database, and which those no
 * longer name, by the word of the primary's agent (agent/mysql/accounts_left.h): the condition AccountsLeft. Pure.
 */
#ifndef KM_CLUSTER_REPORT_LEFT_H
#define KM_CLUSTER_REPORT_LEFT_H

#include "operator/cluster/state/cluster_snapshot.h"

/* Absent where nothing is left, and what is named is made. What is not known at the moment stays as it was told
 * last. */
void cluster_report_left(const struct cluster_snapshot *snapshot, struct cluster_status *status);
/* What somebody may do about accounts that can still enter. False: nothing. */
bool cluster_left_remedy(const struct cluster_snapshot *snapshot, char *out, size_t size);
/* The primary has made what is named; true as well where its agent does not say. */
bool cluster_names_are_applied(const struct cluster_snapshot *snapshot);

#endif
