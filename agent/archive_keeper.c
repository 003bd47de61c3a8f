/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/archive_keeper.h"

#include <signal.h>

#include "agent/backup/archive_word.h"
#include "agent/backup/backup_child.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/json_fields.h"
#include "common/log.h"
#include "common/strvec.h"
#include "common/subprocess.h"

/* A child that was told to end. */
#define GRACE_MS 10000

struct archive_keeper {
    struct archive_keeper_options options;
    struct strvec argv;
    bool has_task;
    struct archive_task task;
    struct archive_report report;
    uint64_t epoch; /* that the report and the memory are of; 0: not primary */
    struct archive_memory memory;
    int64_t next_ms;        /* when the next round begins */
    uint64_t log;           /* the newest binary log when that was looked at last; 0: it was not */
    int64_t named_after_ms; /* wall clock: when the last child ended, or this agent began */
    /* The round that runs. */
    struct subprocess *child;
    bool ended, stopped; /* stopped: by us, what it says counts no more */
    int exit_code;
    int64_t started_ms;
    struct strbuf line;
    struct archive_word word; /* its latest */
    struct archive_report before;
    struct loop_timer look, grace, notify;
};

/* ---- what is told ---- */

/* Not from inside: whoever hears of it calls archive_keeper_turn. */
static void on_notify(void *arg)
{
    struct archive_keeper *keeper = arg;

    keeper->options.changed(keeper->options.arg);
}

static void tell(struct archive_keeper *keeper, const struct archive_report *last)
{
    if (!archive_report_same(last, &keeper->report))
        loop_timer_arm(&keeper->notify, 0);
}

static void take_memory(struct archive_report *report, const struct archive_memory *memory)
{
    if (!memory->known)
        return;
    report->known = true;
    report->epoch = memory->newest.epoch;
    report->sequence = memory->newest.sequence;
    memcpy(report->from_gtid, memory->from_gtid, sizeof(report->from_gtid));
    report->from_epoch = memory->chain.epoch;
    report->from_sequence = memory->chain.sequence;
    report->from_ms = memory->from_ms;
    position_tell(report->until_gtid, memory->until);
    report->newest_ms = memory->newest_ms;
    report->gap_ms = MAX_OF(report->gap_ms, memory->gap_ms);
}

static void drop_word(struct archive_keeper *keeper)
{
    archive_memory_release(&keeper->word.memory);
    keeper->word = (struct archive_word){0};
}

static void take_word(struct archive_keeper *keeper)
{
    struct archive_report *report = &keeper->report;
    const struct archive_word *word = &keeper->word;
    struct archive_report last = *report;

    take_memory(report, &word->memory);
    report->segments = keeper->before.segments + word->segments;
    report->stored_bytes = keeper->before.stored_bytes + word->stored_bytes;
    tell(keeper, &last);
}

static void set_error(struct archive_report *report, const char *reason, const char *message)
{
    json_copy_text(report->error_reason, sizeof(report->error_reason), reason);
    json_copy_text(report->message, sizeof(report->message), message);
}

/* ---- the end of a round ---- */

static void note_end(struct archive_keeper *keeper)
{
    struct archive_report *report = &keeper->report;
    const struct archive_word *word = &keeper->word;
    const char *reason = word->error_reason;
    const char *message = word->message;

    if (!word->ended || (keeper->exit_code != 0 && !*reason)) {
        reason = "ArchiveFailed";
        message = "the process that archives ended without a word";
    }
    if (!str_eq(reason, report->error_reason)) {
        if (*reason)
            log_warn("binary logs are not archived", LOG_STR("reason", reason), LOG_STR("error", message));
        else
            log_info("binary logs are archived again");
    }
    set_error(report, reason, message);
    if (*reason)
        return;
    archive_memory_keep(&keeper->memory, &word->memory);
    if (word->full)
        keeper->next_ms = 0;
    else
        report->until_ms = word->began_ms;
}

static void settle(struct archive_keeper *keeper)
{
    struct archive_report last = keeper->report;

    loop_timer_cancel(&keeper->grace);
    subprocess_free(steal_ptr(keeper->child));
    keeper->named_after_ms = clock_realtime_ms();
    archive_memory_release(&keeper->memory);
    if (!keeper->stopped) {
        keeper->next_ms = keeper->started_ms + (int64_t)keeper->task.interval_s * 1000;
        note_end(keeper);
        tell(keeper, &last);
    }
    archive_keeper_turn(keeper, clock_monotonic_ms());
}

static void on_look(void *arg)
{
    struct archive_keeper *keeper = arg;

    if (keeper->child && keeper->ended)
        settle(keeper);
    else
        archive_keeper_turn(keeper, clock_monotonic_ms());
}

/* ---- the child ---- */

