/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/seed_replay.h"

#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "agent/backup/replay_process.h"
#include "agent/backup/replay_word.h"
#include "agent/bootstrap/last_words.h"
#include "agent/bootstrap/load_mysql.h"
#include "agent/mysql/replication_facts.h"
#include "agent/mysql/session.h"
#include "agent/relay_apply.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/gtid.h"
#include "common/log.h"
#include "common/strvec.h"
#include "common/subprocess.h"

#define OURSELVES "/proc/self/exe"
#define LINE_BYTES 300
#define CONNECT_TIMEOUT_S 10
/* STOP waits for the end of what the applier is in the middle of. */
#define IO_TIMEOUT_S 3600

struct seed_replay {
    struct seed_replay_options options;
    char *gtid;
    const struct dialect *dialect;
    struct load_mysql *load;
    struct session *session; /* the worker's, while a job runs */
    struct subprocess *child;
    struct replay_word plan, last; /* what the child said */
    struct replay_word waiting[REPLAY_BATCHES_AHEAD];
    size_t waiting_count;
    struct replay_word applied; /* the last batch that is in the server */
    bool child_ended, working, starting, stopping, stopped;
    atomic_bool cancelled; /* the worker's job is to end */
    struct error job_error;
    char *reached;
    struct error error; /* the first one */
    struct restore_failure failure;
    struct loop_timer turn;
    bool over;
    struct last_words words; /* the last lines that the child has printed */
};

static bool is_mariadb(const struct seed_replay *replay)
{
    return replay->dialect->family == AGENT_FLAVOUR_MARIADB;
}

/* ---- the end ---- */

/* Whatever else fails because of the first failure is not worth a word. */
static void fail(struct seed_replay *replay, const struct error *err, enum restore_reason reason)
{
    if (replay->error.kind != ERROR_NONE)
        return;
    replay->error = *err;
    replay->failure = restore_failure_of(reason);
    atomic_store(&replay->cancelled, true);
    if (replay->starting)
        load_mysql_cancel(replay->load);
    loop_timer_arm(&replay->turn, 0);
}

static void finish(struct seed_replay *replay)
{
    if (replay->over)
        return;
    replay->over = true;
    subprocess_free(steal_ptr(replay->child));
    session_close(steal_ptr(replay->session));
    load_mysql_free(steal_ptr(replay->load));
    bool failed = replay->error.kind != ERROR_NONE;
    replay->options.done(replay->options.arg, failed ? &replay->error : NULL, replay->failure);
}

/* ---- on the worker's thread ---- */

/* *ret is replaced. */
static int read_executed(const struct seed_replay *replay, char **ret, struct error *err)
{
    _cleanup_(gtid_set_freep) struct gtid_set *executed = replication_executed(replay->session, replay->dialect, err);
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, POSITION_TEXT_MAX);
    if (!executed)
        return -1;
    gtid_set_print(executed, &text);
    if (text.overflowed)
        return error_set(err, ERROR_TOO_LARGE, "the server's position has more than %zu bytes", POSITION_TEXT_MAX);
    str_replace(ret, str_or_empty(text.buf));
    return 0;
}

static int check_equal(const struct seed_replay *replay, const char *executed, const char *wanted, struct error *err)
{
    enum gtid_flavour flavour = replication_gtid_flavour(replay->dialect);
    _cleanup_(gtid_set_freep) struct gtid_set *a = gtid_set_parse(flavour, executed, err);
    _cleanup_(gtid_set_freep) struct gtid_set *b = a ? gtid_set_parse(flavour, wanted, err) : NULL;

    if (!b)
        return -1;
    if (gtid_set_compare(a, b) == GTID_EQUAL)
        return 0;
    return error_set(err, ERROR_INTERNAL, "the server holds %.150s, where it should hold %.150s", executed, wanted);
}

