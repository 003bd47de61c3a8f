/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/backup_task.h"

#include <openssl/crypto.h>

#include "common/alloc.h"
#include "common/json.h"
#include "common/json_fields.h"
#include "common/task_document.h"

const char *const backup_state_names[BACKUP_STATE_COUNT] = {
    [BACKUP_STATE_NONE] = "",
    [BACKUP_STATE_RUNNING] = "Running",
    [BACKUP_STATE_COMPLETED] = "Completed",
    [BACKUP_STATE_FAILED] = "Failed",
};

#define FIELD(key, type, member) JSON_FIELD(backup_task, key, JSON_FIELD_##type, CHANGE_COUNTS, member)

static const struct json_field task_fields[] = {
    FIELD("id", TEXT, id),
    FIELD("namespace", TEXT, ns),
    FIELD("cluster", TEXT, cluster),
    FIELD("clusterUID", TEXT, cluster_uid),
    FIELD("rateLimit", U64, rate_limit),
    FIELD("digest", TEXT, digest),
    FIELD("untilMs", I64, until_ms),
};

void backup_task_release(struct backup_task *task)
{
    backup_store_release(&task->store);
    free(task->folder);
    free(task->binlogs_folder);
    free(task->until_gtid);
    OPENSSL_cleanse(task, sizeof(*task));
}

/* ---- encode ---- */

void backup_task_encode(const struct backup_task *task, struct strbuf *out)
{
    _cleanup_(task_document_drop) json_t *document = json_object();

    json_fields_encode(task_fields, ARRAY_LEN(task_fields), task, document);
    json_put_str(document, "folder", task->folder);
    if (task->binlogs_folder)
        json_put_str(document, "binlogsFolder", task->binlogs_folder);
    if (!str_empty(task->until_gtid))
        json_put_str(document, "untilGtid", task->until_gtid);
    json_put_str(document, "method", backup_method_names[task->method]);
    json_put_str(document, "compression", backup_compression_names[task->compression]);
    json_put(document, "store", backup_store_encode(&task->store));
    if (task->sealed)
        task_key_encode(document, task->key);
    json_canonical(document, out);
}

/* ---- decode ---- */

static int decode_names(const json_t *document, struct backup_task *task, struct error *err)
{
    unsigned method = 0;
    unsigned compression = 0;

    if (task_name_decode(document, "method", backup_method_names, BACKUP_METHOD_COUNT, &method, err) < 0 ||
        task_name_decode(
            document, "compression", backup_compression_names, BACKUP_COMPRESSION_COUNT, &compression, err) < 0)
        return -1;
    task->method = (enum backup_method)method;
    task->compression = (enum backup_compression)compression;
    return 0;
}

static int check_names(const struct backup_task *task, struct error *err)
{
    if (!task_path_ok(task->id, false))
        return error_set(err, ERROR_INVALID, "id: not a name");
    if (!task_path_ok(task->ns, false))
        return error_set(err, ERROR_INVALID, "namespace: not a name");
    if (!task_path_ok(task->cluster, false))
        return error_set(err, ERROR_INVALID, "cluster: not a name");
    if (!task_path_ok(str_or_empty(task->folder), true))
        return error_set(err, ERROR_INVALID, "folder: not the name of one");
    if (task->binlogs_folder && !task_path_ok(task->binlogs_folder, true))
        return error_set(err, ERROR_INVALID, "binlogsFolder: not the name of one");
    if (!task->binlogs_folder && (!str_empty(task->until_gtid) || task->until_ms))
        return error_set(err, ERROR_INVALID, "untilGtid, untilMs: nothing is replayed without binlogsFolder");
    if (!str_empty(task->until_gtid) && task->until_ms)
        return error_set(err, ERROR_INVALID, "untilGtid, untilMs: only one of them");
    return 0;
}

static int decode_task(const json_t *document, struct backup_task *task, struct error *err)
{
    if (!json_is_object(document))
        return error_set(err, ERROR_INVALID, "it is no JSON object");
    if (task_lengths_check(task_fields, ARRAY_LEN(task_fields), document, err) < 0 ||
        json_fields_decode(task_fields, ARRAY_LEN(task_fields), document, task, err) < 0 ||
        task_text_decode(document, "folder", TASK_TEXT_MAX, &task->folder, err) < 0 ||
        task_text_decode(document, "binlogsFolder", TASK_TEXT_MAX, &task->binlogs_folder, err) < 0 ||
        task_text_decode(document, "untilGtid", POSITION_TEXT_MAX, &task->until_gtid, err) < 0 ||
        check_names(task, err) < 0 || decode_names(document, task, err) < 0 ||
        task_key_decode(document, &task->sealed, task->key, err) < 0)
        return -1;
    return backup_store_decode(document, &task->store, err);
}

int backup_task_decode(const char *text, size_t len, struct backup_task *ret, struct error *err)
{
    _cleanup_(task_document_drop) json_t *document = json_parse(text, len, err);
    struct backup_task task = {0};

    if (!document || decode_task(document, &task, err) < 0) {
        if (err)
            err->kind = ERROR_INVALID;
        backup_task_release(&task);
        return error_prefix(err, "the task");
    }
    *ret = task;
    OPENSSL_cleanse(&task, sizeof(task));
    return 0;
}

/* ---- reports ---- */

#define REPORT(key, type, change, member) JSON_FIELD(backup_report, key, JSON_FIELD_##type, CHANGE_##change, member)

static const struct json_field report_fields[] = {
    REPORT("id", TEXT, COUNTS, id),
    JSON_FIELD_ENUM(backup_report, "state", CHANGE_COUNTS, state, backup_state_names),
    REPORT("startedMs", I64, COUNTS, started_ms),
    REPORT("completedMs", I64, COUNTS, completed_ms),
    REPORT("rawBytes", U64, IGNORED, raw_bytes),
    REPORT("storedBytes", U64, IGNORED, stored_bytes),
    REPORT("estimateBytes", U64, COUNTS, estimate_bytes),
    REPORT("bytesPerSecond", U64, IGNORED, bytes_per_second),
    REPORT("gtid", TEXT, COUNTS, gtid),
    REPORT("digest", TEXT, COUNTS, digest),
    REPORT("errorReason", TEXT, COUNTS, error_reason),
    REPORT("message", TEXT, COUNTS, message),
};

json_t *backup_report_encode(const struct backup_report *report)
{
    if (report->state == BACKUP_STATE_NONE)
        return NULL;
    json_t *object = json_object();
    json_fields_encode(report_fields, ARRAY_LEN(report_fields), report, object);
    return object;
}

int backup_report_decode(const json_t *object, struct backup_report *ret, struct error *err)
{
    struct backup_report report = {0};

    if (json_fields_decode(report_fields, ARRAY_LEN(report_fields), object, &report, err) < 0)
        return -1;
    *ret = report;
    return 0;
}

bool backup_report_same(const struct backup_report *a, const struct backup_report *b)
{
    return json_fields_same(report_fields, ARRAY_LEN(report_fields), a, b);
}

uint64_t backup_report_digest(const struct backup_report *report)
{
    return json_fields_digest(report_fields, ARRAY_LEN(report_fields), report);
}

void backup_report_fail(struct backup_report *report, const char *reason, const char *message)
{
    report->state = BACKUP_STATE_FAILED;
    json_copy_text(report->error_reason, sizeof(report->error_reason), reason);
    json_copy_text(report->message, sizeof(report->message), message);
}
