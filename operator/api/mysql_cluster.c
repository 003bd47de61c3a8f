/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/mysql_cluster.h"

#include "common/agent_api.h"
#include "common/alloc.h"
#include "common/json.h"
#include "operator/api/api_fields.h"
#include "operator/api/backup_spec.h"
#include "operator/api/mycnf.h"
#include "operator/api/pod_template.h"
#include "operator/api/quantity.h"

#define PASSWORD_SECRET_KEY_DEFAULT "password"
#define SECONDS_OF_A_DAY 86400

/* ---- read ---- */

static const json_t *object_at(const json_t *spec, const char *path)
{
    const json_t *value = json_path(spec, path);
    return json_is_object(value) && json_object_size(value) > 0 ? value : NULL;
}

static void read_storage(const json_t *spec, struct cluster_storage *ret)
{
    ret->volume_source = object_at(spec, "storage.volumeSource");
    ret->storage_class_name = json_path_str(spec, "storage.storageClassName", NULL);
    ret->resources = object_at(spec, "storage.resources");
    const json_t *size = json_path(spec, "storage.resources.requests.storage");
    if (!size || quantity_from_json(size, &ret->size_bytes) < 0)
        ret->size_bytes = 0;
}

static void read_service(const json_t *spec, const char *which, struct cluster_service_options *ret)
{
    const json_t *service = json_object_get(json_object_get(spec, "services"), which);
    const json_t *ranges = json_object_get(service, "loadBalancerSourceRanges");
    ret->type = json_path_str(service, "type", "ClusterIP");
    ret->labels = object_at(service, "labels");
    ret->annotations = object_at(service, "annotations");
    ret->load_balancer_source_ranges = json_array_size(ranges) > 0 ? ranges : NULL;
}

static int int_within(const json_t *spec, const char *path, int min, int max, int instead)
{
    int64_t value = json_path_int(spec, path, instead);
    return value < min || value > max ? instead : (int)value;
}

static void read_replication(const json_t *spec, struct cluster_replication *ret)
{
    ret->semi_sync = !str_eq(json_path_str(spec, "replication.mode", NULL), "async");
    ret->max_lag_seconds =
        int_within(spec, "replication.maxLagSeconds", 1, SECONDS_OF_A_DAY, CLUSTER_MAX_LAG_SECONDS_DEFAULT);
    ret->primary = int_within(spec, "replication.primary", 0, CLUSTER_REPLICAS_MAX - 1, CLUSTER_PRIMARY_ANY);
    ret->drain_seconds = int_within(spec, "replication.drainSeconds", 0, 3600, CLUSTER_DRAIN_SECONDS_DEFAULT);
}

/* Bounds as in field_tables.c. */
static int64_t failover_ms(const json_t *spec, const char *path, int min_ms, int max_ms, int instead_ms)
{
    return int_within(spec, path, min_ms, max_ms, instead_ms);
}

static void read_failover(const json_t *spec, struct cluster_failover_spec *ret)
{
    ret->enabled = json_path_bool(spec, "failover.enabled", true);
    ret->allow_data_loss = str_eq(json_path_str(spec, "failover.dataLoss", NULL), "allow");
    ret->silence_ms = failover_ms(spec, "failover.silenceMilliseconds", CLUSTER_HEARD_MS_MIN, CLUSTER_FAILOVER_MS_MAX,
        CLUSTER_SILENCE_MS_DEFAULT);
    ret->hung_ms = failover_ms(
        spec, "failover.hungMilliseconds", CLUSTER_HEARD_MS_MIN, CLUSTER_FAILOVER_MS_MAX, CLUSTER_HUNG_MS_DEFAULT);
    ret->writes_blocked_ms = failover_ms(spec, "failover.writesBlockedMilliseconds", CLUSTER_HEARD_MS_MIN,
        CLUSTER_FAILOVER_MS_MAX, CLUSTER_WRITES_BLOCKED_MS_DEFAULT);
    ret->stalled_ms = failover_ms(spec, "failover.stalledMilliseconds", CLUSTER_HEARD_MS_MIN, CLUSTER_FAILOVER_MS_MAX,
        CLUSTER_STALLED_MS_DEFAULT);
    ret->start_ms =
        failover_ms(spec, "failover.startMilliseconds", 1, CLUSTER_FAILOVER_MS_MAX, CLUSTER_START_MS_DEFAULT);
    ret->self_fence_ms = failover_ms(spec, "failover.selfFenceMilliseconds", CLUSTER_SELF_FENCE_MS_MIN,
        CLUSTER_SELF_FENCE_MS_MAX, CLUSTER_SELF_FENCE_MS_DEFAULT);
    ret->reseed = json_path_bool(spec, "failover.reseed", true);
}

