/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/seed.h"

#include <signal.h>

#include "agent/bootstrap/datadir_beside.h"
#include "agent/bootstrap/epoch_file.h"
#include "agent/bootstrap/init.h"
#include "agent/bootstrap/memory_limit.h"
#include "agent/bootstrap/seed_decide.h"
#include "agent/bootstrap/start_mode.h"
#include "agent/bootstrap/volume_mark.h"
#include "agent/mysql/session.h"
#include "agent/seed_attempt.h"
#include "agent/seed_door.h"
#include "agent/seed_retry.h"
#include "agent/set_aside.h"
#include "common/alloc.h"
#include "common/backup_task.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/json_fields.h"
#include "common/log.h"
#include "common/tls.h"

#define TICK_MS AGENT_STATUS_INTERVAL_MS
#define WAITING_LOG_MS 30000
/* What only somebody else can mend. */
#define RETRY_SLOWLY_MS 30000
/* So that those who watch hear of the end before the door shuts. */
#define FAREWELL_MS 100

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
    struct position_pool *positions; /* of the order; NULL: there was none */
    bool has_order;
    struct strbuf task; /* how to do a restore (backup_task.h), as it came; secret. status.seed.task is its id */
    struct seed_attempt *attempt;
    struct agent_order attempt_order; /* what it works on */
    enum seed_act act;                /* that the attempt carries out, or the last one did */
    bool task_is_other;               /* since it began: it works on another one */
    struct seed_retry retries;
    int64_t waiting_logged_ms, waiting_since_ms; /* monotonic, 0: not yet */
    uint64_t rate_bytes;
    int64_t rate_at_ms;
    bool marking; /* the worker sets aside and writes the order's mark */
    struct error mark_error, aside_error;
    uint64_t kills;     /* memory_limit.h, when it began */
    struct error error; /* why it ended; ERROR_NONE: all is done */
};

static void seed_turn(struct seed *seed);

/* ---- publish ---- */

static void publish(struct seed *seed)
{
    seed->status.sequence++;
    seed_door_publish(seed->door);
}

/* Of a member that is restarted nothing is copied. */
static const char *what_goes_on(const struct seed *seed, enum agent_seed_step step)
{
    if (step == AGENT_SEED_STEP_DONE)
        return "its data is there; the server is about to start";
    if (seed->act == SEED_ACT_KEEP || seed->act == SEED_ACT_TAKE)
        return "its data is there, and is looked through before the server starts";
    return "the member gets its data";
}

static void say_step(struct seed *seed, enum agent_seed_step step, const char *message)
{
    seed->status.seed.step = step;
    json_copy_text(seed->status.seed.message, sizeof(seed->status.seed.message), message);
    json_copy_text(
        seed->status.ready_reason, sizeof(seed->status.ready_reason), *message ? message : what_goes_on(seed, step));
    seed->status.problem_count = 0;
    if (step == AGENT_SEED_STEP_FAILED)
        agent_status_add_problem(&seed->status,
            *seed->status.seed.reason ? AGENT_PROBLEM_RESTORE_FAILED : AGENT_PROBLEM_SEED_FAILED, "%s", message);
    if (seed->mark_error.kind != ERROR_NONE)
        agent_status_add_problem(&seed->status, AGENT_PROBLEM_SET_ASIDE_FAILED, "%s", seed->mark_error.message);
    if (seed->aside_error.kind != ERROR_NONE)
        agent_status_add_problem(&seed->status, AGENT_PROBLEM_SET_ASIDE_FAILED, "%s", seed->aside_error.message);
}

static void look_at_volume(struct seed *seed)
{
    struct agent_status *status = &seed->status;
    struct datadir_facts facts;
    const struct datadir_beside beside = datadir_beside_look(&seed->options->paths);

    status->restored_number = beside.data;
    status->beside_number = beside.restored;
    status->has_before = beside.has_before;
    if (fs_space(seed->options->paths.volume_dir, &status->volume_free_bytes, &status->volume_bytes, NULL) < 0)
        status->volume_bytes = 0;
    if (volume_mark_read(&seed->options->paths, &status->mark, NULL) < 0)
        status->mark = AGENT_MARK_RESEED;
    status->opened_epoch = opened_file_read(&seed->options->paths);
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
    if (status->problem_count > 0 && status->seed.bytes > 0) {
        status->seed.reason[0] = '\0';
        say_step(seed, status->seed.step, "");
    }
    measure_rate(seed);
}

/* The server that starts next: of this data folder, and as the order has it. Without its word it waits for the agent's
 * (server_start.h). */
