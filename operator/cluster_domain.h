/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_domain.h: the domain under which the cluster's DNS knows Services, "cluster.local" as a rule. Nothing in the
 * API tells it.
 *
 * The kubelet writes it into /etc/resolv.conf of every pod that uses the cluster's DNS, as the entry "svc.DOMAIN" of
 * the search list. https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#namespaces-of-services
 */
#ifndef KM_OPERATOR_CLUSTER_DOMAIN_H
#define KM_OPERATOR_CLUSTER_DOMAIN_H

#include "common/base.h"

#define CLUSTER_DOMAIN_DEFAULT "cluster.local"
#define CLUSTER_DOMAIN_MAX 200 /* with a Service's name and namespace before it a host name holds 253 characters */

/* A host name of lower-case letters, digits, dashes and dots. */
bool cluster_domain_is_valid(const char *domain);
/* What the text of a resolv.conf tells, CLUSTER_DOMAIN_DEFAULT if that is nothing. The last search list counts.
 * Pure. */
void cluster_domain_of_resolv_conf(const char *text, char ret[static CLUSTER_DOMAIN_MAX + 1]);
/* The same of a file; one that cannot be read tells nothing. */
void cluster_domain_find(const char *path, char ret[static CLUSTER_DOMAIN_MAX + 1]);

#endif