static int open_server(struct seed_replay *replay, struct error *err)
{
    const struct session_options options = {
        .socket = load_mysql_socket(replay->load),
        .user = replay->options.prepared->user,
        .connect_timeout_s = CONNECT_TIMEOUT_S,
        .io_timeout_s = IO_TIMEOUT_S,
    };
    _cleanup_(freep) char *executed = NULL;

    replay->session = session_open(&options, err);
    if (!replay->session)
        return -1;
    if (is_mariadb(replay)) {
        /* It was checked to be a position (replay_plan_new): nothing in it needs quoting. */
        _cleanup_(freep) char *sql = xasprintf("SET GLOBAL gtid_slave_pos = '%s'", replay->gtid);
        if (session_exec(replay->session, sql, err) < 0)
            return -1;
    }
    return read_executed(replay, &executed, err) < 0 ? -1 : check_equal(replay, executed, replay->gtid, err);
}

static void run_open(void *arg)
{
    struct seed_replay *replay = arg;

    error_clear(&replay->job_error);
    if (open_server(replay, &replay->job_error) < 0)
        error_prefix(&replay->job_error, "the server on the restored data");
}

static bool is_cancelled(void *arg)
{
    struct seed_replay *replay = arg;

    return atomic_load(&replay->cancelled);
}

static int apply(struct seed_replay *replay, const struct replay_word *batch, struct error *err)
{
    const char *dir = replay->options.paths->data_new_dir;
    _cleanup_(freep) char *log = replay_batch_path(dir, batch->number);
    const struct relay_apply what = {
        .data_dir = dir,
        .dialect = replay->dialect,
        .channel = REPLAY_CHANNEL,
        .log = log,
        .gtids = str_or_empty(batch->gtid),
        .cancelled = is_cancelled,
        .arg = replay,
    };

    return relay_apply_run(&what, replay->session, err);
}

static void run_apply(void *arg)
{
    struct seed_replay *replay = arg;

    error_clear(&replay->job_error);
    if (apply(replay, &replay->waiting[0], &replay->job_error) < 0)
        error_prefix(&replay->job_error, "replaying up to %.150s", str_or_empty(replay->waiting[0].gtid));
}

/* Everything that was fetched was executed, and nothing else. */
static void run_close(void *arg)
{
    struct seed_replay *replay = arg;
    struct error *err = &replay->job_error;

    error_clear(err);
    if (read_executed(replay, &replay->reached, err) < 0 ||
        check_equal(replay, replay->reached, str_or_empty(replay->last.gtid), err) < 0)
        error_prefix(err, "after the replay");
    session_close(steal_ptr(replay->session));
}

/* ---- jobs ---- */

static void start_job(struct seed_replay *replay, void (*run)(void *), void (*done)(void *))
{
    struct worker_job job = {.run = run, .done = done, .arg = replay};

    replay->working = true;
    error_set(&replay->job_error, ERROR_CANCELLED, "init ends"); /* what a dropped job is told; `run` replaces it */
    if (worker_submit(replay->options.worker, &job) < 0)
        done(replay); /* init ends */
}

static bool job_failed(struct seed_replay *replay)
{
    replay->working = false;
    loop_timer_arm(&replay->turn, 0);
    if (replay->job_error.kind == ERROR_NONE)
        return false;
    fail(replay, &replay->job_error,
        replay->job_error.kind == ERROR_DATABASE ? RESTORE_REASON_REPLAY_FAILED : RESTORE_REASON_TOOL_FAILED);
    return true;
}

static void on_applied(void *arg)
{
    struct seed_replay *replay = arg;

    if (job_failed(replay))
        return;
    replay_word_release(&replay->applied);
    replay->applied = replay->waiting[0];
    replay->waiting_count--;
    memmove(replay->waiting, replay->waiting + 1, replay->waiting_count * sizeof(replay->waiting[0]));
    replay->waiting[replay->waiting_count] = (struct replay_word){0};
    char at[CLOCK_RFC3339_SIZE];
    clock_format_rfc3339(replay->applied.at_ms, at);
    log_info("archived transactions were replayed", LOG_INT("segments", replay->applied.segment),
        LOG_INT("of", replay->plan.segments), LOG_STR("until", at), LOG_STR("gtid", str_or_empty(replay->applied.gtid)));
    if (!replay->child_ended && replay->child)
        (void)(subprocess_control(replay->child, "applied\n", strlen("applied\n")) == 0); /* its end tells why */
}

