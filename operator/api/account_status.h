/* SPDX-License-Identifier: Apache-2.0 */
/*
 * account_status.h: since when the password of each account is in force, MysqlCluster.status.accounts. Pure.
 *
 * A password is never in it, nor what it could be guessed from. Owns nothing, and is copied by assignment.
 */
#ifndef KM_ACCOUNT_STATUS_H
#define KM_ACCOUNT_STATUS_H

#include "common/base.h"

#include <jansson.h>

#include "common/agent_api.h"
#include "operator/api/names.h"

/* The accounts that the operator has passwords for. */
enum cluster_account_kind { ACCOUNT_ROOT, ACCOUNT_USER, ACCOUNT_MONITOR, ACCOUNT_REPLICATION, ACCOUNT_KIND_COUNT };
/* Keys of Secret NAME-mysql-accounts: "root", "user", "monitor", "replication". */
extern const char *const cluster_account_keys[ACCOUNT_KIND_COUNT];

struct cluster_account {
    char name[64];                  /* as the server has it */
    char secret[KUBE_NAME_MAX + 1]; /* where the password is kept: the user's own Secret, or the operator's */
    bool applied;     /* the primary's server takes that password; false: it has the one before, or none */
    int64_t since_ms; /* wall clock, whole seconds: since when that is so; 0: a new cluster's, which has none yet */
};

struct cluster_accounts {
    int count;
    struct cluster_account list[ACCOUNT_KIND_COUNT];
};

/* NULL: there is none of that name. */
const struct cluster_account *cluster_accounts_find(const struct cluster_accounts *accounts, const char *name);
/* When the latest of those that are not applied was changed; 0: all are. */
int64_t cluster_accounts_pending_since_ms(const struct cluster_accounts *accounts);
/* NULL: there is nothing. */
json_t *cluster_accounts_encode(const struct cluster_accounts *accounts);
void cluster_accounts_decode(const json_t *array, struct cluster_accounts *ret);

#endif
