/* SPDX-License-Identifier: Apache-2.0 */
/* s3_upload.c: multipart uploads (s3_store.h). */
#include "common/base.h"

#include "common/alloc.h"
#include "common/object_request.h"
#include "common/s3_sign.h"
#include "common/s3_store.h"
#include "common/s3_xml.h"

#define ANSWER_MAX ((size_t)(64 * KM_KIB))
#define QUERY_MAX ((size_t)(16 * KM_KIB))
#define ETAG_MAX 128
/* Times that one looks for uploads of the same key, until there are none. */
#define ABORT_ROUNDS_MAX 4

struct part {
    char *etag; /* NULL: not there */
    uint64_t bytes;
};

struct s3_upload {
    struct object_upload base;
    char *name;
    char *id; /* NULL: not begun */
    struct part *parts;
    size_t part_count;        /* length of parts: the largest number seen */
    struct list_node running; /* of struct running_part */
    struct object_call *call; /* beginning, completing, aborting */
    struct object_request *sweep;
    char *body; /* of the call */
    bool lost;  /* one was perhaps begun whose id never reached us, or a part may still be on its way */
    unsigned rounds;
    size_t found;         /* by the sweep */
    struct error refusal; /* of completing, while it is looked whether it was done */
    object_done_fn done;
    void *arg;
};

struct running_part {
    struct list_node node;
    struct s3_upload *upload;
    int number;
    size_t len;
    struct object_call *call;
    object_done_fn done;
    void *arg;
};

static struct s3_upload *s3_upload_of(struct object_upload *base)
{
    return container_of(base, struct s3_upload, base);
}

/* The last thing of a callback: upload may be freed by it. */
static void upload_tell(struct s3_upload *upload, const struct error *err)
{
    upload->done(upload->arg, err);
}

static void upload_expect(struct s3_upload *upload, object_done_fn done, void *arg)
{
    upload->done = done;
    upload->arg = arg;
}

/* query NULL: the upload's id. */
static void upload_call(struct s3_upload *upload, struct object_call_options options)
{
    struct strbuf query;
    strbuf_init(&query, QUERY_MAX);
    if (!options.query)
        s3_query_add(&query, "uploadId", upload->id);
    options.name = upload->name;
    options.query = options.query ? options.query : query.buf;
    options.max_body = ANSWER_MAX;
    options.arg = upload;
    upload->call = object_call_start(upload->base.store, &options);
    strbuf_release(&query);
}

static void on_refused(void *arg, const struct object_answer *answer, const struct error *err)
{
    struct s3_upload *upload = arg;
    UNUSED(answer);
    upload->call = NULL;
    upload_tell(upload, err);
}

/* ---- begin ---- */

static enum object_verdict judge_begun(void *arg, const struct object_answer *answer, struct error *err)
{
    struct s3_upload *upload = arg;
    return s3_xml_upload_id(answer->body, answer->len, &upload->id, err) == 0 ? OBJECT_GOOD : OBJECT_RETRY;
}

static void on_begun(void *arg, const struct object_answer *answer, const struct error *err)
{
    struct s3_upload *upload = arg;
    upload->call = NULL;
    upload->lost = answer->unsure || (err && answer->worth_a_retry);
    upload_tell(upload, err);
}

struct object_upload *s3_upload_begin(struct object_store *store, const char *name, object_done_fn started, void *arg)
{
    struct error err = ERROR_INIT;
    struct s3_upload *upload = xnew(struct s3_upload);
    upload->base.store = store;
    upload->name = xstrdup(name);
    list_init(&upload->running);
    list_push_back(&store->uploads, &upload->base.node);
    upload_expect(upload, started, arg);
    if (object_name_check(name, false, &err) < 0)
        upload->call = object_call_fail(store, &err, on_refused, upload);
    else
        upload_call(upload,
            (struct object_call_options){.method = "POST", .query = "uploads=", .judge = judge_begun, .done = on_begun});
    return &upload->base;
}

/* ---- parts ---- */

static void part_store(struct s3_upload *upload, int number, const char *etag, size_t bytes)
{
    const size_t index = (size_t)number - 1;
    if (index >= upload->part_count) {
        upload->parts = xreallocarray(upload->parts, index + 1, sizeof(*upload->parts));
        memset(upload->parts + upload->part_count, 0, (index + 1 - upload->part_count) * sizeof(*upload->parts));
        upload->part_count = index + 1;
    }
    str_replace(&upload->parts[index].etag, etag);
    upload->parts[index].bytes = bytes;
}

