/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mycnf_blame.h: which options of a cluster's my.cnf a server's words name, and where the user finds them. Pure.
 *
 * A server names what it does not take by the option ("unknown variable 'max_conections=300'"), or by the value alone
 * ("Illegal or unknown default time zone 'Nowhere/Land'"). Names of options are recognised with '-' for '_', too; one
 * without either is an ordinary word as well, and counts in quotes only.
 */
#ifndef KM_MYCNF_BLAME_H
#define KM_MYCNF_BLAME_H

#include "operator/cluster/state/cluster_snapshot.h"

#define MYCNF_BLAME_SIZE 384

/* "spec.mycnf.max_conections", "spec.mycnf.a of MysqlConfig c1": the first few of them, with commas. False: they name
 * none that the user has set. */
bool mycnf_blame(const struct cluster_snapshot *snapshot, const char *words, char *out, size_t size);
/* Likewise; where they name none: all places in which options are set, "spec.mycnf or spec.config.spec.mycnf". */
void mycnf_blame_or_all(const struct cluster_snapshot *snapshot, const char *words, char *out, size_t size);

#endif
