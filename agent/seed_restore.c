/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/seed_restore.h"

#include "agent/bootstrap/clone_finish.h"
#include "agent/bootstrap/clone_space.h"
#include "agent/bootstrap/datadir.h"
#include "agent/bootstrap/datadir_beside.h"
#include "agent/bootstrap/load_mysql.h"
#include "agent/bootstrap/restore_stream.h"
#include "agent/bootstrap/seed_position.h"
#include "agent/instance_files.h"
#include "agent/seed_prepare.h"
#include "agent/seed_replay.h"
#include "agent/seed_settle.h"
#include "common/alloc.h"
#include "common/backup_manifest.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/log.h"
#include "common/object_store.h"
#include "common/strvec.h"
#include "common/tls.h"

#define OURSELVES "/proc/self/exe"

struct seed_restore {
    struct seed_restore_options options;
    struct strbuf task_text; /* secret */
    struct backup_task task; /* secret, while the manifest is read */
    enum agent_seed_step step;
    struct object_store *store;
    struct object_request *reading;
    struct backup_manifest manifest;
    bool has_manifest;
    struct load_mysql *load;
    struct restore_stream *stream;
    struct seed_prepare *prepare;
    struct seed_settle *settle;
    struct seed_replay *replay; /* first the check, in the end the replay itself */
    bool replays;
    char *held;              /* by the backup: as its manifest says, or a server on it */
    char *reached;           /* by the replay */
    struct loop_timer begin; /* the archive has what is wanted: the data comes */
    struct loop_timer next;  /* what made the data has ended: the replay begins, or there is none */
    struct loop_timer end;
    struct error error;
    struct restore_failure failure;
    uint64_t bytes;
    bool loading; /* `load` is getting ready */
    bool cancelled;
};

/* ---- the end of copying ---- */

static void stop(struct seed_restore *restore)
{
    if (restore->stream)
        restore->bytes = restore_stream_bytes(restore->stream);
    if (restore->reading)
        object_request_cancel(steal_ptr(restore->reading));
    object_store_free(steal_ptr(restore->store));
    restore_stream_free(steal_ptr(restore->stream));
    load_mysql_free(steal_ptr(restore->load));
    seed_prepare_free(steal_ptr(restore->prepare));
    seed_settle_free(steal_ptr(restore->settle));
    seed_replay_free(steal_ptr(restore->replay));
    loop_timer_cancel(&restore->begin);
    loop_timer_cancel(&restore->next);
    backup_task_release(&restore->task);
}

static void on_end(void *arg)
{
    struct seed_restore *restore = arg;
    struct error error = restore->error;

    stop(restore);
    restore->options.copied(restore->options.arg, error.kind == ERROR_NONE ? NULL : &error);
}

static void fail(struct seed_restore *restore, const struct error *err, enum restore_place place)
{
    uint64_t free_bytes = 0;
    uint64_t total = 0;

    restore->error = *err;
    if (fs_space(restore->options.paths->volume_dir, &free_bytes, &total, NULL) == 0)
        restore_check_full(place, free_bytes, &restore->error);
    restore->failure = restore_classify(place, &restore->error);
}

static void end_with(struct seed_restore *restore, const struct error *err, enum restore_place place)
{
    if (restore->end.armed)
        return;
    if (err)
        fail(restore, err, place);
    loop_timer_arm(&restore->end, 0);
}

/* ---- archived binary logs ---- */

static void end_as(struct seed_restore *restore, const struct error *err, struct restore_failure failure)
{
    end_with(restore, err, RESTORE_AT_TOOLS);
    if (err)
        restore->failure = failure;
}

static void on_replayed(void *arg, const struct error *err, struct restore_failure failure)
{
    struct seed_restore *restore = arg;

    str_replace(&restore->reached, seed_replay_reached(restore->replay));
    end_as(restore, err, failure);
}

