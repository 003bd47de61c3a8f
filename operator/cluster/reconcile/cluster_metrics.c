/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/reconcile/cluster_metrics.h"

#include "common/alloc.h"

static const struct metric_desc desc_ready = {
    .name = "kubemysql_cluster_ready_members",
    .help = "Members whose pod is ready.",
    .type = METRIC_GAUGE,
    .labels = {"namespace", "name"},
};
static const struct metric_desc desc_wanted = {
    .name = "kubemysql_cluster_wanted_members",
    .help = "Members that the spec in force asks for.",
    .type = METRIC_GAUGE,
    .labels = {"namespace", "name"},
};
static const struct metric_desc desc_condition = {
    .name = "kubemysql_cluster_condition",
    .help = "Conditions of the MysqlCluster: 1 True, 0 False.",
    .type = METRIC_GAUGE,
    .labels = {"namespace", "name", "type"},
};
static const struct metric_desc desc_expiry = {
    .name = "kubemysql_cluster_certificate_expiry_timestamp_seconds",
    .help = "When the first certificate of the cluster ends.",
    .type = METRIC_GAUGE,
    .labels = {"namespace", "name"},
};

static const struct metric_desc desc_epoch = {
    .name = "kubemysql_cluster_epoch",
    .help = "Grows with every change of the primary, and of what commits wait for (as by scaling).",
    .type = METRIC_GAUGE,
    .labels = {"namespace", "name"},
};
static const struct metric_desc desc_state = {
    .name = "kubemysql_cluster_state",
    .help = "1 for the state that the cluster is in.",
    .type = METRIC_GAUGE,
    .labels = {"namespace", "name", "state"},
};
static const struct metric_desc desc_primary = {
    .name = "kubemysql_cluster_primary",
    .help = "1 for the pod that is the primary.",
    .type = METRIC_GAUGE,
    .labels = {"namespace", "name", "pod"},
};
static const struct metric_desc desc_blocked = {
    .name = "kubemysql_cluster_switchover_writes_blocked_seconds",
    .help = "For how long no member took writes in the last planned switchover.",
    .type = METRIC_GAUGE,
    .labels = {"namespace", "name"},
};
static const struct metric_desc desc_failovers = {
    .name = "kubemysql_cluster_failovers_total",
    .help = "Failovers that ended, as this process has seen it.",
    .type = METRIC_COUNTER,
    .labels = {"namespace", "name", "reason"},
};
static const struct metric_desc desc_last_failover = {
    .name = "kubemysql_cluster_last_failover_timestamp_seconds",
    .help = "When the last failover ended.",
    .type = METRIC_GAUGE,
    .labels = {"namespace", "name"},
};

/* A histogram is a head and three kinds of samples with names of their own. */
struct histogram_desc {
    struct metric_desc head, bucket, sum, count;
};
#define HISTOGRAM(text, meaning)                                                   \
    {                                                                              \
        .head = {.name = text, .help = meaning, .type = METRIC_HISTOGRAM},         \
        .bucket = {.name = text "_bucket", .labels = {"namespace", "name", "le"}}, \
        .sum = {.name = text "_sum", .labels = {"namespace", "name"}},             \
        .count = {.name = text "_count", .labels = {"namespace", "name"}},         \
    }
static const struct histogram_desc desc_failover_outage = HISTOGRAM("kubemysql_cluster_failover_write_outage_seconds",
    "For how long no member took writes in failovers, as this process has seen it.");
static const struct histogram_desc desc_switchover_outage =
    HISTOGRAM("kubemysql_cluster_switchover_write_outage_seconds",
        "For how long no member took writes in planned switchovers, as this process has seen it.");
const int cluster_outage_bounds_ms[CLUSTER_OUTAGE_BUCKETS] = {
    10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 30000, 60000};

