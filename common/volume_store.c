/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/volume_store.h"

#include "common/alloc.h"
#include "common/object_request.h"
#include "common/s3_sign.h"

#define ANSWER_MAX ((size_t)(64 * KM_KIB))
#define QUERY_MAX ((size_t)(8 * KM_KIB))
#define PAGE_NAMES "1000"

static void list_query(const char *under, char delimiter, const char *token, struct strbuf *query)
{
    if (token)
        s3_query_add(query, "after", token);
    if (delimiter)
        s3_query_add(query, "folders", "1");
    s3_query_add(query, "max", PAGE_NAMES);
    s3_query_add(query, "prefix", under);
}

/* ---- uploads that somebody left ---- */

struct aborting {
    struct object_request request;
    size_t found;
    size_t *ret_found; /* may be NULL */
};

static enum object_verdict judge_ended(void *arg, const struct object_answer *answer, struct error *err)
{
    struct aborting *aborting = arg;
    return volume_ended_read(answer->body, answer->len, &aborting->found, err) == 0 ? OBJECT_GOOD : OBJECT_RETRY;
}

static void on_ended(void *arg, const struct object_answer *answer, const struct error *err)
{
    struct aborting *aborting = arg;
    UNUSED(answer);
    if (aborting->ret_found)
        *aborting->ret_found = aborting->found;
    object_request_end(&aborting->request, err);
}

static struct object_request *abort_uploads(
    struct object_store *store, const char *under, size_t *ret_found, object_done_fn done, void *arg)
{
    _cleanup_(freep) char *prefix = xasprintf("%s%s", store->prefix, under);
    struct aborting *aborting = xnew(struct aborting);
    struct strbuf query;
    aborting->ret_found = ret_found;
    object_request_begin(&aborting->request, store, done, arg);
    strbuf_init(&query, QUERY_MAX);
    s3_query_add(&query, "prefix", prefix);
    const struct object_call_options options = {.method = "DELETE",
        .root = "/v1/uploads",
        .query = query.buf,
        .max_body = ANSWER_MAX,
        .judge = judge_ended,
        .done = on_ended,
        .arg = aborting};
    object_request_call(&aborting->request, &options);
    strbuf_release(&query);
    return &aborting->request;
}

const struct object_store_ops volume_store_ops = {
    .digest_field = "X-Content-SHA256",
    .read_refusal = volume_refusal_read,
    .list_query = list_query,
    .list_read = volume_list_read,
    .abort_uploads = abort_uploads,
    .upload_begin = volume_upload_begin,
    .upload_part = volume_upload_part,
    .upload_complete = volume_upload_complete,
    .upload_abort = volume_upload_abort,
    .upload_free = volume_upload_free,
};
