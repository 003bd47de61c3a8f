/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/backup_stream.h"

#include "agent/backup/copy_position.h"
#include "agent/backup/dump_position.h"
#include "agent/mysql/strangers.h"
#include "common/agent_api.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/json_fields.h"
#include "common/log.h"
#include "common/subprocess.h"

#define PIPE_BYTES ((size_t)(256 * KM_KIB))
#define PIECE_MAX (SUBPROCESS_READ_MAX + FRAME_HEAD_BYTES)
/* Tools are silent while they wait for locks; a receiver gives a silent donor up. */
#define SIGN_OF_LIFE_MS 5000
/* The last lines of a tool that failed go to our log. */
#define TAIL_LINES 8
#define TAIL_LINE_BYTES 200

struct backup_stream {
    struct backup_stream_options options;
    struct http_exchange *exchange;
    struct subprocess *tool;
    struct frame_writer writer;
    struct strbuf piece; /* not sent yet; while it holds something, the tool is held back */
    struct loop_timer life;
    struct loop_timer end; /* the stream is not freed inside the tool's callbacks */
    bool wrote;            /* since the last look of the timer */
    bool held, exited;     /* the tool: by the receiver */
    int64_t heard_ms;      /* when it said something last, or was let go on; monotonic */
    bool ending;           /* the piece is the trailer */
    struct stream_trailer trailer;
    struct error error;
    struct copy_position position;
    struct dump_position *dump; /* of MariaDB's statements, which say themselves what they hold; else NULL */
    char *gtid;                 /* of the trailer */
    bool asking;                /* the worker has a job of ours */
    struct error ask_error;     /* the job's */
    char tail[TAIL_LINES][TAIL_LINE_BYTES];
    unsigned tail_next;
};

static void end_later(struct backup_stream *stream)
{
    loop_timer_arm(&stream->end, 0);
}

static void on_end(void *arg)
{
    struct backup_stream *stream = arg;
    void (*ended)(void *, const struct error *, uint64_t) = stream->options.ended;
    void *ended_arg = stream->options.arg;
    struct error error = stream->error;
    uint64_t bytes = stream->writer.bytes;

    backup_stream_free(stream);
    ended(ended_arg, error.kind == ERROR_NONE ? NULL : &error, bytes);
}

/* ---- sending ---- */

static void flush(struct backup_stream *stream);

static void on_drain(void *arg)
{
    flush(arg);
}

static void wait_for_receiver(struct backup_stream *stream)
{
    stream->held = true;
    subprocess_pause_stdout(stream->tool);
    http_stream_on_drain(stream->exchange, on_drain, stream);
}

/* The tool writes while the kernel takes all of it. */
static void go_on(struct backup_stream *stream)
{
    if (!http_stream_is_drained(stream->exchange)) {
        wait_for_receiver(stream);
        return;
    }
    stream->held = false;
    stream->heard_ms = clock_monotonic_ms();
    subprocess_resume_stdout(stream->tool);
}

static void flush(struct backup_stream *stream)
{
    if (!stream->exchange)
        return;
    if (stream->piece.len > 0 && !http_stream_write(stream->exchange, stream->piece.buf, stream->piece.len)) {
        wait_for_receiver(stream);
        return;
    }
    stream->wrote = true;
    strbuf_reset(&stream->piece);
    if (stream->ending) {
        http_stream_end(steal_ptr(stream->exchange));
        end_later(stream);
        return;
    }
    go_on(stream);
}

static void send_data(struct backup_stream *stream, const char *data, size_t len)
{
    char head[FRAME_HEAD_BYTES];
    const struct iovec parts[] = {{head, sizeof(head)}, {(void *)(uintptr_t)data, len}};

    frame_writer_data(&stream->writer, data, len, head);
    if (stream->piece.len == 0 && http_stream_writev(stream->exchange, parts, ARRAY_LEN(parts))) {
        stream->wrote = true;
        go_on(stream);
        return;
    }
    strbuf_add(&stream->piece, head, sizeof(head));
    strbuf_add(&stream->piece, data, len);
    flush(stream);
}

