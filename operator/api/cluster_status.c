/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/cluster_status.h"

#include "common/json.h"
#include "common/json_fields.h"
#include "operator/api/ready_conditions.h"
#include "operator/api/status_values.h"

#define SEED_PERCENT_STEP 5
#define SEED_BYTES_STEP ((uint64_t)(1024 * KM_MIB)) /* where the whole is not known */

const char *const cluster_condition_types[] = {CONDITION_ACCEPTED, CONDITION_PROGRESSING, CONDITION_AVAILABLE,
    CONDITION_HEALTHY, CONDITION_REPLICATED, CONDITION_WRITES_BLOCKED, CONDITION_LAGGING, CONDITION_CHILD_CONFLICT,
    CONDITION_STORAGE_RESIZED, CONDITION_CERTIFICATE_EXPIRING, CONDITION_RESTORED, CONDITION_FINAL_BACKUP,
    CONDITION_BINLOGS_ARCHIVED, CONDITION_RESTORE_VERIFIED, CONDITION_RESTORED_IN_PLACE, CONDITION_READY,
    CONDITION_RECONCILING, CONDITION_STALLED, CONDITION_DEGRADED, CONDITION_PASSWORD_SUSPECT, CONDITION_VOLUME_FULL,
    CONDITION_ROLLED_BACK, CONDITION_ACCOUNTS_LEFT, NULL};

const char *const cluster_state_names[CLUSTER_STATE_COUNT] = {
    [CLUSTER_STATE_UNKNOWN] = "",
    [CLUSTER_STATE_OFFLINE] = "Offline",
    [CLUSTER_STATE_CLONING] = "Cloning",
    [CLUSTER_STATE_RESTORING] = "Restoring",
    [CLUSTER_STATE_HEALTHY] = "Healthy",
    [CLUSTER_STATE_DEGRADED] = "Degraded",
    [CLUSTER_STATE_FAILED] = "Failed",
    [CLUSTER_STATE_LOST] = "Lost",
    [CLUSTER_STATE_INCOMPLETE] = "Incomplete",
};

/* Texts and numbers of the status and of an instance as tables: encode and decode cannot differ. */
static const struct status_text status_texts[] = {
    STATUS_TEXT(cluster_status, "statefulSet", stateful_set),
    STATUS_TEXT(cluster_status, "service", service),
    STATUS_TEXT(cluster_status, "servicePrimary", service_primary),
    STATUS_TEXT(cluster_status, "serviceReplicas", service_replicas),
    STATUS_TEXT(cluster_status, "selector", selector),
    STATUS_TEXT(cluster_status, "nextAction", next_action),
    STATUS_TEXT(cluster_status, "operatorVersion", operator_version),
    STATUS_TEXT(cluster_status, "dataVersion", data_version),
    STATUS_TEXT(cluster_status, "mycnfAdjusted", mycnf_adjusted),
    STATUS_TEXT(cluster_status, "appliedHash", applied_hash),
};
static const struct status_number status_ints[] = {
    STATUS_NUMBER(cluster_status, "replicas", replicas),
    STATUS_NUMBER(cluster_status, "readyReplicas", ready_replicas),
    STATUS_NUMBER(cluster_status, "updatedReplicas", updated_replicas),
};
static const char *const instance_phase_names[INSTANCE_PHASE_COUNT] = {
    [INSTANCE_PHASE_NONE] = "",
    [INSTANCE_PHASE_PENDING] = "Pending",
    [INSTANCE_PHASE_INITIALIZING] = "Initializing",
    [INSTANCE_PHASE_SEEDING] = "Seeding",
    [INSTANCE_PHASE_STARTING] = "Starting",
    [INSTANCE_PHASE_RUNNING] = "Running",
    [INSTANCE_PHASE_HUNG] = "Hung",
    [INSTANCE_PHASE_DOWN] = "Down",
    [INSTANCE_PHASE_TERMINATING] = "Terminating",
    [INSTANCE_PHASE_FAILED] = "Failed",
    [INSTANCE_PHASE_UNKNOWN] = "Unknown",
};

