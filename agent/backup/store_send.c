/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One piece is read while the one before it waits in the connection; when that is full, its peer's pace is ours.
 */
#include "common/base.h"

#include "agent/backup/store_send.h"

#include <errno.h>
#include <unistd.h>

#include "common/alloc.h"

#define BINARY_TYPE "application/octet-stream"

static void work_open(struct store_exchange *exchange)
{
    const struct store_request *request = &exchange->request;
    struct store_object *object = &exchange->object;
    struct store_fault *fault = &exchange->fault;

    if (store_object_open(exchange->folder, request->name, object, fault) < 0)
        return;
    if (*request->if_match && !str_eq(request->if_match, object->etag))
        store_fault_set(fault, STORE_PRECONDITION_FAILED, "the object has changed: its ETag is \"%s\"", object->etag);
    else if (store_range_resolve(request, object->bytes, &exchange->from, &exchange->left, fault) == 0 &&
        lseek(object->fd, (off_t)exchange->from, SEEK_SET) < 0)
        store_fault_errno(fault, errno, "the object cannot be read");
}

static void work_read(struct store_exchange *exchange)
{
    struct store_buffer *piece = &exchange->filling;
    ssize_t n;

    do {
        n = read(exchange->object.fd, piece->data, (size_t)MIN_OF(exchange->left, STORE_PIECE_BYTES));
    } while (n < 0 && errno == EINTR);
    if (n <= 0)
        store_fault_errno(&exchange->fault, n < 0 ? errno : EIO, "the object cannot be read");
    else
        piece->len = (size_t)n;
}

static void on_closed(void *arg)
{
    struct store_exchange *exchange = arg;

    exchange->http = NULL;
    if (!exchange->busy)
        store_exchange_free(exchange);
}

static void have_piece(struct store_exchange *exchange);

static void push_piece(void *arg)
{
    struct store_exchange *exchange = arg;

    if (!http_stream_write(exchange->http, exchange->filling.data, exchange->filling.len)) {
        http_stream_on_drain(exchange->http, push_piece, exchange);
        return;
    }
    exchange->left -= exchange->filling.len;
    if (exchange->left > 0) {
        store_exchange_run(exchange, work_read, have_piece);
        return;
    }
    http_stream_end(exchange->http);
    store_exchange_free(exchange);
}

static void have_piece(struct store_exchange *exchange)
{
    if (exchange->http && exchange->fault.code == STORE_OK) {
        push_piece(exchange);
        return;
    }
    if (exchange->http)
        http_stream_abort(exchange->http);
    store_exchange_free(exchange);
}

static void add_fields(const struct store_exchange *exchange)
{
    const struct store_object *object = &exchange->object;
    struct http_exchange *http = exchange->http;
    char text[STORE_ETAG_SIZE + 64];

    snprintf(text, sizeof(text), "\"%s\"", object->etag);
    http_exchange_add_header(http, "ETag", text);
    if (!exchange->request.has_range)
        return;
    snprintf(text, sizeof(text), "bytes %llu-%llu/%llu", (unsigned long long)exchange->from,
        (unsigned long long)(exchange->from + exchange->left - 1), (unsigned long long)object->bytes);
    http_exchange_add_header(http, "Content-Range", text);
}

static void opened(struct store_exchange *exchange)
{
    int status = exchange->request.has_range ? 206 : 200;

    if (exchange->fault.code != STORE_OK) {
        store_exchange_refuse(exchange);
        return;
    }
    add_fields(exchange);
    if (exchange->is_head || exchange->left == 0) {
        http_reply(exchange->http, status, BINARY_TYPE, NULL, exchange->left);
        store_exchange_free(exchange);
        return;
    }
    exchange->filling.data = xmalloc(STORE_PIECE_BYTES);
    http_stream_start_sized(exchange->http, status, BINARY_TYPE, exchange->left, on_closed, exchange);
    store_exchange_run(exchange, work_read, have_piece);
}

void store_send(struct store_exchange *exchange)
{
    store_exchange_run(exchange, work_open, opened);
}
