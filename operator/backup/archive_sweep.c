/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/backup/archive_sweep.h"

#include "common/agent_api.h"
#include "common/alloc.h"
#include "common/backup_manifest.h"
#include "common/object_store.h"
#include "common/strvec.h"
#include "operator/backup/archive_retention.h"

/* Of one cluster; retention keeps fewer. */
#define FOLDERS_MAX 2000

struct archive_sweep {
    struct loop *loop;
    struct object_store *store;
    struct object_request *request;
    struct loop_timer step, limit;
    void (*next)(struct archive_sweep *sweep); /* in the next turn: a store is not asked in its own callback */
    char *backups_folder, *folder, *uid;       /* both folders with a slash at their ends */
    int64_t now_ms;
    struct strvec ids; /* stored backups that were not looked at yet */
    struct known {
        char *id;
        int64_t completed_ms;
        bool is_read; /* its position is known */
    } * known;        /* backups that the caller knows of */
    size_t known_count;
    struct archive_held held; /* by all backups */
    struct gtid_set *from;    /* what the chain of result.link begins with; NULL: not known */
    struct archive_batch batch;
    struct archive_search search;
    size_t probe;
    size_t going, cut; /* of the entries: the next one to go, how many go */
    bool meta_is_gone; /* of the next one */
    struct archive_sweep_result result;
    void (*done)(void *arg, const struct archive_sweep_result *result);
    void *arg;
};

static void sweep_free(struct archive_sweep *sweep)
{
    if (sweep->request)
        object_request_cancel(sweep->request);
    object_store_free(sweep->store);
    loop_timer_release(&sweep->step);
    loop_timer_release(&sweep->limit);
    strvec_release(&sweep->ids);
    for (size_t i = 0; i < sweep->known_count; i++)
        free(sweep->known[i].id);
    free(sweep->known);
    archive_held_release(&sweep->held);
    gtid_set_free(sweep->from);
    free(sweep->backups_folder);
    free(sweep->folder);
    free(sweep->uid);
    free(sweep);
}

void archive_sweep_cancel(struct archive_sweep *sweep)
{
    if (sweep)
        sweep_free(sweep);
}

static void go_on(struct archive_sweep *sweep, void (*next)(struct archive_sweep *sweep))
{
    sweep->next = next;
    loop_timer_arm(&sweep->step, 0);
}

static void deliver(struct archive_sweep *sweep)
{
    sweep->done(sweep->arg, &sweep->result);
    sweep_free(sweep);
}

static void KM_PRINTF(2, 3) fail(struct archive_sweep *sweep, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(sweep->result.failure, sizeof(sweep->result.failure), fmt, ap);
    va_end(ap);
    go_on(sweep, deliver);
}

static void on_step(void *arg)
{
    struct archive_sweep *sweep = arg;
    sweep->next(sweep);
}

static void on_late(void *arg)
{
    struct archive_sweep *sweep = arg;
    if (sweep->request)
        object_request_cancel(steal_ptr(sweep->request));
    fail(sweep, "the store has not answered within %d s", ARCHIVE_SWEEP_MAX_MS / 1000);
}

/* ---- removal ---- */

static void remove_next(struct archive_sweep *sweep);

static void on_removed(void *arg, const struct error *err)
{
    struct archive_sweep *sweep = arg;
    sweep->request = NULL;
    if (err) {
        fail(sweep, "a segment that is not needed: %.200s", err->message);
        return;
    }
    if (sweep->meta_is_gone) {
        sweep->going++;
        sweep->result.removed++;
    }
    sweep->meta_is_gone = !sweep->meta_is_gone;
    go_on(sweep, remove_next);
}

static char *object_of(const struct archive_sweep *sweep, const struct binlog_segment_name *name, const char *ending)
{
    char printed[BINLOG_SEGMENT_NAME_SIZE];
    binlog_segment_name_print(name, printed);
    return xasprintf("%s%s%s", sweep->folder, printed, ending);
}

static char *name_of(const struct archive_sweep *sweep, size_t i, const char *ending)
{
    return object_of(sweep, &sweep->batch.entries[i].name, ending);
}

static void remove_next(struct archive_sweep *sweep)
{
    if (sweep->going == sweep->cut) {
        sweep->result.more = sweep->batch.more && sweep->cut > 0;
        go_on(sweep, deliver);
        return;
    }
    _cleanup_(freep) char *name = name_of(sweep, sweep->going, sweep->meta_is_gone ? ".log" : ".json");
    sweep->request = object_delete(sweep->store, name, on_removed, sweep);
}

/* ---- where all may begin ---- */

static void probe_next(struct archive_sweep *sweep);

/* One that cannot be read proves nothing: what is before it stays. */
static bool may_begin(const struct archive_sweep *sweep, const struct object_got *got)
{
    _cleanup_(position_pool_unrefp) struct position_pool *positions = position_pool_new(BINLOG_SEGMENT_POSITIONS_MAX);
    struct binlog_segment segment;
    return binlog_segment_decode(got->body, got->len, NULL, positions, &segment, NULL) == 0 &&
        str_eq(segment.cluster_uid, sweep->uid) && archive_may_begin_at(&segment, &sweep->held);
}

