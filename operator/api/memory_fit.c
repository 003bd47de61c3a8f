/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/memory_fit.h"

#include "common/cache_options.h"
#include "common/json.h"
#include "operator/api/mycnf.h"
#include "operator/api/names.h"
#include "operator/api/pod_template.h"
#include "operator/api/quantity.h"

#define TEXT_MAX 32
#define MEMORY_LIMIT_MIN (4 * (int64_t)KM_MIB) /* less than what runc needs to start anything */

struct cache {
    const char *key; /* as the merged mycnf has it, with loose_ or without; NULL: not set there */
    int64_t bytes;
    bool is_default; /* the operator's */
};

struct demand {
    int64_t limit_bytes; /* 0: none */
    char limit[TEXT_MAX];
    struct cache caches[CACHE_OPTION_COUNT];
    int64_t total_bytes; /* of all caches; no more than INT64_MAX */
};

/* ---- what a configuration asks for ---- */

static void print_value(const json_t *value, char ret[static TEXT_MAX])
{
    if (json_is_array(value)) /* the last one holds */
        value = json_array_get(value, json_array_size(value) - 1);
    if (json_is_string(value))
        snprintf(ret, TEXT_MAX, "%.31s", json_string_value(value));
    else if (json_is_integer(value))
        snprintf(ret, TEXT_MAX, "%lld", (long long)json_integer_value(value));
    else
        snprintf(ret, TEXT_MAX, "%.15g", json_number_value(value));
}

/* As the pod comes to have it. */
static void read_limit(const struct mysql_config_spec *config, struct demand *ret)
{
    size_t i;
    const json_t *element;
    _cleanup_(json_decrefp) json_t *container = json_object();
    if (config->resources)
        json_put(container, "resources", json_deep_copy(config->resources));
    json_array_foreach(json_path(config->pod_template, "spec.containers"), i, element) {
        if (str_eq(json_string_value(json_object_get(element, "name")), CONTAINER_MYSQL))
            pod_template_merge(container, element);
    }
    const json_t *limit = json_path(container, "resources.limits.memory");
    if (!limit || quantity_from_json(limit, &ret->limit_bytes) < 0)
        ret->limit_bytes = 0;
    else
        print_value(limit, ret->limit);
}

/* Of two settings the later one in the file holds: keys are rendered in alphabetical order. */
static void read_cache(const json_t *mycnf, const char *name, struct cache *ret)
{
    char loose[MYCNF_KEY_MAX + 1];
    snprintf(loose, sizeof(loose), "loose_%s", name);
    void *plain_at = json_object_iter_at((json_t *)(uintptr_t)mycnf, name);
    void *loose_at = json_object_iter_at((json_t *)(uintptr_t)mycnf, loose);
    void *at = loose_at && (!plain_at || strcmp(name, loose) < 0) ? loose_at : plain_at;
    *ret = (struct cache){0};
    if (!at)
        return;
    ret->key = json_object_iter_key(at);
    ret->bytes = MAX_OF(mycnf_value_bytes(json_object_iter_value(at)), 0);
}

static void read_demand(const struct mysql_config_spec *config, struct demand *ret)
{
    *ret = (struct demand){0};
    read_limit(config, ret);
    for (size_t i = 0; i < CACHE_OPTION_COUNT; i++) {
        struct cache *cache = &ret->caches[i];
        read_cache(config->mycnf, cache_options[i], cache);
        if (!cache->key && str_eq(cache_options[i], CACHE_OPTION_BUFFER_POOL)) {
            /* A podTemplate may leave less than the default goes by: that is no fault of the caches in mycnf. */
            int64_t pool = mycnf_default_pool_bytes(config->mycnf, config->memory_limit_bytes);
            cache->bytes = pool < ret->limit_bytes ? pool : 0;
            cache->is_default = true;
        }
        ret->total_bytes += MIN_OF(cache->bytes, INT64_MAX - ret->total_bytes);
    }
}

static bool asks_for_more(const struct demand *demand, const struct demand *in_force)
{
    bool more = in_force->limit_bytes == 0 || demand->limit_bytes < in_force->limit_bytes;
    for (size_t i = 0; !more && i < CACHE_OPTION_COUNT; i++)
        more = demand->caches[i].bytes > in_force->caches[i].bytes;
    return more;
}

/* ---- where people set it ---- */

/* The key as it stands there: with '-', perhaps. */
static bool find_in(const json_t *mycnf, const char *prefix, const char *name, char ret[static API_PATH_MAX])
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)mycnf, key, value) {
        size_t at = 0;
        while (key[at] && (key[at] == name[at] || (key[at] == '-' && name[at] == '_')))
            at++;
        if (key[at] || name[at])
            continue;
        snprintf(ret, API_PATH_MAX, "%.90s.%.64s", prefix, key);
        return true;
    }
    return false;
}

static void path_of(
    const struct mysql_cluster *cluster, const json_t *named_spec, const char *name, char ret[static API_PATH_MAX])
{
    char prefix[API_PATH_MAX];
    snprintf(prefix, sizeof(prefix), "MysqlConfig %.60s: spec.mycnf", str_or_empty(cluster->config_name));
    if (!find_in(cluster->mycnf, "spec.mycnf", name, ret) &&
        !find_in(json_object_get(cluster->config_spec, "mycnf"), "spec.config.spec.mycnf", name, ret) &&
        !find_in(json_object_get(named_spec, "mycnf"), prefix, name, ret))
        snprintf(ret, API_PATH_MAX, "spec.mycnf.%.64s", name);
}

