/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/options.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"

#define ARGS_MAX 10

static int parse(const char *const *args, struct operator_options *ret, struct error *err)
{
    char *argv[ARGS_MAX + 2] = {(char[]){"kube-mysql-operator"}};
    int argc = 1;
    for (; args[argc - 1]; argc++)
        argv[argc] = (char *)(uintptr_t)args[argc - 1];
    return operator_options_parse(argc, argv, ret, err);
}

static void test_defaults(void **state)
{
    UNUSED(state);
    struct operator_options options;
    unsetenv("POD_NAME");
    unsetenv("POD_NAMESPACE");
    assert_int_equal(parse((const char *const[]){NULL}, &options, NULL), 0);
    assert_null(options.kubeconfig);
    assert_null(options.context);
    assert_null(options.leader_namespace);
    assert_true(cluster_domain_is_valid(options.cluster_domain));
    assert_true(options.leader_elect);
    assert_int_equal(options.lease_duration_ms, 6000);
    assert_int_equal(options.renew_deadline_ms, 4000);
    assert_int_equal(options.retry_period_ms, 1000);
    assert_int_equal(options.metrics_port, 8080);
    assert_int_equal(options.log_level, LOG_INFO);
    assert_int_equal(options.watch_namespaces.n, 0);
    assert_true(options.qps == 0 && options.burst == 0);
    operator_options_release(&options);
}

static void test_every_flag_both_ways(void **state)
{
    UNUSED(state);
    struct operator_options options;
    assert_int_equal(parse((const char *const[]){"--kubeconfig=/k", "--context", "c", "--leader-elect=false",
                               "--leader-namespace=ns", "--lease-duration", "3s", NULL},
                         &options, NULL),
        -1); /* shorter than the renew deadline */
    assert_int_equal(
        parse((const char *const[]){"--kubeconfig=/k", "--context", "c", "--leader-elect=false",
                  "--leader-namespace=ns", "--watch-namespaces=a,b, c", "--cluster-domain=k8s.example.org", NULL},
            &options, NULL),
        0);
    assert_string_equal(options.kubeconfig, "/k");
    assert_string_equal(options.context, "c");
    assert_string_equal(options.cluster_domain, "k8s.example.org");
    assert_false(options.leader_elect);
    assert_string_equal(options.leader_namespace, "ns");
    assert_int_equal(options.watch_namespaces.n, 3);
    assert_true(strvec_contains(&options.watch_namespaces, "c"));
    operator_options_release(&options);
    assert_int_equal(parse((const char *const[]){"--lease-duration=1m", "--renew-deadline=20", "--retry-period=500ms",
                               "--metrics-port", "0", "--leader-elect", "--bind-address=::1", NULL},
                         &options, NULL),
        0);
    assert_int_equal(options.lease_duration_ms, 60000);
    assert_int_equal(options.renew_deadline_ms, 20000);
    assert_int_equal(options.retry_period_ms, 500);
    assert_int_equal(options.metrics_port, 0);
    assert_true(options.leader_elect);
    assert_string_equal(options.bind_address, "::1");
    operator_options_release(&options);
    assert_int_equal(parse((const char *const[]){"--qps=50", "--burst", "100.5", "--log-level=debug",
                               "--log-format=text", "--help", "--version", NULL},
                         &options, NULL),
        0);
    assert_true(options.qps == 50 && options.burst == 100.5);
    assert_int_equal(options.log_level, LOG_DEBUG);
    assert_int_equal(options.log_format, LOG_FORMAT_TEXT);
    assert_true(options.show_help && options.show_version);
    assert_false(options.app || options.config_map_sync || options.sync_without_consent);
    operator_options_release(&options);
    assert_int_equal(parse((const char *const[]){"--enable", "configmapsync", "--configmapsync-without-consent", NULL},
                         &options, NULL),
        0);
    assert_false(options.app);
    assert_true(options.config_map_sync && options.sync_without_consent);
    operator_options_release(&options);
    assert_int_equal(parse((const char *const[]){"--enable=app,configmapsync", NULL}, &options, NULL), 0);
    assert_true(options.app && options.config_map_sync && !options.sync_without_consent);
    operator_options_release(&options);
    assert_int_equal(parse((const char *const[]){"--enable=configmapsync", "--enable=app", NULL}, &options, NULL), 0);
    assert_true(options.app && options.config_map_sync);
    operator_options_release(&options);
}