/* root is there in any case: its password is given instead of an account. */
static void read_account(const json_t *spec, struct mysql_cluster *ret)
{
    const char *username = json_path_str(spec, "username", NULL);
    ret->username = username && strcmp(username, "root") == 0 ? NULL : username;
    ret->password = json_path_str(spec, "password", NULL);
    ret->password_secret_name = json_path_str(spec, "passwordSecret.name", NULL);
    if (ret->password_secret_name)
        ret->password_secret_key = json_path_str(spec, "passwordSecret.key", PASSWORD_SECRET_KEY_DEFAULT);
}

static void read_spec(json_t *spec, struct mysql_cluster *ret)
{
    int64_t replicas = json_path_int(spec, "replicas", 1);
    ret->document = json_incref(spec);
    ret->config_name = json_path_str(spec, "config.name", NULL);
    ret->config_spec = object_at(spec, "config.spec");
    ret->replicas = replicas < 0 || replicas > CLUSTER_REPLICAS_MAX ? 0 : (int)replicas;
    ret->port = int_within(spec, "port", 1, UINT16_MAX, MYSQL_PORT);
    read_storage(spec, &ret->storage);
    read_replication(spec, &ret->replication);
    read_failover(spec, &ret->failover);
    ret->mycnf = object_at(spec, "mycnf");
    ret->database = json_path_str(spec, "database", NULL);
    read_account(spec, ret);
    ret->has_terminal = json_is_object(json_object_get(spec, "terminal"));
    ret->terminal_pod_template = object_at(spec, "terminal.podTemplate");
    ret->deletion_volumes = str_eq(json_path_str(spec, "deletion.volumes", NULL), "Delete") ? DELETION_VOLUMES_DELETE
                                                                                            : DELETION_VOLUMES_RETAIN;
    ret->final_backup = json_path_bool(spec, "deletion.finalBackup", false);
    ret->final_backup_deadline_seconds = int_within(spec, "deletion.finalBackupDeadlineSeconds",
        BACKUP_DEADLINE_SECONDS_MIN, BACKUP_DEADLINE_SECONDS_MAX, CLUSTER_FINAL_BACKUP_SECONDS_DEFAULT);
    restore_spec_read(spec, &ret->restore);
    ret->pod_template = object_at(spec, "podTemplate");
    read_service(spec, "primary", &ret->service_primary);
    read_service(spec, "replicas", &ret->service_replicas);
    ret->require_tls = str_eq(json_path_str(spec, "tls.mode", NULL), AGENT_TLS_REQUIRED);
    const json_t *max_size = json_path(spec, "binlogs.maxSize");
    if (!max_size || quantity_from_json(max_size, &ret->binlog_max_bytes) < 0)
        ret->binlog_max_bytes = 0;
    ret->paused = json_path_bool(spec, "paused", false);
}

/* ---- check what one field alone cannot tell ---- */

static void check_storage(const struct mysql_cluster *cluster, struct api_problems *problems)
{
    const struct cluster_storage *storage = &cluster->storage;
    if (!storage->volume_source && !storage->resources) {
        api_problems_add(problems, "spec.storage",
            "needs either resources.requests.storage (a claim for each member) or volumeSource");
        return;
    }
    if (storage->volume_source && (storage->resources || storage->storage_class_name))
        api_problems_add(
            problems, "spec.storage", "must have only one form: volumeSource, or resources with storageClassName");
    if (!storage->volume_source)
        return;
    if (json_object_size(storage->volume_source) != 1)
        api_problems_add(problems, CLUSTER_VOLUME_SOURCE_FIELD, "must have exactly one member, like emptyDir: {}");
    else if (json_object_get(storage->volume_source, "persistentVolumeClaim") && cluster->replicas > 1)
        api_problems_add(problems, CLUSTER_VOLUME_SOURCE_FIELD ".persistentVolumeClaim",
            "would be shared by all members; use resources when replicas is more than 1");
}

