/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of api_fields.h. Held against the CRDs by build-aux/check-crds.sh through tests/fields_test.c. */
#include "common/base.h"

#include <strings.h>

#include "common/backup_manifest.h"
#include "operator/api/api_fields.h"
#include "operator/api/app.h"
#include "operator/api/backup_destination.h"
#include "operator/api/backup_spec.h"
#include "operator/api/mycnf.h"
#include "operator/api/mysql_cluster.h"

#define ID_MAX INT32_MAX
#define METADATA_KEYS_MAX 100

static bool is_one_of(char c, const char *allowed)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c != '\0' && strchr(allowed, c));
}

/* RFC 1123 subdomain: names of most Kubernetes objects. */
static const char *check_object_name(const char *value)
{
    const char *wrong = "must be a name of lower-case letters, digits, '-' and '.'";
    char last = '.';
    for (const char *c = value; *c; last = *c++) {
        if (!is_one_of(*c, "-.") || ((last == '.' || last == '-') && *c == '.') || (last == '.' && *c == '-'))
            return wrong;
    }
    return last == '.' || last == '-' ? wrong : NULL;
}

/* Backups in a member's volume would lie beside its data, and be set aside or deleted with it (cluster_claim_name). */
static const char *check_backup_claim(const char *value)
{
    const char *digits = value + strlen(value);
    while (digits > value && digits[-1] >= '0' && digits[-1] <= '9')
        digits--;
    static const char middle[] = "-mysql-", first[] = "data-";
    size_t before = (size_t)(digits - value), least = strlen(first) + 1 + strlen(middle);
    bool is_data = *digits && before >= least && strncmp(value, first, strlen(first)) == 0 &&
        strncmp(digits - strlen(middle), middle, strlen(middle)) == 0;
    return is_data ? "must not be the claim of a member's data" : check_object_name(value);
}

static const char *check_optional_object_name(const char *value)
{
    return *value ? check_object_name(value) : NULL;
}

static const char *check_image(const char *value)
{
    for (const char *c = value; *c; c++) {
        if (*c <= ' ' || *c >= 127)
            return "must be an image reference like docker.io/library/mariadb:11.4";
    }
    return NULL;
}

static bool is_identifier(const char *value)
{
    for (; *value; value++) {
        if (!is_one_of(*value, "_-") && (*value < 'A' || *value > 'Z'))
            return false;
    }
    return true;
}

static const char *check_database(const char *value)
{
    static const char *const taken[] = {"mysql", "sys", "information_schema", "performance_schema"};
    if (!is_identifier(value))
        return "must hold only letters, digits, '_' and '-'";
    for (size_t i = 0; i < ARRAY_LEN(taken); i++) {
        if (strcasecmp(value, taken[i]) == 0)
            return "must not be a schema of the server itself";
    }
    return NULL;
}

static const char *check_username(const char *value)
{
    if (!is_identifier(value))
        return "must hold only letters, digits, '_' and '-'";
    static const char *const taken[] = {"mysql", "replication", "monitor"};
    static const char *const begins[] = {"kubemysql", "kube-mysql"};
    bool ours = false;
    for (size_t i = 0; i < ARRAY_LEN(taken); i++)
        ours = ours || strcasecmp(value, taken[i]) == 0;
    for (size_t i = 0; i < ARRAY_LEN(begins); i++)
        ours = ours || strncasecmp(value, begins[i], strlen(begins[i])) == 0;
    if (ours)
        return "must not be mysql, replication, monitor or begin with kubemysql or kube-mysql, in lower or upper case: those accounts belong to the server and the operator";
    return strcasecmp(value, "root") == 0 && strcmp(value, "root") != 0
        ? "must be root in lower case: servers tell accounts apart by case, so that this one would stand beside root"
        : NULL;
}

static const char *check_secret_key(const char *value)
{
    for (; *value; value++) {
        if (!is_one_of(*value, "-._") && (*value < 'A' || *value > 'Z'))
            return "must be a key of a Secret: letters, digits, '-', '_' and '.'";
    }
    return NULL;
}

