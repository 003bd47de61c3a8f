/* SPDX-License-Identifier: Apache-2.0 */
/* kube_config_test.c: kubeconfigs good and bad, and where they come from. */
#include "common/base.h"

#include "operator/kube/kube_config.h"

#include <setjmp.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/fs.h"

#define CONTEXT "current-context: c\ncontexts:\n- name: c\n  context: {cluster: k, user: u, namespace: n}\n"
#define CLUSTER "clusters:\n- name: k\n  cluster:\n    server: https://h:6443/\n"
#define USER "users:\n- name: u\n  user: {token: s3cret}\n"
#define PEM64 "UEVN" /* "PEM" */

static int parse(const char *yaml, struct kube_config *config, struct error *err)
{
    return kube_config_parse(yaml, strlen(yaml), "/base", NULL, config, err);
}

static void test_whole(void **state)
{
    UNUSED(state);
    struct kube_config config;
    struct error err = ERROR_INIT;
    assert_int_equal(parse(CONTEXT CLUSTER "    certificate-authority-data: " PEM64 "\n    tls-server-name: other\n"
                                           "users:\n- name: u\n  user:\n    client-certificate-data: " PEM64
                                           "\n    client-key-data: " PEM64 "\n    tokenFile: t\n    token: x\n",
                         &config, &err),
        0);
    assert_string_equal(config.server, "https://h:6443");
    assert_string_equal(config.ca_pem, "PEM");
    assert_string_equal(config.client_cert_pem, "PEM");
    assert_string_equal(config.client_key_pem, "PEM");
    assert_string_equal(config.token_file, "/base/t");
    assert_null(config.token);
    assert_string_equal(config.default_namespace, "n");
    assert_string_equal(config.tls_server_name, "other");
    assert_false(config.insecure_skip_verify);
    kube_config_release(&config);
}

static void test_json_and_digits(void **state)
{
    UNUSED(state);
    struct kube_config config;
    struct error err = ERROR_INIT;
    assert_int_equal(
        parse("{\"current-context\":\"c\",\"contexts\":[{\"name\":\"c\",\"context\":{\"cluster\":\"k\",\"user\":\"u\"}}],"
              "\"clusters\":[{\"name\":\"k\",\"cluster\":{\"server\":\"http://h\",\"insecure-skip-tls-verify\":true}}],"
              "\"users\":[{\"name\":\"u\",\"user\":{\"token\":12345}}]}",
            &config, &err),
        0);
    assert_string_equal(config.token, "12345");
    assert_string_equal(config.default_namespace, "default");
    assert_true(config.insecure_skip_verify);
    kube_config_release(&config);
}

