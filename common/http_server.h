/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_server.h: a small HTTP/1.1 server on the loop (libevent's bufferevents), plain or mutual TLS.
 *
 * Routes are a static table. Handlers run on the loop and must answer from memory: http_reply at once, or keep the
 * exchange and answer later, or stream. Limits (limits.h): connections, header and body size, time for a request to
 * arrive, idle time between requests, unsent bytes per stream. Over the connection limit, the newest connection is
 * answered 503 and closed (TLS: closed). A client that reads nothing of what waits for it for one to two
 * HTTP_SERVER_IDLE_TIMEOUT_MS is dropped. One request of a connection is handled at a time; request bodies need
 * Content-Length (411) and are gathered before the handler is called, unless the server streams bodies
 * (http_server_stream_bodies). No callback runs inside a call of this interface, except that http_server_free tells the
 * producers of open streams. A handler must not free the server.
 */
#ifndef KM_COMMON_HTTP_SERVER_H
#define KM_COMMON_HTTP_SERVER_H

#include "common/base.h"

#include <sys/uio.h>

#include "common/error.h"
#include "common/loop.h"
#include "common/strbuf.h"
#include "common/tls.h"

struct http_server;
struct http_exchange; /* one request and its answer */

struct http_route {
    const char *method; /* "GET", "PUT", "POST"; HEAD is answered as GET without body */
    const char *path;   /* exact, or a prefix when it ends in '*' */
    void (*handle)(struct http_exchange *exchange, void *arg);
};

/* tls may be NULL (plain). routes end with a NULL method and are not copied. arg goes to every handler. */
struct http_server *http_server_new(
    struct loop *loop, struct tls_server *tls, const struct http_route *routes, void *arg);
/* address: "0.0.0.0", "::" or "127.0.0.1"; port 0 picks one. */
int http_server_listen(struct http_server *server, const char *address, uint16_t port, uint16_t *ret_port,
    struct error *err) KM_MUST_CHECK;
/* Closes the listener and all connections; open streams get their on_close. Exchanges that wait for their answer stay
 * valid until they get it. */
void http_server_free(struct http_server *server);
/* Before listening. Handlers are called as soon as the head is there; they take bodies of up to body_max bytes (else
 * 413) piece by piece by http_body_read, and http_exchange_body is empty. Who answers before the end of a body ends the
 * connection with the answer. */
void http_server_stream_bodies(struct http_server *server, size_t body_max);
size_t http_server_connections(const struct http_server *server);
/* Bytes of answers that the kernel has not taken yet, also of exchanges that have ended: http_server_free throws them
 * away. */
size_t http_server_unsent(const struct http_server *server);

/* The request. Valid until the exchange is answered. */
const char *http_exchange_method(const struct http_exchange *exchange);
const char *http_exchange_path(const struct http_exchange *exchange); /* without the query, percent-decoded */
/* Decoded query parameter, or NULL; owned by the exchange. */
const char *http_exchange_query(struct http_exchange *exchange, const char *name);
const char *http_exchange_header(const struct http_exchange *exchange, const char *name);
/* Common name of the client's (verified) certificate; "" on a plain connection. Names are at most 64 bytes (RFC 5280,
 * ub-common-name). */
#define HTTP_PEER_NAME_SIZE 65
const char *http_exchange_peer_name(const struct http_exchange *exchange);
/* The body, complete; NUL-terminated. */
const char *http_exchange_body(struct http_exchange *exchange, size_t *ret_len);
/* Content-Length; 0 without one. */
size_t http_exchange_body_length(const struct http_exchange *exchange);

/* A body that is streamed. Any callback may answer; none comes after the answer, after `end` or after `gone`. */
struct http_body_reader {
    void (*data)(void *arg, const char *data, size_t len); /* at most HTTP_SERVER_PIECE_MAX bytes at once, in order */
    void (*end)(void *arg);                                /* that was all of it */
    /* The peer went before the end, or said nothing for one to two HTTP_SERVER_IDLE_TIMEOUT_MS while it was listened
     * to. The exchange still has to be answered. */
    void (*gone)(void *arg);
};
/* Once, in the handler or later. Says "100 Continue" to a peer that waits for it. */
void http_body_read(struct http_exchange *exchange, const struct http_body_reader *reader, void *arg);
/* Holds the peer back, who is not listened to (that it went is noticed afterwards): at most HTTP_SERVER_HEADERS_MAX +
 * HTTP_SERVER_PIECE_MAX bytes more are taken from it. */
void http_body_pause(struct http_exchange *exchange);
void http_body_resume(struct http_exchange *exchange);

/* A field of the answer ("Retry-After"), before http_reply or http_stream_start. */
void http_exchange_add_header(struct http_exchange *exchange, const char *name, const char *value);
/* Answers and ends the exchange; if the peer is gone it only ends it. */
void http_reply(struct http_exchange *exchange, int status, const char *content_type, const char *body, size_t len);
void http_replyf(struct http_exchange *exchange, int status, const char *fmt, ...)
    KM_PRINTF(3, 4); /* text/plain + newline */

/* Streaming (chunked). on_close runs once if the peer goes before http_stream_end; afterwards the exchange must not be
 * used. */
void http_stream_start(
    struct http_exchange *exchange, int status, const char *content_type, void (*on_close)(void *arg), void *arg);
/* The same for a body whose length is known: Content-Length, no chunks. http_stream_end before all of it was written is
 * an abort. */
void http_stream_start_sized(struct http_exchange *exchange, int status, const char *content_type, uint64_t length,
    void (*on_close)(void *arg), void *arg);
/* False when something is unsent and HTTP_SERVER_STREAM_BUFFER_MAX would be exceeded: nothing was queued; wait for
 * on_drain. Then a piece is taken whatever its size. */
bool http_stream_write(struct http_exchange *exchange, const void *data, size_t len);
/* The same for bytes that lie in several places, at most HTTP_STREAM_PARTS_MAX. */
#define HTTP_STREAM_PARTS_MAX 2
bool http_stream_writev(struct http_exchange *exchange, const struct iovec *parts, int count);
/* The kernel has taken all that was written. Who makes bulk data only then has it sent from where it lies, without a
 * copy. */
bool http_stream_is_drained(const struct http_exchange *exchange);
/* Runs once when no byte is unsent any more. */
void http_stream_on_drain(struct http_exchange *exchange, void (*on_drain)(void *arg), void *arg);
void http_stream_end(struct http_exchange *exchange);
/* Ends the connection with a reset and without the final chunk: the receiver sees a truncated body (I8). No
 * on_close. */
void http_stream_abort(struct http_exchange *exchange);

#endif
