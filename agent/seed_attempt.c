#include "common/base.h"

#include "agent/seed_attempt.h"

#include "agent/bootstrap/volume_mark.h"
#include "common/alloc.h"

struct seed_attempt {
    struct seed_attempt_options options;
    struct agent_order order;
    enum agent_seed_step step;
    struct error error; /* of the worker's job */
    bool cancelled;
};

static void finish(struct seed_attempt *attempt, const struct error *err)
{
    void (*done)(void *, const struct error *) = attempt->options.done;
    void *arg = attempt->options.arg;
    struct error copy = err ? *err : (struct error)ERROR_INIT;

    free(attempt);
    done(arg, err ? &copy : NULL);
}

/* ---- on the worker's thread ---- */

static int keep(const struct seed_attempt *attempt, struct error *err)
{
    /* The rename came last: what is still beside a complete database is rubbish of ours. */
    return datadir_tidy(attempt->options.paths, err);
}

static int initialise(const struct seed_attempt *attempt, struct error *err)
{
    const struct init_prepared *prepared = attempt->options.prepared;

    return datadir_initialise(attempt->options.paths, &prepared->binary, prepared->user, err);
}

static void run_local(void *arg)
{
    struct seed_attempt *attempt = arg;
    struct error *err = &attempt->error;

    error_clear(err);
    int rc = -1;
    if (attempt->options.act == SEED_ACT_KEEP)
        rc = keep(attempt, err);
    else if (attempt->options.act == SEED_ACT_INITIALISE)
        rc = initialise(attempt, err);
    else
        error_set(err, ERROR_INVALID, "this agent does not clone");
    if (rc == 0 && volume_mark_write(attempt->options.paths, AGENT_MARK_NONE, err) < 0)
        error_prefix(err, "the mark on the volume");
}

static void on_local_done(void *arg)
{
    struct seed_attempt *attempt = arg;

    finish(attempt, attempt->error.kind == ERROR_NONE ? NULL : &attempt->error);
}

/* ---- life ---- */

struct seed_attempt *seed_attempt_start(const struct seed_attempt_options *options)
{
    struct seed_attempt *attempt = xnew(struct seed_attempt);
    struct worker_job job = {.run = run_local, .done = on_local_done, .arg = attempt};

    attempt->options = *options;
    attempt->order = *options->order;
    attempt->step = AGENT_SEED_STEP_INITIALISING;
    error_set(&attempt->error, ERROR_CANCELLED, "init ends");
    if (worker_submit(options->worker, &job) < 0)
        abort(); /* it is idle */
    return attempt;
}

void seed_attempt_cancel(struct seed_attempt *attempt)
{
    attempt->cancelled = true;
}

void seed_attempt_free(struct seed_attempt *attempt)
{
    free(attempt);
}

void seed_attempt_progress(const struct seed_attempt *attempt, struct agent_status *status)
{
    status->seed.step = attempt->step;
}
