/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/tests/cut_proxy_double.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/alloc.h"

#define LINKS_MAX 256
#define CHUNK ((size_t)(4 * KM_KIB))

enum side { CLIENT, SERVER };

struct link {
    struct cut_proxy *proxy;
    int fds[2];
    struct loop_fd *watches[2]; /* NULL: at its end */
};

struct cut_proxy {
    struct loop *loop;
    int listener;
    struct loop_fd *watch;
    uint16_t port, to;
    uint64_t counted[2], cut_at[2]; /* by the side that the bytes come from */
    struct link *links[LINKS_MAX];
};

static struct sockaddr_in loopback(uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* broken: with a reset, as of a connection that was lost. */
static void link_free(struct link *link, bool broken)
{
    const struct linger reset = {.l_onoff = 1, .l_linger = 0};
    for (int i = 0; i < 2; i++) {
        loop_fd_free(link->watches[i]);
        if (broken)
            (void)(setsockopt(link->fds[i], SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)) < 0);
        close(link->fds[i]);
    }
    for (size_t i = 0; i < LINKS_MAX; i++)
        if (link->proxy->links[i] == link)
            link->proxy->links[i] = NULL;
    free(link);
}

/* Never more than fits into a socket's buffer is under way here: a short write is a fault of the test. */
static void pass_on(int fd, const char *data, size_t len)
{
    if (len > 0 && send(fd, data, len, MSG_NOSIGNAL) < 0 && errno != EPIPE && errno != ECONNRESET)
        abort();
}

static void take(struct link *link, enum side from)
{
    struct cut_proxy *proxy = link->proxy;
    char chunk[CHUNK];
    const ssize_t n = recv(link->fds[from], chunk, sizeof(chunk), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        link_free(link, n < 0);
        return;
    }
    const uint64_t left = proxy->cut_at[from] - proxy->counted[from];
    const bool cut = (uint64_t)n >= left;
    const size_t len = cut ? (size_t)left : (size_t)n;
    proxy->counted[from] += len;
    pass_on(link->fds[!from], chunk, len);
    if (!cut)
        return;
    proxy->cut_at[from] = UINT64_MAX;
    link_free(link, from == SERVER);
}

static void on_client(int fd, unsigned what, void *arg)
{
    UNUSED(fd);
    UNUSED(what);
    take(arg, CLIENT);
}

static void on_server(int fd, unsigned what, void *arg)
{
    UNUSED(fd);
    UNUSED(what);
    take(arg, SERVER);
}

static void on_connection(int fd, unsigned what, void *arg)
{
    struct cut_proxy *proxy = arg;
    const struct sockaddr_in to = loopback(proxy->to);
    struct link *link = xnew(struct link);
    UNUSED(what);
    link->proxy = proxy;
    link->fds[CLIENT] = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
    link->fds[SERVER] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (link->fds[CLIENT] < 0 || connect(link->fds[SERVER], (const struct sockaddr *)&to, sizeof(to)) < 0)
        abort();
    link->watches[CLIENT] = loop_fd_new(proxy->loop, link->fds[CLIENT], LOOP_READABLE, on_client, link);
    link->watches[SERVER] = loop_fd_new(proxy->loop, link->fds[SERVER], LOOP_READABLE, on_server, link);
    for (size_t i = 0; i < LINKS_MAX; i++)
        if (!proxy->links[i]) {
            proxy->links[i] = link;
            return;
        }
    abort();
}

struct cut_proxy *cut_proxy_new(struct loop *loop, uint16_t to)
{
    struct cut_proxy *proxy = xnew(struct cut_proxy);
    struct sockaddr_in address = loopback(0);
    socklen_t size = sizeof(address);
    proxy->loop = loop;
    proxy->to = to;
    proxy->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (bind(proxy->listener, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(proxy->listener, 64) < 0 || getsockname(proxy->listener, (struct sockaddr *)&address, &size) < 0)
        abort();
    proxy->port = ntohs(address.sin_port);
    proxy->watch = loop_fd_new(loop, proxy->listener, LOOP_READABLE, on_connection, proxy);
    cut_proxy_cut(proxy, UINT64_MAX, UINT64_MAX);
    return proxy;
}

void cut_proxy_free(struct cut_proxy *proxy)
{
    for (size_t i = 0; i < LINKS_MAX; i++)
        if (proxy->links[i])
            link_free(proxy->links[i], false);
    loop_fd_free(proxy->watch);
    close(proxy->listener);
    free(proxy);
}

uint16_t cut_proxy_port(const struct cut_proxy *proxy)
{
    return proxy->port;
}

void cut_proxy_cut(struct cut_proxy *proxy, uint64_t at_up, uint64_t at_down)
{
    proxy->counted[CLIENT] = proxy->counted[SERVER] = 0;
    proxy->cut_at[CLIENT] = at_up;
    proxy->cut_at[SERVER] = at_down;
}

uint64_t cut_proxy_up(const struct cut_proxy *proxy)
{
    return proxy->counted[CLIENT];
}

uint64_t cut_proxy_down(const struct cut_proxy *proxy)
{
    return proxy->counted[SERVER];
}
