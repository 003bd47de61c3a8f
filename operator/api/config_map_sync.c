/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/config_map_sync.h"

#include "common/json.h"
#include "operator/api/api_fields.h"
#include "operator/api/ready_conditions.h"

#define SYSTEM_MESSAGE "must not be a namespace of the system"

static bool is_of_the_system(const char *ns)
{
    return str_starts_with(ns, SYNC_SYSTEM_PREFIX);
}

bool config_map_sync_names(const struct config_map_sync *sync, const char *ns)
{
    size_t i;
    const json_t *each;
    if (str_eq(sync->destination, ns))
        return true;
    json_array_foreach(sync->destinations, i, each)
        if (str_eq(json_string_value(each), ns))
            return true;
    return false;
}

/* ---- checks of what the tables cannot say ---- */

static void check_destinations(const struct config_map_sync *sync, struct api_problems *problems)
{
    size_t i;
    const json_t *each;
    if (!sync->destination && json_array_size(sync->destinations) == 0 && !sync->selector)
        api_problems_add(problems, "spec.destinationNamespace",
            "is required where neither destinationNamespaces nor namespaceSelector says where copies go");
    if (str_eq(sync->destination, sync->source_namespace))
        api_problems_add(problems, "spec.destinationNamespace", "must be another namespace than the source's");
    if (sync->destination && is_of_the_system(sync->destination))
        api_problems_add(problems, "spec.destinationNamespace", SYSTEM_MESSAGE);
    json_array_foreach(sync->destinations, i, each) {
        char path[API_PATH_MAX];
        snprintf(path, sizeof(path), "spec.destinationNamespaces[%zu]", i);
        if (str_eq(json_string_value(each), sync->source_namespace))
            api_problems_add(problems, path, "must be other namespaces than the source's");
        if (is_of_the_system(json_string_value(each)))
            api_problems_add(problems, path, SYSTEM_MESSAGE);
    }
}

static bool compares(const json_t *expression)
{
    const char *how = json_path_str(expression, "operator", "");
    return str_eq(how, "In") || str_eq(how, "NotIn");
}

static void check_selector(const json_t *selector, struct api_problems *problems)
{
    size_t i;
    const json_t *each;
    json_array_foreach(json_object_get(selector, "matchExpressions"), i, each) {
        char path[API_PATH_MAX];
        snprintf(path, sizeof(path), "spec.namespaceSelector.matchExpressions[%zu].values", i);
        if (compares(each) != (json_array_size(json_object_get(each, "values")) > 0))
            api_problems_add(
                problems, path, "is required with In and NotIn, and must be left out with Exists and DoesNotExist");
    }
}

/* null counts as absent. */
static const json_t *member(const json_t *spec, const char *key)
{
    const json_t *value = json_object_get(spec, key);
    return json_is_null(value) ? NULL : value;
}

int config_map_sync_parse(
    const char *ns, const char *name, json_t *spec, struct config_map_sync *ret, struct api_problems *problems)
{
    int before = problems->count;
    *ret = (struct config_map_sync){.ns = ns, .name = name};
    if (!json_is_object(spec))
        return api_problems_add(problems, "spec", "is required");
    api_fields_check(spec, "spec", config_map_sync_fields, problems);
    ret->document = json_incref(spec);
    ret->source_namespace = json_path_str(spec, "sourceNamespace", NULL);
    ret->config_map = json_path_str(spec, "configMapName", NULL);
    ret->destination = json_path_str(spec, "destinationNamespace", NULL);
    ret->destinations = member(spec, "destinationNamespaces");
    ret->selector = member(spec, "namespaceSelector");
    if (problems->count > before)
        return -1;
    check_destinations(ret, problems);
    check_selector(ret->selector, problems);
    return problems->count > before ? -1 : 0;
}

void config_map_sync_release(struct config_map_sync *sync)
{
    json_decref(sync->document);
    *sync = (struct config_map_sync){0};
}

/* ---- selection and consent ---- */

static bool is_listed(const json_t *values, const char *value)
{
    size_t i;
    const json_t *each;
    json_array_foreach(values, i, each)
        if (str_eq(json_string_value(each), value))
            return true;
    return false;
}

/* NotIn holds, too, where the label is missing, as in Kubernetes. */
static bool expression_holds(const json_t *expression, const json_t *labels)
{
    const char *how = json_path_str(expression, "operator", "");
    const char *value = json_string_value(json_object_get(labels, json_path_str(expression, "key", "")));
    bool listed = value && is_listed(json_object_get(expression, "values"), value);
    if (str_eq(how, "In"))
        return listed;
    if (str_eq(how, "NotIn"))
        return !listed;
    return str_eq(how, "Exists") ? value != NULL : str_eq(how, "DoesNotExist") && !value;
}

bool label_selector_fits(const json_t *selector, const json_t *labels)
{
    const char *key;
    json_t *value;
    size_t i;
    const json_t *expression;
    json_object_foreach(json_object_get(selector, "matchLabels"), key, value)
        if (!str_eq(json_string_value(json_object_get(labels, key)), json_string_value(value)))
            return false;
    json_array_foreach(json_object_get(selector, "matchExpressions"), i, expression)
        if (!expression_holds(expression, labels))
            return false;
    return true;
}

bool namespaces_text_has(const char *text, const char *ns)
{
    size_t len = strlen(ns);
    for (const char *at = str_or_empty(text); *at;) {
        at += strspn(at, ", \t\n");
        size_t n = strcspn(at, ", \t\n");
        if ((n == 1 && *at == '*') || (n == len && n > 0 && strncmp(at, ns, n) == 0))
            return true;
        at += n;
    }
    return false;
}

/* ---- status ---- */

static const char *const condition_types[] = {CONDITION_READY, CONDITION_RECONCILING, CONDITION_STALLED, NULL};

json_t *config_map_sync_status_encode(const struct config_map_sync_status *status)
{
    json_t *json = json_object();
    json_put_int(json, "observedGeneration", status->observed_generation);
    json_put_int(json, "copies", status->copies);
    json_put_str(json, "lastSyncTime", *status->last_sync_time ? status->last_sync_time : NULL);
    if (status->conditions.count > 0)
        json_put(json, "conditions", kube_conditions_encode(&status->conditions));
    return json;
}

void config_map_sync_status_decode(const json_t *json, struct config_map_sync_status *ret)
{
    *ret = (struct config_map_sync_status){0};
    if (!json)
        return;
    ret->observed_generation = json_path_int(json, "observedGeneration", 0);
    ret->copies = json_path_int(json, "copies", 0);
    snprintf(ret->last_sync_time, sizeof(ret->last_sync_time), "%s", json_path_str(json, "lastSyncTime", ""));
    kube_conditions_decode(json_object_get(json, "conditions"), condition_types, &ret->conditions);
}

bool config_map_sync_status_same(const struct config_map_sync_status *a, const struct config_map_sync_status *b)
{
    _cleanup_(json_decrefp) json_t *a_json = config_map_sync_status_encode(a);
    _cleanup_(json_decrefp) json_t *b_json = config_map_sync_status_encode(b);
    return json_equal(a_json, b_json);
}
