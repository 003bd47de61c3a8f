/* The tables of api_fields.h. Held against the CRDs by build-aux/check-crds.sh through tests/fields_test.c. */
#include "common/base.h"

#include <strings.h>

#include "operator/api/api_fields.h"
#include "operator/api/mysql_cluster.h"

#define ID_MAX INT32_MAX

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
    static const char *const taken[] = {"root", "mysql", "replication", "monitor"};
    bool ours = str_starts_with(value, "kubemysql") || str_starts_with(value, "kube-mysql");
    for (size_t i = 0; i < ARRAY_LEN(taken); i++)
        ours = ours || strcmp(value, taken[i]) == 0;
    return ours
        ? "must not be root, mysql, replication, monitor or begin with kubemysql or kube-mysql: those accounts belong to the server and the operator"
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

static const char *check_namespace(const char *value)
{
    return strchr(value, '.') ? "must be the name of a namespace" : check_object_name(value);
}

static const char *check_namespace_or_all(const char *value)
{
    return strcmp(value, "*") == 0 ? NULL : check_namespace(value);
}

/* {labels, annotations} of pods and Services. */
#define METADATA_FIELDS(path)                                                                                          \
    {path ".labels", .type = API_MAP}, {path ".labels{}", .type = API_STRING}, {path ".annotations", .type = API_MAP}, \
    {                                                                                                                  \
        path ".annotations{}", .type = API_STRING                                                                      \
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
    {"mycnf", .type = API_MAP},
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
    {"storage", .type = API_OBJECT, .required = true},
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
    {"mycnf", .type = API_MAP},
    {"database", .type = API_STRING, .min = 1, .max = 64, .check = check_database},
    {"username", .type = API_STRING, .min = 1, .max = 32, .check = check_username},
    {"password", .type = API_STRING, .min = 1, .max = 256},
    {"passwordSecret", .type = API_OBJECT},
    {"passwordSecret.name", .type = API_STRING, .required = true, .min = 1, .max = KUBE_NAME_MAX,
        .check = check_object_name},
    {"passwordSecret.key", .type = API_STRING, .min = 1, .max = KUBE_NAME_MAX, .check = check_secret_key},
    {"terminalNamespaces", .type = API_ARRAY},
    {"terminalNamespaces[]", .type = API_STRING, .min = 1, .max = KUBE_LABEL_MAX, .check = check_namespace_or_all},
    {"terminal", .type = API_OBJECT},
    POD_TEMPLATE_FIELDS("terminal.podTemplate"),
    {"deletion", .type = API_OBJECT},
    {"deletion.volumes", .type = API_STRING, .values = "Retain|Delete"},
    POD_TEMPLATE_FIELDS("podTemplate"),
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
