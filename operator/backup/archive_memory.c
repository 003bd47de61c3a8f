/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/backup/archive_memory.h"

#include "common/alloc.h"
#include "common/clock.h"
#include "operator/backup/cluster_samples.h"
#include "operator/kube/kube_object.h"

/* ---- memory ---- */

static const char *memory_key(const void *entry)
{
    return ((const struct archive_memory *)entry)->key;
}

static void memory_free(void *entry)
{
    struct archive_memory *memory = entry;
    if (!memory)
        return;
    archive_sweep_cancel(memory->sweep);
    task_keys_release(&memory->keys);
    free(memory->backups);
    position_pool_unref(memory->texts);
    free(memory->key);
    free(memory->uid);
    free(memory);
}

void archive_memories_init(struct archive_memories *memories, struct agent_fleet *fleet)
{
    hashmap_init(&memories->by_key, memory_key);
    memories->fleet = fleet;
}

void archive_memories_release(struct archive_memories *memories)
{
    hashmap_release(&memories->by_key, memory_free);
}

struct archive_memory *archive_memories_find(const struct archive_memories *memories, const char *key)
{
    return hashmap_get(&memories->by_key, key);
}

void archive_memories_forget(struct archive_memories *memories, const char *key)
{
    memory_free(hashmap_remove(&memories->by_key, key));
}

struct archive_memory *archive_memories_get(
    struct archive_memories *memories, const char *key, const char *uid, void *owner)
{
    struct archive_memory *memory = hashmap_get(&memories->by_key, key);
    if (memory && str_eq(memory->uid, uid))
        return memory;
    archive_memories_forget(memories, key);
    memory = xnew(struct archive_memory);
    memory->owner = owner;
    memory->key = xstrdup(key);
    memory->uid = xstrdup(uid);
    hashmap_put(&memories->by_key, memory);
    return memory;
}

void archive_memory_notice(struct archive_memory *memory, const struct archive_report *report)
{
    memory->noticed_ms = report->until_ms;
    memory->reach_ms = archive_reach_ms(report);
}

size_t archive_memories_sweeps(const struct archive_memories *memories)
{
    size_t iterator = 0, ret = 0;
    for (const struct archive_memory *each; (each = hashmap_next(&memories->by_key, &iterator));)
        ret += each->sweep != NULL;
    return ret;
}

/* ---- metrics ---- */

struct sample {
    const struct archive_memory *memory;
    const struct archive_report *report; /* of the primary; NULL: it is not heard, or knows nothing yet */
    int64_t until_ms, reach_ms, now_ms;
};

/* False: no sample. */
static bool lag_of(const struct sample *sample, double *ret)
{
    *ret = (double)MAX_OF((int64_t)0, sample->now_ms - sample->until_ms) / 1e3;
    return sample->until_ms > 0;
}

static bool gap_of(const struct sample *sample, double *ret)
{
    *ret = sample->memory->gap;
    return true;
}

static bool segments_of(const struct sample *sample, double *ret)
{
    *ret = sample->report ? (double)sample->report->segments : 0;
    return sample->report != NULL;
}

static bool bytes_of(const struct sample *sample, double *ret)
{
    *ret = sample->report ? (double)sample->report->stored_bytes : 0;
    return sample->report != NULL;
}

static bool from_of(const struct sample *sample, double *ret)
{
    *ret = (double)sample->memory->recoverable_from_ms / 1e3;
    return sample->memory->recoverable_from_ms > 0;
}

static bool until_of(const struct sample *sample, double *ret)
{
    int64_t from_ms = sample->memory->recoverable_from_ms;
    *ret = (double)sample->reach_ms / 1e3;
    return from_ms > 0 && sample->reach_ms >= from_ms;
}

static const struct {
    struct metric_desc desc;
    bool (*value_of)(const struct sample *sample, double *ret);
} families[] = {
    {{.name = "kubemysql_cluster_archive_lag_seconds",
         .help = "How old what is not archived of the binary logs yet may be.",
         .type = METRIC_GAUGE,
         .labels = {"namespace", "name"}},
        lag_of},
    {{.name = "kubemysql_cluster_archive_gap",
         .help = "1 if transactions were lost before they were archived, and no backup was completed since.",
         .type = METRIC_GAUGE,
         .labels = {"namespace", "name"}},
        gap_of},
    {{.name = "kubemysql_cluster_archive_segments_total",
         .help = "Segments of binary logs that the present primary has archived.",
         .type = METRIC_COUNTER,
         .labels = {"namespace", "name"}},
        segments_of},
    {{.name = "kubemysql_cluster_archive_bytes_total",
         .help = "Bytes that it has stored for that.",
         .type = METRIC_COUNTER,
         .labels = {"namespace", "name"}},
        bytes_of},
    {{.name = "kubemysql_cluster_recoverable_from_timestamp_seconds",
         .help = "The earliest moment that a restore can go to.",
         .type = METRIC_GAUGE,
         .labels = {"namespace", "name"}},
        from_of},
    {{.name = "kubemysql_cluster_recoverable_until_timestamp_seconds",
         .help = "The latest moment that a restore can go to.",
         .type = METRIC_GAUGE,
         .labels = {"namespace", "name"}},
        until_of},
};

static struct sample sample_of(const struct archive_memories *memories, const struct archive_memory *memory)
{
    const struct agent_status *status =
        *memory->primary ? agent_fleet_status(memories->fleet, memory->key, memory->primary) : NULL;
    bool known = status && status->archive.known;
    return (struct sample){
        .memory = memory,
        .report = known ? &status->archive : NULL,
        .until_ms = known ? status->archive.until_ms : memory->noticed_ms,
        .reach_ms = known ? archive_reach_ms(&status->archive) : memory->reach_ms,
        .now_ms = clock_realtime_ms(),
    };
}

static void render_family(const struct archive_memories *memories, size_t family, struct strbuf *out)
{
    struct cluster_samples samples = {.out = out, .desc = &families[family].desc};
    size_t iterator = 0;
    for (const struct archive_memory *each; (each = hashmap_next(&memories->by_key, &iterator));) {
        double value;
        if (each->since_ms == 0)
            continue;
        struct sample sample = sample_of(memories, each);
        if (families[family].value_of(&sample, &value))
            cluster_samples_add(&samples, each->key, value);
    }
}

static void render(void *arg, struct strbuf *out)
{
    for (size_t i = 0; i < ARRAY_LEN(families); i++)
        render_family(arg, i, out);
}

void archive_metrics_register(struct metrics *metrics, const struct archive_memories *memories)
{
    metrics_on_render(metrics, render, (void *)(uintptr_t)memories);
}
