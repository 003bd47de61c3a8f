/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/state/mycnf_blame.h"

#include "common/json.h"

#define NAMED_MAX 3

static bool same_char(char a, char b)
{
    return a == b || (strchr("-_", a) && strchr("-_", b) && a && b);
}

static bool is_of_a_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/* Behind the name at `at`; NULL: something else stands there. */
static const char *skip_name(const char *at, const char *key)
{
    for (; *key; key++, at++) {
        if (!same_char(*at, *key))
            return NULL;
    }
    return is_of_a_name(*at) ? NULL : at;
}

/* 'KEY', 'KEY=VALUE', '--KEY'; unquoted where it is no ordinary word. */
static bool names_option(const char *words, const char *key)
{
    bool is_unmistakable = strpbrk(key, "-_") != NULL;
    for (const char *at = words; *at; at++) {
        bool begins = at == words || !is_of_a_name(at[-1]);
        const char *name = str_starts_with(at, "--") ? at + 2 : at, *end = begins ? skip_name(name, key) : NULL;
        bool is_quoted = end && at > words && at[-1] == '\'' && (*end == '\'' || *end == '=');
        if (end && (is_unmistakable || is_quoted))
            return true;
    }
    return false;
}

static bool names_text(const char *words, const char *value)
{
    size_t len = strlen(value);
    for (const char *at = words; len > 0 && (at = strchr(at, '\'')); at++) {
        if (strncmp(at + 1, value, len) == 0 && at[len + 1] == '\'')
            return true;
    }
    return false;
}

/* A number is a part of many words. */
static bool names_value(const char *words, const json_t *value)
{
    size_t i;
    const json_t *each;
    json_array_foreach(value, i, each) {
        if (json_is_string(each) && names_text(words, json_string_value(each)))
            return true;
    }
    return json_is_string(value) && names_text(words, json_string_value(value));
}

/* Where options are set: what is given for the cluster wins. */
struct place {
    const json_t *mycnf;
    const char *path, *after; /* around the option */
};

static bool is_set_before(const struct place *places, size_t count, const char *key)
{
    for (size_t i = 0; i < count; i++) {
        const char *other;
        json_t *value;
        json_object_foreach((json_t *)(uintptr_t)places[i].mycnf, other, value) {
            const char *end = skip_name(other, key);
            if (end && !*end)
                return true;
        }
    }
    return false;
}

static int name_all(const struct place *places, size_t count, const char *words, bool by_value, char *out, size_t size)
{
    int named = 0;
    for (size_t i = 0; i < count; i++) {
        const char *key;
        json_t *value;
        json_object_foreach((json_t *)(uintptr_t)places[i].mycnf, key, value) {
            bool is_named = by_value ? names_value(words, value) : names_option(words, key);
            if (!is_named || json_is_null(value) || is_set_before(places, i, key) || named == NAMED_MAX)
                continue;
            size_t len = strlen(out);
            snprintf(out + len, size - len, "%s%s.%s%s", named > 0 ? ", " : "", places[i].path, key, places[i].after);
            named++;
        }
    }
    return named;
}

#define PLACES 3
#define OF_CONFIG_SIZE (KUBE_NAME_MAX + 32)

static void find_places(
    const struct cluster_snapshot *snapshot, struct place places[static PLACES], char of_config[static OF_CONFIG_SIZE])
{
    const struct mysql_cluster *cluster = &snapshot->cluster;
    snprintf(of_config, OF_CONFIG_SIZE, " of MysqlConfig %s", str_or_empty(cluster->config_name));
    places[0] = (struct place){cluster->mycnf, "spec.mycnf", ""};
    places[1] = (struct place){json_object_get(cluster->config_spec, "mycnf"), "spec.config.spec.mycnf", ""};
    places[2] = (struct place){cluster->config_name ? snapshot->config.mycnf : NULL, "spec.mycnf", of_config};
}

bool mycnf_blame(const struct cluster_snapshot *snapshot, const char *words, char *out, size_t size)
{
    char of_config[OF_CONFIG_SIZE];
    struct place places[PLACES];
    find_places(snapshot, places, of_config);
    out[0] = '\0';
    return name_all(places, PLACES, words, false, out, size) > 0 || name_all(places, PLACES, words, true, out, size) > 0;
}

/* The merged configuration holds what is given inline as well. */
static bool has_options(const struct place *places, size_t i)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)places[i].mycnf, key, value) {
        if (!json_is_null(value) && !is_set_before(places, i, key))
            return true;
    }
    return false;
}

void mycnf_blame_or_all(const struct cluster_snapshot *snapshot, const char *words, char *out, size_t size)
{
    char of_config[OF_CONFIG_SIZE];
    struct place places[PLACES];
    if (mycnf_blame(snapshot, words, out, size))
        return;
    find_places(snapshot, places, of_config);
    for (size_t i = 0; i < PLACES; i++) {
        size_t len = strlen(out);
        if (has_options(places, i))
            snprintf(out + len, size - len, "%s%s%s", len > 0 ? " or " : "", places[i].path, places[i].after);
    }
    if (!*out)
        snprintf(out, size, "my.cnf");
}
