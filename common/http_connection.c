/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_connection.c: what goes out on one connection (http_connection.h).
 *
 * Small answers go through the bufferevent. Bulk data over TLS goes to OpenSSL at once, record by record from where it lies, as long as the socket takes it: in the
 * bufferevent it would be copied twice more into fresh memory, and each piece would cost a turn of the loop and two calls of epoll_ctl. What the socket does not take
 * becomes the bufferevent's, which goes on with the record that OpenSSL has begun.
 */
#include "common/base.h"

#include "common/http_connection.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

/* The largest TLS record (RFC 8446, 5.1). */
#define RECORD_BYTES ((size_t)(16 * KM_KIB))

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

/* A record that is begun must go on with the same bytes, in one chunk of the buffer (OpenSSL refuses less): so it is added by itself, to a buffer that is empty. An
 * error of the connection is found again and reported by the bufferevent. */
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
