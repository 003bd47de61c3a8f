/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/metrics.h"

#include <math.h>

#include "common/alloc.h"
#include "common/hashmap.h"
#include "common/list.h"

/* Separates label values inside a series' key; in a value it is replaced. */
enum { VALUE_SEPARATOR = '\x01', KEY_ON_STACK = 512 };

/* One allocation: header, bucket counts (histograms), key. */
struct metric {
    struct metric_family *family;
    double value;      /* histograms: the sum */
    char *key;         /* label values joined by VALUE_SEPARATOR; points behind `counts` */
    uint64_t counts[]; /* histograms: per bucket, not cumulative; the last one is +Inf */
};

struct metric_family {
    const struct metric_desc *desc;
    struct metrics *metrics;
    unsigned label_count;
    unsigned bucket_count; /* without +Inf; 0 for all but histograms */
    struct hashmap series;
    struct metric *overflow; /* what metric_with gives when the family is full */
    struct list_node node;
};

struct collector {
    void (*collect)(void *arg);
    void *arg;
    struct list_node node;
};

struct renderer {
    void (*render)(void *arg, struct strbuf *out);
    void *arg;
    struct list_node node;
};

struct metrics {
    struct list_node families; /* in order of declaration */
    struct list_node collectors;
    struct list_node renderers;
    struct metric *dropped;
};

#define family_of(pos) container_of(pos, struct metric_family, node)
#define collector_of(pos) container_of(pos, struct collector, node)
#define renderer_of(pos) container_of(pos, struct renderer, node)

static const char *metric_key(const void *entry)
{
    return ((const struct metric *)entry)->key;
}

struct metrics *metrics_new(void)
{
    static const struct metric_desc dropped = {.name = "kubemysql_metrics_dropped_series_total",
        .help = "Requests for a series of a family that has its maximum of series.",
        .type = METRIC_COUNTER};
    struct metrics *metrics = xnew(struct metrics);
    list_init(&metrics->families);
    list_init(&metrics->collectors);
    list_init(&metrics->renderers);
    metrics->dropped = metric_of(metrics_declare(metrics, &dropped));
    return metrics;
}

static void free_family(struct metric_family *family)
{
    hashmap_release(&family->series, free);
    free(family->overflow);
    free(family);
}

void metrics_free(struct metrics *metrics)
{
    if (!metrics)
        return;
    for (struct list_node *node; (node = list_pop_front(&metrics->families));)
        free_family(family_of(node));
    for (struct list_node *node; (node = list_pop_front(&metrics->collectors));)
        free(collector_of(node));
    for (struct list_node *node; (node = list_pop_front(&metrics->renderers));)
        free(renderer_of(node));
    free(metrics);
}

static struct metric_family *find_family(const struct metrics *metrics, const char *name)
{
    for (struct list_node *node = metrics->families.next; node != &metrics->families; node = node->next) {
        if (strcmp(family_of(node)->desc->name, name) == 0)
            return family_of(node);
    }
    return NULL;
}

struct metric_family *metrics_declare(struct metrics *metrics, const struct metric_desc *desc)
{
    struct metric_family *family = find_family(metrics, desc->name);
    if (family)
        return family;
    family = xnew(struct metric_family);
    family->desc = desc;
    family->metrics = metrics;
    while (family->label_count < METRICS_LABELS_MAX && desc->labels[family->label_count])
        family->label_count++;
    while (desc->type == METRIC_HISTOGRAM && family->bucket_count < METRICS_BUCKETS_MAX &&
        desc->buckets[family->bucket_count] != 0)
        family->bucket_count++;
    hashmap_init(&family->series, metric_key);
    list_push_back(&metrics->families, &family->node);
    return family;
}

/* ---- series -------------------------------------------------------------------------------------------------- */

static size_t count_slots(const struct metric_family *family)
{
    return family->desc->type == METRIC_HISTOGRAM ? family->bucket_count + 1 : 0;
}

static struct metric *new_series(struct metric_family *family, const char *key)
{
    size_t head = sizeof(struct metric) + count_slots(family) * sizeof(uint64_t);
    size_t key_size = strlen(key) + 1;
    struct metric *metric = xcalloc(1, head + key_size);
    metric->family = family;
    metric->key = (char *)metric + head;
    memcpy(metric->key, key, key_size);
    return metric;
}

static struct metric *overflow_series(struct metric_family *family)
{
    metric_inc(family->metrics->dropped);
    if (!family->overflow)
        family->overflow = new_series(family, "");
    return family->overflow;
}

