/* SPDX-License-Identifier: Apache-2.0 */
/* How backups stand: what is known has a sample, what is not has none. */
#include "common/base.h"

#include "operator/backup/schedule_metrics.h"

#include <setjmp.h>
#include <cmocka.h>

#define SHOP "{namespace=\"ns1\",name=\"shop\"}"

static void expect(struct metrics *metrics, const char *line, bool there)
{
    struct strbuf text;
    strbuf_init(&text, KM_MIB);
    metrics_render(metrics, &text);
    if ((strstr(text.buf, line) != NULL) != there)
        fail_msg("%s%s in\n%s", there ? "no " : "", line, text.buf);
    strbuf_release(&text);
}

static void test_samples(void **state)
{
    UNUSED(state);
    struct metrics *metrics = metrics_new();
    struct schedule_memory memory;
    struct backup_summary summary = {.last_backup_ms = 1700000000500};
    schedule_memory_init(&memory);
    schedule_metrics_register(metrics, &memory);
    schedule_memory_set(&memory, "ns1/shop", false, &summary);
    expect(metrics, "kubemysql_cluster_last_backup_timestamp_seconds" SHOP " 1700000000.5\n", true);
    expect(metrics, "kubemysql_cluster_next_backup_timestamp_seconds{", false);
    expect(metrics, "kubemysql_cluster_last_backup_failure_timestamp_seconds{", false);
    expect(metrics, "kubemysql_cluster_backup_problem{", false);
    summary.next_ms = summary.last_failure_ms = 1700000001000;
    snprintf(summary.problem, sizeof(summary.problem), "no");
    schedule_memory_set(&memory, "ns1/shop", true, &summary);
    schedule_memory_note_skipped(&memory, "ns1/shop");
    expect(metrics, "kubemysql_cluster_next_backup_timestamp_seconds" SHOP " 1700000001\n", true);
    expect(metrics, "kubemysql_cluster_last_backup_failure_timestamp_seconds" SHOP " 1700000001\n", true);
    expect(metrics, "kubemysql_cluster_backup_problem" SHOP " 1\n", true);
    expect(metrics, "kubemysql_cluster_backups_skipped_total" SHOP " 1\n", true);
    schedule_memory_forget(&memory, "ns1/shop");
    schedule_memory_forget(&memory, "ns1/shop");
    expect(metrics, "kubemysql_cluster_", false);
    metrics_free(metrics);
    schedule_memory_release(&memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
