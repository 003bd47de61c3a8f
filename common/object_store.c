/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/object_store.h"

#include "common/alloc.h"
#include "common/log.h"
#include "common/object_request.h"
#include "common/s3_store.h"
#include "common/volume_store.h"

/* 1,000 entries with keys of up to 1,024 bytes, each of which may be a reference of six, do not come in practice; half
 * of it does. */
#define PAGE_MAX ((size_t)(4 * KM_MIB))
#define ANSWER_MAX ((size_t)(64 * KM_KIB))
#define QUERY_MAX ((size_t)(8 * KM_KIB))

/* ---- the store ---- */

struct object_store *object_store_new(struct loop *loop, const struct object_target *target, struct error *err)
{
    struct object_store *store = xnew(struct object_store);
    if (object_target_fill(store, target, err) < 0) {
        free(store);
        return NULL;
    }
    store->ops = target->is_volume ? &volume_store_ops : &s3_store_ops;
    store->loop = loop;
    store->client = http_client_new(loop);
    list_init(&store->requests);
    list_init(&store->uploads);
    return store;
}

void object_store_free(struct object_store *store)
{
    if (!store)
        return;
    while (!list_empty(&store->uploads))
        object_upload_free(container_of(list_next(&store->uploads), struct object_upload, node));
    /* One may end others that it has started. */
    while (!list_empty(&store->requests))
        object_request_cancel(container_of(list_next(&store->requests), struct object_request, node));
    http_client_free(store->client);
    object_target_release(store);
    free(store);
}

static void replace_secret(char **field, const char *text)
{
    secret_free(*field);
    *field = xstrdup(str_or_empty(text));
}

void object_store_set_keys(
    struct object_store *store, const char *access_key, const char *secret_key, const char *session_token)
{
    struct error err = ERROR_INIT;
    if (object_keys_check(str_or_empty(access_key), str_or_empty(secret_key), str_or_empty(session_token), &err) < 0) {
        log_warn("new keys are not used", LOG_STR("bucket", store->bucket), LOG_ERR(&err));
        return;
    }
    if (str_eq(store->access_key, str_or_empty(access_key)) && str_eq(store->secret_key, str_or_empty(secret_key)) &&
        str_eq(store->session_token, str_or_empty(session_token)))
        return;
    store->keys_version++;
    replace_secret(&store->access_key, access_key);
    replace_secret(&store->secret_key, secret_key);
    replace_secret(&store->session_token, session_token);
}

/* ---- put ---- */

struct put {
    struct object_request request;
    void *body;
};

static void put_release(struct object_request *request)
{
    free(container_of(request, struct put, request)->body);
}

struct object_request *object_put(
    struct object_store *store, const char *name, const void *body, size_t len, object_done_fn done, void *arg)
{
    struct error err = ERROR_INIT;
    struct put *put = xnew(struct put);
    put->request.release = put_release;
    object_request_begin(&put->request, store, done, arg);
    if (len > OBJECT_PART_MIN)
        error_set(&err, ERROR_INVALID, "%zu bytes are too many for one request", len);
    if (err.kind != ERROR_NONE || object_name_check(name, false, &err) < 0) {
        object_request_refuse(&put->request, &err, object_request_settle);
        return &put->request;
    }
    put->body = xmemdup(len > 0 ? body : "", len);
    const struct object_call_options options = {.method = "PUT",
        .name = name,
        .body = put->body,
        .body_len = len,
        .max_body = ANSWER_MAX,
        .done = object_request_settle,
        .arg = &put->request};
    object_request_call(&put->request, &options);
    return &put->request;
}

/* ---- get ---- */

struct get {
    struct object_request request;
    object_got_fn got;
    void *got_arg;
};

static void on_got(void *arg, const struct object_answer *answer, const struct error *err)
{
    struct get *get = arg;
    const struct object_got got = {.body = err ? "" : answer->body, .len = err ? 0 : answer->len};
    const object_got_fn done = get->got;
    void *done_arg = get->got_arg;
    object_request_free(&get->request);
    done(done_arg, err ? NULL : &got, err);
}

struct object_request *object_get(
    struct object_store *store, const char *name, size_t max, object_got_fn done, void *arg)
{
    struct error err = ERROR_INIT;
    struct get *get = xnew(struct get);
    get->got = done;
    get->got_arg = arg;
    object_request_begin(&get->request, store, NULL, NULL);
    if (object_name_check(name, false, &err) < 0) {
        object_request_refuse(&get->request, &err, on_got);
        return &get->request;
    }
    const struct object_call_options options = {
        .method = "GET", .name = name, .max_body = MAX_OF(max, (size_t)1), .done = on_got, .arg = get};
    object_request_call(&get->request, &options);
    return &get->request;
}

/* ---- delete ---- */

static void on_deleted(void *arg, const struct object_answer *answer, const struct error *err)
{
    const bool gone = err && err->kind == ERROR_NOT_FOUND && !str_eq(answer->code, "NoSuchBucket");
    object_request_end(arg, gone ? NULL : err);
}

struct object_request *object_delete(struct object_store *store, const char *name, object_done_fn done, void *arg)
{
    struct error err = ERROR_INIT;
    struct object_request *request = xnew(struct object_request);
    object_request_begin(request, store, done, arg);
    if (object_name_check(name, false, &err) < 0) {
        object_request_refuse(request, &err, object_request_settle);
        return request;
    }
    const struct object_call_options options = {
        .method = "DELETE", .name = name, .max_body = ANSWER_MAX, .done = on_deleted, .arg = request};
    object_request_call(request, &options);
    return request;
}

