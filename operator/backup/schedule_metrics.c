/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/backup/schedule_metrics.h"

#include "common/alloc.h"
#include "operator/backup/cluster_samples.h"
#include "operator/kube/kube_object.h"

/* ---- memory ---- */

static const char *figures_key(const void *entry)
{
    return ((const struct schedule_figures *)entry)->key;
}

static void figures_free(void *entry)
{
    struct schedule_figures *figures = entry;
    if (figures)
        free(figures->key);
    free(figures);
}

void schedule_memory_init(struct schedule_memory *memory)
{
    hashmap_init(&memory->figures, figures_key);
}

void schedule_memory_release(struct schedule_memory *memory)
{
    hashmap_release(&memory->figures, figures_free);
}

static struct schedule_figures *figures_of(struct schedule_memory *memory, const char *key)
{
    struct schedule_figures *figures = hashmap_get(&memory->figures, key);
    if (!figures) {
        figures = xnew(struct schedule_figures);
        figures->key = xstrdup(key);
        hashmap_put(&memory->figures, figures);
    }
    return figures;
}

void schedule_memory_set(
    struct schedule_memory *memory, const char *key, bool has_spec, const struct backup_summary *summary)
{
    struct schedule_figures *figures = figures_of(memory, key);
    figures->last_ms = summary->last_backup_ms;
    figures->failure_ms = summary->last_failure_ms;
    figures->next_ms = summary->next_ms;
    figures->has_spec = has_spec;
    figures->has_problem = *summary->problem != '\0';
}

void schedule_memory_note_skipped(struct schedule_memory *memory, const char *key)
{
    figures_of(memory, key)->skipped++;
}

void schedule_memory_forget(struct schedule_memory *memory, const char *key)
{
    figures_free(hashmap_remove(&memory->figures, key));
}

/* ---- rendering ---- */

/* False: no sample. */
static bool last_of(const struct schedule_figures *figures, double *ret)
{
    *ret = (double)figures->last_ms / 1e3;
    return figures->last_ms > 0;
}

static bool failure_of(const struct schedule_figures *figures, double *ret)
{
    *ret = (double)figures->failure_ms / 1e3;
    return figures->failure_ms > 0;
}

static bool next_of(const struct schedule_figures *figures, double *ret)
{
    *ret = (double)figures->next_ms / 1e3;
    return figures->next_ms > 0;
}

static bool problem_of(const struct schedule_figures *figures, double *ret)
{
    *ret = figures->has_problem;
    return figures->has_spec;
}

static bool skipped_of(const struct schedule_figures *figures, double *ret)
{
    *ret = (double)figures->skipped;
    return figures->has_spec;
}

static const struct {
    struct metric_desc desc;
    bool (*value_of)(const struct schedule_figures *figures, double *ret);
} families[] = {
    {{.name = "kubemysql_cluster_last_backup_timestamp_seconds",
         .help = "When the newest backup was completed.",
         .type = METRIC_GAUGE,
         .labels = {"namespace", "name"}},
        last_of},
    {{.name = "kubemysql_cluster_last_backup_failure_timestamp_seconds",
         .help = "When the newest backup that failed did.",
         .type = METRIC_GAUGE,
         .labels = {"namespace", "name"}},
        failure_of},
    {{.name = "kubemysql_cluster_next_backup_timestamp_seconds",
         .help = "When the next backup by schedule begins.",
         .type = METRIC_GAUGE,
         .labels = {"namespace", "name"}},
        next_of},
    {{.name = "kubemysql_cluster_backup_problem",
         .help = "1 if spec.backup has a problem, or its backup cannot begin, so that its schedule cannot be kept.",
         .type = METRIC_GAUGE,
         .labels = {"namespace", "name"}},
        problem_of},
    {{.name = "kubemysql_cluster_backups_skipped_total",
         .help = "Scheduled backups that were left out because the one before was not over.",
         .type = METRIC_COUNTER,
         .labels = {"namespace", "name"}},
        skipped_of},
};

static void render_family(const struct schedule_memory *memory, size_t family, struct strbuf *out)
{
    struct cluster_samples samples = {.out = out, .desc = &families[family].desc};
    size_t iterator = 0;
    for (const struct schedule_figures *each; (each = hashmap_next(&memory->figures, &iterator));) {
        double value;
        if (families[family].value_of(each, &value))
            cluster_samples_add(&samples, each->key, value);
    }
}

static void render(void *arg, struct strbuf *out)
{
    for (size_t i = 0; i < ARRAY_LEN(families); i++)
        render_family(arg, i, out);
}

void schedule_metrics_register(struct metrics *metrics, struct schedule_memory *memory)
{
    metrics_on_render(metrics, render, memory);
}
