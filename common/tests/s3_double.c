/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/tests/s3_double.h"

#include "common/alloc.h"
#include "common/clock.h"
#include "common/tls.h"

#define OBJECTS_MAX 4000
#define UPLOADS_MAX 64
#define PARTS_MAX 64
#define LATE_MAX 64
#define LATE_MS 30

const char *const s3_fault_names[S3_FAULT_SLOW + 1] = {
    "none", "500", "503", "502", "silent", "cut", "truncated", "error in a 200", "403", "slow"};

struct blob {
    char *key;
    char *data;
    size_t len;
    char etag[48];
};

/* An answer that comes later. */
struct late {
    struct http_exchange *exchange;
    int status;
    char *body;
    size_t len;
    char etag[48], range[64];
};

struct upload {
    char *key;
    char id[32];
    struct blob parts[PARTS_MAX]; /* by number */
};

struct s3_double {
    struct loop *loop;
    struct http_server *server;
    uint16_t port;
    char *bucket;
    char *endpoint;
    char *access_key;
    struct blob *objects[OBJECTS_MAX]; /* by key */
    size_t object_count;
    struct upload *uploads[UPLOADS_MAX];
    size_t upload_count;
    unsigned next_id;
    bool encodes; /* keys of the list that is being written */
    enum s3_fault fault;
    unsigned fault_at, fault_times;
    bool fault_after;
    unsigned requests;
    unsigned say_times;
    int say_status;
    char *say_body;
    size_t page;
    uint64_t break_at;
    unsigned break_times;
    bool ranges;
    bool undead;
    struct strvec log;
    struct http_exchange *kept[4096]; /* never answered while the test runs */
    size_t kept_count;
    struct late late[LATE_MAX];
    size_t late_count;
    struct loop_timer late_timer;
    struct http_exchange *cut; /* to be broken off in a moment, when the client has read */
    struct loop_timer cut_timer;
    /* The answer that is being made. */
    int status;
    struct strbuf body;
    const char *etag;
    char range[64];
};

/* ---- what is stored ---- */

static void blob_release(struct blob *blob)
{
    free(blob->key);
    free(blob->data);
}

static void blob_set(struct blob *blob, const char *data, size_t len)
{
    char hex[65];
    free(blob->data);
    blob->data = xmalloc(len + 1);
    memcpy(blob->data, data, len);
    blob->data[len] = '\0';
    blob->len = len;
    tls_sha256_hex(data, len, hex);
    snprintf(blob->etag, sizeof(blob->etag), "\"%.32s\"", hex);
}

static size_t find(const struct s3_double *s3, const char *key)
{
    size_t i = 0;
    while (i < s3->object_count && strcmp(s3->objects[i]->key, key) < 0)
        i++;
    return i;
}

static struct blob *object_at(const struct s3_double *s3, const char *key)
{
    const size_t i = find(s3, key);
    return i < s3->object_count && str_eq(s3->objects[i]->key, key) ? s3->objects[i] : NULL;
}

static struct blob *object_make(struct s3_double *s3, const char *key)
{
    struct blob *blob = object_at(s3, key);
    if (blob)
        return blob;
    const size_t i = find(s3, key);
    if (s3->object_count == OBJECTS_MAX)
        abort();
    memmove(s3->objects + i + 1, s3->objects + i, (s3->object_count - i) * sizeof(struct blob *));
    s3->object_count++;
    s3->objects[i] = blob = xnew(struct blob);
    blob->key = xstrdup(key);
    return blob;
}

static void object_drop(struct s3_double *s3, const char *key)
{
    const size_t i = find(s3, key);
    if (s3->undead || !object_at(s3, key))
        return;
    blob_release(s3->objects[i]);
    free(s3->objects[i]);
    memmove(s3->objects + i, s3->objects + i + 1, (--s3->object_count - i) * sizeof(struct blob *));
}

static struct upload *upload_at(const struct s3_double *s3, const char *key, const char *id)
{
    for (size_t i = 0; i < s3->upload_count; i++)
        if (str_eq(s3->uploads[i]->id, id) && str_eq(s3->uploads[i]->key, key))
            return s3->uploads[i];
    return NULL;
}

static void upload_drop(struct s3_double *s3, struct upload *upload)
{
    size_t i = 0;
    while (s3->uploads[i] != upload)
        i++;
    for (size_t n = 0; n < PARTS_MAX; n++)
        blob_release(&upload->parts[n]);
    free(upload->key);
    free(upload);
    memmove(s3->uploads + i, s3->uploads + i + 1, (--s3->upload_count - i) * sizeof(struct upload *));
}