/* It is sent back in XML. */
static bool etag_is_usable(const char *etag)
{
    if (!etag || !*etag || strlen(etag) > ETAG_MAX)
        return false;
    for (const char *p = etag; *p; p++)
        if ((unsigned char)*p < ' ' || (unsigned char)*p >= 0x7f || strchr("<>&", *p))
            return false;
    return true;
}

static enum object_verdict judge_part(void *arg, const struct object_answer *answer, struct error *err)
{
    UNUSED(arg);
    if (etag_is_usable(http_request_header(answer->http, "ETag")))
        return OBJECT_GOOD;
    error_set(err, ERROR_PROTOCOL, "the answer to a part has no usable ETag");
    return OBJECT_RETRY;
}

static void on_part(void *arg, const struct object_answer *answer, const struct error *err)
{
    struct running_part *part = arg;
    const object_done_fn done = part->done;
    void *done_arg = part->arg;
    if (!err)
        part_store(part->upload, part->number, http_request_header(answer->http, "ETag"), part->len);
    list_remove(&part->node);
    free(part);
    done(done_arg, err);
}

static void part_start(struct running_part *part, const void *data, const unsigned char *sha256)
{
    struct strbuf query;
    char number[16];
    strbuf_init(&query, QUERY_MAX);
    snprintf(number, sizeof(number), "%d", part->number);
    s3_query_add(&query, "partNumber", number);
    s3_query_add(&query, "uploadId", part->upload->id);
    const struct object_call_options options = {.method = "PUT",
        .name = part->upload->name,
        .query = query.buf,
        .body = data,
        .body_len = part->len,
        .sha256 = sha256,
        .max_body = ANSWER_MAX,
        .judge = judge_part,
        .done = on_part,
        .arg = part};
    part->call = object_call_start(part->upload->base.store, &options);
    strbuf_release(&query);
}

void s3_upload_part(struct object_upload *base, int number, const void *data, size_t len, const unsigned char *sha256,
    object_done_fn done, void *arg)
{
    struct s3_upload *upload = s3_upload_of(base);
    struct error err = ERROR_INIT;
    struct running_part *part = xnew(struct running_part);
    *part = (struct running_part){.upload = upload, .number = number, .len = len, .done = done, .arg = arg};
    list_push_back(&upload->running, &part->node);
    if (number < 1 || number > OBJECT_PARTS_MAX)
        error_set(&err, ERROR_INVALID, "parts have numbers from 1 to %d", OBJECT_PARTS_MAX);
    else if (!upload->id)
        error_set(&err, ERROR_INVALID, "the upload has not begun");
    if (err.kind != ERROR_NONE)
        part->call = object_call_fail(upload->base.store, &err, on_part, part);
    else
        part_start(part, data, sha256);
}

static void cancel_parts(struct s3_upload *upload)
{
    struct list_node *pos;
    while ((pos = list_pop_front(&upload->running))) {
        struct running_part *part = container_of(pos, struct running_part, node);
        object_call_cancel(part->call);
        free(part);
    }
}

/* ---- complete ---- */

static size_t count_parts(const struct s3_upload *upload, uint64_t *ret_bytes)
{
    size_t count = 0;
    *ret_bytes = 0;
    for (size_t i = 0; i < upload->part_count; i++) {
        count += upload->parts[i].etag != NULL;
        *ret_bytes += upload->parts[i].bytes;
    }
    return count;
}

