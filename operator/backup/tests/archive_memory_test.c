/* SPDX-License-Identifier: Apache-2.0 */
/* What is exported of archives; what one cluster's memory does not pass on to the next of its name. */
#include "common/base.h"

#include "operator/backup/archive_memory.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/clock.h"

static double value_of(struct metrics *metrics, const char *name)
{
    struct strbuf text;
    char line[160];
    double ret = -1;
    strbuf_init(&text, KM_MIB);
    metrics_render(metrics, &text);
    snprintf(line, sizeof(line), "\n%s{namespace=\"ns1\",name=\"shop\"} ", name);
    const char *at = strstr(text.buf, line);
    if (at)
        ret = strtod(at + strlen(line), NULL);
    strbuf_release(&text);
    return ret;
}

static void test_metrics(void **state)
{
    UNUSED(state);
    struct archive_memories memories;
    struct metrics *metrics = metrics_new();
    archive_memories_init(&memories, NULL);
    archive_metrics_register(metrics, &memories);
    struct archive_memory *memory = archive_memories_get(&memories, "ns1/shop", "u1", NULL);
    assert_true(value_of(metrics, "kubemysql_cluster_archive_gap") == -1); /* it is not wanted */
    memory->since_ms = 1;
    assert_true(value_of(metrics, "kubemysql_cluster_archive_gap") == 0);
    assert_true(value_of(metrics, "kubemysql_cluster_archive_lag_seconds") == -1);
    assert_true(value_of(metrics, "kubemysql_cluster_recoverable_from_timestamp_seconds") == -1);
    int64_t now_ms = clock_realtime_ms();
    archive_memory_notice(memory, &(struct archive_report){.until_ms = now_ms - 100000, .newest_ms = 7000});
    memory->gap = true;
    double lag = value_of(metrics, "kubemysql_cluster_archive_lag_seconds");
    assert_true(lag >= 100 && lag < 10000);
    assert_true(value_of(metrics, "kubemysql_cluster_archive_gap") == 1);
    assert_true(value_of(metrics, "kubemysql_cluster_recoverable_until_timestamp_seconds") == -1);
    memory->recoverable_from_ms = 5000;
    assert_true(value_of(metrics, "kubemysql_cluster_recoverable_from_timestamp_seconds") == 5);
    assert_true(value_of(metrics, "kubemysql_cluster_recoverable_until_timestamp_seconds") == 7);
    memory->recoverable_from_ms = 8000; /* nothing was committed since */
    assert_true(value_of(metrics, "kubemysql_cluster_recoverable_from_timestamp_seconds") == 8);
    assert_true(value_of(metrics, "kubemysql_cluster_recoverable_until_timestamp_seconds") == -1);
    archive_memory_notice(memory, &(struct archive_report){.until_ms = 9000, .newest_ms = 10000});
    assert_true(value_of(metrics, "kubemysql_cluster_recoverable_until_timestamp_seconds") == 9);
    assert_ptr_equal(archive_memories_get(&memories, "ns1/shop", "u1", NULL), memory);
    memory = archive_memories_get(&memories, "ns1/shop", "u2", NULL);
    assert_true(memory->since_ms == 0 && memory->noticed_ms == 0);
    archive_memories_forget(&memories, "ns1/shop");
    assert_null(archive_memories_find(&memories, "ns1/shop"));
    metrics_free(metrics);
    archive_memories_release(&memories);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_metrics)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