static void start_replay(struct seed_restore *restore, bool only_check,
    void (*done)(void *arg, const struct error *err, struct restore_failure failure))
{
    const struct seed_replay_options options = {
        .loop = restore->options.loop,
        .worker = restore->options.worker,
        .paths = restore->options.paths,
        .prepared = restore->options.prepared,
        .task = restore->task_text.buf,
        .task_len = restore->task_text.len,
        .gtid = str_or_empty(restore->held),
        .backup_ms = restore->manifest.started_ms,
        .only_check = only_check,
        .done = done,
        .arg = restore,
    };

    restore->replay = seed_replay_start(&options);
}

/* data.new holds the backup, and what made it has ended. */
static void on_next(void *arg)
{
    struct seed_restore *restore = arg;

    load_mysql_free(steal_ptr(restore->load));
    seed_prepare_free(steal_ptr(restore->prepare));
    seed_settle_free(steal_ptr(restore->settle));
    if (!restore->replays) {
        end_with(restore, NULL, RESTORE_AT_TOOLS);
        return;
    }
    restore->step = AGENT_SEED_STEP_REPLAYING;
    start_replay(restore, false, on_replayed);
}

static void on_made(void *arg, const struct error *err)
{
    struct seed_restore *restore = arg;

    if (err)
        end_with(restore, err, RESTORE_AT_TOOLS);
    else
        loop_timer_arm(&restore->next, 0);
}

/* ---- preparing ---- */

static void start_prepare(struct seed_restore *restore)
{
    struct error err = ERROR_INIT;
    const struct seed_prepare_options options = {
        .loop = restore->options.loop,
        .paths = restore->options.paths,
        .prepared = restore->options.prepared,
        .done = on_made,
        .arg = restore,
    };

    restore->prepare = seed_prepare_start(&options, &err);
    if (!restore->prepare)
        end_with(restore, &err, RESTORE_AT_TOOLS);
}

static void on_settled(void *arg, const struct error *err)
{
    struct seed_restore *restore = arg;

    if (err) {
        end_with(restore, err, RESTORE_AT_COPY);
        return;
    }
    str_replace(&restore->held, seed_settle_gtid(restore->settle));
    on_made(restore, NULL);
}

static void start_settle(struct seed_restore *restore)
{
    const struct seed_settle_options options = {
        .loop = restore->options.loop,
        .worker = restore->options.worker,
        .paths = restore->options.paths,
        .prepared = restore->options.prepared,
        .gtid = str_or_empty(restore->manifest.gtid),
        .done = on_settled,
        .arg = restore,
    };

    restore->settle = seed_settle_start(&options);
}

/* ---- the data ---- */

static void on_stream_done(void *arg, const struct error *err, enum restore_place place)
{
    struct seed_restore *restore = arg;

    if (err) {
        end_with(restore, err, place);
        return;
    }
    restore->bytes = restore_stream_bytes(restore->stream);
    log_info("the backup has arrived whole", LOG_STR("backup", restore->manifest.id), LOG_INT("bytes", restore->bytes));
    restore->step = AGENT_SEED_STEP_PREPARING;
    if (restore->load)
        load_mysql_stop(restore->load);
    else if (restore->manifest.stream == STREAM_METHOD_TAR)
        start_settle(restore);
    else
        start_prepare(restore);
}

static int build_tool(const struct seed_restore *restore, struct strvec *argv, struct error *err)
{
    const struct agent_paths *paths = restore->options.paths;

    if (restore->load)
        return load_mysql_command(restore->load, argv, err);
    if (restore->manifest.stream == STREAM_METHOD_XBSTREAM)
        return clone_unpack_command(paths, argv, err);
    strvec_push(argv, OURSELVES);
    strvec_push(argv, "unpack");
    strvec_pushf(argv, "--data-volume=%s", paths->volume_dir);
    strvec_pushf(argv, "--max-bytes=%llu", (unsigned long long)restore->manifest.raw_bytes);
    return 0;
}

