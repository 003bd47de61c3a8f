/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/seed_clone.h"

#include "agent/backup/data_size.h"
#include "agent/bootstrap/clone_finish.h"
#include "agent/bootstrap/clone_mysql.h"
#include "agent/bootstrap/clone_space.h"
#include "agent/bootstrap/clone_stream.h"
#include "agent/bootstrap/datadir.h"
#include "agent/bootstrap/load_mysql.h"
#include "agent/instance_files.h"
#include "agent/seed_prepare.h"
#include "common/alloc.h"
#include "common/fs.h"
#include "common/log.h"
#include "common/strvec.h"

struct seed_clone {
    struct seed_clone_options options;
    enum agent_seed_step step;
    struct clone_mysql *mysql;
    struct load_mysql *load;
    struct clone_stream *stream;
    struct seed_prepare *prepare;
    struct stream_header header;
    char *gtid; /* of the trailer */
    struct loop_timer end;
    struct error error;
    uint64_t bytes;
    bool working;    /* the worker has a job of ours */
    bool loading;    /* `load` is getting ready */
    bool statements; /* in place of files, as the donor said */
    bool cancelled;
};

/* ---- the end of copying ---- */

static void stop(struct seed_clone *clone)
{
    if (clone->stream)
        clone->bytes = clone_stream_bytes(clone->stream);
    clone_mysql_free(steal_ptr(clone->mysql));
    clone_stream_free(steal_ptr(clone->stream));
    load_mysql_free(steal_ptr(clone->load));
    seed_prepare_free(steal_ptr(clone->prepare));
}

static void on_end(void *arg)
{
    struct seed_clone *clone = arg;
    struct error error = clone->error;

    stop(clone);
    clone->options.copied(clone->options.arg, error.kind == ERROR_NONE ? NULL : &error);
}

static void end_with(struct seed_clone *clone, const struct error *err)
{
    if (clone->end.armed)
        return;
    if (err)
        clone->error = *err;
    loop_timer_arm(&clone->end, 0);
}

/* ---- preparing ---- */

static void on_prepared(void *arg, const struct error *err)
{
    end_with(arg, err);
}

static int start_prepare(struct seed_clone *clone, struct error *err)
{
    const struct seed_prepare_options options = {
        .loop = clone->options.loop,
        .paths = clone->options.paths,
        .prepared = clone->options.prepared,
        .done = on_prepared,
        .arg = clone,
    };

    clone->step = AGENT_SEED_STEP_PREPARING;
    clone->prepare = seed_prepare_start(&options, err);
    return clone->prepare ? 0 : -1;
}

/* ---- room for it ---- */

static void run_remove_old(void *arg)
{
    struct seed_clone *clone = arg;

    error_clear(&clone->error);
    if (datadir_discard(clone->options.paths, &clone->error) < 0)
        error_prefix(&clone->error, "removing the data that is to be replaced");
}

static void on_old_removed(void *arg)
{
    struct seed_clone *clone = arg;

    clone->working = false;
    if (clone->cancelled && clone->error.kind == ERROR_NONE)
        error_set(&clone->error, ERROR_CANCELLED, "another order came");
    if (clone->error.kind != ERROR_NONE)
        end_with(clone, &clone->error);
    else
        clone_stream_continue(clone->stream);
}

static int remove_old(struct seed_clone *clone)
{
    struct worker_job job = {.run = run_remove_old, .done = on_old_removed, .arg = clone};

    log_info("the volume cannot hold both: the data that is to be replaced goes first",
        LOG_STR("folder", clone->options.paths->data_dir));
    error_set(&clone->error, ERROR_CANCELLED, "init ends");
    if (worker_submit(clone->options.worker, &job) < 0)
        abort(); /* it is idle */
    clone->working = true;
    return 1;
}

