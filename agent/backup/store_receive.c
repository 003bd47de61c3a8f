/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two buffers: one is filled by the loop while the other one is written by a lane. When both are full the peer is held
 * back.
 */
#include "common/base.h"

#include "agent/backup/store_receive.h"

#include "agent/backup/store_upload.h"
#include "common/alloc.h"

/* ---- on a lane ---- */

static bool is_piece(const struct store_exchange *exchange)
{
    return exchange->request.operation == STORE_UPLOAD_PIECE;
}

static void work_open(struct store_exchange *exchange)
{
    const struct store_request *request = &exchange->request;
    struct store_draft *draft = &exchange->draft;
    struct store_fault *fault = &exchange->fault;

    if (is_piece(exchange))
        store_piece_begin(exchange->folder, request, exchange->body_bytes, draft, fault);
    else
        store_draft_begin(exchange->folder, exchange->body_bytes, *request->sha256 != '\0', draft, fault);
}

static void work_write(struct store_exchange *exchange)
{
    store_draft_write(
        exchange->folder, &exchange->draft, exchange->writing.data, exchange->writing.len, &exchange->fault);
    exchange->writing.len = 0;
}

static void work_finish(struct store_exchange *exchange)
{
    const struct store_request *request = &exchange->request;
    struct store_draft *draft = &exchange->draft;

    if (is_piece(exchange))
        store_piece_finish(draft, request, &exchange->fault);
    else if (store_draft_check(draft, request->sha256, &exchange->fault) == 0)
        store_draft_publish(exchange->folder, draft, request->name, &exchange->fault);
}

static void work_discard(struct store_exchange *exchange)
{
    store_draft_discard(&exchange->draft);
}

/* ---- on the loop ---- */

static void discarded(struct store_exchange *exchange)
{
    store_exchange_refuse(exchange);
}

/* Not while a job runs. */
static void give_up(struct store_exchange *exchange)
{
    exchange->failing = true;
    store_exchange_run(exchange, work_discard, discarded);
}

static void finished(struct store_exchange *exchange)
{
    if (exchange->fault.code != STORE_OK)
        give_up(exchange);
    else
        store_exchange_answer(exchange);
}

static bool is_full(const struct store_buffer *buffer)
{
    return STORE_PIECE_BYTES - buffer->len < HTTP_SERVER_PIECE_MAX;
}

static void written(struct store_exchange *exchange);

static void write_buffer(struct store_exchange *exchange)
{
    const struct store_buffer full = exchange->filling;

    exchange->filling = exchange->writing;
    exchange->writing = full;
    store_exchange_run(exchange, work_write, written);
}

static void go_on(struct store_exchange *exchange)
{
    if (is_full(&exchange->filling) || (exchange->whole && exchange->filling.len > 0))
        write_buffer(exchange);
    else if (exchange->whole)
        store_exchange_run(exchange, work_finish, finished);
}

static void written(struct store_exchange *exchange)
{
    if (exchange->fault.code != STORE_OK) {
        give_up(exchange);
        return;
    }
    go_on(exchange);
    if (!exchange->whole && !is_full(&exchange->filling))
        http_body_resume(exchange->http);
}

static void on_data(void *arg, const char *data, size_t len)
{
    struct store_exchange *exchange = arg;

    if (exchange->failing)
        return;
    memcpy(exchange->filling.data + exchange->filling.len, data, len);
    exchange->filling.len += len;
    if (!is_full(&exchange->filling))
        return;
    if (exchange->busy)
        http_body_pause(exchange->http);
    else
        write_buffer(exchange);
}

static void on_end(void *arg)
{
    struct store_exchange *exchange = arg;

    exchange->whole = true;
    if (!exchange->busy && !exchange->failing)
        go_on(exchange);
}

static void on_gone(void *arg)
{
    struct store_exchange *exchange = arg;

    store_receive_end(exchange, STORE_INCOMPLETE_BODY, "the body was cut off");
}

static const struct http_body_reader reader = {on_data, on_end, on_gone};

static void opened(struct store_exchange *exchange)
{
    if (exchange->fault.code != STORE_OK) {
        give_up(exchange);
        return;
    }
    exchange->filling.data = xmalloc(STORE_PIECE_BYTES);
    exchange->writing.data = xmalloc(STORE_PIECE_BYTES);
    http_body_read(exchange->http, &reader, exchange);
}

void store_receive(struct store_exchange *exchange)
{
    exchange->body_bytes = http_exchange_body_length(exchange->http);
    store_exchange_run(exchange, work_open, opened);
}

void store_receive_end(struct store_exchange *exchange, enum store_code code, const char *why)
{
    if (exchange->failing)
        return;
    if (exchange->busy) {
        /* The lane may be writing a fault: only after it. */
        exchange->end_code = code;
        exchange->end_why = why;
        return;
    }
    store_fault_set(&exchange->fault, code, "%s", why);
    give_up(exchange);
}
