#include "common/base.h"

#include "agent/seed.h"

#include <signal.h>

#include "agent/bootstrap/epoch_file.h"
#include "agent/bootstrap/init.h"
#include "agent/bootstrap/seed_decide.h"
#include "agent/bootstrap/volume_mark.h"
#include "agent/mysql/session.h"
#include "agent/seed_attempt.h"
#include "agent/seed_door.h"
#include "common/alloc.h"
#include "common/backoff.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/json_fields.h"
#include "common/log.h"
#include "common/tls.h"

#define TICK_MS AGENT_STATUS_INTERVAL_MS
#define WAITING_LOG_MS 30000
/* So that those who watch hear of the end before the door shuts. */
#define FAREWELL_MS 100

static const struct backoff_policy retry_policy = {.base_ms = 1000, .max_ms = 30000, .jitter_percent = 20};

struct seed {
    const struct agent_options *options;
    struct init_prepared prepared;
    struct loop *loop;
    struct worker *worker;
    struct seed_door *door;
    struct agent_status status;
    struct loop_timer tick;
    struct loop_timer retry;
    struct loop_timer farewell;
    struct agent_order order;
    bool has_order;
    struct seed_attempt *attempt;
    struct agent_order attempt_order; /* what it works on */
    struct backoff backoff;
    int64_t waiting_logged_ms;
    uint64_t rate_bytes;
    int64_t rate_at_ms;
    struct error error; /* why it ended; ERROR_NONE: all is done */
};

static void seed_turn(struct seed *seed);

/* ---- publish ---- */

static void publish(struct seed *seed)
{
    seed->status.sequence++;
    seed_door_publish(seed->door);
}

static void say_step(struct seed *seed, enum agent_seed_step step, const char *message)
{
    seed->status.seed.step = step;
    json_copy_text(seed->status.seed.message, sizeof(seed->status.seed.message), message);
    json_copy_text(
        seed->status.ready_reason, sizeof(seed->status.ready_reason), *message ? message : "the member gets its data");
    seed->status.problem_count = 0;
    if (step == AGENT_SEED_STEP_FAILED)
        agent_status_add_problem(&seed->status, "SeedFailed", "%s", message);
}

static void look_at_volume(struct seed *seed)
{
    struct agent_status *status = &seed->status;
    struct datadir_facts facts;

    if (fs_space(seed->options->paths.volume_dir, &status->volume_free_bytes, &status->volume_bytes, NULL) < 0)
        status->volume_bytes = 0;
    if (volume_mark_read(&seed->options->paths, &status->mark, NULL) < 0)
        status->mark = AGENT_MARK_RESEED;
    if (!seed->attempt && datadir_inspect(&seed->options->paths, &facts, NULL) == 0) {
        seed->prepared.facts = facts;
        status->data = facts.kind == DATADIR_EMPTY ? AGENT_DATA_EMPTY : AGENT_DATA_DATABASE;
    }
}

/* Since the last tick, smoothed over about four of them. */
static void measure_rate(struct seed *seed)
{
    int64_t now_ms = clock_monotonic_ms();
    uint64_t bytes = seed->status.seed.bytes;
    int64_t passed_ms = now_ms - seed->rate_at_ms;

    if (bytes < seed->rate_bytes || seed->rate_at_ms == 0) {
        seed->status.seed.bytes_per_second = 0;
    } else if (passed_ms > 0) {
        uint64_t rate = (bytes - seed->rate_bytes) * 1000 / (uint64_t)passed_ms;
        uint64_t last = seed->status.seed.bytes_per_second;
        seed->status.seed.bytes_per_second = last ? (last * 3 + rate) / 4 : rate;
    }
    seed->rate_bytes = bytes;
    seed->rate_at_ms = now_ms;
}

/* ---- act ---- */

/* What the attempt before failed with is said until this one gets further: it may fail in the same way at once. */
static void take_progress(struct seed *seed)
{
    struct agent_status *status = &seed->status;

    seed_attempt_progress(seed->attempt, status);
    if (status->problem_count > 0 && status->seed.bytes > 0)
        say_step(seed, status->seed.step, "");
    measure_rate(seed);
}

static void finish(struct seed *seed)
{
    say_step(seed, AGENT_SEED_STEP_DONE, "");
    look_at_volume(seed);
    seed->status.order_done = true;
    publish(seed);
    log_info("the data folder is ready", LOG_STR("folder", seed->options->paths.data_dir));
    loop_timer_arm(&seed->farewell, FAREWELL_MS);
}

