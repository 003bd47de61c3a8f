/* SPDX-License-Identifier: Apache-2.0 */
/* MysqlCluster, MysqlConfig, MysqlTerminal: what is accepted, what is refused and how that is said. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/json.h"
#include "operator/api/mysql_cluster.h"
#include "operator/api/mysql_terminal.h"
#include "operator/api/pod_template.h"

#define GIB (INT64_C(1) << 30)

#define GOOD "'config': {'name': 'c'}, 'storage': {'resources': {'requests': {'storage': '1Gi'}}}"

/* JSON with single quotes, so that tables stay readable. */
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

static void assert_problems(const struct api_problems *problems, const char *wanted, const char *what)
{
    _cleanup_(strbuf_release) struct strbuf text;
    strbuf_init(&text, 16 * KM_KIB);
    api_problems_text(problems, &text);
    if (strcmp(text.buf, wanted) != 0)
        fail_msg("%s\n  gives  %s\n  wanted %s", what, text.buf, wanted);
}

static const struct {
    const char *spec, *problems;
} refusals[] = {
    {"{" GOOD "}", ""},
    {"{" GOOD ", 'replicas': null, 'terminal': {}, 'services': {'primary': {'type': 'NodePort'}}}", ""},
    {"{'config': {'spec': {'images': {'mysql': 'm:1'}}}, 'storage': {'volumeSource': {'emptyDir': {}}}}", ""},
    {"{}", "spec.config: is required"},
    {"{" GOOD ", 'replicas': -1}", "spec.replicas: must be between 0 and 9, not -1"},
    {"{" GOOD ", 'replicas': 10}", "spec.replicas: must be between 0 and 9, not 10"},
    {"{" GOOD ", 'replicas': '1'}", "spec.replicas: must be an integer, not a string"},
    {"{" GOOD ", 'replica': 1}", "spec.replica: is not a known field"},
    {"{" GOOD ", 'bad key\\n': 1}", "spec[\"bad key?\"]: is not a known field"},
    {"{'config': {}, 'storage': {'volumeSource': {'emptyDir': {}}}}",
        "spec.config: needs a name (of a MysqlConfig) or a spec"},
    {"{'config': {'name': 'No'}, 'storage': {}}",
        "spec.config.name: must be a name of lower-case letters, digits, '-' and '.'"},
    {"{'config': {'name': 'c'}, 'storage': {}}",
        "spec.storage: needs either resources.requests.storage (a claim for each member) or volumeSource"},
    {"{'config': {'name': 'c'}, 'storage': {'resources': {}}}", "spec.storage.resources.requests: is required"},
    {"{'config': {'name': 'c'}, 'storage': {'resources': {'requests': {'storage': '1GB'}}}}",
        "spec.storage.resources.requests.storage: must be a quantity: write 1Gi or 1G, not 1GB"},
    {"{'config': {'name': 'c'}, 'storage': {'resources': {'requests': {'storage': 0}}}}",
        "spec.storage.resources.requests.storage: must be a positive quantity like 10Gi"},
    {"{'config': {'name': 'c'}, 'storage': {'volumeSource': {'emptyDir': {}}, 'resources': {'requests': {'storage': '1Gi'}}}}",
        "spec.storage: must have only one form: volumeSource, or resources with storageClassName"},
    {"{'config': {'name': 'c'}, 'storage': {'volumeSource': {'emptyDir': {}, 'hostPath': {}}}}",
        "spec.storage.volumeSource: must have exactly one member, like emptyDir: {}"},
    {"{'config': {'name': 'c'}, 'replicas': 2, 'storage': {'volumeSource': {'persistentVolumeClaim': {'claimName': 'x'}}}}",
        "spec.storage.volumeSource.persistentVolumeClaim: would be shared by all members; use resources when replicas is more than 1"},
    {"{" GOOD ", 'mycnf': {'datadir': '/x'}}",
        "spec.mycnf.datadir: is managed by kube-mysql: the operator decides where things lie in the pod"},
    {"{" GOOD ", 'mycnf': {'Max-Allowed-Packet': 1}}",
        "spec.mycnf: \"Max-Allowed-Packet\" is no option name: lower case letters, digits, '_', '-' and '.', a letter "
        "first"},
    {"{'config': {'spec': {'images': {'mysql': 'm:1'}, 'mycnf': {'Sql_Mode': ''}}},"
     " 'storage': {'volumeSource': {'emptyDir': {}}}}",
        "spec.config.spec.mycnf: \"Sql_Mode\" is no option name: lower case letters, digits, '_', '-' and '.', a letter "
        "first"},
    {"{'config': {'name': 'c'}, 'storage': {'resources': {'requests': {'storage': '1Gi'}, 'limits': {'storage': '2Gi'}}}}",
        "spec.storage.resources.limits: is not a known field"},
    {"{'config': {'spec': {'images': {'mysql': 'm', 'server': 'm'}}}, 'storage': {'volumeSource': {'emptyDir': {}}}}",
        "spec.config.spec.images.server: is not a known field"},
    {"{" GOOD ", 'username': 'u'}", "spec.username: needs spec.database, on which it gets all rights"},
    {"{" GOOD ", 'database': 'd', 'username': 'root'}", ""},
    {"{" GOOD ", 'username': 'root', 'password': 'topsecret'}", ""},
    {"{" GOOD ", 'passwordSecret': {'name': 's'}}", ""},
    {"{" GOOD ", 'database': 'd', 'username': 'monitor'}",
        "spec.username: must not be mysql, replication, monitor or begin with kubemysql or kube-mysql, in lower or upper "
        "case: those accounts belong to the server and the operator"},
    {"{" GOOD ", 'database': 'd', 'username': 'Root'}",
        "spec.username: must be root in lower case: servers tell accounts apart by case, so that this one would stand "
        "beside root"},
    {"{" GOOD ", 'database': 'MySQL'}", "spec.database: must not be a schema of the server itself"},
    {"{" GOOD ", 'database': 'a`b'}", "spec.database: must hold only letters, digits, '_' and '-'"},
    {"{" GOOD ", 'database': 'd', 'username': 'u', 'password': 'topsecret', 'passwordSecret': {'name': 's'}}",
        "spec.password: must not be given together with passwordSecret"},
    {"{" GOOD ", 'password': 'topsecret'}", ""},
    {"{" GOOD ", 'password': {'topsecret': 1}}", "spec.password: must be a string, not an object"},
    {"{" GOOD ", 'passwordSecret': {}}", "spec.passwordSecret.name: is required"},
    {"{" GOOD ", 'deletion': {'volumes': 'retain'}}",
        "spec.deletion.volumes: must be one of Retain, Delete, not \"retain\""},
    {"{" GOOD ", 'services': {'primary': {'type': 'ExternalName'}}}",
        "spec.services.primary.type: must be one of ClusterIP, NodePort, LoadBalancer, not \"ExternalName\""},
    {"{" GOOD ", 'services': {'primary': {'loadBalancerSourceRanges': ['10.0.0.0/8', 7]}}}",
        "spec.services.primary.loadBalancerSourceRanges[1]: must be a string, not a number"},
    {"{" GOOD ", 'services': {'replicas': {'loadBalancerSourceRanges': ['10.0.0.0/8']}}}",
        "spec.services.replicas.loadBalancerSourceRanges: needs type: LoadBalancer"},
    {"{" GOOD ", 'replicas': 3, 'replication': {'mode': 'async', 'maxLagSeconds': 1, 'primary': 2, 'drainSeconds': 0}}",
        ""},
    {"{" GOOD ", 'replication': {'mode': 'galera'}}",
        "spec.replication.mode: must be one of async, semiSync, not \"galera\""},
    {"{" GOOD ", 'replication': {'maxLagSeconds': 0}}",
        "spec.replication.maxLagSeconds: must be between 1 and 86400, not 0"},
    {"{" GOOD ", 'replication': {'drainSeconds': 3601}}",
        "spec.replication.drainSeconds: must be between 0 and 3600, not 3601"},
    {"{" GOOD ", 'replicas': 3, 'replication': {'primary': 7}}",
        "spec.replication.primary: must be below spec.replicas (3)"},
    {"{" GOOD ", 'replicas': 3, 'replication': {'primary': 3}}",
        "spec.replication.primary: must be below spec.replicas (3)"},
    {"{" GOOD ", 'replicas': 3, 'replication': {'primary': -1}}",
        "spec.replication.primary: must be between 0 and 8, not -1"},
    {"{" GOOD ", 'replicas': 0, 'replication': {'primary': 2}}", ""}, /* hibernated */
    {"{" GOOD ", 'failover': {'startMilliseconds': 1, 'silenceMilliseconds': 1000, 'selfFenceMilliseconds': 60000}}",
        ""},
    {"{" GOOD ", 'failover': {'dataLoss': 'Allow'}}",
        "spec.failover.dataLoss: must be one of never, allow, not \"Allow\""},
    {"{" GOOD ", 'failover': {'enabled': 'no', 'reseed': 1}}",
        "spec.failover.enabled: must be a boolean, not a string; spec.failover.reseed: must be a boolean, not a number"},
    {"{" GOOD ", 'failover': {'silenceMilliseconds': 999}}",
        "spec.failover.silenceMilliseconds: must be between 1000 and 3600000, not 999"},
    {"{" GOOD ", 'failover': {'hungMilliseconds': 999, 'writesBlockedMilliseconds': 3600001, 'stalledMilliseconds': 0}}",
        "spec.failover.hungMilliseconds: must be between 1000 and 3600000, not 999; "
        "spec.failover.writesBlockedMilliseconds: must be between 1000 and 3600000, not 3600001; "
        "spec.failover.stalledMilliseconds: must be between 1000 and 3600000, not 0"},
    {"{" GOOD ", 'failover': {'startMilliseconds': 0, 'selfFenceMilliseconds': 1999}}",
        "spec.failover.startMilliseconds: must be between 1 and 3600000, not 0; "
        "spec.failover.selfFenceMilliseconds: must be between 2000 and 60000, not 1999"},
    {"{" GOOD ", 'failover': {'silence': 2}}", "spec.failover.silence: is not a known field"},
    {"{" GOOD ", 'podTemplate': {'spec': {'containers': [{'name': 'mysql', 'image': 'x'}]}}}",
        "spec.podTemplate.spec.containers[0].image: of container mysql is managed by kube-mysql; set images in the configuration"},
    {"{" GOOD ", 'podTemplate': {'spec': {'containers': [{'name': 'mysql', 'lifecycle': null}]}}}",
        "spec.podTemplate.spec.containers[0].lifecycle: of container mysql is managed by kube-mysql"},
    {"{" GOOD ", 'podTemplate': {'spec': {'hostname': 'x'}, 'metadata': {'labels': {'kubemysql.dev/role': 'primary'}}}}",
        "spec.podTemplate.metadata.labels[\"kubemysql.dev/role\"]: is managed by kube-mysql; "
        "spec.podTemplate.spec.hostname: is managed by kube-mysql"},
    {"{'config': {'spec': {'flavour': 'oracle'}}, 'storage': {'volumeSource': {'emptyDir': {}}}}",
        "spec.config.spec.flavour: must be one of mysql, mariadb, percona, not \"oracle\""},
    {"{'config': {'spec': {'podSecurity': {'runAsUser': 0}}}, 'storage': {'volumeSource': {'emptyDir': {}}}}",
        "spec.config.spec.podSecurity.runAsUser: must be between 1 and 2147483647, not 0"},
    {"{'a': 1, 'b': 1, 'c': 1, 'd': 1, 'e': 1, 'f': 1, " GOOD ", 'g': 1}",
        "spec.a: is not a known field; spec.b: is not a known field; spec.c: is not a known field; spec.d: is not a known field; "
        "spec.e: is not a known field; spec.f: is not a known field; and 1 more"},
    {"[]", "spec: is required"},
};

