/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/backup/backup_job.h"

#include <openssl/crypto.h>

#include "common/agent_api.h"
#include "common/alloc.h"
#include "common/backup_manifest.h"
#include "common/clock.h"
#include "common/object_store.h"
#include "common/tls.h"

struct backup_job {
    struct loop *loop;
    struct object_store *store;
    struct object_request *request;
    struct loop_timer kick, limit, end;
    char *folder;
    bool sealed;
    unsigned char key[BACKUP_KEY_BYTES];
    struct backup_manifest manifest;
    bool has_manifest;
    bool *seen;        /* of its pieces, by index: there, in its size */
    char refusal[256]; /* why there is no store */
    struct backup_job_view view;
    void (*done)(void *arg, const struct backup_job_view *view);
    void *arg;
};

static void job_free(struct backup_job *job)
{
    if (job->request)
        object_request_cancel(job->request);
    object_store_free(job->store);
    loop_timer_release(&job->kick);
    loop_timer_release(&job->limit);
    loop_timer_release(&job->end);
    if (job->has_manifest)
        backup_manifest_release(&job->manifest);
    OPENSSL_cleanse(job->key, sizeof(job->key));
    free(job->seen);
    free(job->folder);
    free(job);
}

void backup_job_cancel(struct backup_job *job)
{
    if (job)
        job_free(job);
}

static void deliver(void *arg)
{
    struct backup_job *job = arg;
    job->done(job->arg, &job->view);
    job_free(job);
}

/* The store cannot be freed in one of its own callbacks: the result is told in the next turn. */
static void KM_PRINTF(3, 4) finish(struct backup_job *job, enum backup_job_result result, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(job->view.message, sizeof(job->view.message), fmt, ap);
    va_end(ap);
    job->view.result = result;
    job->view.ended_ms = clock_realtime_ms();
    loop_timer_cancel(&job->limit);
    loop_timer_arm(&job->end, 0);
}

/* What the store answered for sure, and what it did not. */
static void finish_with_error(struct backup_job *job, const char *what, const struct error *err)
{
    bool certain = err->kind == ERROR_NOT_FOUND;
    finish(job, certain ? BACKUP_JOB_BAD : BACKUP_JOB_UNAVAILABLE, "%s: %.200s", what, err->message);
}

static void on_late(void *arg)
{
    finish(arg, BACKUP_JOB_UNAVAILABLE, "the store has not answered within %d s", BACKUP_JOB_MAX_MS / 1000);
}

/* ---- check ---- */

static void take_facts(struct backup_job *job)
{
    const struct backup_manifest *manifest = &job->manifest;
    struct backup_job_view *view = &job->view;
    view->raw_bytes = manifest->raw_bytes;
    view->stored_bytes = manifest->stored_bytes;
    view->data_bytes = manifest->data_bytes;
    view->completed_ms = manifest->completed_ms;
    position_tell(view->gtid, manifest->gtid);
    snprintf(view->server_version, sizeof(view->server_version), "%s", manifest->server_version);
    snprintf(view->flavour, sizeof(view->flavour), "%s", manifest->flavour);
    snprintf(view->key_id, sizeof(view->key_id), "%s", manifest->key_id);
}

static void on_listed(void *arg, const struct error *err)
{
    struct backup_job *job = arg;
    job->request = NULL;
    if (err) {
        finish_with_error(job, "list of the folder", err);
        return;
    }
    for (size_t i = 0; i < job->manifest.piece_count; i++) {
        char name[16];
        backup_piece_name(i, name);
        if (!job->seen[i]) {
            finish(job, BACKUP_JOB_BAD, "%s is missing, or not of the size that manifest.json says", name);
            return;
        }
    }
    take_facts(job);
    finish(job, BACKUP_JOB_GOOD, "it is whole");
}

/* The index of a piece's name, SIZE_MAX if it is none. */
static size_t piece_index(const struct backup_job *job, const char *name)
{
    char expected[16];
    const char *digits = name + strlen("data-");
    if (!str_starts_with(name, "data-") || strspn(digits, "0123456789") != strlen(digits) || strlen(digits) > 9)
        return SIZE_MAX;
    size_t index = (size_t)strtoul(digits, NULL, 10) - 1;
    if (index >= job->manifest.piece_count)
        return SIZE_MAX;
    backup_piece_name(index, expected);
    return str_eq(name, expected) ? index : SIZE_MAX;
}

