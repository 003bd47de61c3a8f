/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of a peer into the server: first the head parser alone, then a real connection over loopback. The first byte
 * says where the rest is split into two writes, so that requests arrive in pieces.
 */
#include "common/base.h"

#include "common/http_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/alloc.h"
#include "common/http_head.h"
#include "common/loop.h"

/* Below LINGER_MS of the server, which would hide a connection that is never noticed; far above a scheduler's
 * delays. */
#define GONE_WAIT_MS 1500

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void answer(struct http_exchange *exchange, void *arg)
{
    UNUSED(arg);
    size_t len = 0;
    const char *body = http_exchange_body(exchange, &len);
    http_exchange_query(exchange, "a");
    if (strlen(body) > len)
        abort();
    http_replyf(exchange, 200, "%s %s", http_exchange_method(exchange), http_exchange_path(exchange));
}

static void stream(struct http_exchange *exchange, void *arg)
{
    UNUSED(arg);
    http_stream_start(exchange, 200, NULL, NULL, NULL);
    http_stream_write(exchange, "x", 1);
    http_stream_end(exchange);
}

static const struct http_route routes[] = {
    {"GET", "/s", stream},
    {"GET", "/*", answer},
    {"PUT", "/*", answer},
    {NULL, NULL, NULL},
};

static void fuzz_head(const uint8_t *data, size_t size)
{
    struct http_head head;
    char *text = xcalloc(1, size + 1);
    memcpy(text, data, size);
    if (http_head_parse(text, size, &head) == 0 && (*head.path != '/' || !*head.method))
        abort();
    free(text);
}

/* libFuzzer's alarm interrupts calls. An interrupted connect goes on by itself: it has ended when the socket can be
 * written to (connect(2), EINTR). */
static int finish_connect(int fd)
{
    struct pollfd waits = {.fd = fd, .events = POLLOUT};
    int failure = 0;
    socklen_t len = sizeof(failure);
    while (poll(&waits, 1, -1) < 0) {
        if (errno != EINTR)
            return -1;
    }
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &len) < 0 || failure ? -1 : 0;
}

static int dial(uint16_t port)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct linger reset = {.l_onoff = 1};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int rc = fd < 0 ? -1 : connect(fd, (const struct sockaddr *)&address, sizeof(address));
    for (int i = 0; i < 500 && fd >= 0 && rc < 0 && errno == EADDRNOTAVAIL; i++) { /* other tests use up ports, too */
        usleep(20000);
        rc = connect(fd, (const struct sockaddr *)&address, sizeof(address));
    }
    if (fd >= 0 && rc < 0 && errno == EINTR)
        rc = finish_connect(fd);
    if (rc < 0)
        abort();
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)); /* no ports in TIME_WAIT */
    return fd;
}

/* All of it: a fresh connection has room for more than an input's bytes. */
static void put(int fd, const uint8_t *data, size_t size)
{
    ssize_t sent;
    do
        sent = send(fd, data, size, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent < 0 && errno != EPIPE && errno != ECONNRESET) /* the server may have closed it by then */
        abort();
}

static void turn(struct loop *loop)
{
    for (int i = 0; i < 6; i++)
        loop_run_once(loop, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct loop *loop;
    static struct http_server *server;
    static uint16_t port;
    if (!loop) {
        loop = loop_new();
        server = http_server_new(loop, NULL, routes, NULL);
        if (http_server_listen(server, "127.0.0.1", 0, &port, NULL) < 0)
            abort();
    }
    if (size < 2)
        return 0;
    const size_t split = data[0] % size;
    data++;
    size--;
    fuzz_head(data, size);
    const int fd = dial(port);
    const size_t first = MIN_OF(split, size);
    turn(loop);
    if (first > 0)
        put(fd, data, first);
    turn(loop);
    if (size > first)
        put(fd, data + first, size - first);
    turn(loop);
    close(fd);
    /* On a loaded machine the kernel hands loopback packets over in its own time. */
    for (int i = 0; i < GONE_WAIT_MS && http_server_connections(server) > 0; i++)
        loop_run_once(loop, i < 50 ? 0 : 1);
    if (http_server_connections(server) > 0)
        abort();
    return 0;
}
