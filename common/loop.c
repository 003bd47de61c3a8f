/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/loop.h"

#include <event2/event.h>
#include <signal.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/list.h"

struct loop {
    struct event_base *base;
    struct event *once_timer;
    struct list_node signals;
    bool running;
    bool stopping;
    /* The clock is read at the first question of a turn: turns that ask nothing cost nothing. */
    bool now_valid;
    int64_t now_ms;
};

struct loop_signal {
    struct list_node node;
    struct event *event;
    void (*fn)(int signum, void *arg);
    void *arg;
};

struct loop_fd {
    struct event *event;
    void (*fn)(int fd, unsigned what, void *arg);
    void *arg;
};

static struct timeval timeval_from_ms(int64_t ms)
{
    ms = MAX_OF(ms, 0);
    return (struct timeval){.tv_sec = ms / 1000, .tv_usec = (ms % 1000) * 1000};
}

static struct event *event_or_abort(struct event *event)
{
    if (!event)
        abort();
    return event;
}

/* Exists to end the wait of loop_run_once. */
static void on_once_timer(evutil_socket_t fd, short what, void *arg)
{
    UNUSED(fd);
    UNUSED(what);
    UNUSED(arg);
}

struct loop *loop_new(void)
{
    struct event_config *config = event_config_new();
    if (!config)
        abort();
    /* The coarse clock would make millisecond timers up to 4 ms late. */
    event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER);
    struct loop *loop = xnew(struct loop);
    loop->base = event_base_new_with_config(config);
    event_config_free(config);
    if (!loop->base)
        abort();
    loop->once_timer = event_or_abort(evtimer_new(loop->base, on_once_timer, NULL));
    list_init(&loop->signals);
    signal(SIGPIPE, SIG_IGN);
    return loop;
}

static void signal_free(struct loop_signal *watch)
{
    event_free(watch->event);
    free(watch);
}

void loop_free(struct loop *loop)
{
    if (!loop)
        return;
    struct list_node *node;
    while ((node = list_pop_front(&loop->signals)))
        signal_free(container_of(node, struct loop_signal, node));
    event_free(loop->once_timer);
    event_base_free(loop->base);
    free(loop);
}

static void run_turn(struct loop *loop, int flags)
{
    loop->now_valid = false;
    loop->running = true;
    event_base_loop(loop->base, flags);
    loop->running = false;
}

void loop_run(struct loop *loop)
{
    while (!loop->stopping)
        run_turn(loop, EVLOOP_ONCE | EVLOOP_NO_EXIT_ON_EMPTY);
    loop->stopping = false;
}

void loop_stop(struct loop *loop)
{
    loop->stopping = true;
    event_base_loopbreak(loop->base);
}

void loop_run_once(struct loop *loop, int64_t timeout_ms)
{
    if (timeout_ms <= 0) {
        run_turn(loop, EVLOOP_NONBLOCK);
        return;
    }
    const struct timeval tv = timeval_from_ms(timeout_ms);
    evtimer_add(loop->once_timer, &tv);
    run_turn(loop, EVLOOP_ONCE);
    evtimer_del(loop->once_timer);
}

int64_t loop_now_ms(const struct loop *loop)
{
    if (!loop->running)
        return clock_monotonic_ms();
    if (!loop->now_valid) {
        struct loop *writable = (struct loop *)(uintptr_t)loop;
        writable->now_ms = clock_monotonic_ms();
        writable->now_valid = true;
    }
    return loop->now_ms;
}

struct event_base *loop_base(struct loop *loop)
{
    return loop->base;
}

/* ---- timers ---- */

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    UNUSED(fd);
    UNUSED(what);
    struct loop_timer *timer = arg;
    timer->armed = false;
    timer->fn(timer->arg);
}

void loop_timer_init(struct loop_timer *timer, struct loop *loop, void (*fn)(void *arg), void *arg)
{
    *timer = (struct loop_timer){.loop = loop, .fn = fn, .arg = arg};
}

void loop_timer_arm(struct loop_timer *timer, int64_t delay_ms)
{
    if (!timer->event)
        timer->event = event_or_abort(evtimer_new(timer->loop->base, on_timer, timer));
    /* libevent counts from the begin of the turn; a long turn must not make the timer early. */
    event_base_update_cache_time(timer->loop->base);
    const struct timeval tv = timeval_from_ms(delay_ms);
    evtimer_add((struct event *)timer->event, &tv);
    timer->armed = true;
}

void loop_timer_cancel(struct loop_timer *timer)
{
    if (timer->event)
        evtimer_del((struct event *)timer->event);
    timer->armed = false;
}

void loop_timer_release(struct loop_timer *timer)
{
    if (timer->event)
        event_free((struct event *)timer->event);
    timer->event = NULL;
    timer->armed = false;
}

/* ---- signals ---- */

static void on_signal(evutil_socket_t signum, short what, void *arg)
{
    UNUSED(what);
    const struct loop_signal *watch = arg;
    watch->fn((int)signum, watch->arg);
}

void loop_on_signal(struct loop *loop, int signum, void (*fn)(int signum, void *arg), void *arg)
{
    struct loop_signal *watch = xnew(struct loop_signal);
    watch->fn = fn;
    watch->arg = arg;
    watch->event = event_or_abort(evsignal_new(loop->base, signum, on_signal, watch));
    evsignal_add(watch->event, NULL);
    list_push_back(&loop->signals, &watch->node);
}

void loop_off_signals(struct loop *loop, const void *arg)
{
    struct list_node *node, *next;
    list_for_each_safe(node, next, &loop->signals) {
        struct loop_signal *watch = container_of(node, struct loop_signal, node);
        if (watch->arg != arg)
            continue;
        list_remove(node);
        signal_free(watch);
    }
}

/* ---- descriptors ---- */

static void on_fd(evutil_socket_t fd, short what, void *arg)
{
    const struct loop_fd *watch = arg;
    const unsigned ready = ((what & EV_READ) ? LOOP_READABLE : 0U) | ((what & EV_WRITE) ? LOOP_WRITABLE : 0U);
    watch->fn((int)fd, ready, watch->arg);
}

struct loop_fd *loop_fd_new(
    struct loop *loop, int fd, unsigned what, void (*fn)(int fd, unsigned what, void *arg), void *arg)
{
    struct loop_fd *watch = xnew(struct loop_fd);
    watch->fn = fn;
    watch->arg = arg;
    const short events =
        (short)(EV_PERSIST | ((what & LOOP_READABLE) ? EV_READ : 0) | ((what & LOOP_WRITABLE) ? EV_WRITE : 0));
    watch->event = event_or_abort(event_new(loop->base, fd, events, on_fd, watch));
    event_add(watch->event, NULL);
    return watch;
}

void loop_fd_free(struct loop_fd *watch)
{
    if (!watch)
        return;
    event_free(watch->event);
    free(watch);
}
