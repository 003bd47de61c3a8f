/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/state/config_field.h"

#include "common/json.h"

void config_field_name(const struct mysql_cluster *cluster, const char *field, char *out, size_t size)
{
    if (cluster->config_name && !json_path(cluster->config_spec, field))
        snprintf(out, size, "spec.%s of MysqlConfig %s", field, cluster->config_name);
    else
        snprintf(out, size, "spec.config.spec.%s", field);
}

void config_field_choice(const struct mysql_cluster *cluster, const char *field, char *out, size_t size)
{
    config_field_name(cluster, field, out, size);
    if (cluster->config_name && !json_path(cluster->config_spec, field))
        snprintf(out + strlen(out), size - strlen(out), ", or the cluster's own spec.config.spec.%s", field);
}

/* "spec.containers[mysql].resources.limits.memory" of a podTemplate, if it sets that. */
static const char *limit_of_template(const json_t *pod_template, const char *container, char *path, size_t size)
{
    static const char *const lists[] = {"containers", "initContainers"};
    size_t k;
    const json_t *element;
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        json_array_foreach(json_object_get(json_object_get(pod_template, "spec"), lists[i]), k, element) {
            const char *limit = json_path_str(element, "resources.limits.memory", NULL);
            if (!limit || !str_eq(json_path_str(element, "name", NULL), container))
                continue;
            snprintf(path, size, "podTemplate.spec.%s[%s].resources.limits.memory", lists[i], container);
            return limit;
        }
    }
    return NULL;
}

const char *config_memory_limit(const struct mysql_cluster *cluster, const struct mysql_config_spec *config,
    const char *container, char *field, size_t size)
{
    char path[CONFIG_FIELD_SIZE];
    const char *limit = limit_of_template(cluster->pod_template, container, path, sizeof(path));
    bool is_agent = str_eq(container, CONTAINER_AGENT);
    bool is_server = str_eq(container, CONTAINER_MYSQL) || str_eq(container, CONTAINER_INIT);
    if (limit) {
        snprintf(field, size, "spec.%s", path);
    } else if ((limit = limit_of_template(
                    json_object_get(cluster->config_spec, "podTemplate"), container, path, sizeof(path)))) {
        snprintf(field, size, "spec.config.spec.%s", path);
    } else if ((limit = limit_of_template(config->pod_template, container, path, sizeof(path)))) {
        snprintf(field, size, "spec.%s of MysqlConfig %s", path, str_or_empty(cluster->config_name));
    } else if (is_agent || is_server) {
        config_field_name(cluster, is_agent ? "agentResources.limits.memory" : "resources.limits.memory", field, size);
        limit = json_path_str(is_agent ? config->agent_resources : config->resources, "limits.memory", NULL);
    } else {
        snprintf(field, size, "resources.limits.memory of container %s in spec.podTemplate", container);
    }
    return limit;
}

void config_memory_too_small(
    const struct mysql_cluster *cluster, const struct mysql_config_spec *config, char *out, size_t size)
{
    char field[CONFIG_FIELD_SIZE];
    const char *now = config_memory_limit(cluster, config, CONTAINER_MYSQL, field, sizeof(field));
    snprintf(out, size,
        "%s: the server takes more memory at its start than its container may have%s%s%s: raise it, or lower what "
        "spec.mycnf lets the server use",
        field, now ? " (now " : "", str_or_empty(now), now ? ")" : "");
}
