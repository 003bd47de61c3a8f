/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/tests/clock_util.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000LL
#define NS_PER_MS 1000000LL

static bool stands_still;
static int64_t monotonic_ns, realtime_ns;
static unsigned turns; /* since time has passed */
static int echo_fd = -1;

static int64_t real_ns(clockid_t id)
{
    struct timespec now = {.tv_sec = 0};
    syscall(SYS_clock_gettime, id, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static void must(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "clock_util: %s\n", what);
    abort();
}

void clock_stand_still(void)
{
    turns = 0;
    if (stands_still)
        return;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    echo_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    must(echo_fd >= 0 && bind(echo_fd, (struct sockaddr *)&address, size) == 0 &&
            getsockname(echo_fd, (struct sockaddr *)&address, &size) == 0 &&
            connect(echo_fd, (struct sockaddr *)&address, size) == 0,
        "no socket of loopback");
    monotonic_ns = real_ns(CLOCK_MONOTONIC);
    realtime_ns = real_ns(CLOCK_REALTIME);
    stands_still = true;
}

static void pass(int64_t ns)
{
    monotonic_ns += ns;
    realtime_ns += ns;
    turns = 0;
}

/* What was sent before has arrived. */
static void await_deliveries(void)
{
    char byte = 0;
    must(send(echo_fd, &byte, 1, 0) == 1 && recv(echo_fd, &byte, 1, 0) == 1, "loopback does not work");
}

/* ---- what stands before libc's ---- */

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): libc's are no names of ours */

int clock_gettime(clockid_t id, struct timespec *now)
{
    bool is_monotonic = id == CLOCK_MONOTONIC || id == CLOCK_MONOTONIC_COARSE;
    if (!stands_still || !(is_monotonic || id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        return (int)syscall(SYS_clock_gettime, id, now);
    int64_t ns = is_monotonic ? monotonic_ns : realtime_ns;
    *now = (struct timespec){.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
    return 0;
}

int epoll_wait(int epfd, struct epoll_event *events, int max, int timeout_ms)
{
    if (!stands_still || timeout_ms < 0)
        return (int)syscall(SYS_epoll_pwait, epfd, events, max, timeout_ms, NULL, 0);
    must(++turns < CLOCK_TURNS_MAX, "something turns without waiting");
    int ready = (int)syscall(SYS_epoll_pwait, epfd, events, max, 0, NULL, 0);
    if (ready != 0 || timeout_ms == 0)
        return ready;
    await_deliveries();
    ready = (int)syscall(SYS_epoll_pwait, epfd, events, max, 0, NULL, 0);
    if (ready == 0)
        pass(timeout_ms * NS_PER_MS);
    return ready;
}

/* Of a test that keeps its loop from turning. */
int usleep(useconds_t us)
{
    if (stands_still) {
        pass((int64_t)us * 1000);
        return 0;
    }
    const struct timespec time = {.tv_sec = us / 1000000, .tv_nsec = (long)(us % 1000000) * 1000};
    return nanosleep(&time, NULL);
}

/* libevent does without it then. */
int timerfd_create(int id, int flags)
{
    if (!stands_still)
        return (int)syscall(SYS_timerfd_create, id, flags);
    errno = ENOSYS;
    return -1;
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
