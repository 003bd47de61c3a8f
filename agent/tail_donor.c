/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tail_donor.h"

#include "agent/backup/binlog_tail.h"
#include "agent/bootstrap/server_binary.h"
#include "agent/bootstrap/server_exec.h"
#include "common/alloc.h"
#include "common/frame_stream.h"
#include "common/json_fields.h"
#include "common/log.h"
#include "common/worker.h"

#define PIECE_BYTES ((size_t)(64 * KM_KIB))

struct tail_donor {
    struct loop *loop;
    const struct agent_paths *paths;
    const char *const *executed;
    struct worker *worker;
    bool busy;
    struct http_exchange *exchange; /* NULL while busy: the receiver has gone */
    char *after;
    char *executed_then;
    struct server_version version;
    /* From submit to done these are the thread's. */
    struct binlog_tail *tail;
    char *piece;
    ssize_t piece_len;
    struct error error;

    bool streaming, ending, closing;
    struct frame_writer writer;
    struct strbuf out; /* not sent yet */
};

static void on_planned(void *arg);
static void on_read(void *arg);

static void settle(struct tail_donor *donor)
{
    binlog_tail_free(steal_ptr(donor->tail));
    free(steal_ptr(donor->after));
    free(steal_ptr(donor->executed_then));
    free(steal_ptr(donor->piece));
    if (donor->streaming)
        frame_writer_release(&donor->writer);
    strbuf_release(&donor->out);
    donor->streaming = donor->ending = donor->busy = false;
}

/* ---- on the worker's thread ---- */

static void run_plan(void *arg)
{
    struct tail_donor *donor = arg;
    struct server_binary binary;

    error_clear(&donor->error);
    if (server_binary_find(&binary, &donor->error) < 0)
        return;
    donor->version = binary.version;
    server_binary_release(&binary);
    struct binlog_wish wish = {
        .data_dir = donor->paths->data_dir,
        .flavour = agent_gtid_flavour(donor->version.flavour),
        .choice = BINLOG_BEYOND,
        .gtids = donor->after,
        .max_bytes = TAIL_MAX_BYTES,
        .executed = donor->executed_then,
        .relay = true,
    };
    donor->tail = binlog_tail_plan(&wish, &donor->error);
}

static void run_read(void *arg)
{
    struct tail_donor *donor = arg;
    ssize_t n = 1;

    error_clear(&donor->error);
    donor->piece_len = 0;
    /* A description must fit into what is left. */
    while (n > 0 && (size_t)donor->piece_len < PIECE_BYTES / 2) {
        n = binlog_tail_read(
            donor->tail, donor->piece + donor->piece_len, PIECE_BYTES - (size_t)donor->piece_len, &donor->error);
        if (n > 0)
            donor->piece_len += n;
    }
    if (donor->piece_len == 0 && n == 0 && server_is_there(donor->paths))
        error_set(&donor->error, ERROR_CONFLICT, "the server has come back meanwhile");
}

/* ---- on the loop ---- */

static void submit(struct tail_donor *donor, void (*run)(void *), void (*done)(void *))
{
    struct worker_job job = {.run = run, .done = done, .arg = donor};

    error_set(&donor->error, ERROR_CANCELLED, "the agent ends");
    if (worker_submit(donor->worker, &job) < 0)
        abort(); /* one at a time */
}

static void flush(struct tail_donor *donor);

static void on_drain(void *arg)
{
    flush(arg);
}

static void flush(struct tail_donor *donor)
{
    if (!http_stream_write(donor->exchange, donor->out.buf, donor->out.len)) {
        http_stream_on_drain(donor->exchange, on_drain, donor);
        return;
    }
    strbuf_reset(&donor->out);
    if (!donor->ending) {
        submit(donor, run_read, on_read);
        return;
    }
    http_stream_end(steal_ptr(donor->exchange));
    settle(donor);
}

static void on_close(void *arg)
{
    struct tail_donor *donor = arg;

    donor->exchange = NULL;
    log_warn("the receiver of the binary logs' end has gone");
    if (worker_pending(donor->worker) == 0)
        settle(donor);
}

static void end_stream(struct tail_donor *donor)
{
    struct stream_trailer trailer = {.ok = donor->error.kind == ERROR_NONE};
    _cleanup_(position_pool_unrefp) struct position_pool *positions = position_pool_new(POSITION_TEXT_MAX);

    trailer.gtid = position_print(positions, binlog_tail_set(donor->tail));
    snprintf(trailer.server_version, sizeof(trailer.server_version), "%s", donor->version.text);
    json_copy_text(trailer.error, sizeof(trailer.error), donor->error.message);
    log_info("the end of the binary logs went out", LOG_BOOL("whole", trailer.ok), LOG_STR("gtids", trailer.gtid),
        LOG_INT("bytes", (int64_t)donor->writer.bytes));
    frame_writer_end(&donor->writer, &trailer, &donor->out);
    donor->ending = true;
    flush(donor);
}

