/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_store_fake.h: object_store.h in memory, for one test program: it defines the functions, so it is included
 * once, by the test itself.
 *
 * Every operation ends one turn of the loop later. Operation number fail_at (from 1 on) fails with fail_kind, before or
 * after it took effect; all later ones too if it is `down`. What must never be asked for aborts.
 */
#ifndef KM_AGENT_BACKUP_TESTS_OBJECT_STORE_FAKE_H
#define KM_AGENT_BACKUP_TESTS_OBJECT_STORE_FAKE_H

#include "common/base.h"

#include "common/alloc.h"
#include "common/object_store.h"
#include "common/tls.h"

#define FAKE_OBJECTS_MAX 64
#define FAKE_PARTS_MAX 16

struct fake_object {
    char *name;
    struct strbuf data;
    bool in_upload;
};

struct fake_store {
    struct loop *loop;
    struct fake_object objects[FAKE_OBJECTS_MAX]; /* name NULL: free */
    unsigned operations, fail_at;
    enum error_kind fail_kind;
    bool fail_late, down;
    size_t sending, sending_max; /* bytes of parts under way */
    unsigned aborts;
    size_t read_chunk;
    bool slow_parts; /* parts end when this is taken back */
    char access_key[32];
};
extern struct fake_store fake;
struct fake_store fake;

enum fake_kind { FAKE_PUT, FAKE_GET, FAKE_READ, FAKE_BEGIN, FAKE_PART, FAKE_COMPLETE, FAKE_ABORT, FAKE_DELETE_TREE };

struct object_store {
    int unused;
};

struct object_request {
    struct loop_timer timer;
    enum fake_kind kind;
    char *name;
    char *body;
    const char *part;
    size_t len, at;
    int number;
    bool paused;
    struct object_upload *upload;
    struct object_request *next; /* of the upload's */
    object_done_fn done;
    object_got_fn got;
    int (*data)(void *arg, const char *data, size_t len);
    void *arg;
};

struct object_upload {
    char *name;
    struct strbuf data[FAKE_PARTS_MAX]; /* by number: they may arrive in any order */
    int parts;
    struct object_request *running;
};

/* ---- objects ---- */

struct fake_object *fake_find(const char *name);
struct fake_object *fake_find(const char *name)
{
    for (size_t i = 0; i < FAKE_OBJECTS_MAX; i++) {
        if (fake.objects[i].name && !fake.objects[i].in_upload && str_eq(fake.objects[i].name, name))
            return &fake.objects[i];
    }
    return NULL;
}

void fake_put(const char *name, const void *data, size_t len, bool in_upload);
void fake_put(const char *name, const void *data, size_t len, bool in_upload)
{
    struct fake_object *object = in_upload ? NULL : fake_find(name);

    for (size_t i = 0; i < FAKE_OBJECTS_MAX && !object; i++) {
        if (!fake.objects[i].name)
            object = &fake.objects[i];
    }
    if (!object)
        abort();
    free(object->name);
    strbuf_release(&object->data);
    object->name = xstrdup(name);
    object->in_upload = in_upload;
    strbuf_init(&object->data, 64 * KM_MIB);
    strbuf_add(&object->data, data, len);
}

void fake_remove_under(const char *prefix, bool uploads);
void fake_remove_under(const char *prefix, bool uploads)
{
    for (size_t i = 0; i < FAKE_OBJECTS_MAX; i++) {
        struct fake_object *object = &fake.objects[i];
        if (!str_starts_with(object->name, prefix) || (object->in_upload && !uploads))
            continue;
        free(steal_ptr(object->name));
        strbuf_release(&object->data);
    }
}

size_t fake_count(void);
size_t fake_count(void)
{
    size_t count = 0;

    for (size_t i = 0; i < FAKE_OBJECTS_MAX; i++)
        count += fake.objects[i].name != NULL;
    return count;
}

/* ---- operations ---- */

static void fake_unlink(struct object_request *request)
{
    struct object_request **at = request->upload ? &request->upload->running : NULL;

    for (; at && *at; at = &(*at)->next) {
        if (*at != request)
            continue;
        *at = request->next;
        break;
    }
    if (request->kind == FAKE_PART)
        fake.sending -= request->len;
}

static void fake_free(struct object_request *request)
{
    loop_timer_release(&request->timer);
    fake_unlink(request);
    free(request->name);
    free(request->body);
    free(request);
}

