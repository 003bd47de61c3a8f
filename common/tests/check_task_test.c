/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks and reports of a check, there and back. */
#include "common/base.h"

#include "common/check_task.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/json.h"

static void tasks(void **state)
{
    struct check_task task = {.id = "shop-drill-1", .gtid = "0-1-99"}, back;
    struct error err = ERROR_INIT;
    _cleanup_(strbuf_release) struct strbuf text;

    UNUSED(state);
    strbuf_init(&text, CHECK_TASK_MAX);
    check_task_encode(&task, &text);
    assert_int_equal(check_task_decode(text.buf, text.len, &back, &err), 0);
    assert_string_equal(back.id, task.id);
    assert_string_equal(back.gtid, task.gtid);
}

static void what_is_no_task(void **state)
{
    static const char *const texts[] = {"", "[]", "{}", "{\"id\":\"\"}", "{\"id\":\"a/b\"}", "{\"id\":\"..\"}",
        "{\"id\":7}", "{\"id\":\"x\",\"gtid\":[]}"};
    char text[POSITION_TOLD_SIZE + 64];
    struct check_task task = {.id = "kept"};

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct error err = ERROR_INIT;
        if (check_task_decode(texts[i], strlen(texts[i]), &task, &err) == 0)
            fail_msg("%s was taken", texts[i]);
        assert_int_equal(err.kind, ERROR_INVALID);
    }
    /* A position that would be cut is another one. */
    snprintf(text, sizeof(text), "{\"id\":\"x\",\"gtid\":\"%0*d\"}", POSITION_TOLD_SIZE, 1);
    assert_int_equal(check_task_decode(text, strlen(text), &task, NULL), -1);
    assert_string_equal(task.id, "kept");
}

static void reports(void **state)
{
    struct check_report report = {.task = "shop-drill-1",
        .phase = CHECK_PHASE_FAILED,
        .tables = 17,
        .table = "d.t",
        .reason = CHECK_TABLES_DAMAGED,
        .message = "table d.t: Corrupt",
        .gtid = "0-1-99"};
    struct check_report back;
    struct error err = ERROR_INIT;

    UNUSED(state);
    _cleanup_(json_decrefp) json_t *object = check_report_encode(&report);
    assert_string_equal(json_path_str(object, "phase", ""), "Failed");
    assert_int_equal(check_report_decode(object, &back, &err), 0);
    assert_memory_equal(&back, &report, sizeof(back));
    assert_true(check_report_same(&back, &report));
    uint64_t digest = check_report_digest(&report);
    assert_true(check_report_digest(&back) == digest);
    back.tables++;
    assert_false(check_report_same(&back, &report));
    assert_true(check_report_digest(&back) != digest);
    *report.task = '\0';
    assert_null(check_report_encode(&report));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks),
        cmocka_unit_test(what_is_no_task),
        cmocka_unit_test(reports),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