static const struct status_text instance_texts[] = {
    STATUS_TEXT(cluster_instance, "name", name), STATUS_TEXT(cluster_instance, "role", role),
    STATUS_TEXT(cluster_instance, "flavour", flavour), STATUS_TEXT(cluster_instance, "version", version),
    STATUS_TEXT(cluster_instance, "node", node), STATUS_TEXT(cluster_instance, "message", message),
    STATUS_TEXT(cluster_instance, "errantTransactions", errant), STATUS_TEXT(cluster_instance, "problem", problem),
    STATUS_TEXT(cluster_instance, "setAside", set_aside.sets[0]), /* older ones: put_older_sets */
};

/* ---- encode ---- */

static void put_copy(json_t *json, const char *key, const json_t *value)
{
    if (value)
        json_put(json, key, json_deep_copy(value));
}

static void put_seed_bytes(json_t *seed, const struct cluster_instance *instance)
{
    uint64_t left =
        instance->seed_total_bytes > instance->seed_bytes ? instance->seed_total_bytes - instance->seed_bytes : 0;
    uint64_t rate = instance->seed_bytes_per_second;
    status_put_positive(seed, "bytes", (int64_t)instance->seed_bytes);
    status_put_positive(seed, "totalBytes", (int64_t)instance->seed_total_bytes);
    status_put_positive(seed, "bytesPerSecond", (int64_t)rate);
    if (rate > 0 && left > 0)
        json_put_int(seed, "secondsLeft", (int64_t)((left + rate - 1) / rate));
}

static void put_seed(json_t *json, const struct cluster_instance *instance)
{
    if (instance->seed_step == AGENT_SEED_STEP_NONE)
        return;
    json_t *seed = json_object();
    json_put_str(seed, "step", agent_seed_step_name(instance->seed_step));
    if (*instance->seed_donor)
        json_put_str(seed, "donor", instance->seed_donor);
    status_put_positive(seed, "percent", instance->seed_percent - instance->seed_percent % SEED_PERCENT_STEP);
    put_seed_bytes(seed, instance);
    json_put(json, "seed", seed);
}

static void put_older_sets(json_t *json, const struct agent_set_asides *asides)
{
    status_put_positive(json, "setAsideMore", asides->more);
    if (!*asides->sets[1])
        return;
    json_t *older = json_array();
    for (int i = 1; i < AGENT_SET_ASIDES_MAX && *asides->sets[i]; i++)
        json_array_append_new(older, json_string(asides->sets[i]));
    json_put(json, "setAsideOlder", older);
}

static json_t *encode_instance(const struct cluster_instance *instance)
{
    json_t *json = json_object();
    json_put_int(json, "ordinal", instance->ordinal);
    json_put_bool(json, "ready", instance->ready);
    if (instance->phase != INSTANCE_PHASE_NONE)
        json_put_str(json, "phase", instance_phase_names[instance->phase]);
    status_put_texts(json, instance, instance_texts, ARRAY_LEN(instance_texts));
    if (instance->lag_known)
        json_put_int(json, "lagSeconds", instance->lag_ms / 1000);
    put_older_sets(json, &instance->set_aside);
    put_seed(json, instance);
    return json;
}

static void put_names(json_t *json, const char *key, const char (*names)[DERIVED_NAME_SIZE], int count)
{
    if (count == 0)
        return;
    json_t *array = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(array, json_string(names[i]));
    json_put(json, key, array);
}

static void put_instances(json_t *json, const struct cluster_status *status)
{
    json_t *instances = json_array();
    for (int i = 0; i < status->instance_count; i++)
        json_array_append_new(instances, encode_instance(&status->instances[i]));
    json_put(json, "instances", instances);
}

