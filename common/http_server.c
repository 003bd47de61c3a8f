/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Not built on evhttp of libevent 2.1 but on its bufferevents: evhttp cannot count or refuse connections that have sent
 * nothing, restarts its time-out with every byte (so a slow head is never cut off), gives no limit to unsent bytes, and
 * cannot end a chunked answer without the final chunk except by tricks. What it would have saved is http_head.c.
 */
#include "common/base.h"

#include "common/http_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/alloc.h"
#include "common/http_connection.h"

#define LISTEN_BACKLOG 128
/* After accept() failed for want of descriptors or memory. */
#define ACCEPT_PAUSE_MS 200
#define LINGER_MS 2000

/* The peer is gone or misbehaves. */
static void connection_drop(struct http_connection *connection)
{
    struct http_exchange *exchange = connection->exchange;
    const bool handled = connection->state == HTTP_CONNECTION_HANDLING;
    http_connection_free(connection);
    if (exchange && handled)
        http_exchange_orphan(exchange);
    else
        http_exchange_free(exchange);
}

/* ---- states ---- */

static void enter_reading(struct http_connection *connection)
{
    connection->state = HTTP_CONNECTION_READING;
    connection->request_begun = false;
    http_connection_listen_to_peer(connection);
    loop_timer_arm(&connection->timer, HTTP_SERVER_IDLE_TIMEOUT_MS);
    if (http_connection_unread(connection) > 0)
        bufferevent_trigger(connection->bev, EV_READ, BEV_OPT_DEFER_CALLBACKS);
}

static void enter_handling(struct http_connection *connection)
{
    connection->state = HTTP_CONNECTION_HANDLING;
    connection->sent_then = UINT64_MAX;
    loop_timer_arm(&connection->timer, HTTP_SERVER_IDLE_TIMEOUT_MS);
}

static void enter_lingering(struct http_connection *connection)
{
    SSL *ssl = bufferevent_openssl_get_ssl(connection->bev);
    connection->state = HTTP_CONNECTION_LINGERING;
    http_connection_listen_to_peer(connection);
    if (ssl)
        SSL_shutdown(ssl);
    ERR_clear_error();
    shutdown(bufferevent_getfd(connection->bev), SHUT_WR);
    loop_timer_arm(&connection->timer, connection->peer_shut ? 0 : LINGER_MS);
}

static void flushed(struct http_connection *connection)
{
    if (connection->keep_alive && !connection->peer_shut)
        enter_reading(connection);
    else
        enter_lingering(connection);
}

/* ---- requests ---- */

static bool path_matches(const struct http_route *route, const char *path)
{
    const size_t len = strlen(route->path);
    if (len > 0 && route->path[len - 1] == '*')
        return strncmp(route->path, path, len - 1) == 0;
    return strcmp(route->path, path) == 0;
}

static void refuse_route(struct http_connection *connection, const char *path)
{
    _cleanup_(strbuf_release) struct strbuf allow;
    strbuf_init(&allow, 256);
    for (const struct http_route *route = connection->server->routes; route->method; route++) {
        if (!path_matches(route, path))
            continue;
        strbuf_addf(&allow, "%s%s", allow.len ? ", " : "", route->method);
        if (str_eq(route->method, "GET"))
            strbuf_adds(&allow, ", HEAD");
    }
    http_exchange_refuse(connection->exchange, allow.len ? 405 : 404, allow.len ? allow.buf : NULL);
}

/* The connection may be gone when this returns. */
static void dispatch(struct http_connection *connection)
{
    const struct http_server *server = connection->server;
    struct http_exchange *exchange = connection->exchange;
    const char *method = exchange->is_head ? "GET" : exchange->head.method;
    enter_handling(connection);
    for (const struct http_route *route = server->routes; route->method; route++) {
        if (str_eq(route->method, method) && path_matches(route, exchange->head.path)) {
            route->handle(exchange, server->arg);
            return;
        }
    }
    refuse_route(connection, exchange->head.path);
}

static void refuse_request(struct http_connection *connection, int status)
{
    connection->keep_alive = false;
    enter_handling(connection);
    http_exchange_refuse(connection->exchange, status, NULL);
}