static const char *check_label_name(const char *value)
{
    return strchr(value, '.') ? "must be a name of lower-case letters, digits and '-'" : check_object_name(value);
}

/* Of an environment. https://kubernetes.io/docs/tasks/inject-data-application/define-environment-variable-container/ */
static const char *check_variable(const char *value)
{
    for (; *value; value++) {
        if (*value < ' ' || *value > '~' || *value == '=')
            return "must hold only printable ASCII characters but '='";
    }
    return NULL;
}

static const char *check_namespace(const char *value)
{
    return strchr(value, '.') ? "must be the name of a namespace" : check_object_name(value);
}

static const char *check_namespace_or_all(const char *value)
{
    return strcmp(value, "*") == 0 ? NULL : check_namespace(value);
}

/* https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html, without its finer points: servers
 * differ in them. */
static const char *check_bucket(const char *value)
{
    size_t len = strlen(value);
    bool good = is_one_of(value[0], "") && is_one_of(value[len - 1], "");
    for (const char *c = value; *c; c++)
        good = good && is_one_of(*c, "-.");
    return good ? NULL : "must be the name of a bucket: lower-case letters, digits, '-' and '.'";
}

static const char *check_region(const char *value)
{
    for (; *value; value++) {
        if (!is_one_of(*value, "-"))
            return "must be the name of a region like eu-central-1";
    }
    return NULL;
}

static bool is_path_char(char c, bool first)
{
    return is_one_of(c, first ? "_" : "-._") || (c >= 'A' && c <= 'Z');
}

/* No part begins with a dot: neither ".." nor what servers hide. */
static const char *check_folder(const char *value)
{
    bool first = true;
    for (const char *c = value; *c; c++) {
        if (*c != '/' && !is_path_char(*c, first))
            return "must hold only letters, digits, '-', '_', '.' and '/', and no part that begins with '-' or '.'";
        if (*c == '/' && (first || c[1] == '\0'))
            return "must not begin or end with '/', nor have two of them together";
        first = *c == '/';
    }
    return NULL;
}

/* From the top of a volume, so "/shop" is "shop". */
static const char *check_volume_folder(const char *value)
{
    value += *value == '/';
    return *value ? check_folder(value) : NULL;
}

static const char *check_endpoint(const char *value)
{
    static const char wrong[] = "must be a URL without a path, like https://s3.example.com:9000";
    bool known = str_starts_with(value, "https://") || str_starts_with(value, "http://");
    const char *c = known ? strstr(value, "://") + strlen("://") : value;
    if (!known || !*c)
        return wrong;
    for (; *c; c++) {
        if (!is_one_of(*c, "-.:[]") && (*c < 'A' || *c > 'Z'))
            return wrong;
    }
    return NULL;
}

/* backup_manifest.h: the name of a folder. */
static const char *check_backup_id(const char *value)
{
    for (const char *c = value; *c; c++) {
        if (!is_path_char(*c, c == value))
            return "must be the name of a stored backup like 20261121T204512Z-nightly-1";
    }
    return NULL;
}

/* {labels, annotations} of pods and Services. */
#define METADATA_FIELDS(path)                                                                            \
    {path ".labels", .type = API_MAP, .max = METADATA_KEYS_MAX}, {path ".labels{}", .type = API_STRING}, \
        {path ".annotations", .type = API_MAP, .max = METADATA_KEYS_MAX},                                \
    {                                                                                                    \
        path ".annotations{}", .type = API_STRING                                                        \
    }

#define POD_TEMPLATE_FIELDS(path)                                                                          \
    {path, .type = API_OBJECT}, {path ".metadata", .type = API_OBJECT}, METADATA_FIELDS(path ".metadata"), \
    {                                                                                                      \
        path ".spec", .type = API_OPAQUE                                                                   \
    }

