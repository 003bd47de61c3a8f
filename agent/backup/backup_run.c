/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/backup_run.h"

#include <signal.h>
#include <unistd.h>

#include "agent/backup/copy_position.h"
#include "agent/mysql/strangers.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/json_fields.h"
#include "common/log.h"
#include "common/subprocess.h"

#define PIPE_BYTES ((size_t)(1 * KM_MIB))
/* The tool's last lines go to our log, the very last one into the report. */
#define TAIL_LINES 8
#define TAIL_LINE_BYTES 320
/* A line of the child: a report. */
#define CHILD_LINE_MAX ((size_t)(16 * KM_KIB))

struct backup_run {
    struct backup_run_options options;
    struct backup_report report;
    struct subprocess *tool, *child;
    bool tool_ended, child_ended;
    struct strbuf line;        /* of the child, not whole yet */
    struct backup_report told; /* the child's latest */
    struct copy_position position;
    char *gtid;             /* of the commit */
    bool told_position;     /* of the tool; it is that */
    struct error ask_error; /* the worker's */
    bool asking, cancelled, over;
    bool cleaning;           /* by a second child, since the first one cannot */
    struct error tool_error; /* of it, or of what was asked after it */
    struct error child_error;
    char tail[TAIL_LINES][TAIL_LINE_BYTES];
    unsigned tail_next;
    struct loop_timer look; /* what follows from an end; nothing is freed inside the callbacks of the two */
    struct loop_timer grace;
};

static void look(struct backup_run *run)
{
    loop_timer_arm(&run->look, 0);
}

/* ---- words for the child ---- */

/* Who does not listen any more tells why by its end. */
static void say(struct backup_run *run, const struct strbuf *words)
{
    (void)(!words->overflowed && subprocess_control(run->child, words->buf, words->len) == 0);
}

static void say_task(struct backup_run *run)
{
    struct strbuf words;

    strbuf_init(&words, BACKUP_CHILD_LINE_MAX);
    backup_task_encode(run->options.task, &words);
    strbuf_addc(&words, '\n');
    say(run, &words);
    strbuf_release_secret(&words);
}

static void say_commit(struct backup_run *run)
{
    _cleanup_(strbuf_release) struct strbuf words;

    run->options.commit.gtid = run->gtid;
    strbuf_init(&words, BACKUP_CHILD_LINE_MAX);
    backup_commit_encode(&run->options.commit, &words);
    say(run, &words);
}

void backup_run_set_keys(struct backup_run *run, const struct backup_store *keys)
{
    struct strbuf words;

    strbuf_init(&words, BACKUP_CHILD_LINE_MAX);
    backup_keys_encode(keys, &words);
    say(run, &words);
    strbuf_release_secret(&words);
}

/* Nothing is to come of it any more: the child cleans up. */
static void give_up(struct backup_run *run)
{
    if (!run->tool_ended)
        subprocess_kill(run->tool, SIGKILL);
    if (run->child_ended)
        return;
    subprocess_close_control(run->child);
    loop_timer_arm(&run->grace, BACKUP_RUN_GRACE_MS);
}

static void on_grace(void *arg)
{
    struct backup_run *run = arg;

    if (!run->child_ended)
        subprocess_kill(run->child, SIGKILL);
}

/* ---- what the data is ---- */

static void run_ask(void *arg)
{
    struct backup_run *run = arg;

    error_clear(&run->ask_error);
    if (copy_position_ask(run->options.socket, run->options.user, &run->position, &run->gtid, &run->ask_error) < 0)
        error_prefix(&run->ask_error, "which transactions the copy holds");
}

static void on_asked(void *arg)
{
    struct backup_run *run = arg;

    run->asking = false;
    if (run->ask_error.kind != ERROR_NONE) {
        run->tool_error = run->ask_error;
        give_up(run);
    } else if (!run->cancelled && !run->child_ended) {
        say_commit(run);
    }
    look(run);
}

static void ask_position(struct backup_run *run)
{
    struct worker_job job = {.run = run_ask, .done = on_asked, .arg = run};

    error_set(&run->ask_error, ERROR_CANCELLED, "the agent ends"); /* what a dropped job is told; `run` replaces it */
    if (worker_submit(run->options.worker, &job) < 0)
        abort(); /* it is free */
    run->asking = true;
}

/* ---- the tool ---- */

