/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup_keeper.h"

#include "agent/backup/backup_run.h"
#include "agent/backup/clone_local.h"
#include "agent/backup/data_size.h"
#include "agent/backup/dump_command.h"
#include "agent/bootstrap/seed_position.h"
#include "agent/bootstrap/server_binary.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/log.h"
#include "common/strvec.h"
#include "common/subprocess.h"
#include "common/worker.h"

#define RETRY_AFTER_S "5"
/* An agent that is told to end gives the child so long: less than the kubelet gives the agent. */
#define FAREWELL_MS 8000
#define PATH_PREFIX "/v1/backups/"

struct backup_keeper {
    struct backup_keeper_options options;
    struct worker *worker; /* looks how large the data is, and what the copy holds */
    struct backup_task task;
    struct strvec tool_argv, child_argv;
    struct backup_commit commit;
    enum backup_position position;
    uint64_t estimate_bytes;
    bool estimating, cancelled; /* before the run has begun */
    bool sweeping;              /* a copy that nobody needs any more goes */
    struct backup_run *run;
    struct backup_report report;
    bool ending;
};

static bool is_busy(const struct backup_keeper *keeper)
{
    return keeper->estimating || keeper->run;
}

/* ---- what a copy-out leaves when it is killed ---- */

static void run_sweep(void *arg)
{
    struct backup_keeper *keeper = arg;
    const struct agent_paths *paths = keeper->options.paths;
    struct error err = ERROR_INIT;

    if (clone_local_remove(paths->socket, keeper->options.user, paths->copy_dir, &err) < 0)
        log_warn("a copy of the data that nobody needs cannot be removed", LOG_ERR(&err));
    else
        log_info("a copy of the data that nobody needs was removed", LOG_STR("folder", paths->copy_dir));
}

static void on_swept(void *arg)
{
    struct backup_keeper *keeper = arg;

    keeper->sweeping = false;
}

/* The worker is idle. */
static void sweep(struct backup_keeper *keeper)
{
    struct worker_job job = {.run = run_sweep, .done = on_swept, .arg = keeper};

    if (fs_exists(keeper->options.paths->copy_dir))
        keeper->sweeping = worker_submit(keeper->worker, &job) == 0;
}

static void settle(struct backup_keeper *keeper)
{
    backup_run_free(steal_ptr(keeper->run));
    strvec_release(&keeper->tool_argv);
    strvec_release(&keeper->child_argv);
    backup_task_release(&keeper->task);
}

/* ---- the end ---- */

static void tell_end(const struct backup_report *report)
{
    int64_t took_ms = report->completed_ms - report->started_ms;

    if (report->state == BACKUP_STATE_COMPLETED)
        log_info("the backup is complete", LOG_STR("id", report->id), LOG_STR("gtid", report->gtid),
            LOG_INT("bytes", report->raw_bytes), LOG_INT("stored", report->stored_bytes), LOG_INT("ms", took_ms));
    else
        log_warn("the backup has failed", LOG_STR("id", report->id), LOG_STR("reason", report->error_reason),
            LOG_STR("error", report->message), LOG_INT("ms", took_ms));
}

static void on_ended(void *arg)
{
    struct backup_keeper *keeper = arg;
    bool lost = keeper->options.status->phase != AGENT_PHASE_RUNNING;

    keeper->report = *backup_run_report(keeper->run);
    if (lost && str_eq(keeper->report.error_reason, "ToolFailed"))
        snprintf(keeper->report.error_reason, sizeof(keeper->report.error_reason), "ServerLost");
    settle(keeper);
    sweep(keeper);
    tell_end(&keeper->report);
    if (!keeper->ending)
        keeper->options.changed(keeper->options.arg);
}

static void fail_start(struct backup_keeper *keeper, const char *reason, const char *message)
{
    keeper->report.completed_ms = clock_realtime_ms();
    backup_report_fail(&keeper->report, reason, message);
    settle(keeper);
    tell_end(&keeper->report);
    if (!keeper->ending)
        keeper->options.changed(keeper->options.arg);
}

/* ---- the size, on the worker's thread; then the run ---- */

static void run_estimate(void *arg)
{
    struct backup_keeper *keeper = arg;
    struct data_size size = {0};

    if (data_size_estimate(keeper->options.paths->data_dir, &size, NULL) == 0)
        keeper->estimate_bytes = size.bytes;
}

