/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/seed_attempt.h"

#include "agent/bootstrap/datadir_beside.h"
#include "agent/bootstrap/epoch_file.h"
#include "agent/bootstrap/server_id.h"
#include "agent/bootstrap/start_mode.h"
#include "agent/bootstrap/volume_mark.h"
#include "agent/put_back.h"
#include "agent/seed_clone.h"
#include "agent/seed_restore.h"
#include "agent/set_aside.h"
#include "common/alloc.h"
#include "common/fs.h"

/*
 *   keep, initialise, take:  LOCAL
 *   clone, restore:    BEGIN → COPY → FINISH, and CLEAN after whatever went wrong
 */
enum stage { STAGE_LOCAL, STAGE_BEGIN, STAGE_COPY, STAGE_FINISH, STAGE_CLEAN };

struct seed_attempt {
    struct seed_attempt_options options;
    struct agent_order order;
    struct position_pool *positions; /* of the order */
    enum stage stage;
    struct seed_clone *clone; /* one of the two in STAGE_COPY and STAGE_FINISH */
    struct seed_restore *restore;
    struct error error; /* of the worker's job; in STAGE_CLEAN: why */
    bool cancelled;
    bool finishing;   /* what was copied is whole */
    bool tried_aside; /* the worker's: set_aside or error is of that */
    struct agent_set_asides set_aside;
};

static void finish(struct seed_attempt *attempt)
{
    const struct seed_attempt_options options = attempt->options;
    struct error error = attempt->error;
    struct restore_failure failure = {0};

    if (attempt->restore && !attempt->cancelled)
        failure =
            attempt->finishing ? restore_classify(RESTORE_AT_TOOLS, &error) : seed_restore_failure(attempt->restore);
    seed_attempt_free(attempt);
    options.done(options.arg, error.kind == ERROR_NONE ? NULL : &error, failure.reason ? &failure : NULL);
}

/* ---- on the worker's thread ---- */

/* What datadir_begin has left is the data, whole: what else there was is what replaced data became, after this. */
static int set_aside_old(struct seed_attempt *attempt, struct error *err)
{
    const struct agent_order *order = &attempt->order;

    if (!order->replace || order->seed == AGENT_SEED_RESTORE_BESIDE)
        return 0;
    attempt->tried_aside = true;
    if (set_aside_before_replacing(attempt->options.paths, attempt->options.prepared->binary.version.flavour,
            order->epoch, order->beyond, &attempt->set_aside, err) < 0)
        return error_prefix(err, "setting transactions aside");
    return 0;
}

static int run_stage(struct seed_attempt *attempt, struct error *err)
{
    const struct agent_paths *paths = attempt->options.paths;
    const struct init_prepared *prepared = attempt->options.prepared;

    switch (attempt->stage) {
    case STAGE_LOCAL:
        /* The rename came last: what is still beside a complete database is rubbish of ours. */
        if (attempt->options.act == SEED_ACT_KEEP)
            return datadir_tidy(paths, err);
        if (attempt->options.act == SEED_ACT_TAKE)
            return datadir_take(paths, attempt->order.restore_number, err);
        return datadir_initialise(paths, &prepared->binary, prepared->user, err);
    case STAGE_BEGIN:
        return datadir_begin(paths, err) < 0 ? -1 : set_aside_old(attempt, err);
    default:
        if (server_id_draw(paths, err) < 0)
            return error_prefix(err, "a server id for the copy");
        return attempt->restore ? seed_restore_finish(attempt->restore, err) : seed_clone_finish(attempt->clone, err);
    }
}

static void run_job(void *arg)
{
    struct seed_attempt *attempt = arg;
    struct error *err = &attempt->error;

    if (attempt->stage == STAGE_CLEAN) {
        (void)(fs_remove_all(attempt->options.paths->data_new_dir, NULL) == 0); /* the next attempt says if it stays */
        return;
    }
    error_clear(err);
    bool beside = attempt->order.seed == AGENT_SEED_RESTORE_BESIDE; /* the data is what it was */
    if (run_stage(attempt, err) < 0 || attempt->stage == STAGE_BEGIN || beside)
        return;
    if (attempt->order.seed != AGENT_SEED_KEEP) { /* they were of the data that is gone */
        start_mode_forget_cut(attempt->options.paths);
        put_back_forget(attempt->options.paths);
        opened_file_forget(attempt->options.paths);
    }
    if (volume_mark_write(attempt->options.paths, AGENT_MARK_NONE, err) < 0)
        error_prefix(err, "the mark on the volume");
}

