/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secrets_facts.h: what the last look at a cluster's Secrets found (cluster_secrets.h).
 */
#ifndef KM_SECRETS_FACTS_H
#define KM_SECRETS_FACTS_H

#include "common/base.h"

#include "common/http_client.h"
#include "operator/api/account_status.h"

enum cluster_user_password {
    USER_PASSWORD_NONE,
    USER_PASSWORD_OK,
    USER_PASSWORD_SECRET_MISSING,
    USER_PASSWORD_KEY_MISSING,
    USER_PASSWORD_EMPTY /* the key is there, and holds nothing */
};

struct cluster_secrets_facts {
    enum cluster_user_password user_password;
    bool password_ends_line; /* the password that was given ends with a newline, as of an `echo` into a file */
    char user_keys[128];     /* KEY_MISSING: names of the keys that spec.passwordSecret has, "a, b, ..."; "" none */
    char accounts_hash[65];  /* as agents tell it of what they have applied (agent_api.h); "" not known */
    /* Of each password with the cluster's UID, to find which has changed; 0: there is none. Kept in memory alone. */
    uint64_t account_digests[ACCOUNT_KIND_COUNT];
    int64_t certificate_not_after_ms;
    struct http_tls *client_tls; /* a reference for the receiver, if wanted; else NULL */
    uint64_t client_tls_digest;  /* equal: the same certificates as last time, connections can stay */
    /* Certificates of this content were found good and need no look before then (wall clock); 0: none were. */
    uint64_t good_digest;
    int64_t good_until_ms;
};

#endif
