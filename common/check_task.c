/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/check_task.h"

#include "common/json.h"
#include "common/json_fields.h"
#include "common/task_document.h"

const char *const check_phase_names[CHECK_PHASE_COUNT] = {
    [CHECK_PHASE_NONE] = "",
    [CHECK_PHASE_RUNNING] = "Running",
    [CHECK_PHASE_PASSED] = "Passed",
    [CHECK_PHASE_FAILED] = "Failed",
};

#define TASK(key, member) JSON_FIELD(check_task, key, JSON_FIELD_TEXT, CHANGE_COUNTS, member)

static const struct json_field task_fields[] = {
    TASK("id", id),
    TASK("gtid", gtid),
};

void check_task_encode(const struct check_task *task, struct strbuf *out)
{
    _cleanup_(json_decrefp) json_t *document = json_object();

    json_fields_encode(task_fields, ARRAY_LEN(task_fields), task, document);
    json_canonical(document, out);
}

static int decode_task(const json_t *document, struct check_task *task, struct error *err)
{
    if (!json_is_object(document))
        return error_set(err, ERROR_INVALID, "it is no JSON object");
    if (task_lengths_check(task_fields, ARRAY_LEN(task_fields), document, err) < 0 ||
        json_fields_decode(task_fields, ARRAY_LEN(task_fields), document, task, err) < 0)
        return -1;
    return task_path_ok(task->id, false) ? 0 : error_set(err, ERROR_INVALID, "id: not a name");
}

int check_task_decode(const char *text, size_t len, struct check_task *ret, struct error *err)
{
    _cleanup_(json_decrefp) json_t *document = json_parse(text, len, err);
    struct check_task task = {.id = ""};

    if (!document || decode_task(document, &task, err) < 0) {
        if (err)
            err->kind = ERROR_INVALID;
        return error_prefix(err, "the task");
    }
    *ret = task;
    return 0;
}

/* ---- reports ---- */

#define REPORT(key, type, member) JSON_FIELD(check_report, key, JSON_FIELD_##type, CHANGE_COUNTS, member)

static const struct json_field report_fields[] = {
    REPORT("task", TEXT, task),
    JSON_FIELD_ENUM(check_report, "phase", CHANGE_COUNTS, phase, check_phase_names),
    REPORT("tables", U64, tables),
    REPORT("table", TEXT, table),
    REPORT("reason", TEXT, reason),
    REPORT("message", TEXT, message),
    REPORT("gtid", TEXT, gtid),
};

json_t *check_report_encode(const struct check_report *report)
{
    if (!*report->task)
        return NULL;
    json_t *object = json_object();
    json_fields_encode(report_fields, ARRAY_LEN(report_fields), report, object);
    return object;
}

int check_report_decode(const json_t *object, struct check_report *ret, struct error *err)
{
    struct check_report report = {.task = ""};

    if (json_fields_decode(report_fields, ARRAY_LEN(report_fields), object, &report, err) < 0)
        return -1;
    *ret = report;
    return 0;
}

bool check_report_same(const struct check_report *a, const struct check_report *b)
{
    return json_fields_same(report_fields, ARRAY_LEN(report_fields), a, b);
}

uint64_t check_report_digest(const struct check_report *report)
{
    return json_fields_digest(report_fields, ARRAY_LEN(report_fields), report);
}