static void start_stream(struct seed_restore *restore)
{
    _cleanup_(freep) char *tls_dir = xasprintf("--tls-dir=%s", restore->options.paths->tls_dir);
    const char *const download[] = {OURSELVES, "download", tls_dir, NULL};
    _cleanup_(strvec_release) struct strvec argv;
    struct error err = ERROR_INIT;

    strvec_init(&argv);
    if (build_tool(restore, &argv, &err) < 0) {
        end_with(restore, &err, RESTORE_AT_TOOLS);
        return;
    }
    const struct restore_stream_options options = {
        .loop = restore->options.loop,
        .download = download,
        .tool = (const char *const *)argv.v,
        .task = restore->task_text.buf,
        .task_len = restore->task_text.len,
        .done = on_stream_done,
        .arg = restore,
    };
    restore->stream = restore_stream_start(&options, &err);
    if (!restore->stream)
        end_with(restore, &err, RESTORE_AT_TOOLS);
}

static void on_load_ready(void *arg, const struct error *err)
{
    struct seed_restore *restore = arg;

    restore->loading = false;
    if (err)
        end_with(restore, err, RESTORE_AT_TOOLS);
    else
        start_stream(restore);
}

static void start_load(struct seed_restore *restore)
{
    const struct load_mysql_options options = {
        .loop = restore->options.loop,
        .worker = restore->options.worker,
        .prepared = restore->options.prepared,
        .paths = restore->options.paths,
        .replace = false, /* what is there stays until the new is whole */
        .ready = on_load_ready,
        .stopped = on_made,
        .arg = restore,
    };

    restore->loading = true;
    restore->load = load_mysql_start(&options);
}

/* ---- the manifest, before anything is touched ---- */

static int check_digest(const struct seed_restore *restore, const struct object_got *got, struct error *err)
{
    char digest[65];

    tls_sha256_hex(got->body, got->len, digest);
    if (*restore->task.digest && !str_eq(digest, restore->task.digest))
        return error_set(err, ERROR_PROTOCOL,
            "%s/" BACKUP_MANIFEST_NAME " is not the one that was chosen (its SHA-256 is %.16s…, not %.16s…)",
            restore->task.folder, digest, restore->task.digest);
    return 0;
}

/* Who has given a key does not want what anybody could have written. */
static int check_key(const struct seed_restore *restore, struct error *err)
{
    if (restore->manifest.sealed && !restore->task.sealed)
        return error_set(err, ERROR_FORBIDDEN,
            "the backup is encrypted (key %s); spec.restoreFrom.encryption.keySecret must name its key",
            restore->manifest.key_id);
    if (!restore->manifest.sealed && restore->task.sealed)
        return error_set(err, ERROR_FORBIDDEN,
            "the backup is not encrypted, but spec.restoreFrom.encryption asks for one that is: nobody vouches for its content");
    return 0;
}

static int check_room(const struct seed_restore *restore, struct error *err)
{
    struct clone_space space = {.estimate_bytes = restore->manifest.data_bytes};
    uint64_t total = 0;

    if (fs_space(restore->options.paths->volume_dir, &space.free_bytes, &total, err) < 0)
        return -1;
    return clone_space_check(&space, err) == CLONE_FITS ? 0 : -1;
}

static int check_manifest(struct seed_restore *restore, const struct object_got *got, struct error *err)
{
    const struct backup_task *task = &restore->task;

    if (check_digest(restore, got, err) < 0)
        return -1;
    if (backup_manifest_decode(got->body, got->len, task->sealed ? task->key : NULL, &restore->manifest, err) < 0)
        return error_prefix(err, "%s/" BACKUP_MANIFEST_NAME, task->folder);
    restore->has_manifest = true;
    if (!str_eq(restore->manifest.id, task->id))
        return error_set(err, ERROR_PROTOCOL, "%s/" BACKUP_MANIFEST_NAME " is that of another backup, %s", task->folder,
            restore->manifest.id);
    if (check_key(restore, err) < 0 ||
        restore_check_manifest(&restore->manifest, &restore->options.prepared->binary.version,
            restore->options.prepared->path == SEED_PATH_PHYSICAL, err) < 0)
        return -1;
    return check_room(restore, err);
}

