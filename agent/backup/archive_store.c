/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/archive_store.h"

#include "common/alloc.h"
#include "common/backup_manifest.h"
#include "common/clock.h"
#include "common/sha256.h"

#define TURN_MS 200
#define ABORT_MS 5000

/* ---- waiting ---- */

struct wait {
    bool done;
    struct error error; /* of the call; ERROR_NONE: it went well */
    struct strbuf *out;
    int (*each)(void *arg, const struct object_entry *entry);
    void *arg;
};

static void on_done(void *arg, const struct error *err)
{
    struct wait *wait = arg;

    wait->done = true;
    if (err)
        wait->error = *err;
}

static void on_got(void *arg, const struct object_got *got, const struct error *err)
{
    struct wait *wait = arg;

    if (!err)
        strbuf_add(wait->out, got->body, got->len);
    on_done(arg, err);
}

static int on_entry(void *arg, const struct object_entry *entry)
{
    const struct wait *wait = arg;

    return wait->each(wait->arg, entry);
}

static int cancelled(struct error *err)
{
    return error_set(err, ERROR_CANCELLED, "it was ended");
}

static int conclude(const struct wait *wait, struct error *err)
{
    if (wait->error.kind == ERROR_NONE)
        return 0;
    if (err)
        *err = wait->error;
    return -1;
}

static int await(struct archive_store *store, struct object_request *request, struct wait *wait, struct error *err)
{
    while (!wait->done && !store->cancelled)
        loop_run_once(store->loop, TURN_MS);
    if (wait->done)
        return conclude(wait, err);
    object_request_cancel(request);
    return cancelled(err);
}

int archive_store_list(struct archive_store *store, const char *under,
    int (*each)(void *arg, const struct object_entry *entry), void *arg, struct error *err)
{
    struct wait wait = {.each = each, .arg = arg};

    return await(store, object_list(store->store, under, 0, on_entry, on_done, &wait), &wait, err);
}

int archive_store_get(struct archive_store *store, const char *name, size_t max, struct strbuf *out, struct error *err)
{
    struct wait wait = {.out = out};

    return await(store, object_get(store->store, name, max, on_got, &wait), &wait, err);
}

int archive_store_put(struct archive_store *store, const char *name, const void *data, size_t len, struct error *err)
{
    struct wait wait = {0};

    return await(store, object_put(store->store, name, data, len, on_done, &wait), &wait, err);
}

int archive_store_delete(struct archive_store *store, const char *name, struct error *err)
{
    struct wait wait = {0};

    return await(store, object_delete(store->store, name, on_done, &wait), &wait, err);
}

int archive_store_abort_uploads(struct archive_store *store, const char *under, struct error *err)
{
    struct wait wait = {0};

    return await(store, object_abort_uploads(store->store, under, on_done, &wait), &wait, err);
}

/* ---- uploads ---- */

struct archive_upload {
    struct archive_store *store;
    char *name;
    struct object_upload *object; /* NULL: it may still be one request */
    char *filling, *sending;      /* BACKUP_PART_BYTES each */
    size_t len;                   /* of what is filled */
    int parts;
    bool under_way;   /* a part */
    struct wait part; /* of it */
    struct sha256 sha;
    uint64_t bytes;
    bool complete;
};

struct archive_upload *archive_upload_new(struct archive_store *store, const char *name)
{
    struct archive_upload *upload = xnew(struct archive_upload);

    *upload = (struct archive_upload){.store = store, .name = xstrdup(name)};
    upload->filling = xmalloc(BACKUP_PART_BYTES);
    sha256_init(&upload->sha);
    return upload;
}

static int await_upload(struct archive_upload *upload, struct wait *wait, struct error *err)
{
    while (!wait->done && !upload->store->cancelled)
        loop_run_once(upload->store->loop, TURN_MS);
    return wait->done ? conclude(wait, err) : cancelled(err);
}

static int begin(struct archive_upload *upload, struct error *err)
{
    struct wait wait = {0};

    if (upload->object)
        return 0;
    upload->sending = xmalloc(BACKUP_PART_BYTES);
    upload->object = object_upload_begin(upload->store->store, upload->name, on_done, &wait);
    if (await_upload(upload, &wait, err) == 0)
        return 0;
    object_upload_free(steal_ptr(upload->object)); /* its callback must not come when `wait` is gone */
    return error_prefix(err, "beginning an upload");
}

static int await_part(struct archive_upload *upload, struct error *err)
{
    if (!upload->under_way)
        return 0;
    if (await_upload(upload, &upload->part, err) < 0)
        return error_prefix(err, "sending a part");
    upload->under_way = false;
    return 0;
}

static int send_part(struct archive_upload *upload, struct error *err)
{
    unsigned char digest[32];
    struct sha256 sha;

    if (begin(upload, err) < 0 || await_part(upload, err) < 0)
        return -1;
    if (upload->parts == OBJECT_PARTS_MAX)
        return error_set(err, ERROR_TOO_LARGE, "one transaction of more than %d parts", OBJECT_PARTS_MAX);
    char *full = upload->filling;
    upload->filling = upload->sending;
    upload->sending = full;
    sha256_init(&sha);
    sha256_add(&sha, full, upload->len);
    sha256_bytes(&sha, digest);
    sha256_release(&sha);
    upload->part = (struct wait){0};
    upload->under_way = true;
    object_upload_part(upload->object, ++upload->parts, full, upload->len, digest, on_done, &upload->part);
    upload->len = 0;
    return 0;
}

int archive_upload_add(struct archive_upload *upload, const char *data, size_t len, struct error *err)
{
    sha256_add(&upload->sha, data, len);
    upload->bytes += len;
    while (len > 0) {
        size_t n = MIN_OF(len, (size_t)BACKUP_PART_BYTES - upload->len);
        if (n == 0) {
            if (send_part(upload, err) < 0)
                return -1;
            continue;
        }
        memcpy(upload->filling + upload->len, data, n);
        upload->len += n;
        data += n;
        len -= n;
    }
    return 0;
}

static int complete(struct archive_upload *upload, struct error *err)
{
    struct wait wait = {0};

    if (!upload->object)
        return archive_store_put(upload->store, upload->name, upload->filling, upload->len, err);
    if (send_part(upload, err) < 0 || await_part(upload, err) < 0)
        return -1;
    object_upload_complete(upload->object, on_done, &wait);
    if (await_upload(upload, &wait, err) == 0)
        return 0;
    if (!wait.done)
        object_upload_free(steal_ptr(upload->object));
    return error_prefix(err, "completing an upload");
}

int archive_upload_end(struct archive_upload *upload, char ret_sha256[static 65], uint64_t *ret_bytes, struct error *err)
{
    if (complete(upload, err) < 0)
        return -1;
    upload->complete = true;
    sha256_hex(&upload->sha, ret_sha256);
    *ret_bytes = upload->bytes;
    return 0;
}

/* What is left then, a later round finds. */
static void abort_upload(struct archive_upload *upload)
{
    int64_t end_ms = clock_monotonic_ms() + ABORT_MS;
    struct wait wait = {0};

    object_upload_abort(upload->object, on_done, &wait);
    while (!wait.done && clock_monotonic_ms() < end_ms)
        loop_run_once(upload->store->loop, TURN_MS);
}

void archive_upload_free(struct archive_upload *upload)
{
    if (!upload)
        return;
    if (upload->object && !upload->complete)
        abort_upload(upload);
    object_upload_free(upload->object);
    sha256_release(&upload->sha);
    free(upload->filling);
    free(upload->sending);
    free(upload->name);
    free(upload);
}