static void on_tool_line(void *arg, const char *line)
{
    struct backup_run *run = arg;

    snprintf(run->tail[run->tail_next++ % TAIL_LINES], TAIL_LINE_BYTES, "%s", line);
    if (run->options.position == BACKUP_POSITION_ASKED)
        copy_position_find(line, &run->position);
    else if (run->options.position == BACKUP_POSITION_TOLD)
        run->told_position = copy_position_told(line, &run->gtid) || run->told_position;
}

static const char *last_line(const struct backup_run *run)
{
    return run->tail_next ? run->tail[(run->tail_next - 1) % TAIL_LINES] : "it said nothing";
}

static void note_failed_tool(struct backup_run *run, const struct subprocess_result *result)
{
    unsigned count = MIN_OF(run->tail_next, TAIL_LINES);

    error_set(&run->tool_error, ERROR_IO, "%s ended with %s %d: %s", subprocess_name(run->options.tool_argv),
        result->term_signal ? "signal" : "status", result->term_signal ? result->term_signal : result->exit_code,
        last_line(run));
    if (run->cancelled || run->child_ended)
        return; /* by our hand, or it lost its reader */
    for (unsigned i = run->tail_next - count; i < run->tail_next; i++)
        log_warn("the backup tool said", LOG_STR("line", run->tail[i % TAIL_LINES]));
}

static void on_tool_exited(void *arg, const struct subprocess_result *result)
{
    struct backup_run *run = arg;

    run->tool_ended = true;
    strangers_tool_ends(run->options.tool_argv);
    if (result->exit_code != 0) {
        note_failed_tool(run, result);
        give_up(run);
    } else if (run->cancelled || run->child_ended) {
        give_up(run);
    } else if (run->options.position == BACKUP_POSITION_ASKED && *run->position.file) {
        ask_position(run);
    } else if (run->options.position == BACKUP_POSITION_IN_DATA || run->told_position) {
        say_commit(run);
    } else {
        error_set(&run->tool_error, ERROR_IO,
            "the tool did not say which transactions the copy holds: has the server a binary log?");
        give_up(run);
    }
    look(run);
}

/* ---- the child ---- */

static void take_line(struct backup_run *run, const char *line)
{
    struct backup_report told;

    if (run->cleaning || backup_report_parse(line, &told, NULL) < 0)
        return;
    run->told = told;
    run->report.raw_bytes = told.raw_bytes;
    run->report.stored_bytes = told.stored_bytes;
    run->report.bytes_per_second = told.bytes_per_second;
}

static void on_child_data(void *arg, const char *data, size_t len)
{
    struct backup_run *run = arg;

    for (size_t i = 0; i < len; i++) {
        if (data[i] != '\n') {
            strbuf_addc(&run->line, data[i]);
            continue;
        }
        if (!run->line.overflowed)
            take_line(run, run->line.buf);
        strbuf_reset(&run->line);
    }
}

static void on_child_line(void *arg, const char *line)
{
    UNUSED(arg);
    log_info("the upload said", LOG_STR("line", line));
}

static void on_child_exited(void *arg, const struct subprocess_result *result)
{
    struct backup_run *run = arg;
    bool last_word = run->told.state == BACKUP_STATE_COMPLETED || run->told.state == BACKUP_STATE_FAILED;

    run->child_ended = true;
    loop_timer_cancel(&run->grace);
    if (run->cleaning)
        log_info("what was stored of the backup was cleaned up", LOG_INT("status", result->exit_code));
    else if (!last_word || (result->exit_code == 0) != (run->told.state == BACKUP_STATE_COMPLETED))
        error_set(&run->child_error, ERROR_IO, "the upload ended with %s %d", result->term_signal ? "signal" : "status",
            result->term_signal ? result->term_signal : result->exit_code);
    give_up(run); /* whatever it was: a tool without a reader is of no use */
    look(run);
}

static int start_child(struct backup_run *run, int in_fd, struct error *err)
{
    static const struct subprocess_ops ops = {
        .stdout_data = on_child_data, .stderr_line = on_child_line, .exited = on_child_exited};
    struct subprocess_options options = {
        .argv = run->options.child_argv, .in_fd = in_fd, .control_pipe = true, .new_process_group = true};

    run->child = subprocess_start(run->options.loop, &options, &ops, run, err);
    if (!run->child)
        return -1;
    run->child_ended = false;
    say_task(run);
    return 0;
}