static void note_start(const struct seed *seed)
{
    const struct agent_paths *paths = &seed->options->paths;
    bool kept = seed->attempt_order.seed == AGENT_SEED_KEEP;
    struct start_mode mode;
    struct error err = ERROR_INIT;

    start_mode_clear(paths);
    if (!kept && start_mode_mark_primary(paths, 0, &err) < 0)
        log_warn("how the former server ended stays noted", LOG_ERR(&err));
    if (kept && start_mode_decide(&seed->order, start_mode_primary(paths), &mode) &&
        start_mode_write(paths, &mode, &err) < 0)
        log_warn("how the server is to be started cannot be noted", LOG_ERR(&err));
}

static void finish(struct seed *seed)
{
    note_start(seed);
    strbuf_release_secret(&seed->task);
    say_step(seed, AGENT_SEED_STEP_DONE, "");
    look_at_volume(seed);
    seed->status.order_done = true;
    publish(seed);
    log_info("the data folder is ready", LOG_STR("folder", seed->options->paths.data_dir));
    loop_timer_arm(&seed->farewell, FAREWELL_MS);
}

/* Who is primary, and under which epoch, may change while hours of copying go on: what counts is what becomes of the
 * volume. */
static bool order_stands(const struct seed *seed)
{
    const struct agent_order *works_on = &seed->attempt_order, *now = &seed->order;

    return !seed->task_is_other && works_on->seed == now->seed && works_on->replace == now->replace &&
        works_on->restore_number == now->restore_number && str_eq(works_on->restore_id, now->restore_id) &&
        str_eq(works_on->donor_host, now->donor_host) && works_on->donor_port == now->donor_port &&
        works_on->donor_agent_port == now->donor_agent_port;
}

/* In how many milliseconds; -1: not by itself. */
static int64_t retry_in(struct seed *seed, const struct error *err, const struct restore_failure *failure)
{
    if (failure && failure->retry == RESTORE_GIVE_UP)
        return -1;
    if (failure && failure->retry == RESTORE_RETRY_SLOWLY)
        return RETRY_SLOWLY_MS;
    return seed_retry_in_ms(&seed->retries, err);
}

/* `init` ends: the kubelet counts that, and the operator names the memory limit in the status. */
static void end_without_memory(struct seed *seed, const struct error *err)
{
    seed->error = *err;
    say_step(seed, AGENT_SEED_STEP_FAILED, err->message);
    publish(seed);
    loop_timer_arm(&seed->farewell, FAREWELL_MS);
}

static void fail(struct seed *seed, const struct error *err, const struct restore_failure *failure)
{
    if (memory_kills() > seed->kills) {
        end_without_memory(seed, err);
        return;
    }
    int64_t delay_ms = retry_in(seed, err, failure);
    struct error said = *err;

    log_warn(delay_ms < 0 ? "the attempt failed; it waits for another order or task"
                          : "the attempt failed; another one follows",
        LOG_INT("inMs", delay_ms), LOG_ERR(err));
    look_at_volume(seed);
    seed->status.seed.gave_up = delay_ms < 0;
    snprintf(seed->status.seed.reason, sizeof(seed->status.seed.reason), "%s",
        failure ? restore_reason_name(failure->reason) : "");
    if (delay_ms >= 0 && seed_retry_is_hopeless(&seed->retries))
        error_prefix(&said, "does not heal by itself, %u attempts failed alike (the next in %lld s)",
            seed->retries.alike, (long long)delay_ms / 1000);
    say_step(seed, AGENT_SEED_STEP_FAILED, said.message);
    publish(seed);
    if (delay_ms >= 0)
        loop_timer_arm(&seed->retry, delay_ms);
}

static void on_attempt_done(void *arg, const struct error *err, const struct restore_failure *failure)
{
    struct seed *seed = arg;

    bool beside = seed->attempt_order.seed == AGENT_SEED_RESTORE_BESIDE;

    seed->attempt = NULL;
    if (!err && order_stands(seed) && !beside) {
        finish(seed);
        return;
    }
    if (err && err->kind != ERROR_CANCELLED && order_stands(seed)) {
        fail(seed, err, failure);
        return;
    }
    seed_turn(seed);
}