static void cluster_refusals(void **state)
{
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
        struct api_problems problems = {0};
        struct mysql_cluster cluster;
        json_t *spec = parse(refusals[i].spec);
        assert_int_equal(mysql_cluster_parse("ns", "a", spec, &cluster, &problems), *refusals[i].problems ? -1 : 0);
        assert_problems(&problems, refusals[i].problems, refusals[i].spec);
        mysql_cluster_release(&cluster);
        json_decref(spec);
    }
}

static void cluster_defaults(void **state)
{
    UNUSED(state);
    struct api_problems problems = {0};
    struct mysql_cluster cluster;
    json_t *spec = parse("{" GOOD ", 'database': 'd', 'username': 'u', 'passwordSecret': {'name': 's'}}");
    assert_int_equal(mysql_cluster_parse("ns", "a", spec, &cluster, &problems), 0);
    json_decref(spec);
    assert_int_equal(cluster.replicas, 1);
    assert_string_equal(cluster.config_name, "c");
    assert_null(cluster.config_spec);
    assert_null(cluster.storage.volume_source);
    assert_null(cluster.storage.storage_class_name);
    assert_int_equal(cluster.storage.size_bytes, 1 << 30);
    assert_string_equal(cluster.password_secret_key, "password");
    assert_string_equal(cluster.service_primary.type, "ClusterIP");
    assert_int_equal(cluster.deletion_volumes, DELETION_VOLUMES_RETAIN);
    assert_false(cluster.has_terminal);
    assert_false(cluster.paused);
    assert_true(cluster.replication.semi_sync);
    assert_int_equal(cluster.replication.max_lag_seconds, 60);
    assert_int_equal(cluster.replication.primary, CLUSTER_PRIMARY_ANY);
    assert_int_equal(cluster.replication.drain_seconds, 10);
    mysql_cluster_release(&cluster);
}

