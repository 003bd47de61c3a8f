/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/check_process.h"

#include <errno.h>
#include <unistd.h>

#include "agent/bootstrap/init.h"
#include "agent/mysql/position_check.h"
#include "agent/mysql/table_check.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/json_fields.h"

#define CONNECT_TIMEOUT_S 10
/* One statement: the largest table there is. Whoever started us has a deadline of its own. */
#define STATEMENT_TIMEOUT_S (7 * 24 * 3600)
#define TELL_MS 1000

struct check_process {
    struct check_report report;
    int64_t told_ms;
};

/* Waits until it is read: lines are few. Nobody reads any more: the next statement is the last. */
static void tell(struct check_process *process)
{
    _cleanup_(json_decrefp) json_t *object = check_report_encode(&process->report);
    _cleanup_(strbuf_release) struct strbuf line;

    strbuf_init(&line, CHECK_LINE_MAX);
    json_canonical(object, &line);
    strbuf_addc(&line, '\n');
    process->told_ms = clock_monotonic_ms();
    while (line.len > 0) {
        ssize_t n = write(STDOUT_FILENO, line.buf, line.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            exit(1);
        strbuf_consume(&line, (size_t)n);
    }
}

static void note_table(struct check_process *process, const struct table_check *check)
{
    struct check_report *report = &process->report;

    report->tables = check->tables;
    snprintf(report->table, sizeof(report->table), "%s%s%s", check->schema, *check->table ? "." : "", check->table);
}

static void on_progress(void *arg, const struct table_check *check)
{
    struct check_process *process = arg;

    note_table(process, check);
    if (clock_monotonic_ms() - process->told_ms >= TELL_MS)
        tell(process);
}

static int read_task(struct check_task *ret, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf text;
    char chunk[1024];
    ssize_t n;

    strbuf_init(&text, CHECK_TASK_MAX);
    while ((n = read(STDIN_FILENO, chunk, sizeof(chunk))) != 0) {
        if (n < 0 && errno != EINTR)
            return error_set_errno(err, errno, "the task");
        if (n > 0)
            strbuf_add(&text, chunk, (size_t)n);
    }
    return check_task_decode(text.buf, text.len, ret, err);
}

struct said {
    struct server_version *version;
    bool is_known;
    struct error *err;
};

static void take_version(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    struct said *said = arg;

    UNUSED(names);
    if (count == 2 && values[0])
        said->is_known = server_version_parse(values[0], values[1], said->version, said->err) == 0;
}

static int ask_version(struct session *session, struct server_version *ret, struct error *err)
{
    struct said said = {.version = ret, .err = err};

    error_set(err, ERROR_PROTOCOL, "the server does not say what it is");
    if (session_query(session, "SELECT VERSION(), @@version_comment", take_version, &said, err) < 0)
        return -1;
    return said.is_known ? 0 : -1;
}

static struct session *open_session(const struct agent_paths *paths, struct server_version *version, struct error *err)
{
    _cleanup_(freep) char *user = NULL;

    if (init_user_name(&user, err) < 0)
        return NULL;
    const struct session_options options = {
        .socket = paths->socket,
        .user = user,
        .connect_timeout_s = CONNECT_TIMEOUT_S,
        .io_timeout_s = STATEMENT_TIMEOUT_S,
    };
    _cleanup_(session_closep) struct session *session = session_open(&options, err);
    if (!session || ask_version(session, version, err) < 0)
        return NULL;
    /* A limit of the configuration is for clients. MySQL's holds for SELECT only. */
    if (version->flavour == AGENT_FLAVOUR_MARIADB &&
        session_exec(session, "SET SESSION max_statement_time = 0", err) < 0)
        return NULL;
    return steal_ptr(session);
}

/* The reason why it did not pass, NULL: it did. */
static const char *check(
    struct check_process *process, const struct agent_paths *paths, const struct check_task *task, struct error *err)
{
    struct server_version version = {.number = 0};
    struct table_check tables = {.progress = on_progress, .arg = process};

    _cleanup_(session_closep) struct session *session = open_session(paths, &version, err);
    if (!session)
        return CHECK_FAILED;
    if (position_check(session, dialect_for(&version), task->gtid, process->report.gtid, err) < 0)
        return err->kind == ERROR_INVALID ? CHECK_POSITION_MISSING : CHECK_FAILED;
    int rc = table_check_run(session, &tables, err);
    note_table(process, &tables);
    if (rc == 0)
        return NULL;
    return err->kind == ERROR_INVALID ? CHECK_TABLES_DAMAGED : CHECK_FAILED;
}

int check_process_run(const struct agent_paths *paths, struct error *err)
{
    struct check_process process = {.report = {.phase = CHECK_PHASE_RUNNING}};
    struct check_task task;

    if (read_task(&task, err) < 0)
        return -1;
    session_library_init();
    json_copy_text(process.report.task, sizeof(process.report.task), task.id);
    const char *reason = check(&process, paths, &task, err);
    process.report.phase = reason ? CHECK_PHASE_FAILED : CHECK_PHASE_PASSED;
    json_copy_text(process.report.reason, sizeof(process.report.reason), str_or_empty(reason));
    if (reason)
        json_copy_text(process.report.message, sizeof(process.report.message), err->message);
    tell(&process);
    session_library_end();
    return reason ? -1 : 0;
}
