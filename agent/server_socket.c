/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/server_socket.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"

#define END_POLL_MS 7 /* no multiple of the clock's tick, which is to find the server at work */

/* A connected socket; -1 and errno. */
static int server_connect(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (strlen(path) >= sizeof(address.sun_path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    int failure = errno;
    close(fd);
    errno = failure;
    return -1;
}

bool server_socket_accepts(const char *path)
{
    int fd = server_connect(path);

    if (fd < 0)
        return errno == EAGAIN;
    close(fd);
    return true;
}

static void pause_between(void)
{
    const struct timespec pause = {.tv_nsec = END_POLL_MS * 1000000L};

    nanosleep(&pause, NULL);
}

/* Who listens (unix(7), SO_PEERCRED); pid 0: in another pid namespace. A server that hangs may have a full queue, in
 * which those that have given up count, too: it is tried until end_ms. */
static int server_pid(const char *path, int64_t end_ms, pid_t *ret, struct error *err)
{
    struct ucred peer = {0};
    socklen_t size = sizeof(peer);
    int fd;

    while ((fd = server_connect(path)) < 0 && errno == EAGAIN && clock_monotonic_ms() < end_ms)
        pause_between();
    if (fd < 0)
        return error_set_errno(err, errno, "nobody listens on %s", path);
    int rc = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size);
    int failure = errno;
    close(fd);
    if (rc < 0)
        return error_set_errno(err, failure, "%s does not tell who listens", path);
    *ret = peer.pid;
    return peer.pid > 0 ? 0 : error_set(err, ERROR_INTERNAL, "who listens on %s is not of this container", path);
}

int server_socket_kill(const char *path, int64_t timeout_ms, struct error *err)
{
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = 0};
    int64_t end_ms = clock_monotonic_ms() + timeout_ms;
    pid_t pid = 0;

    if (server_pid(path, end_ms, &pid, err) < 0)
        return -1;
    if (prlimit(pid, RLIMIT_CPU, &none, NULL) < 0 && kill(pid, SIGABRT) < 0)
        return error_set_errno(err, errno, "process %d, the server, cannot be killed", (int)pid);
    while (server_socket_accepts(path)) {
        if (clock_monotonic_ms() >= end_ms)
            return error_set(err, ERROR_TIMEOUT, "process %d, the server, has not ended", (int)pid);
        pause_between();
    }
    return 0;
}