static void check_account(const struct mysql_cluster *cluster, struct api_problems *problems)
{
    if (cluster->password && cluster->password_secret_name)
        api_problems_add(problems, "spec.password", "must not be given together with passwordSecret");
    if (cluster->username && !cluster->database)
        api_problems_add(problems, "spec.username", "needs spec.database, on which it gets all rights");
}

/* A hibernated cluster keeps its wish. What cannot be is not wished: whoever goes on in spite of the problem sees no
 * such member. */
static void check_replication(struct mysql_cluster *cluster, struct api_problems *problems)
{
    if (cluster->replicas == 0 || cluster->replication.primary < cluster->replicas)
        return;
    api_problems_add(problems, "spec.replication.primary", "must be below spec.replicas (%d)", cluster->replicas);
    cluster->replication.primary = CLUSTER_PRIMARY_ANY;
}

static void check_final_backup(const struct mysql_cluster *cluster, struct api_problems *problems)
{
    if (cluster->final_backup && !json_is_object(json_path(cluster->document, "backup.destination")))
        api_problems_add(problems, "spec.deletion.finalBackup", "needs spec.backup.destination, where it is stored");
}

/* The smallest size of one log is a quarter of it. */
static void check_binlogs(const struct mysql_cluster *cluster, struct api_problems *problems)
{
    if (cluster->binlog_max_bytes > 0 && cluster->binlog_max_bytes < CLUSTER_BINLOG_MAX_MIN)
        api_problems_add(problems, "spec.binlogs.maxSize", "must be at least 16Mi");
}

static void check_service(const struct cluster_service_options *service, const char *path, struct api_problems *problems)
{
    char ranges[API_PATH_MAX];
    const json_t *metadata = service->labels ? service->labels : NULL;
    _cleanup_(json_decrefp) json_t *both = json_object();
    if (metadata)
        json_object_set(both, "labels", (json_t *)metadata);
    if (service->annotations)
        json_object_set(both, "annotations", (json_t *)service->annotations);
    metadata_check(both, path, problems);
    snprintf(ranges, sizeof(ranges), "%.100s.loadBalancerSourceRanges", path);
    if (service->load_balancer_source_ranges && strcmp(service->type, "LoadBalancer") != 0)
        api_problems_add(problems, ranges, "needs type: LoadBalancer");
}

static void check_together(struct mysql_cluster *cluster, struct api_problems *problems)
{
    if (!cluster->config_name && !cluster->config_spec)
        api_problems_add(problems, "spec.config", "needs a name (of a MysqlConfig) or a spec");
    check_storage(cluster, problems);
    check_replication(cluster, problems);
    check_account(cluster, problems);
    check_binlogs(cluster, problems);
    mysql_config_check(cluster->config_spec, "spec.config.spec", problems);
    mycnf_validate(cluster->mycnf, "spec.mycnf", problems);
    pod_template_check(cluster->pod_template, "spec.podTemplate", problems);
    pod_template_check(cluster->terminal_pod_template, "spec.terminal.podTemplate", problems);
    restore_spec_check(cluster->document, problems);
    check_service(&cluster->service_primary, "spec.services.primary", problems);
    check_service(&cluster->service_replicas, "spec.services.replicas", problems);
    backup_spec_check(json_object_get(cluster->document, "backup"), problems);
    check_final_backup(cluster, problems);
}