static void on_life(void *arg)
{
    struct backup_stream *stream = arg;

    loop_timer_arm(&stream->life, SIGN_OF_LIFE_MS);
    if (!stream->wrote && stream->piece.len == 0 && !stream->ending)
        send_data(stream, "", 0);
    stream->wrote = false;
}

/* The receiver has gone. */
static void on_close(void *arg)
{
    struct backup_stream *stream = arg;

    stream->exchange = NULL;
    if (stream->error.kind == ERROR_NONE)
        error_set(&stream->error, ERROR_UNAVAILABLE, "the receiver has gone");
    if (!stream->asking)
        end_later(stream);
}

/* ---- the tool ---- */

static void on_stdout(void *arg, const char *data, size_t len)
{
    struct backup_stream *stream = arg;

    stream->heard_ms = clock_monotonic_ms();
    if (stream->dump)
        dump_position_feed(stream->dump, data, len);
    if (stream->exchange) /* at most SUBPROCESS_READ_MAX */
        send_data(stream, data, len);
}

static void on_stderr(void *arg, const char *line)
{
    struct backup_stream *stream = arg;

    snprintf(stream->tail[stream->tail_next++ % TAIL_LINES], TAIL_LINE_BYTES, "%s", line);
    copy_position_find(line, &stream->position);
}

static const char *last_line(const struct backup_stream *stream)
{
    return stream->tail_next ? stream->tail[(stream->tail_next - 1) % TAIL_LINES] : "it said nothing";
}

static void log_tail(const struct backup_stream *stream)
{
    unsigned count = MIN_OF(stream->tail_next, TAIL_LINES);

    for (unsigned i = stream->tail_next - count; i < stream->tail_next; i++)
        log_warn("the backup tool said", LOG_STR("line", stream->tail[i % TAIL_LINES]));
}

static void fail(struct backup_stream *stream, const struct error *err)
{
    stream->trailer.ok = false;
    stream->error = *err;
    json_copy_text(stream->trailer.error, sizeof(stream->trailer.error), err->message);
}

static void send_trailer(struct backup_stream *stream)
{
    if (!stream->exchange)
        return;
    stream->trailer.gtid = stream->gtid;
    frame_writer_end(&stream->writer, &stream->trailer, &stream->piece);
    stream->ending = true;
    flush(stream);
}

static void run_ask(void *arg)
{
    struct backup_stream *stream = arg;

    error_clear(&stream->ask_error);
    if (copy_position_ask(
            stream->options.socket, stream->options.user, &stream->position, &stream->gtid, &stream->ask_error) < 0)
        error_prefix(&stream->ask_error, "which transactions the copy holds");
}

static void on_asked(void *arg)
{
    struct backup_stream *stream = arg;

    stream->asking = false;
    if (!stream->exchange) {
        end_later(stream);
        return;
    }
    if (stream->ask_error.kind != ERROR_NONE)
        fail(stream, &stream->ask_error);
    send_trailer(stream);
}

static void ask_position(struct backup_stream *stream)
{
    struct worker_job job = {.run = run_ask, .done = on_asked, .arg = stream};

    error_set(&stream->ask_error, ERROR_CANCELLED, "the agent ends"); /* what a dropped job is told; `run` replaces it */
    if (worker_submit(stream->options.worker, &job) < 0)
        abort(); /* it is free */
    stream->asking = true;
}

static void fail_by_tool(struct backup_stream *stream, const struct subprocess_result *result)
{
    struct error err = ERROR_INIT;

    error_set(&err, ERROR_IO, "%s ended with %s %d: %s", stream->options.argv[0],
        result->term_signal ? "signal" : "status", result->term_signal ? result->term_signal : result->exit_code,
        last_line(stream));
    fail(stream, &err);
    log_tail(stream);
}