static int on_entry(void *arg, const struct object_entry *entry)
{
    struct backup_job *job = arg;
    size_t len = strlen(job->folder);
    if (strncmp(entry->name, job->folder, len) != 0 || entry->name[len] != '/')
        return 0;
    size_t index = piece_index(job, entry->name + len + 1);
    if (index != SIZE_MAX)
        job->seen[index] = entry->bytes == job->manifest.pieces[index].bytes;
    return 0;
}

static bool take_manifest(struct backup_job *job, const struct object_got *got, struct error *err)
{
    const unsigned char *key = job->sealed ? job->key : NULL;
    tls_sha256_hex(got->body, got->len, job->view.digest);
    if (backup_manifest_decode(got->body, got->len, key, &job->manifest, err) < 0)
        return false;
    job->has_manifest = true;
    if (!str_eq(job->manifest.id, job->view.id)) {
        error_set(err, ERROR_PROTOCOL, "it is of another backup");
        return false;
    }
    job->seen = xnew_array(bool, MAX_OF(job->manifest.piece_count, (size_t)1));
    return true;
}

static void on_manifest(void *arg, const struct object_got *got, const struct error *err)
{
    struct backup_job *job = arg;
    struct error wrong = ERROR_INIT;
    job->request = NULL;
    if (err) {
        finish_with_error(job, BACKUP_MANIFEST_NAME, err);
        return;
    }
    if (!take_manifest(job, got, &wrong)) {
        finish(job, BACKUP_JOB_BAD, BACKUP_MANIFEST_NAME ": %.200s", wrong.message);
        return;
    }
    _cleanup_(freep) char *under = xasprintf("%s/", job->folder);
    job->request = object_list(job->store, under, 0, on_entry, on_listed, job);
}

/* ---- remove ---- */

static void on_removed(void *arg, const struct error *err)
{
    struct backup_job *job = arg;
    job->request = NULL;
    if (err && err->kind != ERROR_NOT_FOUND)
        finish(job, BACKUP_JOB_UNAVAILABLE, "%.200s", err->message);
    else
        finish(job, BACKUP_JOB_GOOD, "it is gone");
}

/* ---- the beginning ---- */

static void begin(void *arg)
{
    struct backup_job *job = arg;
    _cleanup_(freep) char *manifest = xasprintf("%s/" BACKUP_MANIFEST_NAME, job->folder);
    _cleanup_(freep) char *under = xasprintf("%s/", job->folder);
    if (!job->store)
        finish(job, BACKUP_JOB_UNAVAILABLE, "%s", job->refusal);
    else if (job->view.kind == BACKUP_JOB_CHECK)
        job->request = object_get(job->store, manifest, BACKUP_MANIFEST_MAX, on_manifest, job);
    else
        job->request = object_delete_tree(job->store, under, manifest, on_removed, job);
}

struct backup_job *backup_job_start(struct loop *loop, const struct backup_job_request *request,
    void (*done)(void *arg, const struct backup_job_view *view), void *arg)
{
    struct error err = ERROR_INIT;
    struct backup_job *job = xnew(struct backup_job);
    job->loop = loop;
    job->done = done;
    job->arg = arg;
    job->folder = xstrdup(request->folder);
    job->view.kind = request->kind;
    snprintf(job->view.id, sizeof(job->view.id), "%s", request->id);
    if (request->user_key) {
        job->sealed = true;
        memcpy(job->key, request->user_key, sizeof(job->key));
    }
    job->store = backup_store_open(loop, request->store, request->tls, 0, &err);
    if (!job->store)
        snprintf(job->refusal, sizeof(job->refusal), "%.200s", err.message);
    loop_timer_init(&job->kick, loop, begin, job);
    loop_timer_arm(&job->kick, 0);
    loop_timer_init(&job->end, loop, deliver, job);
    loop_timer_init(&job->limit, loop, on_late, job);
    loop_timer_arm(&job->limit, BACKUP_JOB_MAX_MS);
    return job;
}