int mysql_cluster_parse(
    const char *ns, const char *name, json_t *spec, struct mysql_cluster *ret, struct api_problems *problems)
{
    int before = problems->count;
    *ret = (struct mysql_cluster){.ns = ns, .name = name, .replication.primary = CLUSTER_PRIMARY_ANY};
    cluster_name_check(name, problems);
    if (!json_is_object(spec))
        return api_problems_add(problems, "spec", "is required");
    api_fields_check(spec, "spec", mysql_cluster_fields, problems);
    bool types_are_right = problems->count == before;
    read_spec(spec, ret);
    if (types_are_right)
        check_together(ret, problems);
    return problems->count > before ? -1 : 0;
}

json_t *mysql_cluster_roles_of(const struct mysql_cluster *cluster, int replicas)
{
    static const char *const kept[] = {"replicas", "replication", "failover"};
    json_t *ret = json_object();
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        const json_t *value = json_object_get(cluster->document, kept[i]);
        if (value)
            json_put(ret, kept[i], json_deep_copy(value));
    }
    json_put_int(ret, "replicas", replicas);
    return ret;
}

json_t *mysql_cluster_roles_while_paused(const struct mysql_cluster *cluster, int replicas, const json_t *accepted)
{
    json_t *ret = mysql_cluster_roles_of(cluster, replicas);
    const json_t *replication = json_object_get(accepted, "replication");
    if (replication)
        json_put(ret, "replication", json_deep_copy(replication));
    else
        json_object_del(ret, "replication");
    return ret;
}

void mysql_cluster_keep_replication(struct mysql_cluster *cluster, const json_t *accepted)
{
    read_replication(accepted, &cluster->replication);
}

void mysql_cluster_keep_roles(struct mysql_cluster *cluster, const json_t *accepted)
{
    if (accepted)
        cluster->replicas = int_within(accepted, "replicas", 0, CLUSTER_REPLICAS_MAX, cluster->replicas);
    read_replication(accepted, &cluster->replication);
    read_failover(accepted, &cluster->failover);
}

void mysql_cluster_release(struct mysql_cluster *cluster)
{
    json_decref(cluster->document);
    *cluster = (struct mysql_cluster){0};
}

/* ---- effective configuration ---- */

/* What the agent reads and rotates (agent/slow_log.h). Every server takes these up while it runs. */
static json_t *slow_log_mycnf(const json_t *spec)
{
    const json_t *slow = json_path(spec, "logs.slow");
    if (!json_is_object(slow) || !json_path_bool(slow, "enabled", true))
        return NULL;
    char seconds[32];
    int ms = int_within(slow, "longQueryMilliseconds", 0, CLUSTER_LONG_QUERY_MS_MAX, CLUSTER_LONG_QUERY_MS_DEFAULT);
    snprintf(seconds, sizeof(seconds), "%d.%03d", ms / 1000, ms % 1000);
    return json_build("{s:s, s:s, s:s, s:s}", "slow_query_log", "ON", "slow_query_log_file", AGENT_SLOW_LOG,
        "long_query_time", seconds, "log_queries_not_using_indexes",
        json_path_bool(slow, "notUsingIndexes", false) ? "ON" : "OFF");
}

int mysql_cluster_resolve(const struct mysql_cluster *cluster, const json_t *named_spec, struct mysql_config_spec *ret,
    struct api_problems *problems)
{
    char prefix[API_PATH_MAX];
    int before = problems->count;
    snprintf(prefix, sizeof(prefix), "MysqlConfig %.100s: spec", str_or_empty(cluster->config_name));
    mysql_config_check(named_spec, prefix, problems);
    if (problems->count > before)
        return -1;
    _cleanup_(json_decrefp) json_t *named_and_inline = mysql_config_merge(named_spec, cluster->config_spec);
    _cleanup_(json_decrefp) json_t *own = json_object();
    _cleanup_(json_decrefp) json_t *slow_log = slow_log_mycnf(cluster->document);
    if (slow_log)
        json_put(own, "mycnf", mycnf_merge(slow_log, cluster->mycnf));
    else if (cluster->mycnf)
        json_object_set(own, "mycnf", (json_t *)cluster->mycnf);
    if (cluster->pod_template)
        json_object_set(own, "podTemplate", (json_t *)cluster->pod_template);
    _cleanup_(json_decrefp) json_t *document = mysql_config_merge(named_and_inline, own);
    if (!json_path_str(document, "images.mysql", NULL)) {
        if (cluster->config_name)
            return api_problems_add(problems, "spec.config.spec.images.mysql",
                "is required, because MysqlConfig %.100s has no images.mysql", cluster->config_name);
        return api_problems_add(problems, "spec.config.spec.images.mysql", "is required");
    }
    mysql_config_spec_read(document, ret);
    return 0;
}