/* With a task and no commit it does nothing else. */
static void start_cleaning(struct backup_run *run)
{
    struct error err = ERROR_INIT;

    run->cleaning = true;
    subprocess_free(steal_ptr(run->child));
    if (start_child(run, 0, &err) < 0) {
        run->child_ended = true;
        log_warn("what was stored of the backup cannot be cleaned up", LOG_ERR(&err));
        look(run);
        return;
    }
    give_up(run);
}

/* ---- the end ---- */

/* Who failed first: the tool is killed when its reader has gone, the child told to end when the tool has. */
static void conclude(struct backup_run *run)
{
    struct backup_report *report = &run->report;
    const struct backup_report *told = &run->told;
    bool by_itself = told->state == BACKUP_STATE_FAILED && !str_eq(told->error_reason, "Cancelled");

    report->completed_ms = clock_realtime_ms();
    if (run->child_error.kind == ERROR_NONE && told->state == BACKUP_STATE_COMPLETED) {
        report->state = BACKUP_STATE_COMPLETED;
        memcpy(report->gtid, told->gtid, sizeof(report->gtid));
        memcpy(report->digest, told->digest, sizeof(report->digest));
    } else if (run->cancelled) {
        backup_report_fail(report, "Cancelled", "the backup was ended by order");
    } else if (by_itself) {
        backup_report_fail(report, told->error_reason, told->message);
    } else if (run->child_error.kind != ERROR_NONE) {
        backup_report_fail(report, "UploadFailed", run->child_error.message);
    } else if (run->tool_error.kind != ERROR_NONE) {
        backup_report_fail(report, "ToolFailed", run->tool_error.message);
    } else {
        backup_report_fail(report, "UploadFailed", told->message);
    }
}

static void on_look(void *arg)
{
    struct backup_run *run = arg;

    if (!run->tool_ended || !run->child_ended || run->asking || run->over)
        return;
    if (run->child_error.kind != ERROR_NONE && !run->cleaning) {
        start_cleaning(run);
        return;
    }
    run->over = true;
    conclude(run);
    run->options.ended(run->options.arg); /* may free it */
}

void backup_run_cancel(struct backup_run *run)
{
    if (run->cancelled || run->over)
        return;
    run->cancelled = true;
    give_up(run);
    look(run);
}

/* ---- life ---- */

static int start_tool(struct backup_run *run, int out_fd, struct error *err)
{
    static const struct subprocess_ops ops = {.stderr_line = on_tool_line, .exited = on_tool_exited};
    struct subprocess_options options = {
        .argv = run->options.tool_argv, .out_fd = out_fd, .line_max = COPY_POSITION_LINE_MAX, .new_process_group = true};

    run->tool = subprocess_start(run->options.loop, &options, &ops, run, err);
    if (!run->tool)
        return -1;
    strangers_tool_begins(run->options.tool_argv);
    return 0;
}

static int start_both(struct backup_run *run, struct error *err)
{
    int from = -1;
    int to = -1;

    if (subprocess_pipe(&from, &to, PIPE_BYTES, err) < 0)
        return -1;
    if (start_child(run, from, err) < 0) {
        close(to);
        return -1;
    }
    return start_tool(run, to, err);
}

struct backup_run *backup_run_start(const struct backup_run_options *options, struct error *err)
{
    struct backup_run *run = xnew(struct backup_run);

    run->options = *options;
    loop_timer_init(&run->look, options->loop, on_look, run);
    loop_timer_init(&run->grace, options->loop, on_grace, run);
    strbuf_init(&run->line, CHILD_LINE_MAX);
    memcpy(run->report.id, options->task->id, sizeof(run->report.id));
    run->report.state = BACKUP_STATE_RUNNING;
    run->report.started_ms = clock_realtime_ms();
    run->report.estimate_bytes = options->estimate_bytes;
    if (start_both(run, err) == 0)
        return run;
    backup_run_free(run);
    return NULL;
}

void backup_run_free(struct backup_run *run)
{
    if (!run)
        return;
    if (run->tool && !run->tool_ended)
        strangers_tool_ends(run->options.tool_argv);
    subprocess_free(run->tool);
    subprocess_free(run->child);
    loop_timer_release(&run->look);
    loop_timer_release(&run->grace);
    strbuf_release(&run->line);
    copy_position_release(&run->position);
    free(run->gtid);
    free(run);
}

const struct backup_report *backup_run_report(const struct backup_run *run)
{
    return &run->report;
}
