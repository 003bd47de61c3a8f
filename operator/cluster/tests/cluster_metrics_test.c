/* The figures of clusters: what is known has a sample, what is not has none. */
#include "common/base.h"

#include "operator/cluster/cluster_metrics.h"

#include <setjmp.h>
#include <cmocka.h>

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
    static const struct cluster_status status = {.epoch = 0};
    const char *text = render(*state, &snapshot, &status);
    has(text, "kubemysql_cluster_epoch" SHOP "} 0\n");
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
    static const struct cluster_status status = {.epoch = 7,
        .state = "Cloning",
        .current_primary = "shop-mysql-0",
        .last_switchover = {.from = "shop-mysql-1", .to = "shop-mysql-0", .writes_blocked_ms = 57}};
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_unknown_has_no_sample, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_replicated_cluster, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
