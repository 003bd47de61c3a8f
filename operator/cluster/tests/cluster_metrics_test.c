/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of clusters: what is known has a sample, what is not has none. */
#include "common/base.h"

#include "operator/cluster/reconcile/cluster_metrics.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/tests/promtool_util.h"

struct rig {
    struct metrics *metrics;
    struct cluster_memories memories;
    struct strbuf text;
};

static int set_up(void **state)
{
    static struct rig rig;
    rig.metrics = metrics_new();
    cluster_memories_init(&rig.memories);
    strbuf_init(&rig.text, KM_MIB);
    cluster_metrics_register(rig.metrics, &rig.memories);
    *state = &rig;
    return 0;
}

static int tear_down(void **state)
{
    struct rig *rig = *state;
    metrics_free(rig->metrics);
    cluster_memories_release(&rig->memories);
    strbuf_release(&rig->text);
    return 0;
}

static const char *render(struct rig *rig, const struct cluster_snapshot *snapshot, const struct cluster_status *status)
{
    cluster_figures_set(&cluster_memories_get(&rig->memories, "ns1/shop", "u")->figures, snapshot, status);
    strbuf_reset(&rig->text);
    metrics_render(rig->metrics, &rig->text);
    return rig->text.buf;
}

#define SHOP "{namespace=\"ns1\",name=\"shop\""

static void has(const char *text, const char *line)
{
    if (!strstr(text, line))
        fail_msg("no %s in\n%s", line, text);
}

static void has_no(const char *text, const char *name)
{
    if (strstr(text, name))
        fail_msg("%s in\n%s", name, text);
}

static void what_is_unknown_has_no_sample(void **state)
{
    static const struct cluster_snapshot snapshot = {.member_count = 2};
    static const struct cluster_status status = {.roles.epoch = 0};
    const char *text = render(*state, &snapshot, &status);
    has(text, "kubemysql_cluster_epoch" SHOP "} 0\n");
    has(text, "# HELP kubemysql_cluster_epoch Grows with every change of the primary, and of what commits wait for");
    has_no(text, "kubemysql_cluster_state{");
    has_no(text, "kubemysql_cluster_primary{");
    has_no(text, "kubemysql_cluster_switchover_writes_blocked_seconds{");
    has_no(text, "kubemysql_cluster_replica_lag_seconds{");
    has_no(text, "kubemysql_cluster_seed_bytes{");
}

static void a_replicated_cluster(void **state)
{
    static const struct agent_status primary = {.phase = AGENT_PHASE_RUNNING, .role = AGENT_ROLE_PRIMARY};
    static const struct agent_status replica = {
        .phase = AGENT_PHASE_RUNNING, .role = AGENT_ROLE_REPLICA, .replication = {.lag_known = true, .lag_ms = 1250}};
    static const struct agent_status seeding = {
        .phase = AGENT_PHASE_SEEDING, .seed = {.step = AGENT_SEED_STEP_COPYING, .bytes = 300, .total_bytes = 1000}};
    static const struct agent_status silent = {
        .role = AGENT_ROLE_REPLICA, .replication = {.lag_known = true, .lag_ms = 77000}};
    static const struct cluster_snapshot snapshot = {.member_count = 4,
        .members = {{.agent = &primary, .agent_connected = true}, {.agent = &replica, .agent_connected = true},
            {.agent = &seeding, .agent_connected = true}, {.agent = &silent}}};
    static const struct cluster_status status = {.roles.epoch = 7,
        .state = CLUSTER_STATE_CLONING,
        .roles.current_primary = "shop-mysql-0",
        .roles.last_switchover = {.from = "shop-mysql-1", .to = "shop-mysql-0", .writes_blocked_ms = 57}};
    const char *text = render(*state, &snapshot, &status);
    has(text, "kubemysql_cluster_epoch" SHOP "} 7\n");
    has(text, "kubemysql_cluster_state" SHOP ",state=\"Cloning\"} 1\n");
    has(text, "kubemysql_cluster_primary" SHOP ",pod=\"shop-mysql-0\"} 1\n");
    has(text, "kubemysql_cluster_switchover_writes_blocked_seconds" SHOP "} 0.057");
    has(text, "kubemysql_cluster_replica_lag_seconds" SHOP ",pod=\"shop-mysql-1\"} 1.25\n");
    has_no(text, "kubemysql_cluster_replica_lag_seconds" SHOP ",pod=\"shop-mysql-0\"");
    has_no(text, "kubemysql_cluster_replica_lag_seconds" SHOP ",pod=\"shop-mysql-3\""); /* it does not speak */
    has(text, "kubemysql_cluster_seed_bytes" SHOP ",pod=\"shop-mysql-2\"} 300\n");
    has(text, "kubemysql_cluster_seed_total_bytes" SHOP ",pod=\"shop-mysql-2\"} 1000\n");
    has_no(text, "kubemysql_cluster_seed_bytes" SHOP ",pod=\"shop-mysql-1\"");
}

