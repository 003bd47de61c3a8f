/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_resource.h: which REST path a kind has, and discovery of the version that this API server speaks.
 *
 * A kind names its acceptable versions in order of preference (EndpointSlice: v1 of discovery.k8s.io), and discovery
 * picks the first that the server lists in /apis.
 */
#ifndef KM_KUBE_RESOURCE_H
#define KM_KUBE_RESOURCE_H

#include "common/base.h"

#include "common/error.h"
#include "common/strbuf.h"

#define KUBE_VERSIONS_MAX 4

/* A kind as the program knows it (static). */
struct kube_kind {
    const char *group;  /* "" for the core group */
    const char *kind;   /* "StatefulSet" */
    const char *plural; /* "statefulsets" */
    bool namespaced;
    const char *versions[KUBE_VERSIONS_MAX]; /* in order of preference, NULL-terminated if fewer */
    /* Of a CustomResourceDefinition: what installs it, for people: "kubectl apply -k crds". NULL: it is built in. */
    const char *installed_by;
};

/* A kind with the version in use. Plain value; strings are static (they come from the kind). */
struct kube_resource {
    const struct kube_kind *kind;
    const char *version;
};

/* The kinds of Kubernetes itself that we use; ours are in operator/api. */
extern const struct kube_kind kube_kind_pod, kube_kind_service, kube_kind_endpoint_slice, kube_kind_endpoints,
    kube_kind_config_map, kube_kind_secret, kube_kind_service_account, kube_kind_persistent_volume_claim,
    kube_kind_stateful_set, kube_kind_pod_disruption_budget, kube_kind_event, kube_kind_lease, kube_kind_storage_class,
    kube_kind_network_policy, kube_kind_namespace, kube_kind_deployment;

/* "apps/v1" or "v1". */
void kube_resource_api_version(const struct kube_resource *resource, struct strbuf *out);
/* "/apis/apps/v1/namespaces/NS/statefulsets/NAME/status". ns NULL: all namespaces or cluster scope; name, subresource
 * may be NULL. */
void kube_resource_path(const struct kube_resource *resource, const char *ns, const char *name, const char *subresource,
    struct strbuf *out);

/* Pure. The API server does not know the kind: if a CustomResourceDefinition is missing, *err says which, and what
 * installs it, before what it says already. */
void kube_resource_explain(const struct kube_kind *kind, struct error *err);

/* Pure part of discovery: chooses from the body of GET /apis (APIGroupList). Core kinds need no entry.
 * NOT_FOUND names group, kind and the versions wanted. */
int kube_resource_choose(const struct kube_kind *kind, const char *api_groups_json, size_t len,
    struct kube_resource *ret, struct error *err) KM_MUST_CHECK;

#endif