json_t *cluster_status_encode(const struct cluster_status *status)
{
    json_t *json = json_object();
    json_put_int(json, "observedGeneration", status->observed_generation);
    status_put_positive(json, "appliedGeneration", status->applied_generation);
    cluster_role_status_encode(&status->roles, json);
    json_put(json, "history", cluster_history_encode(&status->history));
    put_copy(json, "configSpec", status->config_spec);
    put_copy(json, "acceptedSpec", status->accepted_spec);
    put_copy(json, "storageVolumeSource", status->storage_volume_source);
    put_copy(json, "storage", status->storage);
    status_put_positive(json, "port", status->port);
    status_put_texts(json, status, status_texts, ARRAY_LEN(status_texts));
    json_put(json, "accounts", cluster_accounts_encode(&status->accounts));
    if (*status->binding)
        json_put(json, "binding", json_build("{s:s}", "name", status->binding));
    if (status->state != CLUSTER_STATE_UNKNOWN)
        json_put_str(json, "state", cluster_state_names[status->state]);
    for (size_t i = 0; i < ARRAY_LEN(status_ints); i++)
        json_put_int(
            json, status_ints[i].key, *(const int *)(const void *)((const char *)status + status_ints[i].offset));
    if (status->restore.phase != RESTORE_PHASE_NONE)
        json_put(json, "restore", cluster_restore_encode(&status->restore));
    if (status->in_place.phase != IN_PLACE_PHASE_NONE)
        json_put(json, "restoreInPlace", cluster_in_place_encode(&status->in_place));
    json_put(json, "roll", cluster_roll_status_encode(&status->roll));
    json_put(json, "closedForCopy", cluster_copy_close_encode(&status->copy_close));
    json_put(json, "lastCommitWait", cluster_commit_wait_encode(&status->commit_wait));
    put_instances(json, status);
    put_names(json, "volumes", status->volumes, status->volume_count);
    put_names(json, "retainedVolumes", status->retained_volumes, status->retained_volume_count);
    if (status->conditions.count > 0)
        json_put(json, "conditions", kube_conditions_encode(&status->conditions));
    return json;
}

/* ---- decode ---- */

static json_t *read_object(const json_t *json, const char *key)
{
    const json_t *value = json_object_get(json, key);
    return json_is_object(value) ? json_deep_copy(value) : NULL;
}

static void read_progress(const json_t *json, struct cluster_instance *ret)
{
    const json_t *seed = json_object_get(json, "seed");
    ret->lag_known = json_is_integer(json_object_get(json, "lagSeconds"));
    ret->lag_ms = (int64_t)status_clamp_int(json_path_int(json, "lagSeconds", 0)) * 1000;
    ret->seed_step = agent_seed_step_of(json_path_str(seed, "step", ""));
    snprintf(ret->seed_donor, sizeof(ret->seed_donor), "%s", json_path_str(seed, "donor", ""));
    ret->seed_percent = MIN_OF(100, status_clamp_int(json_path_int(seed, "percent", 0)));
    ret->seed_bytes = (uint64_t)MAX_OF(0, json_path_int(seed, "bytes", 0));
    ret->seed_total_bytes = (uint64_t)MAX_OF(0, json_path_int(seed, "totalBytes", 0));
    ret->seed_bytes_per_second = (uint64_t)MAX_OF(0, json_path_int(seed, "bytesPerSecond", 0));
}

static void read_older_sets(const json_t *json, struct agent_set_asides *ret)
{
    const json_t *older = json_object_get(json, "setAsideOlder");
    ret->more = (uint32_t)status_clamp_int(json_path_int(json, "setAsideMore", 0));
    for (size_t i = 0; i < json_array_size(older) && i + 1 < AGENT_SET_ASIDES_MAX; i++)
        json_copy_text(
            ret->sets[i + 1], sizeof(ret->sets[i + 1]), str_or_empty(json_string_value(json_array_get(older, i))));
}

