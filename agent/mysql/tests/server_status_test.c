/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/mysql/server_status.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/strbuf.h"

struct fixture {
    struct metrics *metrics;
    struct server_metrics *server;
    struct server_status status;
    struct strbuf text;
};

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));

    fixture->metrics = metrics_new();
    fixture->server = server_metrics_new(fixture->metrics);
    server_status_clear(&fixture->status);
    strbuf_init(&fixture->text, 1 * KM_MIB);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    metrics_free(fixture->metrics);
    server_metrics_free(fixture->server);
    strbuf_release(&fixture->text);
    free(fixture);
    return 0;
}

static void render(struct fixture *fixture, const struct server_status *status)
{
    server_metrics_set(fixture->server, status);
    strbuf_reset(&fixture->text);
    metrics_render(fixture->metrics, &fixture->text);
}

static void expect_line(const struct fixture *fixture, const char *line)
{
    if (!strstr(fixture->text.buf, line))
        fail_msg("no \"%s\" in:\n%s", line, fixture->text.buf);
}

static void test_names_are_those_of_mysqld_exporter(void **state)
{
    struct fixture *fixture = *state;

    server_status_take(&fixture->status, SOURCE_STATUS, "Threads_running", "7");
    server_status_take(&fixture->status, SOURCE_STATUS, "Com_select", "12");
    server_status_take(&fixture->status, SOURCE_STATUS, "Innodb_rows_read", "13");
    server_status_take(&fixture->status, SOURCE_STATUS, "Handler_write", "15");
    server_status_take(&fixture->status, SOURCE_STATUS, "Innodb_buffer_pool_pages_free", "14");
    server_status_take(&fixture->status, SOURCE_VARIABLE, "max_connections", "151");
    render(fixture, &fixture->status);
    expect_line(fixture, "\nmysql_up 1\n");
    expect_line(fixture, "# TYPE mysql_global_status_threads_running gauge\nmysql_global_status_threads_running 7\n");
    expect_line(fixture, "# TYPE mysql_global_status_commands_total counter\n");
    expect_line(fixture, "\nmysql_global_status_commands_total{command=\"select\"} 12\n");
    expect_line(fixture, "\nmysql_global_status_innodb_row_ops_total{operation=\"read\"} 13\n");
    expect_line(fixture, "\nmysql_global_status_handlers_total{handler=\"write\"} 15\n");
    expect_line(fixture, "\nmysql_global_status_buffer_pool_pages{state=\"free\"} 14\n");
    expect_line(fixture, "\nmysql_global_variables_max_connections 151\n");
}

static bool matches(const char *pattern, const char *name, size_t len)
{
    size_t prefix = strcspn(pattern, "%");

    return len >= prefix && strncmp(pattern, name, prefix) == 0 && (pattern[prefix] == '%' || len == prefix);
}

/* Every name that the one statement asks for. */
static void test_patterns_leave_nothing_out(void **state)
{
    struct fixture *fixture = *state;
    unsigned names = 0;

    server_status_sql(SOURCE_STATUS, &fixture->text);
    for (const char *at = fixture->text.buf; (at = strchr(at, '\'')); names++) {
        const char *name = at + 1;
        size_t len = strcspn(name, "'");
        bool found = false;
        for (const char *const *each = server_status_patterns(); *each; each++)
            found |= matches(*each, name, len);
        if (!found)
            fail_msg("no pattern for %.*s", (int)len, name);
        at = name + len + 1;
    }
    assert_true(names > 50);
}

static void test_both_spellings_of_a_replica(void **state)
{
    struct fixture *fixture = *state;

    server_status_take(&fixture->status, SOURCE_REPLICA, "Seconds_Behind_Source", "3");
    server_status_take(&fixture->status, SOURCE_REPLICA, "Slave_IO_Running", "Yes");
    server_status_take(&fixture->status, SOURCE_REPLICA, "Replica_SQL_Running", "No");
    render(fixture, &fixture->status);
    expect_line(fixture, "\nmysql_slave_status_seconds_behind_master 3\n");
    expect_line(fixture, "\nmysql_slave_status_slave_io_running 1\n");
    expect_line(fixture, "\nmysql_slave_status_slave_sql_running 0\n");
}

/* A former replica that is primary now. */
static void test_who_follows_nobody_has_no_status_of_a_replica(void **state)
{
    struct fixture *fixture = *state;

    server_status_take(&fixture->status, SOURCE_REPLICA, "Slave_IO_Running", "Yes");
    render(fixture, &fixture->status);
    expect_line(fixture, "# HELP mysql_slave_status_slave_io_running Field of SHOW REPLICA STATUS, Slave_IO_Running.\n");
    server_status_clear(&fixture->status);
    render(fixture, &fixture->status);
    assert_null(strstr(fixture->text.buf, "mysql_slave_status_"));
    server_status_take(&fixture->status, SOURCE_REPLICA, "Slave_IO_Running", "No");
    render(fixture, &fixture->status);
    expect_line(fixture, "\nmysql_slave_status_slave_io_running 0\n");
}

static void test_a_silent_server_is_down_and_keeps_its_counters(void **state)
{
    struct fixture *fixture = *state;

    server_status_take(&fixture->status, SOURCE_STATUS, "Queries", "99");
    render(fixture, &fixture->status);
    render(fixture, NULL);
    expect_line(fixture, "\nmysql_up 0\n");
    expect_line(fixture, "\nmysql_global_status_queries 99\n");
}

static void test_what_is_not_reported_is_not_exported(void **state)
{
    struct fixture *fixture = *state;

    server_status_take(&fixture->status, SOURCE_STATUS, "Rpl_semi_sync_master_status", "maybe");
    server_status_take(&fixture->status, SOURCE_STATUS, "Uptime", NULL);
    server_status_take(&fixture->status, SOURCE_STATUS, "No_such_counter", "1");
    render(fixture, &fixture->status);
    assert_null(strstr(fixture->text.buf, "\nmysql_global_status_"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_names_are_those_of_mysqld_exporter, setup, teardown),
        cmocka_unit_test_setup_teardown(test_patterns_leave_nothing_out, setup, teardown),
        cmocka_unit_test_setup_teardown(test_both_spellings_of_a_replica, setup, teardown),
        cmocka_unit_test_setup_teardown(test_who_follows_nobody_has_no_status_of_a_replica, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_silent_server_is_down_and_keeps_its_counters, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_not_reported_is_not_exported, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