static void test_bad(void **state)
{
    UNUSED(state);
    static const struct {
        const char *yaml, *message;
    } cases[] = {
        {"", "empty"},
        {"- a\n", "not a kubeconfig: the top level is not an object"},
        {"a: [\n", "line 2: did not find expected node content"},
        {"a: 1\na: 2\n", "line 2: a key stands there twice"},
        {CLUSTER USER, "current-context: missing, and no context was chosen"},
        {"current-context: x\n" CLUSTER "contexts: []\n", "contexts: no entry is named \"x\""},
        {"current-context: c\ncontexts:\n- name: c\n", "contexts[0].context: missing, or not an object"},
        {"current-context: c\ncontexts:\n- name: b\n- name: c\n  context: {cluster: [1]}\n",
            "contexts[1].context.cluster: must be a string"},
        {"current-context: c\ncontexts:\n- name: c\n  context: {user: u}\n", "contexts[0].context.cluster: missing"},
        {CONTEXT USER, "context \"c\": clusters: no entry is named \"k\""},
        {CONTEXT CLUSTER, "context \"c\": users: no entry is named \"u\""},
        {CONTEXT USER "clusters:\n- name: k\n  cluster: {}\n", "context \"c\": clusters[0].cluster.server: missing"},
        {CONTEXT USER "clusters:\n- name: k\n  cluster: {server: h}\n",
            "context \"c\": clusters[0].cluster.server: must begin with https:// or http://"},
        {CONTEXT USER CLUSTER "    certificate-authority: /nonexistent/ca\n",
            "context \"c\": clusters[0].cluster.certificate-authority: open /nonexistent/ca: No such file or directory"},
        {CONTEXT USER CLUSTER "    proxy-url: http://p\n",
            "context \"c\": clusters[0].cluster.proxy-url: proxies are not supported"},
        {CONTEXT CLUSTER "users:\n- name: u\n  user: {exec: {command: aws}}\n",
            "context \"c\": users[0].user.exec: exec plugins are not run; use a token, a tokenFile or a client certificate"},
        {CONTEXT CLUSTER "users:\n- name: u\n  user: {client-key-data: " PEM64 "}\n",
            "context \"c\": users[0].user: client-certificate and client-key belong together, client-certificate is missing"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct kube_config config;
        struct error err = ERROR_INIT;
        assert_int_equal(parse(cases[i].yaml, &config, &err), -1);
        if (!str_eq(err.message, cases[i].message) && !strstr(err.message, cases[i].message))
            fail_msg("case %zu: %s", i, err.message);
    }
}

static void test_malformed_base64_names_the_field_not_the_value(void **state)
{
    UNUSED(state);
    struct kube_config config;
    struct error err = ERROR_INIT;
    assert_int_equal(
        parse(CONTEXT CLUSTER "users:\n- name: u\n  user: {client-key-data: 's3cret!'}\n", &config, &err), -1);
    assert_non_null(strstr(err.message, "users[0].user.client-key-data: "));
    assert_null(strstr(err.message, "s3cret"));
}

static void test_alias_bomb(void **state)
{
    UNUSED(state);
    static const char bomb[] =
        "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
        "d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n";
    struct kube_config config;
    struct error err = ERROR_INIT;
    assert_int_equal(parse(bomb, &config, &err), -1);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
}

/* ---- files and environment ---- */

static char *make_dir(void)
{
    char template[] = "/tmp/km-config-XXXXXX";
    assert_non_null(mkdtemp(template));
    return xstrdup(template);
}

static void write_file(const char *dir, const char *name, const char *text)
{
    _cleanup_(freep) char *path = xasprintf("%s/%s", dir, name);
    struct error err = ERROR_INIT;
    assert_int_equal(fs_write_file_atomic(path, text, strlen(text), 0600, &err), 0);
}

static void test_load(void **state)
{
    UNUSED(state);
    _cleanup_(freep) char *dir = make_dir();
    write_file(dir, "config", CONTEXT CLUSTER "    certificate-authority: ca.pem\n" USER);
    write_file(dir, "ca.pem", "CA");
    struct kube_config config;
    struct error err = ERROR_INIT;
    _cleanup_(freep) char *list = xasprintf("/nonexistent/config:%s/config", dir);
    setenv("KUBECONFIG", list, 1);
    assert_int_equal(kube_config_load(NULL, NULL, &config, &err), 0);
    assert_string_equal(config.ca_pem, "CA");
    kube_config_release(&config);
    assert_int_equal(kube_config_load(NULL, "none", &config, &err), -1);
    assert_non_null(strstr(err.message, "/config: contexts: no entry is named \"none\""));
    setenv("KUBECONFIG", "/nonexistent/config", 1);
    assert_int_equal(kube_config_load(NULL, NULL, &config, &err), -1);
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    unsetenv("KUBECONFIG");
    assert_int_equal(fs_remove_all(dir, &err), 0);
}

static void test_in_cluster(void **state)
{
    UNUSED(state);
    _cleanup_(freep) char *dir = make_dir();
    struct kube_config config;
    struct error err = ERROR_INIT;
    unsetenv("KUBERNETES_SERVICE_HOST");
    assert_int_equal(kube_config_load_in_cluster(dir, &config, &err), -1);
    setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
    setenv("KUBERNETES_SERVICE_PORT", "443", 1);
    assert_int_equal(kube_config_load_in_cluster(dir, &config, &err), -1);
    write_file(dir, "ca.crt", "CA");
    write_file(dir, "token", "t");
    write_file(dir, "namespace", "system\n");
    assert_int_equal(kube_config_load_in_cluster(dir, &config, &err), 0);
    assert_string_equal(config.server, "https://[fd00::1]:443");
    assert_string_equal(config.default_namespace, "system");
    assert_non_null(strstr(config.token_file, "/token"));
    kube_config_release(&config);
    unsetenv("KUBERNETES_SERVICE_HOST");
    assert_int_equal(fs_remove_all(dir, &err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_json_and_digits),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_malformed_base64_names_the_field_not_the_value),
        cmocka_unit_test(test_alias_bomb),
        cmocka_unit_test(test_load),
        cmocka_unit_test(test_in_cluster),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