static void cluster_replication(void **state)
{
    UNUSED(state);
    struct api_problems problems = {0};
    struct mysql_cluster cluster;
    json_t *spec = parse(
        "{" GOOD
        ", 'replicas': 3, 'replication': {'mode': 'async', 'maxLagSeconds': 5, 'primary': 0, 'drainSeconds': 0}}");
    assert_int_equal(mysql_cluster_parse("ns", "a", spec, &cluster, &problems), 0);
    json_decref(spec);
    assert_false(cluster.replication.semi_sync);
    assert_int_equal(cluster.replication.max_lag_seconds, 5);
    assert_int_equal(cluster.replication.primary, 0);
    assert_int_equal(cluster.replication.drain_seconds, 0);
    mysql_cluster_release(&cluster);
    /* What is refused is not followed either. */
    spec = parse("{" GOOD ", 'replicas': 3, 'replication': {'primary': 7}}");
    assert_int_equal(mysql_cluster_parse("ns", "a", spec, &cluster, &problems), -1);
    json_decref(spec);
    assert_int_equal(cluster.replication.primary, CLUSTER_PRIMARY_ANY);
    mysql_cluster_release(&cluster);
}

static void assert_failover_defaults(const struct cluster_failover_spec *failover)
{
    assert_true(failover->enabled);
    assert_false(failover->allow_data_loss);
    assert_int_equal(failover->silence_ms, 1500);
    assert_int_equal(failover->hung_ms, 2000);
    assert_int_equal(failover->writes_blocked_ms, 2000);
    assert_int_equal(failover->stalled_ms, 5000);
    assert_int_equal(failover->start_ms, 20000);
    assert_int_equal(failover->self_fence_ms, 4000);
    assert_true(failover->reseed);
}