#define SERVICE_FIELDS(path)                                                                                     \
    {path, .type = API_OBJECT}, {path ".type", .type = API_STRING, .values = "ClusterIP|NodePort|LoadBalancer"}, \
        METADATA_FIELDS(path), {path ".loadBalancerSourceRanges", .type = API_ARRAY},                            \
    {                                                                                                            \
        path ".loadBalancerSourceRanges[]", .type = API_STRING, .min = 1, .max = 64                              \
    }

#define SECRET_KEY_FIELDS(path, is_required)                                                       \
    {path, .type = API_OBJECT, .required = is_required},                                           \
        {path ".name", .type = API_STRING, .required = true, .min = 1, .max = KUBE_NAME_MAX,       \
            .check = check_object_name},                                                           \
    {                                                                                              \
        path ".key", .type = API_STRING, .min = 1, .max = KUBE_NAME_MAX, .check = check_secret_key \
    }

/* backup_destination.h */
#define BACKUP_DESTINATION_FIELDS(path)                                                                               \
    {path, .type = API_OBJECT}, {path ".s3", .type = API_OBJECT},                                                     \
        {path ".s3.bucket", .type = API_STRING, .required = true, .min = 3, .max = 63, .check = check_bucket},        \
        {path ".s3.prefix", .type = API_STRING, .min = 1, .max = 256, .check = check_folder},                         \
        {path ".s3.endpoint", .type = API_STRING, .min = 1, .max = 256, .check = check_endpoint},                     \
        {path ".s3.region", .type = API_STRING, .min = 1, .max = 64, .check = check_region},                          \
        {path ".s3.credentialsSecret", .type = API_OBJECT, .required = true},                                         \
        {path ".s3.credentialsSecret.name", .type = API_STRING, .required = true, .min = 1, .max = KUBE_NAME_MAX,     \
            .check = check_object_name},                                                                              \
        SECRET_KEY_FIELDS(path ".s3.caSecret", false), {path ".s3.pathStyle", .type = API_BOOLEAN},                   \
        {path ".persistentVolumeClaim", .type = API_OBJECT},                                                          \
        {path ".persistentVolumeClaim.claimName", .type = API_STRING, .required = true, .min = 1,                     \
            .max = KUBE_NAME_MAX, .check = check_backup_claim},                                                       \
        {path ".persistentVolumeClaim.path", .type = API_STRING, .min = 1, .max = 256, .check = check_volume_folder}, \
    {                                                                                                                 \
        path ".persistentVolumeClaim.size", .type = API_QUANTITY, .min = 1                                            \
    }

#define BACKUP_ENCRYPTION_FIELDS(path) {path, .type = API_OBJECT}, SECRET_KEY_FIELDS(path ".keySecret", true)

/* backup_spec.h; what schedules say is checked there. */
#define BACKUP_SPEC_FIELDS(path)                                                                                    \
    {path, .type = API_OBJECT}, {path ".schedule", .type = API_STRING, .min = 1, .max = CRON_TEXT_MAX},             \
        {path ".timeZone", .type = API_STRING, .min = 1, .max = TIME_ZONE_NAME_MAX, .check = time_zone_name_check}, \
        BACKUP_DESTINATION_FIELDS(path ".destination"),                                                             \
        {path ".method", .type = API_STRING, .values = "physical|logical"},                                         \
        {path ".compression", .type = API_STRING, .values = "zstd|none"},                                           \
        BACKUP_ENCRYPTION_FIELDS(path ".encryption"), {path ".keep", .type = API_OBJECT},                           \
        {path ".keep.last", .type = API_INTEGER, .min = 1, .max = BACKUP_KEEP_MAX},                                 \
        {path ".keep.daily", .type = API_INTEGER, .min = 1, .max = BACKUP_KEEP_MAX},                                \
        {path ".keep.weekly", .type = API_INTEGER, .min = 1, .max = BACKUP_KEEP_MAX},                               \
        {path ".keep.days", .type = API_INTEGER, .min = 1, .max = BACKUP_KEEP_MAX},                                 \
        {path ".deadlineSeconds", .type = API_INTEGER, .min = BACKUP_DEADLINE_SECONDS_MIN,                          \
            .max = BACKUP_DEADLINE_SECONDS_MAX},                                                                    \
        {path ".rateLimitBytesPerSecond", .type = API_INTEGER, .min = BACKUP_RATE_MIN, .max = BACKUP_RATE_MAX},     \
        {path ".suspend", .type = API_BOOLEAN}, {path ".binlogs", .type = API_OBJECT},                              \
        {path ".binlogs.enabled", .type = API_BOOLEAN},                                                             \
        {path ".binlogs.intervalSeconds", .type = API_INTEGER, .min = ARCHIVE_INTERVAL_MIN_S,                       \
            .max = ARCHIVE_INTERVAL_MAX_S},                                                                         \
        {path ".drill", .type = API_OBJECT},                                                                        \
        {path ".drill.schedule", .type = API_STRING, .required = true, .min = 1, .max = CRON_TEXT_MAX},             \
    {                                                                                                               \
        path ".drill.deadlineSeconds", .type = API_INTEGER, .min = DRILL_DEADLINE_SECONDS_MIN,                      \
                                       .max = DRILL_DEADLINE_SECONDS_MAX                                            \
    }

