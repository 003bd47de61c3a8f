/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_connection.c: one connection: its life, what comes in, what goes out (http_connection.h).
 *
 * Small answers go through the bufferevent. Bulk data over TLS goes to OpenSSL at once, record by record from where it
 * lies, as long as the socket takes it: in the bufferevent it would be copied twice more into fresh memory, and each
 * piece would cost a turn of the loop and two calls of epoll_ctl. What the socket does not take becomes the
 * bufferevent's, which goes on with the record that OpenSSL has begun.
 */
#include "common/base.h"

#include "common/http_connection.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include "common/alloc.h"

/* Bytes of one connection that wait to be looked at; one TLS record more. */
#define INPUT_MAX ((size_t)(HTTP_SERVER_HEADERS_MAX + HTTP_SERVER_PIECE_MAX))
/* The largest TLS record (RFC 8446, 5.1). */
#define RECORD_BYTES ((size_t)(16 * KM_KIB))

/* ---- life ---- */

static void on_output_changed(struct evbuffer *output, const struct evbuffer_cb_info *info, void *arg)
{
    UNUSED(output);
    struct http_connection *connection = arg;
    connection->sent_bytes += info->n_deleted;
}

struct http_connection *http_connection_new(
    struct http_server *server, struct bufferevent *bev, void (*on_timer)(void *connection))
{
    struct http_connection *connection = xnew(struct http_connection);
    connection->server = server;
    connection->bev = bev;
    loop_timer_init(&connection->timer, server->loop, on_timer, connection);
    list_push_back(&server->connections, &connection->node);
    server->count++;
    evbuffer_add_cb(bufferevent_get_output(bev), on_output_changed, connection);
    return connection;
}

static void let_large_body_go(struct http_connection *connection)
{
    connection->server->large_bodies -= connection->has_large_body;
    connection->has_large_body = false;
}

void http_connection_free(struct http_connection *connection)
{
    let_large_body_go(connection);
    list_remove(&connection->node);
    connection->server->count--;
    loop_timer_release(&connection->timer);
    evbuffer_remove_cb(bufferevent_get_output(connection->bev), on_output_changed, connection);
    bufferevent_free(connection->bev);
    ERR_clear_error(); /* one peer's TLS errors must not be read as another's */
    free(connection);
}

void http_connection_abort(struct http_connection *connection)
{
    const struct linger reset = {.l_onoff = 1, .l_linger = 0};
    setsockopt(bufferevent_getfd(connection->bev), SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    http_connection_free(connection);
}

void http_connection_peer_name(const struct http_connection *connection, char *out, size_t size)
{
    SSL *ssl = bufferevent_openssl_get_ssl(connection->bev);
    X509 *certificate = ssl ? SSL_get1_peer_certificate(ssl) : NULL;
    out[0] = '\0';
    if (certificate && X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, out, (int)size) < 0)
        out[0] = '\0';
    X509_free(certificate);
    ERR_clear_error();
}

/* ---- what comes in ---- */

size_t http_connection_unread(const struct http_connection *connection)
{
    return evbuffer_get_length(bufferevent_get_input(connection->bev));
}

/* Not by a watermark: libevent would stop in the middle of a TLS record and, when there is room again, wait for the
 * socket, though the rest of the record is there already (be_openssl_enable does not look into it); and it calls
 * on_read again and again while the input is full. Here a record has been read whole. */
void http_connection_hold_peer_back(struct http_connection *connection)
{
    if (http_connection_unread(connection) >= INPUT_MAX)
        bufferevent_disable(connection->bev, EV_READ);
}

void http_connection_listen_to_peer(struct http_connection *connection)
{
    bufferevent_enable(connection->bev, EV_READ);
}

void http_connection_expect_body(struct http_connection *connection)
{
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
    const struct http_head *head = &connection->exchange->head;
    if (head->expect_continue && http_connection_unread(connection) < head->content_length)
        http_connection_write(connection, go_on, sizeof(go_on) - 1);
}

void http_connection_want_piece(struct http_connection *connection)
{
    http_connection_listen_to_peer(connection);
    bufferevent_trigger(connection->bev, EV_READ, BEV_OPT_DEFER_CALLBACKS);
}

