/* SPDX-License-Identifier: Apache-2.0 */
/* The client's configuration and the environment of a terminal. */
#include "common/base.h"

#include "operator/terminal/terminal_desired.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/json.h"

static const char *variable(const json_t *pod, const char *name)
{
    size_t i;
    const json_t *each;
    json_array_foreach(json_path(pod, "spec.containers[0].env"), i, each)
        if (str_eq(json_path_str(each, "name", NULL), name))
            return json_path_str(each, "value", NULL);
    return NULL;
}

static void host_and_port(void **state)
{
    UNUSED(state);
    struct mysql_terminal terminal = {.ns = "desk", .name = "t", .cluster_name = "shop", .cluster_namespace = "shops"};
    struct mysql_config_spec config = {.image_mysql = "mariadb:11.4"};
    struct terminal_view view = {.uid = "u-1", .terminal = &terminal, .config = &config, .port = 3307};
    terminal_names_init(&view.names, "t");
    const struct terminal_tls none = {0}, ca = {.has_ca = true}, verified = {true, "ssl-verify-server-cert"};
    struct strbuf text;
    strbuf_init(&text, 4096);
    terminal_my_cnf(&terminal, 3307, "a\"b\n", &none, &text);
    assert_string_equal(text.buf,
        "[client]\nhost=shop-mysql-primary.shops.svc\nport=3307\nuser=root\npassword=\"a\\\"b\\n\"\n"
        "[mysql]\ndefault-character-set=utf8mb4\n");
    strbuf_reset(&text);
    terminal_my_cnf(&terminal, 3307, "x", &verified, &text);
    assert_string_equal(text.buf,
        "[client]\nhost=shop-mysql-primary.shops.svc\nport=3307\nuser=root\npassword=\"x\"\n"
        "ssl-ca=/etc/kube-mysql/terminal/ca.crt\nssl-verify-server-cert\n[mysql]\ndefault-character-set=utf8mb4\n");
    assert_string_equal(terminal_tls_of(text.buf).verify_option, "ssl-verify-server-cert");
    assert_true(terminal_tls_of(text.buf).has_ca);
    assert_null(terminal_tls_of("[client]\npassword=\"ssl-verify-server-cert\"\n").verify_option);
    assert_false(terminal_tls_of("[client]\n").has_ca);
    strbuf_reset(&text);
    terminal_my_cnf(&terminal, 3307, "x", &ca, &text);
    assert_non_null(strstr(text.buf, "\nssl-ca=/etc/kube-mysql/terminal/ca.crt\n[mysql]\n"));
    strbuf_release(&text);

    _cleanup_(json_decrefp) json_t *pod = terminal_pod(&view);
    assert_string_equal(variable(pod, "MYSQL_HOST"), "shop-mysql-primary.shops.svc");
    assert_string_equal(variable(pod, "MYSQL_PORT"), "3307");
    view.port = 3306;
    _cleanup_(json_decrefp) json_t *other = terminal_pod(&view);
    assert_string_not_equal(json_path_str(pod, "metadata.labels[\"" LABEL_ROLE "\"]", ""),
        json_path_str(other, "metadata.labels[\"" LABEL_ROLE "\"]", ""));
}

static void who_can_verify_is_told_to(void **state)
{
    UNUSED(state);
    static const struct {
        const char *flavour, *version, *option;
        bool has_ca;
    } cases[] = {
        {"mariadb", "10.5.29-MariaDB", "ssl-verify-server-cert", true},
        {"mariadb", "11.8.1-MariaDB", "ssl-verify-server-cert", true},
        {"mysql", "8.4.3", "ssl-mode=VERIFY_IDENTITY", true},
        {"mysql", "9.7.0", "ssl-mode=VERIFY_IDENTITY", true},
        {"percona", "8.0.36-28", "ssl-mode=VERIFY_IDENTITY", true},
        {"mysql", "10.0.1", "ssl-mode=VERIFY_IDENTITY", true},
        {"mysql", "5.6.51", NULL, false},
        {"mysql", "5.7.44", NULL, false},
        {"mysql", "", NULL, true},
        {NULL, NULL, NULL, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct terminal_server server = {cases[i].flavour, cases[i].version};
        struct terminal_tls tls = terminal_tls_for(&server);
        if (!str_eq(tls.verify_option, cases[i].option) || tls.has_ca != cases[i].has_ca)
            fail_msg("%s %s", cases[i].flavour, cases[i].version);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_and_port),
        cmocka_unit_test(who_can_verify_is_told_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