/* Who is primary, and under which epoch, may change while hours of copying go on: what counts is what becomes of the volume. */
static bool order_stands(const struct seed *seed)
{
    const struct agent_order *works_on = &seed->attempt_order, *now = &seed->order;

    return works_on->seed == now->seed && works_on->replace == now->replace &&
        str_eq(works_on->donor_host, now->donor_host) && works_on->donor_port == now->donor_port &&
        works_on->donor_agent_port == now->donor_agent_port;
}

static void on_attempt_done(void *arg, const struct error *err)
{
    struct seed *seed = arg;

    seed->attempt = NULL;
    if (!err && order_stands(seed)) {
        finish(seed);
        return;
    }
    if (err && err->kind != ERROR_CANCELLED && order_stands(seed)) {
        uint32_t delay_ms = backoff_next_ms(&seed->backoff, &retry_policy);
        log_warn("the attempt failed; another one follows", LOG_INT("inMs", delay_ms), LOG_ERR(err));
        look_at_volume(seed);
        say_step(seed, AGENT_SEED_STEP_FAILED, err->message);
        publish(seed);
        loop_timer_arm(&seed->retry, delay_ms);
        return;
    }
    seed_turn(seed);
}

static void start_attempt(struct seed *seed, enum seed_act act)
{
    struct seed_attempt_options options = {
        .loop = seed->loop,
        .worker = seed->worker,
        .paths = &seed->options->paths,
        .prepared = &seed->prepared,
        .act = act,
        .order = &seed->order,
        .done = on_attempt_done,
        .arg = seed,
    };

    seed->attempt_order = seed->order;
    seed->status.seed.attempts++;
    seed->rate_at_ms = 0;
    if (seed->status.problem_count == 0)
        say_step(seed, AGENT_SEED_STEP_INITIALISING, "");
    if (act == SEED_ACT_CLONE)
        json_copy_text(seed->status.seed.donor, sizeof(seed->status.seed.donor), seed->order.donor_host);
    seed->attempt = seed_attempt_start(&options);
    seed_attempt_progress(seed->attempt, &seed->status);
}

static void log_waiting(struct seed *seed, const char *message)
{
    int64_t now_ms = clock_monotonic_ms();

    if (seed->waiting_logged_ms && now_ms - seed->waiting_logged_ms < WAITING_LOG_MS)
        return;
    seed->waiting_logged_ms = now_ms;
    log_info(message);
}

/* One look at order and volume. What runs is only disturbed by another order. */
static void seed_turn(struct seed *seed)
{
    if (seed->farewell.armed || seed->attempt)
        return;
    look_at_volume(seed);
    struct seed_decision decision =
        seed_decide(seed->has_order ? &seed->order : NULL, seed->status.data != AGENT_DATA_EMPTY, seed->status.mark);
    if (decision.act == SEED_ACT_WAIT || decision.act == SEED_ACT_REFUSE) {
        say_step(
            seed, decision.act == SEED_ACT_WAIT ? AGENT_SEED_STEP_WAITING : AGENT_SEED_STEP_FAILED, decision.message);
        log_waiting(seed, decision.message);
    } else if (!seed->retry.armed) {
        start_attempt(seed, decision.act);
    }
    publish(seed);
}

static void on_retry(void *arg)
{
    seed_turn(arg);
}

static void on_tick(void *arg)
{
    struct seed *seed = arg;

    loop_timer_arm(&seed->tick, TICK_MS);
    if (!seed->attempt) {
        seed_turn(seed);
        return;
    }
    if (!order_stands(seed))
        seed_attempt_cancel(seed->attempt); /* its end leads to the next turn */
    look_at_volume(seed);
    take_progress(seed);
    publish(seed);
}

/* ---- orders ---- */

static void write_mark(struct seed *seed, const struct agent_order *order)
{
    struct error err = ERROR_INIT;

    if (order->mark == AGENT_MARK_NONE || order->seed != AGENT_SEED_NONE || order->mark == seed->status.mark)
        return;
    if (volume_mark_write(&seed->options->paths, order->mark, &err) < 0)
        log_warn("the volume cannot be marked", LOG_ERR(&err));
}