static void make_body(struct s3_upload *upload)
{
    struct strbuf body;
    strbuf_init(&body, (size_t)OBJECT_PARTS_MAX * (ETAG_MAX + 64) + 256);
    strbuf_adds(&body, "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">");
    for (size_t i = 0; i < upload->part_count; i++)
        if (upload->parts[i].etag)
            strbuf_addf(&body, "<Part><PartNumber>%zu</PartNumber><ETag>%s</ETag></Part>", i + 1, upload->parts[i].etag);
    strbuf_adds(&body, "</CompleteMultipartUpload>");
    free(upload->body);
    upload->body = strbuf_detach(&body, NULL);
}

static void on_completed_swept(void *arg, const struct error *err)
{
    struct s3_upload *upload = arg;
    UNUSED(err); /* the object is there; who deletes it looks again */
    upload->sweep = NULL;
    upload_tell(upload, NULL);
}

static void completed(struct s3_upload *upload)
{
    if (upload->lost)
        upload->sweep = s3_abort_uploads(upload->base.store, upload->name, true, NULL, on_completed_swept, upload);
    else
        upload_tell(upload, NULL);
}

/* "9b2cf535f27731c974343645a3985328-7": as many parts as ours, if it says. */
static bool etag_fits(const char *etag, size_t parts)
{
    const char *dash = etag ? strrchr(etag, '-') : NULL;
    return !dash || strtoull(dash + 1, NULL, 10) == parts;
}

static void on_looked(void *arg, const struct object_answer *answer, const struct error *err)
{
    struct s3_upload *upload = arg;
    uint64_t bytes = 0;
    const size_t parts = count_parts(upload, &bytes);
    const char *length = err ? NULL : http_request_header(answer->http, "Content-Length");
    const bool ours =
        length && strtoull(length, NULL, 10) == bytes && etag_fits(http_request_header(answer->http, "ETag"), parts);
    upload->call = NULL;
    if (ours)
        completed(upload);
    else if (err && err->kind != ERROR_NOT_FOUND)
        upload_tell(upload, err);
    else
        upload_tell(upload, &upload->refusal);
}

static enum object_verdict judge_completed(void *arg, const struct object_answer *answer, struct error *err)
{
    const struct s3_upload *upload = arg;
    struct object_refusal refusal = {.code = ""};
    const int said = s3_xml_completed(answer->body, answer->len, &refusal, err);
    if (said == 0)
        return OBJECT_GOOD;
    return said > 0 ? object_judge_refusal(upload->base.store, answer->status, &refusal, err) : OBJECT_RETRY;
}

static void on_completed(void *arg, const struct object_answer *answer, const struct error *err)
{
    struct s3_upload *upload = arg;
    upload->call = NULL;
    if (!err) {
        completed(upload);
    } else if (err->kind == ERROR_NOT_FOUND && answer->unsure) {
        /* No such upload, after a try whose answer was lost: it may be what that one did. */
        upload->refusal = *err;
        upload_call(upload, (struct object_call_options){.method = "HEAD", .query = "", .done = on_looked});
    } else {
        upload_tell(upload, err);
    }
}

void s3_upload_complete(struct object_upload *base, object_done_fn done, void *arg)
{
    struct s3_upload *upload = s3_upload_of(base);
    struct error err = ERROR_INIT;
    uint64_t bytes;
    upload_expect(upload, done, arg);
    if (!upload->id || !list_empty(&upload->running) || count_parts(upload, &bytes) == 0) {
        error_set(&err, ERROR_INVALID, "the upload has no parts, or some are still under way");
        upload->call = object_call_fail(upload->base.store, &err, on_refused, upload);
        return;
    }
    make_body(upload);
    upload_call(upload,
        (struct object_call_options){.method = "POST",
            .body = upload->body,
            .body_len = strlen(upload->body),
            .slow = true,
            .judge = judge_completed,
            .done = on_completed});
}

/* ---- abort ---- */

static void sweep_again(struct s3_upload *upload);

static void on_abort_swept(void *arg, const struct error *err)
{
    struct s3_upload *upload = arg;
    upload->sweep = NULL;
    if (err || upload->found == 0 || ++upload->rounds == ABORT_ROUNDS_MAX)
        upload_tell(upload, err);
    else
        sweep_again(upload);
}

static void sweep_again(struct s3_upload *upload)
{
    upload->sweep = s3_abort_uploads(upload->base.store, upload->name, true, &upload->found, on_abort_swept, upload);
}

static void on_aborted(void *arg, const struct object_answer *answer, const struct error *err)
{
    struct s3_upload *upload = arg;
    UNUSED(answer);
    upload->call = NULL;
    if (err && err->kind != ERROR_NOT_FOUND)
        upload_tell(upload, err);
    else if (upload->lost)
        sweep_again(upload);
    else
        upload_tell(upload, NULL);
}

static void stop_calls(struct s3_upload *upload)
{
    object_call_cancel(steal_ptr(upload->call));
    if (upload->sweep)
        object_request_cancel(steal_ptr(upload->sweep));
}

void s3_upload_abort(struct object_upload *base, object_done_fn done, void *arg)
{
    struct s3_upload *upload = s3_upload_of(base);
    /* A part that is cut off on its way may still arrive, and an upload that was being begun may exist. */
    upload->lost |= !list_empty(&upload->running) || upload->call;
    cancel_parts(upload);
    stop_calls(upload);
    upload_expect(upload, done, arg);
    upload->rounds = 0;
    if (upload->id)
        upload_call(upload, (struct object_call_options){.method = "DELETE", .done = on_aborted});
    else
        sweep_again(upload);
}

/* ---- free ---- */

void s3_upload_free(struct object_upload *base)
{
    struct s3_upload *upload = s3_upload_of(base);
    cancel_parts(upload);
    stop_calls(upload);
    list_remove(&base->node);
    for (size_t i = 0; i < upload->part_count; i++)
        free(upload->parts[i].etag);
    free(upload->parts);
    free(upload->name);
    free(upload->id);
    free(upload->body);
    free(upload);
}