static int on_header(void *arg, const struct stream_header *header, struct error *err)
{
    struct seed_clone *clone = arg;
    const struct agent_paths *paths = clone->options.paths;
    struct clone_space space = {.estimate_bytes = header->estimate_bytes, .redo_bytes = header->redo_bytes};
    struct data_size old = {0};
    uint64_t total = 0;

    clone->header = *header;
    if (fs_space(paths->volume_dir, &space.free_bytes, &total, err) < 0)
        return -1;
    if (clone->options.order->replace && data_size_estimate(paths->data_dir, &old, NULL) == 0)
        space.old_bytes = old.bytes + old.redo_bytes;
    log_info("the donor begins", LOG_STR("donor", clone->options.order->donor_host),
        LOG_STR("version", header->server_version), LOG_INT("estimateBytes", header->estimate_bytes),
        LOG_INT("freeBytes", space.free_bytes));
    switch (clone_space_check(&space, err)) {
    case CLONE_FITS:
        return 0;
    case CLONE_FITS_IF_EMPTY:
        return remove_old(clone);
    default:
        return -1;
    }
}

/* ---- copying ---- */

static void on_load_stopped(void *arg, const struct error *err)
{
    end_with(arg, err);
}

/* What was loaded counts once its server has ended well. */
static void stop_loading(struct seed_clone *clone)
{
    log_info("the copy has been loaded", LOG_INT("bytes", clone->bytes));
    clone->step = AGENT_SEED_STEP_PREPARING;
    load_mysql_stop(clone->load);
}

static int start_load(struct seed_clone *clone);

/* Nothing has come yet. */
static bool turns_to_statements(struct seed_clone *clone, const struct error *failure)
{
    if (!failure || failure->code != AGENT_COPY_BY_STATEMENTS || clone->load || clone->statements)
        return false;
    log_info("nobody acknowledges the donor's commits: the copy comes as statements, which takes longer");
    clone_stream_free(steal_ptr(clone->stream));
    clone->statements = true;
    return start_load(clone) == 0;
}

static void on_stream_done(void *arg, const struct stream_trailer *trailer, const struct error *failure)
{
    struct seed_clone *clone = arg;
    struct error err = ERROR_INIT;

    if (turns_to_statements(clone, failure))
        return;
    if (failure) {
        end_with(clone, failure);
        return;
    }
    str_replace(&clone->gtid, str_or_empty(trailer->gtid));
    clone->bytes = trailer->bytes;
    clone_stream_free(steal_ptr(clone->stream));
    if (clone->load)
        stop_loading(clone);
    else if (start_prepare(clone, &err) < 0)
        end_with(clone, &err);
}

static struct http_tls *make_tls(const struct agent_paths *paths, struct error *err)
{
    _cleanup_(tls_files_release) struct tls_files files = {0};

    if (instance_files_read_tls(paths, &files, err) < 0)
        return NULL;
    struct http_tls_options options = {
        .ca_pem = files.ca_pem,
        .cert_pem = files.pair.cert_pem,
        .key_pem = files.pair.key_pem,
    };
    return http_tls_new(&options);
}

static bool has_client(void)
{
    _cleanup_(freep) char *client = server_binary_search("mariadb");
    _cleanup_(freep) char *old_client = server_binary_search("mysql");

    return client || old_client;
}

static int start_stream(struct seed_clone *clone, struct error *err)
{
    _cleanup_(strvec_release) struct strvec argv;

    strvec_init(&argv);
    if ((clone->load ? load_mysql_command(clone->load, &argv, err)
                     : clone_unpack_command(clone->options.paths, &argv, err)) < 0)
        return -1;
    struct http_tls *tls = make_tls(clone->options.paths, err);
    if (!tls)
        return -1;
    struct clone_stream_options options = {
        .loop = clone->options.loop,
        .tls = tls,
        .donor_host = clone->options.order->donor_host,
        .donor_port = clone->options.order->donor_agent_port,
        .argv = (const char *const *)argv.v,
        .server = &clone->options.prepared->binary.version,
        .method = clone->load ? STREAM_METHOD_SQL : STREAM_METHOD_XBSTREAM,
        .takes_statements = !clone->load && has_client(),
        .header = on_header,
        .done = on_stream_done,
        .arg = clone,
    };
    clone->stream = clone_stream_start(&options);
    http_tls_unref(tls);
    return 0;
}

static void on_mysql_done(void *arg, const struct error *err)
{
    end_with(arg, err);
}

