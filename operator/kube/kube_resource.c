/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/kube/kube_resource.h"

#include "common/json_scan.h"

#define CORE(kind_, plural_, namespaced_)                                                              \
    {                                                                                                  \
        .group = "", .kind = kind_, .plural = plural_, .namespaced = namespaced_, .versions = { "v1" } \
    }

const struct kube_kind kube_kind_pod = CORE("Pod", "pods", true);
const struct kube_kind kube_kind_service = CORE("Service", "services", true);
const struct kube_kind kube_kind_endpoints = CORE("Endpoints", "endpoints", true);
const struct kube_kind kube_kind_config_map = CORE("ConfigMap", "configmaps", true);
const struct kube_kind kube_kind_secret = CORE("Secret", "secrets", true);
const struct kube_kind kube_kind_service_account = CORE("ServiceAccount", "serviceaccounts", true);
const struct kube_kind kube_kind_persistent_volume_claim = CORE("PersistentVolumeClaim", "persistentvolumeclaims", true);
const struct kube_kind kube_kind_namespace = CORE("Namespace", "namespaces", false);
const struct kube_kind kube_kind_event = CORE("Event", "events", true);
const struct kube_kind kube_kind_stateful_set = {
    .group = "apps", .kind = "StatefulSet", .plural = "statefulsets", .namespaced = true, .versions = {"v1"}};
const struct kube_kind kube_kind_deployment = {
    .group = "apps", .kind = "Deployment", .plural = "deployments", .namespaced = true, .versions = {"v1"}};
const struct kube_kind kube_kind_lease = {
    .group = "coordination.k8s.io", .kind = "Lease", .plural = "leases", .namespaced = true, .versions = {"v1"}};
const struct kube_kind kube_kind_storage_class = {.group = "storage.k8s.io",
    .kind = "StorageClass",
    .plural = "storageclasses",
    .namespaced = false,
    .versions = {"v1"}};
const struct kube_kind kube_kind_network_policy = {.group = "networking.k8s.io",
    .kind = "NetworkPolicy",
    .plural = "networkpolicies",
    .namespaced = true,
    .versions = {"v1"}};
const struct kube_kind kube_kind_endpoint_slice = {.group = "discovery.k8s.io",
    .kind = "EndpointSlice",
    .plural = "endpointslices",
    .namespaced = true,
    .versions = {"v1"}};
const struct kube_kind kube_kind_pod_disruption_budget = {.group = "policy",
    .kind = "PodDisruptionBudget",
    .plural = "poddisruptionbudgets",
    .namespaced = true,
    .versions = {"v1"}};

void kube_resource_api_version(const struct kube_resource *resource, struct strbuf *out)
{
    if (*resource->kind->group) {
        strbuf_adds(out, resource->kind->group);
        strbuf_addc(out, '/');
    }
    strbuf_adds(out, resource->version);
}

static void add_segment(struct strbuf *out, const char *segment)
{
    if (str_empty(segment))
        return;
    strbuf_addc(out, '/');
    strbuf_add_urlencoded(out, segment);
}

void kube_resource_path(
    const struct kube_resource *resource, const char *ns, const char *name, const char *subresource, struct strbuf *out)
{
    strbuf_adds(out, *resource->kind->group ? "/apis/" : "/api/");
    kube_resource_api_version(resource, out);
    if (!str_empty(ns)) {
        strbuf_adds(out, "/namespaces");
        add_segment(out, ns);
    }
    add_segment(out, resource->kind->plural);
    add_segment(out, name);
    add_segment(out, subresource);
}

/* ---- discovery ---- */

static bool group_serves(struct json_slice group, const char *version)
{
    struct json_slice versions = json_slice_member(group, "versions");
    struct json_slice element;
    for (const char *cursor = NULL; json_slice_next_element(versions, &cursor, &element);) {
        if (json_slice_str_eq(json_slice_member(element, "version"), version))
            return true;
    }
    return false;
}

static struct json_slice find_group(struct json_slice list, const char *name)
{
    struct json_slice groups = json_slice_member(list, "groups");
    struct json_slice group;
    for (const char *cursor = NULL; json_slice_next_element(groups, &cursor, &group);) {
        if (json_slice_str_eq(json_slice_member(group, "name"), name))
            return group;
    }
    return (struct json_slice){.data = NULL};
}

void kube_resource_explain(const struct kube_kind *kind, struct error *err)
{
    if (err->kind != ERROR_NOT_FOUND || !kind->installed_by)
        return;
    (void)error_prefix(err, "CustomResourceDefinition %s.%s is missing, or does not have version %s; %s installs it",
        kind->plural, kind->group, kind->versions[0], kind->installed_by);
}

static int not_served(const struct kube_kind *kind, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf wanted;
    strbuf_init(&wanted, KUBE_NAME_MAX);
    for (size_t i = 0; i < KUBE_VERSIONS_MAX && kind->versions[i]; i++)
        strbuf_addf(&wanted, "%s%s", i ? " or " : "", kind->versions[i]);
    (void)error_set(err, ERROR_NOT_FOUND, "the API server does not serve %s of group \"%s\" in version %s", kind->kind,
        kind->group, wanted.buf);
    if (err)
        kube_resource_explain(kind, err);
    return -1;
}

int kube_resource_choose(
    const struct kube_kind *kind, const char *api_groups_json, size_t len, struct kube_resource *ret, struct error *err)
{
    if (!*kind->group) { /* the core group is older than discovery and only has v1 */
        *ret = (struct kube_resource){.kind = kind, .version = kind->versions[0]};
        return 0;
    }
    struct json_slice group = find_group((struct json_slice){.data = api_groups_json, .len = len}, kind->group);
    for (size_t i = 0; i < KUBE_VERSIONS_MAX && kind->versions[i]; i++) {
        if (group_serves(group, kind->versions[i])) {
            *ret = (struct kube_resource){.kind = kind, .version = kind->versions[i]};
            return 0;
        }
    }
    return not_served(kind, err);
}
