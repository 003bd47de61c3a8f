/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/app.h"

#include "common/json.h"
#include "operator/api/api_fields.h"

static bool is_letter(char c)
{
    return c >= 'a' && c <= 'z';
}

static void check_name(const char *name, struct api_problems *problems)
{
    size_t len = strlen(name);
    bool good = len <= APP_NAME_MAX && is_letter(name[0]) && name[len - 1] != '-';
    for (const char *c = name; *c; c++)
        good = good && (is_letter(*c) || (*c >= '0' && *c <= '9') || *c == '-');
    if (!good)
        api_problems_add(problems, "metadata.name",
            "must be a name of at most %d lower-case letters, digits and '-' that begins with a letter", APP_NAME_MAX);
}

static bool has_earlier(const json_t *array, size_t until, bool (*same)(const json_t *a, const json_t *b))
{
    for (size_t i = 0; i < until; i++)
        if (same(json_array_get(array, i), json_array_get(array, until)))
            return true;
    return false;
}

static bool same_variable(const json_t *a, const json_t *b)
{
    return str_eq(json_path_str(a, "name", ""), json_path_str(b, "name", ""));
}

static bool same_port(const json_t *a, const json_t *b)
{
    return json_path_int(a, "port", 0) == json_path_int(b, "port", 0) &&
        str_eq(json_path_str(a, "protocol", "TCP"), json_path_str(b, "protocol", "TCP"));
}

static void check_envs(const json_t *envs, struct api_problems *problems)
{
    size_t i;
    const json_t *each;
    json_array_foreach(envs, i, each) {
        char path[API_PATH_MAX];
        snprintf(path, sizeof(path), "spec.envs[%zu].valueFrom", i);
        if (json_is_object(json_object_get(each, "valueFrom")) && *json_path_str(each, "value", ""))
            api_problems_add(problems, path, "must be left out where there is a value");
        snprintf(path, sizeof(path), "spec.envs[%zu].name", i);
        if (has_earlier(envs, i, same_variable))
            api_problems_add(problems, path, "stands there already");
    }
}

static void check_ports(const json_t *ports, struct api_problems *problems)
{
    size_t i;
    const json_t *each;
    json_array_foreach(ports, i, each) {
        char path[API_PATH_MAX];
        snprintf(path, sizeof(path), "spec.ports[%zu].port", i);
        if (has_earlier(ports, i, same_port))
            api_problems_add(problems, path, "stands there already");
        if (json_array_size(ports) > 1 && !json_is_string(json_object_get(each, "name"))) {
            api_problems_add(problems, "spec.ports", "each needs a name where there are several");
            return;
        }
    }
}

/* null counts as absent, nothing in it, too. */
static const json_t *member(const json_t *spec, const char *key)
{
    const json_t *value = json_object_get(spec, key);
    return json_object_size(value) > 0 || json_array_size(value) > 0 ? value : NULL;
}

int app_parse(const char *ns, const char *name, json_t *spec, struct app *ret, struct api_problems *problems)
{
    int before = problems->count;
    *ret = (struct app){.ns = ns, .name = name};
    check_name(name, problems);
    if (!json_is_object(spec))
        return api_problems_add(problems, "spec", "is required");
    api_fields_check(spec, "spec", app_fields, problems);
    ret->document = json_incref(spec);
    ret->replicas = json_path_int(spec, "replicas", 1);
    ret->image = json_path_str(spec, "image", NULL);
    ret->resources = member(spec, "resources");
    ret->security_context = member(spec, "securityContext");
    ret->envs = member(spec, "envs");
    ret->ports = member(spec, "ports");
    if (problems->count > before)
        return -1;
    check_envs(ret->envs, problems);
    check_ports(ret->ports, problems);
    return problems->count > before ? -1 : 0;
}

void app_release(struct app *app)
{
    json_decref(app->document);
    *app = (struct app){.document = NULL};
}
