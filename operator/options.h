/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.h: the operator's command line.
 *
 * Flags win over the environment: POD_NAME and POD_NAMESPACE (downward API) are the defaults for the identity and the
 * Lease's namespace.
 */
#ifndef KM_OPERATOR_OPTIONS_H
#define KM_OPERATOR_OPTIONS_H

#include "common/base.h"

#include "common/error.h"
#include "common/log.h"
#include "common/strvec.h"
#include "operator/cluster_domain.h"

struct operator_options {
    const char *kubeconfig; /* NULL: see kube_config_load */
    const char *context;    /* NULL: current-context */
    bool leader_elect;
    const char *leader_namespace; /* NULL: the kubeconfig's or service account's namespace */
    char *identity;               /* pod or host name, "_", random: unique to this process */
    int64_t lease_duration_ms;
    int64_t renew_deadline_ms;
    int64_t retry_period_ms;
    const char *bind_address;
    uint16_t metrics_port; /* 0: no server */
    enum log_level log_level;
    enum log_format log_format;
    double qps, burst;              /* 0: the client's defaults */
    struct strvec watch_namespaces; /* empty: all */
    bool ipv6;                      /* pods' first address family; default: that of $KUBERNETES_SERVICE_HOST */
    int max_unavailable_clusters;   /* that get what is for many of them at a time */
    char cluster_domain[CLUSTER_DOMAIN_MAX + 1]; /* of Services; default: what /etc/resolv.conf tells */
    const char *agent_image;                     /* for clusters whose configuration names none; NULL: they must */
    bool app;                                    /* --enable=app: the kind App */
    bool config_map_sync;                        /* --enable=configmapsync: the kind ConfigMapSync */
    bool sync_without_consent;                   /* --configmapsync-without-consent */
    bool show_help;                              /* --help: print operator_options_help and leave */
    bool show_version;
};

/* Texts point into argv and the environment. On failure *ret is released. ERROR_INVALID names the flag. */
int operator_options_parse(int argc, char **argv, struct operator_options *ret, struct error *err) KM_MUST_CHECK;
void operator_options_release(struct operator_options *options);
void operator_options_help(FILE *out);

#endif
