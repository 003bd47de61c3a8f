/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/mysql/variables.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/strbuf.h"

#define OLD                                                                                                      \
    "# a comment\n[client]\nuser = x\n[mysqld]\nmax_connections = 100\nsort-buffer-size=2M\nskip_name_resolve\n" \
    "plugin_load_add = a.so\nplugin_load_add = b.so\nwait_timeout = 5\n\n[mysqld]\nmax_connections = 50\n"

static void expect_diff(const char *old_text, const char *new_text, const char *wanted)
{
    _cleanup_(variable_changes_release) struct variable_changes changes = {0};
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, 4096);
    assert_int_equal(variables_diff(old_text, new_text, &changes, NULL), 0);
    for (size_t i = 0; i < changes.n; i++) {
        if (!variables_sql(&changes.v[i], &text))
            strbuf_addf(&text, "restart: %s", changes.v[i].name);
        strbuf_addc(&text, '\n');
    }
    assert_string_equal(text.buf, wanted);
}

static void test_what_differs(void **unused)
{
    UNUSED(unused);
    expect_diff(OLD, OLD, "");
    expect_diff(OLD, OLD "sort_buffer_size = 2M\n", "");
    expect_diff(OLD, OLD "max-connections = 60\n", "SET GLOBAL max_connections = 60\n");
    expect_diff(OLD, OLD "sort_buffer_size = 3M\n", "SET GLOBAL sort_buffer_size = 3145728\n");
    expect_diff(
        OLD, OLD "loose_x = on\nlong_query_time = 0.5\n", "SET GLOBAL x = 'on'\nSET GLOBAL long_query_time = 0.5\n");
    expect_diff(OLD, OLD "sql_mode = \"A,\\\"B'\\\\\"\n", "SET GLOBAL sql_mode = 'A,\\\"B\\'\\\\'\n");
    expect_diff(OLD, OLD "[client]\nuser = y\n", "");
    expect_diff(OLD, OLD "plugin_load_add = c.so\n", "restart: plugin_load_add\n");
    expect_diff(OLD "skip_show_database\n", OLD, "SET GLOBAL skip_show_database = DEFAULT\n");
    expect_diff(OLD, OLD "skip_show_database\n", "restart: skip_show_database\n");
    expect_diff("[mysqld]\na = 1\nb = 2\n", "[mysqld]\nb = 2\n", "SET GLOBAL a = DEFAULT\n");
    expect_diff("", "[mysqld]\na.b = 1\nc d = 5\n", "restart: a.b\nrestart: c d\n");
    expect_diff("", "[mysqld]\na = 99999999999999E\nb = -5\n", "SET GLOBAL a = '99999999999999E'\nSET GLOBAL b = -5\n");
}

static void test_too_many(void **unused)
{
    _cleanup_(variable_changes_release) struct variable_changes changes = {0};
    _cleanup_(strbuf_release) struct strbuf text;
    struct error err = ERROR_INIT;

    UNUSED(unused);
    strbuf_init(&text, KM_MIB);
    strbuf_adds(&text, "[mysqld]\n");
    for (int i = 0; i <= VARIABLES_MAX; i++)
        strbuf_addf(&text, "v%d = 1\n", i);
    assert_int_equal(variables_diff("", text.buf, &changes, &err), -1);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_differs),
        cmocka_unit_test(test_too_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