static const struct metric_desc desc_lag = {
    .name = "kubemysql_cluster_replica_lag_seconds",
    .help = "How far a replica is behind the primary, by the primary's heartbeat.",
    .type = METRIC_GAUGE,
    .labels = {"namespace", "name", "pod"},
};
static const struct metric_desc desc_seed = {
    .name = "kubemysql_cluster_seed_bytes",
    .help = "What a new member has copied of its data so far.",
    .type = METRIC_GAUGE,
    .labels = {"namespace", "name", "pod"},
};
static const struct metric_desc desc_seed_total = {
    .name = "kubemysql_cluster_seed_total_bytes",
    .help = "What a new member will have copied in the end, as its donor estimates.",
    .type = METRIC_GAUGE,
    .labels = {"namespace", "name", "pod"},
};

typedef void (*sample_fn)(struct strbuf *out, const struct metric_desc *desc, const char *ns, const char *name,
    const struct cluster_figures *);

static void write_ready(struct strbuf *out, const struct metric_desc *desc, const char *ns, const char *name,
    const struct cluster_figures *figures)
{
    metrics_write_sample(out, desc, (const char *const[]){ns, name}, figures->ready);
}

static void write_wanted(struct strbuf *out, const struct metric_desc *desc, const char *ns, const char *name,
    const struct cluster_figures *figures)
{
    metrics_write_sample(out, desc, (const char *const[]){ns, name}, figures->wanted);
}

static void write_conditions(struct strbuf *out, const struct metric_desc *desc, const char *ns, const char *name,
    const struct cluster_figures *figures)
{
    for (size_t i = 0; i < KUBE_CONDITIONS_MAX && cluster_condition_types[i]; i++)
        if (figures->conditions[i] != KUBE_CONDITION_UNKNOWN)
            metrics_write_sample(out, desc, (const char *const[]){ns, name, cluster_condition_types[i]},
                figures->conditions[i] == KUBE_CONDITION_TRUE);
}

static void write_expiry(struct strbuf *out, const struct metric_desc *desc, const char *ns, const char *name,
    const struct cluster_figures *figures)
{
    if (figures->certificate_not_after_ms > 0)
        metrics_write_sample(
            out, desc, (const char *const[]){ns, name}, (double)figures->certificate_not_after_ms / 1e3);
}

static void write_epoch(struct strbuf *out, const struct metric_desc *desc, const char *ns, const char *name,
    const struct cluster_figures *figures)
{
    metrics_write_sample(out, desc, (const char *const[]){ns, name}, (double)figures->epoch);
}

static void write_state(struct strbuf *out, const struct metric_desc *desc, const char *ns, const char *name,
    const struct cluster_figures *figures)
{
    if (figures->state != CLUSTER_STATE_UNKNOWN)
        metrics_write_sample(out, desc, (const char *const[]){ns, name, cluster_state_names[figures->state]}, 1);
}

static void write_primary(struct strbuf *out, const struct metric_desc *desc, const char *ns, const char *name,
    const struct cluster_figures *figures)
{
    if (*figures->primary)
        metrics_write_sample(out, desc, (const char *const[]){ns, name, figures->primary}, 1);
}

static void write_blocked(struct strbuf *out, const struct metric_desc *desc, const char *ns, const char *name,
    const struct cluster_figures *figures)
{
    if (figures->writes_blocked_ms >= 0)
        metrics_write_sample(out, desc, (const char *const[]){ns, name}, (double)figures->writes_blocked_ms / 1e3);
}

static void write_last_failover(struct strbuf *out, const struct metric_desc *desc, const char *ns, const char *name,
    const struct cluster_figures *figures)
{
    if (figures->failover_ended_ms > 0)
        metrics_write_sample(out, desc, (const char *const[]){ns, name}, (double)figures->failover_ended_ms / 1e3);
}

static void write_failovers(struct strbuf *out, const struct metric_desc *desc, const char *ns, const char *name,
    const struct cluster_figures *figures)
{
    for (int i = 0; i < TRANSITION_REASON_COUNT; i++) {
        const char *reason = transition_reason_name((enum transition_reason)i);
        double count = figures->changes ? figures->changes->failovers[i] : 0;
        if (count > 0 || transition_reason_is_failure((enum transition_reason)i)) /* 0 too: increase() sees the first */
            metrics_write_sample(out, desc, (const char *const[]){ns, name, reason}, count);
    }
}

