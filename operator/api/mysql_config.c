/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/mysql_config.h"

#include "common/json.h"
#include "operator/api/api_fields.h"
#include "operator/api/mycnf.h"
#include "operator/api/pod_template.h"
#include "operator/api/quantity.h"

void mysql_config_check(const json_t *spec, const char *prefix, struct api_problems *problems)
{
    char path[API_PATH_MAX];
    int before = problems->count;
    if (!spec)
        return;
    api_fields_check(spec, prefix, mysql_config_fields, problems);
    if (problems->count > before)
        return;
    snprintf(path, sizeof(path), "%.140s.mycnf", prefix);
    mycnf_validate(json_object_get(spec, "mycnf"), path, problems);
    snprintf(path, sizeof(path), "%.140s.podTemplate", prefix);
    pod_template_check(json_object_get(spec, "podTemplate"), path, problems);
}

/* Members that have rules of their own are merged by those. */
json_t *mysql_config_merge(const json_t *base, const json_t *over)
{
    json_t *merged = base ? json_deep_copy(base) : json_object();
    json_t *mycnf = mycnf_merge(json_object_get(base, "mycnf"), json_object_get(over, "mycnf"));
    pod_template_merge(merged, over);
    if (json_object_size(mycnf) > 0)
        json_object_set(merged, "mycnf", mycnf);
    else
        json_object_del(merged, "mycnf");
    json_decref(mycnf);
    return merged;
}

static enum agent_flavour flavour_by_name(const char *name)
{
    static const char *const names[AGENT_FLAVOUR_COUNT] = {
        [AGENT_FLAVOUR_MYSQL] = "mysql",
        [AGENT_FLAVOUR_MARIADB] = "mariadb",
        [AGENT_FLAVOUR_PERCONA] = "percona",
    };
    for (int i = AGENT_FLAVOUR_UNKNOWN + 1; i < AGENT_FLAVOUR_COUNT; i++) {
        if (str_eq(name, names[i]))
            return (enum agent_flavour)i;
    }
    return AGENT_FLAVOUR_UNKNOWN;
}

static const json_t *member_of_size(const json_t *spec, const char *key)
{
    const json_t *value = json_object_get(spec, key);
    return json_object_size(value) > 0 || json_array_size(value) > 0 ? value : NULL;
}

void mysql_config_spec_read(json_t *document, struct mysql_config_spec *ret)
{
    struct mysql_config_spec config = {
        .document = json_incref(document),
        .image_mysql = json_path_str(document, "images.mysql", NULL),
        .image_agent = json_path_str(document, "images.agent", NULL),
        .image_pull_policy = json_path_str(document, "images.imagePullPolicy", NULL),
        .image_pull_secrets = member_of_size(json_object_get(document, "images"), "imagePullSecrets"),
        .flavour = flavour_by_name(json_path_str(document, "flavour", NULL)),
        .mycnf = member_of_size(document, "mycnf"),
        .run_as_user = json_path_int(document, "podSecurity.runAsUser", MYSQL_CONFIG_DEFAULT_UID),
        .resources = member_of_size(document, "resources"),
        .agent_resources = member_of_size(document, "agentResources"),
        .pod_template = member_of_size(document, "podTemplate"),
    };
    config.run_as_group = json_path_int(document, "podSecurity.runAsGroup", config.run_as_user);
    config.fs_group = json_path_int(document, "podSecurity.fsGroup", config.run_as_group);
    const json_t *limit = json_path(document, "resources.limits.memory");
    if (!limit || quantity_from_json(limit, &config.memory_limit_bytes) < 0)
        config.memory_limit_bytes = 0;
    *ret = config;
}

void mysql_config_spec_release(struct mysql_config_spec *config)
{
    json_decref(config->document);
    *config = (struct mysql_config_spec){0};
}
