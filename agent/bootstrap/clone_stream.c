/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/clone_stream.h"

#include "agent/bootstrap/last_words.h"
#include "common/agent_identity.h"
#include "common/alloc.h"
#include "common/log.h"
#include "common/strvec.h"
#include "common/subprocess.h"

#define RECEIVE_BUFFER_BYTES ((size_t)(256 * KM_KIB))
/* Of what one call of the HTTP client hands over. */
#define PENDING_MAX ((size_t)(1 * KM_MIB))
#define PIPE_BYTES ((size_t)(256 * KM_KIB))
/* A donor gives a sign of life every five seconds. */
#define IDLE_TIMEOUT_MS 30000
#define LINE_BYTES 300
#define URL_MAX ((size_t)(2 * KM_KIB))

struct clone_stream {
    struct clone_stream_options options;
    struct strvec argv;
    struct http_client *client;
    struct http_request *request;
    struct frame_reader reader;
    struct subprocess *tool;
    struct strbuf pending; /* data that the tool has not taken yet; the transfer is paused while there is any */
    struct stream_trailer trailer;
    struct loop_timer end; /* `done` comes from the loop, outside of the callbacks of request and tool */
    struct error error;
    bool waiting;  /* for clone_stream_continue */
    bool complete; /* the trailer was good */
    bool ended;
    struct last_words words; /* the last lines that the tool has printed */
};

/* ---- the end ---- */

static void end_with(struct clone_stream *stream, const struct error *err)
{
    if (stream->ended)
        return;
    stream->ended = true;
    if (err)
        stream->error = *err;
    loop_timer_arm(&stream->end, 0);
}

static void on_end(void *arg)
{
    struct clone_stream *stream = arg;
    bool ok = stream->error.kind == ERROR_NONE;

    stream->options.done(stream->options.arg, ok ? &stream->trailer : NULL, ok ? NULL : &stream->error);
}

/* ---- the tool ---- */

/* Gives the tool what it takes; the transfer runs exactly while nothing is left over. */
static int push(struct clone_stream *stream, struct error *err)
{
    if (stream->waiting)
        return 0;
    while (stream->pending.len > 0) {
        ssize_t taken = subprocess_write(stream->tool, stream->pending.buf, stream->pending.len);
        if (taken < 0) {
            strbuf_reset(&stream->pending); /* its end will say why */
            return error_set(err, ERROR_IO, "%s does not read any more", stream->argv.v[0]);
        }
        if (taken == 0)
            return 0;
        strbuf_consume(&stream->pending, (size_t)taken);
    }
    if (stream->complete)
        subprocess_close_stdin(stream->tool);
    else if (stream->request)
        http_request_resume(stream->request);
    return 0;
}

static void on_stdin_ready(void *arg)
{
    struct clone_stream *stream = arg;

    (void)(push(stream, NULL) == 0); /* a tool that has ended tells by its exit */
}

static void on_stderr(void *arg, const char *line)
{
    struct clone_stream *stream = arg;

    last_words_note(&stream->words, line);
    log_debug("unpacking", LOG_STR("line", line));
}

static void on_exited(void *arg, const struct subprocess_result *result)
{
    struct clone_stream *stream = arg;
    struct error err = ERROR_INIT;

    if (result->exit_code == 0 && stream->complete) {
        end_with(stream, NULL);
        return;
    }
    char telling[LINE_BYTES];
    if (result->exit_code != 0)
        last_words_log(&stream->words, subprocess_name((const char *const *)stream->argv.v));
    last_words_telling(&stream->words, telling, sizeof(telling));
    error_set(&err, ERROR_IO, "unpacking the copy: %s ended with %s %d: %s", stream->argv.v[0],
        result->term_signal ? "signal" : "status", result->term_signal ? result->term_signal : result->exit_code,
        *telling ? telling : "it said nothing");
    end_with(stream, &err);
}

static int start_tool(struct clone_stream *stream, struct error *err)
{
    static const struct subprocess_ops ops = {
        .stderr_line = on_stderr,
        .exited = on_exited,
        .stdin_ready = on_stdin_ready,
    };
    struct subprocess_options options = {
        .argv = (const char *const *)stream->argv.v,
        .stdin_pipe = true,
        .new_process_group = true,
        .pipe_bytes = PIPE_BYTES,
    };

    stream->tool = subprocess_start(stream->options.loop, &options, &ops, stream, err);
    return stream->tool ? 0 : -1;
}

/* ---- frames ---- */

int clone_stream_check_header(const struct stream_header *header, const struct server_version *server,
    enum stream_method method, struct error *err)
{
    struct server_version donor;
    bool mariadb = server->flavour == AGENT_FLAVOUR_MARIADB;

    if (str_eq(header->flavour, agent_flavour_name(AGENT_FLAVOUR_MARIADB)) != mariadb)
        return error_set(err, ERROR_INVALID, "the donor is %s %s, this image holds %s: a copy would be of no use",
            header->flavour, header->server_version, server->text);
    if (server_version_parse(header->server_version, NULL, &donor, err) < 0)
        return error_prefix(err, "the donor's version");
    /* Also a dump: it holds the system tables. */
    if (server_version_series(&donor) != server_version_series(server))
        return error_set(err, ERROR_INVALID,
            "the donor's server is %s, this image holds %s: a copy can only be made ready by its own series",
            header->server_version, server->text);
    if (header->method != method)
        return error_set(err, ERROR_INVALID, "the donor sends %s, this image can only take %s",
            header->method == STREAM_METHOD_SQL ? "statements" : "files",
            method == STREAM_METHOD_SQL ? "statements" : "files");
    return 0;
}

