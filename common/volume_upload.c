/* SPDX-License-Identifier: Apache-2.0 */
/* volume_upload.c: an object in parts, each written where it stays (volume_store.h). */
#include "common/base.h"

#include <sys/random.h>

#include "common/alloc.h"
#include "common/object_request.h"
#include "common/volume_store.h"

#define ANSWER_MAX ((size_t)(64 * KM_KIB))
#define ID_BYTES 16

struct part {
    uint64_t end; /* where it ends in the object */
    bool done;
};

struct volume_upload {
    struct object_upload base;
    char *name;
    char *root; /* "/v1/uploads/ID" */
    struct part *parts;
    int count;
    struct list_node running; /* of struct running_part */
    struct object_call *call; /* beginning, committing, ending */
    bool begun;
    object_done_fn done;
    void *arg;
};

struct running_part {
    struct list_node node;
    struct volume_upload *upload;
    int number; /* 0: it was refused */
    struct object_call *call;
    object_done_fn done;
    void *arg;
};

static struct volume_upload *volume_upload_of(struct object_upload *base)
{
    return container_of(base, struct volume_upload, base);
}

/* The last thing of a callback: upload may be freed by `done`. */
static void on_called(void *arg, const struct object_answer *answer, const struct error *err)
{
    struct volume_upload *upload = arg;
    UNUSED(answer);
    upload->call = NULL;
    upload->begun |= !err;
    upload->done(upload->arg, err);
}

static void upload_call(
    struct volume_upload *upload, const char *method, const char *query, bool slow, object_done_fn done, void *arg)
{
    const struct object_call_options options = {.method = method,
        .root = upload->root,
        .name = upload->name,
        .query = query,
        .max_body = ANSWER_MAX,
        .slow = slow,
        .done = on_called,
        .arg = upload};
    upload->done = done;
    upload->arg = arg;
    upload->call = object_call_start(upload->base.store, &options);
}

static void upload_refuse(struct volume_upload *upload, const struct error *err, object_done_fn done, void *arg)
{
    upload->done = done;
    upload->arg = arg;
    upload->call = object_call_fail(upload->base.store, err, on_called, upload);
}

/* ---- begin ---- */

static char *make_root(void)
{
    unsigned char random[ID_BYTES];
    char id[2 * ID_BYTES + 1];
    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        abort();
    for (size_t i = 0; i < ID_BYTES; i++)
        snprintf(id + 2 * i, 3, "%02x", random[i]);
    return xasprintf("/v1/uploads/%s", id);
}

struct object_upload *volume_upload_begin(
    struct object_store *store, const char *name, object_done_fn started, void *arg)
{
    struct error err = ERROR_INIT;
    struct volume_upload *upload = xnew(struct volume_upload);
    upload->base.store = store;
    upload->name = xstrdup(name);
    upload->root = make_root();
    list_init(&upload->running);
    list_push_back(&store->uploads, &upload->base.node);
    if (object_name_check(name, false, &err) < 0)
        upload_refuse(upload, &err, started, arg);
    else
        upload_call(upload, "POST", "", false, started, arg);
    return &upload->base;
}

/* ---- parts ---- */

static void on_part(void *arg, const struct object_answer *answer, const struct error *err)
{
    struct running_part *part = arg;
    const object_done_fn done = part->done;
    void *done_arg = part->arg;
    UNUSED(answer);
    if (!err)
        part->upload->parts[part->number - 1].done = true;
    list_remove(&part->node);
    free(part);
    done(done_arg, err);
}

static uint64_t begin_of(const struct volume_upload *upload, int number)
{
    return number > 1 ? upload->parts[number - 2].end : 0;
}

/* One may be given again, with as many bytes as before unless it is the last. */
static int place_part(struct volume_upload *upload, int number, size_t len, struct error *err)
{
    if (number < 1 || number > OBJECT_PARTS_MAX)
        return error_set(err, ERROR_INVALID, "parts have numbers from 1 to %d", OBJECT_PARTS_MAX);
    if (!upload->begun)
        return error_set(err, ERROR_INVALID, "the upload has not begun");
    if (number > upload->count + 1)
        return error_set(err, ERROR_INVALID, "part %d comes before part %d", number, upload->count + 1);
    const uint64_t end = begin_of(upload, number) + len;
    if (number < upload->count && upload->parts[number - 1].end != end)
        return error_set(err, ERROR_INVALID, "part %d had another size before", number);
    if (number > upload->count) {
        upload->parts = xreallocarray(upload->parts, (size_t)number, sizeof(*upload->parts));
        upload->count = number;
    }
    upload->parts[number - 1] = (struct part){.end = end};
    return 0;
}

static void part_start(struct running_part *part, const void *data, size_t len, const unsigned char *sha256)
{
    const struct volume_upload *upload = part->upload;
    char query[64];
    snprintf(query, sizeof(query), "offset=%llu", (unsigned long long)begin_of(upload, part->number));
    const struct object_call_options options = {.method = "PUT",
        .root = upload->root,
        .name = upload->name,
        .query = query,
        .body = data,
        .body_len = len,
        .sha256 = sha256,
        .max_body = ANSWER_MAX,
        .done = on_part,
        .arg = part};
    part->call = object_call_start(upload->base.store, &options);
}

void volume_upload_part(struct object_upload *base, int number, const void *data, size_t len,
    const unsigned char *sha256, object_done_fn done, void *arg)
{
    struct volume_upload *upload = volume_upload_of(base);
    struct error err = ERROR_INIT;
    struct running_part *part = xnew(struct running_part);
    *part = (struct running_part){.upload = upload, .done = done, .arg = arg};
    list_push_back(&upload->running, &part->node);
    if (place_part(upload, number, len, &err) < 0) {
        part->call = object_call_fail(base->store, &err, on_part, part);
        return;
    }
    part->number = number;
    part_start(part, data, len, sha256);
}

static void cancel_parts(struct volume_upload *upload)
{
    struct list_node *pos;
    while ((pos = list_pop_front(&upload->running))) {
        struct running_part *part = container_of(pos, struct running_part, node);
        object_call_cancel(part->call);
        free(part);
    }
}

/* ---- the end ---- */

static bool is_whole(const struct volume_upload *upload)
{
    bool all = upload->begun && upload->count > 0 && list_empty(&upload->running);
    for (int i = 0; i < upload->count; i++)
        all = all && upload->parts[i].done;
    return all;
}

void volume_upload_complete(struct object_upload *base, object_done_fn done, void *arg)
{
    struct volume_upload *upload = volume_upload_of(base);
    struct error err = ERROR_INIT;
    char query[64];
    if (!is_whole(upload)) {
        error_set(&err, ERROR_INVALID, "the upload has no parts, or some are still under way");
        upload_refuse(upload, &err, done, arg);
        return;
    }
    snprintf(query, sizeof(query), "bytes=%llu", (unsigned long long)upload->parts[upload->count - 1].end);
    upload_call(upload, "POST", query, true, done, arg);
}

void volume_upload_abort(struct object_upload *base, object_done_fn done, void *arg)
{
    struct volume_upload *upload = volume_upload_of(base);
    cancel_parts(upload);
    object_call_cancel(steal_ptr(upload->call));
    upload_call(upload, "DELETE", "", false, done, arg);
}

void volume_upload_free(struct object_upload *base)
{
    struct volume_upload *upload = volume_upload_of(base);
    cancel_parts(upload);
    object_call_cancel(upload->call);
    list_remove(&base->node);
    free(upload->parts);
    free(upload->name);
    free(upload->root);
    free(upload);
}