static void on_stopped(void *arg, const struct error *err)
{
    struct seed_replay *replay = arg;

    replay->stopping = false;
    replay->stopped = true;
    if (err)
        fail(replay, err, RESTORE_REASON_TOOL_FAILED);
    loop_timer_arm(&replay->turn, 0);
}

static void on_closed(void *arg)
{
    struct seed_replay *replay = arg;

    if (job_failed(replay))
        return;
    log_info("the archive was replayed", LOG_INT("segments", replay->plan.segments),
        LOG_STR("gtid", str_or_empty(replay->reached)));
    replay->stopping = true;
    load_mysql_stop(replay->load);
}

/* ---- the child ---- */

static void take_batch(struct seed_replay *replay, const struct replay_word *word)
{
    struct error err = ERROR_INIT;

    if (replay->waiting_count == REPLAY_BATCHES_AHEAD) {
        error_set(&err, ERROR_INTERNAL, "more batches than were asked for");
        fail(replay, &err, RESTORE_REASON_TOOL_FAILED);
        return;
    }
    replay_word_keep(&replay->waiting[replay->waiting_count++], word);
    loop_timer_arm(&replay->turn, 0);
}

static void on_child_line(void *arg, const char *line)
{
    struct seed_replay *replay = arg;
    struct replay_word word;
    struct error err = ERROR_INIT;

    if (!replay_word_decode(line, &word)) {
        last_words_note(&replay->words, line);
        log_debug("replay", LOG_STR("line", line));
        return;
    }
    replay_word_keep(&replay->last, &word);
    if (word.said == REPLAY_SAID_PLAN)
        replay_word_keep(&replay->plan, &word);
    else if (word.said == REPLAY_SAID_BATCH)
        take_batch(replay, &word);
    else if (word.said == REPLAY_SAID_FAILED) {
        error_set(&err, ERROR_UNAVAILABLE, "%s", word.message);
        fail(replay, &err, restore_reason_parse(word.reason));
    }
    replay_word_release(&word);
}

static void on_child_exited(void *arg, const struct subprocess_result *result)
{
    struct seed_replay *replay = arg;
    struct error err = ERROR_INIT;

    char telling[LINE_BYTES];

    replay->child_ended = true;
    last_words_telling(&replay->words, telling, sizeof(telling));
    if (result->exit_code != 0)
        last_words_log(&replay->words, "replay");
    if (result->exit_code != 0 || replay->last.said != REPLAY_SAID_END) {
        error_set(&err, ERROR_IO, "the reader of the archive ended with %s %d: %s",
            result->term_signal ? "signal" : "status", result->term_signal ? result->term_signal : result->exit_code,
            telling);
        fail(replay, &err, RESTORE_REASON_TOOL_FAILED);
    }
    loop_timer_arm(&replay->turn, 0);
}

static void tell_child(struct seed_replay *replay)
{
    const struct seed_replay_options *options = &replay->options;
    struct replay_told told = {.backup_ms = options->backup_ms, .gtid = replay->gtid};
    _cleanup_(strbuf_release) struct strbuf line;

    snprintf(told.flavour, sizeof(told.flavour), "%s", agent_flavour_name(options->prepared->binary.version.flavour));
    if (!options->only_check)
        snprintf(told.spool, sizeof(told.spool), "%s", options->paths->data_new_dir);
    strbuf_init(&line, REPLAY_LINE_MAX);
    replay_told_encode(&told, &line);
    /* If it does not read any more, its end will say why. */
    (void)(subprocess_control(replay->child, options->task, options->task_len) == 0);
    (void)(subprocess_control(replay->child, "\n", 1) == 0);
    (void)(subprocess_control(replay->child, line.buf, line.len) == 0);
}

