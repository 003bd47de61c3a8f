/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/desired/desired.h"

#include "common/alloc.h"
#include "common/hashmap.h"
#include "common/json.h"
#include "operator/api/api_kinds.h"
#include "operator/cluster/state/member_view.h"

static json_t *make_child(const struct cluster_snapshot *snapshot, enum cluster_child child)
{
    switch (child) {
    case CHILD_SERVICE_ACCOUNT:
        return desired_service_account(snapshot);
    case CHILD_CONFIG_MAP:
        return desired_config_map(snapshot);
    case CHILD_SERVICE:
        return desired_service(snapshot);
    case CHILD_SERVICE_PRIMARY:
        return desired_service_primary(snapshot);
    case CHILD_SERVICE_REPLICAS:
        return desired_service_replicas(snapshot);
    case CHILD_ENDPOINT_SLICE:
        return desired_endpoint_slice(snapshot);
    case CHILD_DISRUPTION_BUDGET:
        return desired_disruption_budget(snapshot);
    case CHILD_STATEFUL_SET:
        return desired_stateful_set(snapshot);
    case CHILD_COUNT:
        break;
    }
    return NULL;
}

/* Only here, on the metadata of what is applied: pods and claims are made of templates that may not differ from one
 * version to the next. One of the user's on a Service stays. */
static void put_version(const struct cluster_snapshot *snapshot, json_t *object)
{
    char value[KUBE_LABEL_MAX + 1];
    json_t *labels = json_object_get(json_object_get(object, "metadata"), "labels");
    label_value_of_version(value, str_or_empty(snapshot->operator_version));
    if (*value && !json_object_get(labels, LABEL_VERSION))
        json_put_str(labels, LABEL_VERSION, value);
}

json_t *desired_child(const struct cluster_snapshot *snapshot, enum cluster_child child)
{
    json_t *object = make_child(snapshot, child);
    put_version(snapshot, object);
    return object;
}

json_t *desired_service_account(const struct cluster_snapshot *snapshot)
{
    json_t *account = desired_object(snapshot, "v1", "ServiceAccount", snapshot->names.service_account);
    json_put_bool(account, "automountServiceAccountToken", false);
    return account;
}

json_t *desired_config_map(const struct cluster_snapshot *snapshot)
{
    _cleanup_(freep) char *instance = desired_instance_json(snapshot);
    json_t *data = json_object();
    json_put_str(data, "my.cnf", snapshot->mycnf);
    json_put_str(data, "instance.json", instance);
    json_t *config_map = desired_object(snapshot, "v1", "ConfigMap", snapshot->names.config_map);
    json_put(config_map, "data", data);
    return config_map;
}

json_t *desired_disruption_budget(const struct cluster_snapshot *snapshot)
{
    json_t *budget = desired_object(snapshot, "policy/v1", "PodDisruptionBudget", snapshot->names.disruption_budget);
    json_put(budget, "spec",
        json_build(
            "{s:i, s:{s:o}}", "maxUnavailable", 1, "selector", "matchLabels", cluster_selector_labels(snapshot->name)));
    return budget;
}

json_t *desired_terminal(const struct cluster_snapshot *snapshot)
{
    json_t *terminal =
        desired_object(snapshot, KM_API_GROUP_VERSION, kube_kind_mysql_terminal.kind, snapshot->names.terminal);
    json_t *spec = json_build("{s:{s:s}}", "cluster", "name", snapshot->name);
    if (snapshot->cluster.terminal_pod_template)
        json_put(spec, "podTemplate", json_deep_copy(snapshot->cluster.terminal_pod_template));
    json_put(terminal, "spec", spec);
    return terminal;
}
