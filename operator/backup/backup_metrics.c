/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/backup/backup_metrics.h"

#include "common/alloc.h"
#include "common/clock.h"

#define GAUGE(text, meaning)                                                                                       \
    {                                                                                                              \
        .name = "kubemysql_backup_" text, .help = meaning, .type = METRIC_GAUGE, .labels = { "namespace", "name" } \
    }
static const struct metric_desc desc_time =
    GAUGE("last_success_timestamp_seconds", "When the newest backup of the cluster was completed.");
static const struct metric_desc desc_age =
    GAUGE("age_seconds", "How old the newest completed backup of the cluster is.");
static const struct metric_desc desc_size =
    GAUGE("size_bytes", "How many bytes of the newest completed backup are stored.");
static const struct metric_desc desc_duration = GAUGE("duration_seconds", "How long the newest completed backup took.");
static const struct metric_desc desc_running = GAUGE("running", "Backups of the cluster that are taken now.");
static const struct metric_desc desc_failures = {
    .name = "kubemysql_backup_failures_total",
    .help = "Backups that failed for good, all attempts together, as this process has seen it.",
    .type = METRIC_COUNTER,
    .labels = {"namespace", "name"},
};

struct backup_metrics {
    const struct backup_memories *memories;
    struct metric_family *failures;
};

/* The backups of one cluster together. */
struct figures {
    char *key;
    const struct backup_memory *newest; /* completed; NULL: there is none */
    const char *ns, *cluster;
    int running;
};

static const char *figures_key(const void *entry)
{
    return ((const struct figures *)entry)->key;
}

static void figures_free(void *entry)
{
    struct figures *figures = entry;
    free(figures->key);
    free(figures);
}

static void add(struct hashmap *clusters, const struct backup_memory *memory)
{
    _cleanup_(freep) char *key = xasprintf("%s/%s", memory->ns, memory->cluster);
    struct figures *figures = hashmap_get(clusters, key);
    if (!figures) {
        figures = xnew(struct figures);
        *figures = (struct figures){.key = steal_ptr(key), .ns = memory->ns, .cluster = memory->cluster};
        hashmap_put(clusters, figures);
    }
    figures->running += memory->phase == BACKUP_PHASE_RUNNING;
    if (memory->phase == BACKUP_PHASE_COMPLETED &&
        (!figures->newest || memory->completion_ms > figures->newest->completion_ms))
        figures->newest = memory;
}

static double value_of(const struct metric_desc *desc, const struct figures *figures)
{
    const struct backup_memory *newest = figures->newest;
    if (desc == &desc_running)
        return figures->running;
    if (desc == &desc_time)
        return (double)newest->completion_ms / 1000;
    if (desc == &desc_age)
        return (double)(clock_realtime_ms() - newest->completion_ms) / 1000;
    if (desc == &desc_duration)
        return (double)(newest->completion_ms - newest->start_ms) / 1000;
    return (double)newest->stored_bytes;
}

static void write_family(struct strbuf *out, const struct metric_desc *desc, const struct hashmap *clusters)
{
    size_t cursor = 0;
    metrics_write_head(out, desc);
    for (const struct figures *figures; (figures = hashmap_next(clusters, &cursor));) {
        if (desc == &desc_running || figures->newest)
            metrics_write_sample(
                out, desc, (const char *const[]){figures->ns, figures->cluster}, value_of(desc, figures));
    }
}

static void render(void *arg, struct strbuf *out)
{
    static const struct metric_desc *const families[] = {
        &desc_time, &desc_age, &desc_size, &desc_duration, &desc_running};
    const struct backup_metrics *metrics = arg;
    struct hashmap clusters;
    size_t cursor = 0;
    hashmap_init(&clusters, figures_key);
    for (const struct backup_memory *memory; (memory = hashmap_next(&metrics->memories->by_key, &cursor));) {
        if (memory->ns && memory->cluster)
            add(&clusters, memory);
    }
    for (size_t i = 0; i < ARRAY_LEN(families); i++)
        write_family(out, families[i], &clusters);
    hashmap_release(&clusters, figures_free);
}

struct backup_metrics *backup_metrics_new(struct metrics *metrics, const struct backup_memories *memories)
{
    struct backup_metrics *ret = xnew(struct backup_metrics);
    ret->memories = memories;
    ret->failures = metrics_declare(metrics, &desc_failures);
    metrics_on_render(metrics, render, ret);
    return ret;
}

void backup_metrics_free(struct backup_metrics *metrics)
{
    free(metrics);
}

void backup_metrics_note(
    struct backup_metrics *metrics, const struct backup_snapshot *snapshot, const struct backup_status *written)
{
    struct metric *failures = /* 0 from the first status of a backup on, so that increase() sees the first failure */
        metric_of2(metrics->failures, snapshot->ns, str_or_empty(snapshot->backup.cluster));
    if (written->phase == BACKUP_PHASE_FAILED && snapshot->last.phase != BACKUP_PHASE_FAILED)
        metric_inc(failures);
}