static int on_header(void *arg, const struct stream_header *header, struct error *err)
{
    struct clone_stream *stream = arg;

    if (clone_stream_check_header(header, stream->options.server, stream->options.method, err) < 0)
        return -1;
    int rc = stream->options.header(stream->options.arg, header, err);
    stream->waiting = rc > 0;
    return rc < 0 ? -1 : start_tool(stream, err);
}

static int on_data(void *arg, const char *data, size_t len, struct error *err)
{
    struct clone_stream *stream = arg;
    size_t taken = 0;

    if (!stream->waiting && stream->pending.len == 0) {
        ssize_t n = subprocess_write(stream->tool, data, len);
        if (n < 0)
            return error_set(err, ERROR_IO, "%s does not read any more", stream->argv.v[0]);
        taken = (size_t)n;
    }
    strbuf_add(&stream->pending, data + taken, len - taken);
    return stream->pending.overflowed ? error_set(err, ERROR_INTERNAL, "more data than the buffer takes") : 0;
}

/* ---- transfer ---- */

static int on_body(void *arg, const char *data, size_t len)
{
    struct clone_stream *stream = arg;
    struct error err = ERROR_INIT;

    if (stream->ended || frame_reader_feed(&stream->reader, data, len, &err) < 0) {
        /* A tool that broke off has more to say than that it does not read. */
        if (err.kind != ERROR_IO || !stream->tool)
            end_with(stream, &err);
        return -1;
    }
    if (stream->pending.len > 0 || stream->waiting)
        http_request_pause(stream->request);
    return 0;
}

static void refuse(struct clone_stream *stream, const struct http_response *response, struct error *err)
{
    _cleanup_(freep) char *text = xstrndup(response->body, MIN_OF(response->body_len, (size_t)200));

    text[strcspn(text, "\r\n")] = '\0';
    error_set_code(err, ERROR_UNAVAILABLE, response->status, "the donor %s answers %d: %s", stream->options.donor_host,
        response->status, text);
}

static void on_response(void *arg, const struct http_response *response, const struct error *failure)
{
    struct clone_stream *stream = arg;
    struct error err = ERROR_INIT;

    stream->request = NULL;
    if (stream->ended)
        return;
    if (failure && failure->kind == ERROR_CANCELLED)
        return; /* by on_body: the tool's end follows */
    if (failure) {
        err = *failure;
        error_prefix(&err, "the copy from %s", stream->options.donor_host);
    } else if (response->status != 200) {
        refuse(stream, response, &err);
    } else if (frame_reader_finish(&stream->reader, &stream->trailer, &err) == 0) {
        stream->complete = true;
        if (push(stream, &err) == 0)
            return;
    }
    end_with(stream, &err);
}

static void start_request(struct clone_stream *stream)
{
    const struct clone_stream_options *options = &stream->options;
    const char *digest =
        stream_digest_names[stream_digest_has_poly1305() ? STREAM_DIGEST_POLY1305 : STREAM_DIGEST_SHA256];
    _cleanup_(strbuf_release) struct strbuf url;
    char pod[AGENT_POD_NAME_SIZE];

    strbuf_init(&url, URL_MAX);
    strbuf_addf(&url, "https://%s:%u/v1/backup?digest=%s", options->donor_host, options->donor_port, digest);
    if (options->method == STREAM_METHOD_SQL)
        strbuf_addf(&url, "&method=%s", stream_method_names[STREAM_METHOD_SQL]);
    else if (options->takes_statements)
        strbuf_adds(&url, "&statements=1");
    agent_identity_of_host(options->donor_host, pod);
    agent_identity_add(&url, pod, NULL);
    struct http_request_options request = {
        .method = "GET",
        .url = url.buf,
        .tls = options->tls,
        .idle_timeout_ms = IDLE_TIMEOUT_MS,
        .receive_buffer_bytes = RECEIVE_BUFFER_BYTES,
        .data = on_body,
        .done = on_response,
        .arg = stream,
    };

    stream->request = http_client_start(stream->client, &request);
}

/* ---- life ---- */

struct clone_stream *clone_stream_start(const struct clone_stream_options *options)
{
    static const struct frame_reader_ops ops = {.header = on_header, .data = on_data};
    struct clone_stream *stream = xnew(struct clone_stream);

    stream->options = *options;
    stream->options.tls = http_tls_ref(options->tls);
    stream->options.donor_host = xstrdup(options->donor_host);
    strvec_init(&stream->argv);
    strvec_push_all(&stream->argv, options->argv);
    strbuf_init(&stream->pending, PENDING_MAX);
    frame_reader_init(&stream->reader, &ops, stream);
    loop_timer_init(&stream->end, options->loop, on_end, stream);
    stream->client = http_client_new(options->loop);
    start_request(stream);
    return stream;
}

void clone_stream_continue(struct clone_stream *stream)
{
    struct error err = ERROR_INIT;

    stream->waiting = false;
    if (push(stream, &err) < 0)
        end_with(stream, &err);
}

void clone_stream_free(struct clone_stream *stream)
{
    if (!stream)
        return;
    http_client_free(stream->client);
    subprocess_free(stream->tool);
    loop_timer_release(&stream->end);
    frame_reader_release(&stream->reader);
    strbuf_release(&stream->pending);
    strvec_release(&stream->argv);
    http_tls_unref(stream->options.tls);
    free((char *)(uintptr_t)stream->options.donor_host);
    free(stream);
}

uint64_t clone_stream_bytes(const struct clone_stream *stream)
{
    return stream->reader.bytes;
}