/* restore_spec.h */
#define RESTORE_FIELDS(path)                                                                                          \
    {path, .type = API_OBJECT}, {path ".backup", .type = API_OBJECT},                                                 \
        {path ".backup.name", .type = API_STRING, .required = true, .min = 1, .max = KUBE_NAME_MAX,                   \
            .check = check_object_name},                                                                              \
        BACKUP_DESTINATION_FIELDS(path ".destination"),                                                               \
        {path ".name", .type = API_STRING, .min = 1, .max = BACKUP_ID_SIZE - 1, .check = check_backup_id},            \
        {path ".latest", .type = API_BOOLEAN}, {path ".orEmpty", .type = API_BOOLEAN},                                \
        {path ".cluster", .type = API_OBJECT},                                                                        \
        {path ".cluster.namespace", .type = API_STRING, .min = 1, .max = KUBE_LABEL_MAX, .check = check_namespace},   \
        {path ".cluster.name", .type = API_STRING, .min = 1, .max = CLUSTER_NAME_MAX, .check = check_object_name},    \
        BACKUP_ENCRYPTION_FIELDS(path ".encryption"), {path ".pointInTime", .type = API_STRING, .min = 1, .max = 64}, \
    {                                                                                                                 \
        path ".gtid", .type = API_STRING, .min = 1, .max = POSITION_TEXT_MAX                                          \
    }

const struct api_field mysql_config_fields[] = {
    {"images", .type = API_OBJECT},
    {"images.mysql", .type = API_STRING, .min = 1, .max = 512, .check = check_image},
    {"images.agent", .type = API_STRING, .min = 1, .max = 512, .check = check_image},
    {"images.imagePullPolicy", .type = API_STRING, .values = "Always|IfNotPresent|Never"},
    {"images.imagePullSecrets", .type = API_ARRAY},
    {"images.imagePullSecrets[]", .type = API_OBJECT},
    {"images.imagePullSecrets[].name", .type = API_STRING, .required = true, .min = 1, .max = KUBE_NAME_MAX,
        .check = check_object_name},
    {"flavour", .type = API_STRING, .values = "mysql|mariadb|percona"},
    {"mycnf", .type = API_MAP, .max = MYCNF_KEYS_MAX},
    {"podSecurity", .type = API_OBJECT},
    {"podSecurity.runAsUser", .type = API_INTEGER, .min = 1, .max = ID_MAX},
    {"podSecurity.runAsGroup", .type = API_INTEGER, .min = 1, .max = ID_MAX},
    {"podSecurity.fsGroup", .type = API_INTEGER, .min = 1, .max = ID_MAX},
    {"resources", .type = API_OBJECT},
    {"resources.requests", .type = API_MAP},
    {"resources.requests{}", .type = API_QUANTITY},
    {"resources.limits", .type = API_MAP},
    {"resources.limits{}", .type = API_QUANTITY},
    {"agentResources", .type = API_OBJECT},
    {"agentResources.requests", .type = API_MAP},
    {"agentResources.requests{}", .type = API_QUANTITY},
    {"agentResources.limits", .type = API_MAP},
    {"agentResources.limits{}", .type = API_QUANTITY},
    POD_TEMPLATE_FIELDS("podTemplate"),
    {.path = NULL},
};