static int start_mysql(struct seed_clone *clone, struct error *err)
{
    struct clone_mysql_options options = {
        .loop = clone->options.loop,
        .worker = clone->options.worker,
        .paths = clone->options.paths,
        .prepared = clone->options.prepared,
        .order = clone->options.order,
        .done = on_mysql_done,
        .arg = clone,
    };

    if (clone->options.order->donor_port == 0)
        return error_set(err, ERROR_INVALID, "the order does not say on which port the donor's server listens");
    clone->mysql = clone_mysql_start(&options);
    return 0;
}

/* ---- as statements: no CLONE, no mariadb-backup ---- */

static void on_load_ready(void *arg, const struct error *failure)
{
    struct seed_clone *clone = arg;
    struct error err = ERROR_INIT;

    clone->loading = false;
    if (failure)
        end_with(clone, failure);
    else if (start_stream(clone, &err) < 0)
        end_with(clone, &err);
}

static int start_load(struct seed_clone *clone)
{
    struct load_mysql_options options = {
        .loop = clone->options.loop,
        .worker = clone->options.worker,
        .prepared = clone->options.prepared,
        .paths = clone->options.paths,
        .replace = clone->options.order->replace,
        .ready = on_load_ready,
        .stopped = on_load_stopped,
        .arg = clone,
    };

    clone->loading = true;
    clone->load = load_mysql_start(&options);
    return 0;
}

void seed_clone_copy(struct seed_clone *clone)
{
    struct error err = ERROR_INIT;
    int rc = 0;

    clone->step = AGENT_SEED_STEP_COPYING;
    clone->statements = false;
    error_clear(&clone->error);
    if (clone->options.prepared->path == SEED_PATH_PHYSICAL)
        rc = start_stream(clone, &err);
    else if (clone->options.prepared->path == SEED_PATH_CLONE)
        rc = start_mysql(clone, &err);
    else
        rc = start_load(clone);
    if (rc < 0)
        end_with(clone, &err);
}

/* ---- life ---- */

struct seed_clone *seed_clone_new(const struct seed_clone_options *options)
{
    struct seed_clone *clone = xnew(struct seed_clone);

    clone->options = *options;
    clone->step = AGENT_SEED_STEP_COPYING;
    loop_timer_init(&clone->end, options->loop, on_end, clone);
    return clone;
}

void seed_clone_free(struct seed_clone *clone)
{
    if (!clone)
        return;
    stop(clone);
    loop_timer_release(&clone->end);
    free(clone->gtid);
    free(clone);
}

void seed_clone_cancel(struct seed_clone *clone)
{
    struct error err = ERROR_INIT;

    clone->cancelled = true;
    if (clone->mysql)
        clone_mysql_cancel(clone->mysql);
    if (clone->loading)
        load_mysql_cancel(clone->load);
    if (clone->mysql || clone->loading || clone->working)
        return; /* the worker's job ends first */
    stop(clone);
    error_set(&err, ERROR_CANCELLED, "another order came");
    end_with(clone, &err);
}

int seed_clone_finish(struct seed_clone *clone, struct error *err)
{
    struct clone_origin origin = {
        .donor = clone->options.order->donor_host,
        .server_version = clone->header.server_version,
        .gtid = str_or_empty(clone->gtid),
        .replace = clone->options.order->replace,
    };

    if (clone->options.prepared->path == SEED_PATH_PHYSICAL && !clone->statements)
        return clone_finish_mariadb(clone->options.paths, &origin, err);
    if (clone->options.prepared->binary.version.flavour == AGENT_FLAVOUR_MARIADB)
        return clone_finish_loaded(clone->options.paths, &origin, err);
    return datadir_publish(clone->options.paths, origin.replace, err);
}

void seed_clone_progress(const struct seed_clone *clone, struct agent_status *status)
{
    status->seed.step = clone->step;
    if (clone->mysql) {
        clone_mysql_progress(clone->mysql, &status->seed.bytes, &status->seed.total_bytes);
        return;
    }
    status->seed.bytes = clone->stream ? clone_stream_bytes(clone->stream) : clone->bytes;
    status->seed.total_bytes = clone->header.estimate_bytes;
}
