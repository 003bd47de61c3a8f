/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/pod_template.h"

#include "operator/api/names.h"

/* ---- merge ---- */

static const char *const merge_keys[] = {"name", "mountPath"};

/* Which of merge_keys every element of both arrays has, NULL if none: then arrays are replaced. */
static const char *common_merge_key(const json_t *a, const json_t *b)
{
    for (size_t i = 0; i < ARRAY_LEN(merge_keys); i++) {
        /* Mounts have a name too, but one volume may be mounted in several places. */
        const char *key = merge_keys[ARRAY_LEN(merge_keys) - 1 - i];
        bool all = json_array_size(a) + json_array_size(b) > 0;
        for (size_t j = 0; all && j < json_array_size(a); j++)
            all = json_is_string(json_object_get(json_array_get(a, j), key));
        for (size_t j = 0; all && j < json_array_size(b); j++)
            all = json_is_string(json_object_get(json_array_get(b, j), key));
        if (all)
            return key;
    }
    return NULL;
}

static json_t *find_element(const json_t *array, const char *key, const char *value)
{
    size_t i;
    json_t *element;
    json_array_foreach(array, i, element) {
        if (str_eq(json_string_value(json_object_get(element, key)), value))
            return element;
    }
    return NULL;
}

static void merge_arrays(json_t *base, const json_t *over, const char *key)
{
    size_t i;
    json_t *element;
    json_array_foreach(over, i, element) {
        json_t *same = find_element(base, key, json_string_value(json_object_get(element, key)));
        if (same)
            pod_template_merge(same, element);
        else
            json_array_append_new(base, json_deep_copy(element));
    }
}

/* Recursion is as deep as the parsed document, which JSON_DEPTH_MAX bounds. */
void pod_template_merge(json_t *base, const json_t *over)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)over, key, value) {
        json_t *old = json_object_get(base, key);
        const char *merge_key = json_is_array(old) && json_is_array(value) ? common_merge_key(old, value) : NULL;
        if (json_is_null(value))
            json_object_del(base, key);
        else if (json_is_object(old) && json_is_object(value))
            pod_template_merge(old, value);
        else if (merge_key)
            merge_arrays(old, value, merge_key);
        else
            json_object_set_new(base, key, json_deep_copy(value));
    }
}

/* ---- check ---- */

#define CONTAINERS_MAX 64

static const char *const our_containers[] = {
    CONTAINER_MYSQL, CONTAINER_AGENT, CONTAINER_INJECT, CONTAINER_INIT, CONTAINER_TERMINAL};
static const char *const our_labels[] = {LABEL_NAME, LABEL_INSTANCE, LABEL_COMPONENT, LABEL_MANAGED_BY};
static const char *const owned_pod_keys[] = {"restartPolicy", "hostname", "subdomain", "serviceAccountName",
    "serviceAccount", "automountServiceAccountToken", "ephemeralContainers"};
static const char *const owned_container_keys[] = {
    "image", "command", "args", "ports", "lifecycle", "livenessProbe", "readinessProbe", "startupProbe"};

static bool is_listed(const char *const *list, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(list[i], text) == 0)
            return true;
    }
    return false;
}

void metadata_check(const json_t *metadata, const char *prefix, struct api_problems *problems)
{
    static const char *const members[] = {"labels", "annotations"};
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        const char *key;
        json_t *value;
        json_object_foreach(json_object_get(metadata, members[i]), key, value) {
            char path[API_PATH_MAX];
            if (!str_starts_with(key, ANNOTATION_PREFIX) && !is_listed(our_labels, ARRAY_LEN(our_labels), key))
                continue;
            snprintf(path, sizeof(path), "%.70s.%s[\"%.60s\"]", prefix, members[i], key);
            api_problems_add(problems, path, "is managed by kube-mysql");
        }
    }
}

static void check_container(const json_t *container, const char *path, struct api_problems *problems)
{
    char field[API_PATH_MAX];
    const char *name = json_string_value(json_object_get(container, "name"));
    if (str_empty(name) || strlen(name) > KUBE_LABEL_MAX) {
        api_problems_add(problems, path, "must be an object with a name of 1 to %d characters", KUBE_LABEL_MAX);
        return;
    }
    bool ours = is_listed(our_containers, ARRAY_LEN(our_containers), name);
    for (size_t i = 0; ours && i < ARRAY_LEN(owned_container_keys); i++) {
        if (!json_object_get(container, owned_container_keys[i]))
            continue;
        snprintf(field, sizeof(field), "%.120s.%s", path, owned_container_keys[i]);
        api_problems_add(problems, field, "of container %s is managed by kube-mysql%s", name,
            i == 0 ? "; set images in the configuration" : "");
    }
}

static void check_containers(const json_t *spec, const char *member, const char *prefix, struct api_problems *problems)
{
    char path[API_PATH_MAX];
    const json_t *containers = json_object_get(spec, member);
    snprintf(path, sizeof(path), "%.100s.spec.%s", prefix, member);
    if (containers && !json_is_array(containers))
        api_problems_add(problems, path, "must be an array");
    if (json_array_size(containers) > CONTAINERS_MAX)
        api_problems_add(problems, path, "must have at most %d elements", CONTAINERS_MAX);
    for (size_t i = 0; i < json_array_size(containers); i++) {
        snprintf(path, sizeof(path), "%.100s.spec.%s[%d]", prefix, member, (int)i);
        check_container(json_array_get(containers, i), path, problems);
    }
}

void pod_template_check(const json_t *pod_template, const char *prefix, struct api_problems *problems)
{
    char path[API_PATH_MAX];
    const json_t *spec = json_object_get(pod_template, "spec");
    snprintf(path, sizeof(path), "%.120s.metadata", prefix);
    metadata_check(json_object_get(pod_template, "metadata"), path, problems);
    for (size_t i = 0; i < ARRAY_LEN(owned_pod_keys); i++) {
        if (!json_object_get(spec, owned_pod_keys[i]))
            continue;
        snprintf(path, sizeof(path), "%.100s.spec.%s", prefix, owned_pod_keys[i]);
        api_problems_add(problems, path, "is managed by kube-mysql");
    }
    check_containers(spec, "containers", prefix, problems);
    check_containers(spec, "initContainers", prefix, problems);
}