static void failover_of(const char *text, int result, struct cluster_failover_spec *ret)
{
    struct api_problems problems = {0};
    struct mysql_cluster cluster;
    json_t *spec = parse(text);
    assert_int_equal(mysql_cluster_parse("ns", "a", spec, &cluster, &problems), result);
    *ret = cluster.failover;
    mysql_cluster_release(&cluster);
    json_decref(spec);
}

static void cluster_failover(void **state)
{
    UNUSED(state);
    struct cluster_failover_spec failover;
    failover_of("{" GOOD "}", 0, &failover);
    assert_failover_defaults(&failover);
    failover_of("{" GOOD ", 'failover': {'enabled': false, 'dataLoss': 'allow', 'silenceMilliseconds': 1001,"
                "'hungMilliseconds': 1002, 'writesBlockedMilliseconds': 1003, 'stalledMilliseconds': 1004,"
                "'startMilliseconds': 5, 'selfFenceMilliseconds': 2006, 'reseed': false}}",
        0, &failover);
    assert_false(failover.enabled);
    assert_true(failover.allow_data_loss);
    assert_int_equal(failover.silence_ms, 1001);
    assert_int_equal(failover.hung_ms, 1002);
    assert_int_equal(failover.writes_blocked_ms, 1003);
    assert_int_equal(failover.stalled_ms, 1004);
    assert_int_equal(failover.start_ms, 5);
    assert_int_equal(failover.self_fence_ms, 2006);
    assert_false(failover.reseed);
    /* What is refused is not followed either. */
    failover_of("{" GOOD
                ", 'failover': {'dataLoss': 'always', 'silenceMilliseconds': 1, 'hungMilliseconds': 99999999999,"
                "'writesBlockedMilliseconds': -1, 'stalledMilliseconds': 7, 'startMilliseconds': -2,"
                "'selfFenceMilliseconds': 0}}",
        -1, &failover);
    assert_failover_defaults(&failover);
}

