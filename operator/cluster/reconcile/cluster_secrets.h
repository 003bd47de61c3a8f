/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_secrets.h: the Secrets of one cluster: made when absent, completed and renewed when needed, never
 * overwritten.
 *
 * Secrets are neither listed nor watched (least privilege): they are read by name in every reconcile, whatever brought
 * it, unless the last look is younger than CLUSTER_SECRETS_FRESH_MS; CLUSTER_SECRETS_RECHECK_MS without any event is an
 * occasion too.
 *
 *   NAME-mysql-accounts  root, replication, monitor: generated passwords; user: a copy of the user's own
 *                        (spec.password or spec.passwordSecret), so that pods need no rights on, and no restart for, a
 *                        Secret of the user's. Without spec.username, or with root, the password given is root's; when
 *                        the spec no longer gives one, root keeps it
 *   NAME-mysql-ca        ca.crt, ca.key, client.crt, client.key: never mounted into a pod
 *   NAME-mysql-tls       ca.crt, tls.crt, tls.key: the agents' (and servers') certificate
 *
 * Certificates are ECDSA P-256. Leaves live CLUSTER_LEAF_DAYS and are renewed when a third of that is left; the CA
 * lives ten years and is replaced in its last year. The old CA's certificate stays in ca.crt behind the new one, so
 * that leaves of either are accepted while the kubelets bring the new files to the pods.
 * An orphan (ownership.h) keeps its passwords and keys: applications and agents use them. Whoever plants one would know
 * them, and be root, or pass for the operator; so one is taken over only where the caller says so.
 * A generated password that is lost (Secret deleted by hand) is generated anew; the agents apply it (they enter by the
 * socket).
 */
#ifndef KM_CLUSTER_SECRETS_H
#define KM_CLUSTER_SECRETS_H

#include "common/base.h"

#include "common/error.h"
#include "common/http_client.h"
#include "operator/cluster/state/secrets_facts.h"
#include "operator/kube/kube_client.h"

#define CLUSTER_SECRETS_RECHECK_MS (5 * 60 * 1000)
#define CLUSTER_SECRETS_FRESH_MS (15 * 1000)
/* With a Secret of the user's (a changed password should not take minutes), and while a pod may wait for a Secret to
 * mount. */
#define CLUSTER_SECRETS_RECHECK_SOON_MS (20 * 1000)
#define CLUSTER_LEAF_DAYS 365
#define CLUSTER_CA_DAYS 3650
#define CLUSTER_PASSWORD_LENGTH 32

/* Reading and verifying the certificates of one cluster takes a few milliseconds of processor time; those that have not
 * changed since they were verified are looked at again only after this time, for their expiry. */
#define CLUSTER_CERTIFICATES_TRUST_MS (60 * 60 * 1000LL)

struct cluster_secrets_request {
    const char *ns, *uid; /* of the cluster */
    const char *accounts_name;
    const char *ca_name;
    const char *tls_name;
    const json_t *metadata;       /* labels and ownerReferences that every child carries; borrowed during the call */
    const char *const *dns_names; /* of the agents' certificate, NULL-terminated */
    const char *user_password;    /* inline, NULL: none; secret */
    const char *user_secret_name; /* reference, NULL: none */
    const char *user_secret_key;
    bool password_of_root;       /* the password given is root's: there is no other account of the user's */
    bool keep_user_password;     /* what is there stays: nobody knows at the moment what it should be */
    bool generate_user_password; /* none of the above: a password is made and kept in key `user` */
    bool adopts;                 /* orphans are taken over (plan.h) */
    bool fresh;                  /* the cluster was never seen before: create first, look only when that fails */
    bool want_client_tls;        /* there are agents to talk to */
    int64_t now_ms;              /* wall clock */
    const struct cluster_secrets_facts *known; /* of the last look, NULL: none; copied */
};

/* What else is made of it (cluster_binding.h); valid during the call. */
struct cluster_credentials {
    const char *user_password; /* of spec.username; NULL: there is none. Secret */
    const char *ca_pem;        /* the CA's certificate, and the former one's behind it */
};

/* err: ERROR_EXISTS when a Secret of that name belongs to somebody else (message names it), ERROR_CONFLICT while that
 * is a former cluster of the same name; API errors as they come. facts and credentials are valid on success.
 * Strings of the request are copied. */
typedef void (*cluster_secrets_done_fn)(void *arg, const struct cluster_secrets_facts *facts,
    const struct cluster_credentials *credentials, const struct error *err);
void cluster_secrets_ensure(struct kube_client *client, const struct kube_resource *secret,
    const struct cluster_secrets_request *request, cluster_secrets_done_fn done, void *arg);

#endif