static void test_refusals_name_the_flag(void **state)
{
    UNUSED(state);
    static const struct {
        const char *args[3], *want;
    } table[] = {
        {{"--lease-duration=soon"}, "--lease-duration: \"soon\""},
        {{"--retry-period=0"}, "--retry-period: \"0\""},
        {{"--retry-period=-5s"}, "--retry-period: \"-5s\""},
        {{"--renew-deadline=15s"}, "--renew-deadline must be shorter"},
        {{"--retry-period=6s"}, "--retry-period must be at most half"},
        {{"--metrics-port=65536"}, "--metrics-port: \"65536\""},
        {{"--metrics-port=http"}, "--metrics-port: \"http\""},
        {{"--qps=-1"}, "--qps: \"-1\""},
        {{"--qps=nan"}, "--qps: \"nan\""},
        {{"--leader-elect=no"}, "--leader-elect: \"no\""},
        {{"--enable=configmapsync,other"}, "--enable: \"other\""},
        {{"--configmapsync-without-consent=no"}, "--configmapsync-without-consent: \"no\""},
        {{"--cluster-domain=.local"}, "--cluster-domain: \".local\""},
        {{"--log-level=loud"}, "--log-level: \"loud\""},
        {{"--log-format=xml"}, "--log-format: \"xml\""},
        {{"--context"}, "--context needs a value"},
        {{"--context="}, "--context needs a value"},
        {{"--contex=c"}, "unknown flag \"--contex=c\""},
        {{"--"}, "unknown flag"},
        {{"run"}, "unexpected argument \"run\""},
        {{"-h"}, "unexpected argument \"-h\""},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct operator_options options;
        struct error err = ERROR_INIT;
        assert_int_equal(parse(table[i].args, &options, &err), -1);
        assert_int_equal(err.kind, ERROR_INVALID);
        if (!strstr(err.message, table[i].want))
            fail_msg("row %zu: %s", i, err.message);
    }
}

static void test_environment(void **state)
{
    UNUSED(state);
    struct operator_options a, b;
    setenv("POD_NAME", "operator-7", 1);
    setenv("POD_NAMESPACE", "kube-mysql", 1);
    assert_int_equal(parse((const char *const[]){NULL}, &a, NULL), 0);
    assert_int_equal(parse((const char *const[]){"--leader-namespace=other", NULL}, &b, NULL), 0);
    assert_true(str_starts_with(a.identity, "operator-7_"));
    assert_string_not_equal(a.identity, b.identity); /* unique, even for one pod name */
    assert_string_equal(a.leader_namespace, "kube-mysql");
    assert_string_equal(b.leader_namespace, "other");
    operator_options_release(&a);
    operator_options_release(&b);
}

static void test_help_names_every_flag(void **state)
{
    UNUSED(state);
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    operator_options_help(out);
    fclose(out);
    static const char *const flags[] = {"--kubeconfig", "--context", "--leader-elect", "--leader-namespace",
        "--lease-duration", "--renew-deadline", "--retry-period", "--bind-address", "--metrics-port", "--log-level",
        "--log-format", "--qps", "--burst", "--version", "--watch-namespaces", "--help", "--enable", "--cluster-domain",
        "--configmapsync-without-consent",
        /* The defaults that test_defaults has seen. */
        "silent leader (default: 6000ms)", "for so long ends (default: 4000ms)", "a leader renews (default: 1000ms)"};
    for (size_t i = 0; i < ARRAY_LEN(flags); i++)
        assert_non_null(strstr(text, flags[i]));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_every_flag_both_ways),
        cmocka_unit_test(test_refusals_name_the_flag),
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_help_names_every_flag),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
