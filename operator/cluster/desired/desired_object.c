/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/json.h"
#include "operator/api/api_kinds.h"
#include "operator/cluster/desired/desired.h"

static const enum plan_kind child_kinds[CHILD_COUNT] = {
    [CHILD_SERVICE_ACCOUNT] = PLAN_SERVICE_ACCOUNT,
    [CHILD_CONFIG_MAP] = PLAN_CONFIG_MAP,
    [CHILD_SERVICE] = PLAN_SERVICE,
    [CHILD_SERVICE_PRIMARY] = PLAN_SERVICE,
    [CHILD_SERVICE_REPLICAS] = PLAN_SERVICE,
    [CHILD_ENDPOINT_SLICE] = PLAN_ENDPOINT_SLICE,
    [CHILD_DISRUPTION_BUDGET] = PLAN_POD_DISRUPTION_BUDGET,
    [CHILD_STATEFUL_SET] = PLAN_STATEFUL_SET,
};

enum plan_kind desired_child_kind(enum cluster_child child)
{
    return child_kinds[child];
}

const char *desired_child_name(const struct cluster_names *names, enum cluster_child child)
{
    const char *const of[CHILD_COUNT] = {
        [CHILD_SERVICE_ACCOUNT] = names->service_account,
        [CHILD_CONFIG_MAP] = names->config_map,
        [CHILD_SERVICE] = names->service,
        [CHILD_SERVICE_PRIMARY] = names->service_primary,
        [CHILD_SERVICE_REPLICAS] = names->service_replicas,
        [CHILD_ENDPOINT_SLICE] = names->service_primary,
        [CHILD_DISRUPTION_BUDGET] = names->disruption_budget,
        [CHILD_STATEFUL_SET] = names->stateful_set,
    };
    return of[child];
}

json_t *desired_child_metadata(const struct cluster_snapshot *snapshot)
{
    json_t *metadata = json_object();
    json_put(metadata, "labels", cluster_labels(snapshot->name));
    json_put(metadata, "ownerReferences",
        json_build("[{s:s, s:s, s:s, s:s, s:b, s:b}]", "apiVersion", KM_API_GROUP_VERSION, "kind",
            kube_kind_mysql_cluster.kind, "name", snapshot->name, "uid", snapshot->uid, "controller", 1,
            "blockOwnerDeletion", 1));
    return metadata;
}

json_t *desired_object(
    const struct cluster_snapshot *snapshot, const char *api_version, const char *kind, const char *name)
{
    json_t *metadata = desired_child_metadata(snapshot);
    json_put_str(metadata, "name", name);
    json_put_str(metadata, "namespace", snapshot->ns);
    json_t *object = json_object();
    json_put_str(object, "apiVersion", api_version);
    json_put_str(object, "kind", kind);
    json_put(object, "metadata", metadata);
    return object;
}