static const struct cluster_snapshot nobody = {.member_count = 0};

static struct cluster_status failed_over(enum transition_reason reason, int64_t finished_ms, int64_t writes_blocked_ms)
{
    struct cluster_status status = {
        .roles.last_failover = {
            .to = "shop-mysql-1", .reason = reason, .finished_ms = finished_ms, .writes_blocked_ms = writes_blocked_ms}};
    return status;
}

#define OUTAGE "kubemysql_cluster_failover_write_outage_seconds"

static void failovers_are_counted_once(void **state)
{
    static const struct cluster_status none;
    struct cluster_status status = failed_over(TRANSITION_SERVER_DOWN, 5000, 312);
    render(*state, &nobody, &none);
    render(*state, &nobody, &status);
    const char *text = render(*state, &nobody, &status);
    has(text, "# TYPE " OUTAGE " histogram\n");
    has(text, "kubemysql_cluster_failovers_total" SHOP ",reason=\"ServerDown\"} 1\n");
    has(text, "kubemysql_cluster_last_failover_timestamp_seconds" SHOP "} 5\n");
    has(text, OUTAGE "_bucket" SHOP ",le=\"0.01\"} 0\n");
    has(text, OUTAGE "_bucket" SHOP ",le=\"0.25\"} 0\n");
    has(text, OUTAGE "_bucket" SHOP ",le=\"0.5\"} 1\n");
    has(text, OUTAGE "_bucket" SHOP ",le=\"+Inf\"} 1\n");
    has(text, OUTAGE "_sum" SHOP "} 0.312");
    has(text, OUTAGE "_count" SHOP "} 1\n");
    has(text, "kubemysql_cluster_switchover_write_outage_seconds_count" SHOP "} 0\n");
    status = failed_over(TRANSITION_SERVER_DOWN, 6000, 10);
    render(*state, &nobody, &status);
    status = failed_over(TRANSITION_MEMBER_LOST, 7000, 60001);
    text = render(*state, &nobody, &status);
    has(text, "kubemysql_cluster_failovers_total" SHOP ",reason=\"ServerDown\"} 2\n");
    has(text, "kubemysql_cluster_failovers_total" SHOP ",reason=\"MemberLost\"} 1\n");
    has(text, OUTAGE "_bucket" SHOP ",le=\"0.01\"} 1\n");
    has(text, OUTAGE "_bucket" SHOP ",le=\"60\"} 2\n");
    has(text, OUTAGE "_bucket" SHOP ",le=\"+Inf\"} 3\n");
}

/* Names, types, units and help texts. */
static void they_are_as_prometheus_wants_them(void **state)
{
    static const struct cluster_status none;
    struct cluster_status status = failed_over(TRANSITION_SERVER_DOWN, 5000, 312);
    status.state = CLUSTER_STATE_HEALTHY;
    status.roles.last_switchover = (struct cluster_switchover){.to = "shop-mysql-0", .writes_blocked_ms = 57};
    render(*state, &nobody, &none);
    promtool_check_metrics(render(*state, &nobody, &status));
}

/* It was counted by the operator that led then. */
static void what_was_before_us_is_not_counted(void **state)
{
    struct cluster_status status = failed_over(TRANSITION_SERVER_DOWN, 5000, 312);
    status.roles.last_switchover = (struct cluster_switchover){.to = "shop-mysql-1", .finished_ms = 4000};
    render(*state, &nobody, &status);
    const char *text = render(*state, &nobody, &status);
    has(text, "kubemysql_cluster_last_failover_timestamp_seconds" SHOP "} 5\n");
    has(text, "kubemysql_cluster_failovers_total" SHOP ",reason=\"ServerDown\"} 0\n");
    has_no(text, "_write_outage_seconds_bucket");
    status.roles.last_switchover.finished_ms = 8000;
    status.roles.last_switchover.writes_blocked_ms = 97;
    text = render(*state, &nobody, &status);
    has(text, "kubemysql_cluster_switchover_write_outage_seconds_bucket" SHOP ",le=\"0.05\"} 0\n");
    has(text, "kubemysql_cluster_switchover_write_outage_seconds_bucket" SHOP ",le=\"0.1\"} 1\n");
    has(text, "kubemysql_cluster_failovers_total" SHOP ",reason=\"ServerDown\"} 0\n");
    has(text, OUTAGE "_count" SHOP "} 0\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_unknown_has_no_sample, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_replicated_cluster, set_up, tear_down),
        cmocka_unit_test_setup_teardown(failovers_are_counted_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(they_are_as_prometheus_wants_them, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_before_us_is_not_counted, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