const struct api_field mysql_cluster_fields[] = {
    {"config", .type = API_OBJECT, .required = true},
    {"config.name", .type = API_STRING, .min = 1, .max = KUBE_NAME_MAX, .check = check_object_name},
    {"config.spec", .type = API_OPAQUE}, /* mysql_config_fields */
    {"replicas", .type = API_INTEGER, .min = 0, .max = CLUSTER_REPLICAS_MAX},
    {"port", .type = API_INTEGER, .min = 1, .max = UINT16_MAX},
    {"storage", .type = API_OBJECT}, /* mysql_cluster_fill_storage */
    {"storage.volumeSource", .type = API_OPAQUE},
    {"storage.storageClassName", .type = API_STRING, .min = 0, .max = KUBE_NAME_MAX,
        .check = check_optional_object_name},
    {"storage.resources", .type = API_OBJECT},
    {"storage.resources.requests", .type = API_OBJECT, .required = true},
    {"storage.resources.requests.storage", .type = API_QUANTITY, .required = true, .min = 1},
    {"replication", .type = API_OBJECT},
    {"replication.mode", .type = API_STRING, .values = "async|semiSync"},
    {"replication.maxLagSeconds", .type = API_INTEGER, .min = 1, .max = 86400},
    {"replication.primary", .type = API_INTEGER, .min = 0, .max = CLUSTER_REPLICAS_MAX - 1},
    {"replication.drainSeconds", .type = API_INTEGER, .min = 0, .max = 3600},
    {"failover", .type = API_OBJECT},
    {"failover.enabled", .type = API_BOOLEAN},
    {"failover.dataLoss", .type = API_STRING, .values = "never|allow"},
    {"failover.silenceMilliseconds", .type = API_INTEGER, .min = CLUSTER_HEARD_MS_MIN, .max = CLUSTER_FAILOVER_MS_MAX},
    {"failover.hungMilliseconds", .type = API_INTEGER, .min = CLUSTER_HEARD_MS_MIN, .max = CLUSTER_FAILOVER_MS_MAX},
    {"failover.writesBlockedMilliseconds", .type = API_INTEGER, .min = CLUSTER_HEARD_MS_MIN,
        .max = CLUSTER_FAILOVER_MS_MAX},
    {"failover.stalledMilliseconds", .type = API_INTEGER, .min = CLUSTER_HEARD_MS_MIN, .max = CLUSTER_FAILOVER_MS_MAX},
    {"failover.startMilliseconds", .type = API_INTEGER, .min = 1, .max = CLUSTER_FAILOVER_MS_MAX},
    {"failover.selfFenceMilliseconds", .type = API_INTEGER, .min = CLUSTER_SELF_FENCE_MS_MIN,
        .max = CLUSTER_SELF_FENCE_MS_MAX},
    {"failover.reseed", .type = API_BOOLEAN},
    {"tls", .type = API_OBJECT},
    {"tls.mode", .type = API_STRING, .values = "Offered|Required"},
    {"mycnf", .type = API_MAP, .max = MYCNF_KEYS_MAX},
    {"binlogs", .type = API_OBJECT},
    {"binlogs.maxSize", .type = API_QUANTITY, .min = 1},
    {"logs", .type = API_OBJECT},
    {"logs.slow", .type = API_OBJECT},
    {"logs.slow.enabled", .type = API_BOOLEAN},
    {"logs.slow.longQueryMilliseconds", .type = API_INTEGER, .min = 0, .max = CLUSTER_LONG_QUERY_MS_MAX},
    {"logs.slow.notUsingIndexes", .type = API_BOOLEAN},
    {"database", .type = API_STRING, .min = 1, .max = 64, .check = check_database},
    {"username", .type = API_STRING, .min = 1, .max = 32, .check = check_username},
    {"password", .type = API_STRING, .min = 1, .max = 256},
    {"passwordSecret", .type = API_OBJECT},
    {"passwordSecret.name", .type = API_STRING, .required = true, .min = 1, .max = KUBE_NAME_MAX,
        .check = check_object_name},
    {"passwordSecret.key", .type = API_STRING, .min = 1, .max = KUBE_NAME_MAX, .check = check_secret_key},
    {"terminalNamespaces", .type = API_ARRAY, .max = 64},
    {"terminalNamespaces[]", .type = API_STRING, .min = 1, .max = KUBE_LABEL_MAX, .check = check_namespace_or_all},
    {"terminal", .type = API_OBJECT},
    POD_TEMPLATE_FIELDS("terminal.podTemplate"),
    RESTORE_FIELDS("restoreFrom"),
    {"deletion", .type = API_OBJECT},
    {"deletion.volumes", .type = API_STRING, .values = "Retain|Delete"},
    {"deletion.finalBackup", .type = API_BOOLEAN},
    {"deletion.finalBackupDeadlineSeconds", .type = API_INTEGER, .min = BACKUP_DEADLINE_SECONDS_MIN,
        .max = BACKUP_DEADLINE_SECONDS_MAX},
    POD_TEMPLATE_FIELDS("podTemplate"),
    BACKUP_SPEC_FIELDS("backup"),
    {"services", .type = API_OBJECT},
    SERVICE_FIELDS("services.primary"),
    SERVICE_FIELDS("services.replicas"),
    {"paused", .type = API_BOOLEAN},
    {.path = NULL},
};

