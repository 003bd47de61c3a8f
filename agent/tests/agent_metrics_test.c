/* SPDX-License-Identifier: Apache-2.0 */
/* What an agent serves as metrics: read by Prometheus' own tool, and the version of the server. */
#include "common/base.h"

#include "agent/agent_metrics.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/strbuf.h"
#include "common/tests/promtool_util.h"

struct fixture {
    struct agent_metrics *metrics;
    struct agent_status status;
    struct strbuf text;
};

static int set_up(void **state)
{
    static struct fixture fixture;
    fixture = (struct fixture){.metrics = agent_metrics_new(),
        .status = {.phase = AGENT_PHASE_RUNNING,
            .flavour = AGENT_FLAVOUR_MARIADB,
            .version = "10.11.6-MariaDB-log",
            .replication = {.lag_known = true, .lag_ms = 1250}}};
    strbuf_init(&fixture.text, KM_MIB);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    agent_metrics_free(fixture->metrics);
    strbuf_release(&fixture->text);
    return 0;
}

static const char *render(struct fixture *fixture)
{
    agent_metrics_status(fixture->metrics, &fixture->status);
    strbuf_reset(&fixture->text);
    metrics_render(agent_metrics_registry(fixture->metrics), &fixture->text);
    return fixture->text.buf;
}

static void all_values_are_as_prometheus_wants_them(void **state)
{
    static struct instance_state server;
    struct fixture *fixture = *state;
    for (size_t i = 0; i < SERVER_STATUS_VALUES_MAX; i++)
        server.observed.status.values[i] = (double)i;
    agent_metrics_probe(fixture->metrics, &server);
    const char *text = render(fixture);
    assert_non_null(strstr(text, "\n# TYPE mysql_global_status_queries untyped\n"));
    assert_non_null(strstr(text, "\nmysql_slave_status_relay_log_space "));
    promtool_check_metrics(text);
}

static void a_server_has_one_version(void **state)
{
    struct fixture *fixture = *state;
    const char *text = render(fixture);
    assert_non_null(strstr(text, "\nmysql_version_info{version=\"10.11.6-MariaDB-log\",flavour=\"mariadb\"} 1\n"));
    fixture->status.version[0] = '\0'; /* it starts again */
    assert_non_null(strstr(render(fixture), "10.11.6"));
    snprintf(fixture->status.version, sizeof(fixture->status.version), "11.4.5-MariaDB");
    text = render(fixture);
    assert_null(strstr(text, "10.11.6"));
    assert_non_null(strstr(text, "\nmysql_version_info{version=\"11.4.5-MariaDB\",flavour=\"mariadb\"} 1\n"));
}

static void for_how_long_no_operator_was_heard(void **state)
{
    struct fixture *fixture = *state;
    agent_metrics_operator(fixture->metrics, 1500);
    assert_non_null(strstr(render(fixture), "\nkubemysql_agent_operator_silent_seconds 1.5\n"));
    agent_metrics_operator(fixture->metrics, 0);
    assert_non_null(strstr(render(fixture), "\nkubemysql_agent_operator_silent_seconds 0\n"));
}

static void what_temporary_files_take(void **state)
{
    struct fixture *fixture = *state;
    struct tmp_report report = {.is_known = true, .bytes = 4096, .bound = 8192, .ended = 3};

    agent_metrics_tmp(fixture->metrics, &report);
    assert_non_null(strstr(render(fixture), "\nkubemysql_agent_tmp_bytes 4096\n"));
    assert_non_null(strstr(render(fixture), "\nkubemysql_agent_tmp_bound_bytes 8192\n"));
    assert_non_null(strstr(render(fixture), "\nkubemysql_agent_tmp_ended_connections_total 3\n"));
    report.is_known = false;
    agent_metrics_tmp(fixture->metrics, &report);
    assert_null(strstr(render(fixture), "\nkubemysql_agent_tmp_bytes "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_values_are_as_prometheus_wants_them, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_server_has_one_version, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_temporary_files_take, set_up, tear_down),
        cmocka_unit_test_setup_teardown(for_how_long_no_operator_was_heard, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
