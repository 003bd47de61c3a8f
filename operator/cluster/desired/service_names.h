/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_names.h: every name by which a client of the cluster's network may call a server, for its certificate. Pure.
 *
 * A Service is NAME in its own namespace, NAME.NS in others, NAME.NS.svc and NAME.NS.svc.DOMAIN everywhere; a pod has
 * those of the headless Service behind its own name. OpenSSL takes no wildcard with less than two dots, so pods'
 * shortest names are listed one by one. https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/
 */
#ifndef KM_SERVICE_NAMES_H
#define KM_SERVICE_NAMES_H

#include "common/base.h"

#include "common/strvec.h"
#include "operator/api/names.h"

/* domain NULL: it is not known, its names are left out. Adds to ret. */
void service_names(const struct cluster_names *names, const char *ns, const char *domain, struct strvec *ret);

#endif
