/* SPDX-License-Identifier: Apache-2.0 */
/* s3_sweep.c: ends multipart uploads that somebody left (s3_store.h). */
#include "common/base.h"

#include "common/alloc.h"
#include "common/object_request.h"
#include "common/s3_sign.h"
#include "common/s3_store.h"
#include "common/s3_xml.h"
#include "common/strvec.h"

#define PAGE_UPLOADS "1000"
#define PAGE_MAX ((size_t)(4 * KM_MIB))
#define ANSWER_MAX ((size_t)(64 * KM_KIB))
#define QUERY_MAX ((size_t)(16 * KM_KIB))

struct sweep {
    struct object_request request;
    char *under; /* with the store's prefix */
    bool exact;
    struct strvec keys; /* of the page under way; without the store's prefix */
    struct strvec ids;
    size_t next; /* to be aborted */
    char *key_marker, *id_marker;
    size_t found;
    size_t *ret_found; /* may be NULL */
};

static void sweep_release(struct object_request *request)
{
    struct sweep *s = container_of(request, struct sweep, request);
    free(s->under);
    strvec_release(&s->keys);
    strvec_release(&s->ids);
    free(s->key_marker);
    free(s->id_marker);
}

static void sweep_finish(struct sweep *s, const struct error *err)
{
    if (s->ret_found)
        *s->ret_found = s->found;
    object_request_end(&s->request, err);
}

static void sweep_page(struct sweep *s);
static void sweep_next(struct sweep *s);

static int on_upload(void *arg, const char *key, const char *id)
{
    struct sweep *s = arg;
    /* The exact key has longer ones below it; and a server may be wrong about prefixes. */
    if (s->exact ? !str_eq(key, s->under) : !str_starts_with(key, s->under))
        return 0;
    strvec_push(&s->keys, key + strlen(s->request.store->prefix));
    strvec_push(&s->ids, id);
    return 0;
}

static void forget_page(struct sweep *s)
{
    strvec_release(&s->keys);
    strvec_release(&s->ids);
    strvec_init(&s->keys);
    strvec_init(&s->ids);
    s->next = 0;
}

static enum object_verdict judge_uploads(void *arg, const struct object_answer *answer, struct error *err)
{
    struct sweep *s = arg;
    char *key = NULL;
    char *id = NULL;
    forget_page(s);
    if (s3_xml_uploads(answer->body, answer->len, on_upload, s, &key, &id, err) < 0)
        return OBJECT_RETRY;
    const bool stuck = key && str_eq(key, s->key_marker) && str_eq(id, s->id_marker);
    free(s->key_marker);
    free(s->id_marker);
    s->key_marker = key;
    s->id_marker = id;
    if (!stuck)
        return OBJECT_GOOD;
    error_set(err, ERROR_PROTOCOL, "the list of uploads below %s does not end", s->under);
    return OBJECT_BAD;
}

static void on_page(void *arg, const struct object_answer *answer, const struct error *err)
{
    struct sweep *s = arg;
    UNUSED(answer);
    s->request.call = NULL;
    if (err)
        sweep_finish(s, err);
    else
        sweep_next(s);
}

static void on_aborted(void *arg, const struct object_answer *answer, const struct error *err)
{
    struct sweep *s = arg;
    UNUSED(answer);
    s->request.call = NULL;
    if (err && err->kind != ERROR_NOT_FOUND) {
        sweep_finish(s, err);
        return;
    }
    s->found++;
    s->next++;
    sweep_next(s);
}

static void sweep_abort(struct sweep *s)
{
    struct strbuf query;
    strbuf_init(&query, QUERY_MAX);
    s3_query_add(&query, "uploadId", s->ids.v[s->next]);
    const struct object_call_options options = {.method = "DELETE",
        .name = s->keys.v[s->next],
        .query = query.buf,
        .max_body = ANSWER_MAX,
        .done = on_aborted,
        .arg = s};
    object_request_call(&s->request, &options);
    strbuf_release(&query);
}

static void sweep_next(struct sweep *s)
{
    if (s->next < s->ids.n)
        sweep_abort(s);
    else if (s->key_marker)
        sweep_page(s);
    else
        sweep_finish(s, NULL);
}

static void sweep_page(struct sweep *s)
{
    struct strbuf query;
    strbuf_init(&query, QUERY_MAX);
    s3_query_add(&query, "encoding-type", "url");
    if (s->key_marker)
        s3_query_add(&query, "key-marker", s->key_marker);
    s3_query_add(&query, "max-uploads", PAGE_UPLOADS);
    s3_query_add(&query, "prefix", s->under);
    if (s->key_marker && s->id_marker)
        s3_query_add(&query, "upload-id-marker", s->id_marker);
    s3_query_add(&query, "uploads", "");
    const struct object_call_options options = {
        .method = "GET", .query = query.buf, .max_body = PAGE_MAX, .judge = judge_uploads, .done = on_page, .arg = s};
    object_request_call(&s->request, &options);
    strbuf_release(&query);
}

struct object_request *s3_abort_uploads(
    struct object_store *store, const char *under, bool exact, size_t *ret_found, object_done_fn done, void *arg)
{
    struct sweep *s = xnew(struct sweep);
    s->request.release = sweep_release;
    s->under = xasprintf("%s%s", store->prefix, under);
    s->exact = exact;
    s->ret_found = ret_found;
    strvec_init(&s->keys);
    strvec_init(&s->ids);
    object_request_begin(&s->request, store, done, arg);
    sweep_page(s);
    return &s->request;
}
