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
#define LOOK_NS 1000 /* of each look at the clock: who waits without a loop is not kept for ever */
#define NS_PER_S 1000000000LL
#define NS_PER_MS 1000000LL

static bool is_fast;
static int64_t passed_ns;
static int64_t monotonic_base_ns, realtime_base_ns;

static int64_t real_ns(clockid_t id)
{
    struct timespec now = {.tv_sec = 0};
    syscall(SYS_clock_gettime, id, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

void clock_run_fast(void)
{
    if (is_fast)
        return;
    monotonic_base_ns = real_ns(CLOCK_MONOTONIC);
    realtime_base_ns = real_ns(CLOCK_REALTIME);
    is_fast = true;
}

/* ---- what stands before libc's ---- */

int clock_gettime(clockid_t id, struct timespec *now)
{
    bool is_monotonic = id == CLOCK_MONOTONIC || id == CLOCK_MONOTONIC_COARSE;
    if (!is_fast || !(is_monotonic || id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        return (int)syscall(SYS_clock_gettime, id, now);
    passed_ns += LOOK_NS;
    int64_t ns = (is_monotonic ? monotonic_base_ns : realtime_base_ns) + passed_ns;
    *now = (struct timespec){.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
    return 0;
}

/* Something is ready now, or comes within a part of the time. */
static int await(int epfd, int timeout_ms)
{
    struct pollfd ready = {.fd = epfd, .events = POLLIN};
    const int64_t ns = timeout_ms * NS_PER_MS / SPEED;
    const struct timespec patience = {.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
    return ppoll(&ready, 1, &patience, NULL);
}

int epoll_wait(int epfd, struct epoll_event *events, int max, int timeout_ms)
{
    if (is_fast && timeout_ms > 0) {
        int rc = await(epfd, timeout_ms);
        if (rc == 0)
            passed_ns += timeout_ms * NS_PER_MS;
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
        passed_ns += (int64_t)us * 1000;
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
