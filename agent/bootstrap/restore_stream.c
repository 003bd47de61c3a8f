/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/restore_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "common/alloc.h"
#include "common/backup_task.h"
#include "common/json.h"
#include "common/log.h"
#include "common/strvec.h"
#include "common/subprocess.h"

#define PIPE_BYTES ((size_t)(1 * KM_MIB))
#define LINE_BYTES 300
/* The download has failed: the tool's end follows at once. */
#define VERDICT_MS 1000
#define DRAIN_BYTES ((size_t)(64 * KM_KIB))

struct end {
    bool is_there;
    int exit_code, term_signal;
    char line[LINE_BYTES]; /* the last one of its standard error */
};

struct restore_stream {
    struct restore_stream_options options;
    struct strvec download_argv, tool_argv;
    struct subprocess *download, *tool;
    struct end download_end, tool_end;
    enum error_kind download_kind; /* by its own word; ERROR_NONE: it has said none */
    struct loop_timer end;         /* `done` comes from the loop, outside of the children's callbacks */
    uint64_t bytes, stored_bytes;
    /* Our own end of their pipe. A tool may choke on bytes whose piece turns out to be damaged only at its end: so what
     * it does not take any more is read here and thrown away, until the download has had its say on that piece. */
    int drain_fd;
    struct loop_fd *drain_watch;
    uint64_t drained, drain_until; /* bytes; of stored_bytes */
};

/* ---- the end ---- */

static bool ended_well(const struct end *end)
{
    return end->is_there && end->exit_code == 0;
}

static void describe(const struct end *end, const char *what, enum error_kind kind, struct error *err)
{
    error_set(err, kind, "%s%s%s %d: %s", what, end->is_there ? " ended with " : "",
        end->is_there ? (end->term_signal ? "signal" : "status") : "does not end",
        end->term_signal ? end->term_signal : end->exit_code, *end->line ? end->line : "it said nothing");
}

/* A download whose reader has gone fails, too, and so may a tool whose data ends early: the other one's word counts
 * more. */
static bool is_tools_fault(const struct restore_stream *stream)
{
    if (!stream->tool_end.is_there || (ended_well(&stream->tool_end) && stream->drained == 0))
        return false;
    const struct end *download = &stream->download_end;
    return !download->is_there || download->exit_code == 0 || download->term_signal == SIGPIPE ||
        stream->download_kind == ERROR_CANCELLED;
}

static void on_end(void *arg)
{
    struct restore_stream *stream = arg;
    struct error err = ERROR_INIT;

    if (ended_well(&stream->download_end) && ended_well(&stream->tool_end) && stream->drained == 0) {
        stream->options.done(stream->options.arg, NULL, RESTORE_AT_DATA);
        return;
    }
    if (is_tools_fault(stream)) {
        describe(&stream->tool_end, subprocess_name((const char *const *)stream->tool_argv.v), ERROR_IO, &err);
        error_prefix(&err, "unpacking the backup");
        stream->options.done(stream->options.arg, &err, RESTORE_AT_TOOLS);
        return;
    }
    if (stream->download_kind != ERROR_NONE)
        error_set(&err, stream->download_kind, "%s", stream->download_end.line);
    else
        describe(&stream->download_end, "the download", ERROR_UNAVAILABLE, &err);
    stream->options.done(stream->options.arg, &err, RESTORE_AT_DATA);
}

static void note_end(struct end *end, const struct subprocess_result *result)
{
    end->is_there = true;
    end->exit_code = result->exit_code;
    end->term_signal = result->term_signal;
}

static void close_drain(struct restore_stream *stream)
{
    loop_fd_free(steal_ptr(stream->drain_watch));
    if (stream->drain_fd >= 0)
        close(stream->drain_fd);
    stream->drain_fd = -1;
}

static void on_drain(int fd, unsigned what, void *arg)
{
    struct restore_stream *stream = arg;
    char waste[DRAIN_BYTES];
    ssize_t n = read(fd, waste, sizeof(waste));

    UNUSED(what);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0)
        stream->drained += (uint64_t)n;
    if (n <= 0 || stream->stored_bytes > stream->drain_until)
        close_drain(stream); /* the download ends, or notices that nobody takes anything */
}

static void on_tool_exited(void *arg, const struct subprocess_result *result)
{
    struct restore_stream *stream = arg;

    note_end(&stream->tool_end, result);
    if (stream->download_end.is_there) {
        loop_timer_arm(&stream->end, 0);
        return;
    }
    stream->drain_until = stream->stored_bytes + BACKUP_PIECE_BYTES;
    /* not before: the tool's end of the pipe is the same one */
    (void)(fcntl(stream->drain_fd, F_SETFL, O_NONBLOCK) < 0);
    stream->drain_watch = loop_fd_new(stream->options.loop, stream->drain_fd, LOOP_READABLE, on_drain, stream);
}

static void on_download_exited(void *arg, const struct subprocess_result *result)
{
    struct restore_stream *stream = arg;

    note_end(&stream->download_end, result);
    close_drain(stream);
    if (stream->tool_end.is_there)
        loop_timer_arm(&stream->end, 0);
    else if (!ended_well(&stream->download_end))
        loop_timer_arm(&stream->end, VERDICT_MS);
}