/* What is streamed is never in memory as a whole. */
static bool admit_body(struct http_connection *connection)
{
    struct http_server *server = connection->server;
    if (server->piece || connection->exchange->head.content_length <= HTTP_SERVER_PIECE_MAX)
        return true;
    if (server->large_bodies >= HTTP_SERVER_LARGE_BODIES_MAX)
        return false;
    server->large_bodies++;
    connection->has_large_body = true;
    return true;
}

/* Cuts the head off the input, or answers what is wrong with it. False: not complete yet, or already answered. */
static bool read_head(struct http_connection *connection)
{
    struct evbuffer *input = bufferevent_get_input(connection->bev);
    char first;
    /* RFC 9112, 2.2: empty lines before a request are skipped. */
    while (evbuffer_copyout(input, &first, 1) == 1 && (first == '\r' || first == '\n'))
        evbuffer_drain(input, 1);
    const struct evbuffer_ptr end = evbuffer_search(input, "\r\n\r\n", 4, NULL);
    const size_t len = end.pos < 0 ? evbuffer_get_length(input) : (size_t)end.pos + 4;
    if (end.pos < 0 && len <= HTTP_SERVER_HEADERS_MAX)
        return false;
    const bool too_large = len > HTTP_SERVER_HEADERS_MAX;
    char *text = xcalloc(1, too_large ? 1 : len + 1);
    if (!too_large)
        evbuffer_remove(input, text, len);
    connection->exchange = http_exchange_new(connection, text);
    struct http_head *head = &connection->exchange->head;
    int status = too_large ? 431 : http_head_parse(text, len, head);
    if (status == 0 && head->content_length > connection->server->body_max)
        status = 413;
    else if (status == 0 && !admit_body(connection))
        status = 503;
    connection->keep_alive = head->keep_alive;
    connection->exchange->is_head = str_eq(head->method, "HEAD");
    if (status != 0)
        refuse_request(connection, status);
    return status == 0;
}

static bool read_body(struct http_connection *connection)
{
    struct http_exchange *exchange = connection->exchange;
    const size_t len = exchange->head.content_length;
    if (http_connection_unread(connection) < len)
        return false;
    _cleanup_(freep) char *data = xmalloc(len + 1);
    evbuffer_remove(bufferevent_get_input(connection->bev), data, len);
    strbuf_add(&exchange->body, data, len);
    return true;
}

/* ---- bodies that are streamed ---- */

/* One piece a turn of the loop, so that a fast peer does not starve the others. Exchange and connection may be gone
 * when it returns. */
static void pass_piece(struct http_connection *connection)
{
    struct http_exchange *exchange = connection->exchange;
    const struct http_body_reader *reader = exchange->reader;
    char *piece = connection->server->piece;
    const size_t len =
        MIN_OF(MIN_OF(http_connection_unread(connection), exchange->body_left), (size_t)HTTP_SERVER_PIECE_MAX);
    if (!reader || exchange->body_paused) {
        http_connection_hold_peer_back(connection);
        return;
    }
    if (exchange->body_left == 0) {
        exchange->reader = NULL;
        reader->end(exchange->reader_arg);
        return;
    }
    if (len == 0)
        return;
    evbuffer_remove(bufferevent_get_input(connection->bev), piece, len);
    exchange->body_left -= len;
    if (http_connection_unread(connection) > 0 || exchange->body_left == 0)
        http_connection_want_piece(connection);
    reader->data(exchange->reader_arg, piece, len);
}