static void on_estimated(void *arg)
{
    struct backup_keeper *keeper = arg;
    struct error err = ERROR_INIT;
    struct backup_run_options options = {
        .loop = keeper->options.loop,
        .tool_argv = (const char *const *)keeper->tool_argv.v,
        .child_argv = (const char *const *)keeper->child_argv.v,
        .task = &keeper->task,
        .commit = keeper->commit,
        .estimate_bytes = keeper->estimate_bytes,
        .worker = keeper->worker,
        .position = keeper->position,
        .socket = keeper->options.paths->socket,
        .user = keeper->options.user,
        .ended = on_ended,
        .arg = keeper,
    };

    keeper->estimating = false;
    options.commit.data_bytes = keeper->estimate_bytes;
    if (keeper->cancelled || keeper->ending) {
        fail_start(keeper, "Cancelled", "the backup was ended by order");
        return;
    }
    keeper->run = backup_run_start(&options, &err);
    if (!keeper->run)
        fail_start(keeper, "ToolFailed", err.message);
}

/* ---- what is run ---- */

static char *find_tool(const char *name, const char *old_name)
{
    char *path = server_binary_search(name);

    return path || !old_name ? path : server_binary_search(old_name);
}

static int plan_mysql_files(struct backup_keeper *keeper, struct error *err)
{
    const struct agent_paths *paths = keeper->options.paths;
    struct strvec *argv = &keeper->tool_argv;
    struct server_version version;

    if (server_version_parse(keeper->options.status->version, NULL, &version, err) < 0)
        return -1;
    if (!dialect_for(&version)->clone_plugin)
        return error_set(
            err, ERROR_INVALID, "spec.method: MySQL %s has no CLONE: only logical is possible", version.text);
    strvec_push(argv, "/proc/self/exe");
    strvec_push(argv, "copy-out");
    strvec_pushf(argv, "--data-volume=%s", paths->volume_dir);
    strvec_pushf(argv, "--run-dir=%s", paths->run_dir);
    keeper->position = BACKUP_POSITION_TOLD;
    keeper->commit.stream = STREAM_METHOD_TAR;
    return 0;
}

static int plan_mariadb_files(struct backup_keeper *keeper, struct error *err)
{
    const struct agent_paths *paths = keeper->options.paths;
    struct strvec *argv = &keeper->tool_argv;
    _cleanup_(freep) char *tool = find_tool("mariadb-backup", "mariabackup");

    if (!tool)
        return error_set(err, ERROR_INVALID, "spec.method: this image has no mariadb-backup: only logical is possible");
    strvec_push(argv, tool);
    strvec_pushf(argv, "--defaults-file=%s", paths->run_mycnf);
    strvec_push(argv, "--backup");
    strvec_push(argv, "--stream=xbstream");
    strvec_pushf(argv, "--socket=%s", paths->socket);
    strvec_pushf(argv, "--user=%s", keeper->options.user);
    strvec_pushf(argv, "--datadir=%s", paths->data_dir);
    strvec_pushf(argv, "--target-dir=%s/backup", paths->run_dir); /* it must have one; a stream leaves it empty */
    keeper->position = BACKUP_POSITION_ASKED;
    keeper->commit.stream = STREAM_METHOD_XBSTREAM;
    return 0;
}

/* The dump itself says which transactions it holds (dump_position.h). */
static int plan_logical(struct backup_keeper *keeper, bool mariadb, struct error *err)
{
    const struct agent_paths *paths = keeper->options.paths;
    _cleanup_(freep) char *tool = mariadb ? find_tool("mariadb-dump", "mysqldump") : find_tool("mysqldump", NULL);
    struct server_version version;

    if (!tool)
        return error_set(
            err, ERROR_INVALID, "spec.method: this image has no %s", mariadb ? "mariadb-dump" : "mysqldump");
    if (server_version_parse(keeper->options.status->version, NULL, &version, err) < 0)
        return -1;
    if (mariadb)
        dump_command_mariadb(tool, paths->socket, keeper->options.user, &keeper->tool_argv);
    else
        dump_command(&version, tool, paths->socket, keeper->options.user, &keeper->tool_argv);
    keeper->position = BACKUP_POSITION_IN_DATA;
    keeper->commit.stream = STREAM_METHOD_SQL;
    return 0;
}

static int plan(struct backup_keeper *keeper, enum backup_method method, struct error *err)
{
    const struct agent_status *status = keeper->options.status;
    struct backup_commit *commit = &keeper->commit;
    bool mariadb = status->flavour == AGENT_FLAVOUR_MARIADB;

    *commit = (struct backup_commit){0};
    snprintf(commit->flavour, sizeof(commit->flavour), "%s", agent_flavour_name(status->flavour));
    snprintf(commit->server_version, sizeof(commit->server_version), "%s", status->version);
    snprintf(commit->donor, sizeof(commit->donor), "%s", status->instance);
    strvec_init(&keeper->tool_argv);
    strvec_init(&keeper->child_argv);
    strvec_push(&keeper->child_argv, "/proc/self/exe");
    strvec_push(&keeper->child_argv, "upload");
    strvec_pushf(&keeper->child_argv, "--tls-dir=%s", keeper->options.paths->tls_dir);
    int rc = method == BACKUP_METHOD_LOGICAL ? plan_logical(keeper, mariadb, err)
        : mariadb                            ? plan_mariadb_files(keeper, err)
                                             : plan_mysql_files(keeper, err);
    if (rc < 0) {
        strvec_release(&keeper->tool_argv);
        strvec_release(&keeper->child_argv);
    }
    return rc;
}

