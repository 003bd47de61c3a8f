/* SPDX-License-Identifier: Apache-2.0 */
/* s3_answers.c: what the documents of s3_xml.h say. */
#include "common/base.h"

#include "common/alloc.h"
#include "common/clock.h"
#include "common/http_head.h"
#include "common/s3_xml.h"

/* All of them are walked twice: once to see that they are whole, then for what they say. */
static int walk_whole(const char *text, size_t len, const struct s3_xml_ops *ops, void *arg, struct error *err)
{
    if (s3_xml_walk(text, len, NULL, NULL, err) < 0)
        return -1;
    return s3_xml_walk(text, len, ops, arg, err);
}

static void copy_clean(char *out, size_t size, const char *text)
{
    size_t len = MIN_OF(strlen(text), size - 1);
    memcpy(out, text, len);
    out[len] = '\0';
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)out[i] < ' ' || out[i] == '\x7f')
            out[i] = ' ';
}

static int unsigned_of(const char *text, uint64_t *ret)
{
    uint64_t value = 0;
    if (!*text)
        return -1;
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || __builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
            return -1;
    }
    *ret = value;
    return 0;
}

/* ---- Error ---- */

struct error_reader {
    struct object_refusal *out;
    bool found;
};

static void error_close(void *arg, const char *path, const char *text)
{
    struct error_reader *reader = arg;
    struct object_refusal *out = reader->out;
    const struct {
        const char *path;
        char *field;
        size_t size;
    } fields[] = {
        {"Error/Code", out->code, sizeof(out->code)},
        {"Error/Message", out->message, sizeof(out->message)},
        {"Error/Region", out->region, sizeof(out->region)},
        {"Error/Endpoint", out->endpoint, sizeof(out->endpoint)},
        {"Error/ServerTime", out->server_time, sizeof(out->server_time)},
    };
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        if (str_eq(path, fields[i].path))
            copy_clean(fields[i].field, fields[i].size, text);
    if (str_eq(path, "Error"))
        reader->found = true;
}

int s3_xml_error(const char *text, size_t len, struct object_refusal *ret, struct error *err)
{
    static const struct s3_xml_ops ops = {.close = error_close};
    struct object_refusal found = {.code = ""};
    struct error_reader reader = {.out = &found};
    if (walk_whole(text, len, &ops, &reader, err) < 0)
        return -1;
    if (!reader.found || !*found.code)
        return error_set(err, ERROR_PROTOCOL, "not an XML answer: no Error");
    *ret = found;
    return 0;
}

/* ---- lists ---- */

struct list_reader {
    int (*each_object)(void *arg, const struct object_found *entry);
    int (*each_upload)(void *arg, const char *key, const char *id);
    void *arg;
    bool found;
    bool ended; /* by the receiver */
    bool truncated;
    bool encoded;      /* keys and prefixes are percent-encoded */
    const char *wrong; /* what could not be read; static */
    char *key;
    char *id;
    uint64_t bytes;
    bool has_bytes;
    int64_t modified_ms;
    bool has_modified;
    char *next;
    char *next_id;
};

static void list_reader_release(struct list_reader *r)
{
    free(r->key);
    free(r->id);
    free(r->next);
    free(r->next_id);
}

/* Of the page, which is walked twice: the element may stand behind the keys. */
static void read_encoding(struct list_reader *r, const char *text)
{
    r->encoded = str_eq(text, "url");
    if (!r->encoded && !str_empty(text))
        r->wrong = "EncodingType";
}

/* New text; "" where it cannot be read. AWS and others write a blank as '+'. */
static char *decode_key(struct list_reader *r, const char *text)
{
    char *key = xstrdup(text);
    if (r->encoded && http_percent_decode(key, true) < 0) {
        r->wrong = "a key that is badly encoded";
        *key = '\0';
    }
    return key;
}

static void take_key(struct list_reader *r, char **ret, const char *text)
{
    free(*ret);
    *ret = decode_key(r, text);
}

