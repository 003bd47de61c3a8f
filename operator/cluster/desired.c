/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/desired.h"

#include "common/alloc.h"
#include "common/hashmap.h"
#include "common/json.h"
#include "operator/api/api_kinds.h"
#include "operator/cluster/member_view.h"

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

json_t *desired_service_account(const struct cluster_snapshot *snapshot)
{
    json_t *account = desired_object(snapshot, "v1", "ServiceAccount", snapshot->names.service_account);
    json_put_bool(account, "automountServiceAccountToken", false);
    return account;
}

/* server_id = base + ordinal must differ between clusters that may one day replicate from each other: from the UID, 16 apart. */
static uint32_t server_id_base(const char *uid)
{
    uint64_t hash = hash64(HASH64_INIT, uid, strlen(uid));
    return (uint32_t)(((hash >> 16) % 0x0ffffffeULL + 1) << 4);
}

static char *instance_json(const struct cluster_snapshot *snapshot, const char *made_with, const char *data_version)
{
    _cleanup_(freep) char *domain = xasprintf("%s.%s.svc", snapshot->names.service, snapshot->ns);
    struct agent_instance_config config = {
        .cluster_namespace = xstrdup(snapshot->ns),
        .cluster_name = xstrdup(snapshot->name),
        .cluster_uid = xstrdup(snapshot->uid),
        .service_domain = xstrdup(domain),
        .server_id_base = server_id_base(snapshot->uid),
        .replicas = snapshot->cluster.replicas,
        .database = xstrdup(snapshot->cluster.database),
        .username = xstrdup(snapshot->cluster.username),
        .made_with = xstrdup(made_with),
        .data_version = xstrdup(data_version),
    };
    json_t *document = agent_instance_config_encode(&config);
    char *text = json_text(document);
    json_decref(document);
    agent_instance_config_release(&config);
    return text;
}

char *desired_instance_json(const struct cluster_snapshot *snapshot)
{
    return instance_json(snapshot, NULL, NULL);
}

/* All members' data came from one; whoever has heard of it says what it was made with. Of which server it is the primary
 * says: a replica that an undone change has brought further can be copied anew. */
char *desired_check_instance_json(const struct cluster_snapshot *snapshot)
{
    const char *made_with = NULL;
    for (int i = 0; i < snapshot->member_count && !made_with; i++) {
        const struct agent_status *agent = snapshot->members[i].agent;
        if (agent && !str_empty(agent->made_with))
            made_with = agent->made_with;
    }
    const struct cluster_member *primary = cluster_primary(snapshot);
    const char *version = primary && primary->agent ? primary->agent->version : NULL;
    return instance_json(snapshot, made_with, str_empty(version) ? NULL : version);
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
