#include "common/base.h"

#include "operator/api/cluster_status.h"

#include "common/json.h"

const char *const cluster_condition_types[] = {CONDITION_ACCEPTED, CONDITION_PROGRESSING, CONDITION_AVAILABLE,
    CONDITION_HEALTHY, CONDITION_REPLICATED, CONDITION_CHILD_CONFLICT, CONDITION_STORAGE_RESIZED,
    CONDITION_CERTIFICATE_EXPIRING, NULL};

/* Texts and numbers of the status and of an instance as tables: encode and decode cannot differ. */
struct text_member {
    const char *key;
    size_t offset, size;
};
struct int_member {
    const char *key;
    size_t offset;
};
#define TEXT(type, key, member)                                                \
    {                                                                          \
        key, offsetof(struct type, member), sizeof(((struct type *)0)->member) \
    }
#define INT(type, key, member)             \
    {                                      \
        key, offsetof(struct type, member) \
    }

static const struct text_member status_texts[] = {
    TEXT(cluster_status, "statefulSet", stateful_set),
    TEXT(cluster_status, "service", service),
    TEXT(cluster_status, "servicePrimary", service_primary),
    TEXT(cluster_status, "serviceReplicas", service_replicas),
    TEXT(cluster_status, "selector", selector),
    TEXT(cluster_status, "currentPrimary", current_primary),
    TEXT(cluster_status, "nextAction", next_action),
    TEXT(cluster_status, "appliedHash", applied_hash),
};
static const struct int_member status_ints[] = {
    INT(cluster_status, "replicas", replicas),
    INT(cluster_status, "readyReplicas", ready_replicas),
    INT(cluster_status, "updatedReplicas", updated_replicas),
};
static const struct text_member instance_texts[] = {
    TEXT(cluster_instance, "name", name),
    TEXT(cluster_instance, "phase", phase),
    TEXT(cluster_instance, "role", role),
    TEXT(cluster_instance, "flavour", flavour),
    TEXT(cluster_instance, "version", version),
    TEXT(cluster_instance, "node", node),
    TEXT(cluster_instance, "message", message),
};

/* ---- encode ---- */

static void put_texts(json_t *json, const void *base, const struct text_member *members, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *text = (const char *)base + members[i].offset;
        if (*text)
            json_put_str(json, members[i].key, text);
    }
}

static void put_copy(json_t *json, const char *key, const json_t *value)
{
    if (value)
        json_put(json, key, json_deep_copy(value));
}

static json_t *encode_instance(const struct cluster_instance *instance)
{
    json_t *json = json_object();
    json_put_int(json, "ordinal", instance->ordinal);
    json_put_bool(json, "ready", instance->ready);
    put_texts(json, instance, instance_texts, ARRAY_LEN(instance_texts));
    return json;
}

json_t *cluster_status_encode(const struct cluster_status *status)
{
    json_t *json = json_object();
    json_put_int(json, "observedGeneration", status->observed_generation);
    if (status->applied_generation > 0)
        json_put_int(json, "appliedGeneration", status->applied_generation);
    put_copy(json, "configSpec", status->config_spec);
    put_copy(json, "storageVolumeSource", status->storage_volume_source);
    put_copy(json, "storage", status->storage);
    put_texts(json, status, status_texts, ARRAY_LEN(status_texts));
    for (size_t i = 0; i < ARRAY_LEN(status_ints); i++)
        json_put_int(
            json, status_ints[i].key, *(const int *)(const void *)((const char *)status + status_ints[i].offset));
    json_t *instances = json_array();
    for (int i = 0; i < status->instance_count; i++)
        json_array_append_new(instances, encode_instance(&status->instances[i]));
    json_put(json, "instances", instances);
    json_t *volumes = json_array();
    for (int i = 0; i < status->volume_count; i++)
        json_array_append_new(volumes, json_string(status->volumes[i]));
    if (status->volume_count > 0)
        json_put(json, "volumes", json_incref(volumes));
    json_decref(volumes);
    if (status->conditions.count > 0)
        json_put(json, "conditions", kube_conditions_encode(&status->conditions));
    return json;
}

/* ---- decode ---- */

static void read_texts(const json_t *json, void *base, const struct text_member *members, size_t count)
{
    for (size_t i = 0; i < count; i++)
        snprintf((char *)base + members[i].offset, members[i].size, "%s", json_path_str(json, members[i].key, ""));
}

static json_t *read_object(const json_t *json, const char *key)
{
    const json_t *value = json_object_get(json, key);
    return json_is_object(value) ? json_deep_copy(value) : NULL;
}

