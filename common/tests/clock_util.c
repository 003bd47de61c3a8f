/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/tests/clock_util.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define SPEED 50
#define NS_PER_S 1000000000LL
#define NS_PER_MS 1000000LL

static bool is_fast;
static int64_t ahead_ns;

static int64_t real_ns(clockid_t id)
{
    struct timespec now = {.tv_sec = 0};
    syscall(SYS_clock_gettime, id, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

void clock_run_fast(void)
{
    is_fast = true;
}

/* ---- what stands before libc's ---- */

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): libc's are no names of ours */

int clock_gettime(clockid_t id, struct timespec *now)
{
    long rc = syscall(SYS_clock_gettime, id, now);
    bool passes =
        id == CLOCK_MONOTONIC || id == CLOCK_REALTIME || id == CLOCK_MONOTONIC_COARSE || id == CLOCK_REALTIME_COARSE;
    if (rc < 0 || !is_fast || !passes)
        return (int)rc;
    int64_t ns = now->tv_sec * NS_PER_S + now->tv_nsec + ahead_ns;
    *now = (struct timespec){.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
    return 0;
}

int epoll_wait(int epfd, struct epoll_event *events, int max, int timeout_ms)
{
    if (is_fast && timeout_ms > 0) {
        struct pollfd ready = {.fd = epfd, .events = POLLIN};
        const int64_t wait_ns = timeout_ms * NS_PER_MS / SPEED;
        const struct timespec wait = {.tv_sec = wait_ns / NS_PER_S, .tv_nsec = wait_ns % NS_PER_S};
        int64_t before_ns = real_ns(CLOCK_MONOTONIC);
        int rc = ppoll(&ready, 1, &wait, NULL);
        int64_t waited_ns = MIN_OF(real_ns(CLOCK_MONOTONIC) - before_ns, wait_ns);
        ahead_ns += waited_ns * (SPEED - 1);
        if (rc <= 0)
            return rc;
        timeout_ms = 0;
    }
    return (int)syscall(SYS_epoll_pwait, epfd, events, max, timeout_ms, NULL, 0);
}

/* Of a test that keeps its loop from turning. */
int usleep(useconds_t us)
{
    if (is_fast) {
        ahead_ns += (int64_t)us * 1000;
        return 0;
    }
    const struct timespec time = {.tv_sec = us / 1000000, .tv_nsec = (long)(us % 1000000) * 1000};
    return nanosleep(&time, NULL);
}

/* libevent does without it then. */
int timerfd_create(int id, int flags)
{
    if (!is_fast)
        return (int)syscall(SYS_timerfd_create, id, flags);
    errno = ENOSYS;
    return -1;
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