static void on_data(void *arg, const char *data, size_t len)
{
    struct archive_keeper *keeper = arg;

    for (size_t i = 0; i < len; i++) {
        if (data[i] != '\n') {
            strbuf_addc(&keeper->line, data[i]);
            continue;
        }
        struct archive_word word;
        bool good = !keeper->line.overflowed && !keeper->stopped &&
            archive_word_decode(keeper->line.buf, keeper->line.len, &word, NULL) == 0;
        strbuf_reset(&keeper->line);
        if (!good)
            continue;
        drop_word(keeper);
        keeper->word = word;
        take_word(keeper);
    }
}

static void on_line(void *arg, const char *line)
{
    UNUSED(arg);
    log_info("the archive said", LOG_STR("line", line));
}

static void on_exited(void *arg, const struct subprocess_result *result)
{
    struct archive_keeper *keeper = arg;

    keeper->ended = true;
    keeper->exit_code = result->exit_code;
    loop_timer_arm(&keeper->look, 0);
}

static void on_grace(void *arg)
{
    struct archive_keeper *keeper = arg;

    if (keeper->child && !keeper->ended)
        subprocess_kill(keeper->child, SIGKILL);
}

static void stop(struct archive_keeper *keeper)
{
    if (!keeper->child || keeper->stopped)
        return;
    keeper->stopped = true;
    if (keeper->ended)
        return;
    subprocess_close_control(keeper->child);
    loop_timer_arm(&keeper->grace, GRACE_MS);
}

static void say_words(struct archive_keeper *keeper)
{
    const struct agent_status *status = keeper->options.status;
    struct archive_order order = {.epoch = keeper->epoch,
        .named_after_ms = keeper->named_after_ms,
        .memory = keeper->memory,
        .executed = status->gtid_executed};
    struct strbuf words;

    json_copy_text(order.writer, sizeof(order.writer), status->instance);
    json_copy_text(order.flavour, sizeof(order.flavour), agent_flavour_name(status->flavour));
    json_copy_text(order.server_version, sizeof(order.server_version), status->version);
    strbuf_init(&words, BACKUP_CHILD_LINE_MAX + ARCHIVE_WORD_MAX);
    archive_task_encode(&keeper->task, &words);
    strbuf_addc(&words, '\n');
    archive_order_encode(&order, &words);
    /* A child that does not listen tells why by its end. */
    (void)(subprocess_control(keeper->child, words.buf, words.len) == 0);
    strbuf_release_secret(&words);
}

static void start(struct archive_keeper *keeper, int64_t now_ms)
{
    static const struct subprocess_ops ops = {.stdout_data = on_data, .stderr_line = on_line, .exited = on_exited};
    struct subprocess_options options = {
        .argv = keeper->options.child_argv ? keeper->options.child_argv : (const char *const *)keeper->argv.v,
        .control_pipe = true,
        .new_process_group = true,
    };
    struct archive_report last = keeper->report;
    struct error err = ERROR_INIT;

    keeper->started_ms = now_ms;
    keeper->next_ms = now_ms + (int64_t)keeper->task.interval_s * 1000;
    keeper->ended = keeper->stopped = false;
    drop_word(keeper);
    keeper->before = keeper->report;
    strbuf_reset(&keeper->line);
    keeper->child = subprocess_start(keeper->options.loop, &options, &ops, keeper, &err);
    if (keeper->child) {
        say_words(keeper);
        return;
    }
    set_error(&keeper->report, "ArchiveFailed", err.message);
    tell(keeper, &last);
}

/* ---- when ---- */

static bool is_open_primary(const struct agent_status *status)
{
    return status->phase == AGENT_PHASE_RUNNING && status->role == AGENT_ROLE_PRIMARY &&
        ((status->order_done && status->writable) || status->closed_for_room) && !status->isolated && status->epoch > 0;
}

/* Of another epoch, or of none: nothing that is known is of use. */
static void enter_epoch(struct archive_keeper *keeper, uint64_t epoch)
{
    struct archive_report last = keeper->report;

    if (keeper->epoch == epoch)
        return;
    keeper->epoch = epoch;
    archive_memory_release(&keeper->memory);
    keeper->next_ms = 0;
    keeper->report = (struct archive_report){0};
    memcpy(keeper->report.task, last.task, sizeof(last.task));
    tell(keeper, &last);
}

/* What is in a log that is complete is to be archived soon: the server may be about to write fast. */
static void look_at_newest_log(struct archive_keeper *keeper)
{
    uint64_t log = keeper->options.newest_log ? *keeper->options.newest_log : 0;

    if (!log)
        return;
    if (keeper->log && keeper->log != log)
        keeper->next_ms = 0;
    keeper->log = log;
}