static void on_read(void *arg)
{
    struct tail_donor *donor = arg;
    char head[FRAME_HEAD_BYTES];

    if (!donor->exchange) {
        settle(donor);
    } else if (donor->error.kind != ERROR_NONE || donor->piece_len == 0) {
        end_stream(donor);
    } else {
        frame_writer_data(&donor->writer, donor->piece, (size_t)donor->piece_len, head);
        strbuf_add(&donor->out, head, sizeof(head));
        strbuf_add(&donor->out, donor->piece, (size_t)donor->piece_len);
        flush(donor);
    }
}

static int code_for(const struct error *err)
{
    switch (err->kind) {
    case ERROR_NOT_FOUND:
        return 410;
    case ERROR_CONFLICT:
        return 409;
    case ERROR_INVALID:
        return 400;
    default:
        return 500;
    }
}

static void on_planned(void *arg)
{
    struct tail_donor *donor = arg;
    struct stream_header header = {.method = STREAM_METHOD_BINLOG};

    if (donor->closing && donor->error.kind == ERROR_NONE)
        error_set(&donor->error, ERROR_CANCELLED, "the agent ends");
    if (donor->error.kind != ERROR_NONE) {
        log_warn("the end of the binary logs cannot be given", LOG_ERR(&donor->error));
        http_replyf(steal_ptr(donor->exchange), code_for(&donor->error), "%s", donor->error.message);
        settle(donor);
        return;
    }
    snprintf(header.flavour, sizeof(header.flavour), "%s", agent_flavour_name(donor->version.flavour));
    snprintf(header.server_version, sizeof(header.server_version), "%s", donor->version.text);
    header.estimate_bytes = binlog_tail_bytes(donor->tail);
    donor->piece = xmalloc(PIECE_BYTES);
    donor->streaming = true;
    frame_writer_init(&donor->writer);
    http_stream_start(donor->exchange, 200, "application/octet-stream", on_close, donor);
    frame_writer_begin(&donor->writer, &header, &donor->out);
    flush(donor);
}

static bool may_ask(struct http_exchange *exchange)
{
    const char *name = http_exchange_peer_name(exchange);

    if (str_eq(name, AGENT_COMMON_NAME) || str_eq(name, AGENT_OPERATOR_COMMON_NAME))
        return true;
    http_replyf(exchange, 403, "binary logs are for members of this cluster only");
    return false;
}

void tail_donor_handle(struct tail_donor *donor, struct http_exchange *exchange)
{
    bool in_body = str_eq(http_exchange_method(exchange), "POST");
    const char *after = in_body ? http_exchange_body(exchange, NULL) : http_exchange_query(exchange, "after");

    if (!may_ask(exchange))
        return;
    if (!after) {
        http_replyf(exchange, 400, "GET /v1/binlogs/tail?after=GTIDS");
    } else if (server_is_there(donor->paths)) {
        http_replyf(exchange, 409, "this member's server is there: its binary logs are not final");
    } else if (donor->busy) {
        http_replyf(exchange, 503, "another member is being served");
    } else {
        donor->busy = true;
        donor->exchange = exchange;
        donor->after = xstrdup(after);
        donor->executed_then = str_empty(*donor->executed) ? NULL : xstrdup(*donor->executed);
        strbuf_init(&donor->out, PIECE_BYTES + FRAME_HEAD_BYTES + 2 * FRAME_TEXT_MAX);
        log_info("another member asks for the end of the binary logs", LOG_STR("after", after));
        submit(donor, run_plan, on_planned);
    }
}

struct tail_donor *tail_donor_new(struct loop *loop, const struct agent_paths *paths, const char *const *executed)
{
    struct tail_donor *donor = xnew(struct tail_donor);

    donor->loop = loop;
    donor->paths = paths;
    donor->executed = executed;
    donor->worker = worker_new(loop, "tail");
    strbuf_init(&donor->out, 0);
    return donor;
}

/* What is planned is answered by worker_free; a stream that goes on is broken off. */
void tail_donor_free(struct tail_donor *donor)
{
    if (!donor)
        return;
    donor->closing = true;
    struct http_exchange *streamed = donor->streaming ? steal_ptr(donor->exchange) : NULL;
    worker_free(donor->worker);
    if (streamed)
        http_stream_abort(streamed);
    if (donor->busy)
        settle(donor);
    free(donor);
}
