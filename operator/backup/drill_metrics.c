/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/backup/drill_metrics.h"

#include "common/alloc.h"
#include "operator/backup/cluster_samples.h"

struct drill_figures {
    char *key;
    int64_t verified_ms, failure_ms; /* wall clock, 0: none */
    int64_t failures;
    bool running;
};

/* ---- memory ---- */

static const char *figures_key(const void *entry)
{
    return ((const struct drill_figures *)entry)->key;
}

static void figures_free(void *entry)
{
    struct drill_figures *figures = entry;
    if (figures)
        free(figures->key);
    free(figures);
}

void drill_memory_init(struct drill_memory *memory)
{
    hashmap_init(&memory->figures, figures_key);
}

void drill_memory_release(struct drill_memory *memory)
{
    hashmap_release(&memory->figures, figures_free);
}

void drill_memory_set(struct drill_memory *memory, const char *key, const struct drill_summary *summary)
{
    struct drill_figures *figures = hashmap_get(&memory->figures, key);
    if (!figures) {
        figures = xnew(struct drill_figures);
        figures->key = xstrdup(key);
        hashmap_put(&memory->figures, figures);
    }
    figures->verified_ms = summary->verified_ms;
    figures->failure_ms = summary->last_failure_ms;
    figures->failures = summary->failures;
    figures->running = summary->phase != DRILL_PHASE_NONE;
}

void drill_memory_forget(struct drill_memory *memory, const char *key)
{
    figures_free(hashmap_remove(&memory->figures, key));
}

/* ---- rendering ---- */

/* False: no sample. */
static bool verified_of(const struct drill_figures *figures, double *ret)
{
    *ret = (double)figures->verified_ms / 1e3;
    return figures->verified_ms > 0;
}

static bool failure_of(const struct drill_figures *figures, double *ret)
{
    *ret = (double)figures->failure_ms / 1e3;
    return figures->failure_ms > 0;
}

static bool failures_of(const struct drill_figures *figures, double *ret)
{
    *ret = (double)figures->failures;
    return true;
}

static bool running_of(const struct drill_figures *figures, double *ret)
{
    *ret = figures->running;
    return true;
}

static const struct {
    struct metric_desc desc;
    bool (*value_of)(const struct drill_figures *figures, double *ret);
} families[] = {
    {{.name = "kubemysql_cluster_last_verified_restore_timestamp_seconds",
         .help = "When a restore of the newest backup was tried last and went well.",
         .type = METRIC_GAUGE,
         .labels = {"namespace", "name"}},
        verified_of},
    {{.name = "kubemysql_cluster_last_restore_drill_failure_timestamp_seconds",
         .help = "When a restore drill failed last.",
         .type = METRIC_GAUGE,
         .labels = {"namespace", "name"}},
        failure_of},
    {{.name = "kubemysql_cluster_restore_drill_failures_total",
         .help = "Restore drills that failed.",
         .type = METRIC_COUNTER,
         .labels = {"namespace", "name"}},
        failures_of},
    {{.name = "kubemysql_cluster_restore_drill_running",
         .help = "1 while a restore drill is under way.",
         .type = METRIC_GAUGE,
         .labels = {"namespace", "name"}},
        running_of},
};

static void render_family(const struct drill_memory *memory, size_t family, struct strbuf *out)
{
    struct cluster_samples samples = {.out = out, .desc = &families[family].desc};
    size_t iterator = 0;
    for (const struct drill_figures *each; (each = hashmap_next(&memory->figures, &iterator));) {
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

void drill_metrics_register(struct metrics *metrics, struct drill_memory *memory)
{
    metrics_on_render(metrics, render, memory);
}
