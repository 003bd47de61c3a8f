/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lease.h: a coordination.k8s.io/v1 Lease as the leader elector sees it. Pure.
 *
 * https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/lease-v1/
 */
#ifndef KM_LEASE_H
#define KM_LEASE_H

#include "common/base.h"

#include <jansson.h>

#include "common/json_scan.h"
#include "operator/kube/kube_object.h"
#include "operator/kube/kube_resource.h"

/* One block, as every projection. Strings are inside; holder is "" when nobody holds the lease. */
struct lease {
    struct kube_object object;
    const char *holder;
    int64_t duration_ms; /* what its holder promised; 0 if absent */
    int64_t transitions;
    uint64_t record; /* hash of the whole spec: any renewal changes it */
};

extern const struct kube_projection lease_projection;

struct lease_write {
    const char *ns, *name;
    const char *resource_version; /* precondition; NULL when the lease is to be made */
    const char *holder;           /* "" gives it back */
    int64_t duration_ms;
    int64_t transitions;
    int64_t now_us; /* wall clock, for people: renewTime */
    bool acquired;  /* acquireTime is now too */
};
/* The whole object (kube_create) or, as a merge patch, only what changes. */
json_t *lease_encode(const struct lease_write *write, const struct kube_resource *resource);

#endif