/* ---- on the loop ---- */

static void start_job(struct seed_attempt *attempt, enum stage stage);

static void on_copied(void *arg, const struct error *err)
{
    struct seed_attempt *attempt = arg;

    if (err)
        attempt->error = *err;
    attempt->finishing = !err;
    start_job(attempt, err ? STAGE_CLEAN : STAGE_FINISH);
}

static void on_job_done(void *arg)
{
    struct seed_attempt *attempt = arg;
    bool failed = attempt->error.kind != ERROR_NONE;

    if (attempt->stage == STAGE_BEGIN && attempt->tried_aside)
        attempt->options.aside(attempt->options.arg, &attempt->set_aside, &attempt->error);
    /* Also what was dropped because init ends. */
    if (attempt->stage == STAGE_LOCAL || attempt->stage == STAGE_CLEAN || attempt->error.kind == ERROR_CANCELLED) {
        finish(attempt);
    } else if (failed || (attempt->cancelled && attempt->stage == STAGE_BEGIN)) {
        if (!failed)
            error_set(&attempt->error, ERROR_CANCELLED, "another order came");
        start_job(attempt, STAGE_CLEAN);
    } else if (attempt->stage == STAGE_BEGIN) {
        attempt->stage = STAGE_COPY;
        if (attempt->restore)
            seed_restore_copy(attempt->restore);
        else
            seed_clone_copy(attempt->clone);
    } else {
        finish(attempt);
    }
}

static void start_job(struct seed_attempt *attempt, enum stage stage)
{
    struct worker_job job = {.run = run_job, .done = on_job_done, .arg = attempt};

    attempt->stage = stage;
    if (stage != STAGE_CLEAN)
        error_set(&attempt->error, ERROR_CANCELLED, "init ends"); /* what a dropped job is told; `run` replaces it */
    if (worker_submit(attempt->options.worker, &job) < 0)
        abort(); /* one attempt at a time, and one job of it: they cannot fill the queue */
}

static void make_clone(struct seed_attempt *attempt)
{
    const struct seed_clone_options options = {
        .loop = attempt->options.loop,
        .worker = attempt->options.worker,
        .paths = attempt->options.paths,
        .prepared = attempt->options.prepared,
        .order = &attempt->order,
        .copied = on_copied,
        .arg = attempt,
    };

    attempt->clone = seed_clone_new(&options);
}

static void make_restore(struct seed_attempt *attempt)
{
    const struct seed_restore_options options = {
        .loop = attempt->options.loop,
        .worker = attempt->options.worker,
        .paths = attempt->options.paths,
        .prepared = attempt->options.prepared,
        .order = &attempt->order,
        .task = attempt->options.task,
        .task_len = attempt->options.task_len,
        .copied = on_copied,
        .arg = attempt,
    };

    attempt->restore = seed_restore_new(&options);
    attempt->options.task = NULL;
}

struct seed_attempt *seed_attempt_start(const struct seed_attempt_options *options)
{
    struct seed_attempt *attempt = xnew(struct seed_attempt);

    attempt->options = *options;
    attempt->order = *options->order;
    attempt->positions = position_pool_new(POSITION_TEXT_MAX);
    attempt->order.beyond = position_take(attempt->positions, options->order->beyond);
    if (options->act == SEED_ACT_CLONE)
        make_clone(attempt);
    else if (options->act == SEED_ACT_RESTORE)
        make_restore(attempt);
    start_job(attempt, attempt->clone || attempt->restore ? STAGE_BEGIN : STAGE_LOCAL);
    return attempt;
}

void seed_attempt_cancel(struct seed_attempt *attempt)
{
    if (attempt->cancelled)
        return;
    attempt->cancelled = true;
    if (attempt->stage == STAGE_COPY && attempt->restore)
        seed_restore_cancel(attempt->restore);
    else if (attempt->stage == STAGE_COPY)
        seed_clone_cancel(attempt->clone);
}

void seed_attempt_free(struct seed_attempt *attempt)
{
    if (!attempt)
        return;
    seed_clone_free(attempt->clone);
    seed_restore_free(attempt->restore);
    position_pool_unref(attempt->positions);
    free(attempt);
}

void seed_attempt_progress(const struct seed_attempt *attempt, struct agent_status *status)
{
    if (attempt->clone)
        seed_clone_progress(attempt->clone, status);
    else if (attempt->restore)
        seed_restore_progress(attempt->restore, status);
    else
        status->seed.step = AGENT_SEED_STEP_INITIALISING;
}