/* ---- what they say ---- */

static void on_tool_line(void *arg, const char *line)
{
    struct restore_stream *stream = arg;

    snprintf(stream->tool_end.line, sizeof(stream->tool_end.line), "%s", line);
    log_debug("unpacking", LOG_STR("line", line));
}

/* Reasons of its reports (backup_task.h) as kinds, by which restore_check.h judges; what nobody took any more was the
 * tool's end. */
static enum error_kind kind_of(const char *reason)
{
    static const struct {
        const char *reason;
        enum error_kind kind;
    } kinds[] = {{"Damaged", ERROR_PROTOCOL}, {"KeyInvalid", ERROR_UNAUTHORIZED}, {"StoreRefused", ERROR_FORBIDDEN},
        {"Cancelled", ERROR_CANCELLED}};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (str_eq(kinds[i].reason, reason))
            return kinds[i].kind;
    }
    return ERROR_UNAVAILABLE;
}

/* A report, not a line of its log. */
static bool take_report(struct restore_stream *stream, const char *line)
{
    _cleanup_(json_decrefp) json_t *document = *line == '{' ? json_parse(line, strlen(line), NULL) : NULL;
    struct backup_report report;

    if (!json_object_get(document, "state") || backup_report_decode(document, &report, NULL) < 0)
        return false;
    stream->bytes = MAX_OF(stream->bytes, report.raw_bytes);
    stream->stored_bytes = MAX_OF(stream->stored_bytes, report.stored_bytes);
    if (report.state == BACKUP_STATE_FAILED) {
        stream->download_kind = kind_of(report.error_reason);
        snprintf(stream->download_end.line, sizeof(stream->download_end.line), "%s", report.message);
    }
    return true;
}

static void on_download_line(void *arg, const char *line)
{
    struct restore_stream *stream = arg;

    if (take_report(stream, line))
        return;
    if (stream->download_kind == ERROR_NONE)
        snprintf(stream->download_end.line, sizeof(stream->download_end.line), "%s", line);
    log_debug("download", LOG_STR("line", line));
}

/* ---- life ---- */

static int start_tool(struct restore_stream *stream, int from, struct error *err)
{
    static const struct subprocess_ops ops = {.stderr_line = on_tool_line, .exited = on_tool_exited};
    struct subprocess_options options = {
        .argv = (const char *const *)stream->tool_argv.v, .in_fd = from, .new_process_group = true};

    stream->tool = subprocess_start(stream->options.loop, &options, &ops, stream, err);
    return stream->tool ? 0 : -1;
}

static int start_download(struct restore_stream *stream, int to, struct error *err)
{
    static const struct subprocess_ops ops = {.stderr_line = on_download_line, .exited = on_download_exited};
    struct subprocess_options options = {.argv = (const char *const *)stream->download_argv.v,
        .out_fd = to,
        .control_pipe = true,
        .new_process_group = true};

    stream->download = subprocess_start(stream->options.loop, &options, &ops, stream, err);
    if (!stream->download)
        return -1;
    /* If it does not read any more, its end will say why. */
    (void)(subprocess_control(stream->download, stream->options.task, stream->options.task_len) == 0);
    (void)(subprocess_control(stream->download, "\n", 1) == 0);
    subprocess_close_control(stream->download);
    return 0;
}

static int start_both(struct restore_stream *stream, struct error *err)
{
    int from = -1, to = -1;

    if (subprocess_pipe(&from, &to, PIPE_BYTES, err) < 0)
        return -1;
    stream->drain_fd = fcntl(from, F_DUPFD_CLOEXEC, 3);
    if (stream->drain_fd < 0) {
        close(from);
        close(to);
        return error_set_errno(err, errno, "cannot make a pipe");
    }
    if (start_tool(stream, from, err) < 0) {
        close(to);
        return -1;
    }
    return start_download(stream, to, err);
}

struct restore_stream *restore_stream_start(const struct restore_stream_options *options, struct error *err)
{
    struct restore_stream *stream = xnew(struct restore_stream);

    stream->options = *options;
    stream->drain_fd = -1;
    strvec_init(&stream->download_argv);
    strvec_init(&stream->tool_argv);
    strvec_push_all(&stream->download_argv, options->download);
    strvec_push_all(&stream->tool_argv, options->tool);
    loop_timer_init(&stream->end, options->loop, on_end, stream);
    if (start_both(stream, err) < 0) {
        restore_stream_free(stream);
        return NULL;
    }
    stream->options.task = NULL;
    return stream;
}

void restore_stream_free(struct restore_stream *stream)
{
    if (!stream)
        return;
    subprocess_free(stream->download);
    subprocess_free(stream->tool);
    close_drain(stream);
    loop_timer_release(&stream->end);
    strvec_release(&stream->download_argv);
    strvec_release(&stream->tool_argv);
    free(stream);
}

uint64_t restore_stream_bytes(const struct restore_stream *stream)
{
    return stream->bytes;
}
