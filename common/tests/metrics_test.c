/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/metrics.h"

#include <math.h>
#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/version.h"

static const struct metric_desc counter = {
    .name = "t_ops_total", .help = "Ops \\ with\nlines.", .type = METRIC_COUNTER, .labels = {"kind", "name"}};
static const struct metric_desc gauge = {.name = "t_size_bytes", .help = "Size.", .type = METRIC_GAUGE};
static const struct metric_desc histogram = {
    .name = "t_seconds", .help = "Time.", .type = METRIC_HISTOGRAM, .labels = {"op"}, .buckets = {0.25, 1, 2.5}};

static char *render(struct metrics *metrics)
{
    struct strbuf out;
    strbuf_init(&out, 4 * KM_MIB);
    metrics_render(metrics, &out);
    assert_false(out.overflowed);
    return strbuf_detach(&out, NULL);
}

#define DROPPED(n)                                                                                             \
    "# HELP kubemysql_metrics_dropped_series_total Requests for a series of a family that has its maximum of " \
    "series.\n# TYPE kubemysql_metrics_dropped_series_total counter\nkubemysql_metrics_dropped_series_total " #n "\n"

static void test_text_format(void **state)
{
    UNUSED(state);
    struct metrics *metrics = metrics_new();
    struct metric_family *ops = metrics_declare(metrics, &counter), *size = metrics_declare(metrics, &gauge),
                         *time = metrics_declare(metrics, &histogram);
    assert_ptr_equal(metrics_declare(metrics, &counter), ops);
    metric_inc(metric_of2(ops, "b", "x\"y\\z\nw"));
    metric_add(metric_of2(ops, "a", ""), 2.5);
    metric_add(metric_of2(ops, "a", NULL), -1); /* counters never fall; NULL is "" */
    metric_set(metric_of(size), 1e15);
    static const double times[] = {0.1, 0.25, 0.3, 2, 99, NAN};
    for (size_t i = 0; i < ARRAY_LEN(times); i++)
        metric_observe(metric_of1(time, "read"), times[i]);
    char *text = render(metrics);
    assert_string_equal(text,
        DROPPED(0) "# HELP t_ops_total Ops \\\\ with\\nlines.\n"
                   "# TYPE t_ops_total counter\n"
                   "t_ops_total{kind=\"a\",name=\"\"} 2.5\n"
                   "t_ops_total{kind=\"b\",name=\"x\\\"y\\\\z\\nw\"} 1\n"
                   "# HELP t_size_bytes Size.\n"
                   "# TYPE t_size_bytes gauge\n"
                   "t_size_bytes 1e+15\n"
                   "# HELP t_seconds Time.\n"
                   "# TYPE t_seconds histogram\n"
                   "t_seconds_bucket{op=\"read\",le=\"0.25\"} 2\n"
                   "t_seconds_bucket{op=\"read\",le=\"1\"} 3\n"
                   "t_seconds_bucket{op=\"read\",le=\"2.5\"} 4\n"
                   "t_seconds_bucket{op=\"read\",le=\"+Inf\"} 6\n"
                   "t_seconds_sum{op=\"read\"} NaN\n"
                   "t_seconds_count{op=\"read\"} 6\n");
    free(text);
    metrics_free(metrics);
    metrics_free(NULL);
}

static void test_numbers(void **state)
{
    UNUSED(state);
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0, "0"}, {-1, "-1"}, {0.1, "0.1"}, {1.0 / 3, "0.33333333333333331"}, {INFINITY, "+Inf"},
        {-INFINITY, "-Inf"}, {123456789012345, "123456789012345"}, {9007199254740992, "9007199254740992"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct metrics *metrics = metrics_new();
        metric_set(metric_of(metrics_declare(metrics, &gauge)), cases[i].value);
        char *text = render(metrics), *expected = xasprintf("\nt_size_bytes %s\n", cases[i].text);
        assert_non_null(strstr(text, expected));
        free(expected);
        free(text);
        metrics_free(metrics);
    }
}