static void write_outages(struct strbuf *out, const struct histogram_desc *desc, const char *ns, const char *name,
    const struct cluster_outages *outages)
{
    uint64_t below = 0;
    for (int i = 0; i <= CLUSTER_OUTAGE_BUCKETS; i++) {
        char bound[32] = "+Inf";
        if (i < CLUSTER_OUTAGE_BUCKETS)
            snprintf(bound, sizeof(bound), "%g", cluster_outage_bounds_ms[i] / 1e3);
        below += outages->buckets[i];
        metrics_write_sample(out, &desc->bucket, (const char *const[]){ns, name, bound}, (double)below);
    }
    metrics_write_sample(out, &desc->sum, (const char *const[]){ns, name}, (double)outages->sum_ms / 1e3);
    metrics_write_sample(out, &desc->count, (const char *const[]){ns, name}, (double)below);
}

static void write_failover_outages(struct strbuf *out, const struct metric_desc *desc, const char *ns, const char *name,
    const struct cluster_figures *figures)
{
    UNUSED(desc);
    if (figures->changes)
        write_outages(out, &desc_failover_outage, ns, name, &figures->changes->failover_outages);
}

static void write_switchover_outages(struct strbuf *out, const struct metric_desc *desc, const char *ns,
    const char *name, const struct cluster_figures *figures)
{
    UNUSED(desc);
    if (figures->changes)
        write_outages(out, &desc_switchover_outage, ns, name, &figures->changes->switchover_outages);
}

static void write_of_pod(
    struct strbuf *out, const struct metric_desc *desc, const char *ns, const char *name, int ordinal, double value)
{
    char pod[DERIVED_NAME_SIZE];
    cluster_pod_name(pod, name, ordinal);
    metrics_write_sample(out, desc, (const char *const[]){ns, name, pod}, value);
}

static void write_lag(struct strbuf *out, const struct metric_desc *desc, const char *ns, const char *name,
    const struct cluster_figures *figures)
{
    for (int i = 0; i < figures->member_count; i++)
        if (figures->members[i].lag_ms >= 0)
            write_of_pod(out, desc, ns, name, i, (double)figures->members[i].lag_ms / 1e3);
}

static void write_seed(struct strbuf *out, const struct metric_desc *desc, const char *ns, const char *name,
    const struct cluster_figures *figures)
{
    for (int i = 0; i < figures->member_count; i++)
        if (figures->members[i].seeding)
            write_of_pod(out, desc, ns, name, i, (double)figures->members[i].seed_bytes);
}

static void write_seed_total(struct strbuf *out, const struct metric_desc *desc, const char *ns, const char *name,
    const struct cluster_figures *figures)
{
    for (int i = 0; i < figures->member_count; i++)
        if (figures->members[i].seeding && figures->members[i].seed_total_bytes > 0)
            write_of_pod(out, desc, ns, name, i, (double)figures->members[i].seed_total_bytes);
}

static void write_family(
    struct strbuf *out, const struct metric_desc *desc, sample_fn write, const struct cluster_memories *memories)
{
    size_t iterator = 0;
    char ns[KUBE_LABEL_MAX + 1], name[KUBE_NAME_MAX + 1];
    metrics_write_head(out, desc);
    for (const struct cluster_memory *memory; (memory = hashmap_next(&memories->by_key, &iterator));)
        if (memory->figures.known && kube_key_split(memory->key, ns, name) == 0)
            write(out, desc, ns, name, &memory->figures);
}