static void on_segment(void *arg, const struct object_got *got, const struct error *err)
{
    struct archive_sweep *sweep = arg;
    sweep->request = NULL;
    if (err && err->kind != ERROR_NOT_FOUND) {
        fail(sweep, "a segment: %.200s", err->message);
        return;
    }
    archive_search_take(&sweep->search, sweep->probe, !err && may_begin(sweep, got));
    go_on(sweep, probe_next);
}

static void probe_next(struct archive_sweep *sweep)
{
    if (!archive_search_next(&sweep->search, &sweep->probe)) {
        sweep->cut = archive_cut(&sweep->batch, sweep->search.low, sweep->now_ms);
        remove_next(sweep);
        return;
    }
    _cleanup_(freep) char *name = name_of(sweep, sweep->probe, ".json");
    sweep->request = object_get(sweep->store, name, BINLOG_SEGMENT_META_MAX, on_segment, sweep);
}

/* ---- segments ---- */

static int on_segment_entry(void *arg, const struct object_entry *entry)
{
    struct archive_sweep *sweep = arg;
    return archive_batch_add(&sweep->batch, entry->name + strlen(sweep->folder)) ? 0 : -1;
}

static void on_segments_listed(void *arg, const struct error *err)
{
    struct archive_sweep *sweep = arg;
    sweep->request = NULL;
    if (err && !sweep->batch.more) {
        fail(sweep, "list of the segments: %.200s", err->message);
        return;
    }
    sweep->search = (struct archive_search){0, sweep->batch.count};
    go_on(sweep, probe_next);
}

static void list_segments(struct archive_sweep *sweep)
{
    sweep->request = object_list(sweep->store, sweep->folder, 0, on_segment_entry, on_segments_listed, sweep);
}

/* ---- stored backups ---- */

static void look_at_next_backup(struct archive_sweep *sweep);

static bool is_mariadb(const char *flavour)
{
    return str_eq(flavour, agent_flavour_name(AGENT_FLAVOUR_MARIADB));
}

static void note_link(struct archive_sweep *sweep, const struct known *known, const struct backup_manifest *manifest)
{
    struct archive_link *link = &sweep->result.link;
    enum gtid_flavour flavour = is_mariadb(manifest->flavour) ? GTID_MARIADB : GTID_MYSQL;
    _cleanup_(gtid_set_freep) struct gtid_set *set = sweep->from ? position_parse(flavour, manifest->gtid) : NULL;
    enum gtid_relation relation = set ? gtid_set_compare(sweep->from, set) : GTID_DIVERGED;
    bool holds = relation == GTID_SUBSET || relation == GTID_EQUAL;
    if (holds && (link->completed_ms == 0 || known->completed_ms < link->completed_ms))
        link->completed_ms = known->completed_ms;
}

static void add_stored(struct archive_sweep *sweep, const struct backup_manifest *manifest)
{
    archive_held_add(&sweep->held, is_mariadb(manifest->flavour), manifest->gtid);
    for (size_t i = 0; i < sweep->known_count; i++) {
        if (!str_eq(sweep->known[i].id, manifest->id))
            continue;
        sweep->known[i].is_read = true;
        note_link(sweep, &sweep->known[i], manifest);
    }
}

static void add_known(struct archive_sweep *sweep, const struct archive_backup *backup)
{
    sweep->known = xreallocarray(sweep->known, sweep->known_count + 1, sizeof(*sweep->known));
    struct known *known = &sweep->known[sweep->known_count++];
    *known = (struct known){.id = xstrdup(str_or_empty(backup->id)), .completed_ms = backup->completed_ms};
    known->is_read = position_is_whole(backup->gtid);
    if (known->is_read)
        archive_held_add(&sweep->held, backup->mariadb, backup->gtid);
}

/* All manifests were read. */
static void end_backups(struct archive_sweep *sweep)
{
    for (size_t i = 0; i < sweep->known_count; i++) {
        if (sweep->known[i].is_read)
            continue;
        fail(sweep, "gtid: backup %.100s has one that only its manifest tells, and that is not there",
            sweep->known[i].id);
        return;
    }
    sweep->result.link.known = sweep->from != NULL;
    go_on(sweep, sweep->held.set ? list_segments : deliver);
}

static void on_manifest(void *arg, const struct object_got *got, const struct error *failure)
{
    struct archive_sweep *sweep = arg;
    struct backup_manifest manifest;
    struct error err = ERROR_INIT;
    sweep->request = NULL;
    if (failure && failure->kind != ERROR_NOT_FOUND) {
        fail(sweep, "a backup's manifest: %.200s", failure->message);
        return;
    }
    if (!failure && backup_manifest_decode(got->body, got->len, NULL, &manifest, &err) < 0) {
        fail(sweep, "a backup's manifest: %.200s", err.message);
        return;
    }
    if (!failure) {
        if (str_eq(manifest.cluster_uid, sweep->uid))
            add_stored(sweep, &manifest);
        backup_manifest_release(&manifest);
    }
    go_on(sweep, look_at_next_backup);
}

