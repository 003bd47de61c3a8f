/* SPDX-License-Identifier: Apache-2.0 */
/* http_exchange.c: one request and its answer (http_server.h). */
#include "common/base.h"

#include <time.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/http_connection.h"

#define RESPONSE_HEAD_MAX ((size_t)(4 * KM_KIB))
#define PLAIN_TEXT_MAX ((size_t)(16 * KM_KIB))
/* Size in hex, CRLF, CRLF. */
#define CHUNK_FRAME_BYTES 32

static const struct {
    int status;
    const char *reason;
} reasons[] = {
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {206, "Partial Content"},
    {302, "Found"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"},
    {417, "Expectation Failed"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
    {505, "HTTP Version Not Supported"},
    {507, "Insufficient Storage"},
};

const char *http_reason(int status)
{
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return "Status";
}

/* ---- life ---- */

static void on_later(void *arg)
{
    struct http_exchange *exchange = arg;
    if (exchange->connection)
        http_exchange_drained(exchange);
    else
        http_exchange_orphan(exchange);
}

struct http_exchange *http_exchange_new(struct http_connection *connection, char *head_text)
{
    struct http_exchange *exchange = xnew(struct http_exchange);
    exchange->connection = connection;
    exchange->head_text = head_text;
    strbuf_init(&exchange->body, HTTP_SERVER_BODY_MAX);
    strbuf_init(&exchange->response_fields, RESPONSE_HEAD_MAX / 2);
    strvec_init(&exchange->decoded);
    http_connection_peer_name(connection, exchange->peer_name, sizeof(exchange->peer_name));
    loop_timer_init(&exchange->later, connection->server->loop, on_later, exchange);
    return exchange;
}

void http_exchange_free(struct http_exchange *exchange)
{
    if (!exchange)
        return;
    loop_timer_release(&exchange->later);
    strvec_release(&exchange->decoded);
    strbuf_release(&exchange->response_fields);
    strbuf_release_secret(&exchange->body);
    free(exchange->head_text);
    free(exchange);
}

/* The answer has been written completely. */
static void exchange_end(struct http_exchange *exchange)
{
    struct http_connection *connection = exchange->connection;
    connection->exchange = NULL;
    http_exchange_free(exchange);
    http_connection_answered(connection);
}

void http_exchange_orphan(struct http_exchange *exchange)
{
    const struct http_body_reader *reader = steal_ptr(exchange->reader);
    exchange->connection = NULL;
    if (!exchange->streaming) {
        if (reader)
            reader->gone(exchange->reader_arg);
        return;
    }
    void (*on_close)(void *) = exchange->on_close;
    void *arg = exchange->on_close_arg;
    http_exchange_free(exchange);
    if (on_close)
        on_close(arg);
}

/* ---- the request ---- */

const char *http_exchange_method(const struct http_exchange *exchange)
{
    return exchange->head.method;
}

const char *http_exchange_path(const struct http_exchange *exchange)
{
    return exchange->head.path;
}

const char *http_exchange_peer_name(const struct http_exchange *exchange)
{
    return exchange->peer_name;
}

const char *http_exchange_header(const struct http_exchange *exchange, const char *name)
{
    return http_head_field(&exchange->head, name);
}

const char *http_exchange_body(struct http_exchange *exchange, size_t *ret_len)
{
    if (ret_len)
        *ret_len = exchange->body.len;
    return exchange->body.buf;
}

size_t http_exchange_body_length(const struct http_exchange *exchange)
{
    return exchange->head.content_length;
}

void http_body_read(struct http_exchange *exchange, const struct http_body_reader *reader, void *arg)
{
    exchange->reader = reader;
    exchange->reader_arg = arg;
    if (exchange->connection)
        http_connection_read_body(exchange->connection, true);
    else
        loop_timer_arm(&exchange->later, 0);
}

void http_body_pause(struct http_exchange *exchange)
{
    exchange->body_paused = true;
}

void http_body_resume(struct http_exchange *exchange)
{
    exchange->body_paused = false;
    if (exchange->connection && exchange->reader)
        http_connection_read_body(exchange->connection, false);
}

const char *http_exchange_query(struct http_exchange *exchange, const char *name)
{
    const char *found = NULL;
    struct strvec pairs;
    strvec_init(&pairs);
    strvec_split(&pairs, str_or_empty(exchange->head.query), "&");
    for (size_t i = 0; i < pairs.n && !found; i++) {
        char *pair = pairs.v[i];
        char *equals = strchr(pair, '=');
        char *value = equals ? equals + 1 : pair + strlen(pair);
        if (equals)
            *equals = '\0';
        if (http_percent_decode(pair, true) == 0 && str_eq(pair, name) && http_percent_decode(value, true) == 0) {
            strvec_push(&exchange->decoded, value);
            found = exchange->decoded.v[exchange->decoded.n - 1];
        }
    }
    strvec_release(&pairs);
    return found;
}

/* ---- answers ---- */

void http_exchange_add_header(struct http_exchange *exchange, const char *name, const char *value)
{
    if (!strpbrk(name, "\r\n") && !strpbrk(value, "\r\n"))
        strbuf_addf(&exchange->response_fields, "%s: %s\r\n", name, value);
}

/* RFC 9110, 5.6.7: "Sun, 06 Nov 1994 08:49:37 GMT", in English whatever the locale. */
static void add_date(struct strbuf *head)
{
    static const char days[7][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char months[12][4] = {
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const time_t now = (time_t)(clock_realtime_ms() / 1000);
    struct tm tm;
    if (!gmtime_r(&now, &tm))
        return;
    strbuf_addf(head, "Date: %s, %02d %s %d %02d:%02d:%02d GMT\r\n", days[tm.tm_wday], tm.tm_mday, months[tm.tm_mon],
        tm.tm_year + 1900, tm.tm_hour, tm.tm_min, tm.tm_sec);
}

/* framing: "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n" or "". */
static void write_head(struct http_exchange *exchange, int status, const char *content_type, const char *framing)
{
    struct http_connection *connection = exchange->connection;
    _cleanup_(strbuf_release) struct strbuf head;
    strbuf_init(&head, RESPONSE_HEAD_MAX);
    strbuf_addf(&head, "HTTP/1.1 %d %s\r\n", status, http_reason(status));
    add_date(&head);
    if (content_type)
        strbuf_addf(&head, "Content-Type: %s\r\n", content_type);
    strbuf_add(&head, exchange->response_fields.buf, exchange->response_fields.len);
    strbuf_addf(&head, "%sConnection: %s\r\n\r\n", framing, connection->keep_alive ? "keep-alive" : "close");
    http_connection_write(connection, head.buf, head.len);
}

void http_reply(struct http_exchange *exchange, int status, const char *content_type, const char *body, size_t len)
{
    struct http_connection *connection = exchange->connection;
    char framing[64] = "";
    if (!connection) {
        http_exchange_free(exchange);
        return;
    }
    http_connection_settle_body(connection);
    if (status != 204 && status != 304)
        snprintf(framing, sizeof(framing), "Content-Length: %zu\r\n", len);
    write_head(exchange, status, content_type, framing);
    if (len > 0 && *framing && !exchange->is_head)
        http_connection_write(connection, body, len);
    exchange_end(exchange);
}

void http_replyf(struct http_exchange *exchange, int status, const char *fmt, ...)
{
    _cleanup_(strbuf_release) struct strbuf text;
    va_list ap;
    strbuf_init(&text, PLAIN_TEXT_MAX);
    va_start(ap, fmt);
    strbuf_addvf(&text, fmt, ap);
    va_end(ap);
    strbuf_addc(&text, '\n');
    http_reply(exchange, status, "text/plain; charset=utf-8", text.buf, text.len);
}

void http_exchange_refuse(struct http_exchange *exchange, int status, const char *allow)
{
    if (allow)
        http_exchange_add_header(exchange, "Allow", allow);
    http_replyf(exchange, status, "%s", http_reason(status));
}

/* ---- streams ---- */

static bool begin_stream(struct http_exchange *exchange, void (*on_close)(void *arg), void *arg)
{
    exchange->streaming = true;
    exchange->on_close = on_close;
    exchange->on_close_arg = arg;
    if (!exchange->connection) {
        loop_timer_arm(&exchange->later, 0);
        return false;
    }
    exchange->reader = NULL;
    http_connection_settle_body(exchange->connection);
    return true;
}

void http_stream_start(
    struct http_exchange *exchange, int status, const char *content_type, void (*on_close)(void *arg), void *arg)
{
    if (!begin_stream(exchange, on_close, arg))
        return;
    /* HTTP/1.0 knows no chunks: there the end of the connection ends the body, and only a reset tells of an abort. */
    exchange->chunked = exchange->head.minor_version >= 1;
    if (!exchange->chunked)
        exchange->connection->keep_alive = false;
    write_head(exchange, status, content_type, exchange->chunked ? "Transfer-Encoding: chunked\r\n" : "");
}

void http_stream_start_sized(struct http_exchange *exchange, int status, const char *content_type, uint64_t length,
    void (*on_close)(void *arg), void *arg)
{
    char framing[64];
    if (!begin_stream(exchange, on_close, arg))
        return;
    exchange->sized = true;
    exchange->sized_left = length;
    snprintf(framing, sizeof(framing), "Content-Length: %llu\r\n", (unsigned long long)length);
    write_head(exchange, status, content_type, framing);
}

bool http_stream_writev(struct http_exchange *exchange, const struct iovec *parts, int count)
{
    struct http_connection *connection = exchange->connection;
    struct iovec all[HTTP_STREAM_PARTS_MAX + 2] = {0};
    char size[CHUNK_FRAME_BYTES];
    char crlf[2] = {'\r', '\n'};
    size_t len = 0;
    int n = 0;
    for (int i = 0; i < count; i++) {
        len += parts[i].iov_len;
        all[1 + i] = parts[i];
    }
    size_t unsent = connection ? http_connection_unsent(connection) : 0;
    if (!connection || (unsent > 0 && unsent + len + CHUNK_FRAME_BYTES > HTTP_SERVER_STREAM_BUFFER_MAX))
        return false;
    if (len == 0 || exchange->is_head) /* an empty chunk would be the end */
        return true;
    if (exchange->sized && len > exchange->sized_left)
        abort(); /* it would be read as the next answer */
    exchange->sized_left -= exchange->sized ? len : 0;
    if (exchange->chunked) {
        all[0] = (struct iovec){.iov_base = size, .iov_len = (size_t)snprintf(size, sizeof(size), "%zx\r\n", len)};
        all[1 + count] = (struct iovec){.iov_base = crlf, .iov_len = 2};
        n = 2;
    }
    http_connection_writev(connection, n ? all : all + 1, count + n);
    return true;
}

bool http_stream_write(struct http_exchange *exchange, const void *data, size_t len)
{
    const struct iovec part = {.iov_base = (void *)(uintptr_t)data, .iov_len = len};
    return http_stream_writev(exchange, &part, 1);
}

bool http_stream_is_drained(const struct http_exchange *exchange)
{
    return !exchange->connection || http_connection_unsent(exchange->connection) == 0;
}

void http_exchange_drained(struct http_exchange *exchange)
{
    void (*on_drain)(void *) = exchange->on_drain;
    if (!on_drain || !http_stream_is_drained(exchange))
        return;
    exchange->on_drain = NULL;
    on_drain(exchange->on_drain_arg);
}

void http_stream_on_drain(struct http_exchange *exchange, void (*on_drain)(void *arg), void *arg)
{
    exchange->on_drain = on_drain;
    exchange->on_drain_arg = arg;
    if (exchange->connection)
        loop_timer_arm(&exchange->later, 0);
}

void http_stream_end(struct http_exchange *exchange)
{
    struct http_connection *connection = exchange->connection;
    if (!connection) {
        http_exchange_free(exchange);
        return;
    }
    if (exchange->sized && exchange->sized_left > 0 && !exchange->is_head) {
        http_stream_abort(exchange);
        return;
    }
    if (exchange->chunked && !exchange->is_head)
        http_connection_write(connection, "0\r\n\r\n", 5);
    exchange_end(exchange);
}

void http_stream_abort(struct http_exchange *exchange)
{
    if (exchange->connection)
        http_connection_abort(exchange->connection);
    http_exchange_free(exchange);
}
