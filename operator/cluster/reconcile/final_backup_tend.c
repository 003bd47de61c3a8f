/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/reconcile/final_backup_tend.h"

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "operator/cluster/state/namespace_end.h"

struct tending {
    struct final_backup_tender tender;
    enum final_backup_act act;
    char *key, *ns, *name, *uid;
    final_backup_done_fn done;
    void *arg;
};

static void tending_end(struct tending *tending, int64_t again_ms, const struct error *err)
{
    final_backup_done_fn done = tending->done;
    void *arg = tending->arg;
    free(tending->key);
    free(tending->ns);
    free(tending->name);
    free(tending->uid);
    free(tending);
    done(arg, again_ms, err);
}

/* ---- finalizers ---- */

static void finalizers_end(struct tending *tending, const struct error *err)
{
    struct error copy = err ? *err : (struct error)ERROR_INIT;
    bool failed = err && err->kind != ERROR_NOT_FOUND; /* gone: fine */
    if (failed)
        error_prefix(&copy, "metadata.finalizers");
    tending_end(tending, 0, failed ? &copy : NULL);
}

/* The others' stay as they are. NULL: nothing is to change. */
static json_t *changed_finalizers(const json_t *list, enum final_backup_act act)
{
    const char *changed = act == FINAL_BACKUP_ACT_KEEP ? FINALIZER_FOREGROUND : FINALIZER_FINAL_BACKUP;
    bool wanted = act == FINAL_BACKUP_ACT_HOLD, had = false;
    json_t *ret = json_array();
    size_t i;
    json_t *each;
    json_array_foreach((json_t *)(uintptr_t)list, i, each) {
        bool same = str_eq(json_string_value(each), changed);
        had = had || same;
        if (!same)
            json_array_append(ret, each);
    }
    if (wanted)
        json_array_append_new(ret, json_string(changed));
    if (had != wanted)
        return ret;
    json_decref(ret);
    return NULL;
}

/* One that is being deleted may be gone by now: then the watch has the last word. */
static void on_finalizers_written(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct tending *tending = arg;
    if (!err && tending->act == FINAL_BACKUP_ACT_HOLD)
        informer_observe_write(tending->tender.cluster_cache, answer);
    finalizers_end(tending, err);
}

static void on_finalizers_read(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct tending *tending = arg;
    if (err || !str_eq(json_path_str(answer->object, "metadata.uid", NULL), tending->uid)) {
        finalizers_end(tending, err);
        return;
    }
    json_t *list = changed_finalizers(json_path(answer->object, "metadata.finalizers"), tending->act);
    if (!list) { /* the cache will follow */
        finalizers_end(tending, NULL);
        return;
    }
    json_t *patch = json_build("{s:{s:s, s:s, s:o}}", "metadata", "uid", tending->uid, "resourceVersion",
        json_path_str(answer->object, "metadata.resourceVersion", ""), "finalizers", list);
    kube_patch(tending->tender.client, tending->tender.clusters, tending->ns, tending->name, NULL, KUBE_PATCH_MERGE,
        patch, on_finalizers_written, tending);
    json_decref(patch);
}

/* ---- the MysqlBackup ---- */

static struct cluster_memory *memory_of(const struct tending *tending)
{
    return cluster_memories_get(tending->tender.memories, tending->key, tending->uid);
}

/* A name that is taken: perhaps by ourselves, before a crash. The watch will tell. */
static void on_made(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct tending *tending = arg;
    struct cluster_memory *memory = memory_of(tending);
    _cleanup_(freep) char *before = steal_ptr(memory->final_error);
    if (!err)
        informer_observe_write(tending->tender.backup_cache, answer);
    if (err && err->kind != ERROR_EXISTS)
        memory->final_error = xstrdup(err->message);
    cluster_memory_note_write(memory, err);
    tending_end(tending, !str_eq(memory->final_error, before) ? 1 : FINAL_BACKUP_MAKE_RETRY_MS, NULL);
}

static void make(struct tending *tending, const struct cluster_snapshot *snapshot)
{
    struct cluster_memory *memory = memory_of(tending);
    int64_t now_ms = clock_monotonic_ms();
    int64_t rest_ms = memory->final_tried_ms + FINAL_BACKUP_MAKE_RETRY_MS - now_ms;
    json_t *object = final_backup_object(snapshot);
    if (!object || (memory->final_error && rest_ms > 0)) {
        json_decref(object);
        tending_end(tending, MAX_OF(rest_ms, 1000), NULL);
        return;
    }
    memory->final_tried_ms = now_ms;
    kube_create(tending->tender.client, tending->tender.backups, tending->ns, object, on_made, tending);
    json_decref(object);
}

void final_backup_tend(const struct final_backup_tender *tender, const struct cluster_snapshot *snapshot,
    enum final_backup_act act, final_backup_done_fn done, void *arg)
{
    if (act == FINAL_BACKUP_ACT_NONE) {
        done(arg, 0, NULL);
        return;
    }
    struct tending *tending = xnew(struct tending);
    *tending = (struct tending){.tender = *tender,
        .act = act,
        .key = kube_key(snapshot->ns, snapshot->name),
        .ns = xstrdup(snapshot->ns),
        .name = xstrdup(snapshot->name),
        .uid = xstrdup(snapshot->uid),
        .done = done,
        .arg = arg};
    if (act == FINAL_BACKUP_ACT_MAKE)
        make(tending, snapshot);
    else
        kube_get(tender->client, tender->clusters, tending->ns, tending->name, on_finalizers_read, tending);
}