/* ---- what is no amount that anybody means ---- */

/* The API server takes "512m", half a byte, with no more than a warning, and no container starts with it. */
static void check_amount(const struct mysql_cluster *cluster, const json_t *named_spec,
    const struct mysql_config_spec *config, const char *key, struct api_problems *problems)
{
    char path[API_PATH_MAX], where[64], value[TEXT_MAX];
    int64_t bytes;
    snprintf(where, sizeof(where), "%s.limits.memory", key);
    const json_t *limit = json_path(config->document, where);
    if (!limit || quantity_from_json(limit, &bytes) < 0 || bytes == 0 /* no limit */ || bytes >= MEMORY_LIMIT_MIN)
        return;
    if (json_path(cluster->config_spec, where) || !named_spec)
        snprintf(path, sizeof(path), "spec.config.spec.%s", where);
    else
        snprintf(path, sizeof(path), "MysqlConfig %.60s: spec.%s", str_or_empty(cluster->config_name), where);
    print_value(limit, value);
    api_problems_add(problems, path,
        "%s is too small for any container: an amount without a unit is bytes, and m a thousandth of one; meant may be "
        "512Mi or 1Gi",
        value);
}

/* ---- what does not fit ---- */

static const char *compared(int64_t bytes, const struct demand *demand)
{
    return bytes > demand->limit_bytes ? "more than" : "all of";
}

static void check_each(const struct mysql_cluster *cluster, const json_t *named_spec,
    const struct mysql_config_spec *config, const struct demand *demand, struct api_problems *problems)
{
    char path[API_PATH_MAX], value[TEXT_MAX];
    for (size_t i = 0; i < CACHE_OPTION_COUNT; i++) {
        const struct cache *cache = &demand->caches[i];
        if (!cache->key || cache->bytes < demand->limit_bytes)
            continue;
        path_of(cluster, named_spec, cache->key, path);
        print_value(json_object_get(config->mycnf, cache->key), value);
        api_problems_add(problems, path, "%s is %s the memory limit of the container mysql (%s)", value,
            compared(cache->bytes, demand), demand->limit);
    }
}

static void add_cache(
    const struct mysql_config_spec *config, size_t which, const struct cache *cache, struct strbuf *out)
{
    char value[TEXT_MAX];
    if (cache->is_default) {
        strbuf_addf(out, " and %s %lldM (the default)", cache_options[which], (long long)(cache->bytes / KM_MIB));
        return;
    }
    print_value(json_object_get(config->mycnf, cache->key), value);
    strbuf_addf(out, " and %s %s", cache->key, value);
}

/* The path is that of the largest one. */
static void check_sum(const struct mysql_cluster *cluster, const json_t *named_spec,
    const struct mysql_config_spec *config, const struct demand *demand, struct api_problems *problems)
{
    char path[API_PATH_MAX], value[TEXT_MAX];
    size_t largest = CACHE_OPTION_COUNT;
    for (size_t i = 0; i < CACHE_OPTION_COUNT; i++) {
        const struct cache *cache = &demand->caches[i];
        if (cache->key && (largest == CACHE_OPTION_COUNT || cache->bytes > demand->caches[largest].bytes))
            largest = i;
    }
    if (largest == CACHE_OPTION_COUNT || demand->total_bytes < demand->limit_bytes)
        return;
    _cleanup_(strbuf_release) struct strbuf others;
    strbuf_init(&others, KM_KIB);
    for (size_t i = 0; i < CACHE_OPTION_COUNT; i++) {
        if (i != largest && demand->caches[i].bytes > 0)
            add_cache(config, i, &demand->caches[i], &others);
    }
    path_of(cluster, named_spec, demand->caches[largest].key, path);
    print_value(json_object_get(config->mycnf, demand->caches[largest].key), value);
    api_problems_add(problems, path, "%s%s together are %s the memory limit of the container mysql (%s)", value,
        others.buf, compared(demand->total_bytes, demand), demand->limit);
}

int memory_fit_check(const struct mysql_cluster *cluster, const json_t *named_spec,
    const struct mysql_config_spec *config, const json_t *in_force, struct api_problems *problems)
{
    struct demand demand, before;
    struct mysql_config_spec running = {0};
    int had = problems->count;
    check_amount(cluster, named_spec, config, "resources", problems);
    check_amount(cluster, named_spec, config, "agentResources", problems);
    if (problems->count > had)
        return -1;
    read_demand(config, &demand);
    if (demand.limit_bytes == 0 || demand.total_bytes < demand.limit_bytes)
        return 0;
    if (in_force) {
        mysql_config_spec_read((json_t *)(uintptr_t)in_force, &running);
        read_demand(&running, &before);
        mysql_config_spec_release(&running);
        if (!asks_for_more(&demand, &before))
            return 0;
    }
    check_each(cluster, named_spec, config, &demand, problems);
    if (problems->count == had)
        check_sum(cluster, named_spec, config, &demand, problems);
    return problems->count > had ? -1 : 0;
}
