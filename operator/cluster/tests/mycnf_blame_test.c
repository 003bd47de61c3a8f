/* SPDX-License-Identifier: Apache-2.0 */
/* Which options of a my.cnf a server's words name. */
#include "common/base.h"

#include "operator/cluster/state/mycnf_blame.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/json.h"

static json_t *parse(const char *text)
{
    json_t *json = json_parse(text, strlen(text), NULL);
    if (!json)
        fail_msg("not JSON: %s", text);
    return json;
}

#define OWN "{\"max-conections\": 300, \"port\": 3307, \"default_time_zone\": \"Nowhere/Land\", \"back_log\": 80}"
#define INLINE "{\"mycnf\": {\"skip_naem_resolve\": true, \"back-log\": 90}}"
#define NAMED "{\"plugin_load_add\": [\"a.so\", \"b.so\"], \"back_log\": 100, \"innodb_page_size\": \"16k\"}"

static void options_are_named(void **state)
{
    static const struct {
        const char *words, *wanted; /* "": none is */
    } table[] = {
        {"8.4.3 refuses my.cnf: unknown variable 'max_conections=300'", "spec.mycnf.max-conections"},
        {"unknown option '--max-conections'", "spec.mycnf.max-conections"},
        {"unknown variable 'max_conections_2=300'", ""},
        {"unknown variable 'loose_max_conections=300'", ""},
        {"Can't start server: Bind on TCP/IP port: Address already in use", ""},
        {"unknown variable 'port=3307'", "spec.mycnf.port"},
        {"Illegal or unknown default time zone 'Nowhere/Land'", "spec.mycnf.default_time_zone"},
        {"Illegal or unknown default time zone 'Nowhere'", ""},
        {"unknown variable 'skip_naem_resolve=ON'; unknown variable 'max_conections=300'",
            "spec.mycnf.max-conections, spec.config.spec.mycnf.skip_naem_resolve"},
        {"Can't open shared library 'b.so'", "spec.mycnf.plugin_load_add of MysqlConfig c1"},
        {"InnoDB: innodb_page_size must be a power of 2", "spec.mycnf.innodb_page_size of MysqlConfig c1"},
        {"option back_log is too large", "spec.mycnf.back_log"}, /* what is given for the cluster wins */
        {"Operating system error number 13 in a file operation.", ""},
        {"", ""},
        {"'", ""},
    };
    struct cluster_snapshot snapshot = {.ns = NULL};
    UNUSED(state);
    _cleanup_(json_decrefp) json_t *own = parse(OWN), *config = parse(INLINE), *named = parse(NAMED);
    snapshot.cluster.mycnf = own;
    snapshot.cluster.config_spec = config;
    snapshot.cluster.config_name = "c1";
    snapshot.config.mycnf = named;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        char out[256];
        bool found = mycnf_blame(&snapshot, table[i].words, out, sizeof(out));
        if (found != (*table[i].wanted != '\0') || (found && strcmp(out, table[i].wanted) != 0))
            fail_msg("%s: \"%s\", not \"%s\"", table[i].words, out, table[i].wanted);
    }
}

/* Words that name no option blame all of my.cnf, wherever it is set. */
static void places_are_named(void **state)
{
    static const struct {
        const char *own, *config, *named; /* mycnf of each; NULL: none. The merged one has those of config, too */
        const char *words, *wanted;
    } table[] = {
        {"{\"a_b\": 1}", NULL, NULL, "it ends", "spec.mycnf"},
        {NULL, "{\"mycnf\": {\"a_b\": 1}}", "{\"a_b\": 1}", "it ends", "spec.config.spec.mycnf"},
        {NULL, NULL, "{\"a_b\": 1}", "it ends", "spec.mycnf of MysqlConfig c1"},
        {"{\"a_b\": 1}", "{\"mycnf\": {\"a_b\": 2}}", "{\"a_b\": 2, \"c\": 3}", "it ends",
            "spec.mycnf or spec.mycnf of MysqlConfig c1"},
        {NULL, NULL, NULL, "it ends", "my.cnf"},
        {"{}", NULL, NULL, "it ends", "my.cnf"},
        {"{\"a_b\": 1}", NULL, "{\"c_d\": 1}", "unknown variable 'c_d=1'", "spec.mycnf.c_d of MysqlConfig c1"},
    };
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        char out[MYCNF_BLAME_SIZE];
        struct cluster_snapshot snapshot = {.ns = NULL};
        _cleanup_(json_decrefp) json_t *own = table[i].own ? parse(table[i].own) : NULL;
        _cleanup_(json_decrefp) json_t *config = table[i].config ? parse(table[i].config) : NULL;
        _cleanup_(json_decrefp) json_t *named = table[i].named ? parse(table[i].named) : NULL;
        snapshot.cluster.mycnf = own;
        snapshot.cluster.config_spec = config;
        snapshot.cluster.config_name = "c1";
        snapshot.config.mycnf = named;
        mycnf_blame_or_all(&snapshot, table[i].words, out, sizeof(out));
        assert_string_equal(out, table[i].wanted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(options_are_named), cmocka_unit_test(places_are_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
