/* SPDX-License-Identifier: Apache-2.0 */
/* object_read.c: an object as a stream, over as many connections as it takes (object_store.h). */
#include "common/base.h"

#include "common/alloc.h"
#include "common/object_request.h"
#include "common/s3_sign.h"

struct reading {
    struct object_request request;
    char *name;
    uint64_t at;    /* the next byte */
    uint64_t begun; /* where the call under way began */
    char *etag;     /* of the first answer; NULL: none yet, or the server gives none */
    bool checked;   /* the head of the answer under way is good */
    struct error refusal;
    int (*data)(void *arg, const char *data, size_t len);
    void *data_arg;
};

static void reading_release(struct object_request *request)
{
    struct reading *r = container_of(request, struct reading, request);
    free(r->name);
    free(r->etag);
}

static void reading_go_on(struct reading *r, bool at_once);

/* "bytes 5-99/100": the 5. */
static int range_start(const char *text, uint64_t *ret)
{
    char *end = NULL;
    if (!str_starts_with(text, "bytes "))
        return -1;
    *ret = strtoull(text + strlen("bytes "), &end, 10);
    return *end == '-' ? 0 : -1;
}

static int check_head(struct reading *r, const struct http_request *http)
{
    uint64_t start = 0;
    const int status = http_request_status(http);
    const bool ranged = status == 206;
    if (r->begun > 0 && !ranged)
        return error_set(&r->refusal, ERROR_PROTOCOL, "the server does not speak Range (HTTP %d)", status);
    if (ranged && (range_start(http_request_header(http, "Content-Range"), &start) < 0 || start != r->begun))
        return error_set(&r->refusal, ERROR_PROTOCOL, "the server sends another range than was asked for");
    const char *etag = http_request_header(http, "ETag");
    if (r->etag && etag && !str_eq(r->etag, etag))
        return error_set(&r->refusal, ERROR_CONFLICT, "the object was replaced while it was read");
    if (!r->etag)
        r->etag = xstrdup(etag);
    r->checked = true;
    return 0;
}

static int on_data(void *arg, struct http_request *http, const char *data, size_t len)
{
    struct reading *r = arg;
    if (!r->checked && check_head(r, http) < 0)
        return -1;
    r->at += len;
    return r->data(r->data_arg, data, len); /* r may be gone after this */
}

/* Nothing lies behind the byte that was asked for: is it the end, or far beyond? Not all servers say how long the
 * object is when they refuse a range. */
static void on_looked(void *arg, const struct object_answer *answer, const struct error *err)
{
    struct reading *r = arg;
    const char *length = err ? NULL : http_request_header(answer->http, "Content-Length");
    const struct error refusal = r->refusal;
    const bool at_end = length && strtoull(length, NULL, 10) == r->at;
    r->request.call = NULL;
    object_request_end(&r->request, at_end ? NULL : &refusal);
}

static void look_for_end(struct reading *r, const struct error *err)
{
    r->refusal = *err;
    const struct object_call_options options = {.method = "HEAD", .name = r->name, .done = on_looked, .arg = r};
    object_request_call(&r->request, &options);
}

static void on_end(void *arg, const struct object_answer *answer, const struct error *err)
{
    struct reading *r = arg;
    const bool progress = r->at > r->begun;
    r->request.call = NULL;
    if (!err && !r->checked && check_head(r, answer->http) < 0)
        err = &r->refusal; /* it had no bytes, so nobody has looked yet */
    if (!err) {
        object_request_end(&r->request, NULL);
    } else if (r->refusal.kind != ERROR_NONE) {
        const struct error refusal = r->refusal;
        object_request_end(&r->request, &refusal);
    } else if (answer->status == 416) {
        look_for_end(r, err);
    } else if (progress && answer->worth_a_retry) {
        reading_go_on(r, false);
    } else {
        object_request_end(&r->request, err);
    }
}

static void reading_go_on(struct reading *r, bool at_once)
{
    _cleanup_(freep) char *range = r->at > 0 ? xasprintf("Range: bytes=%llu-", (unsigned long long)r->at) : NULL;
    _cleanup_(freep) char *match = r->etag ? xasprintf("If-Match: %s", r->etag) : NULL;
    r->begun = r->at;
    r->checked = false;
    const struct object_call_options options = {.method = "GET",
        .name = r->name,
        .headers = {range ? range : match, range ? match : NULL},
        .max_body = 1,
        .delay_ms = at_once ? 0 : r->request.store->pauses.base_ms,
        .data = on_data,
        .done = on_end,
        .arg = r};
    object_request_call(&r->request, &options);
}

struct object_request *object_read(struct object_store *store, const char *name, uint64_t offset,
    int (*data)(void *arg, const char *data, size_t len), object_done_fn done, void *arg)
{
    struct error err = ERROR_INIT;
    struct reading *r = xnew(struct reading);
    r->request.release = reading_release;
    r->name = xstrdup(name);
    r->at = offset;
    r->data = data;
    r->data_arg = arg;
    object_request_begin(&r->request, store, done, arg);
    if (object_name_check(name, false, &err) < 0)
        object_request_refuse(&r->request, &err, object_request_settle);
    else
        reading_go_on(r, true);
    return &r->request;
}
