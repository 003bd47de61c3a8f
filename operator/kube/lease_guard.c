/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/kube/lease_guard.h"

#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "common/alloc.h"
#include "common/error.h"
#include "common/log.h"

struct lease_guard {
    timer_t timer;
};

static void (*when_expired)(void);

/* Async-signal-safe, and nothing else of this process runs any more. */
static void on_expired(int signum)
{
    static const char text[] = "kube-mysql-operator: still running after the end of its lease: ends\n";
    UNUSED(signum);
    ssize_t ignored = write(STDERR_FILENO, text, sizeof(text) - 1);
    UNUSED(ignored);
    if (when_expired)
        when_expired();
    _exit(EXIT_FAILURE);
}

struct lease_guard *lease_guard_new(void (*expired)(void))
{
    struct error err = ERROR_INIT;
    struct sigaction action = {.sa_handler = on_expired};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN};
    struct lease_guard *guard = xnew(struct lease_guard);
    event._sigev_un._tid = gettid(); /* a name of its own only in newer headers */
    when_expired = expired;
    sigfillset(&action.sa_mask);
    if (sigaction(SIGRTMIN, &action, NULL) == 0 && timer_create(CLOCK_BOOTTIME, &event, &guard->timer) == 0)
        return guard;
    error_set_errno(&err, errno, "timer");
    log_warn("the end of the lease is not guarded", LOG_ERR(&err));
    free(guard);
    return NULL;
}

int64_t lease_guard_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void lease_guard_set(struct lease_guard *guard, int64_t at_ms)
{
    at_ms = MAX_OF(at_ms, 1); /* zero would disarm it */
    const struct itimerspec when = {.it_value = {at_ms / 1000, at_ms % 1000 * 1000000}};
    timer_settime(guard->timer, TIMER_ABSTIME, &when, NULL);
}

void lease_guard_free(struct lease_guard *guard)
{
    if (!guard)
        return;
    timer_delete(guard->timer);
    signal(SIGRTMIN, SIG_IGN); /* one that is on its way */
    free(guard);
}