/* ---- list ---- */

struct listing {
    struct object_request request;
    char *under;    /* with the store's prefix */
    char delimiter; /* 0: none */
    char *token;    /* of the page under way; NULL: the first */
    int (*each)(void *arg, const struct object_entry *entry);
    void *each_arg;
    bool ended;    /* by the receiver */
    bool *gone;    /* while a page is handed out: to be set when this is freed */
    char *strange; /* a name that we did not ask for */
    char *next;
};

static void listing_release(struct object_request *request)
{
    struct listing *l = container_of(request, struct listing, request);
    if (l->gone)
        *l->gone = true;
    free(l->under);
    free(l->token);
    free(l->strange);
    free(l->next);
}

static void listing_page(struct listing *l);

static int on_listed(void *arg, const struct object_found *found)
{
    struct listing *l = arg;
    const bool *gone = l->gone;
    const struct object_entry entry = {.name = found->key + strlen(l->request.store->prefix),
        .bytes = found->bytes,
        .modified_ms = found->is_prefix ? 0 : found->modified_ms};
    const int rc = l->each(l->each_arg, &entry);
    if (*gone)
        return -1;
    l->ended = rc < 0;
    return rc < 0 ? -1 : 0;
}

/* What is deleted is chosen by lists, so a server that ignores the prefix must not be believed. */
static int look_for_strangers(void *arg, const struct object_found *entry)
{
    struct listing *l = arg;
    if (str_starts_with(entry->key, l->under))
        return 0;
    str_replace(&l->strange, entry->key);
    return -1;
}

static enum object_verdict judge_page(void *arg, const struct object_answer *answer, struct error *err)
{
    struct listing *l = arg;
    str_replace(&l->strange, NULL);
    str_replace(&l->next, NULL);
    if (l->request.store->ops->list_read(answer->body, answer->len, look_for_strangers, l, &l->next, err) < 0)
        return OBJECT_RETRY;
    if (l->strange)
        error_set(err, ERROR_PROTOCOL, "the list of %s holds %.200s", l->under, l->strange);
    else if (l->next && str_eq(l->next, l->token))
        error_set(err, ERROR_PROTOCOL, "the list of %s does not end", l->under);
    else
        return OBJECT_GOOD;
    return OBJECT_BAD;
}

static void on_page(void *arg, const struct object_answer *answer, const struct error *page_err)
{
    struct listing *l = arg;
    struct error err = ERROR_INIT;
    _cleanup_(freep) char *again = NULL;
    bool gone = false;
    l->request.call = NULL;
    if (page_err) {
        object_request_end(&l->request, page_err);
        return;
    }
    l->gone = &gone;
    const int rc = l->request.store->ops->list_read(answer->body, answer->len, on_listed, l, &again, &err);
    if (gone)
        return;
    l->gone = NULL;
    if (rc == 0 && l->ended)
        error_set(&err, ERROR_CANCELLED, "ended by the receiver");
    if (err.kind != ERROR_NONE || !l->next) {
        object_request_end(&l->request, err.kind != ERROR_NONE ? &err : NULL);
        return;
    }
    free(l->token);
    l->token = steal_ptr(l->next);
    listing_page(l);
}

static void listing_page(struct listing *l)
{
    struct strbuf query;
    strbuf_init(&query, QUERY_MAX);
    l->request.store->ops->list_query(l->under, l->delimiter, l->token, &query);
    const struct object_call_options options = {
        .method = "GET", .query = query.buf, .max_body = PAGE_MAX, .judge = judge_page, .done = on_page, .arg = l};
    object_request_call(&l->request, &options);
    strbuf_release(&query);
}

struct object_request *object_list(struct object_store *store, const char *under, char delimiter,
    int (*each)(void *arg, const struct object_entry *entry), object_done_fn done, void *arg)
{
    struct error err = ERROR_INIT;
    struct listing *l = xnew(struct listing);
    l->request.release = listing_release;
    l->under = xasprintf("%s%s", store->prefix, under);
    l->delimiter = delimiter;
    l->each = each;
    l->each_arg = arg;
    object_request_begin(&l->request, store, done, arg);
    if (*under && object_name_check(under, true, &err) < 0)
        object_request_refuse(&l->request, &err, object_request_settle);
    else
        listing_page(l);
    return &l->request;
}

/* ---- uploads: each kind of server has its own ---- */

struct object_upload *object_upload_begin(
    struct object_store *store, const char *name, object_done_fn started, void *arg)
{
    return store->ops->upload_begin(store, name, started, arg);
}

void object_upload_part(struct object_upload *upload, int number, const void *data, size_t len,
    const unsigned char sha256[static 32], object_done_fn done, void *arg)
{
    upload->store->ops->upload_part(upload, number, data, len, sha256, done, arg);
}

void object_upload_complete(struct object_upload *upload, object_done_fn done, void *arg)
{
    upload->store->ops->upload_complete(upload, done, arg);
}

void object_upload_abort(struct object_upload *upload, object_done_fn done, void *arg)
{
    upload->store->ops->upload_abort(upload, done, arg);
}

void object_upload_free(struct object_upload *upload)
{
    if (upload)
        upload->store->ops->upload_free(upload);
}

struct object_request *object_abort_uploads(
    struct object_store *store, const char *under, object_done_fn done, void *arg)
{
    return store->ops->abort_uploads(store, under, NULL, done, arg);
}