static void resolve_merges_key_by_key(void **state)
{
    UNUSED(state);
    struct api_problems problems = {0};
    struct mysql_cluster cluster;
    struct mysql_config_spec config;
    json_t *named = parse(
        "{'images': {'mysql': 'm:1', 'agent': 'a:1', 'imagePullSecrets': [{'name': 'x'}]}, 'flavour': 'mysql',"
        " 'mycnf': {'max-connections': 1, 'x': 2, 'z': 3}, 'podSecurity': {'runAsUser': 1001},"
        " 'resources': {'limits': {'memory': '1Gi', 'cpu': 1}},"
        " 'podTemplate': {'spec': {'nodeSelector': {'a': 'b'}, 'containers': [{'name': 'mysql', 'env': [{'name': 'A', "
        "'value': '1'}]}]}}}");
    json_t *spec = parse(
        "{'config': {'name': 'c', 'spec': {'images': {'mysql': 'm:2'}, 'mycnf': {'max_connections': 9, 'x': null},"
        " 'resources': {'limits': {'memory': '2Gi'}}}}, 'mycnf': {'z': 4},"
        " 'podTemplate': {'spec': {'containers': [{'name': 'mysql', 'env': [{'name': 'B', 'value': '2'}]}, {'name': 'x', "
        "'image': 'x'}]}}, 'storage': {'volumeSource': {'emptyDir': {}}}}");
    assert_int_equal(mysql_cluster_parse("ns", "a", spec, &cluster, &problems), 0);
    assert_int_equal(mysql_cluster_resolve(&cluster, named, &config, &problems), 0);
    json_t *wanted = parse(
        "{'images': {'mysql': 'm:2', 'agent': 'a:1', 'imagePullSecrets': [{'name': 'x'}]}, 'flavour': 'mysql',"
        " 'mycnf': {'max_connections': 9, 'z': 4}, 'podSecurity': {'runAsUser': 1001},"
        " 'resources': {'limits': {'memory': '2Gi', 'cpu': 1}},"
        " 'podTemplate': {'spec': {'nodeSelector': {'a': 'b'}, 'containers': [{'name': 'mysql', 'env': [{'name': 'A', "
        "'value': '1'}, {'name': 'B', 'value': '2'}]}, {'name': 'x', 'image': 'x'}]}}}");
    if (!json_equal(config.document, wanted))
        fail_msg("%s", json_text(config.document));
    assert_string_equal(config.image_mysql, "m:2");
    assert_int_equal(config.flavour, AGENT_FLAVOUR_MYSQL);
    assert_int_equal(config.run_as_user, 1001);
    assert_int_equal(config.run_as_group, 1001);
    assert_int_equal(config.memory_limit_bytes, INT64_C(2) << 30);
    /* The inputs are as they were. */
    assert_int_equal(json_path_int(named, "mycnf.z", 0), 3);
    assert_int_equal(json_array_size(json_path(named, "podTemplate.spec.containers")), 1);
    mysql_config_spec_release(&config);
    mysql_cluster_release(&cluster);
    json_decref(wanted);
    json_decref(named);
    json_decref(spec);
}