static struct metric *find_or_add(struct metric_family *family, const char *key)
{
    struct metric *metric = hashmap_get(&family->series, key);
    if (metric)
        return metric;
    if (family->series.count >= METRICS_SERIES_MAX)
        return overflow_series(family);
    metric = new_series(family, key);
    hashmap_put(&family->series, metric);
    return metric;
}

static void join_values(char *key, const char *const *values, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        for (const char *p = str_or_empty(values[i]); *p; p++)
            *key++ = *p == VALUE_SEPARATOR ? '?' : *p;
        *key++ = i + 1 < count ? VALUE_SEPARATOR : '\0';
    }
}

struct metric *metric_with(struct metric_family *family, const char *const *label_values)
{
    if (!family->label_count)
        return find_or_add(family, "");
    size_t size = 0;
    for (unsigned i = 0; i < family->label_count; i++)
        size += strlen(str_or_empty(label_values[i])) + 1;
    char on_stack[KEY_ON_STACK];
    _cleanup_(freep) char *on_heap = size > sizeof(on_stack) ? xmalloc(size) : NULL;
    char *key = on_heap ? on_heap : on_stack;
    join_values(key, label_values, family->label_count);
    return find_or_add(family, key);
}

struct metric *metric_of(struct metric_family *family)
{
    static const char *const none[METRICS_LABELS_MAX] = {NULL};
    return metric_with(family, none);
}

struct metric *metric_of1(struct metric_family *family, const char *value)
{
    return metric_with(family, (const char *const[METRICS_LABELS_MAX]){value});
}

struct metric *metric_of2(struct metric_family *family, const char *value1, const char *value2)
{
    return metric_with(family, (const char *const[METRICS_LABELS_MAX]){value1, value2});
}

/* Label value number `index` inside a key: its start and length. */
static const char *value_in_key(const char *key, unsigned index, size_t *ret_len)
{
    for (; index > 0; index--)
        key += strcspn(key, "\x01") + 1;
    *ret_len = strcspn(key, "\x01");
    return key;
}

void metric_remove_matching(struct metric_family *family, unsigned label, const char *value)
{
    if (label >= family->label_count || !family->series.count)
        return;
    struct metric **doomed = xnew_array(struct metric *, family->series.count);
    size_t count = 0, iterator = 0, len;
    for (struct metric *metric; (metric = hashmap_next(&family->series, &iterator));) {
        const char *text = value_in_key(metric->key, label, &len);
        if (len == strlen(value) && memcmp(text, value, len) == 0)
            doomed[count++] = metric;
    }
    for (size_t i = 0; i < count; i++)
        free(hashmap_remove(&family->series, doomed[i]->key));
    free(doomed);
}

/* ---- updates ------------------------------------------------------------------------------------------------- */

void metric_set(struct metric *metric, double value)
{
    metric->value = value;
}

void metric_unset(struct metric *metric)
{
    metric->value = NAN;
}

void metric_add(struct metric *metric, double delta)
{
    if (delta >= 0 || metric->family->desc->type != METRIC_COUNTER)
        metric->value += delta;
}

void metric_inc(struct metric *metric)
{
    metric->value += 1;
}

void metric_observe(struct metric *metric, double value)
{
    const struct metric_family *family = metric->family;
    if (family->desc->type != METRIC_HISTOGRAM)
        return;
    unsigned i = 0;
    while (i < family->bucket_count && !(value <= family->desc->buckets[i]))
        i++;
    metric->counts[i]++;
    metric->value += value;
}

double metric_value(const struct metric *metric)
{
    return metric->value;
}

/* ---- rendering ----------------------------------------------------------------------------------------------- */

static void add_escaped(struct strbuf *out, const char *text, size_t len, bool in_quotes)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\n')
            strbuf_adds(out, "\\n");
        else if (text[i] == '\\' || (text[i] == '"' && in_quotes))
            strbuf_addf(out, "\\%c", text[i]);
        else
            strbuf_addc(out, text[i]);
    }
}

