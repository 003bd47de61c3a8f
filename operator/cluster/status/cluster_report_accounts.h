/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_report_accounts.h: since when passwords are in force, from what the Secret holds and what the primary's agent
 * has applied of it. Pure.
 */
#ifndef KM_CLUSTER_REPORT_ACCOUNTS_H
#define KM_CLUSTER_REPORT_ACCOUNTS_H

#include "operator/cluster/state/cluster_snapshot.h"

/* The primary's server has all passwords that the Secret has. */
bool cluster_accounts_are_applied(const struct cluster_snapshot *snapshot);
/* The primary's server does not have a password of the Secret yet. False also if its agent does not report that. */
bool cluster_accounts_are_awaited(const struct cluster_snapshot *snapshot);
/* The accounts on the primary are bound to TLS though spec.tls.mode no longer asks for it, or are not though it does.
 * False also if its agent does not report that. */
bool cluster_tls_is_awaited(const struct cluster_snapshot *snapshot);
/* status.accounts. What is not known at the moment stays as it was told last. */
void cluster_report_accounts(const struct cluster_snapshot *snapshot, struct cluster_accounts *ret);

#endif