static void start_data(struct seed_restore *restore)
{
    if (restore->manifest.stream == STREAM_METHOD_SQL)
        start_load(restore);
    else
        start_stream(restore);
}

/* `end` comes with the next turn: the check is freed there, or by the replay that takes its place. */
static void on_checked(void *arg, const struct error *err, struct restore_failure failure)
{
    struct seed_restore *restore = arg;

    if (err)
        end_as(restore, err, failure);
    else
        loop_timer_arm(&restore->begin, 0);
}

static void on_begin(void *arg)
{
    struct seed_restore *restore = arg;

    seed_replay_free(steal_ptr(restore->replay));
    start_data(restore);
}

static void on_manifest(void *arg, const struct object_got *got, const struct error *failure)
{
    struct seed_restore *restore = arg;
    struct error err = ERROR_INIT;

    restore->reading = NULL;
    if (failure) {
        err = *failure;
        error_prefix(&err, "%s/" BACKUP_MANIFEST_NAME, restore->task.folder);
        end_with(restore, &err, RESTORE_AT_MANIFEST);
        return;
    }
    if (check_manifest(restore, got, &err) < 0) {
        end_with(restore, &err, RESTORE_AT_CHECK);
        return;
    }
    log_info("the backup fits", LOG_STR("backup", restore->manifest.id),
        LOG_STR("version", restore->manifest.server_version), LOG_STR("gtid", str_or_empty(restore->manifest.gtid)),
        LOG_INT("dataBytes", restore->manifest.data_bytes));
    str_replace(&restore->held, str_or_empty(restore->manifest.gtid));
    restore->replays = restore->task.binlogs_folder != NULL;
    backup_task_release(&restore->task);
    if (restore->replays)
        start_replay(restore, true, on_checked);
    else
        start_data(restore);
}

static struct http_tls *make_tls(const struct seed_restore *restore, struct error *err)
{
    _cleanup_(tls_files_release) struct tls_files files = {0};
    const struct backup_store *store = &restore->task.store;
    struct http_tls_options options = {
        .ca_pem = str_empty(store->ca_pem) ? NULL : store->ca_pem,
        .server_name = str_empty(store->server_name) ? NULL : store->server_name,
    };

    if (!store->is_volume)
        return http_tls_new(&options);
    if (instance_files_read_tls(restore->options.paths, &files, err) < 0)
        return NULL;
    options.ca_pem = files.ca_pem;
    options.cert_pem = files.pair.cert_pem;
    options.key_pem = files.pair.key_pem;
    return http_tls_new(&options);
}

static int open_store(struct seed_restore *restore, struct error *err)
{
    struct http_tls *tls = make_tls(restore, err);

    if (!tls)
        return -1;
    restore->store = backup_store_open(restore->options.loop, &restore->task.store, tls, 0, err);
    http_tls_unref(tls);
    return restore->store ? 0 : -1;
}

void seed_restore_copy(struct seed_restore *restore)
{
    struct error err = ERROR_INIT;

    restore->step = AGENT_SEED_STEP_COPYING;
    error_clear(&restore->error);
    if (backup_task_decode(restore->task_text.buf, restore->task_text.len, &restore->task, &err) < 0 ||
        open_store(restore, &err) < 0) {
        end_with(restore, &err, RESTORE_AT_MANIFEST);
        return;
    }
    _cleanup_(freep) char *name = xasprintf("%s/" BACKUP_MANIFEST_NAME, restore->task.folder);
    restore->reading = object_get(restore->store, name, (size_t)BACKUP_MANIFEST_MAX, on_manifest, restore);
}

/* ---- life ---- */

struct seed_restore *seed_restore_new(const struct seed_restore_options *options)
{
    struct seed_restore *restore = xnew(struct seed_restore);