/* Without them a replica would not know where to go on. */
static void take_dump_position(struct backup_stream *stream)
{
    struct error err = ERROR_INIT;

    dump_position_end(stream->dump);
    if (!stream->dump->found) {
        error_set(
            &err, ERROR_PROTOCOL, "%s does not say which transactions its statements hold", stream->options.argv[0]);
        fail(stream, &err);
        return;
    }
    str_replace(&stream->gtid, str_or_empty(stream->dump->gtid));
}

static void on_exited(void *arg, const struct subprocess_result *result)
{
    struct backup_stream *stream = arg;
    struct stream_trailer *trailer = &stream->trailer;

    stream->exited = true;
    strangers_tool_ends(stream->options.argv);
    trailer->ok = result->exit_code == 0;
    snprintf(trailer->server_version, sizeof(trailer->server_version), "%s", stream->options.header.server_version);
    if (!trailer->ok)
        fail_by_tool(stream, result);
    else if (stream->dump)
        take_dump_position(stream);
    /* Without a binary log there is no position: the receiver says so. */
    if (trailer->ok && stream->exchange && *stream->position.file)
        ask_position(stream);
    else
        send_trailer(stream);
}

/* ---- life ---- */

static int start_tool(struct backup_stream *stream, struct error *err)
{
    static const struct subprocess_ops ops = {
        .stdout_data = on_stdout,
        .stderr_line = on_stderr,
        .exited = on_exited,
    };
    struct subprocess_options options = {
        .argv = stream->options.argv,
        .line_max = COPY_POSITION_LINE_MAX,
        .new_process_group = true,
        .pipe_bytes = PIPE_BYTES,
    };

    stream->tool = subprocess_start(stream->options.loop, &options, &ops, stream, err);
    if (!stream->tool)
        return -1;
    strangers_tool_begins(stream->options.argv);
    return 0;
}

struct backup_stream *backup_stream_start(
    const struct backup_stream_options *options, struct http_exchange *exchange, struct error *err)
{
    struct backup_stream *stream = xnew(struct backup_stream);

    stream->options = *options;
    stream->heard_ms = clock_monotonic_ms();
    loop_timer_init(&stream->life, options->loop, on_life, stream);
    loop_timer_init(&stream->end, options->loop, on_end, stream);
    frame_writer_init(&stream->writer);
    strbuf_init(&stream->piece, PIECE_MAX + FRAME_TEXT_MAX);
    if (options->header.method == STREAM_METHOD_SQL &&
        str_eq(options->header.flavour, agent_flavour_name(AGENT_FLAVOUR_MARIADB))) {
        stream->dump = xnew(struct dump_position);
        dump_position_init(stream->dump);
    }
    if (start_tool(stream, err) < 0) {
        backup_stream_free(stream);
        http_replyf(exchange, 500, "the backup tool cannot be started");
        return NULL;
    }
    stream->exchange = exchange;
    http_stream_start(exchange, 200, "application/octet-stream", on_close, stream);
    frame_writer_begin(&stream->writer, &options->header, &stream->piece);
    flush(stream);
    loop_timer_arm(&stream->life, SIGN_OF_LIFE_MS);
    return stream;
}

int64_t backup_stream_silent_ms(const struct backup_stream *stream)
{
    return stream->held || stream->exited ? 0 : clock_monotonic_ms() - stream->heard_ms;
}

void backup_stream_free(struct backup_stream *stream)
{
    if (!stream)
        return;
    if (stream->tool && !stream->exited)
        strangers_tool_ends(stream->options.argv);
    subprocess_free(stream->tool);
    if (stream->exchange)
        http_stream_abort(stream->exchange);
    loop_timer_release(&stream->life);
    loop_timer_release(&stream->end);
    frame_writer_release(&stream->writer);
    strbuf_release(&stream->piece);
    copy_position_release(&stream->position);
    if (stream->dump)
        dump_position_release(stream->dump);
    free(stream->dump);
    free(stream->gtid);
    free(stream);
}
