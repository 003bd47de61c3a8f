/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/mysql_terminal.h"

#include "common/json.h"
#include "operator/api/api_fields.h"
#include "operator/api/cluster_status.h"
#include "operator/api/pod_template.h"

int mysql_terminal_parse(
    const char *ns, const char *name, json_t *spec, struct mysql_terminal *ret, struct api_problems *problems)
{
    int before = problems->count;
    *ret = (struct mysql_terminal){.ns = ns, .name = name};
    terminal_name_check(name, problems);
    if (!json_is_object(spec))
        return api_problems_add(problems, "spec", "is required");
    api_fields_check(spec, "spec", mysql_terminal_fields, problems);
    const json_t *pod_template = json_object_get(spec, "podTemplate");
    ret->document = json_incref(spec);
    ret->cluster_name = json_path_str(spec, "cluster.name", NULL);
    ret->cluster_namespace = json_path_str(spec, "cluster.namespace", ns);
    ret->pod_template = json_object_size(pod_template) > 0 ? pod_template : NULL;
    if (problems->count == before)
        pod_template_check(ret->pod_template, "spec.podTemplate", problems);
    return problems->count > before ? -1 : 0;
}

void mysql_terminal_release(struct mysql_terminal *terminal)
{
    json_decref(terminal->document);
    *terminal = (struct mysql_terminal){0};
}

static void put_text(json_t *object, const char *key, const char *text)
{
    json_put_str(object, key, *text ? text : NULL);
}

json_t *terminal_status_encode(const struct terminal_status *status)
{
    json_t *json = json_object();
    json_put_int(json, "observedGeneration", status->observed_generation);
    json_put_bool(json, "ready", status->ready);
    put_text(json, "pod", status->pod);
    put_text(json, "secret", status->secret);
    put_text(json, "service", status->service);
    if (status->conditions.count > 0)
        json_put(json, "conditions", kube_conditions_encode(&status->conditions));
    return json;
}

void terminal_status_decode(const json_t *json, struct terminal_status *ret)
{
    *ret = (struct terminal_status){0};
    if (!json)
        return;
    ret->observed_generation = json_path_int(json, "observedGeneration", 0);
    ret->ready = json_path_bool(json, "ready", false);
    snprintf(ret->pod, sizeof(ret->pod), "%s", json_path_str(json, "pod", ""));
    snprintf(ret->secret, sizeof(ret->secret), "%s", json_path_str(json, "secret", ""));
    snprintf(ret->service, sizeof(ret->service), "%s", json_path_str(json, "service", ""));
    kube_conditions_decode(json_object_get(json, "conditions"), cluster_condition_types, &ret->conditions);
}

bool terminal_status_same(const struct terminal_status *a, const struct terminal_status *b)
{
    _cleanup_(json_decrefp) json_t *a_json = terminal_status_encode(a);
    _cleanup_(json_decrefp) json_t *b_json = terminal_status_encode(b);
    return json_equal(a_json, b_json);
}
