/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_pki_util.h: the certificates of a cluster as its Secrets hold them, for tests that speak mutual TLS: a CA, an
 * agent's, an operator's.
 */
#ifndef KM_AGENT_PKI_UTIL_H
#define KM_AGENT_PKI_UTIL_H

#include "common/base.h"

#include "common/http_client.h"
#include "common/tls.h"

struct agent_pki {
    struct tls_keypair ca, leaf, client;
    struct tls_server *server_tls; /* of leaf; lets in whom the CA knows */
    struct http_tls *client_tls;   /* of client */
};

/* dns: what the agent's certificate is for. */
void agent_pki_init(struct agent_pki *pki, const char *dns);
void agent_pki_release(struct agent_pki *pki);
/* The operator's side once more: a reference for the caller. */
struct http_tls *agent_pki_client_tls(const struct agent_pki *pki);

/* ca NULL: a CA. dns may be NULL. */
void agent_pki_issue(
    const struct tls_keypair *ca, const char *name, const char *dns, bool server, struct tls_keypair *ret);

#endif