void archive_keeper_turn(struct archive_keeper *keeper, int64_t now_ms)
{
    const struct agent_status *status = keeper->options.status;
    uint64_t epoch = keeper->has_task && is_open_primary(status) ? status->epoch : 0;

    if (epoch != keeper->epoch)
        stop(keeper);
    if (keeper->child)
        return;
    enter_epoch(keeper, epoch);
    look_at_newest_log(keeper);
    if (epoch > 0 && now_ms >= keeper->next_ms)
        start(keeper, now_ms);
}

bool archive_keeper_is_active(const struct archive_keeper *keeper)
{
    return keeper->epoch > 0;
}

/* ---- the doors ---- */

/* Another interval is no reason to look into the archive anew, or to end a round. */
static bool is_but_another_interval(const struct archive_keeper *keeper, const struct archive_task *task)
{
    char digest[17];

    if (!keeper->has_task || !task)
        return false;
    archive_task_digest_at(task, keeper->task.interval_s, digest);
    return str_eq(digest, keeper->report.task);
}

static void take_interval(struct archive_keeper *keeper, uint32_t interval_s, const char *digest)
{
    struct archive_report last = keeper->report;
    int64_t next_ms = keeper->started_ms + (int64_t)interval_s * 1000;

    keeper->task.interval_s = interval_s;
    keeper->next_ms = keeper->next_ms ? next_ms : 0;
    json_copy_text(keeper->report.task, sizeof(keeper->report.task), digest);
    tell(keeper, &last);
    loop_timer_arm(&keeper->look, 0);
}

void archive_keeper_set(struct archive_keeper *keeper, struct archive_task *task)
{
    struct archive_report last = keeper->report;
    char digest[17] = "";

    if (task)
        archive_task_digest(task, digest);
    if (str_eq(digest, keeper->report.task)) {
        if (task)
            archive_task_release(task);
        return;
    }
    if (is_but_another_interval(keeper, task)) {
        take_interval(keeper, task->interval_s, digest);
        archive_task_release(task);
        return;
    }
    log_info(task ? "binary logs are to be archived" : "binary logs are not archived any more");
    stop(keeper);
    archive_task_release(&keeper->task);
    keeper->task = task ? *task : (struct archive_task){0};
    keeper->has_task = task != NULL;
    keeper->epoch = 0;
    archive_memory_release(&keeper->memory);
    keeper->report = (struct archive_report){0};
    memcpy(keeper->report.task, digest, sizeof(digest));
    tell(keeper, &last);
    loop_timer_arm(&keeper->look, 0);
}

void archive_keeper_put(struct archive_keeper *keeper, struct http_exchange *exchange)
{
    struct archive_task task = {0};
    struct error err = ERROR_INIT;
    size_t len = 0;
    const char *body = http_exchange_body(exchange, &len);

    if (archive_task_decode(body, len, &task, &err) < 0) {
        http_replyf(exchange, 400, "%s", err.message);
        return;
    }
    archive_keeper_set(keeper, &task);
    http_replyf(exchange, 200, "ok");
}

void archive_keeper_delete(struct archive_keeper *keeper, struct http_exchange *exchange)
{
    archive_keeper_set(keeper, NULL);
    http_replyf(exchange, 200, "ok");
}

/* ---- life ---- */

struct archive_keeper *archive_keeper_new(const struct archive_keeper_options *options)
{
    struct archive_keeper *keeper = xnew(struct archive_keeper);

    keeper->options = *options;
    keeper->named_after_ms = clock_realtime_ms();
    strbuf_init(&keeper->line, ARCHIVE_WORD_MAX);
    loop_timer_init(&keeper->look, options->loop, on_look, keeper);
    loop_timer_init(&keeper->grace, options->loop, on_grace, keeper);
    loop_timer_init(&keeper->notify, options->loop, on_notify, keeper);
    strvec_init(&keeper->argv);
    strvec_push(&keeper->argv, "/proc/self/exe");
    strvec_push(&keeper->argv, "archive");
    strvec_pushf(&keeper->argv, "--tls-dir=%s", options->paths->tls_dir);
    strvec_pushf(&keeper->argv, "--data-volume=%s", options->paths->volume_dir);
    return keeper;
}

void archive_keeper_free(struct archive_keeper *keeper)
{
    if (!keeper)
        return;
    subprocess_free(keeper->child);
    loop_timer_release(&keeper->look);
    loop_timer_release(&keeper->grace);
    loop_timer_release(&keeper->notify);
    strbuf_release(&keeper->line);
    strvec_release(&keeper->argv);
    archive_task_release(&keeper->task);
    archive_memory_release(&keeper->memory);
    drop_word(keeper);
    free(keeper);
}

const struct archive_report *archive_keeper_report(const struct archive_keeper *keeper)
{
    return &keeper->report;
}