    restore->options = *options;
    restore->step = AGENT_SEED_STEP_COPYING;
    strbuf_init(&restore->task_text, (size_t)BACKUP_TASK_MAX);
    strbuf_add(&restore->task_text, options->task, options->task_len);
    restore->options.task = NULL;
    loop_timer_init(&restore->end, options->loop, on_end, restore);
    loop_timer_init(&restore->begin, options->loop, on_begin, restore);
    loop_timer_init(&restore->next, options->loop, on_next, restore);
    return restore;
}

void seed_restore_free(struct seed_restore *restore)
{
    if (!restore)
        return;
    stop(restore);
    loop_timer_release(&restore->end);
    loop_timer_release(&restore->begin);
    loop_timer_release(&restore->next);
    if (restore->has_manifest)
        backup_manifest_release(&restore->manifest);
    strbuf_release_secret(&restore->task_text);
    free(restore->held);
    free(restore->reached);
    free(restore);
}

void seed_restore_cancel(struct seed_restore *restore)
{
    struct error err = ERROR_INIT;

    restore->cancelled = true;
    if (restore->loading) {
        load_mysql_cancel(restore->load);
        return; /* the worker's job ends first */
    }
    if (restore->settle && !restore->next.armed && !restore->end.armed) {
        seed_settle_cancel(restore->settle); /* likewise */
        return;
    }
    if (restore->replay && !restore->begin.armed && !restore->end.armed) {
        seed_replay_cancel(restore->replay); /* likewise */
        return;
    }
    stop(restore);
    error_set(&err, ERROR_CANCELLED, "another order came");
    end_with(restore, &err, RESTORE_AT_TOOLS);
}

/* All that data.new holds. */
static const char *position_of(const struct seed_restore *restore)
{
    return str_or_empty(restore->replays ? restore->reached : restore->held);
}

/* 0: it becomes the data at once. */
static uint64_t number_beside(const struct seed_restore *restore)
{
    const struct agent_order *order = restore->options.order;

    return order->seed == AGENT_SEED_RESTORE_BESIDE ? order->restore_number : 0;
}

/* MySQL knows its position: its dump has set it, its files hold it. */
static int finish_loaded(struct seed_restore *restore, const char *donor, struct error *err)
{
    const struct agent_paths *paths = restore->options.paths;
    struct seed_position position = {.gtid = position_of(restore), .at_ms = clock_realtime_ms()};

    snprintf(position.donor, sizeof(position.donor), "%s", donor);
    if (restore->options.prepared->binary.version.flavour == AGENT_FLAVOUR_MARIADB &&
        seed_position_write(paths->data_new_dir, &position, err) < 0)
        return -1;
    if (number_beside(restore))
        return datadir_keep_beside(paths, number_beside(restore), err);
    return datadir_publish(paths, restore->options.order->replace, err);
}

int seed_restore_finish(struct seed_restore *restore, struct error *err)
{
    _cleanup_(freep) char *donor = xasprintf("backup %s", restore->manifest.id);
    struct clone_origin origin = {
        .donor = donor,
        .server_version = restore->manifest.server_version,
        .gtid = position_of(restore),
        .replace = restore->options.order->replace,
        .beside = number_beside(restore),
    };

    if (restore->manifest.stream != STREAM_METHOD_XBSTREAM)
        return finish_loaded(restore, donor, err);
    return clone_finish_mariadb(restore->options.paths, &origin, err);
}

void seed_restore_progress(const struct seed_restore *restore, struct agent_status *status)
{
    status->seed.step = restore->step;
    status->seed.bytes = restore->stream ? restore_stream_bytes(restore->stream) : restore->bytes;
    status->seed.total_bytes = restore->has_manifest ? restore->manifest.raw_bytes : 0;
    if (restore->step == AGENT_SEED_STEP_REPLAYING && restore->replay)
        seed_replay_progress(restore->replay, status);
}

struct restore_failure seed_restore_failure(const struct seed_restore *restore)
{
    return restore->failure;
}