/* ---- answers ---- */

static void refuse(struct s3_double *s3, int status, const char *code)
{
    s3->status = status;
    s3->etag = NULL;
    strbuf_reset(&s3->body);
    strbuf_addf(&s3->body, "<?xml version=\"1.0\"?><Error><Code>%s</Code><Message>so it is</Message></Error>", code);
}

static void do_put(struct s3_double *s3, const char *key, const char *data, size_t len)
{
    struct blob *blob = object_make(s3, key);
    blob_set(blob, data, len);
    s3->etag = blob->etag;
}

static void do_part(struct s3_double *s3, struct upload *upload, const char *number, const char *data, size_t len)
{
    const long n = strtol(number, NULL, 10);
    if (n < 1 || n >= PARTS_MAX) {
        refuse(s3, 400, "InvalidPartNumber");
        return;
    }
    blob_set(&upload->parts[n], data, len);
    s3->etag = upload->parts[n].etag;
}

static void do_begin(struct s3_double *s3, const char *key)
{
    struct upload *upload = xnew(struct upload);
    if (s3->upload_count == UPLOADS_MAX)
        abort();
    s3->uploads[s3->upload_count++] = upload;
    upload->key = xstrdup(key);
    snprintf(upload->id, sizeof(upload->id), "id/%u+&", s3->next_id++);
    strbuf_addf(&s3->body,
        "<InitiateMultipartUploadResult><Key>%s</Key><UploadId>id/%u+&amp;</UploadId></InitiateMultipartUploadResult>",
        key, s3->next_id - 1);
}

/* Every part that was sent must be named with its ETag. */
static void do_complete(struct s3_double *s3, struct upload *upload, const char *list)
{
    struct strbuf whole;
    unsigned count = 0;
    strbuf_init(&whole, 64 * KM_MIB);
    for (size_t n = 1; n < PARTS_MAX; n++) {
        const struct blob *part = &upload->parts[n];
        char wanted[160];
        snprintf(wanted, sizeof(wanted), "<Part><PartNumber>%zu</PartNumber><ETag>%s</ETag></Part>", n, part->etag);
        if (!part->data)
            continue;
        if (!strstr(list, wanted)) {
            strbuf_release(&whole);
            refuse(s3, 400, "InvalidPart");
            return;
        }
        count++;
        strbuf_add(&whole, part->data, part->len);
    }
    struct blob *blob = object_make(s3, upload->key);
    blob_set(blob, whole.buf, whole.len);
    snprintf(blob->etag + 33, sizeof(blob->etag) - 33, "-%u\"", count);
    strbuf_release(&whole);
    upload_drop(s3, upload);
    strbuf_addf(
        &s3->body, "  <CompleteMultipartUploadResult><ETag>%s</ETag></CompleteMultipartUploadResult>", blob->etag);
}

/* With encoding-type=url, as buckets do: and not otherwise. */
static void add_key(const struct s3_double *s3, struct strbuf *out, const char *key)
{
    if (s3->encodes)
        strbuf_add_urlencoded(out, key);
    else
        strbuf_adds(out, key);
}

static void add_group(const struct s3_double *s3, struct strbuf *out, const char *prefix)
{
    strbuf_adds(out, "<CommonPrefixes><Prefix>");
    add_key(s3, out, prefix);
    strbuf_adds(out, "</Prefix></CommonPrefixes>");
}

static void add_encoding(struct s3_double *s3)
{
    if (s3->encodes)
        strbuf_adds(&s3->body, "<EncodingType>url</EncodingType>");
}

static void list_entry(struct s3_double *s3, const struct blob *blob)
{
    strbuf_adds(&s3->body, "<Contents><Key>");
    add_key(s3, &s3->body, blob->key);
    strbuf_addf(
        &s3->body, "</Key><LastModified>2026-01-02T03:04:05.000Z</LastModified><Size>%zu</Size></Contents>", blob->len);
}

