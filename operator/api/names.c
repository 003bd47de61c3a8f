/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/names.h"

#include "common/json.h"

#define SET_SUFFIX "-mysql"

static void derive(char out[static DERIVED_NAME_SIZE], const char *name, const char *suffix)
{
    snprintf(out, DERIVED_NAME_SIZE, "%.*s%s", DERIVED_NAME_SIZE - 1 - (int)strlen(suffix), name, suffix);
}

void cluster_names_init(struct cluster_names *names, const char *cluster)
{
    derive(names->stateful_set, cluster, SET_SUFFIX);
    derive(names->service, cluster, "-mysql");
    derive(names->service_primary, cluster, "-mysql-primary");
    derive(names->service_replicas, cluster, "-mysql-replicas");
    derive(names->config_map, cluster, "-mysql-config");
    derive(names->accounts, cluster, "-mysql-accounts");
    derive(names->tls, cluster, "-mysql-tls");
    derive(names->ca, cluster, "-mysql-ca");
    derive(names->app, cluster, "-mysql-app");
    derive(names->ca_bundle, cluster, "-mysql-ca-bundle");
    derive(names->service_account, cluster, "-mysql");
    derive(names->disruption_budget, cluster, "-mysql");
    derive(names->terminal, cluster, "");
}

void cluster_pod_name(char out[static DERIVED_NAME_SIZE], const char *cluster, int ordinal)
{
    char suffix[32];
    snprintf(suffix, sizeof(suffix), "-mysql-%d", ordinal);
    derive(out, cluster, suffix);
}

void cluster_claim_name(char out[static DERIVED_NAME_SIZE], const char *cluster, int ordinal)
{
    char pod[DERIVED_NAME_SIZE];
    cluster_pod_name(pod, cluster, ordinal);
    snprintf(out, DERIVED_NAME_SIZE, VOLUME_DATA "-%.*s", (int)(DERIVED_NAME_SIZE - sizeof(VOLUME_DATA "-")), pod);
}

void cluster_name_of_set(char *out, size_t size, const char *set)
{
    size_t len = strlen(set), tail = strlen(SET_SUFFIX);
    bool is_derived = len > tail && str_eq(set + len - tail, SET_SUFFIX);
    snprintf(out, size, "%.*s", (int)(is_derived ? len - tail : len), set);
}

int names_ordinal(const char *name)
{
    const char *dash = strrchr(name, '-');
    if (!dash || dash[1] == '\0' || (dash[1] == '0' && dash[2] != '\0'))
        return -1;
    int64_t ordinal = 0;
    for (const char *digit = dash + 1; *digit; digit++) {
        if (*digit < '0' || *digit > '9')
            return -1;
        ordinal = ordinal * 10 + (*digit - '0');
        if (ordinal > INT_MAX)
            return -1;
    }
    return (int)ordinal;
}

/* RFC 1035 label: a letter, then letters, digits, dashes, not ending in a dash; lower case. */
static bool is_dns_label(const char *name)
{
    if (*name < 'a' || *name > 'z')
        return false;
    const char *last = name;
    for (const char *c = name; *c; last = c++) {
        if ((*c < 'a' || *c > 'z') && (*c < '0' || *c > '9') && *c != '-')
            return false;
    }
    return *last != '-';
}

static int check_name(const char *name, size_t max, const char *longest, struct api_problems *problems)
{
    size_t len = strlen(name);
    if (len > max)
        return api_problems_add(problems, "metadata.name",
            "must have at most %zu characters, not %zu, because names like %s are derived from it", max, len, longest);
    if (!is_dns_label(name))
        return api_problems_add(problems, "metadata.name",
            "must begin with a letter and hold only lower-case letters, digits and dashes, because Services are named after it");
    return 0;
}

int cluster_name_check(const char *name, struct api_problems *problems)
{
    return check_name(name, CLUSTER_NAME_MAX, "NAME-mysql-0123456789 (a label of its pods)", problems);
}

void terminal_names_init(struct terminal_names *names, const char *terminal)
{
    derive(names->pod, terminal, "-terminal");
    derive(names->secret, terminal, "-terminal");
}

int terminal_name_check(const char *name, struct api_problems *problems)
{
    return check_name(name, TERMINAL_NAME_MAX, "NAME-terminal (a host name)", problems);
}

static json_t *labels_of(const char *instance, const char *component, const char *own_key)
{
    return json_build("{s:s, s:s, s:s, s:s, s:s}", LABEL_NAME, LABEL_NAME_MYSQL, LABEL_INSTANCE, instance,
        LABEL_COMPONENT, component, LABEL_MANAGED_BY, LABEL_MANAGED_BY_US, own_key, instance);
}

static bool is_alphanumeric(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set */
void label_value_of_version(char out[static KUBE_LABEL_MAX + 1], const char *version)
{
    size_t len = 0;
    for (; *version && len < KUBE_LABEL_MAX; version++) {
        if (is_alphanumeric(*version) || len > 0)
            out[len++] = is_alphanumeric(*version) || *version == '.' || *version == '_' ? *version : '-';
    }
    while (len > 0 && !is_alphanumeric(out[len - 1]))
        len--;
    out[len] = '\0';
}

json_t *cluster_labels(const char *cluster)
{
    return labels_of(cluster, LABEL_COMPONENT_DATABASE, LABEL_CLUSTER);
}

json_t *cluster_selector_labels(const char *cluster)
{
    return json_build("{s:s, s:s}", LABEL_CLUSTER, cluster, LABEL_COMPONENT, LABEL_COMPONENT_DATABASE);
}

json_t *terminal_labels(const char *terminal)
{
    return labels_of(terminal, LABEL_COMPONENT_TERMINAL, LABEL_TERMINAL);
}

void cluster_selector_text(const char *cluster, struct strbuf *out)
{
    strbuf_addf(out, "%s=%s,%s=%s", LABEL_CLUSTER, cluster, LABEL_COMPONENT, LABEL_COMPONENT_DATABASE);
}