static void on_read(struct bufferevent *bev, void *arg)
{
    struct http_connection *connection = arg;
    if (connection->state == HTTP_CONNECTION_HANDLING) {
        pass_piece(connection);
        return;
    }
    if (connection->state == HTTP_CONNECTION_LINGERING)
        evbuffer_drain(bufferevent_get_input(bev), http_connection_unread(connection));
    if (connection->state == HTTP_CONNECTION_FLUSHING)
        http_connection_hold_peer_back(connection);
    if (connection->state != HTTP_CONNECTION_READING)
        return;
    /* The time for a request runs from its first byte and is not lengthened by further ones. */
    if (!connection->request_begun)
        loop_timer_arm(&connection->timer, HTTP_SERVER_IDLE_TIMEOUT_MS);
    connection->request_begun = true;
    if (!connection->exchange) {
        if (!read_head(connection))
            return;
        if (connection->server->piece) {
            connection->exchange->body_left = connection->exchange->head.content_length;
            dispatch(connection);
            return;
        }
        http_connection_expect_body(connection);
    }
    if (read_body(connection))
        dispatch(connection);
}

static void on_write(struct bufferevent *bev, void *arg)
{
    UNUSED(bev);
    struct http_connection *connection = arg;
    if (connection->state == HTTP_CONNECTION_FLUSHING && http_connection_unsent(connection) == 0)
        flushed(connection);
    else if (connection->state == HTTP_CONNECTION_HANDLING)
        http_exchange_drained(connection->exchange);
}

/* A peer may shut its side after the request and still read the answer; but a stream's producer has to know, and half a
 * body will never be whole. */
static bool waits_for_answer(const struct http_connection *connection)
{
    const struct http_exchange *exchange = connection->exchange;
    if (connection->state == HTTP_CONNECTION_HANDLING)
        return !exchange->streaming && exchange->body_left <= http_connection_unread(connection);
    return connection->state == HTTP_CONNECTION_FLUSHING;
}

static void on_event(struct bufferevent *bev, short what, void *arg)
{
    UNUSED(bev);
    struct http_connection *connection = arg;
    if (what & BEV_EVENT_CONNECTED) {
        enter_reading(connection);
        return;
    }
    ERR_clear_error();
    if ((what & BEV_EVENT_EOF) && waits_for_answer(connection))
        connection->peer_shut = true;
    else
        connection_drop(connection);
}

/* Nothing has come since the last look, though it was asked for. */
static bool is_silent(struct http_connection *connection)
{
    struct http_exchange *exchange = connection->exchange;
    if (connection->state != HTTP_CONNECTION_HANDLING || !exchange->reader)
        return false;
    const bool silent = exchange->body_left > 0 && exchange->body_left == exchange->body_left_then;
    exchange->body_left_then = exchange->body_paused ? SIZE_MAX : exchange->body_left;
    return silent && !exchange->body_paused;
}

static void on_timer(void *arg)
{
    struct http_connection *connection = arg;
    const bool busy = connection->state == HTTP_CONNECTION_HANDLING || connection->state == HTTP_CONNECTION_FLUSHING;
    const bool stuck = http_connection_unsent(connection) > 0 && connection->sent_bytes == connection->sent_then;
    if (!busy || stuck || is_silent(connection)) {
        connection_drop(connection);
        return;
    }
    connection->sent_then = connection->sent_bytes;
    loop_timer_arm(&connection->timer, HTTP_SERVER_IDLE_TIMEOUT_MS);
}

/* ---- listening ---- */