static void fake_complete(struct object_upload *upload)
{
    struct strbuf whole;

    strbuf_init(&whole, 64 * KM_MIB);
    for (int i = 1; i <= upload->parts; i++)
        strbuf_add(&whole, upload->data[i].buf, upload->data[i].len);
    fake_put(upload->name, whole.buf, whole.len, false);
    strbuf_release(&whole);
}

static void fake_apply(struct object_request *request)
{
    struct object_upload *upload = request->upload;

    switch (request->kind) {
    case FAKE_PUT:
        fake_put(request->name, request->body, request->len, false);
        break;
    case FAKE_BEGIN:
        fake_put(upload->name, "", 0, true);
        break;
    case FAKE_PART:
        strbuf_add(&upload->data[request->number], request->part, request->len);
        break;
    case FAKE_COMPLETE:
        fake_complete(upload);
        for (size_t i = 0; i < FAKE_OBJECTS_MAX; i++)
            if (fake.objects[i].in_upload && str_eq(fake.objects[i].name, upload->name))
                free(steal_ptr(fake.objects[i].name));
        break;
    case FAKE_ABORT:
        fake.aborts++;
        for (size_t i = 0; i < FAKE_OBJECTS_MAX; i++)
            if (fake.objects[i].in_upload && str_eq(fake.objects[i].name, upload->name))
                free(steal_ptr(fake.objects[i].name));
        break;
    case FAKE_DELETE_TREE:
        fake_remove_under(request->name, true);
        break;
    default:
        break;
    }
}

static bool fake_fails(struct error *err)
{
    unsigned number = ++fake.operations;

    if (fake.fail_at == 0 || number < fake.fail_at || (number > fake.fail_at && !fake.down))
        return false;
    error_set(err, fake.fail_kind, "the store says no");
    return true;
}

/* True: more is to come. */
static bool fake_read_on(struct object_request *request, struct error *err)
{
    const struct fake_object *object = fake_find(request->name);

    if (!object) {
        error_set(err, ERROR_NOT_FOUND, "no such object");
        return false;
    }
    size_t len = MIN_OF(fake.read_chunk, object->data.len - request->at);
    _cleanup_(freep) char *piece = xmemdup(object->data.buf + request->at, MAX_OF(len, 1));
    request->at += len;
    if (len > 0 && request->data(request->arg, piece, len) < 0) {
        error_set(err, ERROR_CANCELLED, "ended by its reader");
        return false;
    }
    if (len > 0 && !request->paused)
        loop_timer_arm(&request->timer, 0);
    return len > 0;
}

static void fake_got(struct object_request *request, struct error *err)
{
    const struct fake_object *object = fake_find(request->name);
    struct object_got got = {.body = object ? object->data.buf : "", .len = object ? object->data.len : 0};

    if (err->kind == ERROR_NONE && !object)
        error_set(err, ERROR_NOT_FOUND, "no such object");
    bool failed = err->kind != ERROR_NONE;
    request->got(request->arg, failed ? NULL : &got, failed ? err : NULL);
}

static void fake_on_timer(void *arg)
{
    struct object_request *request = arg;
    struct error err = ERROR_INIT;

    if (request->kind == FAKE_PART && fake.slow_parts) {
        loop_timer_arm(&request->timer, 5);
        return;
    }
    bool fails = request->at == 0 && fake_fails(&err);
    if (request->kind == FAKE_READ && !fails && fake_read_on(request, &err))
        return;
    if (!fails || fake.fail_late)
        fake_apply(request);
    struct object_request copy = *request;
    if (request->kind == FAKE_GET)
        fake_got(request, &err);
    fake_free(request);
    if (copy.kind != FAKE_GET)
        copy.done(copy.arg, err.kind == ERROR_NONE ? NULL : &err);
}

static struct object_request *fake_start(enum fake_kind kind, const char *name, struct object_upload *upload)
{
    struct object_request *request = xnew(struct object_request);

    request->kind = kind;
    request->name = xstrdup(name);
    request->upload = upload;
    if (upload) {
        request->next = upload->running;
        upload->running = request;
    }
    loop_timer_init(&request->timer, fake.loop, fake_on_timer, request);
    loop_timer_arm(&request->timer, 0);
    return request;
}

/* ---- object_store.h ---- */

struct object_store *object_store_new(struct loop *loop, const struct object_target *target, struct error *err)
{
    UNUSED(target);
    UNUSED(err);
    fake.loop = loop;
    return xnew(struct object_store);
}