static void objects_open(void *arg, const char *path)
{
    struct list_reader *r = arg;
    if (!str_eq(path, "ListBucketResult/Contents"))
        return;
    str_replace(&r->key, NULL);
    r->has_bytes = r->has_modified = false;
}

static void hand_out_object(struct list_reader *r)
{
    if (!r->key || !r->has_bytes || !r->has_modified) {
        r->wrong = "an entry without key, size or date";
        return;
    }
    const struct object_found entry = {.key = r->key, .bytes = r->bytes, .modified_ms = r->modified_ms};
    if (!r->ended && r->each_object(r->arg, &entry) < 0)
        r->ended = true;
}

static void hand_out_prefix(struct list_reader *r, const char *text)
{
    _cleanup_(freep) char *key = decode_key(r, text);
    const struct object_found entry = {.key = key, .is_prefix = true};
    if (!r->ended && r->each_object(r->arg, &entry) < 0)
        r->ended = true;
}

static void read_truncated(struct list_reader *r, const char *text)
{
    r->truncated = str_eq(text, "true");
    if (!r->truncated && !str_eq(text, "false"))
        r->wrong = "IsTruncated";
}

static void objects_close(void *arg, const char *path, const char *text)
{
    struct list_reader *r = arg;
    if (str_eq(path, "ListBucketResult/Contents/Key"))
        take_key(r, &r->key, text);
    else if (str_eq(path, "ListBucketResult/Contents/Size"))
        r->has_bytes = unsigned_of(text, &r->bytes) == 0;
    else if (str_eq(path, "ListBucketResult/Contents/LastModified"))
        r->has_modified = clock_parse_rfc3339(text, &r->modified_ms) == 0;
    else if (str_eq(path, "ListBucketResult/Contents"))
        hand_out_object(r);
    else if (str_eq(path, "ListBucketResult/CommonPrefixes/Prefix"))
        hand_out_prefix(r, text);
    else if (str_eq(path, "ListBucketResult/EncodingType"))
        read_encoding(r, text);
    else if (str_eq(path, "ListBucketResult/IsTruncated"))
        read_truncated(r, text);
    else if (str_eq(path, "ListBucketResult/NextContinuationToken"))
        str_replace(&r->next, text);
    else if (str_eq(path, "ListBucketResult"))
        r->found = true;
}

static void uploads_open(void *arg, const char *path)
{
    struct list_reader *r = arg;
    if (!str_eq(path, "ListMultipartUploadsResult/Upload"))
        return;
    str_replace(&r->key, NULL);
    str_replace(&r->id, NULL);
}

static void hand_out_upload(struct list_reader *r)
{
    if (!r->key || str_empty(r->id))
        r->wrong = "an upload without key or id";
    else if (!r->ended && r->each_upload(r->arg, r->key, r->id) < 0)
        r->ended = true;
}

static void uploads_close(void *arg, const char *path, const char *text)
{
    struct list_reader *r = arg;
    if (str_eq(path, "ListMultipartUploadsResult/Upload/Key"))
        take_key(r, &r->key, text);
    else if (str_eq(path, "ListMultipartUploadsResult/Upload/UploadId"))
        str_replace(&r->id, text);
    else if (str_eq(path, "ListMultipartUploadsResult/Upload"))
        hand_out_upload(r);
    else if (str_eq(path, "ListMultipartUploadsResult/EncodingType"))
        read_encoding(r, text);
    else if (str_eq(path, "ListMultipartUploadsResult/IsTruncated"))
        read_truncated(r, text);
    else if (str_eq(path, "ListMultipartUploadsResult/NextKeyMarker"))
        take_key(r, &r->next, text);
    else if (str_eq(path, "ListMultipartUploadsResult/NextUploadIdMarker"))
        str_replace(&r->next_id, text);
    else if (str_eq(path, "ListMultipartUploadsResult"))
        r->found = true;
}

