/* SPDX-License-Identifier: Apache-2.0 */
/* object_delete_tree.c: all objects and uploads of a folder (object_store.h). */
#include "common/base.h"

#include "common/alloc.h"
#include "common/object_request.h"
#include "common/strvec.h"

#define ANSWER_MAX ((size_t)(64 * KM_KIB))
#define BATCH_MAX 1000
#define PARALLEL 4
/* A batch that begins with the same name so often: something writes there, or nothing is deleted. */
#define STUCK_MAX 5
#define ROUNDS_MAX 1000

struct tree;

struct lane {
    struct tree *tree;
    struct object_call *call;
};

struct tree {
    struct object_request request;
    char *under;                  /* ends in a slash */
    struct object_request *child; /* sweep or list under way */
    struct lane lanes[PARALLEL];
    struct strvec batch;
    size_t next;      /* of the batch */
    char *last_first; /* what the batch before began with */
    unsigned stuck;
    unsigned rounds;
    size_t uploads; /* found in this round */
    struct loop_timer timer;
};

static void tree_release(struct object_request *request)
{
    struct tree *t = container_of(request, struct tree, request);
    for (size_t i = 0; i < PARALLEL; i++)
        object_call_cancel(t->lanes[i].call);
    if (t->child)
        object_request_cancel(t->child);
    loop_timer_release(&t->timer);
    strvec_release(&t->batch);
    free(t->under);
    free(t->last_first);
}

static void round_begin(void *arg);

static void round_end(struct tree *t)
{
    const bool same = t->batch.n > 0 ? str_eq(t->batch.v[0], t->last_first) : t->uploads > 0;
    struct error err = ERROR_INIT;
    t->stuck = same ? t->stuck + 1 : 0;
    str_replace(&t->last_first, t->batch.v[0]);
    if (t->stuck < STUCK_MAX && ++t->rounds < ROUNDS_MAX) {
        loop_timer_arm(&t->timer, t->stuck > 0 ? t->request.store->pauses.base_ms : 0);
        return;
    }
    error_set(&err, ERROR_UNAVAILABLE, "%s/%s%s does not become empty: %s is still there", t->request.store->shown,
        t->request.store->prefix, t->under, t->batch.n > 0 ? t->batch.v[0] : "an upload");
    object_request_end(&t->request, &err);
}

/* ---- a batch of deletions ---- */

static bool lane_feed(struct lane *lane);

static bool all_idle(const struct tree *t)
{
    for (size_t i = 0; i < PARALLEL; i++)
        if (t->lanes[i].call)
            return false;
    return true;
}

static void on_deleted(void *arg, const struct object_answer *answer, const struct error *err)
{
    struct lane *lane = arg;
    struct tree *t = lane->tree;
    UNUSED(answer);
    lane->call = NULL;
    if (err && err->kind != ERROR_NOT_FOUND)
        object_request_end(&t->request, err);
    else if (!lane_feed(lane) && all_idle(t))
        round_end(t);
}

static bool lane_feed(struct lane *lane)
{
    struct tree *t = lane->tree;
    if (t->next >= t->batch.n)
        return false;
    const struct object_call_options options = {
        .method = "DELETE", .name = t->batch.v[t->next++], .max_body = ANSWER_MAX, .done = on_deleted, .arg = lane};
    lane->call = object_call_start(t->request.store, &options);
    return true;
}

/* ---- looking ---- */

static int on_entry(void *arg, const struct object_entry *entry)
{
    struct tree *t = arg;
    strvec_push(&t->batch, entry->name);
    return t->batch.n < BATCH_MAX ? 0 : -1;
}

static void on_list(void *arg, const struct error *err)
{
    struct tree *t = arg;
    t->child = NULL;
    if (err && (err->kind != ERROR_CANCELLED || t->batch.n < BATCH_MAX)) {
        object_request_end(&t->request, err);
        return;
    }
    if (t->batch.n == 0 && t->uploads == 0) {
        object_request_end(&t->request, NULL);
        return;
    }
    if (t->batch.n == 0) {
        round_end(t);
        return;
    }
    for (size_t i = 0; i < PARALLEL; i++)
        lane_feed(&t->lanes[i]);
}

/* object_list gives names of a prefix, and done comes with `arg`: both are the tree. */
static void on_swept(void *arg, const struct error *err)
{
    struct tree *t = arg;
    t->child = NULL;
    if (err) {
        object_request_end(&t->request, err);
        return;
    }
    t->child = object_list(t->request.store, t->under, 0, on_entry, on_list, t);
}

static void round_begin(void *arg)
{
    struct tree *t = arg;
    strvec_release(&t->batch);
    strvec_init(&t->batch);
    t->next = 0;
    t->child = t->request.store->ops->abort_uploads(t->request.store, t->under, &t->uploads, on_swept, t);
}

/* ---- the whole ---- */

static void on_first(void *arg, const struct object_answer *answer, const struct error *err)
{
    struct tree *t = arg;
    t->request.call = NULL;
    if (err && (err->kind != ERROR_NOT_FOUND || str_eq(answer->code, "NoSuchBucket")))
        object_request_end(&t->request, err);
    else
        round_begin(t);
}

static struct tree *tree_new(struct object_store *store, const char *under, object_done_fn done, void *arg)
{
    const size_t len = strlen(under);
    struct tree *t = xnew(struct tree);
    t->request.release = tree_release;
    t->under = xasprintf("%s%s", under, len > 0 && under[len - 1] == '/' ? "" : "/");
    strvec_init(&t->batch);
    for (size_t i = 0; i < PARALLEL; i++)
        t->lanes[i].tree = t;
    loop_timer_init(&t->timer, store->loop, round_begin, t);
    object_request_begin(&t->request, store, done, arg);
    return t;
}

struct object_request *object_delete_tree(
    struct object_store *store, const char *under, const char *first, object_done_fn done, void *arg)
{
    struct error err = ERROR_INIT;
    struct tree *t = tree_new(store, under, done, arg);
    if (object_name_check(under, true, &err) == 0 && first && object_name_check(first, false, &err) == 0 &&
        !str_starts_with(first, t->under))
        error_set(&err, ERROR_INVALID, "%s is not below %s", first, t->under);
    if (err.kind != ERROR_NONE) {
        object_request_refuse(&t->request, &err, object_request_settle);
    } else if (first) {
        const struct object_call_options options = {
            .method = "DELETE", .name = first, .max_body = ANSWER_MAX, .done = on_first, .arg = t};
        object_request_call(&t->request, &options);
    } else {
        loop_timer_arm(&t->timer, 0);
    }
    return &t->request;
}