static void do_list(struct s3_double *s3, const char *prefix, const char *token, const char *delimiter)
{
    char last[1024] = "";
    size_t count = 0;
    bool more = false;
    struct strbuf groups; /* behind the objects of the page, as AWS does it */
    strbuf_init(&groups, 64 * KM_MIB);
    strbuf_adds(&s3->body, "<ListBucketResult>");
    for (size_t i = 0; i < s3->object_count && !more; i++) {
        const struct blob *blob = s3->objects[i];
        if (!str_starts_with(blob->key, prefix) || (token && strcmp(blob->key, token) <= 0))
            continue;
        const char *deeper = delimiter ? strchr(blob->key + strlen(prefix), '/') : NULL;
        char group[1024] = "";
        if (deeper)
            snprintf(group, sizeof(group), "%.*s", (int)(deeper + 1 - blob->key), blob->key);
        if (deeper && (str_eq(group, last) || (token && str_starts_with(token, group))))
            continue;
        if (count == s3->page) {
            more = true;
            break;
        }
        count++;
        snprintf(last, sizeof(last), "%s", deeper ? group : blob->key);
        if (deeper)
            add_group(s3, &groups, group);
        else
            list_entry(s3, blob);
    }
    strbuf_add(&s3->body, groups.buf, groups.len);
    strbuf_release(&groups);
    strbuf_addf(&s3->body, "<IsTruncated>%s</IsTruncated>", more ? "true" : "false");
    if (more)
        strbuf_addf(&s3->body, "<NextContinuationToken>%s</NextContinuationToken>", last);
    add_encoding(s3);
    strbuf_adds(&s3->body, "</ListBucketResult>");
}

static void do_list_uploads(struct s3_double *s3, const char *prefix, const char *after)
{
    size_t count = 0;
    bool more = false;
    const struct upload *last = NULL;
    strbuf_adds(&s3->body, "<ListMultipartUploadsResult>");
    for (size_t i = 0; i < s3->upload_count; i++) {
        const struct upload *upload = s3->uploads[i];
        /* Ids grow, so they tell how far one was: deleted ones leave no hole. */
        if (!str_starts_with(upload->key, prefix) ||
            (after && strtoul(upload->id + 3, NULL, 10) <= strtoul(after + 3, NULL, 10)))
            continue;
        if (count++ == s3->page) {
            more = true;
            break;
        }
        last = upload;
        strbuf_adds(&s3->body, "<Upload><Key>");
        add_key(s3, &s3->body, upload->key);
        strbuf_addf(&s3->body, "</Key><UploadId>id/%lu+&amp;</UploadId></Upload>", strtoul(upload->id + 3, NULL, 10));
    }
    strbuf_addf(&s3->body, "<IsTruncated>%s</IsTruncated>", more ? "true" : "false");
    if (more && last) {
        strbuf_adds(&s3->body, "<NextKeyMarker>");
        add_key(s3, &s3->body, last->key);
        strbuf_addf(&s3->body, "</NextKeyMarker><NextUploadIdMarker>id/%lu+&amp;</NextUploadIdMarker>",
            strtoul(last->id + 3, NULL, 10));
    }
    add_encoding(s3);
    strbuf_adds(&s3->body, "</ListMultipartUploadsResult>");
}

/* "bytes=5-": the 5. */
static bool range_of(const char *text, uint64_t *ret)
{
    if (!str_starts_with(text, "bytes="))
        return false;
    *ret = strtoull(text + strlen("bytes="), NULL, 10);
    return true;
}

static void do_get(struct s3_double *s3, struct http_exchange *e, const struct blob *blob)
{
    uint64_t from = 0;
    const char *range = s3->ranges ? http_exchange_header(e, "Range") : NULL;
    const char *match = http_exchange_header(e, "If-Match");
    if (match && !str_eq(match, blob->etag)) {
        refuse(s3, 412, "PreconditionFailed");
        return;
    }
    if (range_of(range, &from)) {
        if (from >= blob->len) {
            refuse(s3, 416, "InvalidRange");
            return;
        }
        s3->status = 206;
        snprintf(s3->range, sizeof(s3->range), "bytes %llu-%zu/%zu", (unsigned long long)from, blob->len - 1, blob->len);
    }
    s3->etag = blob->etag;
    strbuf_add(&s3->body, blob->data + from, blob->len - from);
}

/* ---- one request ---- */

