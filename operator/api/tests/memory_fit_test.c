/* SPDX-License-Identifier: Apache-2.0 */
/* Caches in my.cnf that are larger than the memory of the container that is to have them. */
#include "common/base.h"

#include "operator/api/memory_fit.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/json.h"

#define STORAGE "'storage': {'resources': {'requests': {'storage': '1Gi'}}}"
#define LIMIT(memory) "'resources': {'limits': {'memory': " memory "}}"
#define OF_400 "the memory limit of the container mysql (400Mi)"

static json_t *parse(const char *text)
{
    _cleanup_(freep) char *copy = xstrdup(text);
    for (char *c = copy; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    struct error err = ERROR_INIT;
    json_t *json = json_parse(copy, strlen(copy), &err);
    if (!json)
        fail_msg("%s: %s", err.message, copy);
    return json;
}

/* named: MysqlConfig.spec, NULL: none. */
static void check(const char *spec_text, const char *named_text, const char *in_force_text, const char *wanted)
{
    struct mysql_cluster cluster;
    struct mysql_config_spec config = {0};
    struct api_problems problems = {0};
    _cleanup_(json_decrefp) json_t *spec = parse(spec_text);
    _cleanup_(json_decrefp) json_t *named = named_text ? parse(named_text) : NULL;
    _cleanup_(json_decrefp) json_t *in_force = in_force_text ? parse(in_force_text) : NULL;
    _cleanup_(strbuf_release) struct strbuf text;
    strbuf_init(&text, 16 * KM_KIB);
    assert_int_equal(mysql_cluster_parse("ns", "a", spec, &cluster, &problems), 0);
    assert_int_equal(mysql_cluster_resolve(&cluster, named, &config, &problems), 0);
    assert_int_equal(memory_fit_check(&cluster, named, &config, in_force, &problems), *wanted ? -1 : 0);
    api_problems_text(&problems, &text);
    if (strcmp(text.buf, wanted) != 0)
        fail_msg("%s\n  gives  %s\n  wanted %s", spec_text, text.buf, wanted);
    mysql_config_spec_release(&config);
    mysql_cluster_release(&cluster);
}

static void check_mycnf(const char *limit, const char *mycnf, const char *wanted)
{
    _cleanup_(freep) char *spec = xasprintf(
        "{'config': {'spec': {'images': {'mysql': 'm'}, 'resources': {'limits': %s}}}, " STORAGE ", 'mycnf': %s}",
        limit, mycnf);
    check(spec, NULL, NULL, wanted);
}

#define NO_AMOUNT                                                                                                  \
    " is too small for any container: an amount without a unit is bytes, and m a thousandth of one; meant may be " \
    "512Mi or 1Gi"

static const struct {
    const char *limit, *mycnf, *problems;
} sizes[] = {
    {"{'memory': '400Mi'}", "{'innodb_buffer_pool_size': '100G'}",
        "spec.mycnf.innodb_buffer_pool_size: 100G is more than " OF_400},
    {"{'memory': '400Mi'}", "{'innodb_buffer_pool_size': '100M'}", ""},
    {"{'memory': '512m'}", "{}", "spec.config.spec.resources.limits.memory: 512m" NO_AMOUNT},
    {"{'memory': 512}", "{}", "spec.config.spec.resources.limits.memory: 512" NO_AMOUNT},
    {"{'memory': '4Mi'}", "{}", ""},
    {"{'memory': '400Mi'}", "{'loose-innodb-buffer-pool-size': '8g'}",
        "spec.mycnf.loose-innodb-buffer-pool-size: 8g is more than " OF_400},
    {"{'memory': '400Mi'}", "{'innodb_buffer_pool_size': 8589934592}",
        "spec.mycnf.innodb_buffer_pool_size: 8589934592 is more than " OF_400},
    {"{'memory': '400Mi'}", "{'innodb_buffer_pool_size': 8589934592.0}",
        "spec.mycnf.innodb_buffer_pool_size: 8589934592 is more than " OF_400},
    {"{'memory': '400Mi'}", "{'innodb_buffer_pool_size': ['100M', '8G']}",
        "spec.mycnf.innodb_buffer_pool_size: 8G is more than " OF_400},
    {"{'memory': '400Mi'}", "{'innodb_buffer_pool_size': ['8G', '100M']}", ""},
    {"{'memory': '400Mi'}", "{'innodb_buffer_pool_size': '99999999999E'}",
        "spec.mycnf.innodb_buffer_pool_size: 99999999999E is more than " OF_400},
    /* The line. */
    {"{'memory': '400Mi'}", "{'innodb_buffer_pool_size': '399M'}", ""},
    {"{'memory': '400Mi'}", "{'innodb_buffer_pool_size': '400M'}",
        "spec.mycnf.innodb_buffer_pool_size: 400M is all of " OF_400},
    {"{'memory': 419430400}", "{'innodb_buffer_pool_size': '401M'}",
        "spec.mycnf.innodb_buffer_pool_size: 401M is more than the memory limit of the container mysql (419430400)"},
    /* Each of them. */
    {"{'memory': '400Mi'}", "{'key_buffer_size': '1G', 'aria_pagecache_buffer_size': '2G', 'max_connections': 9}",
        "spec.mycnf.aria_pagecache_buffer_size: 2G is more than " OF_400
        "; spec.mycnf.key_buffer_size: 1G is more than " OF_400},
    {"{'memory': '400Mi'}", "{'innodb_log_buffer_size': '1G', 'query_cache_size': '1G'}",
        "spec.mycnf.innodb_log_buffer_size: 1G is more than " OF_400
        "; spec.mycnf.query_cache_size: 1G is more than " OF_400},
    {"{'memory': '400Mi'}", "{'loose_rocksdb_block_cache_size': '1G', 'loose_s3_pagecache_buffer_size': '1G'}",
        "spec.mycnf.loose_rocksdb_block_cache_size: 1G is more than " OF_400
        "; spec.mycnf.loose_s3_pagecache_buffer_size: 1G is more than " OF_400},
    /* Together: with the default of the pool, 100 MiB. */
    {"{'memory': '400Mi'}", "{'innodb_buffer_pool_size': '300M', 'key_buffer_size': '99M'}", ""},
    {"{'memory': '400Mi'}", "{'innodb_buffer_pool_size': '300M', 'key_buffer_size': '101M'}",
        "spec.mycnf.innodb_buffer_pool_size: 300M and key_buffer_size 101M together are more than " OF_400},
    {"{'memory': '400Mi'}", "{'innodb-buffer-pool-size': '100M', 'key-buffer-size': '300M'}",
        "spec.mycnf.key-buffer-size: 300M and innodb_buffer_pool_size 100M together are all of " OF_400},
    {"{'memory': '400Mi'}", "{'key_buffer_size': '299M'}", ""},
    {"{'memory': '400Mi'}", "{'key_buffer_size': '301M'}",
        "spec.mycnf.key_buffer_size: 301M and innodb_buffer_pool_size 100M (the default) together are more "
        "than " OF_400},
    {"{'memory': '400Mi'}", "{'key_buffer_size': '301M', 'loose_innodb_dedicated_server': true}", ""},
    {"{'memory': '400Mi'}", "{'innodb_buffer_pool_size': '9223372036854775807', 'key_buffer_size': '8E'}",
        "spec.mycnf.innodb_buffer_pool_size: 9223372036854775807 is more than " OF_400
        "; spec.mycnf.key_buffer_size: 8E is more than " OF_400},
    /* The later line of the file holds. */
    {"{'memory': '400Mi'}", "{'innodb_buffer_pool_size': '8G', 'loose_innodb_buffer_pool_size': '100M'}", ""},
    {"{'memory': '400Mi'}", "{'query_cache_size': '1M', 'loose_query_cache_size': '8G'}", ""},
    /* Not a size, no cache of the whole server, no limit. */
    {"{'memory': '400Mi'}", "{'innodb_buffer_pool_size': '8GB'}", ""},
    {"{'memory': '400Mi'}", "{'innodb_buffer_pool_size': -1, 'key_buffer_size': true}", ""},
    {"{'memory': '400Mi'}", "{'sort_buffer_size': '8G', 'innodb_redo_log_capacity': '8G', 'tmp_table_size': '8G'}", ""},
    {"{'memory': '400Mi'}", "{'innodb_buffer_pool_size_max': '8G', 'maximum_innodb_buffer_pool_size': '8G'}", ""},
    {"{'cpu': 1}", "{'innodb_buffer_pool_size': '100G'}", ""},
    {"{'memory': 0}", "{'innodb_buffer_pool_size': '100G'}", ""},
};

static void what_is_larger_than_the_limit_is_refused(void **state)
{
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
        check_mycnf(sizes[i].limit, sizes[i].mycnf, sizes[i].problems);
}

/* The configuration is in three parts, and the pod has a template: what comes of all of them counts. */
static void the_limit_and_the_size_come_from_anywhere(void **state)
{
    static const struct {
        const char *spec, *named, *problems;
    } rows[] = {
        {"{'config': {'name': 'c'}, " STORAGE ", 'mycnf': {'innodb_buffer_pool_size': '8G'}}",
            "{'images': {'mysql': 'm'}, " LIMIT("'400Mi'") "}",
            "spec.mycnf.innodb_buffer_pool_size: 8G is more than " OF_400},
        {"{'config': {'name': 'c', 'spec': {" LIMIT("'400Mi'") "}}, " STORAGE "}",
            "{'images': {'mysql': 'm'}, 'mycnf': {'innodb-buffer-pool-size': '8G'}}",
            "MysqlConfig c: spec.mycnf.innodb-buffer-pool-size: 8G is more than " OF_400},
        {"{'config': {'name': 'c'}, " STORAGE "}", "{'images': {'mysql': 'm'}, " LIMIT("'512m'") "}",
            "MysqlConfig c: spec.resources.limits.memory: 512m" NO_AMOUNT},
        {"{'config': {'name': 'c', 'spec': {" LIMIT("'16Gi'") "}}, " STORAGE "}",
            "{'images': {'mysql': 'm'}, 'mycnf': {'innodb_buffer_pool_size': '8G'}, " LIMIT("'400Mi'") "}", ""},
        {"{'config': {'name': 'c', 'spec': {'mycnf': {'innodb_buffer_pool_size': '9G'}}}, " STORAGE "}",
            "{'images': {'mysql': 'm'}, 'mycnf': {'innodb_buffer_pool_size': '8G'}, " LIMIT("'400Mi'") "}",
            "spec.config.spec.mycnf.innodb_buffer_pool_size: 9G is more than " OF_400},
        {"{'config': {'name': 'c'}, " STORAGE ", 'mycnf': {'innodb_buffer_pool_size': null}}",
            "{'images': {'mysql': 'm'}, 'mycnf': {'innodb_buffer_pool_size': '8G'}, " LIMIT("'400Mi'") "}", ""},
        /* podTemplate wins. */
        {"{'config': {'name': 'c'}, " STORAGE ", 'mycnf': {'innodb_buffer_pool_size': '8G'},"
         " 'podTemplate': {'spec': {'containers': [{'name': 'agent', " LIMIT("'9Gi'") "}, {'name': 'mysql', " LIMIT(
             "'400Mi'") "}]}}}",
            "{'images': {'mysql': 'm'}, " LIMIT("'16Gi'") "}",
            "spec.mycnf.innodb_buffer_pool_size: 8G is more than " OF_400},
        {"{'config': {'name': 'c'}, " STORAGE ", 'mycnf': {'innodb_buffer_pool_size': '8G'},"
         " 'podTemplate': {'spec': {'containers': [{'name': 'mysql', " LIMIT("'16Gi'") "}]}}}",
            "{'images': {'mysql': 'm'}, " LIMIT("'400Mi'") "}", ""},
        {"{'config': {'name': 'c'}, " STORAGE ", 'mycnf': {'innodb_buffer_pool_size': '8G'},"
         " 'podTemplate': {'spec': {'containers': [{'name': 'mysql', 'resources': {'limits': null}}]}}}",
            "{'images': {'mysql': 'm'}, " LIMIT("'400Mi'") "}", ""},
        {"{'config': {'name': 'c'}, " STORAGE ", 'mycnf': {'innodb_buffer_pool_size': '8G'},"
         " 'podTemplate': {'spec': {'containers': [{'name': 'agent', " LIMIT("'400Mi'") "}]}}}",
            "{'images': {'mysql': 'm'}}", ""},
        {"{'config': {'name': 'c'}, " STORAGE ", 'mycnf': {'innodb_buffer_pool_size': '8G'},"
         " 'podTemplate': {'spec': {'containers': [{'name': 'mysql', " LIMIT("'much'") "}]}}}",
            "{'images': {'mysql': 'm'}}", ""}, /* the API server will say it */
        /* The default goes by the configuration's limit, which the template lowers: nothing in mycnf is to blame. */
        {"{'config': {'name': 'c'}, " STORAGE ", 'mycnf': {'key_buffer_size': '32M'},"
         " 'podTemplate': {'spec': {'containers': [{'name': 'mysql', " LIMIT("'400Mi'") "}]}}}",
            "{'images': {'mysql': 'm'}, " LIMIT("'1Gi'") "}", ""},
    };
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        check(rows[i].spec, rows[i].named, NULL, rows[i].problems);
}

/* Who has lived with it is not shut out by another version of the operator. */
static void what_members_run_with_is_not_refused(void **state)
{
    static const struct {
        const char *in_force, *problems;
    } rows[] = {
        {"{'mycnf': {'innodb_buffer_pool_size': '8G'}, " LIMIT("'400Mi'") "}", ""},
        {"{'mycnf': {'loose_innodb_buffer_pool_size': '9G', 'key_buffer_size': '1M'}, " LIMIT("'300Mi'") "}", ""},
        {"{'mycnf': {'innodb_buffer_pool_size': '7G'}, " LIMIT("'400Mi'") "}",
            "spec.mycnf.innodb_buffer_pool_size: 8G is more than " OF_400},
        {"{'mycnf': {'innodb_buffer_pool_size': '8G'}, " LIMIT("'401Mi'") "}",
            "spec.mycnf.innodb_buffer_pool_size: 8G is more than " OF_400},
        {"{'mycnf': {'innodb_buffer_pool_size': '8G'}}", "spec.mycnf.innodb_buffer_pool_size: 8G is more than " OF_400},
        {"{}", "spec.mycnf.innodb_buffer_pool_size: 8G is more than " OF_400},
    };
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        check("{'config': {'spec': {'images': {'mysql': 'm'}, " LIMIT(
                  "'400Mi'") "}}, " STORAGE ", 'mycnf': {'innodb_buffer_pool_size': '8G'}}",
            NULL, rows[i].in_force, rows[i].problems);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_larger_than_the_limit_is_refused),
        cmocka_unit_test(the_limit_and_the_size_come_from_anywhere),
        cmocka_unit_test(what_members_run_with_is_not_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
