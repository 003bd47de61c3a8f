/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/check_keeper.h"

#include <signal.h>

#include "agent/check_process.h"
#include "common/alloc.h"
#include "common/json.h"
#include "common/json_fields.h"
#include "common/log.h"
#include "common/strvec.h"
#include "common/subprocess.h"

struct check_keeper {
    struct check_keeper_options options;
    struct strvec argv;
    struct check_task task;
    struct check_report report;
    struct subprocess *child;
    bool ended;
    struct strbuf line;
    struct loop_timer look, notify;
};

static void on_notify(void *arg)
{
    struct check_keeper *keeper = arg;

    keeper->options.changed(keeper->options.arg);
}

static void tell(struct check_keeper *keeper)
{
    loop_timer_arm(&keeper->notify, 0);
}

static void fail(struct check_keeper *keeper, const char *message)
{
    struct check_report *report = &keeper->report;

    report->phase = CHECK_PHASE_FAILED;
    json_copy_text(report->reason, sizeof(report->reason), CHECK_FAILED);
    json_copy_text(report->message, sizeof(report->message), message);
    tell(keeper);
}

/* ---- the child ---- */

static void take_line(struct check_keeper *keeper)
{
    _cleanup_(json_decrefp) json_t *object = json_parse(keeper->line.buf, keeper->line.len, NULL);
    struct check_report report;

    if (!object || check_report_decode(object, &report, NULL) < 0 || !str_eq(report.task, keeper->task.id))
        return;
    keeper->report = report;
    tell(keeper);
}

static void on_data(void *arg, const char *data, size_t len)
{
    struct check_keeper *keeper = arg;

    for (size_t i = 0; i < len; i++) {
        if (data[i] != '\n') {
            strbuf_addc(&keeper->line, data[i]);
            continue;
        }
        if (!keeper->line.overflowed)
            take_line(keeper);
        strbuf_reset(&keeper->line);
    }
}

static void on_line(void *arg, const char *line)
{
    UNUSED(arg);
    log_info("the check said", LOG_STR("line", line));
}

static void on_exited(void *arg, const struct subprocess_result *result)
{
    struct check_keeper *keeper = arg;

    UNUSED(result);
    keeper->ended = true;
    loop_timer_arm(&keeper->look, 0);
}

static void on_look(void *arg)
{
    struct check_keeper *keeper = arg;

    if (!keeper->child || !keeper->ended)
        return;
    subprocess_free(steal_ptr(keeper->child));
    if (keeper->report.phase == CHECK_PHASE_RUNNING)
        fail(keeper, "the process that checks ended without a word");
    log_info("the data is checked", LOG_STR("phase", check_phase_names[keeper->report.phase]),
        LOG_INT("tables", (int64_t)keeper->report.tables), LOG_STR("message", keeper->report.message));
}

static void start(struct check_keeper *keeper)
{
    static const struct subprocess_ops ops = {.stdout_data = on_data, .stderr_line = on_line, .exited = on_exited};
    _cleanup_(strbuf_release) struct strbuf text;
    struct error err = ERROR_INIT;

    strbuf_init(&text, CHECK_TASK_MAX);
    check_task_encode(&keeper->task, &text);
    const struct subprocess_options options = {
        .argv = keeper->options.child_argv ? keeper->options.child_argv : (const char *const *)keeper->argv.v,
        .stdin_data = text.buf,
        .stdin_len = text.len,
        .new_process_group = true,
    };
    keeper->ended = false;
    strbuf_reset(&keeper->line);
    keeper->report.phase = CHECK_PHASE_RUNNING;
    keeper->child = subprocess_start(keeper->options.loop, &options, &ops, keeper, &err);
    if (!keeper->child)
        fail(keeper, err.message);
    tell(keeper);
}

void check_keeper_turn(struct check_keeper *keeper)
{
    bool waits = *keeper->task.id && !keeper->child && keeper->report.phase == CHECK_PHASE_NONE;

    if (waits && keeper->options.status->phase == AGENT_PHASE_RUNNING)
        start(keeper);
}

/* ---- the doors ---- */

void check_keeper_set(struct check_keeper *keeper, const struct check_task *task)
{
    if (str_eq(keeper->task.id, task ? task->id : ""))
        return;
    subprocess_free(steal_ptr(keeper->child));
    loop_timer_cancel(&keeper->look);
    keeper->task = task ? *task : (struct check_task){.id = ""};
    keeper->report = (struct check_report){.task = ""};
    json_copy_text(keeper->report.task, sizeof(keeper->report.task), keeper->task.id);
    tell(keeper);
}

void check_keeper_put(struct check_keeper *keeper, struct http_exchange *exchange)
{
    struct check_task task;
    struct error err = ERROR_INIT;
    size_t len = 0;
    const char *body = http_exchange_body(exchange, &len);

    if (check_task_decode(body, len, &task, &err) < 0) {
        http_replyf(exchange, 400, "%s", err.message);
        return;
    }
    check_keeper_set(keeper, &task);
    http_replyf(exchange, 200, "ok");
}

void check_keeper_delete(struct check_keeper *keeper, struct http_exchange *exchange)
{
    check_keeper_set(keeper, NULL);
    http_replyf(exchange, 200, "ok");
}

/* ---- life ---- */

struct check_keeper *check_keeper_new(const struct check_keeper_options *options)
{
    struct check_keeper *keeper = xnew(struct check_keeper);

    keeper->options = *options;
    strbuf_init(&keeper->line, CHECK_LINE_MAX);
    loop_timer_init(&keeper->look, options->loop, on_look, keeper);
    loop_timer_init(&keeper->notify, options->loop, on_notify, keeper);
    strvec_init(&keeper->argv);
    strvec_push(&keeper->argv, "/proc/self/exe");
    strvec_push(&keeper->argv, "check-data");
    strvec_pushf(&keeper->argv, "--run-dir=%s", options->paths->run_dir);
    return keeper;
}

void check_keeper_free(struct check_keeper *keeper)
{
    if (!keeper)
        return;
    subprocess_free(keeper->child);
    loop_timer_release(&keeper->look);
    loop_timer_release(&keeper->notify);
    strbuf_release(&keeper->line);
    strvec_release(&keeper->argv);
    free(keeper);
}

const struct check_report *check_keeper_report(const struct check_keeper *keeper)
{
    return &keeper->report;
}