static void on_object(struct s3_double *s3, struct http_exchange *e, const char *key)
{
    size_t len = 0;
    const char *method = http_exchange_method(e);
    const char *data = http_exchange_body(e, &len);
    const char *id = http_exchange_query(e, "uploadId");
    const char *number = http_exchange_query(e, "partNumber");
    struct upload *upload = id ? upload_at(s3, key, id) : NULL;
    struct blob *blob = object_at(s3, key);
    if (id && !upload)
        refuse(s3, 404, "NoSuchUpload");
    else if (str_eq(method, "PUT") && id)
        do_part(s3, upload, str_or_empty(number), data, len);
    else if (str_eq(method, "PUT"))
        do_put(s3, key, data, len);
    else if (str_eq(method, "POST") && id)
        do_complete(s3, upload, data);
    else if (str_eq(method, "POST"))
        do_begin(s3, key);
    else if (str_eq(method, "DELETE") && id)
        upload_drop(s3, upload);
    else if (str_eq(method, "DELETE"))
        object_drop(s3, key);
    else if (!blob)
        refuse(s3, 404, "NoSuchKey");
    else
        do_get(s3, e, blob);
    if (s3->status == 200 && str_eq(method, "DELETE"))
        s3->status = 204;
}

static void on_bucket(struct s3_double *s3, struct http_exchange *e)
{
    const char *prefix = str_or_empty(http_exchange_query(e, "prefix"));
    s3->encodes = str_eq(str_or_empty(http_exchange_query(e, "encoding-type")), "url");
    if (http_exchange_query(e, "uploads"))
        do_list_uploads(s3, prefix, http_exchange_query(e, "upload-id-marker"));
    else
        do_list(s3, prefix, http_exchange_query(e, "continuation-token"), http_exchange_query(e, "delimiter"));
}

static bool may(const struct s3_double *s3, struct http_exchange *e)
{
    const char *authorization = http_exchange_header(e, "Authorization");
    char wanted[200];
    snprintf(wanted, sizeof(wanted), "Credential=%s/", s3->access_key);
    return !*s3->access_key || (authorization && strstr(authorization, wanted));
}

static void make_answer(struct s3_double *s3, struct http_exchange *e)
{
    char hex[65];
    size_t len = 0;
    const char *body = http_exchange_body(e, &len);
    const char *path = http_exchange_path(e) + 1;
    const size_t bucket = strlen(s3->bucket);
    tls_sha256_hex(body, len, hex);
    s3->status = 200;
    s3->etag = NULL;
    *s3->range = '\0';
    strbuf_reset(&s3->body);
    if (!str_eq(http_exchange_header(e, "x-amz-content-sha256"), hex))
        refuse(s3, 400, "XAmzContentSHA256Mismatch");
    else if (!may(s3, e))
        refuse(s3, 403, "InvalidAccessKeyId");
    else if (!str_starts_with(path, s3->bucket) || (path[bucket] && path[bucket] != '/'))
        refuse(s3, 404, "NoSuchBucket");
    else if (path[bucket])
        on_object(s3, e, path + bucket + 1);
    else
        on_bucket(s3, e);
}

static void on_cut_gone(void *arg)
{
    ((struct s3_double *)arg)->cut = NULL;
}

static void on_cut_timer(void *arg)
{
    struct s3_double *s3 = arg;
    if (s3->cut)
        http_stream_abort(steal_ptr(s3->cut));
}

/* A reset throws away what the client has not read yet, so it comes a little later than the bytes. */
static void cut_after(struct s3_double *s3, struct http_exchange *e, size_t len)
{
    if (s3->etag)
        http_exchange_add_header(e, "ETag", s3->etag);
    if (*s3->range)
        http_exchange_add_header(e, "Content-Range", s3->range);
    http_stream_start(e, s3->status, "application/xml", len > 0 ? on_cut_gone : NULL, s3);
    for (size_t at = 0; at < len; at += 16384)
        http_stream_write(e, s3->body.buf + at, MIN_OF(len - at, (size_t)16384));
    if (len == 0 || s3->cut) {
        http_stream_abort(e);
        return;
    }
    s3->cut = e;
    loop_timer_arm(&s3->cut_timer, 5);
}

static void send_answer(struct s3_double *s3, struct http_exchange *e)
{
    if (s3->etag)
        http_exchange_add_header(e, "ETag", s3->etag);
    if (*s3->range)
        http_exchange_add_header(e, "Content-Range", s3->range);
    http_reply(e, s3->status, s3->body.len ? "application/xml" : NULL, s3->body.buf, s3->body.len);
}