static void render(void *arg, struct strbuf *out)
{
    static const struct {
        const struct metric_desc *desc;
        sample_fn write;
    } families[] = {
        {&desc_ready, write_ready},
        {&desc_wanted, write_wanted},
        {&desc_condition, write_conditions},
        {&desc_expiry, write_expiry},
        {&desc_epoch, write_epoch},
        {&desc_state, write_state},
        {&desc_primary, write_primary},
        {&desc_blocked, write_blocked},
        {&desc_failovers, write_failovers},
        {&desc_last_failover, write_last_failover},
        {&desc_failover_outage.head, write_failover_outages},
        {&desc_switchover_outage.head, write_switchover_outages},
        {&desc_lag, write_lag},
        {&desc_seed, write_seed},
        {&desc_seed_total, write_seed_total},
    };
    const struct cluster_memories *memories = arg;
    for (size_t i = 0; memories->by_key.count > 0 && i < ARRAY_LEN(families); i++)
        write_family(out, families[i].desc, families[i].write, memories);
}

void cluster_metrics_register(struct metrics *metrics, const struct cluster_memories *memories)
{
    metrics_on_render(metrics, render, (void *)(uintptr_t)memories);
}

static struct cluster_member_figures member_figures(const struct cluster_member *member)
{
    const struct agent_status *agent = member->agent_connected ? member->agent : NULL;
    bool is_replica = agent && agent->role == AGENT_ROLE_REPLICA;
    bool copies = agent && agent->phase == AGENT_PHASE_SEEDING && agent->seed.step >= AGENT_SEED_STEP_COPYING;
    return (struct cluster_member_figures){
        .lag_ms = is_replica && agent->replication.lag_known ? agent->replication.lag_ms : -1,
        .seeding = copies,
        .seed_bytes = copies ? agent->seed.bytes : 0,
        .seed_total_bytes = copies ? agent->seed.total_bytes : 0,
    };
}

static void count_outage(struct cluster_outages *outages, int64_t ms)
{
    int i = 0;
    if (ms < 0) /* not known */
        return;
    while (i < CLUSTER_OUTAGE_BUCKETS && ms > cluster_outage_bounds_ms[i])
        i++;
    outages->buckets[i]++;
    outages->sum_ms += ms;
}

static void count_changes(struct cluster_figures *figures, const struct cluster_status *status)
{
    const struct cluster_failover *failover = &status->roles.last_failover;
    const struct cluster_switchover *switchover = &status->roles.last_switchover;
    bool failed_over = failover->finished_ms > figures->failover_ended_ms;
    bool switched_over = switchover->finished_ms > figures->switchover_ended_ms;
    if (!figures->known || (!failed_over && !switched_over))
        return;
    if (!figures->changes)
        figures->changes = xnew(struct cluster_changes);
    if (failed_over) {
        figures->changes->failovers[failover->reason]++;
        count_outage(&figures->changes->failover_outages, failover->writes_blocked_ms);
    }
    if (switched_over)
        count_outage(&figures->changes->switchover_outages, switchover->writes_blocked_ms);
}

void cluster_figures_set(
    struct cluster_figures *figures, const struct cluster_snapshot *snapshot, const struct cluster_status *status)
{
    count_changes(figures, status);
    *figures = (struct cluster_figures){
        .known = true,
        .ready = status->ready_replicas,
        .wanted = snapshot->scale.effective,
        .certificate_not_after_ms = cluster_snapshot_certificate_end_ms(snapshot),
        .epoch = status->roles.epoch,
        .writes_blocked_ms = *status->roles.last_switchover.to ? status->roles.last_switchover.writes_blocked_ms : -1,
        .failover_ended_ms = status->roles.last_failover.finished_ms,
        .switchover_ended_ms = status->roles.last_switchover.finished_ms,
        .changes = figures->changes,
        .member_count = snapshot->member_count,
    };
    figures->state = status->state;
    snprintf(figures->primary, sizeof(figures->primary), "%s", status->roles.current_primary);
    for (int i = 0; i < snapshot->member_count; i++)
        figures->members[i] = member_figures(&snapshot->members[i]);
    for (size_t i = 0; i < KUBE_CONDITIONS_MAX && cluster_condition_types[i]; i++) {
        const struct kube_condition *condition = kube_conditions_find(&status->conditions, cluster_condition_types[i]);
        figures->conditions[i] = condition ? (uint8_t)condition->status : KUBE_CONDITION_UNKNOWN;
    }
}
