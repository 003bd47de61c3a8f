#include "common/base.h"

#include "common/backup_task.h"

#include <openssl/crypto.h>

#include "common/alloc.h"
#include "common/json.h"
#include "common/json_fields.h"
#include "common/tls.h"

/* Longer than any real one: names of buckets have 63, keys of AWS' sessions about 1,000 bytes. */
#define TEXT_MAX 8192
#define PEM_MAX (48 * KM_KIB)

const char *const backup_state_names[BACKUP_STATE_COUNT] = {
    [BACKUP_STATE_NONE] = "",
    [BACKUP_STATE_RUNNING] = "Running",
    [BACKUP_STATE_COMPLETED] = "Completed",
    [BACKUP_STATE_FAILED] = "Failed",
};

/* ---- members ---- */

struct store_text {
    const char *key;
    size_t offset;
    size_t max;
    bool secret;
};
#define STORE_TEXT(key, member, max, secret)                    \
    {                                                           \
        key, offsetof(struct backup_store, member), max, secret \
    }

static const struct store_text store_texts[] = {
    STORE_TEXT("endpoint", endpoint, TEXT_MAX, false),
    STORE_TEXT("region", region, TEXT_MAX, false),
    STORE_TEXT("bucket", bucket, TEXT_MAX, false),
    STORE_TEXT("prefix", prefix, TEXT_MAX, false),
    STORE_TEXT("accessKey", access_key, TEXT_MAX, true),
    STORE_TEXT("secretKey", secret_key, TEXT_MAX, true),
    STORE_TEXT("sessionToken", session_token, TEXT_MAX, true),
    STORE_TEXT("ca", ca_pem, PEM_MAX, false),
    STORE_TEXT("connectTo", connect_to, TEXT_MAX, false),
    STORE_TEXT("serverName", server_name, TEXT_MAX, false),
};

#define FIELD(key, type, member) JSON_FIELD(backup_task, key, JSON_FIELD_##type, CHANGE_COUNTS, member)

static const struct json_field task_fields[] = {
    FIELD("id", TEXT, id),
    FIELD("namespace", TEXT, ns),
    FIELD("cluster", TEXT, cluster),
    FIELD("clusterUID", TEXT, cluster_uid),
    FIELD("rateLimit", U64, rate_limit),
    FIELD("digest", TEXT, digest),
    FIELD("untilGtid", TEXT, until_gtid),
    FIELD("untilMs", I64, until_ms),
};

static char **store_member(const struct backup_store *store, const struct store_text *text)
{
    return (char **)(uintptr_t)((const char *)store + text->offset);
}

void backup_store_release(struct backup_store *store)
{
    for (size_t i = 0; i < ARRAY_LEN(store_texts); i++)
        secret_free(*store_member(store, &store_texts[i]));
    *store = (struct backup_store){0};
}

void backup_store_take_keys(struct backup_store *to, const struct backup_store *from)
{
    for (size_t i = 0; i < ARRAY_LEN(store_texts); i++) {
        if (!store_texts[i].secret)
            continue;
        char **member = store_member(to, &store_texts[i]);
        secret_free(*member);
        *member = xstrdup(*store_member(from, &store_texts[i]));
    }
}

void backup_task_release(struct backup_task *task)
{
    backup_store_release(&task->store);
    free(task->folder);
    free(task->binlogs_folder);
    OPENSSL_cleanse(task, sizeof(*task));
}

/* What jansson holds of a document with secrets, before it is freed. */
static void wipe_texts(json_t *value)
{
    const char *key;
    json_t *member;

    if (json_is_string(value))
        OPENSSL_cleanse((char *)(uintptr_t)json_string_value(value), json_string_length(value));
    json_object_foreach(value, key, member)
        wipe_texts(member);
}

static void json_drop_secret(json_t **document)
{
    if (*document)
        wipe_texts(*document);
    json_decref(*document);
}

/* ---- encode ---- */

static json_t *encode_store(const struct backup_store *store)
{
    json_t *object = json_object();

    for (size_t i = 0; i < ARRAY_LEN(store_texts); i++) {
        const char *text = *store_member(store, &store_texts[i]);
        if (!str_empty(text))
            json_put_str(object, store_texts[i].key, text);
    }
    if (store->path_style)
        json_put_bool(object, "pathStyle", true);
    if (store->is_volume)
        json_put_bool(object, "volume", true);
    return object;
}

void backup_task_encode(const struct backup_task *task, struct strbuf *out)
{
    _cleanup_(json_drop_secret) json_t *document = json_object();

    json_fields_encode(task_fields, ARRAY_LEN(task_fields), task, document);
    json_put_str(document, "folder", task->folder);
    if (task->binlogs_folder)
        json_put_str(document, "binlogsFolder", task->binlogs_folder);
    json_put_str(document, "method", backup_method_names[task->method]);
    json_put_str(document, "compression", backup_compression_names[task->compression]);
    json_put(document, "store", encode_store(&task->store));
    if (task->sealed) {
        char *key = tls_base64_encode(task->key, sizeof(task->key));
        json_put_str(document, "key", key);
        secret_free(key);
    }
    json_canonical(document, out);
}

/* ---- decode ---- */

static int decode_text(const json_t *object, const char *key, size_t max, char **ret, struct error *err)
{
    const char *text = NULL;

    if (json_want_str(object, key, &text, err) < 0)
        return -1;
    if (text && json_string_length(json_object_get(object, key)) > max)
        return error_set(err, ERROR_INVALID, "%s: longer than %zu bytes", key, max);
    *ret = xstrdup(text);
    return 0;
}