static void add_number(struct strbuf *out, double value)
{
    char text[40];
    if (isnan(value) || isinf(value)) {
        strbuf_adds(out, isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf");
        return;
    }
    /* The shorter form if it reads back as the same number. */
    snprintf(text, sizeof(text), "%.15g", value);
    if (strtod(text, NULL) != value)
        snprintf(text, sizeof(text), "%.17g", value);
    strbuf_adds(out, text);
}

/* {a="x",b="y",le="1"}; le may be NULL. */
static void add_labels(struct strbuf *out, const struct metric *metric, const char *le)
{
    const struct metric_family *family = metric->family;
    char before = '{';
    for (unsigned i = 0; i < family->label_count; i++, before = ',') {
        size_t len;
        const char *value = value_in_key(metric->key, i, &len);
        strbuf_addf(out, "%c%s=\"", before, family->desc->labels[i]);
        add_escaped(out, value, len, true);
        strbuf_addc(out, '"');
    }
    if (le) {
        strbuf_addf(out, "%cle=\"%s\"", before, le);
        before = ',';
    }
    if (before == ',')
        strbuf_addc(out, '}');
}

static void add_sample(struct strbuf *out, const struct metric *metric, const char *suffix, const char *le, double value)
{
    strbuf_addf(out, "%s%s", metric->family->desc->name, suffix);
    add_labels(out, metric, le);
    strbuf_addc(out, ' ');
    add_number(out, value);
    strbuf_addc(out, '\n');
}

static void add_histogram(struct strbuf *out, const struct metric *metric)
{
    const struct metric_family *family = metric->family;
    uint64_t count = 0;
    for (unsigned i = 0; i <= family->bucket_count; i++) {
        count += metric->counts[i];
        _cleanup_(strbuf_release) struct strbuf bound;
        strbuf_init(&bound, 64);
        add_number(&bound, i < family->bucket_count ? family->desc->buckets[i] : INFINITY);
        add_sample(out, metric, "_bucket", bound.buf, (double)count);
    }
    add_sample(out, metric, "_sum", NULL, metric->value);
    add_sample(out, metric, "_count", NULL, (double)count);
}

static int compare_series(const void *a, const void *b)
{
    return strcmp((*(struct metric *const *)a)->key, (*(struct metric *const *)b)->key);
}

void metrics_write_head(struct strbuf *out, const struct metric_desc *desc)
{
    static const char *const types[] = {
        [METRIC_COUNTER] = "counter",
        [METRIC_GAUGE] = "gauge",
        [METRIC_HISTOGRAM] = "histogram",
        [METRIC_UNTYPED] = "untyped",
    };
    strbuf_addf(out, "# HELP %s ", desc->name);
    add_escaped(out, desc->help, strlen(desc->help), false);
    strbuf_addf(out, "\n# TYPE %s %s\n", desc->name, types[desc->type]);
}

void metrics_write_sample(
    struct strbuf *out, const struct metric_desc *desc, const char *const *label_values, double value)
{
    char before = '{';
    strbuf_adds(out, desc->name);
    for (unsigned i = 0; i < METRICS_LABELS_MAX && desc->labels[i]; i++, before = ',') {
        strbuf_addf(out, "%c%s=\"", before, desc->labels[i]);
        add_escaped(out, label_values[i], strlen(label_values[i]), true);
        strbuf_addc(out, '"');
    }
    strbuf_adds(out, before == ',' ? "} " : " ");
    add_number(out, value);
    strbuf_addc(out, '\n');
}

static void render_family(const struct metric_family *family, struct strbuf *out)
{
    const struct metric_desc *desc = family->desc;
    size_t count = 0, iterator = 0;
    if (!family->series.count)
        return;
    /* Sorted, so that two renderings differ only where values differ. */
    struct metric **sorted = xnew_array(struct metric *, family->series.count);
    for (struct metric *metric; (metric = hashmap_next(&family->series, &iterator));)
        if (desc->type == METRIC_HISTOGRAM || !isnan(metric->value))
            sorted[count++] = metric;
    if (count > 0)
        metrics_write_head(out, desc);
    qsort(sorted, count, sizeof(struct metric *), compare_series);
    for (size_t i = 0; i < count; i++) {
        if (desc->type == METRIC_HISTOGRAM)
            add_histogram(out, sorted[i]);
        else
            add_sample(out, sorted[i], "", NULL, sorted[i]->value);
    }
    free(sorted);
}

void metrics_on_collect(struct metrics *metrics, void (*collect)(void *arg), void *arg)
{
    struct collector *collector = xnew(struct collector);
    collector->collect = collect;
    collector->arg = arg;
    list_push_back(&metrics->collectors, &collector->node);
}

void metrics_render(struct metrics *metrics, struct strbuf *out)
{
    for (struct list_node *node = metrics->collectors.next; node != &metrics->collectors; node = node->next)
        collector_of(node)->collect(collector_of(node)->arg);
    for (struct list_node *node = metrics->families.next; node != &metrics->families; node = node->next)
        render_family(family_of(node), out);
    for (struct list_node *node = metrics->renderers.next; node != &metrics->renderers; node = node->next)
        renderer_of(node)->render(renderer_of(node)->arg, out);
}

void metrics_on_render(struct metrics *metrics, void (*render)(void *arg, struct strbuf *out), void *arg)
{
    struct renderer *renderer = xnew(struct renderer);
    renderer->render = render;
    renderer->arg = arg;
    list_push_back(&metrics->renderers, &renderer->node);
}
