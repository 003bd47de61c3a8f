/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_config.h: where the API server is and who we are.
 *
 * Reads a kubeconfig (YAML or JSON; clusters, users, contexts; *-data and file forms; token and tokenFile; relative
 * paths are relative to the file) or the in-cluster service account. exec and auth-provider plugins are refused with a
 * clear message. https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/
 */
#ifndef KM_KUBE_CONFIG_H
#define KM_KUBE_CONFIG_H

#include "common/base.h"

#include "common/error.h"

#define KUBE_SERVICE_ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

struct kube_config {
    char *server;            /* "https://host:port", no trailing slash */
    char *ca_pem;            /* NULL: the system's store */
    char *client_cert_pem;   /* NULL: none */
    char *client_key_pem;    /* secret */
    char *token;             /* secret; NULL when token_file is used */
    char *token_file;        /* re-read when its mtime or inode changes (projected tokens expire within the hour) */
    char *default_namespace; /* of the context or service account; "default" if unknown */
    char *tls_server_name;
    bool insecure_skip_verify;
};

void kube_config_release(struct kube_config *config);
/* context NULL: current-context. */
int kube_config_load_file(
    const char *path, const char *context, struct kube_config *ret, struct error *err) KM_MUST_CHECK;
/* Pure form of the above: text instead of a file; base_dir resolves relative paths (files it names are read). */
int kube_config_parse(const char *yaml, size_t len, const char *base_dir, const char *context, struct kube_config *ret,
    struct error *err) KM_MUST_CHECK;
/* KUBERNETES_SERVICE_HOST/PORT and the files below dir (NULL: KUBE_SERVICE_ACCOUNT_DIR). */
int kube_config_load_in_cluster(const char *dir, struct kube_config *ret, struct error *err) KM_MUST_CHECK;
/* path (flag) if not NULL, else $KUBECONFIG (first existing file of the list), else in-cluster if its environment is
 * there, else ~/.kube/config. */
int kube_config_load(const char *path, const char *context, struct kube_config *ret, struct error *err) KM_MUST_CHECK;

#endif
