/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/tcp_probe.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

/* 0 or an errno. */
static int await_connection(int fd, int timeout_ms)
{
    struct pollfd pollfd = {.fd = fd, .events = POLLOUT};
    int errnum = 0;
    socklen_t len = sizeof(errnum);
    int rc = poll(&pollfd, 1, timeout_ms);

    if (rc <= 0)
        return rc == 0 ? ETIMEDOUT : errno;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &errnum, &len) < 0 ? errno : errnum;
}

static int try_address(const struct addrinfo *address, int timeout_ms)
{
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return errno;
    int errnum = connect(fd, address->ai_addr, address->ai_addrlen) == 0 ? 0 : errno;
    if (errnum == EINPROGRESS)
        errnum = await_connection(fd, timeout_ms);
    close(fd);
    return errnum;
}

int tcp_probe(const char *host, uint16_t port, int timeout_ms, struct error *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *addresses = NULL;
    char service[8];
    int errnum = EHOSTUNREACH;

    snprintf(service, sizeof(service), "%u", port);
    int rc = getaddrinfo(host, service, &hints, &addresses);
    if (rc != 0)
        return error_set(err, ERROR_UNAVAILABLE, "%s: %s", host, gai_strerror(rc));
    for (const struct addrinfo *address = addresses; address && errnum != 0; address = address->ai_next)
        errnum = try_address(address, timeout_ms);
    freeaddrinfo(addresses);
    if (errnum == 0)
        return 0;
    error_set_errno(err, errnum, "%s:%u", host, port);
    if (err)
        err->kind = ERROR_UNAVAILABLE;
    return -1;
}