static void read_instances(const json_t *array, struct cluster_status *ret)
{
    size_t i;
    json_t *element;
    json_array_foreach(array, i, element) {
        struct cluster_instance *instance = json_is_object(element) ? cluster_status_add_instance(ret, "", 0) : NULL;
        if (!instance)
            continue;
        instance->ordinal = status_clamp_int(json_path_int(element, "ordinal", 0));
        instance->ready = json_path_bool(element, "ready", false);
        instance->phase = (enum instance_phase)json_name_index(
            instance_phase_names, INSTANCE_PHASE_COUNT, json_path_str(element, "phase", ""));
        status_read_texts(element, instance, instance_texts, ARRAY_LEN(instance_texts));
        read_older_sets(element, &instance->set_aside);
        read_progress(element, instance);
    }
}

static int read_names(const json_t *array, char (*ret)[DERIVED_NAME_SIZE], size_t max)
{
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(array) && count < max; i++) {
        const char *name = json_string_value(json_array_get(array, i));
        if (name)
            snprintf(ret[count++], DERIVED_NAME_SIZE, "%s", name);
    }
    return (int)count;
}

void cluster_status_decode(const json_t *json, struct cluster_status *ret)
{
    *ret = (struct cluster_status){.positions = position_pool_new(CLUSTER_POSITIONS_MAX)};
    if (!json_is_object(json))
        return;
    ret->observed_generation = json_path_int(json, "observedGeneration", 0);
    ret->applied_generation = json_path_int(json, "appliedGeneration", 0);
    ret->port = status_clamp_int(json_path_int(json, "port", 0));
    cluster_role_status_decode(json, ret->positions, &ret->roles);
    cluster_history_decode(json_object_get(json, "history"), &ret->roles, &ret->history);
    cluster_accounts_decode(json_object_get(json, "accounts"), &ret->accounts);
    cluster_restore_decode(json_object_get(json, "restore"), &ret->restore);
    cluster_in_place_decode(json_object_get(json, "restoreInPlace"), &ret->in_place);
    cluster_roll_status_decode(json_object_get(json, "roll"), &ret->roll);
    cluster_copy_close_decode(json_object_get(json, "closedForCopy"), &ret->copy_close);
    cluster_commit_wait_decode(json_object_get(json, "lastCommitWait"), &ret->commit_wait);
    json_copy_text(ret->last_backup, sizeof(ret->last_backup), json_path_str(json, "backup.lastBackup", ""));
    json_copy_text(ret->archive.reason, sizeof(ret->archive.reason), json_path_str(json, "backup.archive.reason", ""));
    json_copy_text(
        ret->archive.message, sizeof(ret->archive.message), json_path_str(json, "backup.archive.message", ""));
    ret->archive.until_ms = status_read_time(json_path(json, "backup.archive"), "untilTime");
    ret->archive.gap_ms = status_read_time(json_path(json, "backup.archive"), "gapTime");
    json_copy_text(ret->drill.reason, sizeof(ret->drill.reason), json_path_str(json, "backup.drill.reason", ""));
    json_copy_text(ret->drill.message, sizeof(ret->drill.message), json_path_str(json, "backup.drill.message", ""));
    json_copy_text(ret->backup_problem, sizeof(ret->backup_problem), json_path_str(json, "backup.problem", ""));
    json_copy_text(ret->binding, sizeof(ret->binding), json_path_str(json, "binding.name", ""));
    ret->config_spec = read_object(json, "configSpec");
    ret->accepted_spec = read_object(json, "acceptedSpec");
    ret->storage_volume_source = read_object(json, "storageVolumeSource");
    ret->storage = read_object(json, "storage");
    status_read_texts(json, ret, status_texts, ARRAY_LEN(status_texts));
    ret->state =
        (enum cluster_state)json_name_index(cluster_state_names, CLUSTER_STATE_COUNT, json_path_str(json, "state", ""));
    for (size_t i = 0; i < ARRAY_LEN(status_ints); i++)
        *(int *)(void *)((char *)ret + status_ints[i].offset) =
            status_clamp_int(json_path_int(json, status_ints[i].key, 0));
    read_instances(json_object_get(json, "instances"), ret);
    ret->volume_count = read_names(json_object_get(json, "volumes"), ret->volumes, ARRAY_LEN(ret->volumes));
    ret->retained_volume_count =
        read_names(json_object_get(json, "retainedVolumes"), ret->retained_volumes, ARRAY_LEN(ret->retained_volumes));
    kube_conditions_decode(json_object_get(json, "conditions"), cluster_condition_types, &ret->conditions);
}