static int check_list(const struct list_reader *r, struct error *err)
{
    if (!r->found)
        return error_set(err, ERROR_PROTOCOL, "not the list that was asked for");
    if (r->wrong)
        return error_set(err, ERROR_PROTOCOL, "not a list that can be read: %s", r->wrong);
    if (r->truncated && str_empty(r->next))
        return error_set(err, ERROR_PROTOCOL, "a list that is cut and does not say where it goes on");
    return 0;
}

static int rehearse(const char *text, size_t len, const struct s3_xml_ops *ops, bool *encoded, struct error *err)
{
    struct list_reader rehearsal = {.ended = true, .encoded = *encoded};
    int rc = s3_xml_walk(text, len, ops, &rehearsal, err);
    if (rc == 0)
        rc = check_list(&rehearsal, err);
    *encoded = rehearsal.encoded;
    list_reader_release(&rehearsal);
    return rc;
}

/* How keys are encoded may stand behind them, so one that is badly encoded may be found in a second look. */
static int read_list(
    const char *text, size_t len, const struct s3_xml_ops *ops, struct list_reader *r, struct error *err)
{
    if (rehearse(text, len, ops, &r->encoded, err) < 0 || (r->encoded && rehearse(text, len, ops, &r->encoded, err) < 0))
        return -1;
    return s3_xml_walk(text, len, ops, r, err);
}

int s3_xml_objects(const char *text, size_t len, int (*each)(void *arg, const struct object_found *entry), void *arg,
    char **ret_token, struct error *err)
{
    static const struct s3_xml_ops ops = {.open = objects_open, .close = objects_close};
    struct list_reader r = {.each_object = each, .arg = arg};
    const int rc = read_list(text, len, &ops, &r, err);
    if (rc == 0)
        *ret_token = r.truncated ? steal_ptr(r.next) : NULL;
    list_reader_release(&r);
    return rc;
}

int s3_xml_uploads(const char *text, size_t len, int (*each)(void *arg, const char *key, const char *id), void *arg,
    char **ret_key, char **ret_id, struct error *err)
{
    static const struct s3_xml_ops ops = {.open = uploads_open, .close = uploads_close};
    struct list_reader r = {.each_upload = each, .arg = arg};
    const int rc = read_list(text, len, &ops, &r, err);
    if (rc == 0) {
        *ret_key = r.truncated ? steal_ptr(r.next) : NULL;
        *ret_id = r.truncated ? steal_ptr(r.next_id) : NULL;
    }
    list_reader_release(&r);
    return rc;
}

/* ---- uploads ---- */

static void initiated_close(void *arg, const char *path, const char *text)
{
    if (str_eq(path, "InitiateMultipartUploadResult/UploadId"))
        str_replace(arg, text);
}

int s3_xml_upload_id(const char *text, size_t len, char **ret_id, struct error *err)
{
    static const struct s3_xml_ops ops = {.close = initiated_close};
    char *id = NULL;
    int rc = walk_whole(text, len, &ops, &id, err);
    if (rc == 0 && str_empty(id))
        rc = error_set(err, ERROR_PROTOCOL, "an upload without an id");
    if (rc == 0)
        *ret_id = steal_ptr(id);
    free(id);
    return rc;
}

static void completed_close(void *arg, const char *path, const char *text)
{
    UNUSED(text);
    if (str_eq(path, "CompleteMultipartUploadResult"))
        *(bool *)arg = true;
}

int s3_xml_completed(const char *text, size_t len, struct object_refusal *ret_refusal, struct error *err)
{
    static const struct s3_xml_ops ops = {.close = completed_close};
    bool completed = false;
    if (walk_whole(text, len, &ops, &completed, err) < 0)
        return -1;
    if (completed)
        return 0;
    if (s3_xml_error(text, len, ret_refusal, err) == 0)
        return 1;
    return error_set(err, ERROR_PROTOCOL, "neither a completed upload nor an Error");
}