static void test_removal(void **state)
{
    UNUSED(state);
    struct metrics *metrics = metrics_new();
    struct metric_family *ops = metrics_declare(metrics, &counter);
    static const char *const names[] = {"a", "ab", "b"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        metric_inc(metric_of2(ops, "k", names[i]));
        metric_inc(metric_of2(ops, names[i], "n"));
    }
    metric_remove_matching(ops, 1, "a");
    metric_remove_matching(ops, 0, "b");
    metric_remove_matching(ops, 7, "ab");
    metric_remove_matching(ops, 0, "none");
    char *text = render(metrics);
    assert_non_null(strstr(text,
        "counter\nt_ops_total{kind=\"a\",name=\"n\"} 1\nt_ops_total{kind=\"ab\",name=\"n\"} 1\n"
        "t_ops_total{kind=\"k\",name=\"ab\"} 1\nt_ops_total{kind=\"k\",name=\"b\"} 1\n"));
    assert_null(strstr(text, "name=\"a\""));
    free(text);
    metric_remove_matching(ops, 1, "n");
    metric_remove_matching(ops, 0, "k");
    text = render(metrics);
    assert_null(strstr(text, "t_ops_total"));
    free(text);
    metrics_free(metrics);
}

static void test_a_full_family_drops_and_counts(void **state)
{
    UNUSED(state);
    struct metrics *metrics = metrics_new();
    struct metric_family *time = metrics_declare(metrics, &histogram);
    for (int i = 0; i < METRICS_SERIES_MAX; i++) {
        char name[16];
        snprintf(name, sizeof(name), "op-%d", i);
        metric_observe(metric_of1(time, name), 1);
    }
    struct metric *shared = metric_of1(time, "too-many");
    assert_non_null(shared);
    metric_observe(shared, 1);
    assert_ptr_equal(metric_of1(time, "yet-another"), shared);
    assert_ptr_not_equal(metric_of1(time, "op-0"), shared);
    struct strbuf out;
    strbuf_init(&out, 64 * KM_MIB);
    metrics_render(metrics, &out);
    assert_memory_equal(out.buf, DROPPED(2), strlen(DROPPED(2)));
    assert_null(strstr(out.buf, "too-many"));
    strbuf_release(&out);
    metric_remove_matching(time, 0, "op-17");
    assert_ptr_not_equal(metric_of1(time, "too-many"), shared);
    metrics_free(metrics);
}

static void test_long_label_values(void **state)
{
    UNUSED(state);
    char value[2000];
    memset(value, 'v', sizeof(value));
    value[sizeof(value) - 1] = '\0';
    value[3] = '\x01';
    struct metrics *metrics = metrics_new();
    struct metric_family *ops = metrics_declare(metrics, &counter);
    struct metric *metric = metric_of2(ops, value, "n");
    assert_ptr_equal(metric_of2(ops, value, "n"), metric);
    char *text = render(metrics);
    assert_non_null(strstr(text, "{kind=\"vvv?vvv"));
    assert_non_null(strstr(text, ",name=\"n\"} 0\n"));
    free(text);
    metrics_free(metrics);
}

static void collect(void *arg)
{
    metric_inc(metric_of(arg));
}

static void test_collectors_and_process(void **state)
{
    UNUSED(state);
    struct metrics *metrics = metrics_new();
    struct metric_family *family = metrics_declare(metrics, &gauge);
    metrics_on_collect(metrics, collect, family);
    metrics_add_process(metrics);
    free(render(metrics));
    char *text = render(metrics);
    assert_true(metric_value(metric_of(family)) == 2);
    assert_non_null(strstr(text, "\nkubemysql_build_info{version=\"" KM_VERSION "\",commit=\"\"} 1\n"));
    static const struct {
        const char *name;
        double min, max;
    } cases[] = {{"\nprocess_resident_memory_bytes ", 100e3, 1e12}, {"\nprocess_cpu_seconds_total ", 0, 1e6},
        {"\nprocess_open_fds ", 1, 1e5}, {"\nprocess_start_time_seconds ", 1.7e9, 1e11}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *line = strstr(text, cases[i].name);
        assert_non_null(line);
        double value = strtod(line + strlen(cases[i].name), NULL);
        assert_true(value >= cases[i].min && value <= cases[i].max);
    }
    free(text);
    metrics_free(metrics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_format),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_removal),
        cmocka_unit_test(test_a_full_family_drops_and_counts),
        cmocka_unit_test(test_long_label_values),
        cmocka_unit_test(test_collectors_and_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