void object_store_free(struct object_store *store)
{
    free(store);
}

void object_store_set_keys(
    struct object_store *store, const char *access_key, const char *secret_key, const char *session_token)
{
    UNUSED(store);
    UNUSED(secret_key);
    UNUSED(session_token);
    snprintf(fake.access_key, sizeof(fake.access_key), "%s", access_key);
}

void object_request_cancel(struct object_request *request)
{
    fake_free(request);
}

struct object_request *object_put(
    struct object_store *store, const char *name, const void *body, size_t len, object_done_fn done, void *arg)
{
    struct object_request *request = fake_start(FAKE_PUT, name, NULL);

    UNUSED(store);
    request->body = xmemdup(body, len);
    request->len = len;
    request->done = done;
    request->arg = arg;
    return request;
}

struct object_request *object_get(
    struct object_store *store, const char *name, size_t max, object_got_fn done, void *arg)
{
    struct object_request *request = fake_start(FAKE_GET, name, NULL);

    UNUSED(store);
    UNUSED(max);
    request->got = done;
    request->arg = arg;
    return request;
}

struct object_request *object_read(struct object_store *store, const char *name, uint64_t offset,
    int (*data)(void *arg, const char *data, size_t len), object_done_fn done, void *arg)
{
    struct object_request *request = fake_start(FAKE_READ, name, NULL);

    UNUSED(store);
    request->at = (size_t)offset;
    request->data = data;
    request->done = done;
    request->arg = arg;
    return request;
}

void object_request_pause(struct object_request *request)
{
    request->paused = true;
    loop_timer_cancel(&request->timer);
}

void object_request_resume(struct object_request *request)
{
    if (request->paused)
        loop_timer_arm(&request->timer, 0);
    request->paused = false;
}

struct object_upload *object_upload_begin(
    struct object_store *store, const char *name, object_done_fn started, void *arg)
{
    struct object_upload *upload = xnew(struct object_upload);

    UNUSED(store);
    upload->name = xstrdup(name);
    for (int i = 0; i < FAKE_PARTS_MAX; i++)
        strbuf_init(&upload->data[i], 64 * KM_MIB);
    struct object_request *request = fake_start(FAKE_BEGIN, name, upload);
    request->done = started;
    request->arg = arg;
    return upload;
}

void object_upload_part(struct object_upload *upload, int number, const void *data, size_t len,
    const unsigned char sha256[static 32], object_done_fn done, void *arg)
{
    char ours[65];
    char theirs[65];

    tls_sha256_hex(data, len, ours);
    for (size_t i = 0; i < 32; i++)
        snprintf(theirs + 2 * i, 3, "%02x", sha256[i]);
    if (!str_eq(ours, theirs) || number != upload->parts + 1 || number >= FAKE_PARTS_MAX || len == 0)
        abort();
    upload->parts = number;
    struct object_request *request = fake_start(FAKE_PART, upload->name, upload);
    request->part = data;
    request->number = number;
    request->len = len;
    request->done = done;
    request->arg = arg;
    fake.sending += len;
    fake.sending_max = MAX_OF(fake.sending_max, fake.sending);
}

void object_upload_complete(struct object_upload *upload, object_done_fn done, void *arg)
{
    if (upload->running)
        abort();
    struct object_request *request = fake_start(FAKE_COMPLETE, upload->name, upload);
    request->done = done;
    request->arg = arg;
}

static void fake_stop(struct object_upload *upload)
{
    while (upload->running)
        fake_free(upload->running);
}

void object_upload_abort(struct object_upload *upload, object_done_fn done, void *arg)
{
    fake_stop(upload);
    struct object_request *request = fake_start(FAKE_ABORT, upload->name, upload);
    request->done = done;
    request->arg = arg;
}

void object_upload_free(struct object_upload *upload)
{
    if (!upload)
        return;
    fake_stop(upload);
    for (int i = 0; i < FAKE_PARTS_MAX; i++)
        strbuf_release(&upload->data[i]);
    free(upload->name);
    free(upload);
}

struct object_request *object_delete_tree(
    struct object_store *store, const char *under, const char *first, object_done_fn done, void *arg)
{
    struct object_request *request = fake_start(FAKE_DELETE_TREE, under, NULL);

    UNUSED(store);
    if (!str_starts_with(first, under))
        abort();
    request->done = done;
    request->arg = arg;
    return request;
}

#endif