static void on_aside(void *arg, const struct agent_set_asides *set_aside, const struct error *err)
{
    struct seed *seed = arg;

    seed->aside_error = *err;
    if (err->kind != ERROR_NONE)
        log_warn("the data is kept: what it alone holds could not be set aside", LOG_ERR(err));
    else
        seed->status.set_aside = *set_aside;
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
        .task = seed->task.buf,
        .task_len = seed->task.len,
        .aside = on_aside,
        .done = on_attempt_done,
        .arg = seed,
    };

    seed->attempt_order = seed->order;
    seed->attempt_order.beyond = ""; /* the attempt has it in memory of its own */
    seed->act = act;
    seed->task_is_other = false;
    seed->status.seed.attempts++;
    seed->rate_at_ms = 0;
    if (seed->status.problem_count == 0)
        say_step(seed, AGENT_SEED_STEP_INITIALISING, "");
    json_copy_text(
        seed->status.seed.donor, sizeof(seed->status.seed.donor), act == SEED_ACT_CLONE ? seed->order.donor_host : "");
    seed->attempt = seed_attempt_start(&options);
    seed_attempt_progress(seed->attempt, &seed->status);
}

static void log_waiting(struct seed *seed, const char *message)
{
    int64_t now_ms = clock_monotonic_ms();

    if (seed->waiting_logged_ms && now_ms - seed->waiting_logged_ms < WAITING_LOG_MS)
        return;
    seed->waiting_logged_ms = now_ms;
    if (seed->waiting_since_ms == 0)
        seed->waiting_since_ms = now_ms;
    if (!seed->has_order && now_ms - seed->waiting_since_ms >= WAITING_LOG_MS)
        log_warn(
            "no operator has given an order since this member was started; what the cluster's status says is as old "
            "as that, if no operator runs",
            LOG_STR("waitsFor", message), LOG_INT("seconds", (now_ms - seed->waiting_since_ms) / 1000));
    else
        log_info(message);
}

/* ---- marks ---- */

struct marking {
    struct seed *seed;
    struct agent_order order;
    struct agent_set_asides set_aside; /* if anything was */
    struct error error;
};

static void run_marking(void *arg)
{
    struct marking *marking = arg;
    const struct agent_paths *paths = &marking->seed->options->paths;
    struct set_aside_wish wish = {
        .paths = paths,
        .flavour = marking->seed->prepared.binary.version.flavour,
        .epoch = marking->order.epoch,
        .errant = "",
        .reason = "the data is to be replaced by a copy of the primary's",
    };

    error_clear(&marking->error);
    bool aside = marking->order.set_aside && marking->order.mark == AGENT_MARK_RESEED;
    if (aside && set_aside_make(&wish, &marking->set_aside, &marking->error) < 0)
        error_prefix(&marking->error, "setting transactions aside");
    else if (volume_mark_write(paths, marking->order.mark, &marking->error) < 0)
        error_prefix(&marking->error, "marking the volume");
}

static void finish_marking(void *arg)
{
    struct marking *marking = arg;
    struct seed *seed = marking->seed;

    seed->marking = false;
    seed->mark_error = marking->error;
    if (marking->error.kind != ERROR_NONE && marking->error.kind != ERROR_CANCELLED)
        log_warn("the volume is not marked", LOG_ERR(&marking->error));
    if (*marking->set_aside.sets[0])
        seed->status.set_aside = marking->set_aside;
    free(marking);
}

/* Not on the loop: what is set aside may take seconds. */
static void write_mark(struct seed *seed, const struct agent_order *order)
{
    if (order->mark == AGENT_MARK_NONE || order->seed != AGENT_SEED_NONE || order->mark == seed->status.mark ||
        seed->marking)
        return;
    struct marking *marking = xnew(struct marking);
    struct worker_job job = {.run = run_marking, .done = finish_marking, .arg = marking};
    *marking = (struct marking){.seed = seed, .order = *order};
    error_set(&marking->error, ERROR_CANCELLED, "init ends");
    seed->marking = true;
    if (worker_submit(seed->worker, &job) < 0)
        abort(); /* nothing else runs while the order says nothing of the data */
}