/* ---- values ---- */

void cluster_status_copy(const struct cluster_status *from, struct cluster_status *ret)
{
    *ret = *from;
    ret->positions = from->positions ? position_pool_ref(from->positions) : position_pool_new(CLUSTER_POSITIONS_MAX);
    ret->config_spec = json_deep_copy(from->config_spec);
    ret->accepted_spec = json_deep_copy(from->accepted_spec);
    ret->storage_volume_source = json_deep_copy(from->storage_volume_source);
    ret->storage = json_deep_copy(from->storage);
    cluster_restore_copy(&from->restore, &ret->restore);
    cluster_in_place_copy(&from->in_place, &ret->in_place);
}

void cluster_status_release(struct cluster_status *status)
{
    position_pool_unref(status->positions);
    json_decref(status->config_spec);
    json_decref(status->accepted_spec);
    json_decref(status->storage_volume_source);
    json_decref(status->storage);
    cluster_restore_release(&status->restore);
    cluster_in_place_release(&status->in_place);
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

/* Server-side apply of Kubernetes 1.20 stores a map that lost its last member as null: {}, null and absent count as the
 * same, or a status with such a member would be written for ever. */
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

/* A replica that catches up for an hour is so told in a few dozen writes. */
bool cluster_lag_moved(int64_t a_ms, int64_t b_ms)
{
    int64_t larger = MAX_OF(a_ms, b_ms), difference = larger - MIN_OF(a_ms, b_ms);
    return difference >= 1000 && difference >= larger / 10;
}

/* Its bytes move all the time; they are written together with the percentage. */
static bool seed_moved(const struct cluster_instance *a, const struct cluster_instance *b)
{
    if (a->seed_step != b->seed_step || !str_eq(a->seed_donor, b->seed_donor) ||
        (a->seed_total_bytes > 0) != (b->seed_total_bytes > 0))
        return true;
    if (a->seed_total_bytes > 0)
        return a->seed_percent / SEED_PERCENT_STEP != b->seed_percent / SEED_PERCENT_STEP;
    return a->seed_bytes / SEED_BYTES_STEP != b->seed_bytes / SEED_BYTES_STEP;
}

/* What did not move enough counts as the other's. */
static void level_progress(const struct cluster_status *a, const struct cluster_status *b, json_t *b_json)
{
    json_t *instances = json_object_get(b_json, "instances");
    for (int i = 0; i < a->instance_count && i < b->instance_count; i++) {
        const struct cluster_instance *one = &a->instances[i], *other = &b->instances[i];
        json_t *instance = json_array_get(instances, (size_t)i);
        if (one->lag_known && other->lag_known && !cluster_lag_moved(one->lag_ms, other->lag_ms))
            json_put_int(instance, "lagSeconds", one->lag_ms / 1000);
        if (one->seed_step != AGENT_SEED_STEP_NONE && !seed_moved(one, other))
            put_seed(instance, one);
    }
}

bool cluster_status_same(const struct cluster_status *a, const struct cluster_status *b)
{
    _cleanup_(json_decrefp) json_t *a_json = cluster_status_encode(a);
    _cleanup_(json_decrefp) json_t *b_json = cluster_status_encode(b);
    level_progress(a, b, b_json);
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
