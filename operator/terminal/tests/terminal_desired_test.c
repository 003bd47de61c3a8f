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
    struct strbuf text;
    strbuf_init(&text, 4096);
    terminal_my_cnf(&terminal, 3307, "a\"b", &text);
    assert_string_equal(
        text.buf, "[client]\nhost=shop-mysql-primary.shops.svc\nport=3307\nuser=root\npassword=\"a\\\"b\"\n");
    strbuf_release(&text);

    _cleanup_(json_decrefp) json_t *pod = terminal_pod(&view);
    assert_string_equal(variable(pod, "MYSQL_HOST"), "shop-mysql-primary.shops.svc");
    assert_string_equal(variable(pod, "MYSQL_PORT"), "3307");
    view.port = 3306;
    _cleanup_(json_decrefp) json_t *other = terminal_pod(&view);
    assert_string_not_equal(json_path_str(pod, "metadata.labels[\"" LABEL_ROLE "\"]", ""),
        json_path_str(other, "metadata.labels[\"" LABEL_ROLE "\"]", ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_and_port),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