/* Over the limit: said without a connection object. TLS peers are only closed, a handshake would cost too much. */
static void turn_away(const struct http_server *server, int fd)
{
    static const char answer[] = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    char sink[1024];
    if (!server->tls && send(fd, answer, sizeof(answer) - 1, MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
        shutdown(fd, SHUT_WR);
        while (recv(fd, sink, sizeof(sink), MSG_DONTWAIT) > 0) {
        }
    }
    close(fd);
}

static struct bufferevent *make_bufferevent(const struct http_server *server, int fd)
{
    struct event_base *base = loop_base(server->loop);
    const int options = BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS;
    if (!server->tls)
        return bufferevent_socket_new(base, fd, options);
    SSL *ssl = SSL_new(tls_server_context(server->tls));
    if (!ssl)
        return NULL;
    struct bufferevent *bev = bufferevent_openssl_socket_new(base, fd, ssl, BUFFEREVENT_SSL_ACCEPTING, options);
    if (!bev)
        abort();
    return bev;
}

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *peer, int len, void *arg)
{
    UNUSED(listener);
    UNUSED(peer);
    UNUSED(len);
    struct http_server *server = arg;
    const int on = 1;
    struct bufferevent *bev = server->count < HTTP_SERVER_CONNECTIONS_MAX ? make_bufferevent(server, fd) : NULL;
    if (!bev) {
        turn_away(server, fd);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    struct http_connection *connection = http_connection_new(server, bev, on_timer);
    bufferevent_setcb(bev, on_read, on_write, on_event, connection);
    bufferevent_enable(bev, EV_READ | EV_WRITE);
    enter_reading(connection);
    if (server->tls)
        connection->state = HTTP_CONNECTION_HANDSHAKE;
}

/* The socket stays readable, so going on at once would spin. */
static void on_accept_error(struct evconnlistener *listener, void *arg)
{
    struct http_server *server = arg;
    evconnlistener_disable(listener);
    loop_timer_arm(&server->accept_pause, ACCEPT_PAUSE_MS);
}

static void on_accept_pause_over(void *arg)
{
    struct http_server *server = arg;
    evconnlistener_enable(server->listener);
}

struct http_server *http_server_new(
    struct loop *loop, struct tls_server *tls, const struct http_route *routes, void *arg)
{
    struct http_server *server = xnew(struct http_server);
    server->loop = loop;
    server->tls = tls;
    server->routes = routes;
    server->arg = arg;
    server->body_max = HTTP_SERVER_BODY_MAX;
    list_init(&server->connections);
    loop_timer_init(&server->accept_pause, loop, on_accept_pause_over, server);
    return server;
}

void http_server_stream_bodies(struct http_server *server, size_t body_max)
{
    server->body_max = body_max;
    server->piece = xmalloc(HTTP_SERVER_PIECE_MAX);
}

static int make_address(const char *address, uint16_t port, struct sockaddr_storage *ret, int *ret_len)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)ret;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;
    *ret = (struct sockaddr_storage){.ss_family = AF_UNSPEC};
    if (inet_pton(AF_INET, address, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        *ret_len = (int)sizeof(*v4);
        return 0;
    }
    if (inet_pton(AF_INET6, address, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        *ret_len = (int)sizeof(*v6);
        return 0;
    }
    return -1;
}

int http_server_listen(
    struct http_server *server, const char *address, uint16_t port, uint16_t *ret_port, struct error *err)
{
    struct sockaddr_storage storage;
    struct sockaddr *sa = (struct sockaddr *)&storage;
    int len = 0;
    if (make_address(address, port, &storage, &len) < 0)
        return error_set(err, ERROR_INVALID, "not an IP address: %s", address);
    const unsigned flags = LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE;
    server->listener =
        evconnlistener_new_bind(loop_base(server->loop), on_accept, server, flags, LISTEN_BACKLOG, sa, len);
    if (!server->listener)
        return error_set_errno(err, errno, "cannot listen on %s port %u", address, port);
    evconnlistener_set_error_cb(server->listener, on_accept_error);
    socklen_t bound_len = sizeof(storage);
    if (ret_port && getsockname(evconnlistener_get_fd(server->listener), sa, &bound_len) == 0)
        *ret_port = ntohs(
            sa->sa_family == AF_INET ? ((struct sockaddr_in *)sa)->sin_port : ((struct sockaddr_in6 *)sa)->sin6_port);
    return 0;
}

void http_server_free(struct http_server *server)
{
    struct list_node *pos;
    struct list_node *tmp;
    if (!server)
        return;
    if (server->listener)
        evconnlistener_free(server->listener);
    loop_timer_release(&server->accept_pause);
    list_for_each_safe(pos, tmp, &server->connections)
        connection_drop(container_of(pos, struct http_connection, node));
    free(server->piece);
    free(server);
}

size_t http_server_connections(const struct http_server *server)
{
    return server->count;
}

size_t http_server_unsent(const struct http_server *server)
{
    struct list_node *pos;
    struct list_node *tmp;
    size_t sum = 0;
    list_for_each_safe(pos, tmp, &server->connections)
        sum += http_connection_unsent(container_of(pos, struct http_connection, node));
    return sum;
}