static bool on_order(void *arg, const struct agent_order *order, uint64_t *ret_epoch)
{
    struct seed *seed = arg;
    struct agent_status *status = &seed->status;
    struct error err = ERROR_INIT;

    *ret_epoch = status->epoch;
    if (order->epoch < status->epoch)
        return false;
    if (order->epoch > status->epoch && epoch_file_write(&seed->options->paths, order->epoch, &err) < 0)
        log_warn("the epoch cannot be kept on the volume", LOG_ERR(&err)); /* it counts for this process nevertheless */
    *ret_epoch = status->epoch = order->epoch;
    char hash[17];
    agent_order_hash(order, hash);
    if (seed->has_order && str_eq(hash, status->order_hash))
        return true;
    log_info("an order was taken up", LOG_INT("epoch", order->epoch), LOG_STR("hash", hash));
    seed->order = *order;
    seed->has_order = true;
    memcpy(status->order_hash, hash, sizeof(hash));
    status->role = order->role;
    backoff_reset(&seed->backoff);
    loop_timer_cancel(&seed->retry);
    seed->waiting_logged_ms = 0;
    write_mark(seed, order);
    loop_timer_arm(&seed->tick, 0);
    return true;
}

/* ---- life ---- */

static void on_farewell(void *arg)
{
    struct seed *seed = arg;

    loop_stop(seed->loop);
}

static void on_signal(int signum, void *arg)
{
    struct seed *seed = arg;

    error_set(&seed->error, ERROR_CANCELLED, "init was ended by signal %d", signum);
    loop_stop(seed->loop);
}

static void fill_status(struct seed *seed)
{
    struct agent_status *status = &seed->status;
    char *boot_id = tls_random_password(20);

    snprintf(status->boot_id, sizeof(status->boot_id), "%s", boot_id);
    free(boot_id);
    json_copy_text(status->instance, sizeof(status->instance), seed->options->pod_name);
    json_copy_text(status->version, sizeof(status->version), seed->prepared.binary.version.text);
    status->flavour = seed->prepared.binary.version.flavour;
    status->phase = AGENT_PHASE_SEEDING;
    status->read_only = true;
}

static void seed_start(struct seed *seed)
{
    seed->loop = loop_new();
    seed->worker = worker_new(seed->loop, "seed");
    seed->backoff.random_state = random_seed();
    fill_status(seed);
    loop_timer_init(&seed->tick, seed->loop, on_tick, seed);
    loop_timer_init(&seed->retry, seed->loop, on_retry, seed);
    loop_timer_init(&seed->farewell, seed->loop, on_farewell, seed);
    loop_on_signal(seed->loop, SIGTERM, on_signal, seed);
    loop_on_signal(seed->loop, SIGINT, on_signal, seed);
    struct seed_door_options door = {
        .paths = &seed->options->paths,
        .bind = seed->options->bind,
        .port = seed->options->tls_port,
        .status = &seed->status,
        .order = on_order,
        .arg = seed,
    };
    seed->door = seed_door_new(seed->loop, &door);
    loop_timer_arm(&seed->tick, 0);
}

static void seed_end(struct seed *seed)
{
    seed->attempt_order.seed = AGENT_SEED_NONE; /* whatever ends now is not followed by anything */
    loop_timer_arm(&seed->farewell, 0);
    if (seed->attempt)
        seed_attempt_cancel(seed->attempt);
    worker_free(seed->worker);
    seed_attempt_free(seed->attempt);
    seed_door_free(seed->door);
    loop_timer_release(&seed->tick);
    loop_timer_release(&seed->retry);
    loop_timer_release(&seed->farewell);
    loop_free(seed->loop);
}

int seed_run(const struct agent_options *options, struct error *err)
{
    struct seed *seed = xnew(struct seed);
    struct init_options init = {
        .paths = &options->paths,
        .pod_name = options->pod_name,
        .mysql_port = options->mysql_port,
    };

    seed->options = options;
    if (init_prepare(&init, &seed->prepared, err) < 0 ||
        epoch_file_read(&options->paths, &seed->status.epoch, err) < 0) {
        init_prepared_release(&seed->prepared);
        free(seed);
        return -1;
    }
    session_library_init();
    seed_start(seed);
    loop_run(seed->loop);
    seed_end(seed);
    session_library_end();
    if (seed->error.kind != ERROR_NONE && err)
        *err = seed->error;
    int rc = seed->error.kind == ERROR_NONE ? 0 : -1;
    init_prepared_release(&seed->prepared);
    free(seed);
    return rc;
}