void mysql_cluster_fill_storage(json_t *spec, const json_t *in_force)
{
    if (!json_is_object(spec) || json_object_get(spec, "storage"))
        return;
    json_put(spec, "storage",
        json_is_object(in_force)
            ? json_deep_copy(in_force)
            : json_build("{s:{s:{s:s}}}", "resources", "requests", "storage", CLUSTER_STORAGE_DEFAULT));
}

static bool same_but_for_size(const json_t *a, const json_t *b)
{
    _cleanup_(json_decrefp) json_t *left = json_deep_copy(a);
    _cleanup_(json_decrefp) json_t *right = json_deep_copy(b);
    json_object_del(json_object_get(left, "requests"), "storage");
    json_object_del(json_object_get(right, "requests"), "storage");
    return json_equal(left, right);
}

int mysql_cluster_check_change(
    const struct mysql_cluster *cluster, const json_t *old_storage, struct api_problems *problems)
{
    int before = problems->count;
    struct cluster_storage old = {0};
    const struct cluster_storage *now = &cluster->storage;
    if (!old_storage)
        return 0;
    _cleanup_(json_decrefp) json_t *old_spec = json_object();
    json_object_set(old_spec, "storage", (json_t *)old_storage);
    read_storage(old_spec, &old);
    if (!old.volume_source != !now->volume_source)
        return api_problems_add(
            problems, "spec.storage", "cannot change between volumeSource and claims: the data would stay behind");
    if (now->volume_source)
        return 0;
    if (!str_eq(old.storage_class_name, now->storage_class_name))
        api_problems_add(problems, "spec.storage.storageClassName", "cannot change after creation (it was %s%.100s)",
            old.storage_class_name ? "" : "not set", str_or_empty(old.storage_class_name));
    if (!same_but_for_size(old.resources, now->resources))
        api_problems_add(problems, "spec.storage.resources", "only requests.storage can change after creation");
    return problems->count > before ? -1 : 0;
}

int mysql_cluster_check_new_size(const struct mysql_cluster *cluster, struct api_problems *problems)
{
    const struct cluster_storage *storage = &cluster->storage;
    if (storage->volume_source || storage->size_bytes >= CLUSTER_STORAGE_MIN)
        return 0;
    _cleanup_(freep) char *given = json_text(json_path(storage->resources, "requests.storage"));
    return api_problems_add(problems, CLUSTER_STORAGE_SIZE_FIELD,
        "%.40s is too small, a server needs at least %lldMi to start: a size without a unit is bytes, and m a "
        "thousandth of one; meant may be 10Gi or 400Mi",
        given, (long long)(CLUSTER_STORAGE_MIN / KM_MIB));
}

int mysql_cluster_check_size(const struct mysql_cluster *cluster, const json_t *old_storage, const char *claim,
    int64_t claim_bytes, struct api_problems *problems)
{
    char size[QUANTITY_TEXT_SIZE], claim_size[QUANTITY_TEXT_SIZE];
    int64_t old_bytes, bytes = cluster->storage.size_bytes;
    const json_t *old_size = json_path(old_storage, "resources.requests.storage");
    bool shrinks = !cluster->storage.volume_source && old_size && quantity_from_json(old_size, &old_bytes) == 0 &&
        bytes < old_bytes;
    if (!shrinks || !claim || claim_bytes <= bytes)
        return 0;
    quantity_print(bytes, size);
    quantity_print(claim_bytes, claim_size);
    return api_problems_add(problems, CLUSTER_STORAGE_SIZE_FIELD,
        "cannot shrink to %s: claim %s asks for %s, and volumes only grow", size, claim, claim_size);
}