void http_connection_read_body(struct http_connection *connection, bool begin)
{
    if (begin) {
        connection->exchange->body_left_then = SIZE_MAX;
        http_connection_expect_body(connection);
    }
    http_connection_want_piece(connection);
}

void http_connection_settle_body(struct http_connection *connection)
{
    struct http_exchange *exchange = connection->exchange;
    if (exchange->body_left <= http_connection_unread(connection))
        evbuffer_drain(bufferevent_get_input(connection->bev), exchange->body_left);
    else
        connection->keep_alive = false;
    exchange->body_left = 0;
}

/* ---- what goes out ---- */

size_t http_connection_unsent(const struct http_connection *connection)
{
    return evbuffer_get_length(bufferevent_get_output(connection->bev));
}

void http_connection_write(struct http_connection *connection, const void *data, size_t len)
{
    if (bufferevent_write(connection->bev, data, len) < 0)
        abort();
}

static size_t bytes_of(const struct iovec *parts, int count)
{
    size_t sum = 0;
    for (int i = 0; i < count; i++)
        sum += parts[i].iov_len;
    return sum;
}

/* Drops the first bytes. */
static void advance(struct iovec *parts, int count, size_t len)
{
    for (int i = 0; i < count && len > 0; i++) {
        const size_t gone = MIN_OF(parts[i].iov_len, len);
        parts[i].iov_base = (char *)parts[i].iov_base + gone;
        parts[i].iov_len -= gone;
        len -= gone;
    }
}

/* The bytes of the next record where they lie; if they lie in several parts, gathered in `gathered`. */
static struct iovec next_record(const struct iovec *parts, int count, char gathered[static RECORD_BYTES])
{
    struct iovec record = {.iov_base = gathered};
    for (int i = 0; i < count && record.iov_len < RECORD_BYTES; i++) {
        const size_t len = MIN_OF(parts[i].iov_len, RECORD_BYTES - record.iov_len);
        if (record.iov_len == 0 && (len == RECORD_BYTES || i == count - 1))
            return (struct iovec){.iov_base = parts[i].iov_base, .iov_len = len};
        memcpy(gathered + record.iov_len, parts[i].iov_base, len);
        record.iov_len += len;
    }
    return record;
}

/* While it is set, records leave together in large segments. Clearing it sends what is left. */
static void set_cork(const struct http_connection *connection, int on)
{
    setsockopt(bufferevent_getfd(connection->bev), IPPROTO_TCP, TCP_CORK, &on, sizeof(on));
}

/* A record that is begun must go on with the same bytes, in one chunk of the buffer (OpenSSL refuses less): so it is
 * added by itself, to a buffer that is empty. An error of the connection is found again and reported by the
 * bufferevent. */
static void write_records(struct http_connection *connection, SSL *ssl, struct iovec *parts, int count)
{
    char gathered[RECORD_BYTES];
    struct iovec record;
    while ((record = next_record(parts, count, gathered)).iov_len > 0) {
        const int n = SSL_write(ssl, record.iov_base, (int)record.iov_len);
        advance(parts, count, record.iov_len);
        if (n <= 0) {
            ERR_clear_error();
            http_connection_write(connection, record.iov_base, record.iov_len);
            return;
        }
        connection->sent_bytes += record.iov_len;
    }
}

void http_connection_writev(struct http_connection *connection, struct iovec *parts, int count)
{
    SSL *ssl = bufferevent_openssl_get_ssl(connection->bev);
    if (ssl && http_connection_unsent(connection) == 0 && bytes_of(parts, count) >= RECORD_BYTES) {
        set_cork(connection, 1);
        write_records(connection, ssl, parts, count);
        set_cork(connection, 0);
    }
    for (int i = 0; i < count; i++)
        if (parts[i].iov_len > 0)
            http_connection_write(connection, parts[i].iov_base, parts[i].iov_len);
}

void http_connection_answered(struct http_connection *connection)
{
    let_large_body_go(connection);
    connection->state = HTTP_CONNECTION_FLUSHING;
    if (http_connection_unsent(connection) == 0)
        bufferevent_trigger(connection->bev, EV_WRITE, BEV_OPT_DEFER_CALLBACKS);
}