/* ---- the doors ---- */

static void refuse_for_now(struct http_exchange *exchange, const char *why)
{
    http_exchange_add_header(exchange, "Retry-After", RETRY_AFTER_S);
    http_replyf(exchange, 503, "%s", why);
}

static bool can_start(const struct backup_keeper *keeper, struct http_exchange *exchange)
{
    if (is_busy(keeper))
        http_replyf(exchange, 409, "backup %s runs", keeper->report.id);
    else if (keeper->sweeping)
        refuse_for_now(exchange, "the copy that an earlier backup was made of is being removed");
    else if (keeper->options.status->phase != AGENT_PHASE_RUNNING)
        refuse_for_now(exchange, "this member's server does not answer");
    else if (donor_serving(keeper->options.donor) > 0)
        refuse_for_now(exchange, "this member gives its data to another one");
    else if (seed_position_pending(keeper->options.paths))
        refuse_for_now(exchange, "this member's own data has only just arrived");
    else
        return true;
    return false;
}

static void start(struct backup_keeper *keeper, struct backup_task *task)
{
    struct worker_job job = {.run = run_estimate, .done = on_estimated, .arg = keeper};

    keeper->task = *task;
    *task = (struct backup_task){0};
    keeper->report = (struct backup_report){.state = BACKUP_STATE_RUNNING, .started_ms = clock_realtime_ms()};
    memcpy(keeper->report.id, keeper->task.id, sizeof(keeper->report.id));
    keeper->cancelled = false;
    keeper->estimate_bytes = 0;
    keeper->estimating = true;
    log_info("a backup begins", LOG_STR("id", keeper->task.id),
        LOG_STR("tool", subprocess_name((const char *const *)keeper->tool_argv.v)));
    if (worker_submit(keeper->worker, &job) < 0)
        abort(); /* one at a time */
    keeper->options.changed(keeper->options.arg);
}

static void take_task(struct backup_keeper *keeper, struct backup_task *task, struct http_exchange *exchange)
{
    struct error err = ERROR_INIT;
    bool known = str_eq(task->id, keeper->report.id);

    if (known && is_busy(keeper)) {
        backup_store_take_keys(&keeper->task.store, &task->store);
        if (keeper->run) /* else it begins with them */
            backup_run_set_keys(keeper->run, &keeper->task.store);
    } else if (!known) {
        if (!can_start(keeper, exchange))
            return;
        if (plan(keeper, task->method, &err) < 0) {
            http_replyf(exchange, AGENT_TASK_IMPOSSIBLE, "%s", err.message);
            return;
        }
        start(keeper, task);
    }
    http_replyf(exchange, 202, "ok");
}

void backup_keeper_post(struct backup_keeper *keeper, struct http_exchange *exchange)
{
    struct backup_task task = {0};
    struct error err = ERROR_INIT;
    size_t len = 0;
    const char *body = http_exchange_body(exchange, &len);

    if (backup_task_decode(body, len, &task, &err) < 0)
        http_replyf(exchange, 400, "%s", err.message);
    else
        take_task(keeper, &task, exchange);
    backup_task_release(&task);
}

void backup_keeper_delete(struct backup_keeper *keeper, struct http_exchange *exchange)
{
    const char *path = http_exchange_path(exchange);

    if (str_eq(path + strlen(PATH_PREFIX), keeper->report.id) && is_busy(keeper)) {
        log_info("the backup is to end", LOG_STR("id", keeper->report.id));
        keeper->cancelled = true;
        if (keeper->run)
            backup_run_cancel(keeper->run);
    }
    http_replyf(exchange, 200, "ok");
}

/* ---- life ---- */

struct backup_keeper *backup_keeper_new(const struct backup_keeper_options *options)
{
    struct backup_keeper *keeper = xnew(struct backup_keeper);

    keeper->options = *options;
    keeper->worker = worker_new(options->loop, "backup");
    sweep(keeper);
    return keeper;
}

void backup_keeper_free(struct backup_keeper *keeper)
{
    if (!keeper)
        return;
    int64_t until_ms = clock_monotonic_ms() + FAREWELL_MS;
    keeper->ending = true;
    if (keeper->run)
        backup_run_cancel(keeper->run);
    while ((keeper->run || keeper->sweeping) && clock_monotonic_ms() < until_ms)
        loop_run_once(keeper->options.loop, 50);
    worker_free(keeper->worker);
    settle(keeper);
    free(keeper);
}

const struct backup_report *backup_keeper_report(const struct backup_keeper *keeper)
{
    return keeper->run ? backup_run_report(keeper->run) : &keeper->report;
}
