/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_connection.h: what http_connection.c (one connection), http_exchange.c (one request and its answer) and
 * http_server.c (listening, the states of connections) share, each of which uses those before it. Private to them.
 */
#ifndef KM_COMMON_HTTP_CONNECTION_H
#define KM_COMMON_HTTP_CONNECTION_H

#include "common/base.h"

#include <sys/uio.h>

#include "common/http_head.h"
#include "common/http_server.h"
#include "common/list.h"
#include "common/loop.h"
#include "common/strbuf.h"
#include "common/strvec.h"

struct bufferevent;
struct evconnlistener;

enum http_connection_state {
    HTTP_CONNECTION_HANDSHAKE, /* TLS */
    HTTP_CONNECTION_READING,   /* between requests, or a request is not complete yet */
    HTTP_CONNECTION_HANDLING,  /* the exchange is the handler's */
    HTTP_CONNECTION_FLUSHING,  /* the answer is complete but not sent; then READING or LINGERING */
    /* our side is shut; what still comes is thrown away, or a reset would overtake the answer */
    HTTP_CONNECTION_LINGERING,
};

struct http_connection {
    struct list_node node;
    struct http_server *server;
    struct bufferevent *bev;
    struct loop_timer timer;
    enum http_connection_state state;
    struct http_exchange *exchange; /* being read or handled */
    bool request_begun;
    bool keep_alive;
    bool has_large_body; /* counted in the server's large_bodies */
    bool peer_shut;      /* it has shut its side and waits for the answer */
    uint64_t sent_bytes;
    uint64_t sent_then; /* at the last look of the timer, to see whether the peer reads */
};

struct http_server {
    struct loop *loop;
    struct tls_server *tls;
    const struct http_route *routes;
    void *arg;
    size_t body_max;
    char *piece; /* HTTP_SERVER_PIECE_MAX bytes, if bodies are streamed; else NULL */
    struct evconnlistener *listener;
    struct loop_timer accept_pause;
    struct list_node connections;
    size_t count;
    size_t large_bodies; /* that are read or handled */
};

struct http_exchange {
    struct http_connection *connection; /* NULL when the peer is gone */
    char *head_text;
    struct http_head head;
    struct strbuf body;
    struct strvec decoded;         /* query values handed out */
    struct strbuf response_fields; /* http_exchange_add_header */
    struct loop_timer later;       /* what must not call back inside the caller's call */
    char peer_name[HTTP_PEER_NAME_SIZE];
    bool is_head;
    bool streaming;
    bool chunked;
    bool sized;
    uint64_t sized_left;
    const struct http_body_reader *reader; /* NULL: not asked for yet, or at its end */
    void *reader_arg;
    size_t body_left;      /* of a streamed body, not taken off the connection yet */
    size_t body_left_then; /* at the last look of the timer, to see whether the peer sends */
    bool body_paused;
    void (*on_close)(void *arg);
    void *on_close_arg;
    void (*on_drain)(void *arg);
    void *on_drain_arg;
};

/* ---- http_connection.c ---- */

/* Takes bev. on_timer: of `timer`, with the connection. */
struct http_connection *http_connection_new(
    struct http_server *server, struct bufferevent *bev, void (*on_timer)(void *connection));
/* The exchange is neither told nor freed. */
void http_connection_free(struct http_connection *connection);
/* Frees it with a reset. */
void http_connection_abort(struct http_connection *connection);
/* The common name of the client's certificate; "" without one. */
void http_connection_peer_name(const struct http_connection *connection, char *out, size_t size);

size_t http_connection_unread(const struct http_connection *connection);
/* If enough of what it sent waits to be looked at. */
void http_connection_hold_peer_back(struct http_connection *connection);
void http_connection_listen_to_peer(struct http_connection *connection);
/* Says "100 Continue" to a peer that waits for it. */
void http_connection_expect_body(struct http_connection *connection);
/* The exchange's reader has come or wants to go on. */
void http_connection_read_body(struct http_connection *connection, bool begin);
/* The next piece of a body that is streamed, which may be here already. */
void http_connection_want_piece(struct http_connection *connection);
/* The rest of a body that nobody wants: thrown away if it is here already, else the connection ends with the answer. */
void http_connection_settle_body(struct http_connection *connection);

size_t http_connection_unsent(const struct http_connection *connection);
void http_connection_write(struct http_connection *connection, const void *data, size_t len);
/* For bulk data, one after the other. The parts' lengths and addresses are spoiled. */
void http_connection_writev(struct http_connection *connection, struct iovec *parts, int count);
/* The answer has been written completely, and its exchange is freed. */
void http_connection_answered(struct http_connection *connection);

/* ---- http_exchange.c ---- */

struct http_exchange *http_exchange_new(struct http_connection *connection, char *head_text);
void http_exchange_free(struct http_exchange *exchange);
/* The peer is gone: a stream's producer is told, others find out when they answer. */
void http_exchange_orphan(struct http_exchange *exchange);
/* The unsent bytes have become fewer. The exchange and its connection may be gone afterwards. */
void http_exchange_drained(struct http_exchange *exchange);
/* One of the server's own answers; allow: the Allow field or NULL. */
void http_exchange_refuse(struct http_exchange *exchange, int status, const char *allow);
const char *http_reason(int status);

#endif
