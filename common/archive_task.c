/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/archive_task.h"

#include <openssl/crypto.h>

#include "common/alloc.h"
#include "common/json.h"
#include "common/json_fields.h"
#include "common/task_document.h"
#include "common/tls.h"

#define FIELD(key, type, member) JSON_FIELD(archive_task, key, JSON_FIELD_##type, CHANGE_COUNTS, member)

static const struct json_field task_fields[] = {
    FIELD("namespace", TEXT, ns),
    FIELD("cluster", TEXT, cluster),
    FIELD("clusterUID", TEXT, cluster_uid),
    FIELD("intervalSeconds", U32, interval_s),
};

void archive_task_release(struct archive_task *task)
{
    backup_store_release(&task->store);
    free(task->folder);
    OPENSSL_cleanse(task, sizeof(*task));
}

static void encode_task(const struct archive_task *task, uint32_t interval_s, struct strbuf *out)
{
    _cleanup_(task_document_drop) json_t *document = json_object();

    json_fields_encode(task_fields, ARRAY_LEN(task_fields), task, document);
    json_put_int(document, "intervalSeconds", interval_s);
    json_put_str(document, "folder", task->folder);
    json_put_str(document, "compression", backup_compression_names[task->compression]);
    json_put(document, "store", backup_store_encode(&task->store));
    if (task->sealed)
        task_key_encode(document, task->key);
    json_canonical(document, out);
}

void archive_task_encode(const struct archive_task *task, struct strbuf *out)
{
    encode_task(task, task->interval_s, out);
}

static int check_task(struct archive_task *task, const json_t *document, struct error *err)
{
    if (!json_object_get(document, "intervalSeconds"))
        task->interval_s = ARCHIVE_INTERVAL_DEFAULT_S;
    if (task->interval_s < ARCHIVE_INTERVAL_MIN_S || task->interval_s > ARCHIVE_INTERVAL_MAX_S)
        return error_set(
            err, ERROR_INVALID, "intervalSeconds: from %d to %d", ARCHIVE_INTERVAL_MIN_S, ARCHIVE_INTERVAL_MAX_S);
    if (!task_path_ok(task->ns, false))
        return error_set(err, ERROR_INVALID, "namespace: not a name");
    if (!task_path_ok(task->cluster, false))
        return error_set(err, ERROR_INVALID, "cluster: not a name");
    if (!task_path_ok(task->cluster_uid, false))
        return error_set(err, ERROR_INVALID, "clusterUID: not a name");
    if (!task_path_ok(str_or_empty(task->folder), true))
        return error_set(err, ERROR_INVALID, "folder: not the name of one");
    return 0;
}

static int decode_task(const json_t *document, struct archive_task *task, struct error *err)
{
    unsigned compression = 0;

    if (!json_is_object(document))
        return error_set(err, ERROR_INVALID, "it is no JSON object");
    if (task_lengths_check(task_fields, ARRAY_LEN(task_fields), document, err) < 0 ||
        json_fields_decode(task_fields, ARRAY_LEN(task_fields), document, task, err) < 0 ||
        task_text_decode(document, "folder", TASK_TEXT_MAX, &task->folder, err) < 0 ||
        check_task(task, document, err) < 0 ||
        task_name_decode(
            document, "compression", backup_compression_names, BACKUP_COMPRESSION_COUNT, &compression, err) < 0 ||
        task_key_decode(document, &task->sealed, task->key, err) < 0)
        return -1;
    task->compression = (enum backup_compression)compression;
    return backup_store_decode(document, &task->store, err);
}

int archive_task_decode(const char *text, size_t len, struct archive_task *ret, struct error *err)
{
    _cleanup_(task_document_drop) json_t *document = json_parse(text, len, err);
    struct archive_task task = {0};

    if (!document || decode_task(document, &task, err) < 0) {
        if (err)
            err->kind = ERROR_INVALID;
        archive_task_release(&task);
        return error_prefix(err, "the task");
    }
    *ret = task;
    OPENSSL_cleanse(&task, sizeof(task));
    return 0;
}

void archive_task_digest_at(const struct archive_task *task, uint32_t interval_s, char out[static 17])
{
    _cleanup_(strbuf_release_secret) struct strbuf text;
    char sha256[65];

    strbuf_init(&text, ARCHIVE_TASK_MAX);
    encode_task(task, interval_s, &text);
    tls_sha256_hex(text.buf, text.len, sha256);
    memcpy(out, sha256, 16);
    out[16] = '\0';
}

void archive_task_digest(const struct archive_task *task, char out[static 17])
{
    archive_task_digest_at(task, task->interval_s, out);
}

/* ---- reports ---- */

#define REPORT(key, type, change, member) JSON_FIELD(archive_report, key, JSON_FIELD_##type, CHANGE_##change, member)

static const struct json_field report_fields[] = {
    REPORT("task", TEXT, COUNTS, task),
    REPORT("known", BOOL, COUNTS, known),
    REPORT("epoch", U64, COUNTS, epoch),
    REPORT("sequence", U64, COUNTS, sequence),
    REPORT("fromGtid", TEXT, COUNTS, from_gtid),
    REPORT("fromEpoch", U64, COUNTS, from_epoch),
    REPORT("fromSequence", U64, COUNTS, from_sequence),
    REPORT("fromMs", I64, COUNTS, from_ms),
    REPORT("untilGtid", TEXT, COUNTS, until_gtid),
    REPORT("untilMs", I64, IGNORED, until_ms),
    REPORT("newestMs", I64, COUNTS, newest_ms),
    REPORT("gapMs", I64, COUNTS, gap_ms),
    REPORT("segments", U64, COUNTS, segments),
    REPORT("storedBytes", U64, COUNTS, stored_bytes),
    REPORT("errorReason", TEXT, COUNTS, error_reason),
    REPORT("message", TEXT, COUNTS, message),
};

json_t *archive_report_encode(const struct archive_report *report)
{
    if (!*report->task)
        return NULL;
    json_t *object = json_object();
    json_fields_encode(report_fields, ARRAY_LEN(report_fields), report, object);
    return object;
}

int archive_report_decode(const json_t *object, struct archive_report *ret, struct error *err)
{
    struct archive_report report = {0};

    if (json_fields_decode(report_fields, ARRAY_LEN(report_fields), object, &report, err) < 0)
        return -1;
    *ret = report;
    return 0;
}

bool archive_report_same(const struct archive_report *a, const struct archive_report *b)
{
    return json_fields_same(report_fields, ARRAY_LEN(report_fields), a, b);
}

uint64_t archive_report_digest(const struct archive_report *report)
{
    return json_fields_digest(report_fields, ARRAY_LEN(report_fields), report);
}