static int check_store(const struct backup_store *store, struct error *err)
{
    if (str_empty(store->bucket))
        return error_set(err, ERROR_INVALID, "bucket is missing");
    if (store->is_volume && (str_empty(store->connect_to) || str_empty(store->server_name)))
        return error_set(err, ERROR_INVALID, "a volume needs connectTo and serverName");
    if (str_empty(store->access_key) != str_empty(store->secret_key))
        return error_set(err, ERROR_INVALID, "accessKey and secretKey belong together");
    return 0;
}

static int decode_store(const json_t *document, struct backup_store *store, struct error *err)
{
    const json_t *object = json_object_get(document, "store");

    if (!json_is_object(object))
        return error_set(err, ERROR_INVALID, "is missing, or no object");
    for (size_t i = 0; i < ARRAY_LEN(store_texts); i++) {
        const struct store_text *text = &store_texts[i];
        if (decode_text(object, text->key, text->max, store_member(store, text), err) < 0)
            return -1;
    }
    if (json_want_bool(object, "pathStyle", &store->path_style, err) < 0 ||
        json_want_bool(object, "volume", &store->is_volume, err) < 0)
        return -1;
    return check_store(store, err);
}

static int decode_name(
    const json_t *document, const char *key, const char *const *names, unsigned count, unsigned *ret, struct error *err)
{
    const char *text = NULL;

    *ret = 0;
    if (json_want_str(document, key, &text, err) < 0)
        return -1;
    for (unsigned i = 0; text && i < count; i++) {
        if (!str_eq(names[i], text))
            continue;
        *ret = i;
        return 0;
    }
    return text ? error_set(err, ERROR_INVALID, "%s: not one that this version knows", key) : 0;
}

static int decode_names(const json_t *document, struct backup_task *task, struct error *err)
{
    unsigned method = 0;
    unsigned compression = 0;

    if (decode_name(document, "method", backup_method_names, BACKUP_METHOD_COUNT, &method, err) < 0 ||
        decode_name(document, "compression", backup_compression_names, BACKUP_COMPRESSION_COUNT, &compression, err) < 0)
        return -1;
    task->method = (enum backup_method)method;
    task->compression = (enum backup_compression)compression;
    return 0;
}

static int decode_key(const json_t *document, struct backup_task *task, struct error *err)
{
    const char *text = NULL;
    size_t len = 0;

    if (json_want_str(document, "key", &text, err) < 0)
        return -1;
    if (!text)
        return 0;
    char *key = tls_base64_decode(text, strlen(text), &len, NULL);
    bool fits = key && len == sizeof(task->key);
    if (fits)
        memcpy(task->key, key, len);
    if (key)
        OPENSSL_cleanse(key, len);
    free(key);
    task->sealed = fits;
    return fits ? 0 : error_set(err, ERROR_INVALID, "key: no %zu bytes in base64", sizeof(task->key));
}

/* A text that does not fit would be cut into another one. */
static int check_lengths(const json_t *document, struct error *err)
{
    for (size_t i = 0; i < ARRAY_LEN(task_fields); i++) {
        const struct json_field *field = &task_fields[i];
        size_t len = json_string_length(json_object_get(document, field->key));
        if (field->type == JSON_FIELD_TEXT && len >= field->size)
            return error_set(err, ERROR_INVALID, "%s: longer than %zu bytes", field->key, field->size - 1);
    }
    return 0;
}

/* Part of the names of objects: "..", "//" or a slash at an end would lead elsewhere. */
static bool is_path(const char *text, bool slashes)
{
    static const char allowed[] = "/abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    size_t len = strlen(text);

    return len > 0 && text[strspn(text, slashes ? allowed : allowed + 1)] == '\0' && !strstr(text, "..") &&
        !strstr(text, "//") && text[0] != '/' && text[len - 1] != '/';
}

static int check_names(const struct backup_task *task, struct error *err)
{
    if (!is_path(task->id, false))
        return error_set(err, ERROR_INVALID, "id: not a name");
    if (!is_path(task->ns, false))
        return error_set(err, ERROR_INVALID, "namespace: not a name");
    if (!is_path(task->cluster, false))
        return error_set(err, ERROR_INVALID, "cluster: not a name");
    if (!is_path(str_or_empty(task->folder), true))
        return error_set(err, ERROR_INVALID, "folder: not the name of one");
    if (task->binlogs_folder && !is_path(task->binlogs_folder, true))
        return error_set(err, ERROR_INVALID, "binlogsFolder: not the name of one");
    if (!task->binlogs_folder && (*task->until_gtid || task->until_ms))
        return error_set(err, ERROR_INVALID, "untilGtid, untilMs: nothing is replayed without binlogsFolder");
    if (*task->until_gtid && task->until_ms)
        return error_set(err, ERROR_INVALID, "untilGtid, untilMs: only one of them");
    return 0;
}

static int decode_task(const json_t *document, struct backup_task *task, struct error *err)
{
    if (!json_is_object(document))
        return error_set(err, ERROR_INVALID, "it is no JSON object");
    if (check_lengths(document, err) < 0 ||
        json_fields_decode(task_fields, ARRAY_LEN(task_fields), document, task, err) < 0 ||
        decode_text(document, "folder", TEXT_MAX, &task->folder, err) < 0 ||
        decode_text(document, "binlogsFolder", TEXT_MAX, &task->binlogs_folder, err) < 0 ||
        check_names(task, err) < 0 || decode_names(document, task, err) < 0 || decode_key(document, task, err) < 0)
        return -1;
    return decode_store(document, &task->store, err) < 0 ? error_prefix(err, "store") : 0;
}

int backup_task_decode(const char *text, size_t len, struct backup_task *ret, struct error *err)
{
    _cleanup_(json_drop_secret) json_t *document = json_parse(text, len, err);
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