static void put_off(struct s3_double *s3, struct http_exchange *e)
{
    struct late *late = &s3->late[s3->late_count++];
    if (s3->late_count == LATE_MAX)
        abort();
    *late = (struct late){.exchange = e, .status = s3->status, .len = s3->body.len};
    late->body = xmemdup(s3->body.buf, MAX_OF(s3->body.len, (size_t)1));
    snprintf(late->etag, sizeof(late->etag), "%s", str_or_empty(s3->etag));
    snprintf(late->range, sizeof(late->range), "%s", s3->range);
    loop_timer_arm(&s3->late_timer, LATE_MS);
}

static void on_late_timer(void *arg)
{
    struct s3_double *s3 = arg;
    while (s3->late_count > 0) {
        struct late *late = &s3->late[--s3->late_count];
        if (*late->etag)
            http_exchange_add_header(late->exchange, "ETag", late->etag);
        if (*late->range)
            http_exchange_add_header(late->exchange, "Content-Range", late->range);
        http_reply(late->exchange, late->status, late->len ? "application/xml" : NULL, late->body, late->len);
        free(late->body);
    }
}

static void send_fault(struct s3_double *s3, struct http_exchange *e, enum s3_fault fault)
{
    const bool xml = s3->body.len > 0 && *s3->body.buf && strchr("< ", *s3->body.buf);
    if (fault == S3_FAULT_SLOW) {
        put_off(s3, e);
        return;
    }
    if (fault == S3_FAULT_SILENT) {
        if (s3->kept_count == ARRAY_LEN(s3->kept))
            abort();
        s3->kept[s3->kept_count++] = e;
        return;
    }
    if (fault == S3_FAULT_CUT || (fault == S3_FAULT_TRUNCATED && !xml)) {
        cut_after(s3, e, 0);
        return;
    }
    if (fault == S3_FAULT_TRUNCATED) {
        strbuf_truncate(&s3->body, s3->body.len - 3);
    } else if (fault == S3_FAULT_502) {
        refuse(s3, 502, "");
        strbuf_reset(&s3->body);
        strbuf_adds(&s3->body, "<html><body>Bad gateway<br></body></html>");
    } else if (fault == S3_FAULT_ERROR_200) {
        refuse(s3, xml ? 200 : 500, "InternalError");
    } else {
        refuse(s3,
            fault == S3_FAULT_403       ? 403
                : fault == S3_FAULT_503 ? 503
                                        : 500,
            fault == S3_FAULT_403       ? "AccessDenied"
                : fault == S3_FAULT_503 ? "SlowDown"
                                        : "InternalError");
    }
    send_answer(s3, e);
}

static void write_log(struct s3_double *s3, struct http_exchange *e)
{
    const char *key = http_exchange_path(e) + 1 + strlen(s3->bucket);
    const char *number = http_exchange_query(e, "partNumber");
    const char *prefix = http_exchange_query(e, "prefix");
    strvec_pushf(&s3->log, "%s %s%s%s%s%s%s", http_exchange_method(e), *key == '/' ? key + 1 : key,
        http_exchange_query(e, "uploads") ? "?uploads" : "", http_exchange_query(e, "uploadId") ? "?uploadId" : "",
        number ? "?part=" : "", str_or_empty(number), prefix ? "?list" : "");
}

static bool breaks(struct s3_double *s3, struct http_exchange *e)
{
    uint64_t from = 0;
    if (s3->break_times == 0 || !str_eq(http_exchange_method(e), "GET") || !s3->etag)
        return false;
    range_of(http_exchange_header(e, "Range"), &from);
    s3->break_times--;
    cut_after(s3, e, s3->break_at > from ? MIN_OF(s3->break_at - from, s3->body.len) : 0);
    return true;
}

static void on_request(struct http_exchange *e, void *arg)
{
    struct s3_double *s3 = arg;
    const unsigned number = s3->requests++;
    const bool failing = s3->fault != S3_FAULT_NONE && number >= s3->fault_at && number - s3->fault_at < s3->fault_times;
    write_log(s3, e);
    if (s3->say_times > 0) {
        s3->say_times--;
        http_reply(e, s3->say_status, "application/xml", s3->say_body, strlen(s3->say_body));
        return;
    }
    /* A body that is cut short has had an effect: it cannot be made without. */
    if (!failing || s3->fault_after || s3->fault == S3_FAULT_TRUNCATED || s3->fault == S3_FAULT_SLOW)
        make_answer(s3, e);
    else
        strbuf_reset(&s3->body);
    if (failing)
        send_fault(s3, e, s3->fault);
    else if (!breaks(s3, e))
        send_answer(s3, e);
}