static void start_child(struct seed_replay *replay)
{
    static const struct subprocess_ops ops = {.stderr_line = on_child_line, .exited = on_child_exited};
    _cleanup_(freep) char *tls_dir = xasprintf("--tls-dir=%s", replay->options.paths->tls_dir);
    const char *const argv[] = {OURSELVES, "replay", tls_dir, NULL};
    const struct subprocess_options options = {
        .argv = argv, .control_pipe = true, .line_max = REPLAY_LINE_MAX, .new_process_group = true};
    struct error err = ERROR_INIT;

    replay->child = subprocess_start(replay->options.loop, &options, &ops, replay, &err);
    if (replay->child)
        tell_child(replay);
    else
        fail(replay, &err, RESTORE_REASON_TOOL_FAILED);
}

static void on_opened(void *arg)
{
    struct seed_replay *replay = arg;

    if (!job_failed(replay))
        start_child(replay);
}

static void on_ready(void *arg, const struct error *err)
{
    struct seed_replay *replay = arg;

    replay->starting = false;
    loop_timer_arm(&replay->turn, 0);
    if (err)
        fail(replay, err, RESTORE_REASON_TOOL_FAILED);
    else
        start_job(replay, run_open, on_opened);
}

/* ---- what is next ---- */

static void on_turn(void *arg)
{
    struct seed_replay *replay = arg;

    if (replay->working || replay->starting || replay->stopping)
        return; /* its end leads here */
    bool done = replay->options.only_check ? replay->child_ended : replay->stopped;
    if (replay->error.kind != ERROR_NONE || done)
        finish(replay);
    else if (replay->waiting_count > 0)
        start_job(replay, run_apply, on_applied);
    else if (replay->child_ended)
        start_job(replay, run_close, on_closed);
}

/* ---- life ---- */

static void start_server(struct seed_replay *replay)
{
    const struct load_mysql_options options = {
        .loop = replay->options.loop,
        .worker = replay->options.worker,
        .prepared = replay->options.prepared,
        .paths = replay->options.paths,
        .existing = true,
        .ready = on_ready,
        .stopped = on_stopped,
        .arg = replay,
    };

    replay->starting = true;
    replay->load = load_mysql_start(&options);
}

struct seed_replay *seed_replay_start(const struct seed_replay_options *options)
{
    struct seed_replay *replay = xnew(struct seed_replay);

    replay->options = *options;
    replay->dialect = dialect_for(&options->prepared->binary.version);
    replay->gtid = xstrdup(options->gtid);
    loop_timer_init(&replay->turn, options->loop, on_turn, replay);
    if (options->only_check)
        start_child(replay);
    else
        start_server(replay);
    return replay;
}

void seed_replay_cancel(struct seed_replay *replay)
{
    struct error err = ERROR_INIT;

    error_set(&err, ERROR_CANCELLED, "another order came");
    fail(replay, &err, RESTORE_REASON_TOOL_FAILED);
}

void seed_replay_free(struct seed_replay *replay)
{
    if (!replay)
        return;
    subprocess_free(replay->child);
    session_close(replay->session);
    load_mysql_free(replay->load);
    loop_timer_release(&replay->turn);
    replay_word_release(&replay->plan);
    replay_word_release(&replay->last);
    replay_word_release(&replay->applied);
    for (size_t i = 0; i < ARRAY_LEN(replay->waiting); i++)
        replay_word_release(&replay->waiting[i]);
    free(replay->gtid);
    free(replay->reached);
    free(replay);
}

const char *seed_replay_reached(const struct seed_replay *replay)
{
    return str_or_empty(replay->reached);
}

void seed_replay_progress(const struct seed_replay *replay, struct agent_status *status)
{
    char at[CLOCK_RFC3339_SIZE];

    status->seed.bytes = replay->applied.bytes;
    status->seed.total_bytes = replay->plan.total_bytes;
    if (replay->applied.number == 0)
        return;
    clock_format_rfc3339(replay->applied.at_ms, at);
    snprintf(status->seed.message, sizeof(status->seed.message), "replayed %llu of %llu archived segments, up to %s",
        (unsigned long long)replay->applied.segment, (unsigned long long)replay->plan.segments, at);
}