const struct api_field mysql_terminal_fields[] = {
    {"cluster", .type = API_OBJECT, .required = true},
    {"cluster.name", .type = API_STRING, .required = true, .min = 1, .max = CLUSTER_NAME_MAX,
        .check = check_object_name},
    {"cluster.namespace", .type = API_STRING, .min = 1, .max = KUBE_LABEL_MAX, .check = check_namespace},
    POD_TEMPLATE_FIELDS("podTemplate"),
    {.path = NULL},
};

const struct api_field backup_spec_fields[] = {BACKUP_SPEC_FIELDS("backup"), {.path = NULL}};

const struct api_field mysql_backup_fields[] = {
    {"cluster", .type = API_STRING, .required = true, .min = 1, .max = CLUSTER_NAME_MAX, .check = check_object_name},
    BACKUP_DESTINATION_FIELDS("destination"),
    {"method", .type = API_STRING, .values = "physical|logical"},
    {"compression", .type = API_STRING, .values = "zstd|none"},
    BACKUP_ENCRYPTION_FIELDS("encryption"),
    {"deadlineSeconds", .type = API_INTEGER, .min = BACKUP_DEADLINE_SECONDS_MIN, .max = BACKUP_DEADLINE_SECONDS_MAX},
    {"deletionPolicy", .type = API_STRING, .values = "Delete|Retain"},
    {"donor", .type = API_STRING, .min = 1, .max = KUBE_NAME_MAX, .check = check_object_name},
    {"rateLimitBytesPerSecond", .type = API_INTEGER, .min = BACKUP_RATE_MIN, .max = BACKUP_RATE_MAX},
    {.path = NULL},
};