/* One look at order and volume. What runs is only disturbed by another order. */
static void seed_turn(struct seed *seed)
{
    if (seed->farewell.armed || seed->attempt)
        return;
    look_at_volume(seed);
    if (seed->has_order)
        write_mark(seed, &seed->order);
    const struct seed_facts facts = {
        .has_data = seed->status.data != AGENT_DATA_EMPTY,
        .mark = seed->status.mark,
        .task = seed->status.seed.task,
        .beside = seed->status.beside_number,
    };
    struct seed_decision decision = seed_decide(seed->has_order ? &seed->order : NULL, &facts);
    if (decision.act == SEED_ACT_WAIT || decision.act == SEED_ACT_REFUSE) {
        say_step(
            seed, decision.act == SEED_ACT_WAIT ? AGENT_SEED_STEP_WAITING : AGENT_SEED_STEP_FAILED, decision.message);
        log_waiting(seed, decision.message);
    } else if (!seed->retry.armed && !seed->status.seed.gave_up) {
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

static void try_anew(struct seed *seed)
{
    seed_retry_reset(&seed->retries);
    loop_timer_cancel(&seed->retry);
    seed->status.seed.gave_up = false;
    seed->status.seed.reason[0] = '\0';
    error_clear(&seed->aside_error);
    seed->waiting_logged_ms = 0;
    loop_timer_arm(&seed->tick, 0);
}

/* Another epoch or donor alone is no reason to hurry where attempts fail by themselves. */
static bool is_same_work(const struct agent_order *a, const struct agent_order *b)
{
    return a->seed == b->seed && a->replace == b->replace && a->restore_number == b->restore_number &&
        str_eq(a->restore_id, b->restore_id);
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
    bool same_work = seed->has_order && is_same_work(&seed->order, order);
    seed->order = *order;
    seed->order.wait_for = ""; /* for the agent that comes after */
    position_pool_unref(seed->positions);
    seed->positions = position_pool_new(POSITION_TEXT_MAX);
    seed->order.beyond = position_take(seed->positions, order->beyond);
    seed->has_order = true;
    memcpy(status->order_hash, hash, sizeof(hash));
    status->role = order->role;
    if (!same_work || seed->retries.alike < 2 || status->seed.gave_up)
        try_anew(seed);
    return true;
}

/* What the order's id does not tell apart: the same backup up to another point. */
static bool is_same_restore(const struct backup_task *a, const struct backup_task *b)
{
    return str_eq(a->id, b->id) && str_eq(a->folder, b->folder) && str_eq(a->digest, b->digest) &&
        str_eq(a->binlogs_folder, b->binlogs_folder) &&
        str_eq(str_or_empty(a->until_gtid), str_or_empty(b->until_gtid)) && a->until_ms == b->until_ms;
}

static bool texts_are_of_same_restore(const struct strbuf *before, const char *text, size_t len)
{
    struct backup_task a = {.folder = NULL}, b = {.folder = NULL};
    bool ret = backup_task_decode(before->buf, before->len, &a, NULL) == 0 &&
        backup_task_decode(text, len, &b, NULL) == 0 && is_same_restore(&a, &b);
    backup_task_release(&a);
    backup_task_release(&b);
    return ret;
}

/* Other keys count from the next attempt on; one that runs goes on with those that it has. It ends if anything else has
 * changed. */
static void on_task(void *arg, const char *id, const char *text, size_t len)
{
    struct seed *seed = arg;
    bool same = seed->task.len == len && memcmp(seed->task.buf, text, len) == 0;

    if (same)
        return;
    log_info("told how to do a restore", LOG_STR("backup", id));
    if (seed->attempt &&
        (seed->attempt_order.seed == AGENT_SEED_RESTORE || seed->attempt_order.seed == AGENT_SEED_RESTORE_BESIDE))
        seed->task_is_other |= !texts_are_of_same_restore(&seed->task, text, len);
    strbuf_release_secret(&seed->task);
    strbuf_add(&seed->task, text, len);
    snprintf(seed->status.seed.task, sizeof(seed->status.seed.task), "%s", id);
    try_anew(seed);
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
    json_copy_text(status->pod_uid, sizeof(status->pod_uid), seed->options->pod_uid);
    json_copy_text(status->version, sizeof(status->version), seed->prepared.binary.version.text);
    status->flavour = seed->prepared.binary.version.flavour;
    status->phase = AGENT_PHASE_SEEDING;
    status->volume_protocol = AGENT_VOLUME_PROTOCOL;
    set_aside_list(&seed->options->paths, &status->set_aside);
    status->read_only = true;
}

static void seed_start(struct seed *seed)
{
    seed->loop = loop_new();
    strbuf_init(&seed->task, (size_t)BACKUP_TASK_MAX);
    seed->worker = worker_new(seed->loop, "seed");
    seed->retries.backoff.random_state = random_seed();
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
        .task = on_task,
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
    position_pool_unref(seed->positions);
    strbuf_release_secret(&seed->task);
    loop_timer_release(&seed->tick);
    loop_timer_release(&seed->retry);
    loop_timer_release(&seed->farewell);
    loop_free(seed->loop);
}

int seed_run(const struct agent_options *options, enum agent_init_fault *ret_fault, struct error *err)
{
    struct seed *seed = xnew(struct seed);
    struct init_options init = {
        .paths = &options->paths,
        .pod_name = options->pod_name,
        .mysql_port = options->mysql_port,
    };

    seed->options = options;
    seed->kills = memory_kills();
    *ret_fault = AGENT_INIT_FAULT_OTHER;
    if (init_prepare(&init, &seed->prepared, ret_fault, err) < 0 ||
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