/* A new cluster gets a claim; one that exists keeps what it has, whatever it is. */
static void storage_left_out(void **state)
{
    UNUSED(state);
    static const struct {
        const char *spec, *in_force, *size, *source;
    } rows[] = {
        {"{}", NULL, "1Gi", NULL},
        {"{}", "{'resources': {'requests': {'storage': '7Gi'}}}", "7Gi", NULL},
        {"{}", "{'volumeSource': {'emptyDir': {}}}", NULL, "emptyDir"},
        {"{'storage': {'resources': {'requests': {'storage': '3Gi'}}}}", "{'volumeSource': {'emptyDir': {}}}", "3Gi",
            NULL},
        {"{'storage': {}}", NULL, NULL, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        json_t *spec = parse(rows[i].spec);
        json_t *in_force = rows[i].in_force ? parse(rows[i].in_force) : NULL;
        mysql_cluster_fill_storage(spec, in_force);
        const char *size = json_path_str(spec, "storage.resources.requests.storage", NULL);
        assert_true(str_eq(size, rows[i].size) || (!size && !rows[i].size));
        assert_int_equal(json_path(spec, "storage.volumeSource.emptyDir") != NULL, rows[i].source != NULL);
        json_decref(in_force);
        json_decref(spec);
    }
}

/* Keys of my.cnf that are written out win; without the field there are none. */
static void the_slow_log_is_of_mycnf(void **state)
{
    static const struct {
        const char *spec, *mycnf;
    } rows[] = {
        {"", "{}"},
        {", 'logs': {}", "{}"},
        {", 'logs': {'slow': {'enabled': false}}", "{}"},
        {", 'logs': {'slow': {}}",
            "{'log_queries_not_using_indexes': 'OFF', 'long_query_time': '1.000', 'slow_query_log': 'ON',"
            " 'slow_query_log_file': '/run/mysqld/slow.log'}"},
        {", 'logs': {'slow': {'longQueryMilliseconds': 62005, 'notUsingIndexes': true}},"
         " 'mycnf': {'slow-query-log': 'OFF', 'max_connections': 7}",
            "{'log_queries_not_using_indexes': 'ON', 'long_query_time': '62.005', 'max_connections': 7,"
            " 'slow_query_log': 'OFF', 'slow_query_log_file': '/run/mysqld/slow.log'}"},
    };
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(freep) char *text = xasprintf("{'config': {'spec': {'images': {'mysql': 'mysql:8.4'}}},"
                                                " 'storage': {'volumeSource': {'emptyDir': {}}}%s}",
            rows[i].spec);
        _cleanup_(json_decrefp) json_t *spec = parse(text);
        _cleanup_(json_decrefp) json_t *wanted = parse(rows[i].mycnf);
        struct mysql_cluster cluster;
        struct mysql_config_spec config;
        struct api_problems problems = {0};
        assert_int_equal(mysql_cluster_parse("ns", "c", spec, &cluster, &problems), 0);
        assert_int_equal(mysql_cluster_resolve(&cluster, NULL, &config, &problems), 0);
        const json_t *mycnf = json_object_get(config.document, "mycnf");
        if (json_object_size(wanted) == 0 ? json_object_size(mycnf) != 0 : !json_equal(mycnf, wanted))
            fail_msg("row %zu", i);
        mysql_config_spec_release(&config);
        mysql_cluster_release(&cluster);
    }
}

static void resolve_says_where(void **state)
{
    UNUSED(state);
    static const struct {
        const char *named, *problems;
    } rows[] = {
        {"{'images': {'mysql': 'm'}}", ""},
        {"{}", "spec.config.spec.images.mysql: is required, because MysqlConfig c has no images.mysql"},
        {"{'images': {'mysql': 'm'}, 'mycnf': {'port': 1}}",
            "MysqlConfig c: spec.mycnf.port: is managed by kube-mysql: Services, probes and agents rely on it"},
        {"{'images': {'mysql': 'm'}, 'mycnf': {'PORT': 1}}",
            "MysqlConfig c: spec.mycnf: \"PORT\" is no option name: lower case letters, digits, '_', '-' and '.', a letter "
            "first"},
        {"{'flavour': 'x'}", "MysqlConfig c: spec.flavour: must be one of mysql, mariadb, percona, not \"x\""},
    };
    json_t *spec = parse("{" GOOD "}");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct api_problems problems = {0};
        struct mysql_cluster cluster;
        struct mysql_config_spec config = {0};
        json_t *named = parse(rows[i].named);
        assert_int_equal(mysql_cluster_parse("ns", "a", spec, &cluster, &problems), 0);
        assert_int_equal(mysql_cluster_resolve(&cluster, named, &config, &problems), *rows[i].problems ? -1 : 0);
        assert_problems(&problems, rows[i].problems, rows[i].named);
        mysql_config_spec_release(&config);
        mysql_cluster_release(&cluster);
        json_decref(named);
    }
    json_decref(spec);
}