/* ---- outside ---- */

struct s3_double *s3_double_new(struct loop *loop, const char *bucket)
{
    static const struct http_route routes[] = {
        {"GET", "/*", on_request},
        {"PUT", "/*", on_request},
        {"POST", "/*", on_request},
        {"DELETE", "/*", on_request},
        {NULL, NULL, NULL},
    };
    struct s3_double *s3 = xnew(struct s3_double);
    s3->loop = loop;
    s3->bucket = xstrdup(bucket);
    s3->access_key = xstrdup("");
    s3->page = 1000;
    s3->ranges = true;
    loop_timer_init(&s3->late_timer, loop, on_late_timer, s3);
    loop_timer_init(&s3->cut_timer, loop, on_cut_timer, s3);
    strvec_init(&s3->log);
    strbuf_init(&s3->body, 64 * KM_MIB);
    s3->server = http_server_new(loop, NULL, routes, s3);
    if (http_server_listen(s3->server, "127.0.0.1", 0, &s3->port, NULL) < 0)
        abort();
    s3->endpoint = xasprintf("http://127.0.0.1:%u", s3->port);
    return s3;
}

void s3_double_free(struct s3_double *s3)
{
    http_server_free(s3->server);
    loop_timer_release(&s3->cut_timer);
    loop_timer_release(&s3->late_timer);
    for (size_t i = 0; i < s3->late_count; i++) {
        http_replyf(s3->late[i].exchange, 500, "gone");
        free(s3->late[i].body);
    }
    for (size_t i = 0; i < s3->kept_count; i++)
        http_replyf(s3->kept[i], 500, "gone");
    s3_double_drop_uploads(s3);
    for (size_t i = 0; i < s3->object_count; i++) {
        blob_release(s3->objects[i]);
        free(s3->objects[i]);
    }
    strbuf_release(&s3->body);
    strvec_release(&s3->log);
    free(s3->bucket);
    free(s3->endpoint);
    free(s3->access_key);
    free(s3->say_body);
    free(s3);
}

struct object_target s3_double_target(const struct s3_double *s3)
{
    return (struct object_target){.endpoint = s3->endpoint,
        .bucket = s3->bucket,
        .path_style = true,
        .access_key = "AKIATEST",
        .secret_key = "secret",
        .idle_timeout_ms = 60,
        .retry_base_ms = 1};
}

void s3_double_fail(struct s3_double *s3, enum s3_fault fault, unsigned at, unsigned times, bool after)
{
    s3->fault = fault;
    s3->fault_at = at;
    s3->fault_times = times;
    s3->fault_after = after;
    s3->requests = 0;
}

void s3_double_say(struct s3_double *s3, unsigned times, int status, const char *body)
{
    s3->say_times = times;
    s3->say_status = status;
    str_replace(&s3->say_body, body);
}

unsigned s3_double_requests(const struct s3_double *s3)
{
    return s3->requests;
}

const struct strvec *s3_double_log(const struct s3_double *s3)
{
    return &s3->log;
}

void s3_double_set_key(struct s3_double *s3, const char *access_key)
{
    str_replace(&s3->access_key, access_key);
}

void s3_double_set_page(struct s3_double *s3, size_t entries)
{
    s3->page = entries;
}

void s3_double_break_reads(struct s3_double *s3, uint64_t at, unsigned times)
{
    s3->break_at = at;
    s3->break_times = times;
}

void s3_double_set_ranges(struct s3_double *s3, bool understood)
{
    s3->ranges = understood;
}

void s3_double_set_undead(struct s3_double *s3, bool undead)
{
    s3->undead = undead;
}

const char *s3_double_get(const struct s3_double *s3, const char *key, size_t *ret_len)
{
    const struct blob *blob = object_at(s3, key);
    if (blob && ret_len)
        *ret_len = blob->len;
    return blob ? blob->data : NULL;
}

void s3_double_put(struct s3_double *s3, const char *key, const char *body, size_t len)
{
    blob_set(object_make(s3, key), body, len);
}

size_t s3_double_objects(const struct s3_double *s3)
{
    return s3->object_count;
}

size_t s3_double_uploads(const struct s3_double *s3)
{
    return s3->upload_count;
}

void s3_double_drop_uploads(struct s3_double *s3)
{
    while (s3->upload_count > 0)
        upload_drop(s3, s3->uploads[0]);
}
