#include "common/base.h"

#include "operator/cluster/cluster_metrics.h"

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
    };
    const struct cluster_memories *memories = arg;
    for (size_t i = 0; memories->by_key.count > 0 && i < ARRAY_LEN(families); i++)
        write_family(out, families[i].desc, families[i].write, memories);
}

void cluster_metrics_register(struct metrics *metrics, const struct cluster_memories *memories)
{
    metrics_on_render(metrics, render, (void *)(uintptr_t)memories);
}

void cluster_figures_set(
    struct cluster_figures *figures, const struct cluster_snapshot *snapshot, const struct cluster_status *status)
{
    *figures = (struct cluster_figures){
        .known = true,
        .ready = status->ready_replicas,
        .wanted = snapshot->cluster.replicas,
        .certificate_not_after_ms = cluster_snapshot_certificate_end_ms(snapshot),
    };
    for (size_t i = 0; i < KUBE_CONDITIONS_MAX && cluster_condition_types[i]; i++) {
        const struct kube_condition *condition = kube_conditions_find(&status->conditions, cluster_condition_types[i]);
        figures->conditions[i] = condition ? (uint8_t)condition->status : KUBE_CONDITION_UNKNOWN;
    }
}