static int clamp_int(int64_t value)
{
    return value < 0 ? 0 : (int)MIN_OF(value, INT_MAX);
}

static void read_instances(const json_t *array, struct cluster_status *ret)
{
    size_t i;
    json_t *element;
    json_array_foreach(array, i, element) {
        struct cluster_instance *instance = json_is_object(element) ? cluster_status_add_instance(ret, "", 0) : NULL;
        if (!instance)
            continue;
        instance->ordinal = clamp_int(json_path_int(element, "ordinal", 0));
        instance->ready = json_path_bool(element, "ready", false);
        read_texts(element, instance, instance_texts, ARRAY_LEN(instance_texts));
    }
}

static void read_volumes(const json_t *array, struct cluster_status *ret)
{
    for (size_t i = 0; i < json_array_size(array) && ret->volume_count < (int)ARRAY_LEN(ret->volumes); i++) {
        const char *name = json_string_value(json_array_get(array, i));
        if (name)
            snprintf(ret->volumes[ret->volume_count++], DERIVED_NAME_SIZE, "%s", name);
    }
}

void cluster_status_decode(const json_t *json, struct cluster_status *ret)
{
    *ret = (struct cluster_status){0};
    if (!json_is_object(json))
        return;
    ret->observed_generation = json_path_int(json, "observedGeneration", 0);
    ret->applied_generation = json_path_int(json, "appliedGeneration", 0);
    ret->config_spec = read_object(json, "configSpec");
    ret->storage_volume_source = read_object(json, "storageVolumeSource");
    ret->storage = read_object(json, "storage");
    read_texts(json, ret, status_texts, ARRAY_LEN(status_texts));
    for (size_t i = 0; i < ARRAY_LEN(status_ints); i++)
        *(int *)(void *)((char *)ret + status_ints[i].offset) = clamp_int(json_path_int(json, status_ints[i].key, 0));
    read_instances(json_object_get(json, "instances"), ret);
    read_volumes(json_object_get(json, "volumes"), ret);
    kube_conditions_decode(json_object_get(json, "conditions"), cluster_condition_types, &ret->conditions);
}

/* ---- values ---- */

void cluster_status_copy(const struct cluster_status *from, struct cluster_status *ret)
{
    *ret = *from;
    ret->config_spec = json_deep_copy(from->config_spec);
    ret->storage_volume_source = json_deep_copy(from->storage_volume_source);
    ret->storage = json_deep_copy(from->storage);
}

void cluster_status_release(struct cluster_status *status)
{
    json_decref(status->config_spec);
    json_decref(status->storage_volume_source);
    json_decref(status->storage);
    *status = (struct cluster_status){0};
}

static bool is_empty(const json_t *value)
{
    const char *key;
    json_t *member;
    if (json_is_object(value)) {
        json_object_foreach((json_t *)value, key, member) {
            if (!is_empty(member))
                return false;
        }
        return true;
    }
    return !value || json_is_null(value) || (json_is_array(value) && json_array_size(value) == 0);
}

/* Server-side apply of Kubernetes 1.20 stores a map that lost its last member as null: {}, null and absent count as the same, or a status with
 * such a member would be written for ever. */
static bool is_same(const json_t *a, const json_t *b)
{
    const char *key;
    json_t *member;
    if (is_empty(a) || is_empty(b))
        return is_empty(a) && is_empty(b);
    if (!json_is_object(a) || !json_is_object(b))
        return json_equal(a, b);
    json_object_foreach((json_t *)a, key, member) {
        if (!is_same(member, json_object_get(b, key)))
            return false;
    }
    json_object_foreach((json_t *)b, key, member) {
        if (!is_same(member, json_object_get(a, key)))
            return false;
    }
    return true;
}

bool cluster_status_same(const struct cluster_status *a, const struct cluster_status *b)
{
    _cleanup_(json_decrefp) json_t *a_json = cluster_status_encode(a);
    _cleanup_(json_decrefp) json_t *b_json = cluster_status_encode(b);
    return is_same(a_json, b_json);
}

struct cluster_instance *cluster_status_add_instance(struct cluster_status *status, const char *name, int ordinal)
{
    if (status->instance_count == (int)ARRAY_LEN(status->instances))
        return NULL;
    struct cluster_instance *instance = &status->instances[status->instance_count++];
    *instance = (struct cluster_instance){.ordinal = ordinal};
    snprintf(instance->name, sizeof(instance->name), "%s", name);
    return instance;
}