static void storage_changes(void **state)
{
    UNUSED(state);
    static const struct {
        const char *before, *after, *problems;
    } rows[] = {
        {"{'resources': {'requests': {'storage': '1Gi'}}}", "{'resources': {'requests': {'storage': '1024Mi'}}}", ""},
        {"{'resources': {'requests': {'storage': '1Gi'}}}", "{'resources': {'requests': {'storage': '2Gi'}}}", ""},
        {"{'resources': {'requests': {'storage': '1Gi'}}}", "{'volumeSource': {'emptyDir': {}}}",
            "spec.storage: cannot change between volumeSource and claims: the data would stay behind"},
        {"{'resources': {'requests': {'storage': '1Gi'}}}",
            "{'storageClassName': 'x', 'resources': {'requests': {'storage': '1Gi'}}}",
            "spec.storage.storageClassName: cannot change after creation (it was not set)"},
        {"{'volumeSource': {'emptyDir': {}}}", "{'volumeSource': {'hostPath': {'path': '/x'}}}", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct api_problems problems = {0};
        struct mysql_cluster cluster;
        json_t *before = parse(rows[i].before), *spec = parse("{'config': {'name': 'c'}}");
        json_object_set_new(spec, "storage", parse(rows[i].after));
        assert_int_equal(mysql_cluster_parse("ns", "a", spec, &cluster, &problems), 0);
        assert_int_equal(mysql_cluster_check_change(&cluster, before, &problems), *rows[i].problems ? -1 : 0);
        assert_problems(&problems, rows[i].problems, rows[i].after);
        mysql_cluster_release(&cluster);
        json_decref(before);
        json_decref(spec);
    }
}

/* What counts is what claims have, and only where the size in force is given up. */
static void storage_sizes(void **state)
{
    UNUSED(state);
    static const struct {
        const char *before, *after, *claim;
        int64_t claim_bytes;
        const char *problems;
    } rows[] = {
        {"'2Gi'", "'1Gi'", "c", 2 * GIB,
            "spec.storage.resources.requests.storage: cannot shrink to 1Gi: claim c asks for 2Gi, and volumes only grow"},
        {"'2Gi'", "'1Gi'", "c", 1500000000,
            "spec.storage.resources.requests.storage: cannot shrink to 1Gi: claim c asks for 1500M, and volumes only grow"},
        {"'2Gi'", "'1Gi'", "c", GIB, ""},
        {"'2Gi'", "'1Gi'", NULL, 0, ""},
        {"'2Gi'", "'1536Mi'", "c", GIB, ""},
        {"'2Gi'", "2147483648", "c", 8 * GIB, ""}, /* one that was made with more, by whomever */
        {"'2Gi'", "'3Gi'", "c", 8 * GIB, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct api_problems problems = {0};
        struct mysql_cluster cluster;
        _cleanup_(freep) char *before = xasprintf("{'resources': {'requests': {'storage': %s}}}", rows[i].before);
        _cleanup_(freep) char *after = xasprintf("{'resources': {'requests': {'storage': %s}}}", rows[i].after);
        json_t *old = parse(before), *spec = parse("{'config': {'name': 'c'}}");
        json_object_set_new(spec, "storage", parse(after));
        assert_int_equal(mysql_cluster_parse("ns", "a", spec, &cluster, &problems), 0);
        assert_int_equal(mysql_cluster_check_change(&cluster, old, &problems), 0);
        assert_int_equal(mysql_cluster_check_size(&cluster, old, rows[i].claim, rows[i].claim_bytes, &problems),
            *rows[i].problems ? -1 : 0);
        assert_problems(&problems, rows[i].problems, after);
        mysql_cluster_release(&cluster);
        json_decref(old);
        json_decref(spec);
    }
}

static void new_storage_sizes(void **state)
{
    UNUSED(state);
#define TOO_SMALL                                                                                                  \
    " is too small, a server needs at least 64Mi to start: a size without a unit is bytes, and m a thousandth of " \
    "one; meant may be 10Gi or 400Mi"
    static const struct {
        const char *storage, *problems;
    } rows[] = {
        {"{'resources': {'requests': {'storage': '400m'}}}", CLUSTER_STORAGE_SIZE_FIELD ": \"400m\"" TOO_SMALL},
        {"{'resources': {'requests': {'storage': 1}}}", CLUSTER_STORAGE_SIZE_FIELD ": 1" TOO_SMALL},
        {"{'resources': {'requests': {'storage': '10'}}}", CLUSTER_STORAGE_SIZE_FIELD ": \"10\"" TOO_SMALL},
        {"{'resources': {'requests': {'storage': '10Ki'}}}", CLUSTER_STORAGE_SIZE_FIELD ": \"10Ki\"" TOO_SMALL},
        {"{'resources': {'requests': {'storage': '64M'}}}", CLUSTER_STORAGE_SIZE_FIELD ": \"64M\"" TOO_SMALL},
        {"{'resources': {'requests': {'storage': '64Mi'}}}", ""},
        {"{'resources': {'requests': {'storage': 1073741824}}}", ""},
        {"{'volumeSource': {'emptyDir': {}}}", ""},
    };
#undef TOO_SMALL
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct api_problems problems = {0};
        struct mysql_cluster cluster;
        json_t *spec = parse("{'config': {'name': 'c'}}");
        json_object_set_new(spec, "storage", parse(rows[i].storage));
        assert_int_equal(mysql_cluster_parse("ns", "a", spec, &cluster, &problems), 0);
        assert_int_equal(mysql_cluster_check_new_size(&cluster, &problems), *rows[i].problems ? -1 : 0);
        assert_problems(&problems, rows[i].problems, rows[i].storage);
        mysql_cluster_release(&cluster);
        json_decref(spec);
    }
}

static void terminal_parses(void **state)
{
    UNUSED(state);
    static const struct {
        const char *spec, *cluster_namespace, *problems;
    } rows[] = {
        {"{'cluster': {'name': 'c'}}", "ns", ""},
        {"{'cluster': {'name': 'c', 'namespace': 'other'}}", "other", ""},
        {"{}", "ns", "spec.cluster: is required"},
        {"{'cluster': {'namespace': 'other'}}", "other", "spec.cluster.name: is required"},
        {"{'cluster': {'name': 'c', 'namespace': 'a.b'}}", "a.b",
            "spec.cluster.namespace: must be the name of a namespace"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct api_problems problems = {0};
        struct mysql_terminal terminal;
        json_t *spec = parse(rows[i].spec);
        assert_int_equal(mysql_terminal_parse("ns", "a", spec, &terminal, &problems), *rows[i].problems ? -1 : 0);
        assert_problems(&problems, rows[i].problems, rows[i].spec);
        assert_string_equal(terminal.cluster_namespace, rows[i].cluster_namespace);
        mysql_terminal_release(&terminal);
        json_decref(spec);
    }
}

static void pod_templates_merge(void **state)
{
    UNUSED(state);
    static const struct {
        const char *base, *over, *wanted;
    } rows[] = {
        {"{'a': 1, 'b': {'c': 1}}", "{'a': null, 'b': {'d': 2}}", "{'b': {'c': 1, 'd': 2}}"},
        {"{'l': [1, 2]}", "{'l': [3]}", "{'l': [3]}"},
        {"{'l': [{'name': 'a', 'x': 1}]}", "{'l': [{'name': 'b'}, {'name': 'a', 'y': 2}]}",
            "{'l': [{'name': 'a', 'x': 1, 'y': 2}, {'name': 'b'}]}"},
        {"{'l': [{'name': 'v', 'mountPath': '/a'}]}", "{'l': [{'name': 'v', 'mountPath': '/b'}]}",
            "{'l': [{'name': 'v', 'mountPath': '/a'}, {'name': 'v', 'mountPath': '/b'}]}"},
        {"{'l': [{'name': 'a'}]}", "{'l': [{'key': 'k'}]}", "{'l': [{'key': 'k'}]}"},
        {"{'a': {'x': 1}}", "{'a': 5}", "{'a': 5}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        json_t *base = parse(rows[i].base), *over = parse(rows[i].over), *wanted = parse(rows[i].wanted);
        pod_template_merge(base, over);
        if (!json_equal(base, wanted))
            fail_msg("row %zu gives %s", i, json_text(base));
        json_decref(base);
        json_decref(over);
        json_decref(wanted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cluster_refusals),
        cmocka_unit_test(cluster_defaults),
        cmocka_unit_test(cluster_replication),
        cmocka_unit_test(cluster_failover),
        cmocka_unit_test(resolve_merges_key_by_key),
        cmocka_unit_test(the_slow_log_is_of_mycnf),
        cmocka_unit_test(resolve_says_where),
        cmocka_unit_test(storage_changes),
        cmocka_unit_test(storage_sizes),
        cmocka_unit_test(new_storage_sizes),
        cmocka_unit_test(storage_left_out),
        cmocka_unit_test(terminal_parses),
        cmocka_unit_test(pod_templates_merge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