const struct api_field config_map_sync_fields[] = {
    {"sourceNamespace", .type = API_STRING, .required = true, .min = 1, .max = KUBE_LABEL_MAX, .check = check_namespace},
    {"configMapName", .type = API_STRING, .required = true, .min = 1, .max = KUBE_NAME_MAX, .check = check_object_name},
    {"destinationNamespace", .type = API_STRING, .min = 1, .max = KUBE_LABEL_MAX, .check = check_namespace},
    {"destinationNamespaces", .type = API_ARRAY, .max = 64},
    {"destinationNamespaces[]", .type = API_STRING, .min = 1, .max = KUBE_LABEL_MAX, .check = check_namespace},
    {"namespaceSelector", .type = API_OBJECT},
    {"namespaceSelector.matchLabels", .type = API_MAP, .max = 64},
    {"namespaceSelector.matchLabels{}", .type = API_STRING, .max = KUBE_LABEL_MAX},
    {"namespaceSelector.matchExpressions", .type = API_ARRAY, .max = 64},
    {"namespaceSelector.matchExpressions[]", .type = API_OBJECT},
    {"namespaceSelector.matchExpressions[].key", .type = API_STRING, .required = true, .min = 1,
        .max = KUBE_NAME_MAX + 1 + KUBE_LABEL_MAX},
    {"namespaceSelector.matchExpressions[].operator", .type = API_STRING, .required = true,
        .values = "In|NotIn|Exists|DoesNotExist"},
    {"namespaceSelector.matchExpressions[].values", .type = API_ARRAY, .max = 64},
    {"namespaceSelector.matchExpressions[].values[]", .type = API_STRING, .max = KUBE_LABEL_MAX},
    {.path = NULL},
};

const struct api_field app_fields[] = {
    {"replicas", .type = API_INTEGER, .min = 0, .max = APP_REPLICAS_MAX},
    {"image", .type = API_STRING, .required = true, .min = 1, .max = 512, .check = check_image},
    {"resources", .type = API_OBJECT},
    {"resources.requests", .type = API_MAP},
    {"resources.requests{}", .type = API_QUANTITY},
    {"resources.limits", .type = API_MAP},
    {"resources.limits{}", .type = API_QUANTITY},
    {"securityContext", .type = API_OBJECT},
    {"securityContext.allowPrivilegeEscalation", .type = API_BOOLEAN},
    {"securityContext.capabilities", .type = API_OBJECT},
    {"securityContext.capabilities.add", .type = API_ARRAY, .max = 64},
    {"securityContext.capabilities.add[]", .type = API_STRING, .max = KUBE_LABEL_MAX},
    {"securityContext.capabilities.drop", .type = API_ARRAY, .max = 64},
    {"securityContext.capabilities.drop[]", .type = API_STRING, .max = KUBE_LABEL_MAX},
    {"securityContext.privileged", .type = API_BOOLEAN},
    {"securityContext.readOnlyRootFilesystem", .type = API_BOOLEAN},
    {"securityContext.runAsGroup", .type = API_INTEGER, .min = 0, .max = INT32_MAX},
    {"securityContext.runAsNonRoot", .type = API_BOOLEAN},
    {"securityContext.runAsUser", .type = API_INTEGER, .min = 0, .max = INT32_MAX},
    {"securityContext.seccompProfile", .type = API_OBJECT},
    {"securityContext.seccompProfile.type", .type = API_STRING, .required = true,
        .values = "RuntimeDefault|Localhost|Unconfined"},
    {"securityContext.seccompProfile.localhostProfile", .type = API_STRING, .max = 1024},
    {"envs", .type = API_ARRAY, .max = 256},
    {"envs[]", .type = API_OBJECT},
    {"envs[].name", .type = API_STRING, .required = true, .min = 1, .max = KUBE_NAME_MAX, .check = check_variable},
    {"envs[].value", .type = API_STRING, .max = 32768},
    {"envs[].valueFrom", .type = API_OPAQUE},
    {"ports", .type = API_ARRAY, .max = 64},
    {"ports[]", .type = API_OBJECT},
    {"ports[].name", .type = API_STRING, .min = 1, .max = KUBE_LABEL_MAX, .check = check_label_name},
    {"ports[].port", .type = API_INTEGER, .required = true, .min = 1, .max = 65535},
    {"ports[].targetPort", .type = API_INTEGER, .min = 1, .max = 65535},
    {"ports[].protocol", .type = API_STRING, .values = "TCP|UDP|SCTP"},
    {"ports[].appProtocol", .type = API_STRING, .max = KUBE_NAME_MAX + 1 + KUBE_LABEL_MAX},
    {.path = NULL},
};