static void look_at_next_backup(struct archive_sweep *sweep)
{
    if (sweep->ids.n == 0) {
        end_backups(sweep);
        return;
    }
    _cleanup_(freep) char *id = sweep->ids.v[--sweep->ids.n];
    sweep->ids.v[sweep->ids.n] = NULL;
    _cleanup_(freep) char *name = xasprintf("%s%s/" BACKUP_MANIFEST_NAME, sweep->backups_folder, id);
    sweep->request = object_get(sweep->store, name, (size_t)BACKUP_MANIFEST_MAX, on_manifest, sweep);
}

static int on_backup_entry(void *arg, const struct object_entry *entry)
{
    struct archive_sweep *sweep = arg;
    const char *name = entry->name + strlen(sweep->backups_folder);
    size_t len = strlen(name);
    if (len < 2 || name[len - 1] != '/')
        return 0;
    if (sweep->ids.n == FOLDERS_MAX)
        return -1;
    strvec_pushf(&sweep->ids, "%.*s", (int)len - 1, name);
    return 0;
}

static void on_backups_listed(void *arg, const struct error *err)
{
    struct archive_sweep *sweep = arg;
    sweep->request = NULL;
    if (sweep->ids.n == FOLDERS_MAX)
        fail(sweep, "there are more than %d backups", FOLDERS_MAX);
    else if (err)
        fail(sweep, "list of the backups: %.200s", err->message);
    else
        go_on(sweep, look_at_next_backup);
}

static void list_backups(struct archive_sweep *sweep)
{
    sweep->request = object_list(sweep->store, sweep->backups_folder, '/', on_backup_entry, on_backups_listed, sweep);
}

/* ---- where the chain begins ---- */

static void on_first_segment(void *arg, const struct object_got *got, const struct error *err)
{
    struct archive_sweep *sweep = arg;
    _cleanup_(position_pool_unrefp) struct position_pool *positions = position_pool_new(BINLOG_SEGMENT_POSITIONS_MAX);
    struct binlog_segment segment;
    sweep->request = NULL;
    bool ours = !err && binlog_segment_decode(got->body, got->len, NULL, positions, &segment, NULL) == 0 &&
        str_eq(segment.cluster_uid, sweep->uid);
    if (ours)
        sweep->from = position_parse(is_mariadb(segment.flavour) ? GTID_MARIADB : GTID_MYSQL, segment.after);
    go_on(sweep, list_backups);
}

static void begin(struct archive_sweep *sweep)
{
    const struct binlog_segment_name *chain = &sweep->result.link.chain;
    if (!sweep->store) {
        deliver(sweep);
    } else if (chain->sequence == 0) {
        list_backups(sweep);
    } else {
        _cleanup_(freep) char *name = object_of(sweep, chain, ".json");
        sweep->request = object_get(sweep->store, name, BINLOG_SEGMENT_META_MAX, on_first_segment, sweep);
    }
}

/* ---- life ---- */

static char *folder_text(void (*print)(const char *ns, const char *cluster, const char *last, struct strbuf *out),
    const char *ns, const char *cluster, const char *last, const char *ending)
{
    struct strbuf text;
    strbuf_init(&text, OBJECT_NAME_SIZE);
    print(ns, cluster, last, &text);
    strbuf_adds(&text, ending);
    return strbuf_detach(&text, NULL);
}

static void open_store(struct archive_sweep *sweep, const struct archive_sweep_request *request)
{
    struct error err = ERROR_INIT;
    sweep->store = backup_store_open(sweep->loop, request->store, request->tls, 0, &err);
    if (!sweep->store)
        snprintf(sweep->result.failure, sizeof(sweep->result.failure), "%.200s", err.message);
}

struct archive_sweep *archive_sweep_start(struct loop *loop, const struct archive_sweep_request *request,
    void (*done)(void *arg, const struct archive_sweep_result *result), void *arg)
{
    struct archive_sweep *sweep = xnew(struct archive_sweep);
    sweep->loop = loop;
    sweep->done = done;
    sweep->arg = arg;
    sweep->now_ms = request->now_ms;
    sweep->uid = xstrdup(request->uid);
    sweep->backups_folder = folder_text(backup_folder_of, request->ns, request->cluster, "", "");
    sweep->folder = folder_text(binlog_folder_of, request->ns, request->cluster, request->uid, "/");
    strvec_init(&sweep->ids);
    for (size_t i = 0; i < request->backup_count; i++)
        add_known(sweep, &request->backups[i]);
    sweep->result.link.chain = request->chain;
    open_store(sweep, request);
    loop_timer_init(&sweep->step, loop, on_step, sweep);
    loop_timer_init(&sweep->limit, loop, on_late, sweep);
    loop_timer_arm(&sweep->limit, ARCHIVE_SWEEP_MAX_MS);
    go_on(sweep, begin);
    return sweep;
}
